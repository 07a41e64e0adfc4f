# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The thesis' main result on the virtual bench: a match of two kernels and two loads."""

from pathlib import Path

from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan
from tennis.play.match import Match
from tennis.play.schedule import scheduled_rallies


def demonstration(balls: int, boots: int, seed: int) -> Match:
    """Return the demonstration as a match. Raises BenchError where a kernel is not fetched."""
    plan = MatchPlan(
        title="The thesis' main result",
        kernels={
            "mainline": KernelAxis(priorities=["default"]),
            "rt": KernelAxis(priorities=["chrt"], top_halves=["threaded"]),
        },
        loads={"idle": LoadAxis(), "stress": LoadAxis()},
        balls=balls,
        repetitions=boots,
        seed=seed,
        order="shuffled",
    )
    return Match(plan, *scheduled_rallies(plan, {}, Path()))
