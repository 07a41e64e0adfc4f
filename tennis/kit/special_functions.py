"""Quantiles of the beta, Student's and the Poisson distribution, and the binomial's sums.

All are the regularized incomplete beta function I_x(a, b) (NIST DLMF, https://dlmf.nist.gov, 8.17).
With the odds x / (1 - x) = a / b exp(d), its density over d is f = x^a (1 - x)^b / B(a, b), which
rises until d = 0. What is below d, divided by f, is an integral over smooth exponentials: Gauss's
and Legendre's quadrature takes it, as W. H. Press and others do for large a and b (Numerical
Recipes, 3rd edition, 6.4). The relative error is below 1e-11 for a and b up to 1e8.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # from 0 to 1
_FEW = 16  # below, Stirling's series is not exact
_SHIFT = 8  # a below is raised by as much: the integrand is then smooth on the nodes' scale
_NOTHING = 38.0  # exp(-38) is less than a rounding
_STEPS_MAX = 60
_LIMIT = 1e30  # a beta distribution with such an a is a gamma distribution
# B_2k / (2k (2k - 1)): DLMF 5.11.1
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _over_stirling(z: Values) -> Values:
    """Return ln Gamma(z) without the leading terms (z - 1/2) ln z - z + ln(2 pi) / 2."""
    small = z < _FEW
    up = np.where(small, z + _FEW, z)
    series: Values = np.polyval(_STIRLING[::-1], 1 / up**2) / up
    if not np.any(small):
        return series
    # DLMF 5.5.1: Gamma(z + 1) = z Gamma(z)
    product = np.prod(np.where(small, z, 1.0)[..., None] + np.arange(_FEW), axis=-1)
    down = (up - 0.5) * np.log(up) - (z - 0.5) * np.log(z) - _FEW - np.log(product)
    return series + np.where(small, down, 0.0)


def _rise(a: Any, b: Any, x: Any, y: Any, w: Any) -> Values:
    """Return ln f at odds that are exp(w) times x / y (y = 1 - x), less ln f there."""
    low = x < y
    # both forms are equal; each is exact if its second factor is small
    more = np.log1p(np.where(low, x, y) * np.expm1(np.where(low, w, -w)))
    found: Values = np.where(low, a, -b) * w - (a + b) * more
    return found


def _below(a: Values, b: Values, x: Values, y: Values) -> Values:
    """Return I_x(a, b) / f; x is not much beyond a / (a + b)."""
    small = a < _SHIFT
    up = a + np.where(small, _SHIFT, 0)
    slope = np.maximum(up * y - b * x, 1e-300)  # it grows with w
    bell = np.log1p(np.sqrt(2 * _NOTHING / ((up + b) * x * y)))
    width = np.maximum(_NOTHING / up, np.minimum(bell, _NOTHING / slope))
    while np.any(more := _rise(up, b, x, y, -width) > -_NOTHING):
        width = np.where(more, 2 * width, width)
    one, other, here, there, wide = (each[..., None] for each in (up, b, x, y, width))
    found: Values = width * (np.exp(_rise(one, other, here, there, -wide * _NODES)) @ _WEIGHTS)
    if np.any(small):
        for n in range(_SHIFT - 1, -1, -1):  # DLMF 8.17.20
            found = np.where(small, (1 + (a + n + b) * x * found) / (a + n), found)
    return found


def _log_top(a: Values, b: Values) -> Values:
    """Return ln f at d = 0, where it is largest."""
    found = _over_stirling(a + b) - _over_stirling(a) - _over_stirling(b)
    return found + np.log(a / (a + b) * b / (2 * np.pi)) / 2


@np.errstate(all="ignore")
def beta_odds(a: Any, b: Any, tail: Any) -> Values:
    """Return the odds x / (1 - x) with I_x(a, b) = tail, of any shape; NaN for NaN."""
    a, b, tail = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (a, b, tail)))
    if not tail.size:
        return np.zeros(tail.shape)
    turned = tail > 0.5  # the smaller side: I_x(a, b) = 1 - I_1-x(b, a), DLMF 8.17.4
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    wanted = np.log(np.where(turned, 1 - tail, tail))
    far = np.sqrt(-2 * wanted)
    # so many standard deviations: C. Hastings, Approximations for Digital Computers, 1955, sheet 67
    far -= (2.30753 + 0.27061 * far) / (1 + far * (0.99229 + 0.04481 * far))
    d = -far * np.sqrt(1 / a + 1 / b)
    wanted = wanted - _log_top(a, b)
    for _ in range(_STEPS_MAX):
        up = a * np.exp(d)
        x, y = up / (up + b), b / (up + b)
        below = _below(a, b, x, y)
        missing = wanted - _rise(a, b, a / (a + b), b / (a + b), d) - np.log(below)
        # Newton's step on ln I, which is concave: none but the first goes too far; near, Halley's
        bend = np.where(np.abs(missing) < 1, missing * ((a * y - b * x) * below - 1) / 2, 0.0)
        step = missing * below / (1 + bend)
        d = d + step
        if not np.any(np.abs(step) > 1e-13 * (1 + np.abs(d))):
            break
    odds = a / b * np.exp(d)
    found: Values = np.where(turned, 1 / odds, odds)
    return found


def student_quantile(degrees: Any, tail: float | Values) -> Values:
    """Return what Student's t exceeds with probability ``tail``, at most a half; DLMF 8.17.5."""
    degrees = np.asarray(degrees, np.float64)
    found: Values = np.sqrt(degrees / beta_odds(degrees / 2, 0.5, 2 * tail))
    return found


def poisson_most(count: Any, tail: float | Values) -> Values:
    """Return the mean with which a Poisson count is at most ``count`` with probability ``tail``."""
    return _LIMIT / beta_odds(_LIMIT, np.asarray(count, np.float64) + 1, tail)


def binomial_at_most(k: Any, n: int, p: float) -> Values:
    """Return the probability of at most ``k`` successes in ``n`` trials (0 <= k < n)."""
    k = np.asarray(k, np.float64)
    a, b = n - k, k + 1
    d = np.log((1 - p) / p * b / a)
    turned = d > 0
    found = np.exp(_log_top(a, b) + _rise(a, b, a / (a + b), b / (a + b), d))
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    found *= _below(a, b, np.where(turned, p, 1 - p), np.where(turned, 1 - p, p))
    return np.where(turned, 1 - found, found)
