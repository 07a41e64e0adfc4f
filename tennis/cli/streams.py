"""Standard streams that are closed, full or gone: the work continues, and the end reports losses.

A program that began without a descriptor (``>&-``, a daemon, a service) gives its number to the
next file that it opens: any print to it then writes into that file.
"""

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

QUIET = "tennis.quiet"  # in click's context: nobody wants progress


class _Output(io.FileIO):
    """A descriptor for output. It takes everything; ``lost`` is why something went nowhere."""

    def __init__(self, number: int, *, closed: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self.lost: OSError | None = None
        self._never_open = closed

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, or drop what cannot be written; return how many bytes are done with."""
        size = memoryview(data).nbytes
        if self._never_open and size:
            self.lost = self.lost or OSError(errno.EBADF, os.strerror(errno.EBADF))
        if self.lost is not None:
            return size
        try:
            while (written := super().write(data)) is None:  # somebody made it non-blocking
                select.select([], [self], [])
        except OSError as error:
            self.lost = error
            return size
        return written


def prepare(errors: str) -> None:
    """Open closed ones of the descriptors 0 to 2; let both outputs take every character.

    ``errors`` says what happens to characters that a terminal cannot show. Call it before anything
    is opened. Streams that a test put in place are left alone.
    """
    closed = _open_closed()
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is not None and not _is_own(stream, number):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=errors)
            continue
        output = _Output(number, closed=number in closed)
        text = io.TextIOWrapper(
            io.BufferedWriter(output),
            encoding=stream.encoding if stream else "utf-8",
            errors=errors,
            line_buffering=number == 2 or output.isatty(),
            write_through=bool(stream and stream.write_through),
        )
        setattr(sys, name, text)


def lost() -> OSError | None:
    """Return why standard output lost a part of the text so far; None: it did not."""
    output = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return output.lost if isinstance(output, _Output) else None


def loss() -> tuple[str, int]:
    """Return what to say at the end of standard output that went nowhere, and the exit code.

    The text is empty and the code 0 if nothing is lost, or if the reader closed the pipe after it
    saw enough. The code is also 0 if the output was closed from the beginning.
    """
    why = lost()
    if why is None or why.errno == errno.EPIPE:
        return "", 0
    if why.errno == errno.EBADF:
        return "standard output is closed: what was printed went nowhere", 0
    return f"output: {why.strerror or why}", 1


def _open_closed() -> set[int]:
    """Open the null device for each of the descriptors 0 to 2 that is closed; return these."""
    found = set()
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # the lowest that is free: this one; programs that are started have it, too
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            found.add(number)
    return found


def _is_own(stream: object, number: int) -> bool:
    """Tell whether a stream is the one that Python opened for a descriptor."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # without a buffer if PYTHONUNBUFFERED is set
    return isinstance(raw, io.FileIO) and raw.fileno() == number
