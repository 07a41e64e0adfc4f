# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How a store is laid out: sealed rallies, and what was said of them.

They are in ``rallies/ID/`` and ``about/ID.json``. A rally's ID is the hash of its manifest, and the
manifest names that of each file.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tennis.errors import RallyError
from tennis.rally.disk import open_regular
from tennis.rally.folder import MANIFEST
from tennis.rally.manifest import StrictModel
from tennis.rally.opening import SIZE_LIMITS

STORE = "store.json"
RALLIES, ABOUT = "rallies", "about"
SCHEMA_VERSION = 1
ID_DIGITS = 16  # of the SHA-256 of a rally's manifest
ID = re.compile(f"[0-9a-f]{{{ID_DIGITS}}}")
ABOUT_MAX = 1 << 12  # bytes
CONTENT = (json.dumps({"schema_version": SCHEMA_VERSION}) + "\n").encode()  # of STORE


class _StoreFile(StrictModel):
    schema_version: Literal[1]


def check_content(content: bytes, name: str) -> None:
    """Raise RallyError where this is not what makes a folder a store (STORE), or a newer one."""
    try:
        said = json.loads(content)
    except ValueError as error:
        raise RallyError(
            f"{name} is not a store", next_step=f"make one: tennis store add {name} RALLY"
        ) from error
    version = said.get("schema_version") if isinstance(said, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RallyError(
            f"{name} is of a newer tennis (schema {version}, this one reads {SCHEMA_VERSION})",
            next_step="update tennis",
        )
    try:
        _StoreFile.model_validate(said)
    except ValidationError as error:
        raise RallyError(f"{name}/{STORE} is damaged", next_step="restore it") from error


def id_of(folder: Path) -> str:
    """Return a rally's name in a store: the beginning of its manifest's SHA-256."""
    with open_regular(folder / MANIFEST, links=False) as file:
        return hashlib.sha256(file.read(SIZE_LIMITS[MANIFEST])).hexdigest()[:ID_DIGITS]
