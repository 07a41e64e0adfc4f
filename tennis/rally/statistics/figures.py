"""Figures: some need the latency of a missed ball, which is unknown."""

from dataclasses import dataclass
from math import inf, nan

from tennis.kit.units import format_ns

ORDERED = ("min", "q1", "median", "q3", "p99", "p999", "max")  # the latency of some ball


@dataclass(frozen=True)
class Figures:
    """Figures about missed balls, which are later than all others; ns."""

    missed: int  # balls without such a latency
    # a missed ball's latency is above this; None: no ball was missed, or unknown
    later_than_ns: int | None
    # figures that are None because they are, or need, the latency of a missed ball
    among_missed: tuple[str, ...]

    def ns(self, name: str) -> float:
        """Return a figure by its name: infinite if it is among the missed, NaN if it is not known.

        ``mean``, ``sd`` and differences are not known if they need a missed ball.
        """
        value = getattr(self, name)
        if value is not None:
            return float(value)
        return inf if name in self.among_missed and name in ORDERED else nan

    def said(self, name: str) -> str:
        """Write a figure by its name: ``7.10 µs``, or ``> 1.00 ms`` if it is among the missed."""
        if name not in self.among_missed:
            return format_ns(getattr(self, name))
        return self.said_missed if name in ORDERED else "unknown"

    @property
    def said_missed(self) -> str:
        """Write the latency of a missed ball: ``> 1.00 ms``, or that it was missed."""
        return "missed" if self.later_than_ns is None else f"> {format_ns(self.later_than_ns)}"
