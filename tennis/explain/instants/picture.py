# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The coverage of a rally of shots, with the instants that a search played beside it."""

from tennis.explain.instants import storage
from tennis.plots.coverage import coverage
from tennis.plots.picture import Picture
from tennis.rally import Rally
from tennis.rally.shots import are_shots


def with_search(rally: Rally) -> Picture | None:
    """Draw a rally's shots over their instants, and those of a search, if there was one.

    None: its balls are no shots, and nobody searched.
    """
    searched = storage.read(rally)
    if searched is None:
        return coverage(rally) if are_shots(rally.manifest.protocol) else None
    return coverage(rally, searched.rows[:, :2])
