"""A figure that knows its words, says its bench, and gives the same bytes for the same rally."""

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from html import escape
from typing import Any, Literal, ParamSpec, TypeVar, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import (
    Formatter,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from tennis.kit.style import AXIS, BLACK, GREY, GRID, PICTURE_FONT
from tennis.kit.units import format_round_ns

Format = Literal["svg", "png"]
P = ParamSpec("P")
Drawn = TypeVar("Drawn", bound="Picture | None")  # None: it does not apply

# text on a line or a bar stays readable
ON_LINES = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": AXIS,
    "axes.grid": True,
    "axes.labelcolor": BLACK,
    "axes.labelsize": 9.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": PICTURE_FONT,
    "font.size": 9.5,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 1.7,
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "tennis",
    "text.color": BLACK,
    "text.parse_math": False,  # names of rallies are names, never formulas
    "xtick.color": GREY,
    "xtick.labelsize": 9,
    "ytick.color": GREY,
    "ytick.labelsize": 9,
}


@contextlib.contextmanager
def _style() -> Iterator[None]:
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(cast("Any", STYLE))
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


class Picture(Figure):
    """A figure with a ``title`` and with ``alt``: the words that state its numbers."""

    def __init__(self, width: float, height: float, title: str, alt: str) -> None:
        super().__init__(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self)
        self.title = title
        self.alt = alt

    def head(self, note: str) -> None:
        """Write the title, and below it the note: the bench, N, misses, faults."""
        height = self.get_size_inches()[1]
        size = max(7.0, 12.5 * min(1.0, 80 / len(self.title)))
        engine = self.get_layout_engine()
        assert isinstance(engine, ConstrainedLayoutEngine)  # noqa: S101
        engine.set(rect=(0.008, 0.0, 0.984, 1 - 0.52 / height), w_pad=0.06, h_pad=0.05)
        self.text(0.014, 1 - 0.08 / height, self.title, va="top", size=size, weight="bold")
        self.text(0.014, 1 - 0.31 / height, note, va="top", size=9, color=GREY)

    def render(self, kind: Format) -> bytes:
        """Return the picture as an SVG or PNG file; the same picture gives the same bytes."""
        data = io.BytesIO()
        with _style():
            if kind == "png":
                metadata = {"Title": self.title, "Description": self.alt, "Software": None}
                self.savefig(data, format="png", dpi=150, metadata=metadata)
                return data.getvalue()
            self.savefig(data, format="svg", metadata={"Date": None, "Creator": "tennis"})
        return _with_title(data.getvalue().decode(), self.title, self.alt).encode()


def _with_title(svg: str, title: str, alt: str) -> str:
    """Add a title and a description, and say that the SVG is one picture."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]
    start = svg.index("<svg")
    end = svg.index(">", start)
    attributes = f' role="img" aria-labelledby="{name}-title {name}-desc"'
    label = (
        f'\n <title id="{name}-title">{escape(title)}</title>'
        f'\n <desc id="{name}-desc">{escape(alt)}</desc>'
    )
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return head + svg[start:end] + attributes + ">" + label + _clips_by_number(svg[end + 1 :])


def _clips_by_number(svg: str) -> str:
    """Name clip paths by their order: matplotlib takes the address of some in memory."""
    names = dict.fromkeys(re.findall(r'<clipPath id="(p[0-9a-f]+)"', svg))
    numbers = {name: f"clip-{number}" for number, name in enumerate(names, 1)}
    return re.sub(
        r'(id="|url\(#)(p[0-9a-f]+)(?=[")])',
        lambda found: found[1] + numbers.get(found[2], found[2]),
        svg,
    )


def house_style(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Make a function draw in the house's style, and leave matplotlib as it was."""

    @wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        with _style():
            return draw(*args, **kwargs)

    return styled


def count_text(count: float) -> str:
    """Write a large count in little space: ``300``, ``20k``, ``10M``."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:g}{letter}"
    return f"{count:g}"


def _formatter(write: Callable[[float], str]) -> Formatter:
    return FuncFormatter(lambda value, _: write(value))


def time_axis(axes: Axes, which: Literal["x", "y"], *, log: bool) -> None:
    """Label an axis of nanoseconds with times; logarithmic or linear."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if log:
        axes.set(**{f"{which}scale": "log"})
        axis.set_major_locator(LogLocator(10))
        low, high = sorted(axes.get_xlim() if which == "x" else axes.get_ylim())
        if np.log10(high / low) < 1.6:
            axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter(_formatter(format_round_ns))


def count_axis(axes: Axes) -> None:
    """Make the y axis logarithmic counts."""
    _log_axis(axes, count_text, LogLocator(10))


def _log_axis(axes: Axes, write: Callable[[float], str], marks: LogLocator) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(marks)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(_formatter(write))


def _share_text(share: float) -> str:
    """Write a share: ``1``, ``0.01``, ``1e-3``, ``1e-6``."""
    return f"{share:g}" if share >= 1e-2 else f"{share:.0e}".replace("e-0", "e-")


def share_axis(axes: Axes) -> None:
    """Make the y axis logarithmic shares of all balls."""
    _log_axis(axes, _share_text, LogLocator(10, numticks=12))
