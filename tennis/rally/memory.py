"""The memory profile of a rally: ``none``, or ``NAME@DIGEST``.

The digest is the first eight digits of the SHA-256 of the profile's file, and of the file that it
is based on. So a rally that was played with other figures of that name is of another kind, for all
that compares rallies.
"""

import re
from functools import cache
from pathlib import Path

from pydantic_core import PydanticCustomError

from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of

FOLDER = ROOT / "target" / "virtual" / "memory"
NONE = "none"
DIGITS = 8
NAME = r"[a-z][a-z0-9-]{0,39}"
_AT = re.compile(r"(.+)-at-([1-9][0-9]{1,3})mhz")  # a profile with another clock
KEPT = rf"^(?:{NONE}|{NAME}@[0-9a-f]{{{DIGITS}}})$"  # as manifests and plans have it


def stalls_in(setting: str) -> str:
    """Return a profile's addition to the note about a rally's time; empty without a profile."""
    return "" if setting == NONE else f" and stalls of memory {setting}"


def names() -> list[str]:
    """Return the names of all profiles."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def file_of(name: str) -> Path:
    """Return the file of a profile, also of one with another clock: ``NAME-at-600mhz``."""
    at = _AT.fullmatch(name)
    return FOLDER / f"{at[1] if at else name}.toml"


def clock_of(name: str) -> int | None:
    """Return the clock in MHz that a name asks for, None for the profile's own."""
    return int(at[2]) if (at := _AT.fullmatch(name)) else None


def base_of(path: Path) -> Path | None:
    """Return the file of the profile that a profile is based on. Raises OSError."""
    named = re.search(rf'^base = "({NAME})"'.encode(), path.read_bytes(), re.MULTILINE)
    return named and path.with_name(f"{named[1].decode()}.toml")


@cache
def _digest_of(path: Path) -> str:
    """Return the digest of a profile's files, as they were when it was first asked for."""
    base = base_of(path)
    files = (path, base) if base and base.is_file() else (path,)
    return sha256_of(*files)[:DIGITS]


def name_of(setting: str) -> str:
    """Return the name of the profile in a manifest or a plan."""
    return setting.partition("@")[0]


def canonical(profile: object) -> object:
    """Return a profile as it is kept: a name gets the digest that its file has now.

    A pydantic validator. Raises PydanticCustomError for a name that no profile has.
    """
    if not isinstance(profile, str) or profile == NONE or re.match(KEPT, profile):
        return profile
    known = names()
    if file_of(profile).stem not in known:
        raise PydanticCustomError(
            "memory",
            "there is no such profile: use {names}",
            {"names": " or ".join([NONE, *known])},
        )
    return f"{profile}@{_digest_of(file_of(profile))}"
