"""Choose a capture's channels of ping and reply: by name, else by place, always with a note.

``Wires`` has what a user adds about a capture that its file may lack.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tennis.rally.captures.edges import CaptureError
from tennis.rally.text import plain

NAMES = ("ping", "reply")


@dataclass(frozen=True)
class Wires:
    """Channels, polarity, sample rate; None: not named."""

    ping: str | None = None
    reply: str | None = None
    invert_ping: bool = False
    invert_reply: bool = False
    rate_hz: Fraction | None = None


USUAL = Wires()


def chosen(path: Path, names: Sequence[str], wires: Wires) -> tuple[tuple[int, int], list[str]]:
    """Return the places of ping and reply, and notes about guesses.

    Raises CaptureError if it cannot be known.
    """
    shown = [plain(name, 40) for name in names]
    named = (wires.ping, wires.reply)
    found: list[int | None] = [None, None]
    for wire in (0, 1):
        word = named[wire]
        if word is not None:
            found[wire] = _channel_named(path, shown, word)
    if len(names) < 2 and None in found:
        raise CaptureError(
            f"{path} holds {len(names)} of the two channels that are needed",
            next_step="capture the ping wire and the reply wire at once",
        )
    for wire in (0, 1):
        if found[wire] is None:
            taken = found[1 - wire] if named[1 - wire] is not None else None
            found[wire] = _channel_by_name(
                path, shown, [i for i in range(len(names)) if i != taken], NAMES[wire]
            )
    rest = [i for i in range(len(names)) if i not in found]
    if named == (None, None) and found.count(None) == 1 and len(rest) > 1:
        # one name fits, and any of the others may be the other wire
        other = NAMES[found.index(None)]
        raise CaptureError(
            f"{path} has no channel {other}: it has {_listed(shown)}",
            next_step=f"name the one on the {other} wire, with --{other}",
        )
    if found[0] is not None and found[0] == found[1]:
        raise CaptureError(
            f"{path}: {plain(shown[found[0]], 20)} cannot be both ping and reply",
            next_step="name two, with --ping and --reply",
        )
    notes = [
        f"took the channel {shown[place]} for {NAMES[wire]}"
        for wire, place in enumerate(found)
        if place is not None and named[wire] is None and shown[place].lower() != NAMES[wire]
    ]
    for wire in (0, 1):
        if found[wire] is None:
            place = found[wire] = rest.pop(0)
            notes.append(
                f"no channel is named {NAMES[wire]}: took {shown[place]} for it, by its place; "
                f"--{NAMES[wire]} names another"
            )
    ping, reply = found
    assert ping is not None  # noqa: S101
    assert reply is not None  # noqa: S101
    return (ping, reply), notes


def _channel_named(path: Path, names: list[str], word: str) -> int:
    wanted = plain(word, 40).lower()
    places = [i for i, name in enumerate(names) if name.lower() == wanted]
    if len(places) > 1:
        raise CaptureError(
            f"{path} has {len(places)} channels named {plain(word, 40)!a}",
            next_step="give each a name of its own, and export it again",
        )
    if not places:
        raise CaptureError(f"{path} has no channel {word!a}: it has {_listed(names)}")
    return places[0]


def _channel_by_name(path: Path, names: list[str], places: list[int], name: str) -> int | None:
    """Return the channel of the usual name, else the only one with it as a word; None: none."""
    same = [i for i in places if names[i].lower() == name]
    words = [i for i in places if name in re.split(r"[\W_]+", names[i].lower())]
    for group in (same, words):
        if len(group) == 1:
            return group[0]
        if group:
            raise CaptureError(
                f"{path} has {len(group)} channels that may be {name}: "
                f"{_listed([names[i] for i in group])}",
                next_step=f"name one with --{name}, or rename one",
            )
    return None


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 16} more" if len(names) > 16 else ""
    return (", ".join(plain(name, 20) for name in names[:16]) or "none") + more
