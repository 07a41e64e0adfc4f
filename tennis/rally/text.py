"""Text that came with a rally, made safe for a terminal and a page."""

import os
import shlex
from pathlib import Path


def plain(text: str, limit: int = 400) -> str:
    """Return ``text`` in one line without control or direction characters, at most ``limit`` long.

    A rally comes from somebody else; its words must not move the cursor or hide other words.
    """
    shown = "".join(c if c.isprintable() else " " for c in text[: limit + 1])
    shown = " ".join(shown.split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def quoted(path: Path | str) -> str:
    r"""Return a path as it is typed in a shell, also if it begins with a dash.

    Control characters are written as bash reads them: ``$'a\x1bb'``.
    """
    text = str(path)
    if not text.isprintable():
        octets = "".join(
            chr(o) if chr(o).isprintable() and o < 0x7F and chr(o) not in "'\\" else f"\\x{o:02x}"
            for o in os.fsencode(text)
        )
        return f"$'{octets}'"
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
