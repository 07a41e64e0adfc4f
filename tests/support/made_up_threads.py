# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The processor of ``made_up_sections`` with a scheduler: a ping wakes a thread, which answers.

It runs the thread as soon as it may, as a kernel does that preempts itself, or as one that does
not. What a ping meets is what it does.
"""

from dataclasses import dataclass

import numpy as np

from tennis.explain.sections import records as kinds
from tennis.explain.sections.run import KERNEL, USER
from tests.support.made_up_sections import LEAVE, NEVER_NS, PING, STEP_NS, Processor

NAME, OTHERS = "irq/17-racquet", "stress"
# instructions: the handler's, from the chance to the switch, and from the chance to the reply
WAKES, SWITCHES, RUNS = 21, 10, 33
INTERRUPT = WAKES + 1 + LEAVE  # from the read that gives the ping to its interrupt's end


@dataclass
class Scheduler(Processor):
    """A processor with tasks."""

    preempts: bool = True
    held: bool = False
    bottom: bool = False  # another task holds bottom halves
    forced: bool = False
    woken: int | None = None  # when the ping came
    blocked: bool = False  # the thread has run, and waits for bottom halves
    urgent: bool = False  # the task that runs goes before the thread

    def array(self) -> np.ndarray:
        """Return the records as the plugin writes them."""
        table = super().array()
        names = {1: NAME, 2: OTHERS, 3: "migration/0"}
        for row in np.flatnonzero(table["kind"] == kinds.TASK):
            which = int(table["value"][row])
            raw = names[which].encode().ljust(16, b"\0")
            table["value"][row], table["began"][row] = np.frombuffer(raw, "<u8")
            table["priority"][row] = {1: 49, 2: 120, 3: 0}[which]
        return table

    # --- what a program is made of ---

    def _hold(self, _: int) -> None:
        self._step()
        self._count(held=True)

    def _free(self, _: int) -> None:
        self._step()
        self._count(held=False)

    def _offer(self, _: int) -> None:
        self._step()
        self._note(kinds.CHANCE)
        if not self.preempts:
            self._let_run()

    def _give_way(self, which: int) -> None:
        """Let another task run: 2, or the urgent 3."""
        self._step()
        self._note(kinds.TASK, which)
        self.urgent = which == 3
        if not self.urgent:
            self._let_run()

    def _system_call(self, _: int) -> None:
        self._begin(kinds.VECTOR + 0x400, self.count)
        self._work(2)
        self._unmask(KERNEL)

    def _bottom(self, more: int) -> None:
        self._step()
        self.records.append((kinds.BOTTOM, self.count, 512, more, 0, 0))
        self.bottom = bool(more)
        if not more and self.blocked:
            self._answer()

    # --- how it works ---

    def _count(self, *, held: bool) -> None:
        if held != self.held:
            self.held = held
            self._note(kinds.PREEMPT, int(held))
        if self.preempts and not held and not self.masked and not self.urgent:
            self._let_run()

    def _serve(self, number: int) -> None:
        if number != PING:
            super()._serve(number)
            return
        self._work(WAKES)
        self.woken = self.pings.pop(0)

    def _end(self, how: int) -> None:
        super()._end(how)
        in_user = how == kinds.BY_RETURN_TO_USER
        if not self.urgent and (in_user or (self.preempts and not self.held)):
            self._let_run()

    def _let_run(self) -> None:
        if self.woken is None or self.blocked:
            return
        if self.forced and self.bottom:
            self.blocked = True  # it runs, finds the lock taken, and gives way
            self._note(kinds.TASK, 1)
            self._note(kinds.TASK, 2)
        else:
            self._answer()

    def _answer(self) -> None:
        for instructions in (SWITCHES, RUNS - SWITCHES):
            self.count += instructions
            self.time += STEP_NS * instructions
            if instructions == SWITCHES:
                self._note(kinds.TASK, 1)
        assert self.woken is not None
        self.rises.append(self.time - self.woken)
        self.woken, self.blocked = None, False
        self._note(kinds.TASK, 2)


def program(seed: int, length: int) -> list[tuple[str, int]]:
    """Return a program that raises its preempt_count, asks who is to run, and masks interrupts."""
    draw = np.random.default_rng(seed)
    made: list[tuple[str, int]] = [
        ("arm", NEVER_NS),
        ("give_way", 2),
        ("mask", 0),
        ("unmask", USER),
    ]
    for _ in range(length):
        work = [("work", int(n)) for n in draw.integers(1, 60, 6)]
        made += [work[0], ("system_call", 0), work[1]]
        what = int(draw.integers(7))
        if what == 0:
            made += [("hold", 0), work[2], ("mask", 0), work[3], ("unmask", KERNEL), work[4]]
            made += [("free", 0)]
        elif what == 1:
            made += [("mask", 0), work[2], ("unmask", KERNEL)]
        elif what == 2:
            made += [("offer", 0), work[2], ("offer", 0)]
        elif what == 3:
            made += [("hold", 0), work[2], ("give_way", 2), work[3], ("free", 0)]
        elif what == 4:
            made += [("bottom", 1), work[2], ("hold", 0), work[3], ("free", 0), work[4]]
            made += [("bottom", 0)]
        elif what == 5:
            made += [("hold", 0), ("give_way", 3), work[2], ("give_way", 2), ("free", 0)]
        else:  # the urgent task is in user space
            made += [("give_way", 3), ("mask", 0), ("unmask", USER), work[2], ("system_call", 0)]
            made += [("give_way", 2)]
        made += [work[5], ("mask", 0), ("work", 3), ("unmask", USER)]
    return made
