"""The thesis' main result on the virtual bench: two kernels, two loads; and a driver of today's."""

from pathlib import Path

from tennis.kit.checkout import ROOT
from tennis.match.plan import read_plan
from tennis.match.playing import Match
from tennis.match.schedule import scheduled_rallies

PLAN = ROOT / "plans" / "quick.toml"


def demonstration(balls: int, boots: int) -> Match:
    """Return the demonstration as a match. Raises BenchError if a kernel is not fetched."""
    asked = {"balls": balls, "repetitions": boots, "order": "listed"}
    plan = read_plan(PLAN).model_copy(update={"title": "The thesis' main result", **asked})
    scheduled, left = scheduled_rallies(plan, {}, Path())
    # a boot of each cell, then another: the first round gives rough figures of all. A boot's balls
    # depend on its name, and not on the order.
    scheduled.sort(key=lambda one: (one.repetition, one.plan.load != "idle"))
    return Match(plan, scheduled, left)
