# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The picture of a rally's distribution, with that of every instant in it."""

from tennis.explain.sections import storage
from tennis.explain.sections.summary import curve, summarize_sections
from tennis.plots import distribution
from tennis.plots.one import Curve
from tennis.plots.picture import Picture
from tennis.rally import Rally
from tennis.stats.summary import percent
from tennis.units import format_ns


def with_sections(rally: Rally) -> Picture:
    """Draw a rally's distribution; that of every instant with it, where it was recorded."""
    sections = storage.read(rally)
    if sections is None:
        return distribution(rally)
    over_ns, share = curve(sections)
    left = summarize_sections(sections, None).not_sure
    which = f"the instants predicted ({percent(1 - left)})" if left > 0.005 else "every instant"
    label = f"interrupt latency at {which}, worst {format_ns(int(over_ns[-1]))}"
    return distribution(rally, Curve(over_ns, share, label))
