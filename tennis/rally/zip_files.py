# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Zip files that came from somebody else: what must be known before Python's zipfile reads one."""

import os
import struct
import zipfile
import zlib
from pathlib import Path

# Python's zipfile unpacks others, too, and then ignores how much was asked for
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# what a damaged zip file does to zipfile; an OSError is a place before the file's beginning
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError),
    *(ValueError, OverflowError, OSError),
)


def directory_of(path: Path) -> tuple[int, int]:
    """Return how many members a zip file says it has, and the bytes of its directory.

    zipfile holds the whole directory in memory: who opens a stranger's file bounds it before.
    Raises zipfile.BadZipFile, OSError.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - (1 << 16) - 22 - 76))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + 22 > len(tail):
        raise zipfile.BadZipFile("it has no end")
    members, directory = struct.unpack_from("<HI", tail, at + 10)
    # zipfile believes the larger form whenever it is there, so that is what must be bounded
    if at >= 76 and tail[at - 20 : at - 16] == b"PK\x06\x07":
        if tail[at - 76 : at - 72] != b"PK\x06\x06":
            raise zipfile.BadZipFile("its end is not whole")
        members, directory = struct.unpack_from("<QQ", tail, at - 76 + 32)
    return members, directory
