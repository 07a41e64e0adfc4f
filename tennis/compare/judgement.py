"""Worse, no worse or undecided: a declared list of quantities, and a bound for each.

The list: the usual time, the whole curve of late balls (:mod:`tennis.compare.band`), balls without
an answer, suspect boots. *Worse*: one of them surely grew by more than the margin; all of them
share the error. *No worse*: such a growth is excluded for each. So each may have the whole error
(R. L. Berger, Technometrics 24, 1982), no quantity replaces another, and earlier ones remove none
from the list. Quantities rarer than :func:`~tennis.compare.band.rare_share` have no margin: the
largest increase that is not excluded is named.

If boots are added until it is decided, each look has its share of the error: the first a half, the
next a quarter (K. K. G. Lan, D. L. DeMets, Biometrika 70, 1983).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, inf, isinf, isnan, log, nan
from typing import Literal

import numpy as np

from tennis.compare import band as bands
from tennis.compare import loops
from tennis.compare.band import MARGIN, OWN, Band, later_by, rare_share, student, times_as_many
from tennis.compare.boots import Boot, Values
from tennis.compare.order import InTime
from tennis.compare.sides import Side

ERROR = 0.05  # of comparisons: something is called later although nothing is
MEDIAN = 2  # one ball in this many exceeds it
# the rows of a curve: levels of one ball in N
LEVELS = (MEDIAN, 10, 100, 1000, 10_000, 100_000, 1_000_000)
BOOTS_MIN = 9  # of each side: fewer may miss all late boots, though 3 in 10 are late
FIRST_LOOK = 10  # pairs
RARE_BOOTS = 0.3  # share of boots: below it, one of few boots more is not excluded

Change = Literal["later", "earlier", "equal", "not later", "undecided", "rare"]
Verdict = Literal["worse", "no worse", "undecided"]
Unit = Literal["ns", "balls", "boots"]
EXIT_CODES: dict[Verdict, int] = {"no worse": 0, "worse": 1, "undecided": 3}
NONE = (nan, nan)


@dataclass(frozen=True)
class Row:
    """The change of one quantity: both sides' values, and after over before with its own bounds.

    ``unit``: times in ns, or a share of balls or boots. ``low`` and ``high`` end the interval of
    this quantity alone.
    """

    cell: str
    latency: str  # empty: it is of the whole boot
    what: Literal["usual", "level", "late", "lost", "suspect", "drift"]
    change: Change
    before: float
    after: float
    low: float = nan
    high: float = nan
    unit: Unit = "ns"
    one_in: float = 0  # of a level
    beyond_ns: float = nan  # of late balls: after at this time or later
    counts: tuple[int, int] = (0, 0)  # balls, or boots, before and after
    of: tuple[int, int] = (0, 0)  # of how many
    in_boots: tuple[int, int] = (0, 0)  # in how many boots these balls are
    most: float = nan  # share after that is not excluded
    least_ns: float = 0.0  # smaller values are not known: "at most"

    @property
    def ratio(self) -> float:
        """Return after over before; infinite over nothing, nan of nothing over nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.float64(self.after) / np.float64(self.before))


@dataclass(frozen=True)
class Pair:
    """Two sides of one kind: of one cell, for one latency."""

    cell: str  # what both have in common; empty: there is one kind only
    latency: str
    before: Side
    after: Side
    drift: loops.Drift | None = None  # in place of a curve: each boot has one value

    @property
    def is_of_a_loop(self) -> bool:
        """Tell whether it is about a control loop's periods, and not about balls."""
        return self.latency in {loops.JITTER, loops.DRIFT}

    @property
    def has_curve(self) -> bool:
        """Tell whether there are balls on both sides to be compared."""
        return self.drift is None and min(len(self.before.boots), len(self.after.boots)) > 1


@dataclass(frozen=True)
class Suspects:
    """The number of suspect boots of a kind, which are not compared, and of all played ones."""

    cell: str
    before: int
    after: int
    of_before: int
    of_after: int


@dataclass(frozen=True)
class _Errors:
    """The errors of bounds: ``alone``, of one that must hold; ``sure``, of one of many."""

    alone: float
    sure: float
    rare: float  # share of balls


class _Curve:
    """One direction of two sides: how much later ``of`` is than ``to``."""

    def __init__(self, of: Side, to: Side, margin: float, errors: _Errors, cap: float) -> None:
        def band(times: Values) -> Band:
            return Band(of, to, times, margin, errors.alone, errors.rare, cap=cap)

        self.fine = band(of.times())
        self.coarse = band(_coarse_times(of))
        self.sure = self.coarse.surely_more_anywhere(errors.sure)

    @property
    def is_later(self) -> bool:
        """Tell whether some share of late balls surely grew by more than the margin."""
        return bool(self.sure.any())

    @property
    def is_excluded(self) -> bool:
        """Tell whether it is excluded of all."""
        return bool(self.fine.excluded.all())

    @property
    def worst(self) -> tuple[Band, int] | None:
        """Return the point that decides, or that holds a verdict back, or None."""
        if self.is_later:
            gain = np.where(self.sure, self.coarse.shares[0] - self.coarse.shares[1], -1.0)
            return self.coarse, int(gain.argmax())
        if self.is_excluded:
            return None
        with np.errstate(divide="ignore"):
            many = (self.fine.balls[0] + 1) / (self.fine.balls[1] + 1)
        return self.fine, int(np.where(self.fine.excluded, -1.0, many).argmax())


def _coarse_times(side: Side) -> Values:
    """Return the times at which something may surely have grown: a few, as all share the error."""
    times = side.times(1)
    enough = side.at_least(times).sum(axis=0) >= bands.SURE_FROM
    enough[-1] = True  # lost balls
    found: Values = times[enough]
    return found


@dataclass(frozen=True)
class _Usual:
    """The usual time: the geometric mean of a boot's answers, or a loop's drift."""

    ratio: float
    low: float  # of this quantity alone
    high: float
    sure_low: float  # as one of many
    sure_high: float

    @classmethod
    def of(cls, before: Side, after: Side, values: Sequence[Values], errors: _Errors) -> "_Usual":
        """Compare each boot's value: its logarithm has Student's interval over boots."""
        one, other = (np.log(some) for some in values)
        if before.paired(after):
            apart = other - one
            mean, error, degrees = apart.mean(), apart.std(ddof=1) / len(apart) ** 0.5, len(one) - 1
        else:
            parts = [some.var(ddof=1) / len(some) for some in (one, other)]
            mean, error = other.mean() - one.mean(), sum(parts) ** 0.5
            squares = sum(p**2 / (len(s) - 1) for p, s in zip(parts, (one, other), strict=True))
            degrees = sum(parts) ** 2 / squares if squares else len(one) + len(other) - 2
        ends = [
            float(student(tail, float(degrees)) * error) for tail in (errors.alone, errors.sure / 4)
        ]
        return cls(*(exp(mean + end) for end in (0, -ends[0], ends[0], -ends[1], ends[1])))

    def change(self, margin: float) -> Change:
        """Judge the intervals; a hair beyond the margin is a rounded division."""
        most = (1 + margin) / bands.HAIR
        if self.sure_low > most:
            return "later"
        if self.sure_high < 1 / most:
            return "earlier"
        if self.high > most:
            return "undecided"
        return "equal" if self.low >= 1 / most else "not later"


class _Judged:
    """Two sides of one kind, judged: the usual time, and the curve in both directions."""

    def __init__(self, pair: Pair, margin: float, errors: _Errors) -> None:
        self.pair, self.margin, self.errors = pair, margin, errors
        self.curve = self._curve(pair.after, pair.before) if pair.has_curve else None
        self.usual = self._usual()

    def _curve(self, of: Side, to: Side) -> _Curve:
        # a period that is off by nearly nothing is not better than one that is off by twice that
        return _Curve(of, to, self.margin, self.errors, 0.5 if self.pair.is_of_a_loop else 1.0)

    @cached_property
    def reverse(self) -> _Curve:
        """Return by how much before is later than after."""
        return self._curve(self.pair.before, self.pair.after)

    def _usual(self) -> _Usual | None:
        pair = self.pair
        sides = [pair.before, pair.after]
        if min(len(side.boots) for side in sides) < 2:
            return None
        if pair.drift is not None:
            values = [np.array([pair.drift.of(boot) for boot in side.boots]) for side in sides]
        elif pair.is_of_a_loop:
            return None
        else:
            values = [np.array([_usual_ns(boot) for boot in side.boots]) for side in sides]
        if not all(np.isfinite(some).all() and (some > 0).all() for some in values):
            return None
        return _Usual.of(pair.before, pair.after, values, self.errors)

    @property
    def verdict(self) -> Verdict:
        """Return what this kind alone shows."""
        change = self.usual.change(self.margin) if self.usual else None
        if change == "later" or (self.curve and self.curve.is_later):
            return "worse"
        known = self.usual is not None or self.curve is not None
        if change == "undecided" or not known or (self.curve and not self.curve.is_excluded):
            return "undecided"
        return "no worse" if self.boots >= BOOTS_MIN else "undecided"

    @property
    def boots(self) -> int:
        """Return how many boots the smaller side has."""
        return min(len(self.pair.before.boots), len(self.pair.after.boots))

    @cached_property
    def rows(self) -> list[Row]:
        """Return the table: the usual time, levels, what decides, lost balls."""
        rows = []
        if self.usual is not None:
            rows.append(self._usual_row(self.usual))
        if self.curve is not None:
            rows += [*self._levels(), *self._late(self.curve)]
        return rows

    def _usual_row(self, found: _Usual) -> Row:
        pair = self.pair
        of = pair.drift.of if pair.drift is not None else _usual_ns
        before, after = (
            exp(np.mean([log(of(boot)) for boot in side.boots]))
            for side in (pair.before, pair.after)
        )
        what: Literal["drift", "usual"] = "drift" if pair.drift is not None else "usual"
        least = pair.drift.least_ns if pair.drift is not None else 0.0
        change = found.change(self.margin)
        return Row(
            pair.cell, pair.latency, what, change, before, after, found.low, found.high,
            least_ns=least,
        )  # fmt: skip

    def _levels(self) -> list[Row]:
        pair, curve = self.pair, self.curve
        assert curve is not None  # noqa: S101 (asked before)
        sides = (pair.before, pair.after)
        last = 1 / self.errors.rare
        shown = [one for one in LEVELS if one <= last and all(side.has(one) for side in sides)]
        rows = []
        for place, one_in in enumerate(shown):
            least = 1 / shown[place + 1] if place + 1 < len(shown) else self.errors.rare
            ends = [
                later_by(
                    of, to, tail=self.errors.alone, rare=self.errors.rare,
                    shares=(1 / one_in, least), slack=self.margin,
                )
                for of, to in (sides[::-1], sides)
            ]  # fmt: skip
            values = [side.level(one_in) for side in sides]
            low, high = 1 / ends[1] if ends[1] else inf, ends[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = float(np.float64(values[1]) / np.float64(values[0]))
            if not isnan(ratio):  # a few more late balls are as many: an end may be past it
                low, high = min(low, ratio), max(high, ratio)
            change = _within(low, high, self.margin)
            if change == "later" and not curve.is_later:
                change = "undecided"  # alone it is; as one of many it is not
            rows.append(
                Row(
                    pair.cell,
                    pair.latency,
                    "level",
                    change,
                    values[0],
                    values[1],
                    low,
                    high,
                    one_in=one_in,
                )
            )
        return rows

    def _late(self, curve: _Curve) -> list[Row]:
        """Return what decides or holds back, the rare increase that shows most, and lost balls."""
        rows = []
        place = curve.worst
        if place is not None and not isinf(place[0].times[place[1]]):
            change: Change = "later" if curve.is_later else "undecided"
            rows.append(self._share_row(*place, change))
        rare = curve.fine.is_rare & (curve.fine.balls[0] > 0) & np.isfinite(curve.fine.times)
        if rare.any() and not curve.is_later:
            of, to = curve.fine.balls
            shows = np.where(rare, (of - to) / np.sqrt(of + to + 1), -np.inf)
            row = self._share_row(curve.fine, int(shows.argmax()), "rare")
            rows += [row] if row.high > 1 else []
        if curve.fine.balls[0][-1] or self.reverse.fine.balls[0][-1]:
            last = len(curve.fine.times) - 1
            later, excluded = bool(curve.sure[-1]), bool(curve.fine.excluded[-1])
            if later or not excluded:
                change = "later" if later else "undecided"
            else:
                fewer = bool(self.reverse.sure[-1])
                change = "earlier" if fewer else "rare" if curve.fine.is_rare[-1] else "not later"
            rows.append(self._share_row(curve.fine, last, change))
        return rows

    def _share_row(self, band: Band, place: int, change: Change) -> Row:
        pair, time = self.pair, float(band.times[place])
        after, before = (int(balls[place]) for balls in band.balls)
        sooner = time / band.factor * bands.HAIR
        boots = [
            int((side.at_least(np.array([at])) > 0).sum())
            for side, at in ((pair.before, sooner), (pair.after, time))
        ]
        of = band.of.balls, band.to.balls
        low, high = _times_of_shares(band, place, self.errors.alone)
        return Row(
            pair.cell, pair.latency, "lost" if isinf(time) else "late", change,
            before / of[1], after / of[0], low, high, unit="balls", beyond_ns=time,
            counts=(before, after), of=(of[1], of[0]), in_boots=(boots[0], boots[1]),
            most=float(band.most[place]),
        )  # fmt: skip

    @property
    def more_boots(self) -> float:
        """Return how many times as many boots decide it if nothing changed; 1: it is decided."""
        found = [self.curve.fine.more_boots] if self.curve is not None else []
        if self.usual is not None and self.usual.change(self.margin) == "undecided":
            found.append((log(self.usual.high / self.usual.ratio) / log(1 + self.margin)) ** 2)
        return max([1.0, *found])


def _times_of_shares(band: Band, place: int, tail: float) -> tuple[float, float]:
    """Return the least and the largest ratio of both sides' late balls that is not excluded."""
    more, fewer = (float(balls[place]) for balls in band.balls)
    if more + fewer < bands.FEW or not more or not fewer:
        scale = band.to.balls / band.of.balls
        exact = times_as_many(np.array(more), np.array(fewer), tail)
        return float(exact[0]) * scale, float(exact[1]) * scale
    at = replace(
        band,
        times=band.times[place : place + 1],
        tail=tail,
        rare=0.0,
        sooner=band.sooner or band.factor,
    )
    ends = []
    for holds in (
        lambda factor: not replace(at, margin=factor - 1).surely_more(tail)[0],
        lambda factor: replace(at, margin=factor - 1).excluded[0],
    ):
        low, high = 1e-6, 1e6
        while high / low > 1.001:
            middle = (low * high) ** 0.5
            low, high = (low, middle) if holds(middle) else (middle, high)
        ends.append(high)
    return (0.0 if ends[0] < 1e-5 else ends[0]), (inf if ends[1] > 1e5 else ends[1])


def _usual_ns(boot: Boot) -> float:
    """Return the geometric mean of a boot's answers, ns; nan: it has none."""
    answered = boot.counts.sum()
    if not answered or boot.values[0] <= 0:
        return nan
    return exp(float(np.log(boot.values) @ boot.counts) / answered)


def _within(low: float, high: float, margin: float) -> Change:
    """Judge an interval of after over before; a hair beyond a margin is rounding."""
    most = (1 + margin) * 1.001
    if isnan(low) or isnan(high):
        return "undecided"
    if low > most:
        return "later"
    if high < 1 / most:
        return "earlier"
    if high > most:
        return "undecided"
    return "equal" if low >= 1 / most else "not later"


def _change(after: tuple[bool, bool], before: tuple[bool, bool]) -> Change:
    """Judge both directions: each whether it is surely later, and whether not."""
    if after[0]:
        return "later"
    if not after[1]:
        return "undecided"
    if before[0]:
        return "earlier"
    return "equal" if before[1] else "not later"


@dataclass(frozen=True)
class Judgement:
    """The verdict on two sides, and its grounds."""

    kinds: Sequence[_Judged]
    margin: float
    errors: _Errors
    suspects: Sequence[Row] = ()
    time: InTime = field(default_factory=InTime)

    @property
    def verdict(self) -> Verdict:
        """Return worse, no worse, or undecided."""
        if self.time.undecided or not self.kinds:
            return "undecided"
        every = {one.verdict for one in self.kinds}
        boots = {one.change for one in self.suspects}
        if "worse" in every or "later" in boots:
            return "worse"
        return "undecided" if "undecided" in every | boots else "no worse"

    @property
    def paired(self) -> bool:
        """Tell whether boots are compared in pairs of one seed."""
        return all(one.pair.after.paired(one.pair.before) for one in self.kinds)

    @cached_property
    def rows(self) -> list[Row]:
        """Return all rows, of all kinds; a lost interrupt has no bottom half, and has one row."""
        found: list[Row] = []
        lost = set()
        for row in (row for one in self.kinds for row in one.rows):
            if row.what != "lost" or (row.cell, row.counts) not in lost:
                found.append(row)
            if row.what == "lost":
                lost.add((row.cell, row.counts))
        return found + list(self.suspects)

    @property
    def boots(self) -> int:
        """Return how many boots the smallest side has."""
        return min((one.boots for one in self.kinds), default=0)

    @property
    def is_of_loops(self) -> bool:
        """Tell whether all of it is about control loops."""
        return bool(self.kinds) and all(one.pair.is_of_a_loop for one in self.kinds)

    @property
    def more_boots(self) -> float:
        """Return how many times as many boots decide it if nothing changed; infinite: unknown."""
        if not self.kinds:
            return inf
        return max(BOOTS_MIN / max(1, self.boots), *(one.more_boots for one in self.kinds))

    @property
    def more_boots_once(self) -> float:
        """Return the same if they are judged in one look, which has the whole error."""
        degrees = max(1.0, self.boots - 1.0)
        looks, once = (float(student(tail, degrees)) for tail in (self.errors.alone, ERROR))
        least = BOOTS_MIN / max(1, self.boots)
        return max(least, self.more_boots * (once / looks) ** 2)

    @property
    def unseen_boots(self) -> float:
        """Return one boot in how many may be late, and none was met (95 %)."""
        return float(1 / (1 - OWN ** (1 / max(1, self.boots))))


def judge(  # noqa: PLR0913 (each is named)
    pairs: Sequence[Pair],
    *,
    margin: float = MARGIN,
    look: int | None = None,
    most_boots: int | None = None,
    suspects: Sequence[Suspects] = (),
    time: InTime | None = None,
) -> Judgement:
    """Judge two sides by all declared quantities.

    ``look``: which look it is, from 1, if boots are added between looks; None: these boots are all.
    ``most_boots``: of each side, when all are played: the rare share depends on it, and not on the
    look.
    """
    curves = [pair for pair in pairs if pair.has_curve]
    alone = ERROR * (1.0 if look is None else 0.5**look)
    # the usual time takes a fifth of its curve's share
    count = len(suspects) + 1.25 * len(curves) + sum(pair.drift is not None for pair in pairs)
    found = []
    for pair in pairs:
        boots = min(len(pair.before.boots), len(pair.after.boots))
        balls = min(pair.before.balls, pair.after.balls)
        planned = balls * max(1.0, (most_boots or boots) / max(1, boots))
        errors = _Errors(alone, alone / max(1, count), rare_share(max(1, planned)))
        found.append(_Judged(pair, margin, errors))
    errors = found[0].errors if found else _Errors(alone, alone, 1.0)
    rows = [_suspect(one, margin, errors) for one in suspects]
    return Judgement(found, margin, errors, rows, time or InTime())


def _suspect(one: Suspects, margin: float, errors: _Errors) -> Row:
    """Compare the numbers of suspect boots: exact, for independent boots."""
    counts, of = (one.before, one.after), (one.of_before, one.of_after)
    scale = of[0] / of[1]
    after, before = np.array(one.after), np.array(one.before)
    low, high = (float(end) * scale for end in times_as_many(after, before, errors.alone))
    sure = float(times_as_many(after, before, errors.sure)[0]) * scale
    most = float(bands.most_share(one.after, one.of_after, errors.alone))
    if sure > 1 + margin:
        change: Change = "later"
    elif high <= 1 + margin or (most <= RARE_BOOTS * (1 + margin) and low <= 1 + margin):
        change = "rare"
    else:
        change = "undecided"
    shares = [count / all_ if all_ else nan for count, all_ in zip(counts, of, strict=True)]
    return Row(
        one.cell, "", "suspect", change, shares[0], shares[1], low, high, unit="boots",
        counts=counts, of=of, most=most,
    )  # fmt: skip


def share_change(
    before: Side, after: Side, beyond_ns: float, *, tail: float = OWN, margin: float = MARGIN
) -> Row:
    """Compare how many balls of two sides are later than a time."""
    times = np.array([np.nextafter(beyond_ns, inf)])
    ways = [
        Band(of, to, times, margin, tail, 0.0, sooner=1.0)
        for of, to in ((after, before), (before, after))
    ]
    sure = [bool(band.surely_more(tail)[0]) for band in ways]
    excluded = [bool(band.excluded[0]) for band in ways]
    change = _change((sure[0], excluded[0]), (sure[1], excluded[1]))
    counts = int(ways[0].balls[1][0]), int(ways[0].balls[0][0])
    low, high = _times_of_shares(ways[0], 0, tail)
    return Row(
        "", "", "late", change, counts[0] / before.balls, counts[1] / after.balls, low, high,
        unit="balls", beyond_ns=beyond_ns, counts=counts, of=(before.balls, after.balls),
        most=float(ways[0].most[0]),
    )  # fmt: skip


def time_change(
    before: Side, after: Side, one_in: float, *, tail: float = OWN, margin: float = MARGIN
) -> Row:
    """Compare two sides at one level and all rarer ones: how many times as late after is.

    *Later*: at none of them may after be less than 1 + margin times as late.
    """
    rare = rare_share(min(before.balls, after.balls))
    shares = (1 / one_in, 0.0)
    sides = (before, after)
    if min(len(side.boots) for side in sides) < 2:
        high = low = nan
    else:
        high = later_by(after, before, tail=tail, rare=rare, shares=shares, slack=margin)
        most = later_by(before, after, tail=tail, rare=rare, shares=shares, slack=margin)
        low = 1 / most if most else inf
    change = _within(low, high, margin)
    return Row(
        "", "", "level", change, before.level(one_in), after.level(one_in), low, high, one_in=one_in
    )
