"""Open a rally folder: read, check and count it; its author is not trusted."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tennis.kit.digests import sha256_of
from tennis.kit.edition import PUBLIC_VERSION
from tennis.kit.errors import AlteredError, RallyError
from tennis.kit.share import processors
from tennis.rally import balls as table
from tennis.rally import rows
from tennis.rally.folder import (
    AFTER,
    BALLS,
    BEFORE,
    CAPTURE,
    CONSOLE,
    EVENTS,
    INSTANTS,
    MANIFEST,
    STAGES,
    Rally,
)
from tennis.rally.in_play import part_path
from tennis.rally.manifest import SCHEMA_VERSION, Manifest
from tennis.rally.record_file import RecordFile, seal_of
from tennis.rally.shots import are_shots
from tennis.rally.tally import Counter, Tally
from tennis.rally.text import plain

# The most bytes that we read of a file in a foreign folder; others: the last value.
SIZE_LIMITS = {
    MANIFEST: 1 << 20,
    EVENTS: 1 << 28,
    CONSOLE: 1 << 28,
    BALLS: 1 << 32,
    BEFORE: 1 << 22,
    AFTER: 1 << 22,
    CAPTURE: 1 << 32,
    STAGES: 1 << 30,
    INSTANTS: 1 << 30,
}


SIZE_LIMIT = 1 << 32


# Threads that compute hashes and then read balls.
WORKERS = min(4, processors())


def open_rally(path: Path) -> Rally:
    """Open a sealed rally as ``open_folder`` does. Raises RallyError, also for a drill."""
    rally = open_folder(path)
    if rally.manifest.drill is not None:
        raise RallyError(
            f"{path} is a drill, which has no balls",
            next_step="`tennis stats`, `tennis plot` and `tennis report` take drills",
        )
    return rally


def open_folder(path: Path) -> Rally:
    """Open a sealed rally or drill and check all of it: form, versions, hashes, every ball.

    The hashes show damage. They do not show who made the folder: a forger can write hashes that
    fit. `tennis check` plays a rally of the virtual bench again. Files that the manifest does not
    list are not looked at. Raises RallyError, whose line says what is wrong and what to do.
    """
    path = Path(path)
    if not path.is_dir():
        part = part_path(path)
        if path.name and part.is_dir():
            raise RallyError(
                f"{path} is unfinished",
                next_step=f"continue with `tennis resume {path}`, which seals it",
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
                next_step=f"continue with `tennis resume {path.with_suffix('')}`",
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
    return open_unjudged(path)


def open_unjudged(path: Path) -> Rally:
    """Open the sealed folder ``path`` and check all of it. Raises RallyError."""
    manifest = _read_manifest(path)
    beside = {name for name in SIZE_LIMITS if name != MANIFEST and os.path.lexists(path / name)}
    for name in {**manifest.files, **dict.fromkeys(sorted(beside))}:
        check_file(path, name)
    # Hashing and reading release the interpreter: they share the cores. A thread a core: those that
    # finish hashing help to count.
    with ThreadPoolExecutor(WORKERS, "open-rally") as pool:
        # the largest first
        hashes = {name: pool.submit(_file_sha256, path / name) for name in _by_size(path, manifest)}
        try:
            interrupt, scheduling = _count(path / BALLS, manifest, pool)
        finally:
            # an altered file is the cause of all other errors
            for name, digest in hashes.items():
                if digest.result() != manifest.files[name]:
                    raise AlteredError(
                        f"{path / name} was truncated or altered after the rally was sealed",
                        next_step="use the original folder, or play the rally again",
                    )
    return Rally(path, manifest, interrupt, scheduling)


def _by_size(path: Path, manifest: Manifest) -> list[str]:
    return sorted(manifest.files, key=lambda name: (path / name).stat().st_size, reverse=True)


def _count(balls: Path, manifest: Manifest, pool: ThreadPoolExecutor) -> tuple[Tally, Tally]:
    """Read every ball and return the interrupt and scheduling latencies. Raises RallyError."""
    counts, protocol, tick_hz = manifest.counts, manifest.protocol, manifest.instrument.tick_hz
    faults = {fault.code for fault in manifest.faults}
    if counts.balls > protocol.balls and "miscounted" not in faults:
        raise AlteredError(
            f"{balls.parent} has {counts.balls} balls of {protocol.balls} planned: it was made up",
            next_step="use the original folder",
        )
    rules = rows.BallRules(
        tick_hz,
        protocol.timeout_ns,
        ordered="clock_backwards" not in faults,
        alone=are_shots(protocol),
    )
    begins = table.check(balls, balls=counts.balls, tick_hz=tick_hz)
    groups = len(begins) - 1
    left = iter(range(groups))  # each free thread takes the next group
    jobs = [
        pool.submit(rows.count, balls, left, begins, rules) for _ in range(min(groups, WORKERS))
    ]
    counted = [job.result() for job in jobs]
    spans = {number: span for part in counted for number, span in part.spans.items()}
    with table.Reading(balls):
        rules.check_spans(spans)
    misses = sum(part.misses for part in counted)
    if misses != counts.misses or sum(part.balls for part in counted) != counts.balls:
        raise RallyError(
            f"{balls} has {misses} misses, the manifest counts {counts.misses}: "
            "the files are from different rallies",
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


def check_file(path: Path, name: str) -> None:
    """Raise RallyError unless ``name`` is a plain file of a sane size in the folder ``path``.

    All that a command opens in a rally's folder comes by here, listed or not.
    """
    if name in {"", ".", "..", MANIFEST} or not name.isprintable() or "/" in name or "\\" in name:
        raise RallyError(
            f"{path / MANIFEST} lists {name[:80]!a}, which is not a name of a file in the rally's "
            "folder: do not use this folder, ask the sender"
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


def _file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as lower-case hexadecimal digits."""
    try:
        return sha256_of(path)
    except OSError as error:
        raise RallyError(
            f"cannot read {path} ({error.strerror})", next_step="check its permissions"
        ) from error


def _read_manifest(path: Path) -> Manifest:
    """Read and check ``manifest.json``. Raises RallyError."""
    try:
        return _manifest_of(path, _record(path).read())
    except FileNotFoundError as error:
        raise RallyError(
            f"cannot read {path / MANIFEST} ({error.strerror})", next_step="check its permissions"
        ) from error


def _record(path: Path) -> RecordFile:
    return RecordFile(path / MANIFEST, "manifest", SCHEMA_VERSION, SIZE_LIMITS[MANIFEST])


def _manifest_of(path: Path, text: bytes) -> Manifest:
    """Check what the ``manifest.json`` of the folder ``path`` holds. Raises RallyError."""
    file = path / MANIFEST
    content = _record(path).content(text)
    is_sealed = content.get("seal") == seal_of(content)  # nobody altered it since
    version = content.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise RallyError(f"{file} has no schema_version: it is not the manifest of a rally")
    try:
        manifest = _record(path).checked(Manifest, text)
    except RallyError as error:
        if isinstance(error.__cause__, ValidationError) and (
            newer := is_sealed and _made_by_a_newer(content, error.__cause__)
        ):
            raise RallyError(f"{path} {newer}", next_step="read it with that tennis") from error
        raise
    if manifest.seal is not None and not is_sealed:
        raise AlteredError(
            f"{file} was altered after the rally was sealed",
            next_step="use the original folder, or play the rally again",
        )
    missing = {BALLS, EVENTS} - manifest.files.keys()
    if missing:
        raise RallyError(f"{file} lists no {min(missing)}", next_step="use the original folder")
    return manifest


def _made_by_a_newer(content: dict[str, Any], error: ValidationError) -> str:
    """Name the newer tennis whose sealed manifest has more fields; empty: it is no such one."""
    found = error.errors()
    if any(one["type"] != "extra_forbidden" for one in found):
        return ""
    where = ".".join(str(key) for key in found[0]["loc"])[:80]
    tool = content["tool"]["tennis"]  # nothing else was wrong
    return (
        f"was made by tennis {plain(tool, 40)}, which knows more than this one, {PUBLIC_VERSION}: "
        f"{where!a}"
    )
