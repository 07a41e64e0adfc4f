"""Sealed folders that somebody altered, with hashes and a seal that are right all the same."""

import json
from pathlib import Path
from typing import Any

from tennis.kit.digests import sha256_of
from tennis.rally.folder import MANIFEST
from tennis.rally.record_file import seal_of


def reseal(folder: Path, content: dict[str, Any] | None = None, **changes: Any) -> None:
    """Make hashes and seal of a folder true again, as a forger would.

    ``content``: in place of its manifest; ``changes``: fields of it, ``a__b`` is the b of its a.
    """
    content = json.loads((folder / MANIFEST).read_text()) if content is None else content
    for key, value in changes.items():
        *where, last = key.split("__")
        place = content
        for part in where:
            place = place[part]
        place[last] = value
    for name in content["files"]:
        if (folder / name).is_file():
            content["files"][name] = sha256_of(folder / name)
    content["seal"] = seal_of(content)
    (folder / MANIFEST).write_text(json.dumps(content))
