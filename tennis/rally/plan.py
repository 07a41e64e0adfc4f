"""``plan.json``: the plan of a rally that is being played, by which it can be resumed."""

import json
from pathlib import Path, PurePath
from typing import Annotated, Literal

from pydantic import Field
from pydantic_core import from_json

from tennis.kit.errors import RallyError
from tennis.rally.disk import open_below
from tennis.rally.folder import JOURNAL, PLAN
from tennis.rally.manifest import SCHEMA_VERSION, BenchKind, Protocol, Text
from tennis.rally.settings import Setup

SIZE_MAX = 1 << 20  # bytes

UNKNOWN: Literal["unknown"] = "unknown"  # on a target that is not managed, if nobody named it


class Plan(Setup):
    """The balls to play, and the setting. ``versions`` must still hold at a resumption."""

    schema_version: Literal[1, 2] = 2
    bench: BenchKind
    # of a rally that was played before the load's phase was drawn from all of its cycle
    phase_of_a_second: bool = False
    protocol: Protocol
    recording: Text | None = None  # the rally that the replay bench plays
    speed: Annotated[float, Field(gt=0)] = 1.0  # times as fast as it was played
    operator: Text | None = None
    umpire: bool = False  # a logic analyser looks on
    versions: Annotated[dict[Text, Text], Field(max_length=64, default_factory=dict)]

    @property
    def kernel_name(self) -> str:
        """Return the kernel's name in the rally's manifest, once its versions are known."""
        return self.versions.get("kernel_name") or PurePath(self.kernel).name

    @property
    def text(self) -> str:
        """Return what ``read`` reads in the folder of a rally that is played."""
        return json.dumps(self.model_dump(mode="json"), indent=2) + "\n"

    @classmethod
    def read(cls, part: Path) -> "Plan":
        """Read the plan of a rally that was interrupted. Raises RallyError."""
        path = part / PLAN
        journal = part / JOURNAL
        kept = journal.is_file() and journal.stat().st_size > 0
        hint = (
            f"{journal} still holds the balls: keep {part}, and play the rally again elsewhere"
            if kept
            else f"the rally never began: remove {part} and play it again"
        )
        try:
            with open_below(part, PLAN) as file:
                text = file.read(SIZE_MAX + 1)
            if len(text) > SIZE_MAX:
                raise RallyError(f"{path} is not a plan; {hint}")
            version = from_json(text).get("schema_version")
            if isinstance(version, int) and version > SCHEMA_VERSION:
                raise RallyError(f"{path} was written by a newer tennis", next_step="update tennis")
            return cls.model_validate_json(text)
        except (OSError, ValueError, AttributeError) as error:
            raise RallyError(f"{path} is damaged or missing; {hint}") from error
