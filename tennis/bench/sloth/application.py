"""The application that answers on SLOTH, with its load, built for a kernel's board."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tennis.bench import loads as load_folder
from tennis.bench.sloth import KERNELS, PICO, PICO2
from tennis.bench.sloth.image import CORES, LM3S6965, RP2040, RP2350, SLOTH, Core, image, own_image
from tennis.kit.errors import UsageError
from tennis.rally.manifest import OWN

# a load's parameters for the application: the kit's Racquet takes them, a user's own may
DEFINES = {"hold_us": "HOLD_US", "period_us": "PERIOD_US", "ceiling": "CEILING"}
STORM = "storm"  # this load is an application of its own
BOARDS = {PICO: RP2040, PICO2: RP2350}  # the others are QEMU's


@dataclass(frozen=True)
class Application:
    """A program for a board."""

    core: Core
    elf: Path
    header: Path  # the configuration
    name: str  # what answers
    load: str  # the application's other work


def application(
    kernel: str,
    load: str,
    load_options: Mapping[str, int],
    racquet: Path | None = None,
    instruction_ns: int | None = None,
) -> Application:
    """Build the application for one of ``KERNELS``; ``racquet``: a user's own one.

    ``instruction_ns``: how long an instruction takes in QEMU. Raises UsageError for a load that
    SLOTH lacks, BenchError with the compiler's first complaint.
    """
    found = load_folder.find(load, load_options, "sloth")
    core, board = CORES[KERNELS[kernel]], BOARDS.get(kernel, LM3S6965)
    defines = {DEFINES[name]: value for name, value in found.values.items()}
    told = " ".join(f"{name}={value}" for name, value in defines.items())
    if board is LM3S6965 and instruction_ns is not None:
        defines["NS_PER_INSTRUCTION"] = instruction_ns
    if racquet is not None:
        if load == STORM:
            raise UsageError(
                f"--load {STORM} is an application of its own: --racquet has no place in it",
                next_step="use --load idle or hog",
            )
        elf = own_image(racquet, core, board, defines=defines)
        return Application(core, elf, racquet.with_suffix(".h"), OWN, told)
    name = STORM if load == STORM else "racquet"
    source = SLOTH / f"{name}.c"
    elf = image(source, core, board, defines=defines)
    return Application(core, elf, source.with_suffix(".h"), f"SLOTH {name}", told)
