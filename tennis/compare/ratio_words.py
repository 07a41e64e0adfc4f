"""A ratio with its interval in words, even if it, or an end of the interval, is no number."""

import math
from collections.abc import Callable

Interval = tuple[float | None, float | None]


def ratio_words(
    estimate: float | None,
    interval: Interval,
    *,
    write: Callable[[float], str],
    why: str = "",
    unknown: str = "no interval",
) -> str:
    """Write ``1.67 (1.3 to 4)``.

    An infinite value or 0 gets words. ``why``: the reason for that; ``unknown``: why there is no
    interval if its ends are nan. None and infinite are the same: not bounded.
    """
    value, low, high = (math.inf if one is None else one for one in (estimate, *interval))
    reason = f": {why}" if why else ""
    if math.isnan(value):
        return "no number"
    if math.isinf(value):
        least = f" (at least {write(low)})" if 0 < low < math.inf else ""
        return f"no number{least}{reason}"
    said = write(value)
    if math.isnan(low) or math.isnan(high):
        return f"{said} ({unknown}){reason if not value else ''}"
    if not value:
        return f"{said}{f' (at most {write(high)})' if 0 < high < math.inf else ''}{reason}"
    if math.isinf(high):
        return f"{said} ({f'at least {write(low)}' if low > 0 else 'it may be any number'})"
    return f"{said} ({write(low)} to {write(high)})"
