"""The drills, with a description of each: ``target/drills/drills.toml``.

A rally may hold a drill that this Tennis does not have: of another version, or of a package that
brought drills until 0.3. It is read in plain words.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
from tennis.rally.manifest import PROGRAM, DrillContext, DrillName, Manifest

FOLDER = ROOT / "target" / "drills"
# among the versions of an older rally: the package whose drill it was
PACKAGE = "drill"

# the time that a drill measures: from one repetition to the next, or each one's duration
Span = Literal["period", "duration"]


@dataclass(frozen=True)
class _DrillAbout:
    """The description of a drill: its table in ``drills.toml``."""

    title: str  # what a repetition is, in `tennis drill --help`
    words: str  # above its figures, as in "sending took"
    source: str
    # who can do it; "program": a user's own, by itself
    contexts: Sequence[DrillContext]
    span: Span = "duration"
    # what it allocates, a repetition each, in turn; empty: it allocates nothing
    sizes_bytes: Sequence[int] = ()
    loops_back: bool = False  # it takes a wire from the reply line back to the target


# of a drill that this Tennis does not have
PLAIN = _DrillAbout(title="unknown", words="a repetition took", source="", contexts=("user",))


@dataclass(frozen=True)
class _KnownDrill:
    """A drill that there is."""

    name: DrillName
    about: _DrillAbout

    @property
    def contexts(self) -> list[DrillContext]:
        """Return the contexts in which its own code can run."""
        return [context for context in self.about.contexts if context != PROGRAM]

    @property
    def code(self) -> Path:
        """Return the C file that does it, in a process or in the kernel."""
        return FOLDER / f"{self.name}.c"


@cache
def every() -> tuple[_KnownDrill, ...]:
    """Return all drills."""
    tables = tomllib.loads((FOLDER / "drills.toml").read_text())
    return tuple(_KnownDrill(name, _DrillAbout(**table)) for name, table in tables.items())


def names() -> list[DrillName]:
    """Return the names of all drills."""
    return [one.name for one in every()]


def find(name: str) -> _KnownDrill:
    """Return a drill. Raises UsageError for an unknown name."""
    for one in every():
        if one.name == name:
            return one
    raise UsageError(f"no drill {name!r} here", next_step=f"use {', '.join(names())}")


def is_here(manifest: Manifest) -> bool:
    """Tell whether a rally holds a drill that this Tennis has."""
    drill = manifest.drill
    return drill is not None and drill.name in names() and PACKAGE not in manifest.tool.versions


def drill_about(manifest: Manifest) -> _DrillAbout:
    """Return the description of a rally's drill; PLAIN if this Tennis does not have it."""
    if manifest.drill is None or not is_here(manifest):
        return PLAIN
    return find(manifest.drill.name).about
