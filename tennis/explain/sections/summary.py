# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What sections say in a few figures: the worst instant, its share, the balls to meet it."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.explain.sections.figures import balls_for, chance, time_over
from tennis.explain.sections.model import ALIKE_NS
from tennis.explain.sections.storage import Sections
from tennis.stats.summary import percent
from tennis.units import format_ns

NEAR = 0.95  # what is as late as that part of the worst counts as meeting it
CURVE_POINTS = 600
LIMITS_NS = tuple(b * 10**e for e in range(3, 9) for b in (1, 2, 5))


@dataclass(frozen=True)
class Worst:
    """The worst instant; times in ns.

    ``error_ns``: the largest of the balls that were taken the same way; None: no ball was.
    """

    at_ns: int
    latency_ns: int
    way: str
    where: str
    began_in: str
    ended_in: str
    task: str
    error_ns: int | None

    @property
    def doubt(self) -> str:
        """Return how far the prediction may be off, in words; "": no ball says that it is."""
        if self.error_ns is None:
            return ", though no ball was taken like that (--exact plays it)"
        return f", give or take {format_ns(self.error_ns)}" if self.error_ns else ""


@dataclass(frozen=True)
class Summary:
    """Shares are of the recorded time; ``not_sure``: what the model cannot predict there."""

    worst: Worst
    time_ns: int
    near_ns: int
    near: float
    latest_ball_ns: int
    later: float
    not_sure: float
    varies: str  # which of the constants are none, and why nothing is predicted with them
    exact: int
    predicted: int
    error_ns: int
    over: list[tuple[int, float]]
    half_ns: int | None  # if a thread answers: how far off half of its balls are at most
    nearly_all_ns: int | None  # and 99 % of them

    @property
    def proven(self) -> bool:
        """Tell whether every ball was predicted to the nanosecond."""
        return self.exact == self.predicted

    def sentences(self, balls: int) -> list[str]:
        """Return what it says of a rally of so many balls."""
        which = "that is predicted" if self.not_sure else "there is"
        worst = (
            f"The worst instant {which} in this machine's {format_ns(self.time_ns)} without a "
            f"ball: {format_ns(self.worst.latency_ns)}{self.worst.doubt} "
            f"({self.worst.latency_ns:,} ns at {self.worst.at_ns:,} ns)."
        )
        found = [worst, f"The latest of {balls:,} balls: {format_ns(self.latest_ball_ns)}."]
        needed = balls_for(self.near)
        if needed is not None:
            found.append(
                f"Within {round(100 * (1 - NEAR))} % of the worst: {percent(self.near)} of the "
                f"time. {balls:,} balls at random instants meet it with "
                f"{_percent(chance(self.near, balls))}, {needed:,} with 95 %."
            )
        found.append(self.fit())
        if self.not_sure:
            left, rest = percent(self.not_sure), "is in none of these figures"
            found.append(
                f"All but {left} of the time is predicted; that {rest}{self.varies}."
                if self.not_sure < 0.5
                else f"Only {percent(1 - self.not_sure)} of the time is predicted; "
                f"what is not {rest}{self.varies}."
            )
        return found

    def fit(self) -> str:
        """Return how far off the rally's own balls are, in words."""
        if self.half_ns is not None and self.nearly_all_ns is not None:
            within = f"within {format_ns(self.half_ns)}, 99 % within"
            return (
                f"Of {self.predicted:,} balls, half are predicted {within} "
                f"{format_ns(self.nearly_all_ns)}, all within {format_ns(self.error_ns)}."
            )
        exact = f"{self.exact:,} of {self.predicted:,} balls are predicted to the nanosecond"
        return exact + ("." if self.proven else f", the others within {self.error_ns:,} ns.")

    def as_json(self) -> dict[str, Any]:
        """Return the figures; times in ns, shares from 0 to 1."""
        return {
            "worst": asdict(self.worst),
            "recorded_ns": self.time_ns,
            "near_worst_ns": self.near_ns,
            "near_worst_share": self.near,
            "balls_for_95_percent": balls_for(self.near),
            "latest_ball_ns": self.latest_ball_ns,
            "later_than_latest_ball_share": self.later,
            "not_predicted_share": self.not_sure,
            "balls_predicted": self.predicted,
            "balls_exact": self.exact,
            "largest_error_ns": self.error_ns,
            "half_within_ns": self.half_ns,
            "nearly_all_within_ns": self.nearly_all_ns,
            "share_over_ns": [{"over_ns": ns, "share": share} for ns, share in self.over],
        }


def _percent(probability: float) -> str:
    if probability > 0.999:
        return "more than 99.9 %"
    return percent(probability) if probability < 0.1 else f"{100 * probability:.0f} %"


def summarize_sections(sections: Sections, latest_ball_ns: int | None) -> Summary:
    """Return the figures of what is kept; ``latest_ball_ns``: of the rally's interrupt latency."""
    total = sections.about.time_ns
    sure = sections.groups.filter(sections.groups.column("sure"))
    unsure_ns = total - int(np.sum(sure.column("time_ns").to_numpy()))
    row = sections.longest.slice(0, 1).to_pylist()[0]
    like = [b for b in sections.about.balls if (b.way, b.where) == (row["way"], row["where"])]
    worst = Worst(
        at_ns=row["at_ns"],
        latency_ns=row["latency_ns"],
        way=row["way"],
        where=row["where"],
        began_in=row["began_in"],
        ended_in=row["ended_in"],
        task=row["ended_task"],
        error_ns=max((one.worst_ns for one in like), default=None),
    )
    near_ns = int(NEAR * worst.latency_ns)
    limits = [limit for limit in LIMITS_NS if limit < worst.latency_ns]
    latest = latest_ball_ns or 0
    over = time_over(sure, np.array([near_ns, latest, *limits])) / total
    about = sections.about
    return Summary(
        worst=worst,
        time_ns=total,
        near_ns=near_ns,
        near=float(over[0]),
        latest_ball_ns=latest,
        later=float(over[1]),
        not_sure=unsure_ns / total,
        varies="".join(
            f" ({one.name}: between {one.least_ns:,} and {one.most_ns:,} ns)"
            for one in about.constants
            if one.most_ns - one.least_ns > ALIKE_NS and not about.thread
        ),
        exact=about.exact,
        predicted=about.predicted,
        error_ns=about.worst_ns,
        over=list(zip(limits, over[2:].tolist(), strict=True)),
        half_ns=about.half_within_ns,
        nearly_all_ns=about.nearly_all_within_ns,
    )


@dataclass(frozen=True)
class Cause:
    """Code that keeps interrupts off: the worst latency from there, and its share of the time."""

    began_in: str
    ended_in: str
    task: str  # in which most of it was
    worst_ns: int
    share: float

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object; times in ns."""
        return asdict(self)


def causes(sections: Sections) -> list[Cause]:
    """Return what can make a ball late, by code; the worst first."""
    sure = sections.groups.filter(sections.groups.column("sure"))
    sums = sure.group_by(["began_in", "ended_in", "task"]).aggregate(
        [("longest_ns", "max"), ("time_ns", "sum")]
    )
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sums.to_pylist():
        found.setdefault((row["began_in"], row["ended_in"]), []).append(row)
    causes = [
        Cause(
            began_in=began,
            ended_in=ended,
            task=max(rows, key=lambda r: (r["time_ns_sum"], r["task"]))["task"],
            worst_ns=max(r["longest_ns_max"] for r in rows),
            share=sum(r["time_ns_sum"] for r in rows) / sections.about.time_ns,
        )
        for (began, ended), rows in found.items()
    ]
    return sorted(causes, key=lambda one: (-one.worst_ns, one.began_in, one.ended_in))


def curve(sections: Sections) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return times (ns) up to the worst, and the share of time in which a ping waits longer.

    The last share is that of the worst instants' own nanosecond.
    """
    sure = sections.groups.filter(sections.groups.column("sure"))
    least = max(1, int(np.min(sure.column("shortest_ns").to_numpy())))
    most = int(np.max(sure.column("longest_ns").to_numpy()))
    over_ns = np.unique(np.geomspace(least, most, CURVE_POINTS).astype(np.int64).clip(0, most - 1))
    return over_ns + 1, time_over(sure, over_ns) / sections.about.time_ns
