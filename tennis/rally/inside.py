"""A drill's own measurements, from the target's console (target/drills/drill.h).

The console may come from somebody else: everything is bounded and checked.
"""

import binascii
import hashlib
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.kit.errors import RallyError
from tennis.rally.folder import CONSOLE, Rally
from tennis.rally.opening import SIZE_LIMITS

MARK = b"tennis: inside "
FACT = b"tennis: fact inside_sha256 "
HEADER = struct.Struct("<IIQQQQQQQ")
REPETITION = np.dtype([("since_last", "<u4"), ("duration", "<u4")])
VERSION = 1
LONGEST = 2**32 - 1  # represents all that is longer; ns
OVERHEADS = 1000  # the number of each that were timed together
REPETITIONS_MAX = 10_000_000
_SIZE_MAX = HEADER.size + REPETITIONS_MAX * REPETITION.itemsize


@dataclass(frozen=True)
class Inside:
    """A drill's own times, by the target's clock; ns.

    ``since_last`` and ``duration``: uint32, shape (repetitions,); the first has no predecessor and
    is 0. LONGEST represents all that is longer.
    """

    since_last_ns: NDArray[np.uint32]
    duration_ns: NDArray[np.uint32]
    overruns: int  # periods that passed before the one before them was over
    page_faults: int
    failures: int  # repetitions in which the kernel refused
    clock_ns: float  # what reading the clock once takes
    line_ns: float  # what writing the line once takes
    loop_ns: float  # what a round of an empty loop takes
    first_ns: int


def read_inside(rally: Rally) -> Inside:
    """Read what a drill measured by itself.

    Raises RallyError if the folder is no drill's, or if the console does not hold all of it.
    """
    if rally.manifest.drill is None:
        raise RallyError(f"{rally.path} is a rally, and no drill", next_step="use `tennis stats`")
    if rally.manifest.ended != "complete":
        raise RallyError(
            f"{rally.path} did not finish: the target reported no measurement",
            next_step="continue with `tennis resume`, or do it again",
        )
    path = rally.file(CONSOLE)
    if path is None:
        raise RallyError(f"{rally.path} has no {CONSOLE}, which contains the target's measurements")
    text, told = _times_on_console(path)
    raw = _unpacked(rally, text)
    if hashlib.sha256(raw).hexdigest().encode() != told:
        raise _damaged(rally, "they differ from those that the target announced")
    header = HEADER.unpack_from(raw)
    version, repetitions, overruns, faults, failures, clock, line_, loop, first = header
    if version != VERSION:
        raise _damaged(rally, f"they are of version {version}, this tennis reads {VERSION}")
    if len(raw) != HEADER.size + repetitions * REPETITION.itemsize:
        raise _damaged(rally, f"{repetitions} repetitions are announced, and not there")
    if repetitions != rally.balls:
        raise _damaged(
            rally, f"the target counted {repetitions}, and the instrument saw {rally.balls}"
        )
    kept = np.frombuffer(raw, REPETITION, offset=HEADER.size)
    return Inside(
        since_last_ns=kept["since_last"].copy(),
        duration_ns=kept["duration"].copy(),
        overruns=overruns,
        page_faults=faults,
        failures=failures,
        clock_ns=clock / OVERHEADS,
        line_ns=line_ / OVERHEADS,
        loop_ns=loop / OVERHEADS,
        first_ns=first,
    )


def is_drill_complete(console: Path) -> bool:
    """Tell whether a console holds all that a drill measured, as the target announced it."""
    if not console.exists():
        return False
    text, told = _times_on_console(console)
    unzip = zlib.decompressobj(wbits=31)
    try:
        raw = unzip.decompress(binascii.a2b_base64(text, strict_mode=True), _SIZE_MAX)
    except (binascii.Error, zlib.error):
        return False
    return hashlib.sha256(raw).hexdigest().encode() == told


def _times_on_console(console: Path) -> tuple[bytes, bytes]:
    """Return the times on a console, still packed, and the announced hash."""
    parts, told = [], b""
    with console.open("rb") as file:
        for line in file.read(SIZE_LIMITS[CONSOLE]).splitlines():
            if line.startswith(MARK):
                parts.append(line[len(MARK) :].strip())
            elif line.startswith(FACT):
                told = line[len(FACT) :].strip()
    return b"".join(parts), told


def _unpacked(rally: Rally, text: bytes) -> bytes:
    unzip = zlib.decompressobj(wbits=31)  # gzip's own header
    try:
        raw = unzip.decompress(binascii.a2b_base64(text, strict_mode=True), _SIZE_MAX)
    except (binascii.Error, zlib.error) as error:
        raise _damaged(rally, "they cannot be unpacked") from error
    if not unzip.eof or len(raw) < HEADER.size:
        raise _damaged(rally, "they are not whole")
    return raw


def _damaged(rally: Rally, why: str) -> RallyError:
    return RallyError(
        f"{rally.path}: the target's own times are damaged: {why}", next_step="play the drill again"
    )
