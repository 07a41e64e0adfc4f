# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What happened to a ball: from counted instructions to words.

Every segment of a wait is put down to the innermost thing that the processor was at: an interrupt,
a softirq, the scheduler, user space, or the kernel for a task. The rules look at function names
that have been the same in Linux 5.10 to 6.16 on arm64.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tennis.bench.profile.plugin import MASKED, NS_PER_INSTRUCTION, UNKNOWN, USER, Phase
from tennis.bench.profile.symbols import Symbol
from tennis.errors import BenchError
from tennis.rally.text import plain
from tennis.units import format_count, format_ns

Kind = Literal[
    "masked", "irq", "path", "softirq", "scheduler", "kernel", "user", "racquet", "idle", "lost"
]
KINDS: dict[Kind, str] = {
    "masked": "kernel, interrupts off",
    "irq": "another interrupt",
    "path": "interrupt entry and exit",
    "softirq": "another softirq",
    "scheduler": "scheduler",
    "kernel": "kernel, interrupts on",
    "user": "user space",
    "racquet": "the Racquet",
    "idle": "idle",
    "lost": "not recorded in order",
}
IN_USER_SPACE = "user space"
IRQ_ENTRY = re.compile(r"el[01][ht]?_(?:64_|32_)?(?:irq|fiq)(?:_handler)?(?:_naked)?|vectors")
IRQ_CALLERS = {
    "__handle_irq_event_percpu",
    "handle_percpu_devid_irq",
    "handle_percpu_irq",
    "handle_oob_irq",
    "do_oob_irq",
    "xnintr_irq_handler",
}
# what these callers also call, besides a handler
HELPERS = re.compile(
    r"(_raw_|__?remove_|enqueue_|timerqueue_|hrtimer_|__hrtimer_|ktime_|gic_|rcu_|note_|tick_irq"
    r"|add_interrupt_randomness|wakeup_|ct_|lockdep_|__local_bh|__rcu|unmask_|mask_|irq_)"
)
QUIET = re.compile(r"_raw_|__local_bh|__rcu|wakeup_|rcu_(?!core)|ct_|lockdep_")
TIMER_CALLERS = {"__hrtimer_run_queues", "call_timer_fn", "expire_timers"}
SOFTIRQ = {"handle_softirqs", "__do_softirq"}
SCHEDULER = {"__schedule", "__evl_schedule", "___xnsched_run"}
IDLE = {"cpu_do_idle", "arch_cpu_idle", "default_idle_call", "cpu_idle_poll"}
ERRANDS = {
    "do_mem_abort": "page fault",
    "do_page_fault": "page fault",
    "do_translation_fault": "page fault",
    "invoke_syscall": "system call entry",
    "do_idle": "idle loop",
}
LOOPS = re.compile(r"schedule|kthread_|__kthread|\w+_should_run|_raw_|preempt_")
THREADS = (
    ("work", {"process_one_work"}),
    ("thread function", {"smpboot_thread_fn"}),
    ("thread function", {"kthread"}),
)
SYSTEM_CALL = re.compile(r"__arm64_(?:compat_)?sys_(\w+)")
MOSTLY = 0.9  # of the time below a function: then it is what one looks at, not its caller
CALLERS_SHOWN = 3
STEPS_MAX = 40


@dataclass(frozen=True)
class What:
    """What the processor was at: a kind, in which place, for which task."""

    kind: Kind
    label: str
    task: str

    def __str__(self) -> str:
        """Say it in words."""
        words: dict[Kind, str] = {
            "masked": f"{self.label} of {self.task}, interrupts off",
            "kernel": f"{self.label} of {self.task}",
            "irq": f"interrupt: {self.label}",
            "softirq": f"softirq: {self.label} (in {self.task})",
            "user": f"user space of {self.task}",
            "racquet": f"the Racquet: {self.label}",
        }
        return words.get(self.kind, KINDS[self.kind])


@dataclass(frozen=True)
class Blame:
    """Where most of a time was spent: the innermost function that has nearly all of it."""

    ns: int
    what: What
    function: str
    callers: tuple[str, ...]  # from the inside outwards

    @property
    def module_function(self) -> str:
        """Return a module's function on the way here: it says more than the kernel's; or none."""
        for name in (self.function, *self.callers):
            if "[" in name and "[racquet" not in name:
                return name
        return ""

    @property
    def short(self) -> str:
        """Say it in a few words."""
        if self.what.kind == "user":
            return str(self.what)
        module = self.module_function
        return self.function if module in {"", self.function} else f"{module}, in {self.function}"

    def __str__(self) -> str:
        """Say it in words."""
        if self.what.kind == "user":
            return str(self.what)
        text = self.function
        shown = list(self.callers[:CALLERS_SHOWN])
        if self.module_function in self.callers[CALLERS_SHOWN:]:
            shown += ["...", self.module_function]
        if shown:
            text += f", called from {' < '.join(shown)}"
        where = f"{self.what.label}, " if self.what.kind in {"masked", "kernel"} else ""
        return f"{text} ({where}process {self.what.task})"


@dataclass(frozen=True)
class Step:
    """A stretch of a wait in which the processor was at one thing; ns since the ping."""

    began: int
    ns: int
    what: What
    masked_ns: int
    function: str  # where most of it was


@dataclass(frozen=True)
class Share:
    """How much of some waits went to one thing."""

    what: What
    ns: int
    masked_ns: int
    balls: int
    blame: Blame


@dataclass
class Frame:
    """A function in a flame graph, with those it called."""

    name: str
    kind: Kind | None = None  # of most of it; None for what holds the stacks together
    ns: int = 0
    masked_ns: int = 0
    children: dict[str, "Frame"] = field(default_factory=dict)
    kinds: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))

    def child(self, name: str) -> "Frame":
        """Return the frame of a function that was called from here."""
        return self.children.setdefault(name, Frame(name))


class Names:
    """Function names by index, safe to show."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self.symbols = symbols
        self.name = cache(self._name)
        self.is_racquet = cache(self._is_racquet)

    def _name(self, function: int) -> str:
        if function == USER:
            return IN_USER_SPACE
        return "?" if function == UNKNOWN else plain(str(self.symbols[function]), 200)

    def _is_racquet(self, function: int) -> bool:
        return function >= 0 and (self.symbols[function].module or "").startswith("racquet")


Weights = dict[tuple[int, bool], int]


@dataclass(frozen=True)
class _Weighed:
    """A stack (the task first) and the time that was spent in it."""

    stack: tuple[str, ...]
    ns: int
    node: int
    masked: bool


class Part:
    """A phase of a wait: its segments in order, each with its length and what it was."""

    def __init__(self, phase: Phase, names: Names) -> None:
        self.phase = phase
        self.names = names
        self.ns = phase.ended - phase.began
        self._functions = phase.nodes["function"].tolist()
        self._parents = phase.nodes["parent"].tolist()
        self.node = phase.segments["node"].astype(np.int64)
        self.length = phase.segments["instructions"].astype(np.int64) * NS_PER_INSTRUCTION
        self.masked = (phase.segments["flags"] & MASKED) != 0
        self.node_ns = phase.nodes["instructions"].astype(np.int64) * NS_PER_INSTRUCTION
        self.node_masked_ns = phase.nodes["masked"].astype(np.int64) * NS_PER_INSTRUCTION
        self.path = cache(self._path)
        self.what = cache(self._what)
        self._add_sleep()

    def _add_sleep(self) -> None:
        """Add the time in which the processor waited for an interrupt and executed nothing.

        Only its sum is known: where it slept several times, each sleep gets the same. An
        instruction that faults is counted twice, a few in a thousand at most.
        """
        asleep = self.ns - int(self.node_ns.sum())
        if asleep <= 0:
            return
        idle = [n for n in range(len(self._functions)) if self._leaf(n) in IDLE]
        where = np.flatnonzero(np.isin(self.node, idle))
        if not idle:
            if asleep > max(self.ns // 100, 1000):
                raise BenchError(
                    f"{format_ns(asleep)} of ball {self.phase.ball} could not be accounted for: "
                    "please report it"
                )
            return
        each, rest = divmod(asleep, max(len(where), 1))
        if len(where):
            self.length[where] += each
            self.length[where[-1]] += rest
            np.add.at(self.node_ns, self.node[where], each)
            self.node_ns[self.node[where[-1]]] += rest
        else:
            self.node_ns[idle[0]] += asleep

    def _leaf(self, node: int) -> str:
        return self.names.name(self._functions[node]) if self._parents[node] >= 0 else ""

    def _path(self, node: int) -> tuple[int, ...]:
        """Return the functions of a stack, the outermost first; a task's own node has none."""
        functions: list[int] = []
        while self._parents[node] >= 0:
            functions.append(self._functions[node])
            node = self._parents[node]
        return tuple(reversed(functions))

    def task(self, node: int) -> str:
        """Return the name of the task in which a stack was."""
        while self._parents[node] >= 0:
            node = self._parents[node]
        return plain(self.phase.tasks[self._functions[node]], 40)

    def stack(self, node: int) -> list[str]:
        """Return the names of a stack, the outermost first."""
        return [self.names.name(function) for function in self.path(node)]

    def _what(self, node: int, masked: bool) -> What:
        path = self.path(node)
        stack = self.stack(node)
        task = self.task(node)
        layer, kind = 0, "task"
        for index, name in enumerate(stack):
            if IRQ_ENTRY.fullmatch(name):
                layer, kind = index, "irq"
            elif _base(name) in SOFTIRQ:
                layer, kind = index, "softirq"
            elif _base(name) in SCHEDULER:
                layer, kind = index, "scheduler"
        own = [f for f in path[layer:] if self.names.is_racquet(f)]
        if own:
            return What("racquet", self.names.name(own[0]).partition(" ")[0], task)
        return What(*_innermost(kind, stack[layer:], masked=masked), task)

    @cached_property
    def whats(self) -> list[What]:
        """Return what each segment was."""
        return [
            self.what(node, masked)
            for node, masked in zip(self.node.tolist(), self.masked.tolist(), strict=True)
        ]

    @cached_property
    def began(self) -> NDArray[np.int64]:
        """Return when each segment began, in ns since the phase did."""
        return np.concatenate([[0], np.cumsum(self.length)[:-1]]).astype(np.int64)

    @cached_property
    def weights(self) -> Weights:
        """Return the whole time, by node and whether interrupts were masked."""
        found: Weights = {}
        for node in np.flatnonzero(self.node_ns).tolist():
            masked_ns = int(self.node_masked_ns[node])
            if masked_ns:
                found[node, True] = masked_ns
            if open_ns := int(self.node_ns[node]) - masked_ns:
                found[node, False] = open_ns
        return found

    def weights_of(self, segments: Iterable[int]) -> Weights:
        """Return the time of some segments, by node and whether interrupts were masked."""
        found: Weights = defaultdict(int)
        for index in segments:
            found[int(self.node[index]), bool(self.masked[index])] += int(self.length[index])
        return found

    def blame(self, weights: Weights) -> Blame | None:
        """Return where most of a time was spent; None for no time at all."""
        stacks = [
            _Weighed((self.task(node), *self.stack(node)), ns, node, masked)
            for (node, masked), ns in weights.items()
        ]
        if not stacks:
            return None
        enough = MOSTLY * sum(one.ns for one in stacks)
        depth = 0
        while True:
            below: dict[str, int] = defaultdict(int)
            for one in stacks:
                if len(one.stack) > depth:
                    below[one.stack[depth]] += one.ns
            best = max(below, key=lambda name: below[name], default=None)
            if best is None or below[best] < enough:
                break
            stacks = [one for one in stacks if one.stack[depth : depth + 1] == (best,)]
            depth += 1
        heaviest = max(stacks, key=lambda one: one.ns)
        if depth < 2:  # several tasks, or system calls: the one that took longest
            stacks, depth = [heaviest], len(heaviest.stack)
        chain = heaviest.stack[1:depth]
        return Blame(
            sum(one.ns for one in stacks),
            self.what(heaviest.node, heaviest.masked),
            chain[-1] if chain else "?",
            tuple(reversed(chain[:-1])),
        )


def _base(name: str) -> str:
    """Return a function's name without what the compiler adds to a variant of it."""
    return name.partition(".")[0]


def _innermost(layer: str, stack: Sequence[str], *, masked: bool) -> tuple[Kind, str]:
    """Return the kind and the label of a stack from its innermost layer on."""
    if layer == "irq":
        handler = _after(stack, TIMER_CALLERS, HELPERS) or _after(stack, IRQ_CALLERS, HELPERS)
        return ("irq", handler) if handler else ("path", "")
    if layer == "softirq":
        return "softirq", _after(stack, SOFTIRQ, QUIET) or "dispatch"
    if layer == "scheduler":
        return "scheduler", ""
    leaf = stack[-1] if stack else ""
    if leaf in IDLE or leaf == IN_USER_SPACE:
        return ("idle" if leaf in IDLE else "user"), ""
    return ("masked" if masked else "kernel"), _errand(stack)


def _after(stack: Sequence[str], callers: set[str], helpers: re.Pattern[str] | None = None) -> str:
    """Return the function that the innermost of ``callers`` called; empty where there is none."""
    for index in range(len(stack) - 2, -1, -1):
        if _base(stack[index]) in callers:
            called = stack[index + 1]
            return "" if helpers and helpers.match(called) else called
    return ""


def _errand(stack: Sequence[str]) -> str:
    """Return in a few words on what errand the kernel was."""
    for name in reversed(stack):
        if call := SYSTEM_CALL.fullmatch(name):
            return f"system call {call[1]}"
        if name in ERRANDS:
            return ERRANDS[name]
    for words, callers in THREADS:
        if thread := _after(stack, callers, LOOPS):
            return f"{words} {thread}"
    return "kernel code"


@dataclass(frozen=True)
class Story:
    """One ball: when things happened (ns since the ping), what ran, and who is to blame."""

    ball: int
    served_ns: int
    rise: int | None
    fall: int | None
    waited: int  # until the fall, or until the ball was given up
    taken: int | None  # the interrupt that led to the rise
    top_half: int | None
    bottom_half: int | None
    answerer: str  # the task in which the bottom half ran; empty: it did not
    cause: Blame | None
    latency: Literal["interrupt", "scheduling"]  # the one that the cause is about
    sentence: str
    parts: tuple[Part, ...]

    @property
    def moments(self) -> list[tuple[str, int]]:
        """Return what happened when, in order, in ns since the ping."""
        named = {
            "ping rises": 0,
            "interrupt taken": self.taken,
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
        found: list[tuple[int, int, What, int, dict[str, int]]] = []
        offset = 0
        for part in self.parts:
            rows = zip(
                part.node.tolist(),
                part.began.tolist(),
                part.length.tolist(),
                part.masked.tolist(),
                part.whats,
                strict=True,
            )
            for node, began, ns, masked, what in rows:
                leaf = part.stack(node)[-1:] or ["?"]
                if found and found[-1][2] == what:
                    start, so_far, _, masked_ns, leaves = found.pop()
                else:
                    start, so_far, masked_ns, leaves = offset + began, 0, 0, defaultdict(int)
                leaves[leaf[0]] += ns
                found.append((start, so_far + ns, what, masked_ns + ns * masked, leaves))
            offset += part.ns
            if lost := part.ns - int(part.length.sum()) if part.phase.cut else 0:
                found.append((offset - lost, lost, What("lost", "", ""), 0, {"?": lost}))
        return _fewer(
            [
                Step(start, ns, what, masked_ns, max(leaves, key=lambda name: leaves[name]))
                for start, ns, what, masked_ns, leaves in found
            ]
        )

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
    """Return what ran while balls waited, the longest first."""
    found: dict[What, list[tuple[int, Part, Weights]]] = defaultdict(list)
    for story in stories:
        for part in story.parts:
            by_what: dict[What, Weights] = defaultdict(dict)
            for (node, masked), ns in part.weights.items():
                by_what[part.what(node, masked)][node, masked] = ns
            for what, weights in by_what.items():
                found[what].append((story.ball, part, weights))
    rows = []
    for what, entries in found.items():
        blames = [part.blame(weights) for _, part, weights in entries]
        rows.append(
            Share(
                what,
                sum(sum(weights.values()) for _, _, weights in entries),
                sum(
                    ns for _, _, weights in entries for (_, masked), ns in weights.items() if masked
                ),
                len({ball for ball, _, _ in entries}),
                max(filter(None, blames), key=lambda one: one.ns),
            )
        )
    return sorted(rows, key=lambda share: -share.ns)


def flame(stories: Sequence[Story]) -> Frame:
    """Return the call stacks of balls as one tree: latency, task, functions."""
    root = Frame(f"{format_count(len(stories), 'late ball')}")
    for story in stories:
        for part in story.parts:
            words = "interrupt latency" if part.phase.phase == 0 else "scheduling latency"
            for node in np.flatnonzero(part.node_ns).tolist():
                ns, masked_ns = int(part.node_ns[node]), int(part.node_masked_ns[node])
                what = part.what(node, 2 * masked_ns > ns)
                names = [words, f"task {part.task(node)}", *part.stack(node)]
                at = root
                for name in ["", *names]:
                    at = at.child(name) if name else at
                    at.ns += ns
                    at.masked_ns += masked_ns
                    at.kinds[what.kind] += ns
    return root


def tell(
    ball: int,
    served_ns: int,
    edges: tuple[int | None, int | None],
    phases: Sequence[Phase],
    names: Names,
) -> Story:
    """Return the story of a ball; ``edges``: rise and fall in ns since the ping, None: missed."""
    rise, fall = edges
    parts = tuple(Part(phase, names) for phase in phases if phase.ended > phase.began)
    first = parts[0]
    waited = sum(part.ns for part in parts)
    top_half = taken = None
    blocked = range(len(first.whats))
    if rise is not None:
        own = next((i for i, what in enumerate(first.whats) if what.kind == "racquet"), None)
        if own is None and not first.phase.cut:
            raise BenchError(
                "the functions' names do not fit this rally (the Racquet is not where they say): "
                "remove the folder symbols from tennis' cache, and try again"
            )
        if own is not None:
            entry = _entry(first, own)
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
    cause, latency, sentence = _because(
        ball, waited, edges, parts, blocked, waiting, answerer, bottom_half
    )
    return Story(
        ball,
        served_ns,
        rise,
        fall,
        waited,
        taken,
        top_half,
        bottom_half,
        answerer,
        cause,
        latency,
        sentence,
        parts,
    )


def _entry(part: Part, own: int) -> int:
    """Return the segment with which the exception begins that leads to the Racquet's handler."""
    at = own
    while at > 0 and part.whats[at - 1].kind == "path":
        at -= 1
    vectors = [i for i in range(at, own) if part.stack(int(part.node[i]))[-1:] == ["vectors"]]
    return vectors[-1] if vectors else at


def _bottom_half(part: Part) -> int | None:
    """Return the first segment of the bottom half: the Racquet again, after something else."""
    other = next((i for i, what in enumerate(part.whats) if what.kind != "racquet"), None)
    if other is None:
        return None
    rest = range(other, len(part.whats))
    return next((i for i in rest if part.whats[i].kind == "racquet"), None)


def _because(  # noqa: PLR0913, PLR0917
    ball: int,
    waited: int,
    edges: tuple[int | None, int | None],
    parts: Sequence[Part],
    blocked: range,
    waiting: range,
    answerer: str,
    bottom_half: int | None,
) -> tuple[Blame | None, Literal["interrupt", "scheduling"], str]:
    """Return the cause, the latency it belongs to, and both in a sentence."""
    rise, fall = edges
    if rise is None:
        head = f"Ball {ball} was missed: the reply did not rise within {format_ns(waited)}"
    elif fall is None:
        head = f"Ball {ball} was missed: the reply did not fall within {format_ns(waited)}"
    else:
        head = f"Ball {ball} waited {format_ns(waited)}"
    first = parts[0]
    if rise is None or len(parts) < 2 or first.ns >= parts[1].ns:
        cause, words = _interrupt_words(first, blocked, missed=rise is None)
        return cause, "interrupt", f"{head}: {words}."
    cause, words = _scheduling_words(parts[1], waiting, answerer, begun=bottom_half is not None)
    return cause, "scheduling", f"{head}: {words}."


def _sum(part: Part, indices: Iterable[int]) -> int:
    return int(part.length[list(indices)].sum())


def _interrupt_words(part: Part, blocked: range, *, missed: bool) -> tuple[Blame | None, str]:
    masked = [i for i in blocked if part.masked[i]]
    masked_ns = _sum(part, masked)
    if missed and 2 * masked_ns < part.ns:
        cause = part.blame(part.weights_of(blocked))
        return cause, f"the interrupt never led to the Racquet; most of the time {_ran(cause)}"
    if 2 * masked_ns < part.ns:
        whole = part.blame(part.weights)
        words = f"the interrupt was taken after {format_ns(_sum(part, blocked))}"
        return whole, f"{words}; the rest is the way to the handler"
    cause = part.blame(part.weights_of(masked))
    words = f"interrupts were off for {format_ns(masked_ns)} in {cause}"
    last = next((i for i in reversed(masked) if part.whats[i].kind == "masked"), None)
    if last is not None and cause and cause.what.kind == "masked":
        words += (
            f"; the last function with interrupts off was {part.stack(int(part.node[last]))[-1]}"
        )
    return cause, words


def _ran(cause: Blame | None) -> str:
    return f"the processor was in {cause}" if cause else "nothing ran"


def _scheduling_words(
    part: Part, waiting: range, answerer: str, *, begun: bool
) -> tuple[Blame | None, str]:
    others = [i for i in waiting if part.whats[i].kind != "racquet"]
    waited_ns = _sum(part, others)
    if not begun or 2 * waited_ns >= part.ns:
        masked = [i for i in others if part.masked[i]]
        who = f"its bottom half (in {answerer})" if begun else "its bottom half"
        if 2 * _sum(part, masked) >= waited_ns:
            cause = part.blame(part.weights_of(masked))
            words = f"interrupts were off for {format_ns(_sum(part, masked))}, most in {cause}"
            return cause, f"{who} did not run for {format_ns(waited_ns)}; {words}"
        ran = _groups(part, others)
        busy = ran[0][0]
        cause = part.blame(part.weights_of(i for i in others if part.whats[i] == busy))
        if begun and busy.task == answerer and busy.kind in {"kernel", "masked"}:
            words = f"its bottom half ran in {answerer}, which was at something else before for"
            return cause, f"{words} {format_ns(ran[0][1])}: {cause}"
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
    words = f"its bottom half (in {answerer}) began after {format_ns(waited_ns)}"
    return cause, f"{words} and was interrupted for {format_ns(_sum(part, later))}, most in {cause}"


def _groups(part: Part, indices: Sequence[int]) -> list[tuple[What, int]]:
    sums: dict[What, int] = defaultdict(int)
    for index in indices:
        sums[part.whats[index]] += int(part.length[index])
    return sorted(sums.items(), key=lambda entry: -entry[1])


def causes(stories: Sequence[Story]) -> list[tuple[str, int, int]]:
    """Return the causes of late balls: in words, how many balls, and their ns together."""
    found: dict[str, list[int]] = defaultdict(list)
    for story in stories:
        if story.cause:
            found[f"{story.latency} latency: {story.cause.short}"].append(story.cause.ns)
    rows = [(words, len(times), sum(times)) for words, times in found.items()]
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
