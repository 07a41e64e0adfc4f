# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A rally folder: how it becomes visible (``seal``) and how it is believed (``open_rally``).

While a rally is played, ``OUT.part/`` holds the plan, the journal of frames and the console.
Sealing writes the final files into ``OUT.part/sealed/``, waits until they are on the disk, renames
that folder to ``OUT`` and only then removes ``OUT.part``. So there is at every moment either a
whole journal in ``OUT.part`` or a whole rally in ``OUT``; after a crash it is enough to seal again,
unless ``finished`` finds that nothing is left to do.

A rally that somebody interrupted is sealed, and ``OUT.part`` stays: it can be gone on with, too.
What was sealed first then waits in ``OUT.part/interrupted/`` until the longer rally is sealed. If
that does not hold its balls, or is suspect where it was sound, it is kept as ``OUT.interrupted-N``.
"""

import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError
from pydantic_core import from_json

from tennis.digests import sha256_of
from tennis.errors import RallyError, UsageError
from tennis.rally import balls as table
from tennis.rally.disk import open_regular, sync, writing
from tennis.rally.manifest import OWN, SCHEMA_VERSION, THREADED, Manifest, seal_of
from tennis.rally.tally import Counter, Tally
from tennis.rally.text import plain

MANIFEST = "manifest.json"
BALLS = "balls.parquet"
EVENTS = "events.jsonl"
CONSOLE = "console.log"
CAPTURE = "capture.sr"
# what a managed target said about itself before the rally and behind its last ball
BEFORE = "target-before.txt"
AFTER = "target-after.txt"
PEER = "peer"  # where a load's other end works; a folder
PLAN = "plan.json"
JOURNAL = "frames.bin"
SEALED = "sealed"
INTERRUPTED = "interrupted"

# What a folder that came from somebody else may make us read, in bytes; others: the last value.
SIZE_LIMITS = {
    MANIFEST: 1 << 20,
    EVENTS: 1 << 28,
    CONSOLE: 1 << 28,
    BALLS: 1 << 32,
    BEFORE: 1 << 22,
    AFTER: 1 << 22,
}
SIZE_LIMIT = 1 << 32
LINE_LIMIT = 1 << 16  # of an event
# Threads that compute hashes and then read balls.
WORKERS = min(4, os.cpu_count() or 1)


def part_path(out: Path) -> Path:
    """Return where the rally ``out`` is kept while it is played: ``out.part`` beside it."""
    if not out.name or out.name == "..":
        raise UsageError(
            f"{out} is no name of a rally", next_step="name the folder that --out named"
        )
    return out.with_name(out.name + ".part")


def check_part(part: Path) -> None:
    """Raise RallyError unless an unfinished rally is a folder of plain files.

    It may come from somebody else, and going on writes into it: through a link that would be into
    another place. Folders in it are emptied before they are used.
    """
    try:
        strange = not stat.S_ISDIR(part.lstat().st_mode) and part
        with os.scandir(part) as entries:
            for entry in entries:
                plain_file = entry.is_file(follow_symlinks=False)
                own_folder = entry.name in {SEALED, INTERRUPTED, PEER} and entry.is_dir(
                    follow_symlinks=False
                )
                if not plain_file and not own_folder:
                    strange = part / entry.name
    except OSError as error:
        raise RallyError(f"cannot read {part} ({error.strerror})", next_step="remove it") from error
    if strange:
        raise RallyError(
            f"{strange} is a link or something else that tennis does not put there: do not go on "
            "with this rally, ask whoever sent it"
        )


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
                drill.context,
                target.kernel,
                self.manifest.load.name,
                target.added,
            ]
            return " / ".join(plain(word, 40) for word in parts if word)
        bottom_half = "own Racquet" if target.module == OWN else target.bottom_half
        parts = [target.system, self.manifest.load.name, bottom_half, target.priorities]
        parts += [target.top_half] if target.top_half in THREADED else []
        parts += [target.added] if target.added else []
        parts += [f"with {target.witness}"] if target.witness != "none" else []
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
        """Return the path of a file that the manifest vouches for; None where it lists none."""
        return self.path / name if name in self.manifest.files else None

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the balls in record batches, all columns or some, a row group at a time."""
        return table.batches(self.path / BALLS, columns)

    def each_event(self) -> Iterator[dict[str, Any]]:
        """Yield the events, in their order; there may be more than memory holds.

        Raises RallyError where events.jsonl holds something else than JSON objects.
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
        """Return the end of the target's console, at most ``limit`` bytes; empty where none."""
        path = self.file(CONSOLE)
        if path is None:
            return ""
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - limit))
            return log.read(limit).decode(errors="replace")


def seal(
    part: Path,
    out: Path,
    manifest: Manifest,
    balls: pa.Table | Iterable[pa.RecordBatch | pa.Table],
    events: Iterable[Mapping[str, Any]],
) -> Rally:
    """Make the rally in ``part`` the sealed folder ``out``, and return the rally.

    ``part`` is removed, unless the rally was interrupted: then it takes ``part`` to go on. A rally
    that was gone on with takes the place of what was sealed when it was interrupted.

    ``manifest.files``, ``counts.balls`` and ``counts.misses`` are filled in here; the rest is the
    caller's. ``balls`` has the columns of ``balls.schema`` and may be streamed. ``console.log``,
    ``capture.sr`` and what a target said about itself are taken along. After a failure, or a crash
    at any moment, ``part`` is as it was (plus leftovers that the next ``seal`` replaces), or
    ``out`` is complete.

    Raises UsageError where ``out`` exists, DiskFullError, RallyError.
    """
    if os.path.lexists(out) and not _waits(out):
        raise UsageError(f"{out} exists", next_step="choose another name for the rally")
    sealed = part / SEALED
    with writing(out, f"then go on with `tennis resume {out}`"):
        shutil.rmtree(sealed, ignore_errors=True)
        sealed.mkdir()
        written = table.write(sealed / BALLS, balls, manifest.instrument.tick_hz)
        with (sealed / EVENTS).open("w", encoding="utf-8", newline="\n") as lines:
            lines.writelines(_line(event) for event in events)
        for name in (CONSOLE, CAPTURE, BEFORE, AFTER):
            if (part / name).exists():
                shutil.copyfile(part / name, sealed / name)
        names = sorted(path.name for path in sealed.iterdir())
        counts = {"balls": written.balls, "misses": written.misses}
        manifest = manifest.model_copy(
            update={
                "counts": manifest.counts.model_copy(update=counts),
                "files": {name: _sha256(sealed / name) for name in names},
            }
        )
        (sealed / MANIFEST).write_bytes(_manifest_bytes(manifest))
        for path in (*sealed.iterdir(), sealed):
            sync(path)
    rally = _open(sealed)  # what could not be opened again must not be sealed
    with writing(out, f"then go on with `tennis resume {out}`"):
        earlier = part / INTERRUPTED
        if os.path.lexists(out):
            shutil.rmtree(earlier, ignore_errors=True)
            out.rename(earlier)
        if earlier.is_dir() and not _holds(rally, earlier):
            set_aside(earlier, out)
        _rename(sealed, out)
    shutil.rmtree(part / INTERRUPTED, ignore_errors=True)
    rally = replace(rally, path=out)
    if not can_go_on(rally):
        remove_part(part)
    return rally


def set_aside(place: Path, out: Path, why: str = INTERRUPTED) -> None:
    """Keep what somebody interrupted, as ``OUT.interrupted-N``; ``why`` is another word for it."""
    number = 1
    while os.path.lexists(aside := out.with_name(f"{out.name}.{why}-{number}")):
        number += 1
    with writing(aside):
        place.rename(aside)


def _holds(rally: Rally, earlier: Path) -> bool:
    """Tell whether a rally begins with all balls of an earlier one, and is as sound."""
    try:
        before = _open(earlier)
    except RallyError:
        return False
    if rally.balls < before.balls or (rally.manifest.suspect and not before.manifest.suspect):
        return False
    return fingerprint(rally, before.balls) == fingerprint(before, before.balls)


def fingerprint(rally: Rally, balls: int) -> list[str]:
    """Return a hash of each column of the first balls, in bounded memory."""
    columns = {name: hashlib.sha256() for name in ("served_ns", "rise_ticks", "fall_ticks")}
    for batch in rally.batches(list(columns)):
        part = batch.slice(0, balls)
        for name, digest in columns.items():
            # no tick is that late: it stands for an edge that did not come
            values = part[name].cast("int64").fill_null(-1)
            digest.update(values.to_numpy(zero_copy_only=False).tobytes())
        balls -= part.num_rows
        if not balls:
            break
    return [digest.hexdigest() for digest in columns.values()]


def _waits(out: Path) -> bool:
    try:
        return can_go_on(open_folder(out))
    except RallyError:
        return False


def can_go_on(rally: Rally | None) -> bool:
    """Tell whether a sealed rally was interrupted, and what it takes to go on is still there."""
    if rally is None or rally.manifest.ended != "interrupted":
        return False
    journal = part_path(rally.path) / JOURNAL
    return journal.is_file() and journal.stat().st_size > 0


def finished(out: Path) -> Rally | None:
    """Return the rally ``out`` where it is sealed, and clear away what sealing may have left.

    What an interrupted rally takes to go on is no leftover.

    None where ``out`` does not exist: there is still something to play, or to seal. Raises
    RallyError where ``out`` is something else than a sound rally; then nothing is removed.
    """
    if not os.path.lexists(out):
        return None
    rally = open_folder(out)
    part = part_path(out)
    if part.is_dir() and not part.is_symlink() and not can_go_on(rally):
        remove_part(part)
    return rally


def _line(event: Mapping[str, Any]) -> str:
    return json.dumps(event, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def _manifest_bytes(manifest: Manifest) -> bytes:
    """Return the text of manifest.json: the same manifest gives the same bytes."""
    content = manifest.model_dump(mode="json")
    content["seal"] = seal_of(content)
    return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _rename(sealed: Path, out: Path) -> None:
    """Make a folder visible under its name, in one step that survives a power cut."""
    try:
        sealed.rename(out)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            raise UsageError(
                f"{out} exists", next_step="choose another name for the rally"
            ) from error
        raise
    sync(out.parent)


def remove_part(part: Path) -> None:
    """Remove what is left of playing a rally that is sealed (the journal last)."""
    for name in (SEALED, INTERRUPTED, CONSOLE, CAPTURE, BEFORE, AFTER, PLAN, JOURNAL):
        path = part / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(part, ignore_errors=True)


def open_rally(path: Path) -> Rally:
    """Open a sealed rally as ``open_folder`` does. Raises RallyError, also for a drill."""
    rally = open_folder(path)
    if rally.manifest.drill is not None:
        raise RallyError(
            f"{path} is a drill, which nobody served",
            next_step="`tennis stats`, `tennis plot` and `tennis report` take drills",
        )
    return rally


def open_folder(path: Path) -> Rally:
    """Open a sealed rally or drill and check all of it: form, versions, hashes, every ball.

    The hashes show damage. They do not show who made the folder: whoever alters a file can write a
    hash that fits. `tennis check` plays a rally of the virtual bench again. Files that the
    manifest does not list are not looked at. Raises RallyError, whose line says what is wrong and
    what to do.
    """
    path = Path(path)
    if not path.is_dir():
        part = part_path(path)
        if path.name and part.is_dir():
            raise RallyError(
                f"{path} is unfinished",
                next_step=f"go on with `tennis resume {path}`, which seals it",
            )
        if path.exists():
            raise RallyError(f"{path} is not a folder", next_step="name the folder of a rally")
        raise RallyError(
            f"{path} does not exist", next_step="name the folder that `tennis rally --out` wrote"
        )
    if not os.path.lexists(path / MANIFEST):
        if path.suffix == ".part":
            raise RallyError(
                f"{path} is unfinished",
                next_step=f"go on with `tennis resume {path.with_suffix('')}`",
            )
        if (path / "sweep.json").is_file():
            raise RallyError(
                f"{path} is a sweep",
                next_step="name one of the rallies in it, or use `tennis stats` or `tennis plot`",
            )
        if (path / "match.json").is_file():
            raise RallyError(
                f"{path} is a match",
                next_step="name one of the rallies in it, or use `tennis replicate`",
            )
        raise RallyError(
            f"{path} holds no {MANIFEST}", next_step="name the folder that `tennis rally` wrote"
        )
    return _open(path)


def _open(path: Path) -> Rally:
    """Open the sealed folder ``path`` and check all of it. Raises RallyError."""
    manifest = read_manifest(path)
    for name in manifest.files:
        _check_file(path, name)
    # Hashing and reading release the interpreter: they share the cores. A thread a core: whoever
    # has finished hashing helps to count.
    with ThreadPoolExecutor(WORKERS, "open-rally") as pool:
        # the largest first
        hashes = {name: pool.submit(_sha256, path / name) for name in _by_size(path, manifest)}
        try:
            interrupt, scheduling = _count(path / BALLS, manifest, pool)
        finally:
            # an altered file is the cause of whatever else was found
            for name, digest in hashes.items():
                if digest.result() != manifest.files[name]:
                    raise RallyError(
                        f"{path / name} was truncated or altered after the rally was sealed",
                        next_step="use the original folder, or play the rally again",
                    )
    return Rally(path, manifest, interrupt, scheduling)


def count_balls(path: Path, manifest: Manifest) -> tuple[Tally, Tally]:
    """Check and count every ball of the folder ``path``, whose manifest was checked.

    Returns the interrupt and scheduling latencies. Hashes are not looked at. Raises RallyError.
    """
    _check_file(path, BALLS)
    with ThreadPoolExecutor(WORKERS, "count-balls") as pool:
        return _count(path / BALLS, manifest, pool)


def _by_size(path: Path, manifest: Manifest) -> list[str]:
    return sorted(manifest.files, key=lambda name: (path / name).stat().st_size, reverse=True)


def _count(balls: Path, manifest: Manifest, pool: ThreadPoolExecutor) -> tuple[Tally, Tally]:
    """Read every ball and return the interrupt and scheduling latencies. Raises RallyError."""
    counts, protocol, tick_hz = manifest.counts, manifest.protocol, manifest.instrument.tick_hz
    faults = {fault.code for fault in manifest.faults}
    if counts.balls > protocol.balls and "miscounted" not in faults:
        raise RallyError(
            f"{balls.parent} has {counts.balls} balls of {protocol.balls} planned: it was made up",
            next_step="use the original folder",
        )
    rules = table.Rules(tick_hz, protocol.timeout_ns, ordered="clock_backwards" not in faults)
    begins = table.check(balls, balls=counts.balls, tick_hz=tick_hz)
    groups = len(begins) - 1
    left = iter(range(groups))  # whoever is free takes the next group
    jobs = [
        pool.submit(table.count, balls, left, begins, rules) for _ in range(min(groups, WORKERS))
    ]
    counted = [job.result() for job in jobs]
    spans = {number: span for part in counted for number, span in part.spans.items()}
    table.check_spans(balls, spans, rules)
    misses = sum(part.misses for part in counted)
    if misses != counts.misses or sum(part.balls for part in counted) != counts.balls:
        raise RallyError(
            f"{balls} has {misses} misses, the manifest counts {counts.misses}: "
            "the files belong to different rallies",
            next_step="use the original folder",
        )
    interrupt, scheduling = Counter(), Counter()
    interrupt.merge(part.interrupt for part in counted)
    scheduling.merge(part.scheduling for part in counted)
    rise, width = (
        replace(tally, missed=counts.balls - tally.n)
        for tally in (interrupt.tally(), scheduling.tally())
    )
    return rise, width


def _check_file(path: Path, name: str) -> None:
    """Raise RallyError unless ``name`` is a plain file of a sane size in the folder ``path``."""
    if name in {"", ".", "..", MANIFEST} or not name.isprintable() or "/" in name or "\\" in name:
        raise RallyError(
            f"{path / MANIFEST} lists {name[:80]!a}, which is no name of a file in the rally's "
            "folder: do not use this folder, ask whoever sent it"
        )
    try:
        status = (path / name).lstat()
    except (OSError, ValueError) as error:
        raise RallyError(
            f"{path} lacks {name}", next_step="copy the whole folder from its origin"
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise RallyError(
            f"{path / name} is not a plain file", next_step="copy the folder with its real files"
        )
    limit = SIZE_LIMITS.get(name, SIZE_LIMIT)
    if status.st_size > limit:
        raise RallyError(
            f"{path / name} has {status.st_size} bytes, at most {limit} are read: "
            "it was not written by tennis",
            next_step="use the original folder",
        )


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as lower-case hexadecimal digits."""
    try:
        return sha256_of(path)
    except OSError as error:
        raise RallyError(
            f"cannot read {path} ({error.strerror})", next_step="check its permissions"
        ) from error


def read_manifest(path: Path) -> Manifest:
    """Read and check ``manifest.json``. Raises RallyError."""
    file = path / MANIFEST
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            raise RallyError(
                f"{file} is not a plain file", next_step="copy the folder with its real files"
            )
        with open_regular(file, links=False) as data:
            text = data.read(SIZE_LIMITS[MANIFEST] + 1)
    except OSError as error:
        raise RallyError(
            f"cannot read {file} ({error.strerror})", next_step="check its permissions"
        ) from error
    return manifest_of(path, text)


def manifest_of(path: Path, text: bytes) -> Manifest:
    """Check what the ``manifest.json`` of the folder ``path`` holds. Raises RallyError."""
    file = path / MANIFEST
    if len(text) > SIZE_LIMITS[MANIFEST]:
        raise RallyError(f"{file} is larger than 1 MiB: it was not written by tennis")
    try:
        content = from_json(text)
    except ValueError as error:
        raise RallyError(f"{file} is not JSON", next_step="use the original folder") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise RallyError(f"{file} has no schema_version: it is not the manifest of a rally")
    if version > SCHEMA_VERSION:
        raise RallyError(
            f"{path} was written by a newer tennis (schema {version}, this one reads "
            f"{SCHEMA_VERSION})",
            next_step="update tennis",
        )
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        raise RallyError(
            f"{file} is not a manifest of schema {version} ({_first(error.errors())})",
            next_step="use the original folder",
        ) from error
    if manifest.seal is not None and manifest.seal != seal_of(content):
        raise RallyError(
            f"{file} was altered after the rally was sealed",
            next_step="use the original folder, or play the rally again",
        )
    missing = {BALLS, EVENTS} - manifest.files.keys()
    if missing:
        raise RallyError(f"{file} lists no {min(missing)}", next_step="use the original folder")
    return manifest


def _first(errors: Sequence[Any]) -> str:
    """Say the first thing that pydantic found, in plain text."""
    where = ".".join(str(key) for key in errors[0]["loc"])[:80]
    return f"{where!a}: {errors[0]['msg']}"
