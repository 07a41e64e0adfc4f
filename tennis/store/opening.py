# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Make and open stores: in a folder, or in a bucket."""

from pathlib import Path

from tennis.credentials import refuse_credentials
from tennis.errors import UsageError
from tennis.rally.disk import open_regular, write_whole, writing
from tennis.store import bucket
from tennis.store.layout import ABOUT, ABOUT_MAX, CONTENT, RALLIES, STORE, check_content
from tennis.store.shelf import FolderShelf
from tennis.store.store import Store


def create(path: Path | str) -> Store:
    """Make an empty store, or open the one that is there; a text is a bucket's URL.

    Raises RallyError, UsageError; BenchError where a bucket cannot be reached or written to.
    """
    refuse_credentials(str(path))
    if isinstance(path, str):
        return Store(bucket.create(path))
    if (path / STORE).is_file():
        return open_store(path)
    # asked in this order: another process may make it meanwhile, so the last look decides
    if path.exists() and not _is_begun(path) and not (path / STORE).is_file():
        raise UsageError(f"{path} exists and is not a store", next_step="choose another folder")
    with writing(path):
        for folder in (RALLIES, ABOUT):
            (path / folder).mkdir(parents=True, exist_ok=True)
        write_whole(path / STORE, CONTENT, force=True)  # whoever is first: all write the same
    return open_store(path)


def _is_begun(path: Path) -> bool:
    """Tell whether a folder is empty, or has what comes first when a store is made."""
    if not path.is_dir():
        return False
    return all(
        one.name.startswith(f".{STORE}.")
        or (one.name in {RALLIES, ABOUT} and one.is_dir() and not any(one.iterdir()))
        for one in path.iterdir()
    )


def open_store(path: Path | str) -> Store:
    """Open a store; a text is a bucket's URL.

    Raises RallyError where it is none, or a newer one; BenchError where a bucket cannot be reached.
    """
    refuse_credentials(str(path))
    if isinstance(path, str):
        return Store(bucket.open_there(path))
    try:
        with open_regular(path / STORE) as file:
            content = file.read(ABOUT_MAX)
    except OSError:
        content = b""
    check_content(content, str(path))
    return Store(FolderShelf(path))
