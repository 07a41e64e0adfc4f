# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A student's own Racquet in the rally that is marked: played and watched at once.

A Racquet can tell a trial from a rally, by the kernel or by the load, and be another one there. So
the play whose balls give the points is watched as a trial is: who raised the line, who lowered it.
Watching moves no ball: a student's rally, which nobody watched, is compared with this play.
"""

import re
from pathlib import Path

from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.guest import Guest
from tennis.bench.virtual.machine import Extras
from tennis.course.checking.module_trial import HANDLERS, by_whom
from tennis.play.rally import Watch, play
from tennis.play.repeat import balls_of
from tennis.rally import Rally
from tennis.rally.disk import writing
from tennis.rally.folder import CONSOLE
from tennis.rally.plan import Plan

SUFFIX = ".makers"  # beside a play: what is wrong with who made its edges; empty: nothing
# of PREEMPT_RT: they call the handlers of interrupts that nobody kept from becoming threads
THREADS = {"irq_thread_fn", "irq_forced_thread_fn"}
# a module can forge it, which hides no edge: all of them are looked for in the wrong functions
BEGINS = re.compile(rb"(?m)^tennis: fact at_kernel (?:0x)?([0-9a-f]{16})\r?$")


def play_watched(plan: Plan, place: Path) -> Rally:
    """Play a rally of a Racquet of one's own, and keep beside it what is wrong with its answers.

    Raises TennisError.
    """
    makers_of(place).unlink(missing_ok=True)
    with Guest(VirtualBench().parts(plan)) as guest:
        rally = play(VirtualBench(Extras(plugin=guest.plugin())), plan, place, Watch())
        found = BEGINS.search((rally.path / CONSOLE).read_bytes())
        if found is None:  # of a target that came to nothing there are no edges
            complete = rally.manifest.ended == "complete"
            wrong = "the target does not say where its kernel is" if complete else ""
        else:
            seen = guest.trace(guest.moved_by(int(found[1], 16)))
            wrong = by_whom(seen, balls_of(rally), raisers=HANDLERS | THREADS)
    with writing(place):
        makers_of(place).write_text(wrong)
    return rally


def makers_of(place: Path) -> Path:
    """Return the file beside a play that says what is wrong with its answers."""
    return place.with_name(f"{place.name}{SUFFIX}")
