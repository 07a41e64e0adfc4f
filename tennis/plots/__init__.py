# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Pictures of rallies: figures for people, with words for those who cannot see them."""

from tennis.plots.compare import comparison, overview
from tennis.plots.one import KINDS, distribution, histogram, series
from tennis.plots.picture import Picture, alt_text

__all__ = [
    "KINDS",
    "Picture",
    "alt_text",
    "comparison",
    "distribution",
    "histogram",
    "overview",
    "series",
]
