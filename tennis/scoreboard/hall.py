# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What lies in folders: rallies that are being played, matches and what waits in them, sealed ones.

Folders are those of students: nothing is followed through links, everything is bounded, and what is
wrong with one folder is a line of its own.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tennis.errors import RallyError, UsageError
from tennis.match.folder import MATCH, MatchRecord
from tennis.rally.folder import MANIFEST, PLAN, Rally
from tennis.rally.manifest import Manifest
from tennis.rally.opening import read_manifest
from tennis.rally.tally import Tally
from tennis.scoreboard.following import Playing

DEPTH_MAX = 4  # folders below those that are named
FOLDERS_MAX = 50_000
SEALED_MAX = 40  # the newest ones, which are read and shown
PART = ".part"
GONE_S = 600  # a rally that long without a ball is no longer being played


@dataclass(frozen=True)
class Sealed:
    """A rally that is over."""

    name: str  # its path below what was named
    path: Path
    sealed: float  # seconds since 1970
    manifest: Manifest

    @property
    def label(self) -> str:
        """Return the rally in a few words."""
        nothing = Tally.joined([])
        return Rally(self.path, self.manifest, nothing, nothing).label

    @property
    def trouble(self) -> str:
        """Return what went wrong; empty where nothing did."""
        if self.manifest.faults:
            return self.manifest.faults[0].message
        return "suspect" if self.manifest.suspect else ""


@dataclass(frozen=True)
class Queue:
    """A match and what waits in it."""

    name: str
    title: str
    scheduled: int
    there: int
    playing: int
    troubles: dict[str, str]

    @property
    def waiting(self) -> int:
        """Return how many rallies nobody has begun."""
        return max(0, self.scheduled - self.there - self.playing)


@dataclass
class Score:
    """What there is at one moment."""

    read_at: float = 0.0  # seconds since 1970
    playing: dict[str, Playing] = field(default_factory=dict)
    sealed: list[Sealed] = field(default_factory=list)  # newest first
    sealed_in_all: int = 0
    queues: list[Queue] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


class Hall:
    """Some folders, looked at again and again by one thread."""

    def __init__(self, places: list[Path]) -> None:
        """Raise UsageError where a place is no folder."""
        for place in places:
            if not place.is_dir():
                raise UsageError(f"{place} is not a folder", next_step="name where rallies are put")
        self._places = [place.resolve() for place in places]
        self._playing: dict[str, Playing] = {}
        self._places_of_sealed: dict[str, tuple[float, Path]] = {}
        self._manifests: dict[tuple[Path, float], Manifest | str] = {}
        self._records: dict[tuple[Path, float, int], MatchRecord | str] = {}
        self.score = Score()

    def scan(self) -> None:
        """Read everything once; ``score`` is the new one then."""
        now = time.monotonic()
        score = Score(read_at=time.time())
        found: dict[str, list[tuple[str, Path]]] = {PLAN: [], MANIFEST: [], MATCH: []}
        for name, path, kind in self._folders(score):
            found[kind].append((name, path))
        self._follow(found[PLAN], now, score)
        self._read_sealed(found[MANIFEST], score)
        self._read_matches(found[MATCH], score)
        self.score = score

    def sealed(self, name: str) -> Sealed | None:
        """Return a rally of the last scan, also an old one; None where none has that name.

        Raises RallyError where its manifest is damaged.
        """
        if name not in self._places_of_sealed:
            return None
        when, path = self._places_of_sealed[name]
        return Sealed(name, path, when, read_manifest(path))

    def _folders(self, score: Score) -> Iterator[tuple[str, Path, str]]:
        """Yield name, folder, and which file says what the folder is."""
        seen = 0
        waiting = [(place, "", 0) for place in reversed(self._places)]
        while waiting:
            path, name, depth = waiting.pop()
            try:
                with os.scandir(path) as entries:
                    there = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                score.troubles.append(f"{path} cannot be read ({error.strerror})")
                continue
            seen += 1
            if seen > FOLDERS_MAX:
                score.troubles.append(
                    f"more than {FOLDERS_MAX:,} folders: the others are not shown"
                )
                return
            files = {entry.name for entry in there if entry.is_file(follow_symlinks=False)}
            shown = name or path.name
            if path.name.endswith(PART):
                if PLAN in files:
                    yield shown.removesuffix(PART), path, PLAN
                continue
            if MANIFEST in files:
                yield shown, path, MANIFEST
                continue
            if MATCH in files:
                yield shown, path, MATCH
            if depth < DEPTH_MAX:
                prefix = f"{name}/" if name else (f"{path.name}/" if len(self._places) > 1 else "")
                waiting += [
                    (Path(entry.path), prefix + entry.name, depth + 1)
                    for entry in reversed(there)
                    if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
                ]

    def _follow(self, parts: list[tuple[str, Path]], now: float, score: Score) -> None:
        for name, part in parts:
            known = self._playing.get(name)
            playing = known if known and known.part == part else Playing(part, now)
            playing.poll(now)
            score.playing[name] = playing
        self._playing = score.playing

    def _read_sealed(self, sealed: list[tuple[str, Path]], score: Score) -> None:
        dated = []
        for name, path in sealed:
            with contextlib.suppress(OSError):  # moved away meanwhile
                dated.append(((path / MANIFEST).lstat().st_mtime, name, path))
        dated.sort(key=lambda entry: (-entry[0], entry[1]))
        score.sealed_in_all = len(dated)
        self._places_of_sealed = {name: (when, path) for when, name, path in dated}
        kept = {}
        for when, name, path in dated[:SEALED_MAX]:
            key = (path, when)
            manifest = kept[key] = self._manifests.get(key) or _manifest(path)
            if isinstance(manifest, str):
                score.troubles.append(f"{name}: {manifest}")
            else:
                score.sealed.append(Sealed(name, path, when, manifest))
        self._manifests = kept

    def _read_matches(self, matches: list[tuple[str, Path]], score: Score) -> None:
        kept = {}
        for name, path in matches:
            try:
                status = (path / MATCH).lstat()
                folders = {entry.name for entry in path.iterdir()}
            except OSError:  # moved away meanwhile
                continue
            key = (path, status.st_mtime, status.st_size)
            record = kept[key] = self._records.get(key) or _record(path)
            if isinstance(record, str):
                score.troubles.append(f"{name}: {record}")
                continue
            names = [planned.name for planned in record.scheduled]
            there = sum(entry in folders for entry in names)
            playing = sum(entry not in folders and entry + PART in folders for entry in names)
            troubles = {key: why for key, why in record.troubles.items() if key not in folders}
            score.queues.append(
                Queue(name, record.plan.title, len(names), there, playing, troubles)
            )
        self._records = kept


def _manifest(path: Path) -> Manifest | str:
    try:
        return read_manifest(path)
    except RallyError as error:
        return str(error)


def _record(path: Path) -> MatchRecord | str:
    try:
        return MatchRecord.read(path)
    except RallyError as error:
        return str(error)
