"""The story of a ball: from counted instructions to words."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tennis.explain.between import Interrupt, LockHeld, Moved, interrupts, locks, moves
from tennis.explain.kinds import What
from tennis.explain.segments import Blame, Segments, Weights
from tennis.explain.stalls import Stall, stalls_of
from tennis.explain.ways import Lanes
from tennis.rally.drills import Span

STEPS_MAX = 40
Latency = Literal["interrupt", "scheduling"]
# the span of a repetition that is looked at
_MOMENTS: dict[str, tuple[str, str]] = {
    "period": ("its period is over", "it comes"),
    "duration": ("it begins", "it is done"),
}
SPANS: dict[str, str] = {"period": "after its period", "duration": "while it lasted"}


@dataclass(frozen=True)
class _Step:
    """A stretch of a wait in which the processor was at one thing; ns since the ping."""

    began: int
    ns: int
    what: What
    masked_ns: int
    function: str  # the function with most of it


@dataclass
class _Stretch:
    """Work without a break, and its segments."""

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

    def step(self) -> _Step:
        """Name the function as the sentences do: they and the steps must not name two."""
        blames = (part.blame(part.weights_of(indices)) for part, indices in self.segments)
        most = max(filter(None, blames), key=lambda one: one.ns, default=None)
        name = most.short if most else "?"
        return _Step(self.began, self.ns, self.what, self.masked_ns, name)


@dataclass(frozen=True)
class Share:
    """The share of one kind of work in some waits."""

    what: What
    ns: int
    masked_ns: int
    balls: int
    blame: Blame


@dataclass(frozen=True)
class Happening:
    """Something between two processors, seen from one of them; ``at`` in ns since the ping."""

    at: int
    processor: int
    event: LockHeld | Interrupt | Moved


@dataclass(frozen=True, kw_only=True)
class Moments:
    """When things happened on the way of a ball, in ns since the ping; None: they did not."""

    taken: int | None = None  # the interrupt that led to the rise
    masked_ns: int = 0  # interrupts were off for so long before it was taken
    thread_woken: int | None = None  # the top half's, if it has one
    thread_runs: int | None = None
    thread_locks: int | None = None  # it has the lock that it waited for
    top_half: int | None = None
    bottom_half: int | None = None
    answerer: str = ""  # the task in which the bottom half ran; empty: it did not


@dataclass(frozen=True, kw_only=True)
class Story(Moments):
    """One ball: when things happened, what ran, and who is to blame.

    For a drill it is a repetition; ``served_ns`` is then the end of its period, or its beginning.
    """

    ball: int
    served_ns: int
    rise: int | None
    fall: int | None
    waited: int  # until the fall, or until the ball was given up
    cause: Blame | None
    latency: Latency | Span  # what the cause is about
    sentence: str
    parts: tuple[Segments, ...]
    kind: str = ""  # of a program's: the cause, and where in its source
    is_program: bool = False  # a user's own program answers, and has no halves
    # of several processors: what each was at, first until the rise, then until the fall
    lanes: tuple[Lanes, ...] = ()

    @property
    def noun(self) -> str:
        """Return the story's noun: ball, shot or repetition."""
        return "repetition" if self.latency in _MOMENTS else "ball"

    @property
    def moments(self) -> list[tuple[str, int]]:
        """Return what happened when, in order, in ns since the ping."""
        if self.latency in _MOMENTS:
            return list(zip(_MOMENTS[self.latency], (0, self.waited), strict=True))
        if self.is_program:
            named: dict[str, int | None] = {
                "ping rises": 0,
                "interrupt taken": self.taken,
                "its line's thread runs": self.thread_runs,
                "the program runs": self.top_half,
                "reply rises": self.rise,
                "the program runs again": self.bottom_half,
                "reply falls": self.fall,
            }
            return [(name, at) for name, at in named.items() if at is not None]
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

    def stalls(self) -> list[Stall]:
        """Return its waits for memory, the longest first."""
        return stalls_of([(self.ball, self.parts)])

    def steps(self) -> list[_Step]:
        """Return what ran in order; short stretches are part of the longer one before them."""
        return steps_of(self.parts)

    @property
    def processors(self) -> tuple[tuple[Segments, ...], ...]:
        """Return what each processor was at, by processor; empty if there is one only."""
        return tuple(zip(*self.lanes, strict=True))

    def between(self) -> list[Happening]:
        """Return what happened between processors, in order."""
        found, offset = [], 0
        for lanes in self.lanes:
            found += [
                *(Happening(offset + o.began, o.waiter, o) for o in locks(lanes)),
                *(Happening(offset + o.taken, o.taker, o) for o in interrupts(lanes)),
                *(Happening(offset + o.at, o.by, o) for o in moves(lanes)),
            ]
            offset += lanes[0].ns
        return sorted(found, key=lambda one: (one.at, one.processor))

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
            **({"stalls": [one.as_json() for one in found]} if (found := self.stalls()) else {}),
            **({"processors": self._processors_json()} if self.lanes else {}),
        }

    def _processors_json(self) -> Mapping[str, Any]:
        """Return what each processor was at, and what happened between them; times in ns."""
        return {
            "ran": [
                [{"what": str(what), "ns": ns} for what, ns in times_of(parts)]
                for parts in self.processors
            ],
            "between": [
                {"at_ns": one.at, "processor": one.processor, "what": str(one.event)}
                for one in self.between()
            ],
        }


def times_of(parts: Sequence[Segments]) -> list[tuple[What, int]]:
    """Return what ran and how long in all, the longest first."""
    times: dict[What, int] = defaultdict(int)
    for part in parts:
        for (node, masked), ns in part.weights.items():
            times[part.what(node, masked)] += ns
    return sorted(times.items(), key=lambda one: -one[1])


def steps_of(parts: Sequence[Segments]) -> list[_Step]:
    """Return what ran in order; short stretches are part of the longer one before them."""
    steps: list[_Stretch] = []
    offset = 0
    for part in parts:
        rows = zip(
            part.began.tolist(), part.length.tolist(), part.masked.tolist(), part.whats, strict=True
        )
        for index, (began, ns, masked, what) in enumerate(rows):
            if not steps or steps[-1].what != what:
                steps.append(_Stretch(offset + began, what))
            steps[-1].add(part, index, ns, masked=masked)
        offset += part.ns
        if lost := part.ns - int(part.length.sum()) if part.phase.cut else 0:
            steps.append(_Stretch(offset - lost, What("lost", "", ""), lost))
    return _fewer([step.step() for step in steps])


def _fewer(steps: list[_Step]) -> list[_Step]:
    """Merge short steps into those before them until there are few."""
    limit = 1
    while len(steps) > STEPS_MAX:
        merged: list[_Step] = []
        for step in steps:
            last = merged[-1] if merged else None
            if last and (step.ns < limit or last.ns < limit or last.what == step.what):
                longer = max(last, step, key=lambda one: one.ns)
                merged[-1] = _Step(
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
