# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Pictures of a check: how far two instruments agree, and all balls on one oscilloscope's grid."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LogNorm
from numpy.typing import NDArray

from tennis.plots.one import WIDTH, nothing
from tennis.plots.picture import ON_LINES, Picture, count_text, house_style, time_axis
from tennis.plots.scope import COLOURS, scope_grid, trace
from tennis.style import BLACK, GREY, LATENCIES
from tennis.umpire import Check
from tennis.umpire.agreement.pictures import DIVISIONS, Persistence
from tennis.units import format_count, format_ns, format_round_ns


def check_note(result: Check) -> str:
    """Say what must stand beside every picture of a check."""
    manifest = result.rally.manifest
    rate = (
        f"a sample each {result.capture.resolution_ns:.3g} ns" if result.capture else "no capture"
    )
    text = f"{manifest.bench} bench: {manifest.time_note}  ·  {rate}"
    return f"{text}  ·  {format_count(result.balls, result.noun)}, {result.unmatched} unmatched"


@house_style
def agreement(result: Check) -> Picture:
    """Draw Bland and Altman's plot of both latencies: difference over mean, bias, spread."""
    title = f"Brickwall - analyser: {result.rally.label}"
    picture = Picture(WIDTH, 4.2, title, _agreement_words(result))
    picture.head(check_note(result))
    panels = np.atleast_1d(picture.subplots(1, len(result.kinds)))
    for axes, kind in zip(panels, result.kinds, strict=True):
        axes.set_title(result.kind_words(kind))
        points = result.points.get(kind)
        difference = getattr(result, kind)
        if difference is None or points is None or not len(points.table):
            nothing(axes, f"no {result.noun} that both saw")
            continue
        _, mean, off = points.table.T
        axes.plot(mean, off, ".", color=LATENCIES[kind], ms=2.5, alpha=0.55, rasterized=True)
        if mean.min() > 0 and mean.max() > 12 * np.median(mean):
            time_axis(axes, "x", log=True)
        else:
            time_axis(axes, "x", log=False)
        time_axis(axes, "y", log=False)
        low, high = difference.bias_ci_ns
        axes.axhspan(low, high, color=BLACK, alpha=0.15, lw=0)
        axes.axhline(difference.bias_ns, color=BLACK, lw=1)
        for sign in (-1, 1):
            level = difference.bias_ns + sign * 1.96 * difference.sd_ns
            axes.axhline(level, color=GREY, lw=0.9, ls=(0, (4, 3)))
        axes.set_xlabel("mean of both")
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, top + 0.12 * (top - bottom))  # room for the words
        bias = f"bias {difference.bias_ns:+.1f} ns ({low:.1f} to {high:.1f})"
        label = f"{bias}, sd {difference.sd_ns:.1f} ns"
        axes.annotate(
            label,
            (0.99, 0.99),
            xycoords="axes fraction",
            ha="right",
            va="top",
            size=8.5,
            bbox=ON_LINES,
        )
    panels[0].set_ylabel("Brickwall - analyser")
    return picture


def _agreement_words(result: Check) -> str:
    sentences = [f"Bland-Altman plot of {result.rally.label}."]
    for kind in result.kinds:
        difference = getattr(result, kind)
        words = result.kind_words(kind)
        if difference is None:
            sentences.append(f"No {words} was compared.")
            continue
        low, high = difference.bias_ci_ns
        sentences.append(
            f"{words.capitalize()} of {format_count(difference.balls, result.noun)}: bias "
            f"{difference.bias_ns:+.1f} ns (95 %: {low:.1f} to {high:.1f} ns), standard deviation "
            f"{difference.sd_ns:.1f} ns."
        )
    sentences.append("Grey: the bias with its interval. Dashed: 1.96 standard deviations about it.")
    return " ".join(sentences)


@house_style
def persistence(result: Check) -> Picture:
    """Draw all balls of the capture over each other, colour by count, on a scope's grid."""
    seen = result.persistence
    title = f"All balls overlaid: {result.rally.label}"
    balls = seen.balls if seen else 0
    description = f"Cumulative recording of {format_count(balls, 'ball')} as the analyser saw them"
    picture = Picture(WIDTH, 4.4, title, f"{description}: ping above, reply below.")
    picture.head(check_note(result))
    axes = picture.subplots()
    if seen is None or not seen.balls:
        nothing(axes, "no ball in the capture")
        return picture
    scope_grid(axes)
    pulse = result.rally.manifest.protocol.pulse_ns
    norm = LogNorm(1, max(2, seen.balls))
    style: dict[str, Any] = {
        "aspect": "auto",
        "origin": "lower",
        "cmap": colormaps[COLOURS],
        "norm": norm,
        "interpolation": "nearest",
    }
    columns = np.arange(seen.columns)
    up = int(pulse / seen.column_ns)
    ping = np.where(columns < up, seen.balls, 0)
    edges = np.zeros(seen.columns, np.int64)
    edges[0] = seen.balls
    if up < seen.columns:
        edges[up] += seen.balls
    window, end = seen.window_ns, seen.columns * seen.column_ns
    for bottom, image in ((5.0, trace(ping, edges, seen.balls)), (1.0, _reply(seen))):
        shown = np.ma.masked_less(image, 1)
        picture_of = axes.imshow(shown, extent=(0, end, bottom, bottom + 2.4), **style)
    axes.set(xlim=(0, window), ylim=(0, 8))
    axes.set_xticks(np.linspace(0, window, DIVISIONS + 1))
    axes.set_xticklabels([format_round_ns(round(x)) for x in np.linspace(0, window, DIVISIONS + 1)])
    for y, name in ((6.2, "ping"), (2.2, "reply")):
        axes.annotate(
            name, (0.995, y / 8), xycoords="axes fraction", ha="right", color="white", size=10
        )
    axes.set_xlabel(f"time since the ping rose ({format_ns(window / DIVISIONS)} a division)")
    bar = picture.colorbar(picture_of, ax=axes, pad=0.01, fraction=0.04)
    bar.ax.yaxis.set_major_formatter(lambda value, _: count_text(value))
    bar.set_label("balls")
    return picture


def _reply(seen: Persistence) -> NDArray[np.int64]:
    edges = (seen.rises + seen.falls)[: seen.columns]
    return trace(seen.high, edges, seen.balls)
