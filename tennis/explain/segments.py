"""A phase of a wait in order: how long the processor was at what, and who is to blame."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tennis.explain.kinds import IN_USER_SPACE, IRQ_ENTRY, SCHEDULER, SOFTIRQ, What, base, innermost
from tennis.kit.errors import BenchError
from tennis.kit.units import format_ns
from tennis.rally.phases import (
    EVAL_LOOP,
    GARBAGE,
    INTERPRETER,
    MASKED,
    NO_LINE_OF_PYTHON,
    OF_PYTHON,
    PROGRAM,
    UNKNOWN,
    UNNAMED_OF_PYTHON,
    USER,
    Phase,
    Symbol,
)
from tennis.rally.text import plain

MOSTLY = 0.9  # of the time below a function: then it is what one looks at, not its caller
MOSTLY_OWN = 2 / 3  # of a Racquet of a user: its own function says more than its caller
CALLERS_SHOWN = 3
# how a program's threads begin: in there says nothing
STARTS = tuple(f"{name} [{PROGRAM}]" for name in ("start_thread", "execute_native_thread_routine"))
VARIABLE_MAX = 1 << 12  # bytes
VARIANT = re.compile(r"(?:\.(?:isra|part|constprop|cold)(?:\.\d+)?)+$")  # of a function, by GCC


@dataclass(frozen=True)
class Blame:
    """The main part of a time: the innermost function that has nearly all of it."""

    ns: int
    what: What
    function: str
    callers: tuple[str, ...]  # from the inside outwards
    lines: tuple[str, ...] = ()  # of the function and its callers, if a line is known

    @property
    def module_function(self) -> str:
        """Return a module's function on the way here: it says more than the kernel's; or none."""
        for name, line in zip(self._chain, (*self.lines, *[""] * len(self._chain)), strict=False):
            if line or ("[" in name and "[racquet" not in name):
                return with_line(name, line)
        return ""

    @property
    def _chain(self) -> tuple[str, ...]:
        return self.function, *self.callers

    @property
    def short(self) -> str:
        """Say it in a few words."""
        if self.what.kind in {"user", "program"}:
            return str(self.what)
        module = self.module_function
        if module.partition(" ")[0] == self.function.partition(" ")[0]:
            return module
        return f"{module}, in {self.function}" if module else self.function

    def __str__(self) -> str:
        """Say it in words."""
        if self.what.kind == "user":
            return str(self.what)
        if self.what.kind == "program":
            lines = (*self.lines, *[""] * len(self._chain))
            chain = [
                with_line(f.partition(" [")[0], line)
                for f, line in zip(self._chain, lines, strict=False)
                # between functions of Python there are these, again and again
                if f not in {IN_USER_SPACE, "?"} and not (any(self.lines) and _between(f))
            ]
            named = " < ".join(chain[: CALLERS_SHOWN + 1])
            return f"{named or self.what.label} (its own code, in {self.what.task})"
        lines = (*self.lines, *[""] * len(self._chain))
        text, *callers = map(with_line, self._chain, lines)
        shown = callers[:CALLERS_SHOWN]
        if self.module_function in callers[CALLERS_SHOWN:]:
            shown += ["...", self.module_function]
        if shown:
            text += f", called from {' < '.join(shown)}"
        where = f"{self.what.label}, " if self.what.kind in {"masked", "kernel"} else ""
        return f"{text} ({where}process {self.what.task})"


def _between(name: str) -> bool:
    return name.partition(" [")[0] in {EVAL_LOOP, UNNAMED_OF_PYTHON, "?"}


def with_line(name: str, line: str) -> str:
    """Return a function's name, with its line in place of its module."""
    return f"{name.partition(' [')[0]} ({line})" if line else name


class Names:
    """Function names by index, safe to show; tasks with their priorities, as in ``FIFO 99``."""

    def __init__(  # noqa: PLR0913 (what is known of names)
        self,
        symbols: Sequence[Symbol],
        policies: Mapping[tuple[str, int], str] = MappingProxyType({}),
        *,
        of_program: bool = False,
        places: Mapping[int, str] = MappingProxyType({}),
        objects: Sequence[tuple[int, int, str]] = (),
        own_racquet: Sequence[Symbol] | None = None,
    ) -> None:
        """``policies``: of the tasks that answer, by name and priority, as in ``FIFO``.

        ``of_program``: a user's own program answers. ``places``: address -> place in its source.
        ``objects``: its variables by address: begin, end, name. ``own_racquet``: if a user's own
        Racquet answers, the modules' variables by address.
        """
        self.symbols, self.of_program, self.places = symbols, of_program, places
        self.own_racquet = own_racquet is not None
        self._variables = own_racquet or ()
        self._addresses = [one.address for one in self._variables]
        self._policies = {(plain(task, 40), n): policy for (task, n), policy in policies.items()}
        self._answering = {task for task, _ in self._policies}
        self._objects = objects
        self._begins = [begin for begin, *_ in objects]
        self.name = cache(self._name)
        self.is_racquet = cache(self._is_racquet)

    def object(self, address: int) -> str:
        """Return the name of the variable at an address; empty: it is on a stack or the heap."""
        at = bisect_right(self._begins, address) - 1
        return self._objects[at][2] if at >= 0 and address < self._objects[at][1] else ""

    def task(self, task: str, priority: int, *, of_program: bool = False) -> str:
        """Return a task's name, with its priority if it is one of those that answer.

        ``priority``: of this thread, for another one may have its name; -1: not known.
        """
        if priority == 0 and of_program:
            return f"{task} (no real-time priority)"
        if priority <= 0 or not (of_program or task in self._answering):
            return task
        return f"{task} ({self.policy(task, priority)})"

    def policy(self, task: str, priority: int) -> str:
        """Return a real-time priority with its policy, as in ``FIFO 99``."""
        return f"{self._policies.get((task, priority), 'real-time priority')} {priority}"

    def _name(self, function: int) -> str:
        if function == USER:
            return IN_USER_SPACE
        if function == UNKNOWN:
            return "?"
        symbol = self.symbols[function]
        if symbol.module == PROGRAM:
            symbol = replace(symbol, name=VARIANT.sub("", symbol.name))
        return plain(str(symbol), 200)

    def line(self, function: int) -> str:
        """Return a function's line in the source; empty: not known."""
        return plain(self.symbols[function].line, 60) if function >= 0 else ""

    def python(self, function: int) -> str:
        """Return a place in a program's own Python, as in ``note (answer.py:9)``; empty: none."""
        name, line = (self.name(function).partition(" [")[0], self.line(function))
        own = function >= 0 and line and self.symbols[function].module == PROGRAM
        return with_line(name, line) if own else ""

    def variable(self, address: int) -> str:
        """Return the module's variable in which an address is; empty: not known."""
        at = bisect_right(self._addresses, address) - 1
        if at < 0 or address - self._addresses[at] > VARIABLE_MAX:
            return ""
        return plain(self._variables[at].name, 60)

    def _is_racquet(self, function: int) -> bool:
        return function >= 0 and (self.symbols[function].module or "").startswith("racquet")


def _at(functions: Sequence[str]) -> str:
    """Return a program's work in its own code: its innermost function, or a part of Python."""
    names = [name.partition(" [")[0] for name in functions]
    if GARBAGE in names:
        return GARBAGE
    if any(name.startswith(OF_PYTHON) for name in names):
        return INTERPRETER
    return names[-1] if names else "no name"


Weights = dict[tuple[int, bool], int]


@dataclass(frozen=True)
class Event:
    """An event between processors, or that another one may have caused: ``phases.WANTS`` and so on.

    ``at`` is in ns since the phase began. ``name``: of the task that waits, is woken or moved.
    ``what`` is the lock or the task's number, ``other`` of a wait the task's, and SLEEPING.
    """

    at: int
    kind: int
    node: int
    what: int
    other: int
    name: str


@dataclass(frozen=True)
class _Weighed:
    """A stack (the task first) and the time that was spent in it."""

    stack: tuple[str, ...]
    ns: int
    node: int
    masked: bool


class Segments:
    """A phase of a wait: its segments in order, each with its length and what it was."""

    def __init__(
        self,
        phase: Phase,
        names: Names,
        *,
        woken_by: int | None = None,
        places: tuple[int, ...] = (),
    ) -> None:
        self.phase = phase
        self.processor = phase.processor
        # of each of the phase's tasks
        self.places = places or (phase.processor,) * len(phase.tasks)
        # of a way through two processors: the first, which woke what runs on the second
        self.woken_by = phase.processor if woken_by is None else woken_by
        self.names = names
        # functions of a Racquet of somebody's own that set its line; None: all of the module do
        self.answers: frozenset[str] | None = None
        self.ns = phase.ended - phase.began
        self._functions = phase.nodes["function"].tolist()
        self._parents = phase.nodes["parent"].tolist()
        self._at = phase.nodes["at"].tolist()
        self._pc = phase.segments["pc"]
        self.node = phase.segments["node"].astype(np.int64)
        self.length = phase.segments["ns"].astype(np.int64)
        self.masked = (phase.segments["flags"] & MASKED) != 0
        self.node_ns = phase.nodes["ns"].astype(np.int64)
        self.node_masked_ns = phase.nodes["masked_ns"].astype(np.int64)
        self.path = cache(self._path)
        self.what = cache(self._what)
        self.bases = cache(self._bases)  # of a node
        self._context = cache(self._context_of)
        if not phase.cut and int(self.length.sum()) != self.ns:
            lost = format_ns(abs(self.ns - int(self.length.sum())))
            raise BenchError(
                f"{lost} of ball {phase.ball} could not be accounted for: please report it"
            )
        stalled = np.bincount(phase.stalls["node"], phase.stalls["ns"], len(phase.nodes))
        if (stalled > self.node_ns).any():
            raise BenchError(
                f"ball {phase.ball} waited longer for memory than the whole function took",
                next_step="please report it, with the rally's folder",
            )

    def _path(self, node: int) -> tuple[int, ...]:
        """Return the functions of a stack, the outermost first; a task's own node has none."""
        functions: list[int] = []
        while self._parents[node] >= 0:
            functions.append(self._functions[node])
            node = self._parents[node]
        return tuple(reversed(functions))

    def _context_of(self, node: int) -> int:
        """Return the index of the task in which a stack was."""
        while self._parents[node] >= 0:
            node = self._parents[node]
        return int(self._functions[node])

    def task(self, node: int) -> str:
        """Return the name of the task in which a stack was: for people, two may have one name."""
        return plain(self.phase.tasks[self._context(node)], 40)

    def thread(self, node: int) -> int:
        """Return the number of the task in which a stack was."""
        return self.phase.threads[self._context(node)]

    def thread_at(self, segment: int) -> int:
        """Return the number of the task that a segment is of."""
        return self.thread(int(self.node[segment]))

    def named(self, segment: int) -> str:
        """Return the name of the task that a segment is of, with its priority."""
        node = int(self.node[segment])
        priority = self.phase.priorities[self._context(node)]
        return self.names.task(self.task(node), priority, of_program=self.of_program(node))

    def priority(self, segment: int) -> int:
        """Return the real-time priority of a segment's task; 0: it has none, -1: not known."""
        return self.phase.priorities[self._context(int(self.node[segment]))]

    def of_program(self, node: int) -> bool:
        """Tell whether the task in which a stack was is one of a program of somebody's own."""
        return self.phase.of_program[self._context(node)]

    def allowed(self, segment: int) -> int:
        """Return a mask of the processors that a segment's task may use; 0: not known."""
        return self.phase.allowed[self._context(int(self.node[segment]))]

    def site(self, segment: int) -> str:
        """Return where in its source a program was at a segment in user space.

        The innermost place in its own files; if its lines are not known, its innermost functions.
        """
        return self.site_of(int(self.node[segment]), int(self._pc[segment]))

    def site_of(self, node: int, pc: int = 0) -> str:
        """Return the same of a stack; ``pc``: the last instruction."""
        chain = [node]
        while self._parents[chain[-1]] >= 0:
            chain.append(self._parents[chain[-1]])
        for one in chain:
            place = self.names.places.get(self._at[one] or pc)
            if place or (place := self.names.python(self._functions[one])):
                return place
            pc = 0
        names = [name.partition(" [")[0] for name in reversed(self.stack(node)[1:])]
        if EVAL_LOOP in names:
            return NO_LINE_OF_PYTHON
        shown = [name for name in names if name != "?" and " " not in name]
        return " < ".join(dict.fromkeys(shown[:CALLERS_SHOWN]))

    def site_near(self, segment: int) -> str:
        """Return where a program left user space for what it is at; else where it came back to."""
        thread = self.thread_at(segment)
        own = [i for i, what in enumerate(self.whats) if what.kind == "program"]
        its = [i for i in own if self.thread_at(i) == thread]
        before = next((i for i in reversed(its) if i <= segment), None)
        near = next((i for i in its if i > segment), None) if before is None else before
        return "" if near is None else self.site(near)

    def place(self, segment: int) -> int:
        """Return the processor on which a segment was."""
        return self.places[self._context(int(self.node[segment]))]

    def stack(self, node: int) -> list[str]:
        """Return the names of a stack, the outermost first."""
        return [self.names.name(function) for function in self.path(node)]

    def _bases(self, node: int) -> frozenset[str]:
        """Return the functions of a stack, without what compilers add to names."""
        return frozenset(map(base, self.stack(node)))

    def shown_stack(self, node: int) -> list[str]:
        """Return the names of a stack, the outermost first, with their lines if they are known."""
        return [
            with_line(self.names.name(function), self.names.line(function))
            for function in self.path(node)
        ]

    def answering(self, node: int) -> str:
        """Return the function of the stack that answers; empty: none does."""
        return next((name for name in self.own(node) if name in (self.answers or ())), "")

    def own(self, node: int) -> list[str]:
        """Return the Racquet's functions of a stack, the outermost first.

        Those before an interrupt are what it met, and have nothing to do with it.
        """
        found: list[str] = []
        for function, name in zip(self.path(node), self.stack(node), strict=True):
            if IRQ_ENTRY.fullmatch(name) or base(name) in SOFTIRQ:
                found = []
            elif self.names.is_racquet(function):
                found.append(name)
        return found

    def frames(self, node: int) -> list[str]:
        """Return a stack as a picture shows it: the task, then the functions."""
        return [f"task {self.task(node)}", *self.stack(node)]

    def leaf(self, node: int) -> str:
        """Return the innermost function of a stack; for user space or a task alone, that word."""
        return (self.stack(node) or [self.task(node)])[-1]

    def _what(self, node: int, masked: bool) -> What:
        path = self.path(node)
        stack = self.stack(node)
        task = self.task(node)
        layer, kind = 0, "task"
        for index, name in enumerate(stack):
            if IRQ_ENTRY.fullmatch(name):
                layer, kind = index, "irq"
            elif base(name) in SOFTIRQ:
                layer, kind = index, "softirq"
            elif base(name) in SCHEDULER:
                layer, kind = index, "scheduler"
        own = [f for f in path[layer:] if self.names.is_racquet(f)]
        if own and self.answers is not None and self.names.name(own[0]) not in self.answers:
            own = []
        if path[:1] == (USER,) and self.of_program(node):
            return What("program", _at(stack[1:]), task)
        if own:
            return What("racquet", self.names.name(own[0]).partition(" ")[0], task)
        return What(*innermost(kind, stack[layer:], masked=masked), task)

    @cached_property
    def whats(self) -> list[What]:
        """Return what each segment was."""
        found = [
            self.what(node, masked)
            for node, masked in zip(self.node.tolist(), self.masked.tolist(), strict=True)
        ]
        collector: dict[int, int] = {}  # the place of its last run, by task; the eval loop ends it
        for i, what in enumerate(found):
            if what.kind != "program":
                continue
            thread = self.thread_at(i)
            if what.label == GARBAGE:
                between = range(collector.get(thread, i) + 1, i)
                for j in between:
                    if found[j].kind == "program" and self.thread_at(j) == thread:
                        found[j] = what
                collector[thread] = i
            elif self.leaf(int(self.node[i])).partition(" [")[0] == EVAL_LOOP:
                collector.pop(thread, None)
        return found

    @cached_property
    def events(self) -> list[Event]:
        """Return what happened that other processors may have to do with, in order of time."""
        return [
            Event(
                at - self.phase.began,
                kind,
                node,
                what,
                other,
                plain(name.decode(errors="replace"), 40),
            )
            for at, kind, node, what, other, name in self.phase.events.tolist()
        ]

    @cached_property
    def began(self) -> NDArray[np.int64]:
        """Return when each segment began, in ns since the phase did."""
        return np.concatenate([[0], np.cumsum(self.length)[:-1]]).astype(np.int64)

    @cached_property
    def weights(self) -> Weights:
        """Return the whole time, by node and whether interrupts were masked."""
        weights: Weights = {}
        for node in np.flatnonzero(self.node_ns).tolist():
            masked_ns = int(self.node_masked_ns[node])
            if masked_ns:
                weights[node, True] = masked_ns
            if open_ns := int(self.node_ns[node]) - masked_ns:
                weights[node, False] = open_ns
        return weights

    def weights_of(self, segments: Iterable[int]) -> Weights:
        """Return the time of some segments, by node and whether interrupts were masked."""
        weights: Weights = defaultdict(int)
        for index in segments:
            weights[int(self.node[index]), bool(self.masked[index])] += int(self.length[index])
        return weights

    def weights_between(self, began: int, ended: int) -> Weights:
        """Return the time from one moment to another (ns since the phase began), as above."""
        lengths = np.minimum(self.began + self.length, ended) - np.maximum(self.began, began)
        weights: Weights = defaultdict(int)
        for index in np.flatnonzero(lengths > 0).tolist():
            weights[int(self.node[index]), bool(self.masked[index])] += int(lengths[index])
        return weights

    def blame(self, weights: Weights) -> Blame | None:
        """Return the function that took most of a time; None for no time at all."""
        stacks = [
            _Weighed((self.task(node), *self.stack(node)), ns, node, masked)
            for (node, masked), ns in weights.items()
        ]
        if not stacks:
            return None
        share = MOSTLY_OWN if self.names.own_racquet else MOSTLY
        enough = share * sum(one.ns for one in stacks)
        depth, last = 0, ""
        while True:
            below: dict[str, int] = defaultdict(int)
            for one in stacks:
                if len(one.stack) > depth:
                    below[one.stack[depth]] += one.ns
            best = max(below, key=lambda name: below[name], default=None)
            if best is None or below[best] < enough:
                whole = sum(one.ns for one in stacks)
                if best is None or 2 * below[best] <= whole or last not in STARTS:
                    break
                enough = share * below[best]
            last = best
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
            self._lines(stacks, range(depth - 2, -1, -1)),
        )

    def _lines(self, stacks: Iterable[_Weighed], depths: range) -> tuple[str, ...]:
        """Return of functions at some depths the line on which most of the time was spent."""
        found = []
        for depth in depths:
            weights: dict[str, int] = defaultdict(int)
            for one in stacks:
                path = self.path(one.node)
                within = depth < len(path) and not any(
                    IRQ_ENTRY.fullmatch(name) for name in one.stack[depth + 2 :]
                )
                # what an interrupt meets has nothing to do with it
                weights[self.names.line(path[depth]) if within else ""] += one.ns
            found.append(max(weights, key=lambda line: weights[line]))
        return tuple(found) if any(found) else ()
