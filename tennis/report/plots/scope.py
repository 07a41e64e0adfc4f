# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The screen of an oscilloscope: its grid, and balls over each other."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

# few balls violet, many red, as on Koeker's oscilloscope
COLOURS = "rainbow"
TRACE = 10  # rows of pixels between low and high


def scope_grid(axes: Axes) -> None:
    """Make axes the screen of an oscilloscope."""
    axes.set_facecolor("#101418")
    axes.grid(True, color="#3a424a", lw=0.6)
    axes.set_yticks(range(9))
    axes.set_yticklabels([])
    axes.tick_params(length=0)


def trace(high: NDArray[np.int64], edges: NDArray[np.int64], balls: int) -> NDArray[np.int64]:
    """Return counts (rows, columns): low at the bottom, high at the top, edges between them."""
    image = np.tile(edges, (TRACE, 1))
    image[0] = np.maximum(balls - high, edges)
    image[1] = image[0]
    image[-1] = np.maximum(high, edges)
    image[-2] = image[-1]
    return image
