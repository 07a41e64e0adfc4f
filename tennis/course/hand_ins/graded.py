# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What is known of one file that was handed in."""

import hashlib
from datetime import datetime

from pydantic import BaseModel

from tennis.course.checking import running as checking

NOTEBOOK = "check_notebook"


class Graded(BaseModel):
    """What is known of one file that was handed in."""

    file: str
    sha256: str
    checks_sha256: str
    student: str
    handed_in: datetime | None = None  # the file's time, by the machine that marks
    refused: str = ""  # why it is no hand-in
    later: str = ""  # why this machine could not check it: the same command tries again
    notes: list[str] = []
    report: checking.Report | None = None

    @property
    def key(self) -> str:
        """Return what names files about it: two files may hold the same."""
        return key(self.sha256, self.file)

    @property
    def unplayed(self) -> bool:
        """Tell whether nothing was played here: its numbers rest on what was handed in."""
        # the one check that is left out with the plays, and with nothing else
        return any(one.check == NOTEBOOK and one.verdict == "not run" for one in self.results)

    @property
    def waits(self) -> list[str]:
        """Return what this machine could not check, in words; empty: it checked all."""
        if self.later:
            return [self.later]
        return [f"{checking.title(one)}: {one.message}" for one in self.results if one.later]

    @property
    def results(self) -> list[checking.Result]:
        """Return what each check said."""
        return self.report.results if self.report else []


def key(sha256: str, file: str) -> str:
    """Return a name of which nothing is a student's own words."""
    return f"{sha256[:16]}-{hashlib.sha256(file.encode()).hexdigest()[:8]}"
