"""Seal a rally folder: a hash of every file, and a rename as the last step."""

import errno
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tennis.kit.digests import sha256_of
from tennis.kit.errors import RallyError, UsageError
from tennis.rally import balls as table
from tennis.rally.columns import Table
from tennis.rally.disk import sync, writing
from tennis.rally.folder import (
    AFTER,
    BALLS,
    BEFORE,
    CAPTURE,
    CONSOLE,
    EVENTS,
    INTERRUPTED,
    MANIFEST,
    SEALED,
    Rally,
)
from tennis.rally.in_play import can_go_on, part_path, remove_part
from tennis.rally.manifest import Manifest
from tennis.rally.opening import open_folder, open_unjudged


def seal(
    part: Path,
    out: Path,
    manifest: Manifest,
    balls: Table | Iterable[Table],
    events: Iterable[Mapping[str, Any]],
) -> Rally:
    """Make the rally in ``part`` the sealed folder ``out``, and return the rally.

    ``part`` is removed, unless the rally was interrupted: then it takes ``part`` to go on. A
    continued rally replaces the one that was sealed at the interruption.

    ``manifest.files``, ``counts.balls`` and ``counts.misses`` are filled in here; the rest is the
    caller's. ``balls`` has the columns of ``balls.FIELDS`` and may be streamed. ``console.log``,
    ``capture.sr`` and the target's snapshots are copied. After a failure, or a crash at any moment,
    ``part`` is as it was (plus leftovers that the next ``seal`` replaces), or ``out`` is complete.

    Raises UsageError if ``out`` exists, DiskFullError, RallyError.
    """
    sealed, earlier = part / SEALED, part / INTERRUPTED
    with writing(out, f"then continue with `tennis resume {out}`"):
        before = _interrupted(out if os.path.lexists(out) else earlier)
        if os.path.lexists(out) and before is None:
            raise UsageError(f"{out} exists", next_step="choose another name for the rally")
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
                "files": {name: sha256_of(sealed / name) for name in names},
            }
        )
        (sealed / MANIFEST).write_bytes(manifest.sealed_text())
        rally = open_unjudged(sealed)  # what could not be opened again must not be sealed
        if os.path.lexists(out):
            shutil.rmtree(earlier, ignore_errors=True)
            out.rename(earlier)
        if earlier.is_dir() and not (before and rally.continues(replace(before, path=earlier))):
            set_aside(earlier, out)
        _rename(sealed, out)
    shutil.rmtree(earlier, ignore_errors=True)
    rally = replace(rally, path=out)
    if not can_go_on(rally):
        remove_part(part)
    return rally


def _interrupted(place: Path) -> Rally | None:
    """Return the rally that was sealed at an interruption, or None if no sound one is there."""
    try:
        rally = open_unjudged(place)
    except RallyError:
        return None
    return rally if rally.manifest.ended == "interrupted" else None


def set_aside(place: Path, out: Path, why: str = INTERRUPTED) -> None:
    """Keep what somebody interrupted, as ``OUT.interrupted-N``; ``why`` is another word for it."""
    number = 1
    while os.path.lexists(aside := out.with_name(f"{out.name}.{why}-{number}")):
        number += 1
    with writing(aside):
        place.rename(aside)


def finished(out: Path) -> Rally | None:
    """Return the rally ``out`` if it is sealed, and remove what sealing may have left.

    The files to continue an interrupted rally are kept.

    None if ``out`` does not exist: there is still something to play, or to seal. Raises
    RallyError if ``out`` is something else than a sound rally; then nothing is removed.
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


def _rename(sealed: Path, out: Path) -> None:
    """Make a folder visible under its name, in one step that survives a power cut."""
    for path in (*sealed.iterdir(), sealed):
        sync(path)
    try:
        sealed.rename(out)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            raise UsageError(
                f"{out} exists", next_step="choose another name for the rally"
            ) from error
        raise
    sync(out.parent)
