# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The coverage of a rally of shots, with what was recorded and searched beside it."""

import numpy as np

from tennis.explain.instants import storage as instants
from tennis.explain.sections import storage as sections
from tennis.plots.coverage import Beside, coverage
from tennis.plots.picture import Picture
from tennis.rally import Rally
from tennis.rally.shots import are_shots


def with_all_beside(rally: Rally) -> Picture | None:
    """Draw a rally's shots over their instants; sections and the instants of a search, if known.

    None: its balls are no shots, and nobody searched.
    """
    beside = Beside()
    recorded, searched = sections.read(rally), instants.read(rally)
    if searched is None and not are_shots(rally.manifest.protocol):
        return None
    if recorded is not None:
        ends = ("masked_from_ns", "masked_until_ns")
        masked = np.stack([recorded.longest.column(name).to_numpy() for name in ends], axis=1)
        beside = Beside(masked=masked)
    if searched is not None:
        beside = Beside(masked=beside.masked, searched=searched.rows[:, :2])
    return coverage(rally, beside)
