# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A nonce of the class: with it, the seeds of this year's students are no others' of last year."""

import base64
import re
import secrets
from pathlib import Path

from tennis.course.labs import COURSE, LABS, LabError
from tennis.errors import UsageError
from tennis.rally.disk import write_whole

BYTES = 10
LINE = re.compile(r"(?m)^nonce = .*\n")


def write_nonce(labs: Path = LABS, *, force: bool = False) -> str:
    """Write a nonce that nobody can guess into ``course.toml``; return it.

    Raises UsageError where there is one already: another one makes other seeds. LabError where
    there is no such file.
    """
    path = labs / COURSE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"{path} cannot be read: {error.strerror}", next_step="restore it from the checkout"
        ) from error
    if LINE.search(text) and not force:
        raise UsageError(
            f"{path} has a nonce: with another one every student has other seeds",
            next_step="say --force before the term, and never in it",
        )
    nonce = base64.b32encode(secrets.token_bytes(BYTES)).decode().lower().rstrip("=")
    text, count = re.subn(r"(?m)^(?=labs = )", f'nonce = "{nonce}"\n', LINE.sub("", text))
    if count != 1:
        raise LabError(
            f"{path}: one line must begin with `labs = `", next_step="restore it from the checkout"
        )
    write_whole(path, text.encode(), force=True)
    return nonce
