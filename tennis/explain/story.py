# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What happened to a ball: from counted instructions to words."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tennis.errors import BenchError
from tennis.explain.kinds import Kind, What
from tennis.explain.phases import Phase
from tennis.explain.segments import Blame, Names, Segments, Weights
from tennis.explain.thread import HandlerThread, handler_thread
from tennis.units import format_count, format_ns

STEPS_MAX = 40
Latency = Literal["interrupt", "scheduling"]
Span = Literal["period", "duration"]  # of a drill's repetition: what was too long
# from which moment to which, of a repetition
_MOMENTS: dict[str, tuple[str, str]] = {
    "period": ("its period is over", "it comes"),
    "duration": ("it begins", "it is done"),
}
_SPANS: dict[str, str] = {"period": "after its period", "duration": "while it lasted"}


@dataclass(frozen=True)
class Step:
    """A stretch of a wait in which the processor was at one thing; ns since the ping."""

    began: int
    ns: int
    what: What
    masked_ns: int
    function: str  # where most of it was


@dataclass
class _Stretch:
    """What ran without a break, and the segments that it is made of."""

    began: int
    what: What
    ns: int = 0
    masked_ns: int = 0
    segments: list[tuple[Segments, list[int]]] = field(default_factory=list)

    def add(self, part: Segments, index: int, ns: int, *, masked: bool) -> None:
        self.ns += ns
        self.masked_ns += ns * masked
        if not self.segments or self.segments[-1][0] is not part:
            self.segments.append((part, []))
        self.segments[-1][1].append(index)

    def step(self) -> Step:
        """Name the function as the sentences do: they and the steps must not name two."""
        blames = (part.blame(part.weights_of(indices)) for part, indices in self.segments)
        most = max(filter(None, blames), key=lambda one: one.ns, default=None)
        name = most.short if most else "?"
        return Step(self.began, self.ns, self.what, self.masked_ns, name)


@dataclass(frozen=True)
class Share:
    """How much of some waits went to one thing."""

    what: What
    ns: int
    masked_ns: int
    balls: int
    blame: Blame


@dataclass
class FlameFrame:
    """A function in a flame graph, with those it called."""

    name: str
    kind: Kind | None = None  # of most of it; None for what holds the stacks together
    ns: int = 0
    masked_ns: int = 0
    children: dict[str, "FlameFrame"] = field(default_factory=dict)
    kinds: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))

    def child(self, name: str) -> "FlameFrame":
        """Return the frame of a function that was called from here."""
        return self.children.setdefault(name, FlameFrame(name))


@dataclass(frozen=True)
class Story:
    """One ball: when things happened (ns since the ping), what ran, and who is to blame.

    Of a drill it is a repetition; ``served_ns`` is then when its period was over, or it began.
    """

    ball: int
    served_ns: int
    rise: int | None
    fall: int | None
    waited: int  # until the fall, or until the ball was given up
    taken: int | None  # the interrupt that led to the rise
    masked_ns: int  # interrupts were off for so long before it was taken
    thread_woken: int | None  # the top half's, where it has one
    thread_runs: int | None
    thread_locks: int | None  # it has the lock that it waited for
    top_half: int | None
    bottom_half: int | None
    answerer: str  # the task in which the bottom half ran; empty: it did not
    cause: Blame | None
    latency: Latency | Span  # what the cause is about
    sentence: str
    parts: tuple[Segments, ...]

    @property
    def noun(self) -> str:
        """Return what it is the story of."""
        return "repetition" if self.latency in _MOMENTS else "ball"

    @property
    def moments(self) -> list[tuple[str, int]]:
        """Return what happened when, in order, in ns since the ping."""
        if self.latency in _MOMENTS:
            return list(zip(_MOMENTS[self.latency], (0, self.waited), strict=True))
        named = {
            "ping rises": 0,
            "interrupt taken": self.taken,
            "its thread is woken": self.thread_woken,
            "its thread runs": self.thread_runs,
            "the thread has the lock": self.thread_locks,
            "top half begins": self.top_half,
            "reply rises": self.rise,
            "bottom half begins": self.bottom_half,
            "reply falls": self.fall,
        }
        return [(name, at) for name, at in named.items() if at is not None]

    def shares(self) -> list[Share]:
        """Return what ran while it waited, the longest first."""
        return shares([self])

    def steps(self) -> list[Step]:
        """Return what ran in order; short stretches are part of the longer one before them."""
        steps: list[_Stretch] = []
        offset = 0
        for part in self.parts:
            rows = zip(
                part.began.tolist(),
                part.length.tolist(),
                part.masked.tolist(),
                part.whats,
                strict=True,
            )
            for index, (began, ns, masked, what) in enumerate(rows):
                if not steps or steps[-1].what != what:
                    steps.append(_Stretch(offset + began, what))
                steps[-1].add(part, index, ns, masked=masked)
            offset += part.ns
            if lost := part.ns - int(part.length.sum()) if part.phase.cut else 0:
                steps.append(_Stretch(offset - lost, What("lost", "", ""), lost))
        return _fewer([step.step() for step in steps])

    def as_json(self) -> dict[str, Any]:
        """Return the story as JSON values; times in ns."""
        return {
            "ball": self.ball,
            "served_ns": self.served_ns,
            "waited_ns": self.waited,
            "rise_ns": self.rise,
            "fall_ns": self.fall,
            "sentence": self.sentence,
            "latency": self.latency,
            "cause": _blame_json(self.cause),
            "moments": [{"what": what, "at_ns": at} for what, at in self.moments],
            "shares": [share_json(share) for share in self.shares()],
        }


def _fewer(steps: list[Step]) -> list[Step]:
    """Merge short steps into those before them until there are few."""
    limit = 1
    while len(steps) > STEPS_MAX:
        merged: list[Step] = []
        for step in steps:
            last = merged[-1] if merged else None
            if last and (step.ns < limit or last.ns < limit or last.what == step.what):
                longer = max(last, step, key=lambda one: one.ns)
                merged[-1] = Step(
                    last.began,
                    last.ns + step.ns,
                    longer.what,
                    last.masked_ns + step.masked_ns,
                    longer.function,
                )
            else:
                merged.append(step)
        steps = merged
        limit = limit + max(1, limit // 4)
    return steps


def shares(stories: Sequence[Story]) -> list[Share]:
    """Return what ran while balls waited, the longest first; what reads the same is one row."""
    parts: dict[str, list[tuple[int, Segments, Weights]]] = defaultdict(list)
    whats: dict[str, What] = {}
    for story in stories:
        for part in story.parts:
            by_what: dict[What, Weights] = defaultdict(dict)
            for (node, masked), ns in part.weights.items():
                by_what[part.what(node, masked)][node, masked] = ns
            for what, weights in by_what.items():
                parts[str(what)].append((story.ball, part, weights))
                whats.setdefault(str(what), what)
    rows = []
    for words, entries in parts.items():
        blames = [part.blame(weights) for _, part, weights in entries]
        rows.append(
            Share(
                whats[words],
                sum(sum(weights.values()) for _, _, weights in entries),
                sum(
                    ns for _, _, weights in entries for (_, masked), ns in weights.items() if masked
                ),
                len({ball for ball, _, _ in entries}),
                max(filter(None, blames), key=lambda one: one.ns),
            )
        )
    return sorted(rows, key=lambda share: -share.ns)


def flame(stories: Sequence[Story]) -> FlameFrame:
    """Return the call stacks of balls as one tree: latency, task, functions."""
    noun = stories[0].noun if stories else "ball"
    root = FlameFrame(format_count(len(stories), f"late {noun}"))
    for story in stories:
        for part in story.parts:
            title = "interrupt latency" if part.phase.phase == 0 else "scheduling latency"
            title = _SPANS.get(story.latency, title)
            for node in np.flatnonzero(part.node_ns).tolist():
                ns, masked_ns = int(part.node_ns[node]), int(part.node_masked_ns[node])
                what = part.what(node, 2 * masked_ns > ns)
                names = [title, f"task {part.task(node)}", *part.stack(node)]
                at = root
                for name in ["", *names]:
                    at = at.child(name) if name else at
                    at.ns += ns
                    at.masked_ns += masked_ns
                    at.kinds[what.kind] += ns
    return root


def tell(  # noqa: PLR0913 (what is known of a ball)
    ball: int,
    served_ns: int,
    edges: tuple[int | None, int | None],
    phases: Sequence[Phase],
    names: Names,
    *,
    about: Latency | None = None,
) -> Story:
    """Return the story of a ball; ``edges``: rise and fall in ns since the ping, None: missed.

    ``about``: the latency to find the cause of; by default the longer one.
    """
    rise, fall = edges
    parts = tuple(Segments(phase, names) for phase in phases if phase.ended > phase.began)
    first = parts[0]
    waited = sum(part.ns for part in parts)
    top_half = taken = thread_woken = thread_runs = thread_locks = thread = None
    blocked = range(len(first.whats))
    if rise is not None:
        own = next((i for i, what in enumerate(first.whats) if what.kind == "racquet"), None)
        if own is None and not first.phase.cut:
            raise BenchError(
                "the functions' names do not fit this rally (the Racquet is not where they say)",
                next_step="remove the folder symbols from tennis' cache, and try again",
            )
        if own is not None:
            thread = handler_thread(first, own)
            entry = _entry(first, thread.woken if thread else own)
            if thread:
                thread_woken = int(first.began[thread.woken])
                thread_runs = int(first.began[thread.runs])
            if thread and thread.lock:
                thread_locks = int(first.began[thread.lock.segments.stop])
            top_half, taken = int(first.began[own]), int(first.began[entry])
            blocked = range(entry)
    bottom_half, answerer, waiting = None, "", range(0)
    if rise is not None and len(parts) > 1:
        second = parts[1]
        begin = _bottom_half(second)
        waiting = range(len(second.whats) if begin is None else begin)
        if begin is not None:
            bottom_half = rise + int(second.began[begin])
            answerer = second.task(int(second.node[begin]))
    late = _Late(
        parts, blocked, thread, names.priorities, waiting, answerer, bottom_half is not None
    )
    cause, latency, sentence = _because(ball, waited, edges, late, about)
    return Story(
        ball=ball,
        served_ns=served_ns,
        rise=rise,
        fall=fall,
        waited=waited,
        taken=taken,
        masked_ns=_sum(first, [i for i in blocked if first.masked[i]]),
        thread_woken=thread_woken,
        thread_runs=thread_runs,
        thread_locks=thread_locks,
        top_half=top_half,
        bottom_half=bottom_half,
        answerer=answerer,
        cause=cause,
        latency=latency,
        sentence=sentence,
        parts=parts,
    )


def _entry(part: Segments, own: int) -> int:
    """Return the segment with which the exception begins that leads to the Racquet's handler."""
    at = own
    while at > 0 and part.whats[at - 1].kind == "path":
        at -= 1
    vectors = [i for i in range(at, own) if part.stack(int(part.node[i]))[-1:] == ["vectors"]]
    return vectors[-1] if vectors else at


def _bottom_half(part: Segments) -> int | None:
    """Return the first segment of the bottom half: the Racquet again, after something else."""
    other = next((i for i, what in enumerate(part.whats) if what.kind != "racquet"), None)
    if other is None:
        return None
    rest = range(other, len(part.whats))
    return next((i for i in rest if part.whats[i].kind == "racquet"), None)


@dataclass(frozen=True)
class _Late:
    """What a ball waited for; ranges are of segments."""

    parts: Sequence[Segments]
    blocked: range  # until the interrupt was taken
    thread: HandlerThread | None
    priorities: Mapping[str, str]
    waiting: range  # from the rise until the bottom half begins
    answerer: str
    begun: bool  # the bottom half

    def named(self, task: str) -> str:
        """Return a task with its priority, where that is known."""
        return f"{task} ({self.priorities[task]})" if task in self.priorities else task


def _because(
    ball: int,
    waited: int,
    edges: tuple[int | None, int | None],
    late: _Late,
    about: Latency | None,
) -> tuple[Blame | None, Latency, str]:
    """Return the cause, the latency it belongs to, and both in a sentence."""
    rise, fall = edges
    if rise is None:
        head = f"Ball {ball} was missed: the reply did not rise within {format_ns(waited)}"
    elif fall is None:
        head = f"Ball {ball} was missed: the reply did not fall within {format_ns(waited)}"
    elif about:
        ns = rise if about == "interrupt" else fall - rise
        head = f"The {about} latency of ball {ball} was {format_ns(ns)}"
    else:
        head = f"Ball {ball} waited {format_ns(waited)}"
    first, *rest = late.parts
    longer = "interrupt" if not rest or first.ns >= rest[0].ns else "scheduling"
    if rise is None or not rest or (about or longer) == "interrupt":
        cause, why = _interrupt_words(first, late, missed=rise is None)
        return cause, "interrupt", f"{head}: {why}."
    cause, why = _scheduling_words(rest[0], late.waiting, late.answerer, begun=late.begun)
    return cause, "scheduling", f"{head}: {why}."


def _sum(part: Segments, indices: Iterable[int]) -> int:
    return int(part.length[list(indices)].sum())


def _interrupt_words(part: Segments, late: _Late, *, missed: bool) -> tuple[Blame | None, str]:
    blocked = late.blocked
    masked = [i for i in blocked if part.masked[i]]
    masked_ns = _sum(part, masked)
    if missed and 2 * masked_ns < part.ns:
        cause = part.blame(part.weights_of(blocked))
        return cause, f"the interrupt never led to the Racquet; most of the time {_ran(cause)}"
    if 2 * masked_ns < part.ns and late.thread:
        return _thread_words(part, late, late.thread)
    if 2 * masked_ns < part.ns:
        whole = part.blame(part.weights)
        why = f"the interrupt was taken after {format_ns(_sum(part, blocked))}"
        return whole, f"{why}; the rest is the way to the handler"
    cause = part.blame(part.weights_of(masked))
    why = f"interrupts were off for {format_ns(masked_ns)} in {cause}"
    last = next((i for i in reversed(masked) if part.whats[i].kind == "masked"), None)
    if last is not None and cause and cause.what.kind == "masked":
        why += f"; the last function with interrupts off was {part.stack(int(part.node[last]))[-1]}"
    return cause, why


def _thread_words(part: Segments, late: _Late, thread: HandlerThread) -> tuple[Blame | None, str]:
    """Say why a top half in a thread came late although the interrupt did not."""
    who, lock = late.named(thread.task), thread.lock
    if lock and 2 * _sum(part, lock.segments) >= part.ns:
        its = [i for i in lock.segments if part.task(int(part.node[i])) == lock.owner]
        cause = part.blame(part.weights_of(its or lock.segments))
        held = f"that {late.named(lock.owner)} held" if its else "that another task held"
        why = f"{who} waited {format_ns(_sum(part, lock.segments))} for {lock.lock} {held}"
        return cause, f"{why}, most of it in {cause}"
    until = range(thread.woken, thread.own)
    others = [i for i in until if part.task(int(part.node[i])) != thread.task]
    if 2 * _sum(part, others) >= part.ns:
        cause = part.blame(part.weights_of(others))
        why = f"{who} did not get the processor for {format_ns(_sum(part, others))}"
        return cause, f"{why}; most of the time {_ran(cause)}"
    cause = part.blame(part.weights)
    taken = format_ns(_sum(part, late.blocked))
    ran = format_ns(int(part.began[thread.runs]))
    return cause, f"the interrupt was taken after {taken}, and {who} ran after {ran}"


def _ran(cause: Blame | None) -> str:
    return f"the processor was in {cause}" if cause else "nothing ran"


def _scheduling_words(
    part: Segments, waiting: range, answerer: str, *, begun: bool
) -> tuple[Blame | None, str]:
    others = [i for i in waiting if part.whats[i].kind != "racquet"]
    waited_ns = _sum(part, others)
    if not begun or 2 * waited_ns >= part.ns:
        masked = [i for i in others if part.masked[i]]
        who = f"its bottom half (in {answerer})" if begun else "its bottom half"
        if 2 * _sum(part, masked) >= waited_ns:
            cause = part.blame(part.weights_of(masked))
            why = f"interrupts were off for {format_ns(_sum(part, masked))}, most in {cause}"
            return cause, f"{who} did not run for {format_ns(waited_ns)}; {why}"
        ran = _groups(part, others)
        busy = ran[0][0]
        cause = part.blame(part.weights_of(i for i in others if part.whats[i] == busy))
        if begun and busy.task == answerer and busy.kind in {"kernel", "masked"}:
            why = f"its bottom half ran in {answerer}, which was at something else before for"
            return cause, f"{why} {format_ns(ran[0][1])}: {cause}"
        meanwhile = " and ".join(
            f"{format_ns(ns)} of {what}" for what, ns in ran[:2] if 10 * ns >= waited_ns
        )
        if cause and cause.what.kind != "user":
            meanwhile += f", most in {cause}"
        return cause, (
            f"{who} did not get the processor for {format_ns(waited_ns)}; meanwhile ran {meanwhile}"
        )
    later = [i for i in range(waiting.stop, len(part.whats)) if part.whats[i].kind != "racquet"]
    cause = part.blame(part.weights_of(later) or part.weights)
    why = f"its bottom half (in {answerer}) began after {format_ns(waited_ns)}"
    return cause, f"{why} and was interrupted for {format_ns(_sum(part, later))}, most in {cause}"


def _groups(part: Segments, indices: Sequence[int]) -> list[tuple[What, int]]:
    sums: dict[What, int] = defaultdict(int)
    for index in indices:
        sums[part.whats[index]] += int(part.length[index])
    return sorted(sums.items(), key=lambda entry: -entry[1])


def causes(stories: Sequence[Story]) -> list[tuple[str, int, int]]:
    """Return the causes of late balls: in words, how many balls, and their ns together."""
    waits: dict[str, list[int]] = defaultdict(list)
    for story in stories:
        if story.cause:
            what = _SPANS.get(story.latency, f"{story.latency} latency")
            waits[f"{what}: {story.cause.short}"].append(story.cause.ns)
    rows = [(cause, len(times), sum(times)) for cause, times in waits.items()]
    return sorted(rows, key=lambda row: -row[2])


def share_json(share: Share) -> dict[str, Any]:
    """Return a share as JSON values."""
    return {
        "what": str(share.what),
        "kind": share.what.kind,
        "task": share.what.task,
        "ns": share.ns,
        "interrupts_off_ns": share.masked_ns,
        "balls": share.balls,
        "mostly_in": _blame_json(share.blame),
    }


def _blame_json(blame: Blame | None) -> Mapping[str, Any] | None:
    if blame is None:
        return None
    return {
        "function": blame.function,
        "callers": list(blame.callers),
        "kind": blame.what.kind,
        "task": blame.what.task,
        "ns": blame.ns,
    }
