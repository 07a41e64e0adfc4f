"""A match of one kernel without load, and playing it without a word."""

from contextlib import AbstractContextManager
from pathlib import Path

from tennis.match.plan import KernelAxis, LoadAxis, MatchPlan
from tennis.match.playing import Match
from tennis.match.schedule import scheduled_rallies
from tennis.play.rally import Observer, unobserved


def small_match(kernel: str, repetitions: int, balls: int = 40) -> Match:
    """Return a match of a few balls in each rally; ``sloth`` boots in no time."""
    plan = MatchPlan(
        kernels={kernel: KernelAxis()},
        loads={"idle": LoadAxis()},
        balls=balls,
        repetitions=repetitions,
    )
    return Match(plan, *scheduled_rallies(plan, {}, Path()))


def silent(_: str) -> AbstractContextManager[Observer]:
    """Show nothing of a rally."""
    return unobserved()
