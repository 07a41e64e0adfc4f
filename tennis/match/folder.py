"""A match folder: ``match.json``, a folder for each rally, ``report.html``.

It may come from somebody else: names are bounded and never leave the folder, every rally is checked
as a rally is, and must be the one that ``match.json`` lists.
"""

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import ConfigDict, Field

from tennis.kit.errors import RallyError
from tennis.kit.share import free_memory_bytes
from tennis.match.plan import RALLIES_MAX, MatchPlan, Name, NotPlayed, ScheduledRally, repeated
from tennis.rally import Rally, open_rally, part_path
from tennis.rally.copies import Copies
from tennis.rally.disk import write_whole
from tennis.rally.inside import read_inside
from tennis.rally.manifest import TIMELESS, BenchKind, StrictModel, Text
from tennis.rally.opening import open_folder
from tennis.rally.record_file import RecordFile
from tennis.rally.settings import differences, served_otherwise
from tennis.rally.text import plain

SCHEMA_VERSION = 1  # of a match's record, and of a sweep's
# All rallies of a match may be open at once: this many different latencies fit into 1 GB; a machine
# with more memory takes more. 7,500 rallies of 20,000 balls have some ten million.
MAX_DISTINCT = 1 << 23
BYTES_OF_DISTINCT = 128
MATCH = "match.json"
REPORT = "report.html"
SIZE_MAX = 1 << 26  # bytes


# what match.json calls them
_FIXTURES = Field(
    max_length=RALLIES_MAX, validation_alias="fixtures", serialization_alias="fixtures"
)


AnyRecord = TypeVar("AnyRecord", bound=StrictModel)


def read_record(path: Path, model: type[AnyRecord], what: str, size_max: int) -> AnyRecord:
    """Read the record of a folder of several rallies; ``what`` is also the command's name.

    Raises RallyError, one line that says what is wrong: the folder may come from somebody else.
    """
    file = RecordFile(path, what, SCHEMA_VERSION, size_max)
    try:
        text = file.read()
    except FileNotFoundError as error:
        raise RallyError(
            f"{path.parent} holds no {path.name}",
            next_step=f"name the folder that `tennis {what} --out` wrote",
        ) from error
    file.content(text)
    return file.checked(model, text)


class MatchRecord(StrictModel):
    """All of ``match.json``."""

    model_config = ConfigDict(populate_by_name=True)

    schema_version: Literal[1]
    bench: BenchKind
    time_note: Text
    created: Text  # ISO 8601, wall clock
    tennis: Text
    plan: MatchPlan
    plan_file: Text | None = None  # as the command named it
    # in the order of playing
    scheduled: Annotated[list[ScheduledRally], _FIXTURES]
    not_played: Annotated[list[NotPlayed], Field(max_length=RALLIES_MAX)]
    troubles: Annotated[dict[Name, Text], Field(max_length=RALLIES_MAX)]  # rallies without balls

    def write(self, folder: Path) -> None:
        """Write ``match.json``, whole or not at all. Raises DiskFullError, RallyError."""
        text = json.dumps(self.model_dump(mode="json", by_alias=True), indent=1) + "\n"
        write_whole(folder / MATCH, text.encode(), force=True)

    @classmethod
    def read(cls, folder: Path) -> "MatchRecord":
        """Read ``match.json``. Raises RallyError, one line that says what is wrong."""
        record = read_record(folder / MATCH, cls, "match", SIZE_MAX)
        if twice := repeated(record.scheduled, str(folder / MATCH)):
            raise RallyError(twice, next_step="use the original folder")
        return record


@dataclass
class MatchFolder:
    """A match that was played, or a part of it; rallies are opened once, when they are needed."""

    path: Path
    record: MatchRecord
    _rallies: dict[str, Rally | str] = field(default_factory=dict)  # or why it cannot be used
    _distinct: int = 0  # latencies of those that are open
    _copies: Copies = field(default_factory=Copies)

    @property
    def bench(self) -> str:
        """Return the kind of bench."""
        return self.record.bench

    @property
    def time_note(self) -> str:
        """Return the meaning of a nanosecond."""
        return plain(self.record.time_note)

    @property
    def scheduled(self) -> list[ScheduledRally]:
        """Return the rallies of the match in the order of playing."""
        return self.record.scheduled

    @property
    def not_played(self) -> list[NotPlayed]:
        """Return the rallies that were left out."""
        return self.record.not_played

    def rally(self, name: str) -> Rally | None:
        """Return a rally; None if it cannot be used: ``trouble`` says why."""
        if name not in self._rallies:
            planned = next(entry for entry in self.scheduled if entry.name == name)
            self._rallies[name] = self._open(planned)
        listed = self._rallies[name]
        return listed if isinstance(listed, Rally) else None

    def rallies(self) -> list[Rally]:
        """Return the rallies that are there and can be used, in the order of playing."""
        return self._there(drills=False)

    def drills(self) -> list[Rally]:
        """Return the drills that are there and can be used, in the order of playing."""
        return self._there(drills=True)

    def _there(self, *, drills: bool) -> list[Rally]:
        wanted = [entry for entry in self.scheduled if (entry.plan.drill is not None) == drills]
        return [rally for entry in wanted if (rally := self.rally(entry.name))]

    def trouble(self, name: str) -> str:
        """Say why there is no such rally; empty if there is one."""
        self.rally(name)
        entry = self._rallies[name]
        return entry if isinstance(entry, str) else ""

    def damaged(self) -> dict[str, str]:
        """Return the rallies that are there and cannot be used, and why."""
        return {
            entry.name: self.trouble(entry.name)
            for entry in self.scheduled
            if (self.path / entry.name).exists() and self.rally(entry.name) is None
        }

    def _open(self, planned: ScheduledRally) -> Rally | str:
        folder = self.path / planned.name
        if folder.is_symlink():
            return "is a link to somewhere else, not a rally of this match"
        if not folder.exists():
            if planned.name in self.record.troubles:
                return f"failed: {plain(self.record.troubles[planned.name], 200)}"
            return "is begun" if part_path(folder).exists() else "is not played yet"
        try:
            rally = open_folder(folder) if planned.plan.drill else open_rally(folder)
            if planned.plan.drill and rally.manifest.drill:
                read_inside(rally)  # what the target measured may be damaged, too
            return self._unfit(rally, planned) or rally
        except RallyError as error:
            return f"cannot be used: {plain(str(error), 200)}"

    def _unfit(self, rally: Rally, planned: ScheduledRally) -> str:
        """Say why a sound rally is not of this match; empty if it is. Raises RallyError."""
        self._distinct += rally.interrupt.values.size + rally.scheduling.values.size
        most = _distinct_max()
        if self._distinct > most:
            return (
                f"is one too many: the rallies have over {most:,} different latencies, for which "
                "there is no memory here"
            )
        difference = another(rally, planned)
        if not difference and rally.manifest.bench != self.record.bench:
            difference = f"bench {rally.manifest.bench}"
        if difference:
            return f"is not the rally that {MATCH} lists ({difference})"
        loads = {entry.plan.load for entry in self.scheduled}
        if len(loads) > 1 and rally.manifest.target.is_link_unknown:
            return (
                "does not say whether the link to its GPIO controller slept between balls, so "
                "that an idle rally does not compare with a loaded one"
            )
        return self._copies.original_of(rally)


def another(rally: Rally, planned: ScheduledRally) -> str:
    """Say in what a rally differs from what a match lists; empty if it does not."""
    manifest, plan = rally.manifest, planned.plan
    for row, is_so, should_be in differences(manifest, plan):
        # without a request, a board may have put the interrupt on its isolated processor
        placed = "placed by a board" in row.traits and manifest.bench not in TIMELESS
        if placed and should_be is None:
            continue
        return f"{row.words} {plain(str(is_so), 60)}"
    for name, is_so, _ in served_otherwise(manifest.protocol, plan.protocol):
        return f"protocol {name} {plain(str(is_so), 60)}"
    return ""


@functools.cache
def _distinct_max() -> int:
    """Return how many different latencies may be open: half of the memory that is free, or 1 GB."""
    return max(MAX_DISTINCT, (free_memory_bytes() or 0) // 2 // BYTES_OF_DISTINCT)


def open_match(path: Path) -> MatchFolder:
    """Open a match folder. Raises RallyError if ``match.json`` is not right."""
    if not path.is_dir():
        raise RallyError(
            f"{path} is not a folder", next_step="name the one that `tennis match --out` wrote"
        )
    return MatchFolder(path, MatchRecord.read(path))
