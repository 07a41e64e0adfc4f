"""Pictures of sweeps: rate against what can still be paired, and the reply line at some rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from tennis.kit.style import BLACK, GREY
from tennis.kit.units import format_count, format_ns, ticks_to_ns
from tennis.rally import Rally
from tennis.rally.statistics.pairing import Pairing, edges_of, percent_floor
from tennis.rally.text import plain
from tennis.report.plots.compare import DASHES, kernel_colors
from tennis.report.plots.one import WIDTH
from tennis.report.plots.picture import Picture, count_text, house_style, time_axis

# few balls violet, many red, as on Koeker's oscilloscope
COLOURS = "rainbow"
COLUMNS = 600  # of a screen

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Curve:
    """A sweep to be drawn."""

    label: str
    kernel: str
    note: str  # the bench, and what a nanosecond means
    rates: Mapping[int, Pairing]  # ascending
    holds_hz: int | None
    breaks_hz: int | None


def _styles(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Return colour (of the kernel) and line of each curve."""
    colours = kernel_colors([curve.kernel for curve in curves])
    before = (colours[:number].count(colour) for number, colour in enumerate(colours))
    return [
        {"color": colour, "ls": DASHES[number % len(DASHES)]}
        for colour, number in zip(colours, before, strict=True)
    ]


def _words(curve: Curve) -> str:
    if curve.breaks_hz is None:
        found = f"holds up to {curve.holds_hz:,} Hz" if curve.holds_hz else "no rate was played"
    elif curve.holds_hz is None:
        found = f"is broken at {curve.breaks_hz:,} Hz, the lowest rate"
    else:
        found = f"breaks between {curve.holds_hz:,} and {curve.breaks_hz:,} Hz"
    return f"{curve.label}: pairing {found}"


@house_style
def rates(curves: Sequence[Curve]) -> Picture:
    """Draw the share of paired pings, and the quartiles of those that are, against the rate."""
    sentences = [f"{_words(curve)}." for curve in curves]
    picture = Picture(
        WIDTH,
        6.0 + 0.2 * len(curves),
        "From which rate on can replies no longer be paired?",
        "Share of paired pings and quartiles of interrupt latency against the rate. "
        + " ".join(sentences),
    )
    pings = {rate.pings for curve in curves for rate in curve.rates.values()}
    count = f"{max(pings, default=0):,} pings a rate"
    picture.head(f"{'; '.join(dict.fromkeys(curve.note for curve in curves))}  ·  {count}")
    shares, times = picture.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    handles = []
    for curve, style in zip(curves, _styles(curves), strict=True):
        at = list(curve.rates)
        paired = [100 * rate.share for rate in curve.rates.values()]
        (line,) = shares.plot(at, paired, marker="o", ms=3, label=_words(curve), **style)
        handles.append(line)
        if curve.holds_hz and curve.breaks_hz:
            shares.axvspan(curve.holds_hz, curve.breaks_hz, color=line.get_color(), alpha=0.25)
        # figures among unpaired pings have no place on the axis: the line ends there
        low, middle, high, latest = (
            np.array([rate.interrupt_ns.ns(name) for rate in curve.rates.values()])
            for name in ("q1", "median", "q3", "max")
        )
        known = np.isfinite(high)
        times.fill_between(at, low, high, where=known, color=line.get_color(), alpha=0.2, lw=0)
        times.plot(at, np.where(np.isfinite(middle), middle, np.nan), **style)
        times.plot(
            at, np.where(np.isfinite(latest), latest, np.nan), "x", ms=4, color=line.get_color()
        )
    shares.set(ylim=(-3, 103), ylabel="paired pings, %")
    shares.set_title("one ping, one reply")
    times.set_title("interrupt latency: median, quartiles, latest (crosses, if all are paired)")
    time_axis(times, "y", log=True)
    _rate_axis(times)
    picture.legend(handles=handles, loc="outside lower center", ncols=1, fontsize=9)
    return picture


def _rate_axis(axes: Axes) -> None:
    axes.set(xscale="log", xlabel="pings a second (log scale)")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(lambda value, _: count_text(value))
    axes.xaxis.set_minor_formatter(NullFormatter())


@house_style
def screens(curve: Curve, rallies: Sequence[Rally]) -> Picture:
    """Draw all replies of some rates over each other, as an oscilloscope with persistence does.

    A screen begins with the ping, and is as wide as the shortest period. Koeker, Membarth and
    German show such screens in figures 4 and 5.
    """
    shown = [f"{rally.manifest.protocol.rate_hz:,.0f} Hz" for rally in rallies]
    picture = Picture(
        WIDTH,
        0.9 + 1.75 * len(rallies),
        plain(f"The reply line: {curve.label}", 110),
        f"All replies of {', '.join(shown)} over each other, from the ping on.",
    )
    window_ns = min(1e9 / (rally.manifest.protocol.rate_hz or 1.0) for rally in rallies)
    picture.head(curve.note)
    for axes, rally in zip(
        picture.subplots(len(rallies), 1, squeeze=False)[:, 0], rallies, strict=True
    ):
        _screen(axes, rally, curve, window_ns)
    return picture


_TRACE = 10  # rows of pixels between low and high


def _scope_grid(axes: Axes) -> None:
    """Make axes the screen of an oscilloscope."""
    axes.set_facecolor("#101418")
    axes.grid(True, color="#3a424a", lw=0.6)
    axes.set_yticks(range(9))
    axes.set_yticklabels([])
    axes.tick_params(length=0)


def _trace(high: NDArray[np.int64], edges: NDArray[np.int64], balls: int) -> NDArray[np.int64]:
    """Return counts (rows, columns): low at the bottom, high at the top, edges between them."""
    image = np.tile(edges, (_TRACE, 1))
    image[0] = np.maximum(balls - high, edges)
    image[1] = image[0]
    image[-1] = np.maximum(high, edges)
    image[-2] = image[-1]
    return image


def _screen(axes: Axes, rally: Rally, curve: Curve, window_ns: float) -> None:
    rate_hz = rally.manifest.protocol.rate_hz or 1.0
    found = curve.rates[round(rate_hz)]
    edges = edges_of(rally)
    starts = edges.served_ns[:-1]
    at = np.linspace(0, window_ns, COLUMNS, endpoint=False)
    # a reply without a ping has no known fall: it is not drawn
    own = edges.rise >= 0
    rises_ns = edges.served_ns[own] + ticks_to_ns(edges.rise[own], rally.tick_hz)
    high = np.zeros(COLUMNS, np.int64)
    for column, since in enumerate(at.astype(np.int64)):
        moment = starts + since
        level = np.searchsorted(rises_ns, moment, "right")
        level = level - np.searchsorted(edges.falls_ns, moment, "right")
        high[column] = int((level > 0).sum())
    passed = np.concatenate([_since(rises_ns, starts), _since(edges.falls_ns, starts)])
    crossing = np.histogram(passed, bins=COLUMNS, range=(0, window_ns))[0].astype(np.int64)
    _scope_grid(axes)
    axes.imshow(
        np.ma.masked_less(_trace(high, crossing, starts.size), 1),
        extent=(0, window_ns, 1, 7),
        aspect="auto",
        origin="lower",
        cmap=colormaps[COLOURS],
        norm=LogNorm(1, max(2, starts.size)),
        interpolation="nearest",
    )
    axes.set(xlim=(0, window_ns), ylim=(0, 8))
    time_axis(axes, "x", log=False)
    axes.set_title(
        f"{rate_hz:,.0f} Hz, a ping every {format_ns(round(1e9 / rate_hz))}: "
        f"{percent_floor(found.share)} of {format_count(found.pings, 'ping')} paired",
        size=9.5,
        color=BLACK,
    )
    axes.tick_params(axis="x", colors=GREY)


def _since(edges_ns: Times, starts: Times) -> Times:
    """Return how long after its ping each edge came."""
    index = np.searchsorted(starts, edges_ns, side="right") - 1
    there = index >= 0
    return edges_ns[there] - starts[index[there]]
