"""Compare the demonstration with the README, by the digests of its rallies."""

import json
from collections.abc import Iterable
from pathlib import Path

from tennis.kit.checkout import ROOT
from tennis.kit.edition import EDITION
from tennis.rally import Rally
from tennis.rally.repeated import digest_of, not_comparable

DIGESTS = ROOT / "plans" / "quick.digests.json"  # written by scripts/figures.py


def as_printed(rallies: Iterable[Rally], digests: Path = DIGESTS) -> str:
    """Say whether these rallies are those of the README: yes, no, or not comparable, and why.

    Empty: the tree does not say what they were, or other rallies were asked for.
    """
    if not digests.exists():
        return ""
    known = json.loads(digests.read_text())
    played = {rally.path.name: rally for rally in rallies}
    if set(played) != set(known["rallies"]):
        return ""
    if known["edition"] != EDITION:
        return f"not comparable: the README is of edition {known['edition']}, not {EDITION}"
    other = []
    for name, one in known["rallies"].items():
        versions = played[name].manifest.tool.versions
        if why := not_comparable(known["debian"][one["debian"]], versions):
            return f"not comparable: {why}"
        if digest_of(played[name]) != one["digest"]:
            other.append(name)
    if not other:
        return "yes"
    which = f"{other[0]} is another" if len(other) == 1 else f"{len(other)} are others"
    return f"no: of {len(known['rallies'])} rallies {which}; please report it"
