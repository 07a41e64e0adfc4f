# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a ping at any instant of a run would have met, with a top half in the hard interrupt.

From where the processor takes an interrupt, always the same instructions lead to the read of the
interrupt controller, and always the same from there to the reply. So a latency is the wait until
the interrupt is taken, plus the *entry*, which depends on where it finds the processor, plus the
*answer*. The ping is taken

- at once, if interrupts are not masked;
- at the end of the section in which they are, unless another interrupt is taken there;
- in the handler of another interrupt, which asks the controller again when it is done: no entry;
- asleep: the processor wakes at once, and its way from there out of the section is known.

And the timer's interrupt goes before the ping, whose number is higher, if it becomes pending
between the ping's interrupt and the first read: *behind the timer*. The ping then waits for the
timer's handler, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.explain.sections.run import NEVER, WHERE, Run, Times
from tennis.explain.sections.switching import KINDS

PING = 39  # the number of the ping's interrupt: that of the machine's GPIO controller
TIMER = 27
NOTHING = 1023
ALIKE_NS = 20  # what varies by more is no constant, and nothing is predicted with it,
ODD_OF = 1000  # but for one time in so many: the balls say how far off that was
TAKEN = ("at once", "behind a section", "behind another interrupt", "asleep", "behind the timer")
AT_ONCE, BEHIND_SECTION, BEHIND_INTERRUPT, ASLEEP, BEHIND_TIMER = range(len(TAKEN))
# a thread's answer may wait for a chance to run, too: ``thread_model``
WAYS = (*TAKEN, *KINDS, "until bottom halves are let go")


@dataclass(frozen=True)
class Span:
    """A time that should be constant, as often as it was seen; ns.

    ``odd``: so often it was further than ALIKE_NS from ``typical``.
    """

    typical: int
    least: int
    most: int
    seen: int
    odd: int = 0

    @property
    def constant(self) -> bool:
        """Tell whether it was always the same, or nearly: but for one in ODD_OF."""
        alike = self.most - self.least <= ALIKE_NS
        return alike or 0 < self.odd * ODD_OF <= self.seen


def span(values: Times) -> Span | None:
    """Return the most frequent of some times, and their ends; None of no times."""
    if not len(values):
        return None
    distinct, counts = np.unique(values, return_counts=True)
    typical = int(distinct[np.argmax(counts)])
    odd = int(counts[np.abs(distinct - typical) > ALIKE_NS].sum())
    return Span(typical, int(distinct[0]), int(distinct[-1]), len(values), odd)


@dataclass(frozen=True)
class Constants:
    """The entry, of each place where an interrupt was seen to find the processor; the answer."""

    entry: Mapping[int, Span]
    answer: Span

    def entries(self) -> Times:
        """Return the typical entry of each place; -1: none was seen."""
        typical = [self.entry[w].typical if w in self.entry else -1 for w in range(len(WHERE))]
        return np.array(typical, np.int64)

    def is_constant(self) -> NDArray[np.bool_]:
        """Return of each place whether both entry and answer are constant."""
        of_entry = [w in self.entry and self.entry[w].constant for w in range(len(WHERE))]
        return np.array(of_entry) & self.answer.constant


@dataclass(frozen=True)
class Met:
    """What pings at some instants would have met; arrays of one length.

    ``ramp``: an instant later the latency is as much less; elsewhere it stays. ``section``: the
    masked stretch in which the ping came, or the last before it. ``sure``: all that the latency is
    made of was seen, and is constant where the model takes it for that. ``taken``: when the
    processor takes the interrupt, or, behind another interrupt, asks for it. ``context``: what
    goes on when it is served; ``where``, or, behind another interrupt, where that one found it.
    """

    latency: Times
    ramp: NDArray[np.bool_]
    way: NDArray[np.int8]
    where: NDArray[np.int8]
    section: Times
    sure: NDArray[np.bool_]
    taken: Times
    context: NDArray[np.int8]


@dataclass(frozen=True)
class Case:
    """What pings meet in one case of the formula, or in all; arrays as in ``Met``."""

    latency: Times
    ramp: NDArray[np.bool_]
    way: NDArray[np.int8]
    where: NDArray[np.int8]
    sure: NDArray[np.bool_]
    taken: Times

    @classmethod
    def empty(cls, count: int) -> "Case":
        """Return room for so many pings."""
        return cls(
            latency=np.empty(count, np.int64),
            ramp=np.empty(count, np.bool_),
            way=np.empty(count, np.int8),
            where=np.empty(count, np.int8),
            sure=np.empty(count, np.bool_),
            taken=np.empty(count, np.int64),
        )

    def put(self, mask: NDArray[np.bool_], case: "Case") -> None:
        """Write what one case says to where ``mask`` says that it is the case."""
        for field in fields(self):
            getattr(self, field.name)[mask] = getattr(case, field.name)


class Model:
    """The formula above, for one run."""

    def __init__(self, run: Run, constants: Constants) -> None:
        self.run = run
        self.constants = constants
        self._entry, self._known = constants.entries(), constants.is_constant()
        self._chances()
        self._sleeps()

    def _chances(self) -> None:
        """Find all instants at which a ping that waits is taken, in their order."""
        run = self.run
        # an interrupt at the very end of a section: its reads tell whether the ping is first
        taken = np.zeros(len(run.end), bool)
        taken[:-1] = (run.begin[1:] == run.end[:-1]) & run.entered[1:]
        ends, reads = np.flatnonzero(~taken), np.flatnonzero(run.number >= PING)
        where = run.where[ends]
        rest, shadowed, sure = self._rest(run.end[ends], run.end[ends], where)
        way = np.where(shadowed, BEHIND_TIMER, BEHIND_SECTION)
        answer = np.full(len(reads), self.constants.answer.typical)
        order = np.argsort(np.concatenate([run.end[ends], run.read[reads]]), kind="stable")

        def both(of_ends: NDArray[Any], of_reads: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([of_ends, of_reads])[order]

        self._chance = both(run.end[ends], run.read[reads])
        self._chance_rest = both(rest, answer)
        self._chance_way = both(way, np.full(len(reads), BEHIND_INTERRUPT)).astype(np.int8)
        self._chance_where = both(where, np.full(len(reads), -1)).astype(np.int8)
        self._chance_sure = both(sure, np.full(len(reads), self.constants.answer.constant))

    def _sleeps(self) -> None:
        """Find the sleep of each section, and its way from there to the section's end."""
        run = self.run
        inside = np.searchsorted(run.begin, run.slept, "right") - 1
        good = (inside >= 0) & (run.woke <= run.end[np.maximum(inside, 0)])
        inside = inside[good]
        none = np.full(len(run.begin), NEVER)
        self._slept, self._woke = none.copy(), none.copy()
        self._slept[inside], self._woke[inside] = run.slept[good], run.woke[good]
        self._out = np.where(self._woke == NEVER, 0, run.end - self._woke)
        self._many_sleeps = np.bincount(inside, minlength=len(run.begin)) > 1

    @cached_property
    def _timer_reads(self) -> tuple[Times, Times, NDArray[np.bool_]]:
        """Return the reads that gave the timer, how long until the next read, and its turn."""
        run = self.run
        of_timer = np.flatnonzero(run.number[:-1] == TIMER)
        took = run.read[of_timer + 1] - run.read[of_timer]
        return run.read[of_timer], took, run.number[of_timer + 1] >= PING

    def _in_force(self, at: Times) -> tuple[Times, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the deadline in force at some times, whether it went off before another was set.

        And whether it is known: before the first that is recorded it is not.
        """
        run = self.run
        index = np.searchsorted(run.deadline_set, at, "right")
        deadline = np.concatenate([[NEVER], run.deadline])[index]
        until = np.append(run.deadline_set, NEVER)[index]
        return deadline, deadline < until, index > 0

    def _rest(
        self, taken: Times, known_at: Times, where: NDArray[np.int8]
    ) -> tuple[Times, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return what follows an interrupt that is taken at some times, until the reply.

        ``known_at``: of which time the deadline is taken. Returns the time in ns, whether the timer
        goes first, and whether all of it was seen.
        """
        step = self.run.instruction_ns
        entry = self._entry[where]
        deadline, went_off, known = self._in_force(known_at)
        far = deadline - taken > entry
        soon = np.where(far, 0, deadline - taken)
        pending = -(-soon // step) * step  # from the boundary of two instructions on
        first = ~far & (pending <= entry - step)
        more, handled = self._handling(np.where(first, deadline, 0), taken + entry)
        rest = entry + self.constants.answer.typical + np.where(first, more, 0)
        # what is pending with interrupts on would have been taken: the record says otherwise
        missed = first & (deadline <= taken) & (known_at == taken)
        return rest, first, known & self._known[where] & ~missed & (~first | (handled & went_off))

    def _handling(self, deadline: Times, read_at: Times) -> tuple[Times, NDArray[np.bool_]]:
        """Return how long the handler of a deadline's interrupt took, and whether it is sure.

        Not, if another interrupt that goes before the ping is pending behind it, here or if it
        begins at ``read_at``.
        """
        read, took, was_last = self._timer_reads
        index = np.searchsorted(read, deadline, "right")
        handled = index < len(read)
        if not len(read):
            return np.zeros(len(deadline), np.int64), handled
        index = np.minimum(index, len(read) - 1)
        following, _, _ = self._in_force(read[index] + took[index])
        again = following <= read_at + took[index]
        return took[index], handled & was_last[index] & ~again

    def meet(self, at: Times) -> Met:
        """Return what pings at these instants would have met.

        Instants before the first section's begin or behind the last chance are not sure.
        """
        run = self.run
        section = np.maximum(np.searchsorted(run.begin, at, "right") - 1, 0)
        masked = at < run.end[section]
        asleep = masked & (at < self._woke[section]) & (self._woke[section] != NEVER)
        met = Case.empty(len(at))
        met.put(~masked, self._unmasked(at[~masked], section[~masked]))
        awake = masked & ~asleep
        met.put(awake, self._masked(at[awake]))
        met.put(asleep, self._asleep(at[asleep], section[asleep]))
        # behind the last chance nobody knows when it would be taken
        known = (at >= run.begin[0]) & (~masked | (at < self._chance[-1]))
        other = run.where[np.maximum(section - 1, 0)]
        context = np.where(met.way == BEHIND_INTERRUPT, other, met.where).astype(np.int8)
        return Met(
            met.latency,
            met.ramp,
            met.way,
            met.where,
            section,
            met.sure & known,
            met.taken,
            context,
        )

    def _unmasked(self, at: Times, section: Times) -> "Case":
        """Return what pings meet that are taken at once."""
        where = self.run.where[section]
        rest, shadowed, sure = self._rest(at, at, where)
        way = np.where(shadowed, BEHIND_TIMER, AT_ONCE)
        return Case(rest, np.zeros(len(at), bool), way, where, sure, at)

    def _masked(self, at: Times) -> "Case":
        """Return what pings meet that wait for the next chance, the processor being awake."""
        chance = np.searchsorted(self._chance, at, "right")
        chance = np.minimum(chance, len(self._chance) - 1)
        taken = self._chance[chance]
        return Case(
            taken - at + self._chance_rest[chance],
            np.ones(len(at), bool),
            self._chance_way[chance],
            self._chance_where[chance],
            self._chance_sure[chance],
            taken,
        )

    def _asleep(self, at: Times, section: Times) -> "Case":
        """Return what pings meet that wake the processor, or come before it sleeps, masked."""
        where = self.run.where[section]
        slept = np.maximum(at, self._slept[section])
        taken = slept + self._out[section]
        rest, shadowed, sure = self._rest(taken, self._slept[section], where)
        way = np.where(shadowed, BEHIND_TIMER, ASLEEP)
        seen = sure & ~self._many_sleeps[section]
        return Case(taken - at + rest, at < self._slept[section], way, where, seen, taken)

    def edges(self, low: int, high: int) -> Times:
        """Return the instants in [low, high) at which the formula changes; low is the first."""
        run, step = self.run, self.run.instruction_ns
        found = [run.begin, run.end, self._chance, run.slept, run.woke]
        # from when on the timer goes first: of each deadline, for each entry, awake and asleep
        fires = np.unique(run.deadline[run.deadline < NEVER])
        for entry in set(self._entry[self._entry > 0].tolist()):
            found += [fires - entry + step + k for k in range(step)]
            asleep = self._woke != NEVER
            deadline, _, _ = self._in_force(self._slept[asleep])
            some = deadline < NEVER
            shadow = deadline[some] - self._out[asleep][some] - entry + step
            found += [shadow + k for k in range(-step, step)]
        every = np.concatenate([np.array([low]), *found])
        return np.unique(every[(every >= low) & (every < high)])
