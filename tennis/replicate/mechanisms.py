# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What made the latest balls of a match late: kept beside it, so that verdicts can name it.

``tennis.play.mechanisms`` finds it out by playing these rallies again.
"""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tennis.rally.disk import write_whole
from tennis.rally.manifest import Count, StrictModel, Text
from tennis.rally.record_file import RecordFile

FILE = "mechanisms.json"
SIZE_MAX = 1 << 22  # bytes


class Mechanism(StrictModel):
    """The latest ball of a side under a load, and why it was late."""

    rally: Text  # the name of its folder
    ball: Count
    ns: Count | None  # None: no answer
    sentence: Text


class Mechanisms(StrictModel):
    """All of ``mechanisms.json``; the keys are those of ``Sample.name``."""

    schema_version: Literal[1] = 1
    cells: Annotated[dict[Text, Mechanism], Field(max_length=4096, default_factory=dict)]

    def write(self, match: Path) -> None:
        """Write the file, whole or not at all."""
        text = json.dumps(self.model_dump(mode="json"), indent=1) + "\n"
        write_whole(match / FILE, text.encode(), force=True)

    def with_todays_names(self) -> "Mechanisms":
        """Return the same with ``forced`` for what was called ``threaded`` first."""
        return Mechanisms(
            cells={name.replace("/threaded/", "/forced/"): one for name, one in self.cells.items()}
        )

    @classmethod
    def read(cls, match: Path) -> "Mechanisms":
        """Read the file; where there is none, nothing is known. Raises RallyError."""
        again = "remove it, and explain again"
        file = RecordFile(match / FILE, "list of mechanisms", 1, SIZE_MAX, again)
        try:
            text = file.read()
        except FileNotFoundError:
            return cls(cells={})
        file.content(text)
        return file.checked(cls, text).with_todays_names()
