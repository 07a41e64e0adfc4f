# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which drills there are, and what is told of each: the kit's own, and those of packages.

An entry point of the group ``tennis.drills`` has a drill's name, and names its folder: a Python
package, or a path. The folder holds ``NAME.c`` and ``drills.toml`` with a table for each drill.
What builds the first is ``bench/drills.py``; what is read here is the second, also by those who
only read a rally. A rally may be of a drill that nobody here has: it is read in plain words.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from tennis import entries
from tennis.checkout import ROOT
from tennis.entries import OWN, Entry, EntryError
from tennis.errors import TennisError, UsageError
from tennis.log import log
from tennis.rally.edited import EditedError, toml_of
from tennis.rally.manifest import PROGRAM, DrillContext, DrillName, Manifest
from tennis.rally.text import plain

GROUP = "tennis.drills"
FOLDER = ROOT / "target" / "drills"  # the kit's own, and the headers that all include
FILE = "drills.toml"
NO_NAME = "cannot be called so: use a to z, 0 to 9 and _, up to 40 of them"
EXAMPLE = "write it as docs/how-it-is-built.md has it"
# among the versions of a rally: whose drill it was, and a hash of what was told of it then
VERSION = "drill"

# what of its repetitions a drill is about: from one to the next, or how long each took
Span = Literal["period", "duration"]
Words = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,80}$")]
_NAME = TypeAdapter(DrillName)


class DrillAbout(BaseModel):
    """What is told of a drill: its table in ``drills.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Words  # what a repetition is, in `tennis drill --help`
    words: Words  # above its figures, as in "sending took"
    source: str
    # who can do it; "program": one of somebody's own, by itself
    contexts: Annotated[list[DrillContext], Field(min_length=1)]
    span: Span = "duration"
    # what it allocates, a repetition each, in turn; empty: it allocates nothing
    sizes_bytes: Annotated[list[Annotated[int, Field(gt=0, lt=2**40)]], Field(max_length=64)] = []
    loops_back: bool = False  # it takes a wire from the reply line back to the target

    @field_validator("contexts", "sizes_bytes")
    @classmethod
    def _each_once(cls, value: list[DrillContext] | list[int]) -> list[DrillContext] | list[int]:
        if len(set(value)) < len(value):
            raise ValueError("has something twice")
        return value


# of a drill of which nobody here knows more
PLAIN = DrillAbout(title="unknown", words="a repetition took", source="", contexts=["user"])


@dataclass(frozen=True)
class KnownDrill:
    """A drill that a package names."""

    name: DrillName
    package: str
    folder: Path
    about: DrillAbout

    @property
    def contexts(self) -> list[DrillContext]:
        """Return where its own code can be run."""
        return [context for context in self.about.contexts if context != PROGRAM]

    @property
    def source(self) -> Path:
        """Return the C file that does it, in a process or in the kernel."""
        return self.folder / f"{self.name}.c"

    @property
    def version(self) -> dict[str, str]:
        """Return what a rally's versions say of a package's drill; of the kit's nothing."""
        if self.package == OWN:
            return {}
        told = hashlib.sha256(self.about.model_dump_json().encode()).hexdigest()
        return {VERSION: f"{self.package} {told[:16]}"}


def names() -> list[DrillName]:
    """Return the names of all drills, the kit's own first; no package is imported for that."""
    return list(dict.fromkeys(entry.name for entry in entries.entries(GROUP) if _is_name(entry)))


def _is_name(entry: Entry) -> bool:
    """Tell whether a drill can be called so; else a line is said."""
    try:
        _NAME.validate_python(entry.name)
    except ValidationError:
        log.info(f"{entry} {NO_NAME}")
        return False
    return True


def find(name: str) -> KnownDrill:
    """Return a drill. Raises UsageError where no package has it, EntryError where it is broken.

    A name of the kit's is the kit's, whatever packages name so.
    """
    named = [entry for entry in entries.entries(GROUP) if entry.name == name and _is_name(entry)]
    if not named:
        raise UsageError(f"no drill {name!r} here", next_step=f"use {', '.join(names())}")
    if len(named) > 1 and named[0].package != OWN:
        packages = " and ".join(entry.package for entry in named)
        raise UsageError(
            f"the drill {name} is that of several packages, of {packages}",
            next_step="remove one of the packages",
        )
    return read(named[0])


def every() -> Iterator[KnownDrill]:
    """Yield all drills; of a package's that is broken a line is said."""
    for name in names():
        try:
            yield find(name)
        except TennisError as error:
            log.info(str(error))


def told_of(manifest: Manifest) -> DrillAbout:
    """Return what is told of a rally's drill; PLAIN where nobody here has the one that was played.

    A package may have told something else of it then, and another one may have the same name.
    """
    if manifest.drill is None:
        return PLAIN
    try:
        known = find(manifest.drill.name)
    except TennisError:
        return PLAIN
    played = manifest.tool.versions.get(VERSION)
    return known.about if known.version.get(VERSION) == played else PLAIN


def read_about(path: Path, name: str) -> DrillAbout:
    """Return what a file ``drills.toml`` tells of a drill. Raises TennisError."""
    try:
        return DrillAbout.model_validate(toml_of(path.read_bytes())[name])
    except EditedError as error:
        raise TennisError(f"{path} {error}", next_step=error.next_step) from error
    except OSError as error:
        raise TennisError(f"{path} cannot be read ({error.strerror})", next_step=EXAMPLE) from error
    except KeyError as error:
        raise TennisError(f"{path} has no table [{name}]", next_step=EXAMPLE) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = plain(".".join(map(str, (name, *first["loc"]))), 80)
        why = f"{path} is not right: {where}: {first['msg']}"
        raise TennisError(why, next_step=EXAMPLE) from error


def read(entry: Entry) -> KnownDrill:
    """Return a drill that a package names. Raises EntryError."""
    if not _is_name(entry):
        raise EntryError(f"{entry} {NO_NAME}", next_step=entry.repair)
    found = entry.load()
    place = next(iter(getattr(found, "__path__", [found])))
    if not isinstance(place, str | Path):
        raise EntryError(f"{entry} is neither a Python package nor a path", next_step=entry.repair)
    folder = Path(place)
    try:
        about = read_about(folder / FILE, entry.name)
    except TennisError as error:
        raise EntryError(f"{entry}: {error.message}", next_step=error.next_step) from error
    known = KnownDrill(entry.name, entry.package, folder, about)
    if known.contexts and not known.source.is_file():
        why = f"there is no {known.source.name} in {folder}"
        raise EntryError(f"{entry}: {why}", next_step=entry.repair)
    return known
