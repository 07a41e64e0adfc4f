# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Who this instrument is, and exactly which files it runs."""

import hashlib
import os
import sys

import machine

INSTRUMENT = "brickwall"
FIRMWARE = "1"


def files_sha256(folder="/"):
    """Return the SHA-256 of the folder's Python files: each one's name, a NUL and its content."""
    digest = hashlib.sha256()
    block = bytearray(512)
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".py")):
        digest.update(name.encode() + b"\0")
        with open(folder + "/" + name, "rb") as file:
            while size := file.readinto(block):
                digest.update(memoryview(block)[:size])
    return digest.digest().hex()


def identity():
    """Return what does not change until the next boot."""
    return {
        "instrument": INSTRUMENT,
        "firmware": FIRMWARE,
        "firmware_sha256": files_sha256(),
        "micropython": "%d.%d.%d" % sys.implementation.version[:3],
        "board": sys.implementation._machine,
        "unique_id": machine.unique_id().hex(),
        "boot": os.urandom(8).hex(),
    }
