# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The thesis' main result on the virtual bench: two kernels, two loads; and a driver of today's."""

from pathlib import Path

from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan, OneRally
from tennis.play.match import Match
from tennis.play.schedule import scheduled_rallies


def demonstration(balls: int, boots: int, seed: int) -> Match:
    """Return the demonstration as a match. Raises BenchError where a kernel is not fetched."""
    plan = MatchPlan(
        title="The thesis' main result",
        kernels={
            "mainline": KernelAxis(priorities=["default"]),
            "rt": KernelAxis(priorities=["chrt"], top_halves=["forced"]),
        },
        loads={"idle": LoadAxis(), "stress": LoadAxis()},
        balls=balls,
        repetitions=boots,
        seed=seed,
        order="shuffled",
        # idle, a thread is a thread: the time is for what differs
        rally=[OneRally(kernel="rt", load="stress", priorities="chrt", top_half="explicit")],
    )
    return Match(plan, *scheduled_rallies(plan, {}, Path()))
