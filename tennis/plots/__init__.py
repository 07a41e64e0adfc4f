# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Pictures of rallies: figures for people, with words for those who cannot see them."""

from tennis.plots.home import give_home

give_home()  # before matplotlib is imported

from tennis.plots.compare import comparison, overview  # noqa: E402
from tennis.plots.one import distribution, histogram, series  # noqa: E402
from tennis.plots.picture import Picture, alt_text  # noqa: E402

__all__ = [
    "Picture",
    "alt_text",
    "comparison",
    "distribution",
    "histogram",
    "overview",
    "series",
]
