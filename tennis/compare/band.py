"""One band over the whole curve: how much later, or more often late, one side is than another.

A side is later by more than a margin *m* if, at some time *t*, more than 1 + m times as many of its
balls come at *t* or later as of the other side's at *t* / (1 + m) or later. So each *t* has a
question and a bound of its own: no level falls between two kinds of balls, and earlier balls
elsewhere change nothing. Lost balls never come: their *t* is infinite.

Each boot gives one difference of shares, ``of - (1 + m) to``, of its own two sides if boots are
pairs. Its mean over boots has Student's interval (of unpaired boots, B. L. Welch's, "The
Generalization of Student's Problem when Several Different Population Variances are Involved",
Biometrika 34, 1947). The interval is never narrower than independent balls would make it: boots
that agree by luck prove nothing. With few balls the exact interval of a Poisson or a binomial count
holds, too (F. Garwood, Biometrika 28, 1936; C. J. Clopper, E. S. Pearson, Biometrika 26, 1934).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tennis.compare.boots import Values
from tennis.compare.sides import Side
from tennis.kit.special_functions import beta_odds, poisson_most, student_quantile

MARGIN = 0.10  # sides that differ by less are alike, unless somebody asks for less
OWN = 0.05  # beyond an interval of one statement alone
FEW = 60  # balls: from here on Student's interval is as good as the exact one
RARE_BALLS = 30  # what fewer balls of a whole comparison do is rare: no ratio of them is sure
ENOUGH = 3  # caps of late balls of the other side: more of them show nothing more
HAIR = 1 - 1e-9  # a time divided by 1.1 is rounded
SIGNS = 1999  # draws of signs
SIGNS_MIN = 10  # times the inverse of an error: fewer different signs give no quantile
SURE_FROM = 4  # balls: fewer show nothing


def _of_each(bound: Callable[[Values, float], Values], of: float | Values, tail: float) -> Values:
    """Return a bound of each value; pairs, and looks at other factors, ask for the same ones."""
    different, places = np.unique(of, return_inverse=True)
    return _bounds(bound, tuple(different.tolist()), tail)[places]


@lru_cache(256)
def _bounds(bound: Callable[[Values, float], Values], of: tuple[float, ...], tail: float) -> Values:
    return bound(np.array(of), tail)


def student(tail: float, degrees: float | Values) -> Values:
    """Return what Student's distribution exceeds with probability ``tail``."""
    return _of_each(student_quantile, degrees, tail)


def most_share(count: int, of: int, tail: float) -> float:
    """Return the largest share that is not excluded, of ``count`` among ``of``."""
    return 1.0 if count >= of else float(1 / (1 + beta_odds(of - count, count + 1, tail)))


def times_as_many(of: Values, to: Values, tail: float) -> tuple[Values, Values]:
    """Return the least and the largest ratio of the means of two counts that is not excluded."""
    low = np.where(of > 0, beta_odds(np.where(of > 0, of, 1.0), to + 1, tail), 0.0)
    with np.errstate(divide="ignore"):  # odds of 0: no end
        high = np.where(to > 0, 1 / beta_odds(np.where(to > 0, to, 1.0), of + 1, tail), np.inf)
    return low, high


@dataclass(frozen=True)
class Band:
    """One side's share of late balls beside ``1 + margin`` times another's, at some times.

    ``tail``: the error of each bound. ``rare``: a share; the margin does not bound shares that are
    rarer on both sides. ``cap``: a share; late balls count up to it.
    """

    of: Side
    to: Side
    times: Values
    margin: float
    tail: float
    rare: float
    sooner: float = 0.0  # ``to`` is looked at sooner by this factor; 0: 1 + margin
    cap: float = 1.0

    @property
    def factor(self) -> float:
        """Return 1 + margin."""
        return 1 + self.margin

    @cached_property
    def _counts(self) -> tuple[Values, Values]:
        sooner = self.times / (self.sooner or self.factor)
        return self.of.at_least(self.times), self.to.at_least(sooner * HAIR)

    @cached_property
    def balls(self) -> tuple[Values, Values]:
        """Return how many balls of both sides are so late: (times,) each."""
        return self._counts[0].sum(axis=0), self._counts[1].sum(axis=0)

    @cached_property
    def shares(self) -> tuple[Values, Values]:
        """Return the shares of both sides, of all boots: (times,) each."""
        return self.balls[0] / self.of.balls, self.balls[1] / self.to.balls

    @cached_property
    def _boots(self) -> tuple[Values, Values]:
        """Return each boot's share of late balls, of both sides; ``of``: no more than the cap."""
        of, to = self._counts
        return (
            np.minimum(of / self.of.lengths[:, None], self.cap),
            np.minimum(to / self.to.lengths[:, None], ENOUGH * self.cap),
        )

    @cached_property
    def _apart(self) -> tuple[Values, Values]:
        """Return the balls that one side has and the other lacks: for pairs, boot by boot."""
        of, to = (
            self._boots[0] * self.of.lengths[:, None],
            self._boots[1] * self.to.lengths[:, None],
        )
        if not self.of.paired(self.to):
            return of.sum(axis=0), to.sum(axis=0) * self.of.balls / self.to.balls
        return np.maximum(of - to, 0).sum(axis=0), np.maximum(to - of, 0).sum(axis=0)

    @cached_property
    def _difference(self) -> tuple[Values, Values, Values]:
        """Return the mean of ``of - factor to``, its standard error, degrees of freedom."""
        of, to = self._boots
        more, fewer = self._apart
        least = (more + self.factor**2 * fewer + 1) / self.of.balls**2
        if self.of.paired(self.to):
            every = of - self.factor * to
            variance = every.var(axis=0, ddof=1) / len(every)
            degrees = np.full(every.shape[1], len(every) - 1.0)
            return every.mean(axis=0), np.sqrt(np.maximum(variance, least)), degrees
        parts = [of.var(axis=0, ddof=1) / len(of)]
        parts.append(self.factor**2 * to.var(axis=0, ddof=1) / len(to))
        variance = parts[0] + parts[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = variance**2 / (parts[0] ** 2 / (len(of) - 1) + parts[1] ** 2 / (len(to) - 1))
        degrees = np.where(variance > 0, degrees, len(of) + len(to) - 2)
        shares = of.mean(axis=0), np.minimum(to.mean(axis=0), 1)
        balls = shares[0] * (1 - shares[0]) / self.of.balls
        balls = balls + self.factor**2 * shares[1] * (1 - shares[1]) / self.to.balls
        mean = shares[0] - self.factor * to.mean(axis=0)
        floor = balls + 1 / self.of.balls**2 + self.factor**2 / self.to.balls**2
        return mean, np.sqrt(np.maximum(variance, floor)), degrees

    @cached_property
    def _few(self) -> NDArray[np.bool_]:
        """Tell at which times few balls are on one side only: their exact interval counts."""
        more, fewer = self._apart
        return more + fewer < FEW

    def _mostly_more(self, asked: NDArray[np.bool_], tail: float) -> NDArray[np.bool_]:
        """Tell at which of the times asked for more balls are ``of``'s alone than ``to``'s."""
        more, fewer = (balls[asked] for balls in self._apart)
        found = np.zeros(asked.shape, np.bool_)
        found[asked] = times_as_many(more, fewer, tail)[0] > 1
        return found

    def surely_more(self, tail: float) -> NDArray[np.bool_]:
        """Tell at which times ``of`` surely has more than ``factor`` times as many late balls.

        ``tail``: of each time alone.
        """
        mean, error, degrees = self._difference
        sure = (mean > student(tail, degrees) * error) & (self.balls[0] > 0)
        return sure & (~self._few | self._mostly_more(sure & self._few, tail))

    def surely_more_anywhere(self, tail: float) -> NDArray[np.bool_]:
        """Tell the same for all times together: the chance of a false one is ``tail``.

        Times with many late balls share a half of it, those with few the other half.
        """
        mean, error, _ = self._difference
        few, sure = self._few, self.surely_more(tail)
        many = mean > self._largest_by_chance(~few, tail / 2) * error
        return sure & np.where(
            few, self._mostly_more(few & sure, tail / 2 / max(1, few.sum())), many
        )

    def _largest_by_chance(self, chosen: NDArray[np.bool_], tail: float) -> float:
        """Return what Student's t of no chosen time exceeds by chance, but with ``tail``.

        Neighbouring times have much the same balls. So each boot's difference from the mean gets a
        sign at random, the same at all times (R. Davidson, E. Flachaire, "The Wild Bootstrap, Tamed
        at Last", Journal of Econometrics 146, 2008). Few boots have few signs: then times share the
        error (C. E. Bonferroni).
        """
        if not chosen.any():
            return np.inf
        of, to = (shares[:, chosen] for shares in self._boots)
        both = self.of.paired(self.to)
        groups = [of - self.factor * to] if both else [of, -self.factor * to]
        random = np.random.default_rng(SIGNS)
        mean, variance = np.zeros(1), np.zeros(1)
        for group in groups:
            apart, boots = group - group.mean(axis=0), len(group)
            drawn = random.choice([-1.0, 1.0], (SIGNS, boots)) @ apart / boots
            spread = (apart**2).mean(axis=0) - drawn**2
            mean, variance = mean + drawn, variance + spread / (boots - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = np.where(variance > 1e-18, mean / np.sqrt(variance), 0.0)
        shared = float(student(tail / chosen.sum(), self._difference[2][chosen]).max())
        if 2.0 ** sum(map(len, groups)) < SIGNS_MIN / tail:
            return shared
        return min(shared, float(np.quantile(drawn.max(axis=1), 1 - tail, method="higher")))

    @cached_property
    def excluded(self) -> NDArray[np.bool_]:
        """Tell at which times it is excluded that ``of`` has more late balls than it may have."""
        mean, error, degrees = self._difference
        more, fewer = self._apart
        found = mean + student(self.tail, degrees) * error <= 0
        few = found & self._few & ((more > 0) | (self.balls[1] < FEW))
        beyond = (_of_each(poisson_most, more[few], self.tail) - fewer[few]) / self.of.balls
        found[few] = beyond <= self.margin * self.shares[1][few]
        return found | self.is_rare

    @cached_property
    def most(self) -> Values:
        """Return the largest share of late balls of ``of`` that is not excluded: (times,)."""
        of = self._boots[0]
        count = self.balls[0]
        variance = np.maximum(of.var(axis=0, ddof=1) / len(of), (count + 1) / self.of.balls**2)
        ends = of.mean(axis=0) + student(self.tail, float(len(of) - 1)) * np.sqrt(variance)
        exact, few = np.zeros(count.shape), count < FEW
        exact[few] = _of_each(poisson_most, count[few], self.tail) / self.of.balls
        found: Values = np.maximum(ends, exact)
        return found

    @cached_property
    def is_rare(self) -> NDArray[np.bool_]:
        """Tell at which times late balls are rare, and no increase shows in them alone."""
        rare: NDArray[np.bool_] = self.most <= self.factor * self.rare
        return rare & ~self.surely_more(OWN)

    @cached_property
    def more_boots(self) -> float:
        """Return how many times as many boots exclude all, if nothing changed: 1 or more.

        Intervals shrink with the square root of the boots.
        """
        _, error, degrees = self._difference
        share = sum(self.shares) / 2
        room = np.maximum(self.margin * share, self.factor * self.rare - share)
        needed = (student(self.tail, degrees) * error / np.maximum(room, 1e-12)) ** 2
        return float(max(1.0, *needed[~self.excluded], 1.0))


def rare_share(balls: float) -> float:
    """Return the share of late balls below which a comparison of ``balls`` balls has no ratio."""
    return RARE_BALLS / balls


def later_by(  # noqa: PLR0913 (each is named)
    of: Side, to: Side, *, tail: float, rare: float, shares: tuple[float, float], slack: float
) -> float:
    """Return the largest factor by which ``of`` may be later than ``to``; infinite: unbounded.

    At all levels within ``shares``, from the most late balls to the fewest. Up to ``slack`` more
    late balls count as as many: between two kinds of balls no level is a time.
    """
    most, least = shares
    every = of.times()
    held = of.at_least(every).sum(axis=0) / of.balls
    # the times of these levels: one time more, whose share is larger, has the level itself
    first = int(np.searchsorted(-held, -most, "right")) - 1
    times = every[max(0, first) :]
    times = times[held[max(0, first) :] >= least]
    if not times.size:
        return 0.0

    def holds(factor: float) -> bool:
        band = Band(of, to, times, slack, tail, rare, sooner=factor, cap=most)
        return bool(band.excluded.all())

    low, high = 1e-6, 1e6
    if not holds(high):
        return np.inf
    while high / low > 1.00001:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
