"""A rally folder: how it is published (``seal``) and how it is verified (``open_rally``).

While a rally is played, ``OUT.part/`` holds the plan, the journal of frames and the console.
Sealing writes the final files into ``OUT.part/sealed/``, waits until they are on the disk, renames
that folder to ``OUT`` and only then removes ``OUT.part``. So at every moment there is either a
whole journal in ``OUT.part`` or a whole rally in ``OUT``; after a crash it is enough to seal again,
unless ``finished`` finds that nothing is left to do.

A rally that somebody interrupted is sealed, and ``OUT.part`` stays: it can be continued, too. The
first sealed rally then waits in ``OUT.part/interrupted/`` until the longer one is sealed. It is
kept as ``OUT.interrupted-N`` if the longer one lacks its balls, or is suspect while it was sound.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from tennis.kit.errors import RallyError, UsageError
from tennis.rally import balls as table
from tennis.rally.columns import Table
from tennis.rally.manifest import IN_BAND, THREADED, Manifest
from tennis.rally.settings import in_brief
from tennis.rally.shots import SHOTS, are_shots
from tennis.rally.tally import Tally
from tennis.rally.text import plain

MANIFEST = "manifest.json"
BALLS = "balls.parquet"
EVENTS = "events.jsonl"
CONSOLE = "console.log"
CAPTURE = "capture.sr"
# snapshots of a managed target before the rally and after its last ball
BEFORE = "target-before.txt"
AFTER = "target-after.txt"
# made afterwards, by `tennis explain`
STAGES = "stages.parquet"
INSTANTS = "instants.parquet"
PEER = "peer"  # a folder for the load's other end
PLAN = "plan.json"
JOURNAL = "frames.bin"
SEALED = "sealed"
INTERRUPTED = "interrupted"

LINE_LIMIT = 1 << 16  # of an event
# a label begins with them, in its own words
NAMED_FIRST = {
    *("kernel", "load", "bottom_half", "top_half", "priorities", "stage"),
    *("beneath", "command_line", "racquet", "program"),
}
# and a drill's; it has no halves
NAMED_OF_DRILL = NAMED_FIRST - {"priorities", "racquet", "stage"}


@dataclass(frozen=True)
class Rally:
    """A sealed rally whose files were all checked; latencies are in ticks of ``tick_hz``."""

    path: Path
    manifest: Manifest
    interrupt: Tally  # rise - ping; missed: balls whose reply did not rise in time
    scheduling: Tally  # fall - rise; missed: balls whose reply did not rise and fall in time

    @property
    def tick_hz(self) -> int:
        """Return the ticks of a second."""
        return self.manifest.instrument.tick_hz

    @property
    def label(self) -> str:
        """Return the rally in a few words: kernel / load / bottom half / priorities."""
        target, drill = self.manifest.target, self.manifest.drill
        if drill is not None:
            parts = [
                drill.name,
                f"program {target.program.name}" if target.program else drill.context,
                target.system,
                self.manifest.load.name,
                target.added,
            ]
            parts += in_brief(self.manifest, NAMED_OF_DRILL)
            return " / ".join(plain(word, 40) for word in parts if word)
        who = self.manifest.own_racquet or str(target.bottom_half)
        if target.program:
            who = f"program {target.program.name}"
        parts = [target.system, self.manifest.load.name, who, target.priorities]
        parts += [target.top_half] if target.top_half in THREADED else []
        parts += [IN_BAND] if target.stage == IN_BAND else []
        parts += [target.added] if target.added else []
        parts += [SHOTS] if are_shots(self.manifest.protocol) else []
        parts += in_brief(self.manifest, NAMED_FIRST)
        return " / ".join(plain(word, 40) for word in parts)

    @property
    def balls(self) -> int:
        """Return the number of balls, misses among them."""
        return self.manifest.counts.balls

    @property
    def misses(self) -> int:
        """Return the number of balls without a complete reply."""
        return self.manifest.counts.misses

    def file(self, name: str) -> Path | None:
        """Return the path of a file that the manifest vouches for; None if it lists none."""
        return self.path / name if name in self.manifest.files else None

    def batches(self, columns: list[str] | None = None) -> Iterator[Table]:
        """Read the balls in tables, all columns or some, a row group at a time.

        ``batch["rise_ticks"].values`` is an array, and ``.missing`` marks its nulls (None: none).

        Raises UsageError for a column that there is not.
        """
        for name in columns or ():
            if name not in table.COLUMNS:
                raise UsageError(
                    f"no column {name!r} of balls", next_step=f"use {', '.join(table.COLUMNS)}"
                )
        return table.batches(self.path / BALLS, columns)

    def fingerprint(self, balls: int) -> list[str]:
        """Return a hash of each column of the first balls, in bounded memory."""
        columns = {name: hashlib.sha256() for name in ("served_ns", "rise_ticks", "fall_ticks")}
        for batch in self.batches(list(columns)):
            part = batch.part(0, balls)
            for name, digest in columns.items():
                # no tick is that late: it represents a missing edge
                digest.update(part[name].filled(-1).tobytes())
            balls -= len(part)
            if not balls:
                break
        return [digest.hexdigest() for digest in columns.values()]

    def continues(self, earlier: "Rally") -> bool:
        """Tell whether it begins with all balls of an earlier rally, and is as sound."""
        if self.balls < earlier.balls or (self.manifest.suspect and not earlier.manifest.suspect):
            return False
        return self.fingerprint(earlier.balls) == earlier.fingerprint(earlier.balls)

    def each_event(self) -> Iterator[dict[str, Any]]:
        """Yield the events, in their order; there may be more than memory holds.

        Raises RallyError if events.jsonl holds something else than JSON objects.
        """
        with (self.path / EVENTS).open("rb") as lines:
            number = 0
            while line := lines.readline(LINE_LIMIT + 1):
                number += 1
                try:
                    event = from_json(line) if len(line) <= LINE_LIMIT else None
                except ValueError:
                    event = None
                if not isinstance(event, dict):
                    raise RallyError(
                        f"{self.path / EVENTS} line {number} is not a JSON object of at most "
                        f"{LINE_LIMIT} bytes",
                        next_step="use the original folder",
                    )
                yield event

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return all events, in their order. Raises RallyError as ``each_event``."""
        return list(self.each_event())

    def console(self, limit: int = 1 << 16) -> str:
        """Return the end of the target's console, at most ``limit`` bytes; empty if none."""
        path = self.file(CONSOLE)
        if path is None:
            return ""
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - limit))
            return log.read(limit).decode(errors="replace")
