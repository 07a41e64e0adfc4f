"""A sweep's folder: ``sweep.json``, and a rally's folder for each rate.

It may come from somebody else: names are the rates, every rally is checked as a rally is, and must
be the one that the sweep asked for.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tennis.kit.errors import RallyError
from tennis.match.folder import another, read_record
from tennis.match.plan import ScheduledRally
from tennis.match.sweep.search import RATES_MAX, Breaking, Range
from tennis.rally import open_rally
from tennis.rally.disk import write_whole
from tennis.rally.manifest import THREADED, BenchKind, StrictModel, Text
from tennis.rally.plan import Plan
from tennis.rally.settings import in_brief
from tennis.rally.statistics.pairing import Pairing, pairing
from tennis.rally.text import plain

SWEEP = "sweep.json"
SIZE_MAX = 1 << 20  # bytes
# a label begins with them, in its own words
NAMED_FIRST = {"kernel", "load", "bottom_half", "priorities", "top_half", "command_line"}
_NAME = re.compile(r"([1-9][0-9]{0,5})-hz")


class SweepRecord(StrictModel):
    """All of ``sweep.json``."""

    schema_version: Literal[1] = 1
    tennis: Text
    created: Text  # ISO 8601, wall clock
    bench: BenchKind
    time_note: Text
    range: Range
    plan: Plan  # of each rally, without its rate

    def at(self, rate_hz: int) -> ScheduledRally:
        """Return the rally of a rate."""
        # the next ball does not wait: an answer later than that would be taken for its answer
        timeout_ns = min(self.plan.protocol.timeout_ns, round(1e9 / rate_hz))
        changed = {"rate_hz": float(rate_hz), "timeout_ns": timeout_ns}
        protocol = self.plan.protocol.model_copy(update=changed)
        return ScheduledRally(
            name=f"{rate_hz}-hz",
            kernel=self.plan.kernel_name,
            repetition=1,
            plan=self.plan.model_copy(update={"protocol": protocol}),
        )

    def write(self, folder: Path) -> None:
        """Write ``sweep.json``, whole or not at all. Raises DiskFullError, RallyError."""
        text = json.dumps(self.model_dump(mode="json"), indent=1) + "\n"
        write_whole(folder / SWEEP, text.encode(), force=True)

    @classmethod
    def read(cls, folder: Path) -> "SweepRecord":
        """Read ``sweep.json``. Raises RallyError, one line that says what is wrong."""
        return read_record(folder / SWEEP, cls, "sweep", SIZE_MAX)

    def open_rate(self, folder: Path, rate_hz: int) -> "_PlayedRate | None":
        """Open the rally of a rate; None if it was interrupted.

        Raises RallyError, also if it is another rally than the sweep's.
        """
        planned = self.at(rate_hz)
        place = folder / planned.name
        if place.is_symlink():
            raise RallyError(f"{place} is a link", next_step="copy the folder with its real files")
        rally = open_rally(place)
        difference = another(rally, planned)
        if difference:
            raise RallyError(
                f"{place} is not a rally of this sweep ({difference})",
                next_step="move it away, and play it again",
            )
        if rally.manifest.ended == "interrupted":
            return None
        faults = rally.manifest.faults
        why = (
            plain(faults[0].message if faults else "suspect", 200) if rally.manifest.suspect else ""
        )
        return _PlayedRate(pairing(rally), why)


@dataclass(frozen=True)
class Sweep:
    """A sweep that was played, or a part of it."""

    path: Path
    record: SweepRecord
    rates: dict[int, Pairing]  # ascending
    suspect: dict[int, str]  # rate -> why nothing may be claimed of it

    @property
    def shares(self) -> dict[int, float]:
        """Return the share of paired pings at each rate."""
        return {rate: found.share for rate, found in self.rates.items()}

    @property
    def breaking(self) -> Breaking:
        """Return between which rates pairing breaks."""
        return self.record.range.breaking(self.shares)

    @property
    def label(self) -> str:
        """Return the sweep in a few words, as a rally's."""
        plan = self.record.plan
        words = [plan.kernel_name, plan.load, plan.bottom_half, plan.priorities]
        words += [plan.top_half] if plan.top_half in THREADED else []
        words += [plan.command_line] if plan.command_line else []
        words += in_brief(plan, NAMED_FIRST)
        return " / ".join(plain(word, 40) for word in words)


def is_sweep(path: Path) -> bool:
    """Tell whether a folder calls itself a sweep."""
    return (path / SWEEP).is_file()


@dataclass(frozen=True)
class _PlayedRate:
    """A rate that was played to its end."""

    pairing: Pairing
    suspect: str  # why nothing may be claimed of it; empty: it is not suspect


def open_sweep(path: Path) -> Sweep:
    """Open a sweep's folder, and its rallies that were played to the end. Raises RallyError."""
    if not path.is_dir():
        raise RallyError(
            f"{path} is not a folder", next_step="name the one that `tennis sweep --out` wrote"
        )
    record = SweepRecord.read(path)
    found = sorted(
        int(name[1])
        for entry in path.iterdir()
        if (name := _NAME.fullmatch(entry.name)) is not None
    )
    if len(found) > RATES_MAX:
        raise RallyError(f"{path} has {len(found)} rates, {RATES_MAX} at most")
    opened = {rate_hz: record.open_rate(path, rate_hz) for rate_hz in found}
    played = {rate_hz: rate for rate_hz, rate in opened.items() if rate is not None}
    return Sweep(
        path,
        record,
        {rate_hz: rate.pairing for rate_hz, rate in played.items()},
        {rate_hz: rate.suspect for rate_hz, rate in played.items() if rate.suspect},
    )
