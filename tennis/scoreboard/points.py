# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""All balls of a sealed rally as points, and the picture of those in a window.

Ten million points are drawn by datashader: each pixel says how many balls are in it. A ball without
an answer has no latency; it is drawn at the upper edge, and counted.
"""

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis import style
from tennis.errors import RallyError
from tennis.rally import open_rally
from tennis.rally.folder import Rally
from tennis.units import NS_PER_S

POINTS_MAX = 30_000_000  # balls: some 20 bytes each are held
DRAWN_MAX = 4  # pictures that are kept
SINGLE_MAX = 2000  # balls that are drawn one by one
LATENCIES = {"interrupt": "to the reply's rise", "scheduling": "from its rise to its fall"}


@dataclass(frozen=True)
class Window:
    """A part of the picture: seconds since the first ball, nanoseconds of latency."""

    from_s: float
    to_s: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class DrawnWindow:
    """What is in a window."""

    image: NDArray[np.uint32]  # RGBA, shape (height, width)
    balls: int  # answered ones within the window
    misses: int  # between its left and its right edge
    single: NDArray[np.int64]  # their numbers, where they are few; else empty
    latest: int | None  # the ball with the highest latency in the window


class Points:
    """A rally's balls: ``served_s`` since the first one, latencies in ns (NaN: no answer)."""

    def __init__(self, path: Path) -> None:
        """Read a sealed rally. Raises RallyError where it is damaged, too large, or a drill's."""
        self.rally: Rally = open_rally(path)
        if self.rally.balls > POINTS_MAX:
            raise RallyError(
                f"{path} has {self.rally.balls:,} balls: the explorer draws {POINTS_MAX:,}"
            )
        if not self.rally.balls:
            raise RallyError(f"{path} has no ball")
        served = np.empty(self.rally.balls, np.int64)
        found = {name: np.empty(self.rally.balls, np.float32) for name in LATENCIES}
        at = 0
        tick_ns = NS_PER_S / self.rally.tick_hz
        for batch in self.rally.batches(["served_ns", "rise_ticks", "fall_ticks"]):
            end = at + batch.num_rows
            served[at:end] = batch.column("served_ns").to_numpy()
            rise, fall = (
                batch.column(name).to_numpy(zero_copy_only=False).astype(np.float64) * tick_ns
                for name in ("rise_ticks", "fall_ticks")
            )
            found["interrupt"][at:end] = rise
            found["scheduling"][at:end] = fall - rise
            at = end
        self.served_s = (served - served[0]) / NS_PER_S
        self.latency_ns = found
        self._missed = np.isnan(found["scheduling"])
        self._drawn: OrderedDict[tuple[Window, str, tuple[int, int]], DrawnWindow] = OrderedDict()

    def whole(self, latency: str) -> Window:
        """Return the window that holds every ball."""
        values = self.latency_ns[latency]
        answered = values[~np.isnan(values)]
        low = float(max(1.0, answered.min() / 1.5)) if answered.size else 100.0
        high = float(answered.max() * 2) if answered.size else 1e6
        last = float(self.served_s[-1])
        margin = max(last / 200, 1e-6)
        return Window(-margin, last + margin, low, max(high, low * 2))

    def around(self, ball: int, latency: str, others: int = 200) -> Window:
        """Return a window with a ball and some before and behind it."""
        first, last = max(0, ball - others), min(self.served_s.size - 1, ball + others)
        whole = self.whole(latency)
        margin = max(float(self.served_s[last] - self.served_s[first]) / 50, 1e-6)
        return Window(
            float(self.served_s[first]) - margin,
            float(self.served_s[last]) + margin,
            whole.low_ns,
            whole.high_ns,
        )

    def draw(self, window: Window, latency: str, size: tuple[int, int]) -> DrawnWindow:
        """Draw what is in a window; ``size``: width and height in pixels.

        Who asks for the same gets the same arrays: browsers that show all balls share one picture.
        """
        asked = (window, latency, size)
        if asked not in self._drawn:
            self._drawn[asked] = self._draw(*asked)
        self._drawn.move_to_end(asked)
        while len(self._drawn) > DRAWN_MAX:
            self._drawn.popitem(last=False)
        return self._drawn[asked]

    def _draw(self, window: Window, latency: str, size: tuple[int, int]) -> DrawnWindow:
        # a second and a half of processor time: not before somebody looks at a rally's balls
        import datashader  # noqa: PLC0415
        import pandas as pd  # noqa: PLC0415
        from datashader import transfer_functions  # noqa: PLC0415
        from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

        first = int(np.searchsorted(self.served_s, window.from_s, side="left"))
        end = int(np.searchsorted(self.served_s, window.to_s, side="right"))
        values = self.latency_ns[latency][first:end]
        inside = (values >= window.low_ns) & (values <= window.high_ns)
        balls = int(inside.sum())
        missed = self._missed[first:end]
        frame = pd.DataFrame({"s": self.served_s[first:end], "ns": values})
        canvas = datashader.Canvas(
            plot_width=size[0],
            plot_height=size[1],
            x_range=(window.from_s, window.to_s),
            y_range=(window.low_ns, window.high_ns),
            y_axis_type="log",
        )
        counted = canvas.points(frame, "s", "ns", datashader.count())
        shade = LinearSegmentedColormap.from_list("balls", ["#6aa7d0", style.BLUE, "#001d33"])
        most = max(2, int(counted.max()))
        image = transfer_functions.shade(
            counted, cmap=shade, how="log", min_alpha=255, span=(1, most)
        )
        # a lonely ball is the one that people look for: no pixel stays alone
        image = transfer_functions.spread(image, px=1)
        single = np.flatnonzero(inside) + first if balls <= SINGLE_MAX else np.zeros(0, np.int64)
        latest = None
        if balls:
            latest = first + int(np.where(inside, values, -1).argmax())
        return DrawnWindow(image.to_numpy(), balls, int(missed.sum()), single, latest)

    def missed(self, window: Window, limit: int) -> NDArray[np.int64]:
        """Return the numbers of missed balls between the edges, ``limit`` of them at most."""
        first = int(np.searchsorted(self.served_s, window.from_s, side="left"))
        end = int(np.searchsorted(self.served_s, window.to_s, side="right"))
        return (np.flatnonzero(self._missed[first:end]) + first)[:limit]
