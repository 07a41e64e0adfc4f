"""Rallies for notebooks and other people's scripts: ``tennis.open`` and what it returns.

Nothing here needs a bench. Optional parts (pictures, pandas, polars) are imported when they are
used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tennis.kit.entries import load
from tennis.kit.errors import TennisError, UsageError
from tennis.kit.units import tick_ns
from tennis.rally import Rally, open_rally
from tennis.rally.balls import FIELDS, TICK_HZ_KEY
from tennis.rally.columns import Column, Table
from tennis.rally.statistics import Summary, summarize
from tennis.report.pictures import PICTURES

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tennis.report.plots import Picture


@dataclass(frozen=True)
class OpenRally(Rally):
    """A sealed rally, all of whose files were checked when it was opened."""

    def arrow(self) -> "pa.Table":
        """Return the balls as an Arrow table: a row for each ball, in the order of the serves.

        The columns are ``ball`` (from 0), ``served_ns`` (when the ball was served, on the
        instrument's clock), ``rise_ticks`` and ``fall_ticks`` (the reply's edges as they were
        recorded: ticks of ``tick_hz``, both counted from the serve), ``interrupt_ns`` (ping to
        rise) and ``scheduling_ns`` (rise to fall). An edge that did not come is null, and so is
        each latency that needs it. A row takes about 36 bytes of memory.

        Raises UsageError if pyarrow is not installed.
        """
        arrow: Any = _import("pyarrow")
        every = self._table()
        columns = {
            name: arrow.array(one.values, mask=one.missing) for name, one in every.columns.items()
        }
        return arrow.table(columns, metadata={TICK_HZ_KEY: str(self.tick_hz)})

    def _table(self) -> Table:
        every = Table.joined(self.batches(), FIELDS)
        rise, fall = (every[name] for name in ("rise_ticks", "fall_ticks"))
        tick = tick_ns(self.tick_hz)
        between = Column((fall.filled(0) - rise.filled(0)) * tick, rise.flags | fall.flags)
        latencies = {"interrupt_ns": Column(rise.values * tick, rise.missing)}
        return Table({**every.columns, **latencies, "scheduling_ns": between})

    def pandas(self) -> "pd.DataFrame":
        """Return the table of ``arrow`` as a pandas DataFrame; nulls become NaN.

        Raises UsageError if pandas is not installed.
        """
        _import("pandas")
        return self._table().pandas()

    def polars(self) -> Any:
        """Return the table of ``arrow`` as a polars DataFrame.

        Raises UsageError if polars or pyarrow is not installed.
        """
        return _import("polars").from_arrow(self.arrow())

    def stats(self) -> Summary:
        """Return what ``tennis stats`` prints: both latencies in nanoseconds, with intervals."""
        return summarize(self)

    def plot(self, kind: str = "distribution") -> "Picture":
        """Return a picture of ``tennis plot`` as a matplotlib Figure: "histogram" or another kind.

        Raises UsageError for an unknown kind, or one that this rally does not have.
        """
        there = PICTURES["rally"]
        if kind not in there:
            raise UsageError(f"no picture {kind!r}", next_step=f"use {', '.join(there)}")
        picture: Picture | None = load(there[kind])(self)
        if picture is None:
            raise UsageError(f"{kind}: {self.path} has no such picture", next_step="draw another")
        return picture


def open(path: str | Path) -> OpenRally:  # noqa: A001 (tennis.open, as image and audio libraries have it)
    """Open the rally folder ``path``, from any source: everything in it is checked.

    Raises RallyError if the folder is no sound rally; the message says what to do.
    """
    return OpenRally(**vars(open_rally(Path(path))))


def plot(rallies: Sequence[Rally]) -> "Picture":
    """Return one picture of several rallies: how often each latency was exceeded, in each rally.

    Raises UsageError for no rally at all.
    """
    if not rallies:
        raise UsageError("nothing to draw", next_step="name at least one rally")
    picture: Picture = load(PICTURES["rallies"]["distribution"])(rallies)
    return picture


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(
            f"{name} is not installed", next_step=f"install it (`pip install {name}`)"
        ) from error


__all__ = ["OpenRally", "Summary", "TennisError", "open", "plot"]
