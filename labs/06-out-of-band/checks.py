# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lab 6: what can be computed from a student's own rallies."""

import pandas as pd

from tennis.course.checks import check, expect, near, number
from tennis.course.work import Work


@check(question="share", needs=["check_answered[share]", "check_rally[rt-hog]"])
def check_share(work: Work) -> None:
    """The share is that of your own rally, to 5 percent.

    Hint: the notebook counts balls above some limits; by hand, count `rise_ticks`.
    """
    rally = work.rallies["rt-hog"]
    balls = pd.read_parquet(rally.path / "balls.parquet")
    rise_us = balls["rise_ticks"].dropna() * 1e6 / rally.tick_hz
    limit_us = float(str(work.lab.parameters["limit_us"]))
    right = 100 * float((rise_us > limit_us).mean())
    value = number(work, "share")
    expect(near(value, right, 5), f"{value:g} %: your rally says otherwise")
