# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``plan.json``: what a rally that is being played was asked to be, so that it can be resumed."""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from tennis.errors import RallyError
from tennis.rally.disk import sync, writing
from tennis.rally.folder import PLAN
from tennis.rally.manifest import BenchKind, Part, Protocol, Text

BottomHalf = Literal["tasklet", "thread", "workqueue", "user"]
Priorities = Literal["default", "chrt"]


class Plan(Part):
    """What to play. ``versions`` must still hold when the rally is resumed."""

    schema_version: Literal[1] = 1
    bench: BenchKind
    kernel: Text
    load: Text
    load_options: Annotated[dict[Text, int], Field(max_length=64, default_factory=dict)]
    bottom_half: BottomHalf
    priorities: Priorities
    protocol: Protocol
    operator: Text | None = None
    versions: Annotated[dict[Text, Text], Field(max_length=64, default_factory=dict)]

    def write(self, part: Path) -> None:
        """Write the plan into the folder of a rally that is about to be played."""
        with writing(part / PLAN):
            (part / PLAN).write_text(json.dumps(self.model_dump(mode="json"), indent=2) + "\n")
            sync(part / PLAN)

    @classmethod
    def read(cls, part: Path) -> "Plan":
        """Read the plan of a rally that was interrupted. Raises RallyError."""
        try:
            return cls.model_validate_json((part / PLAN).read_bytes())
        except (OSError, ValidationError) as error:
            raise RallyError(
                f"{part / PLAN} cannot be read: the rally never began; "
                f"remove {part} and play it anew"
            ) from error
