# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Pictures by name, as packages name them: the kit's own like anybody else's.

The group ``tennis.plots.rally`` holds functions that take a rally and return a ``Picture``, or None
where there is none of this rally. ``tennis.plots.rallies`` has those that take several.
"""

from collections.abc import Callable
from typing import Any

from tennis import entries
from tennis.entries import OWN, Entry, EntryError
from tennis.errors import TennisError
from tennis.log import log
from tennis.plots.picture import Picture

GROUP = "tennis.plots"


def every(of: str) -> dict[str, Entry]:
    """Return the pictures of what is called so, ``rally`` or ``sweeps``, by name.

    Of two of the same name the kit's own counts, else the first; a line says so of the other.
    """
    found: dict[str, Entry] = {}
    for entry in entries.entries(f"{GROUP}.{of}"):
        if entry.name in found:
            log.info(f"{entry} is not drawn: {found[entry.name].package} has one of this name")
        found.setdefault(entry.name, entry)
    return found


def read(entry: Entry) -> Callable[[Any], Any]:
    """Return the function that an entry names. Raises EntryError for what is none."""
    found: Callable[[Any], Any] = entry.load()
    if not callable(found):
        raise EntryError(f"{entry} is no function", next_step=entry.repair)
    return found


def draw(entry: Entry, what: Any) -> Picture | None:
    """Draw what was opened; None: there is no such picture of it.

    Raises EntryError where a package is broken, and what the picture itself raises, as RallyError.
    """
    function = read(entry)
    try:
        picture = function(what)
    except TennisError:
        raise
    except Exception as error:
        if entry.package == OWN:
            raise
        why = f"{type(error).__name__}: {error}"
        raise EntryError(f"{entry} failed ({why})", next_step=entry.repair) from error
    if picture is not None and not isinstance(picture, Picture):
        raise EntryError(
            f"{entry} returned no tennis.plots.Picture, but {type(picture).__name__}",
            next_step=entry.repair,
        )
    return picture
