"""Names that a system or an editor changed: ``marks (1).toml``, ``rt-idle - Copy``, ``x.toml.txt``.

A file that is called so is not the one that is read, and nobody sees why.
"""

import re
from pathlib import Path

# what systems put behind a name that is there already, before the dot of a file: in lower case
COPY = re.compile(
    r"(?: ?\(\d{1,3}\)| ?- ?(?:copy|kopie|copie|copia)(?: ?\(\d{1,3}\))?"
    r"| copy(?: \d{1,3})?| \d{1,2})$"
)
SHOWN_MAX = 3  # that are named


def _without_copy(name: str) -> str:
    """Return a name in lower case without the mark of a copy."""
    stem, dot, ending = name.partition(".")
    return COPY.sub("", stem) + dot + ending if COPY.sub("", stem) else name


def copies_of(path: Path) -> list[str]:
    """Return the names beside a file or folder that look like copies of it."""
    wanted = {path.name.lower(), f"{path.name}.txt".lower()}
    try:
        beside = sorted(one.name for one in path.parent.iterdir())
    except OSError:
        return []
    return [name for name in beside if name != path.name and _without_copy(name.lower()) in wanted]
