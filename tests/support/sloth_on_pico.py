"""A SLOTH application in the RAM of an emulated Pico: time in cycles of its Cortex-M0+."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.bench.commands import run
from tennis.bench.instruments.emulated import FOLDER

REPLY_PAD = 3


@dataclass(frozen=True)
class EmulatedTimes:
    """The result. All in cycles of 8 ns since power came on; one of each a ball."""

    console: str
    pings: NDArray[np.int64]  # rises
    rises: NDArray[np.int64]  # of the reply line
    falls: NDArray[np.int64]


def play(elf: Path, cycles: int, distances: Sequence[int] = ()) -> EmulatedTimes:
    """Run an image for the board RP2040 (image.py) for this many cycles.

    ``distances``: from the ready line's rise to the first ping, then from each reply's fall to the
    next ping; cycles. Raises BenchError if the program cannot be run.
    """
    words: list[str | Path] = ["node", FOLDER / "run-program.mjs", elf, str(REPLY_PAD), str(cycles)]
    words.append(json.dumps([int(distance) for distance in distances]))
    found = json.loads(run(words, what="the emulated Pico"))
    edges = np.array(found["edges"], np.int64)
    whole = edges[: edges.size // 2 * 2]  # without a pulse that the end cut off
    return EmulatedTimes(
        found["console"], np.array(found["pings"], np.int64), whole[::2], whole[1::2]
    )
