# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A processor of some lines, which takes interrupts as the guest's does: a second opinion.

It executes a program an instruction at a time, asks before each whether an interrupt is pending,
and writes the records that target/virtual/sections.c would. What a ping meets is what it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from tennis.explain.phases import Symbol
from tennis.explain.sections import records as kinds
from tennis.explain.sections import storage
from tennis.explain.sections.calibration import Calibration, calibrate
from tennis.explain.sections.finding import find
from tennis.explain.sections.model import NOTHING, PING, TIMER, Model
from tennis.explain.sections.names import Places
from tennis.explain.sections.run import IDLE_TASK, KERNEL, SOFTIRQ, USER, Run, decode

STEP_NS = 2
ENTRY = {USER: 18, KERNEL: 13, SOFTIRQ: 11, IDLE_TASK: 15}  # instructions, the read among them
HANDLER, ANSWER, REST, LEAVE = 40, 30, 9, 7
OTHER = 80  # the number of a card's interrupt, above the ping's
OTHER_HANDLER = 25
TICK_NS = 16
NEVER_NS = 1 << 60


@dataclass
class Processor:
    """Runs a program; ``pings``: when each comes, ns, in order; ``others``: a card's interrupts."""

    deadlines: list[int]  # ns; the timer's handler takes the next one
    pings: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    rises: list[int] = field(default_factory=list)  # latency of each ping
    records: list[tuple[int, ...]] = field(default_factory=list)
    count: int = 0
    time: int = 0
    masked: bool = False
    where: int = USER
    deadline: int = NEVER_NS
    _began: tuple[int, int] = (0, 0)

    def run(self, program: Sequence[tuple[str, int]]) -> "Processor":
        """Execute (what, how much) after (what, how much)."""
        for what, much in program:
            getattr(self, f"_{what}")(much)
        self._look()
        return self

    def array(self) -> np.ndarray:
        """Return the records as the plugin writes them."""
        names = ("kind", "count", "value", "how", "began_how", "began")
        table = np.zeros(len(self.records), kinds.RECORD)
        for name, column in zip(names, zip(*self.records, strict=True), strict=True):
            table[name] = column
        return table

    # --- what a program is made of ---

    def _work(self, instructions: int) -> None:
        for _ in range(instructions):
            self._step()

    def _mask(self, _: int) -> None:
        self._step()
        self._begin(2)

    def _unmask(self, where: int) -> None:
        self._step()
        self.where = where
        self._end(kinds.BY_RETURN_TO_USER if where == USER else 4)

    def _arm(self, deadline: int) -> None:
        self._step()
        self.deadline = deadline
        self._note(kinds.TIMER, deadline // TICK_NS, kinds.TIMER_CVAL)

    def _sleep(self, _: int) -> None:
        self._step()
        self._note(kinds.SLEEP)
        if self._pending() == NOTHING:
            self.time = min([self.deadline, *self.pings[:1], *self.others[:1]])
        self._note(kinds.WAKE)
        self._look()

    # --- how it works ---

    def _step(self) -> None:
        while not self.masked and self._pending() != NOTHING:
            self._interrupt()
        self.count += 1
        self.time += STEP_NS
        if self.count % 500 == 0:
            self._look()

    def _pending(self) -> int:
        due = ((self.deadline, TIMER), *((t, PING) for t in self.pings[:1]))
        both = (*due, *((t, OTHER) for t in self.others[:1]))
        return min((number for at, number in both if at <= self.time), default=NOTHING)

    def _interrupt(self) -> None:
        interrupted = self.where
        self._begin(kinds.VECTOR + (0x480 if self.where == USER else 0x280), self.count)
        self._work(ENTRY[self.where] - 1)
        while True:
            number = self._pending()
            self._step()
            self._note(kinds.READ, number)
            if number == NOTHING:
                break
            self._serve(number)
        self._work(LEAVE)
        self.where = interrupted
        self._end(kinds.BY_RETURN_TO_USER if interrupted == USER else 3)

    def _serve(self, number: int) -> None:
        if number == PING:
            self._work(ANSWER)
            self.rises.append(self.time - self.pings.pop(0))
            self._work(REST)
        elif number == OTHER:
            self.others.pop(0)
            self._work(OTHER_HANDLER)
        else:
            self._work(HANDLER)
            self._arm(self.deadlines.pop(0) if self.deadlines else NEVER_NS)
            self._work(REST)

    def _begin(self, how: int, count: int | None = None) -> None:
        if not self.masked:
            self.masked = True
            self._began = (how, self.count if count is None else count)

    def _end(self, how: int) -> None:
        value = {SOFTIRQ: 1 << 8, IDLE_TASK: kinds.IDLE}.get(self.where, 0)
        began_how, began = self._began
        self.masked = False
        self._note(kinds.STRETCH, value, how, began_how, began)

    def _note(self, kind: int, value: int = 0, how: int = 0, *began: int) -> None:
        self.records.append((kind, self.count, value, how, *(began or (0, 0))))

    def _look(self) -> None:
        self._note(kinds.TIME, self.time)


def program(seed: int, length: int) -> list[tuple[str, int]]:
    """Return a program that masks, sleeps and arms its timer, as the seed has it."""
    draw = np.random.default_rng(seed)
    made: list[tuple[str, int]] = [("mask", 0), ("arm", 160), ("unmask", USER)]
    for _ in range(length):
        where = int(draw.choice([USER, KERNEL, SOFTIRQ, IDLE_TASK]))
        on, off, awake = (int(draw.integers(1, most)) for most in (60, 90, 20))
        made += [("work", on), ("mask", 0), ("work", off)]
        if where == IDLE_TASK:
            made += [("sleep", 0), ("work", awake)]
        made.append(("unmask", where))
    return [*made, ("work", 50), ("mask", 0), ("work", 5), ("unmask", KERNEL)]


def made_up_run(seed: int = 3, balls: int = 40) -> tuple[Calibration, Run]:
    """Return what a made-up machine's run with balls says, and its run without one."""
    draw = np.random.default_rng(seed)
    pings = np.cumsum([2 * int(draw.integers(300, 700)) for _ in range(balls)]).tolist()
    deadlines = np.cumsum([16 * int(draw.integers(10, 120)) for _ in range(400)]).tolist()
    made = program(seed, 260)
    played = Processor(list(deadlines), pings=list(pings)).run(made)
    with_balls = decode(played.array(), STEP_NS)
    found = calibrate(with_balls, np.array(pings[2:]), np.array(played.rises[2:]))
    return found, decode(Processor(list(deadlines)).run(made).array(), STEP_NS)


@cache
def made_up_sections(seed: int = 3, balls: int = 40) -> storage.Sections:
    """Return what would be kept of a made-up machine: one run with balls, and one without."""
    found, quiet = made_up_run(seed, balls)
    base = 0xFFFF_0000_0000_0000
    places = Places([Symbol(base, "kernel_function")], base)
    return find(quiet, found, places, int(quiet.begin[5]), int(quiet.end[-5]))


def met_at_every_instant(seed: int = 3, balls: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return the latency of each ns of what ``made_up_sections`` covers, and whether it is sure."""
    found, quiet = made_up_run(seed, balls)
    met = Model(quiet, found.constants).meet(np.arange(quiet.begin[5], quiet.end[-5]))
    return met.latency, met.sure
