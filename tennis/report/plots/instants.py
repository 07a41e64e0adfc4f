# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The coverage of a rally of shots, with the instants that a search played beside it."""

from tennis.rally import Rally
from tennis.rally import instants as storage
from tennis.rally.shots import are_shots
from tennis.report.plots.coverage import coverage
from tennis.report.plots.picture import Picture


def with_search(rally: Rally) -> Picture | None:
    """Draw a rally's shots over their instants, and those of a search, if there was one.

    None: its balls are no shots, and nobody searched.
    """
    searched = storage.read(rally)
    if searched is None:
        return coverage(rally) if are_shots(rally.manifest.protocol) else None
    return coverage(rally, searched.rows[:, :2])
