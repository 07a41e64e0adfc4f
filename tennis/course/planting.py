"""A capture with a planted error, for a student to find: another one for each seed.

It shows what a logic analyser would have seen of the student's rally if the Brickwall were wrong by
that error. The error follows from the seed, so that checks know it.
"""

import random
from pathlib import Path

from tennis.rally import Rally
from tennis.report.umpire.analyser import Analyser
from tennis.report.umpire.simulate import simulate

CAPTURE = "planted.sr"
JITTER_NS = 12.0  # of each edge


def planted(seed: int) -> Analyser:
    """Return the planted errors for a seed: both biases, and the analyser's clock error."""
    chosen = random.Random(f"planted {seed}")  # noqa: S311 (no secret)
    sign = chosen.choice([-1, 1])
    return Analyser(
        interrupt_bias_ns=float(sign * chosen.randrange(120, 900, 10)),
        scheduling_bias_ns=float(chosen.randrange(-40, 41, 5)),
        clock_ppm=float(chosen.choice([-1, 1]) * chosen.randrange(15, 80)),
        jitter_ns=JITTER_NS,
        seed=seed,
    )


def plant(rally: Rally, seed: int, out: Path) -> None:
    """Write the capture of a student's rally. Raises UsageError if it exists."""
    simulate(rally, out, planted(seed))
