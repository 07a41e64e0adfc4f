"""The certainty that N balls give: order-statistic intervals of quantiles, and the rule of three.

Both hold for any distribution of latencies, as long as the balls are independent of each other.
Bursts (a load that comes and goes) are not independent: then the true intervals are wider.
"""

from fractions import Fraction
from functools import cache
from math import ceil

import numpy as np

from tennis.kit.special_functions import beta_odds, binomial_at_most

CONFIDENCE = Fraction(95, 100)
# With fewer answers 3/N is above a tenth: nothing worth saying.
BOUND_FROM = 30
_AT_ONCE = 128


def quantile_rank(n: int, p: Fraction) -> int:
    """Return the rank (from 1) of the p-quantile of n values: the inverse of their step function.

    It is the smallest value that at least the share p of all values does not exceed.
    """
    return max(1, ceil(n * p))


@cache  # both latencies of a rally mostly have the same n
def quantile_ranks(
    n: int, p: Fraction, confidence: Fraction = CONFIDENCE
) -> tuple[int, int] | None:
    """Return the ranks (from 1) whose values enclose the true p-quantile, or None.

    At least the share ``confidence`` of all rallies of n balls encloses it, for any distribution.
    None if n values do not suffice for that.
    """
    if n < 1:
        return None
    tail = float((1 - confidence) / 2)
    # below: the quantile is under the value of rank l with P(B <= l - 1), B ~ binomial(n, p)
    lower = _first_above(tail, n, p)
    # above: it is over the value of rank u with P(B >= u)
    upper = _first_above(1 - tail, n, p) + 1
    if lower < 1 or upper > n:
        return None
    return lower, upper


def _first_above(share: float, n: int, p: Fraction) -> int:
    """Return the smallest k with a probability above ``share`` of at most k successes in n."""
    low, high = 0, n
    while low < high:
        # many at once: NumPy takes nearly as long for one
        tried = np.unique(np.linspace(low, high - 1, _AT_ONCE).astype(np.int64))
        found = int(np.searchsorted(binomial_at_most(tried, n, float(p)), share, "right"))
        low = int(tried[found - 1]) + 1 if found else low
        high = int(tried[found]) if found < tried.size else high
    return low


def exceedance_bound_95(n: int) -> float | None:
    """Return the rate of exceedances that n balls without one rule out at 95 %: 3/N.

    None without balls; never more than 1.
    """
    return min(1.0, 3 / n) if n else None


def share_between(k: int, n: int, confidence: Fraction = CONFIDENCE) -> tuple[float, float]:
    """Return bounds of the true share if k of n independent draws are in it.

    Clopper's and Pearson's interval, k at least 1.
    """
    tail = float((1 - confidence) / 2)
    low = beta_odds(k, n - k + 1, tail)
    high = 1.0 if k == n else 1 / (1 + float(beta_odds(n - k, k + 1, tail)))
    return float(low / (1 + low)), high
