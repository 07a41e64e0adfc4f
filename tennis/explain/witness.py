"""A witness inside the target beside the Brickwall outside: both distributions, and late balls.

A witness *saw* a late ball if a sample of its own was late while the ball waited: the two overlap
in time, and the sample is one of the latest hundredth of the witness' samples, as the ball is of
all balls.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.kit.errors import UsageError
from tennis.kit.units import format_ns, ticks_to_ns
from tennis.rally import Rally
from tennis.rally.statistics.balls import ball_table
from tennis.rally.witness import Samples, samples

LATE_ONE_IN = 100
LEVELS = (0.5, 0.99, 0.999)


@dataclass(frozen=True)
class _Distribution:
    """Times in ns: one for each of ``LEVELS``; None if there are too few for it.

    Missed balls are later than all others: infinite.
    """

    name: str
    count: int  # missed ones among them
    levels: tuple[float | None, ...]
    latest: float
    missed: int = 0
    later_than_ns: int | None = None  # the time of each missed ball; None: nobody knows

    def format_time(self, ns: float | None) -> str:
        """Write one of its times."""
        if ns is None or isfinite(ns):
            return format_ns(ns)
        return "missed" if self.later_than_ns is None else f"> {format_ns(self.later_than_ns)}"


@dataclass(frozen=True)
class _Sight:
    """The late balls as a witness saw them; ns."""

    kind: str
    late_over: int  # a ball is late beyond this, from the ping to the reply's fall
    sample_over: int  # a sample is late beyond this
    late: int  # balls
    sampled: int  # of them, some sample was due while they waited
    seen: int  # of them, one such sample was late
    chance: float  # as many of a hundred other balls as would be "seen" as well
    latest_ball: int
    latest_sample: int


@dataclass(frozen=True)
class InsideAndOutside:
    """Outside and inside of one rally."""

    rally: Rally
    distributions: list[_Distribution]
    sights: list[_Sight]

    def as_json(self) -> dict[str, Any]:
        """Return JSON values; times in ns, null if they are among the missed."""
        return {
            "rally": str(self.rally.path),
            "witness": self.rally.manifest.target.witness,
            "distributions": [
                {
                    "name": one.name,
                    "count": one.count,
                    "missed": one.missed,
                    "later_than_ns": one.later_than_ns,
                    **dict(zip(("median_ns", "p99_ns", "p999_ns"), levels, strict=True)),
                    "latest_ns": latest,
                }
                for one in self.distributions
                for *levels, latest in (map(_whole_ns, (*one.levels, one.latest)),)
            ],
            "sights": [vars(one) for one in self.sights],
        }


def compare(rally: Rally) -> InsideAndOutside:
    """Compare the samples of a rally's witness with the Brickwall's balls.

    Raises UsageError if the rally had no witness or too few balls, RallyError if its report is not
    whole.
    """
    if rally.balls < LATE_ONE_IN:
        raise UsageError(
            f"{rally.path} has {rally.balls} balls: {LATE_ONE_IN} or more are compared"
        )
    witness = samples(rally)
    served, rise, fall = _balls(rally)
    width = np.where(fall < 0, fall, fall - rise)
    given_up_ns = rally.manifest.given_up_ns
    distributions = [
        _distribution("Brickwall, ping to reply", rise, given_up_ns),
        _distribution("Brickwall, reply to its end", width, None),
        _distribution("Brickwall, ping to the end", fall, given_up_ns),
        *(_distribution(one.kind, one.latency, None) for one in witness),
    ]
    missed = fall < 0
    waited = np.where(missed, rally.manifest.protocol.timeout_ns, fall)
    sights = [_sight(one, served, waited, missed) for one in witness]
    return InsideAndOutside(rally, distributions, sights)


def _balls(rally: Rally) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return served, rise and fall in ns; -1: it did not come. ``fall`` counts from the ping."""
    served, rise, fall = ball_table(rally).T
    rise, fall = (
        np.where(ticks < 0, ticks, ticks_to_ns(ticks, rally.tick_hz)) for ticks in (rise, fall)
    )
    return served, rise, fall


def _distribution(name: str, values: NDArray[np.int64], later_than_ns: int | None) -> _Distribution:
    """Return the distribution of times in ns; negative ones are of missed balls."""
    if not values.size:
        return _Distribution(name, 0, tuple(None for _ in LEVELS), 0)
    times = np.where(values < 0, np.inf, values)
    levels = tuple(
        float(np.quantile(times, level, method="higher")) if times.size * (1 - level) >= 1 else None
        for level in LEVELS
    )
    missed = int(np.isinf(times).sum())
    return _Distribution(
        name, times.size, levels, float(times.max()), missed, later_than_ns if missed else None
    )


def _whole_ns(ns: float | None) -> int | None:
    return None if ns is None or not isfinite(ns) else int(ns)


def _sight(
    witness: Samples,
    served: NDArray[np.int64],
    waited: NDArray[np.int64],
    missed: NDArray[np.bool_],
) -> _Sight:
    ball_over = int(np.quantile(waited, 1 - 1 / LATE_ONE_IN, method="lower"))
    sample_over = int(np.quantile(witness.latency, 1 - 1 / LATE_ONE_IN, method="lower"))
    # if more than one ball in LATE_ONE_IN was missed, no answer is later than those
    late = (waited > ball_over) | missed
    late_samples = witness.latency > sample_over
    sampled = _overlaps(witness.began, witness.ended, served, served + waited)
    seen = _overlaps(
        witness.began[late_samples], witness.ended[late_samples], served, served + waited
    )
    return _Sight(
        kind=witness.kind,
        late_over=ball_over,
        sample_over=sample_over,
        late=int(late.sum()),
        sampled=int(sampled[late].sum()),
        seen=int(seen[late].sum()),
        chance=float(seen[~late].mean()) if (~late).any() else 0.0,
        latest_ball=int(waited.max()),
        latest_sample=int(witness.latency.max()),
    )


def _overlaps(
    began: NDArray[np.int64],
    ended: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Tell for each span ``first`` to ``last`` whether one from ``began`` to ``ended`` meets it.

    The spans of one witness follow each other: both of its arrays rise.
    """
    begun = np.searchsorted(began, last, side="right")
    over = np.searchsorted(np.maximum.accumulate(ended) if ended.size else ended, first)
    found: NDArray[np.bool_] = begun > over
    return found
