# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Open a capture's file as bytes: of text its marks are left out, and UTF-16 becomes UTF-8."""

import codecs
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO, cast

from tennis.rally.disk import open_regular
from tennis.umpire.captures.edges import CaptureError

WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def opened(path: Path) -> BinaryIO:
    """Open a capture's file, which may come from somebody else. Raises CaptureError."""
    try:
        return open_regular(path)
    except OSError as error:
        raise CaptureError(
            f"cannot read {path} ({error.strerror})", next_step="name a capture (.sr, .vcd, .csv)"
        ) from error


def opened_text(path: Path) -> BinaryIO:
    """Open a text as UTF-8 (or whatever holds ASCII), after its byte order mark.

    Raises CaptureError; reading raises UnicodeError where UTF-16 is damaged.
    """
    file = opened(path)
    begins = file.read(3)
    for mark, encoding in WIDE.items():
        if begins.startswith(mark):
            file.seek(len(mark))
            return cast("BinaryIO", codecs.EncodedFile(file, "utf-8", encoding))
    file.seek(len(codecs.BOM_UTF8) if begins == codecs.BOM_UTF8 else 0)
    return file


def pass_over(file: BinaryIO, size: int) -> None:
    """Read so many bytes of a text that cannot seek."""
    while size > 0 and (block := file.read(min(size, 1 << 20))):
        size -= len(block)


class WholeLines(BufferedIOBase):
    """A text without its last line if that has no end: whatever wrote it may have been cut off."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held = b""  # begins a line whose end is not there yet
        self._ready = b""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most ``size`` bytes; none at the end. Raises CaptureError."""
        wanted = 1 << 20 if size is None or size < 0 else size
        while not self._ready:
            block = self._file.read(max(wanted, 1 << 16))
            if not block:
                return b""
            cut = block.rfind(b"\n") + 1
            if cut:
                self._ready = self._held + block[:cut]
                self._held = block[cut:]
            else:
                self._held += block
            if len(self._held) > MAX_LINE:
                raise ValueError(f"a line of more than {MAX_LINE} bytes")
        out, self._ready = self._ready[:wanted], self._ready[wanted:]
        return out


MAX_LINE = 1 << 20  # bytes
