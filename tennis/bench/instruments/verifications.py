"""The records of ``tennis brickwall verify``: a file for each instrument, by its serial."""

import os
import re
import tempfile
from pathlib import Path

from pydantic import ValidationError

from tennis.kit.errors import TennisError
from tennis.rally.disk import write_whole
from tennis.rally.manifest import VerificationRecord


def _folder() -> Path:
    """Return the folder for what must be kept; ``TENNIS_DATA`` overrides it."""
    named = os.environ.get("TENNIS_DATA")
    if named:
        return Path(named) / "verifications"
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "tennis" / "verifications"


def _path_of(serial: str) -> Path:
    """Return the file of an instrument."""
    if not re.fullmatch(r"[0-9A-Za-z_-]{1,64}", serial):
        raise TennisError(
            f"{serial!a} is not a serial number", next_step="flash the Brickwall again"
        )
    return _folder() / f"{serial}.json"


def read(serial: str) -> VerificationRecord | None:
    """Return an instrument's last verification record; None if none is readable."""
    path = _path_of(serial)
    # Tennis 0.1 called them certificates
    for candidate in (path, path.parents[1] / "certificates" / path.name):
        try:
            return VerificationRecord.model_validate_json(candidate.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValidationError):
            return None
    return None


def prepare() -> None:
    """Check that records can be kept, before there is one. Raises TennisError."""
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=_folder()):
            return
    except OSError as error:
        raise TennisError(
            f"{_folder()} cannot be written ({error.strerror})",
            next_step="set TENNIS_DATA to a folder",
        ) from error


def keep(record: VerificationRecord) -> Path | None:
    """Keep a record and return its file; one without a result leaves the earlier one there."""
    if record.verdict not in {"pass", "fail"}:
        return None
    prepare()
    path = _path_of(record.serial)
    write_whole(path, (record.model_dump_json(indent=2) + "\n").encode(), force=True)
    return path
