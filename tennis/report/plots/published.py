"""A picture of published maxima beside those of a bench: each on its own axis of time."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from tennis.kit.style import AXIS, BLACK, GREY, KERNELS, OTHER_KERNELS
from tennis.kit.units import NS_PER_US, format_us
from tennis.report.picture_words import Beside
from tennis.report.plots.one import WIDTH
from tennis.report.plots.picture import Picture, house_style, time_axis


@house_style
def beside(rows: Sequence[Beside], latency: str, published: str, bench: str) -> Picture:
    """Draw the maxima of ``published`` on the left, those of the bench on the right.

    Both axes are logarithmic and span as many decades: equal distances are equal ratios.
    """
    sentences = [f"Largest {latency} latencies, {published} and this match ({bench})."]
    for row in rows:
        ours = row.largest if row.largest_ns is not None else "none"
        note = f" ({row.note})" if row.note else ""
        sentences.append(f"{row.label}: {format_us(row.published_us)}, here {ours}{note}.")
    picture = Picture(
        WIDTH, 1.5 + 0.3 * len(rows), f"The latest answers: {latency} latency", " ".join(sentences)
    )
    picture.head(
        f"{published} on the left; on the right {bench}  ·  both axes span as many decades"
    )
    panels = picture.subplots(1, 2, sharey=True)
    lists: tuple[list[float | None], ...] = (
        [row.published_us * NS_PER_US for row in rows],
        [row.largest_ns or None for row in rows],
    )
    decades = max((_decades(values) for values in lists), default=1.0)
    titles = ("thesis", "this match")
    for axes, values, title in zip(panels, lists, titles, strict=True):
        axes.set_title(title)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        _panel(axes, rows, values, decades, ours=title != "thesis")
    panels[0].set_yticks(range(len(rows)), [row.label for row in rows], color=BLACK, size=9)
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    return picture


def _decades(values: Sequence[float | None]) -> float:
    known = [value for value in values if value]
    return float(np.log10(max(known) / min(known))) if known else 1.0


def _panel(
    axes: Axes,
    rows: Sequence[Beside],
    values: Sequence[float | None],
    decades: float,
    *,
    ours: bool,
) -> None:
    known = [value for value in values if value]
    low = min(known) / 2.5 if known else 1.0
    axes.set_xlim(low, low * 2.5 * 10**decades * 10 ** (0.3 * max(decades, 1)))
    for y, (row, value) in enumerate(zip(rows, values, strict=True)):
        note = row.note if ours else ""
        if not value:
            axes.text(
                0.02,
                y,
                note,
                transform=axes.get_yaxis_transform(),
                va="center",
                color=GREY,
                size=8.5,
            )
            continue
        color = KERNELS.get(row.kernel, OTHER_KERNELS[0])
        # dots, no bars: on a logarithmic axis the length of a bar says nothing
        axes.axhline(y, color=AXIS, lw=0.8, ls=(0, (1, 2)), zorder=0)
        axes.plot(value, y, ">" if ours and row.missed else "D", color=color, ms=6)
        label = row.largest if ours else format_us(row.published_us)
        axes.annotate(
            f"{label}  {note}".rstrip(),
            (value, y),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            size=9,
        )
    time_axis(axes, "x", log=True)
