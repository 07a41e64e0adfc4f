# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What SLOTH's services cost: target/sloth/services.c shows each on the line.

In instructions on QEMU's processors, in cycles on the emulated Pico's.
"""

import contextlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis import wire
from tennis.bench.sloth import emulated
from tennis.bench.sloth.image import CORES, RP2040, SLOTH, Core, image
from tennis.bench.sloth.session import INSTRUCTION_NS, SlothSession
from tennis.errors import BenchError
from tennis.rally.balls import records
from tennis.rally.manifest import Protocol

# the pulses of services.c in their order, behind an empty one; the keys are those of table 5.1 of
# Mueller (2012), where it has the service
SERVICES = (
    "activate_task",
    "activate_task_dispatch",
    "terminate_task",
    "terminate_task_dispatch",
    "chain_task_dispatch",
    "get_resource",
    "release_resource",
    "release_resource_dispatch",
)
# how often the processor enters an exception, leaves one, or goes from one to the next meanwhile:
# QEMU counts none of it as instructions
EXCEPTIONS = {
    "activate_task_dispatch": "enters",
    "terminate_task": "leaves",
    "terminate_task_dispatch": "goes to the next",
    "chain_task_dispatch": "goes to the next",
    "release_resource_dispatch": "enters",
}
REPETITIONS = 50
TIMEOUT_NS = 1_000_000_000
SILENT_TICKS = 100  # 20 s in which nothing comes: nothing will
ROUND_CYCLES = 2_000  # more than one repetition takes on the Pico


def count(core: Core, folder: Path, repetitions: int = REPETITIONS) -> dict[str, int]:
    """Return the instructions of each service: those of its pulse less those of an empty one.

    The console goes to ``folder``. Raises BenchError where two repetitions differ, or none came.
    """
    each = 1 + len(SERVICES)
    protocol = Protocol(
        loop="listen",
        balls=each * repetitions,
        seed=1,
        gap_min_ns=0,
        gap_max_ns=0,
        pulse_ns=1,
        timeout_ns=TIMEOUT_NS,
        settle_ns=0,
    )
    elf = image(SLOTH / "services.c", core)
    with contextlib.closing(SlothSession(elf, core, protocol, folder)) as session:
        pulses, silent = [], 0
        for frame in session.frames():
            silent = silent + 1 if frame is None else 0
            if silent == SILENT_TICKS:
                session.stop()
            if frame is not None and frame.kind == wire.BALLS:
                pulses.append(records(frame.payload)["fall"])
    widths_ns = np.concatenate([np.zeros(0, np.uint32), *pulses]).astype(np.int64)
    found = _costs(widths_ns, repetitions)
    return {name: width_ns // INSTRUCTION_NS for name, width_ns in found.items()}


def count_cycles(repetitions: int = REPETITIONS) -> dict[str, int]:
    """Return the cycles of each service on an emulated Pico's Cortex-M0+, exceptions among them.

    Raises BenchError where two repetitions differ, or too few came.
    """
    elf = image(SLOTH / "services.c", CORES["m0"], RP2040)
    cycles = ROUND_CYCLES * (repetitions + 1)  # the first one is the start
    found = emulated.play(elf, cycles)
    widths = (found.falls - found.rises)[: repetitions * (1 + len(SERVICES))]
    return _costs(widths, repetitions)


def _costs(widths: NDArray[np.int64], repetitions: int) -> dict[str, int]:
    """Return what each service's pulse is longer than an empty one; the same in each repetition."""
    each = 1 + len(SERVICES)
    if widths.size != each * repetitions:
        raise BenchError(
            f"{widths.size} pulses came of {each * repetitions}", next_step="see its console"
        )
    table = widths.reshape(repetitions, each)
    if (table != table[0]).any():
        raise BenchError("a service did not take the same time each time: please report it")
    return {
        name: int(width - table[0, 0]) for name, width in zip(SERVICES, table[0, 1:], strict=True)
    }
