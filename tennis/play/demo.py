# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The thesis' main result on the virtual bench: two kernels, two loads; and a driver of today's."""

from pathlib import Path

from tennis.checkout import ROOT
from tennis.match.plan import read_plan
from tennis.play.match import Match
from tennis.play.schedule import scheduled_rallies

PLAN = ROOT / "plans" / "quick.toml"


def demonstration(balls: int, boots: int, seed: int) -> Match:
    """Return the demonstration as a match. Raises BenchError where a kernel is not fetched."""
    asked = {"balls": balls, "repetitions": boots, "seed": seed}
    plan = read_plan(PLAN).model_copy(update={"title": "The thesis' main result", **asked})
    return Match(plan, *scheduled_rallies(plan, {}, Path()))
