"""The SHA-256 of files."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

BLOCK_BYTES = 1 << 20


def sha256_of(*paths: Path) -> str:
    """Return the SHA-256 of the contents of files, one after another, as hexadecimal digits.

    Raises OSError.
    """
    hashed = hashlib.sha256()
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK_BYTES):
                hashed.update(block)
    return hashed.hexdigest()


def sha256_of_folder(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of files by their places: places and contents, in the places' order."""
    whole = hashlib.sha256()
    for place, content in sorted(files.items()):
        whole.update(f"{place}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()
