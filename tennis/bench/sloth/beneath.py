"""SLOTH beneath Linux: a monitor at EL2 in front of an unchanged kernel (target/slothful).

The boot loader gets one image: the monitor's 2 MiB, followed by the kernel's own. The device tree
describes the monitor's memory and Linux's end of the pipes.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.kernels.modules import PREFIX, kernel_module, toolchain
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError

SLOTHFUL = ROOT / "target" / "slothful"
MODULE = "racquet_sloth"  # Linux' end of the pipes, in the Racquet's place
# the virtual machine with EL2, for which a GICv2 has its virtual parts
MACHINE = "virt,virtualization=on,gic-version=2,dtb-randomness=on"
GIC_INTERRUPT = "interrupts = <0x01 0x09"  # of the GIC's node: the maintenance interrupt, PPI 9
FLAGS = (
    *("-O2", "-Wall", "-Wextra", "-Werror", "-std=c17", "-ffreestanding", "-nostdlib", "-static"),
    *("-mgeneral-regs-only", "-mstrict-align", "-fno-pic", "-mcmodel=small"),
    *("-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-common"),
    "-mno-outline-atomics",
    *("-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"),
)
MONITOR_SIZE = 0x200000
APPLICATION = SLOTHFUL / "racquet.c"  # with a header NAME-tasks.h beside
# of an arm64 Image's header (Documentation/arch/arm64/booting.rst): its size in memory, its mark
IMAGE_HEADER, IMAGE_MAGIC = struct.Struct("<8xQQQ24xI4x"), 0x644D5241


def sources() -> list[Path]:
    """Return the monitor's sources."""
    return [
        *sorted(SLOTHFUL.glob("*.[chS]")),
        SLOTHFUL / "link.ld",
        SLOTHFUL / "linux.dtsi",
        SLOTHFUL / "linux" / "pipe.h",
    ]


def image(kernel: Kernel, application: Path | None = None, defines: Sequence[str] = ()) -> Path:
    """Return one image of the monitor and a kernel; ``monitor.elf`` is beside it.

    ``application``: for tests, a C file NAME.c with NAME-tasks.h beside it; None: the Racquet's
    tasks. ``defines`` are for tests, too. Raises BenchError for a kernel that is no plain arm64
    Image, or with the compiler's first complaint.
    """
    with kernel.image.open("rb") as file:
        header = file.read(64)
    _, size, _, magic = IMAGE_HEADER.unpack(header) if len(header) == 64 else (0, 0, 0, 0)
    if magic != IMAGE_MAGIC or not size:
        raise BenchError(
            f"{kernel.name} is not a plain arm64 Image: SLOTH cannot run beneath it",
            next_step="use a kernel of Debian's (tennis kernels)",
        )
    words = [*FLAGS, f"-DIMAGE_SIZE={MONITOR_SIZE + size:#x}", *(f"-D{word}" for word in defines)]
    chosen = application or APPLICATION
    tasks = chosen.with_name(f"{chosen.stem}-tasks.h")
    words.append(f'-DCONFIG="{tasks.name}"')

    def build(folder: Path) -> None:
        compiler, elf, plain = f"{PREFIX}gcc", folder / "monitor.elf", folder / "monitor.bin"
        what = "building SLOTH's monitor"
        script = folder / "link.ld"
        run(
            [compiler, "-E", "-P", "-x", "c", f"-I{SLOTHFUL}", "-o", script, SLOTHFUL / "link.ld"],
            what=what,
        )
        code = [path for path in sorted(SLOTHFUL.glob("*.c")) if path != APPLICATION]
        files = [SLOTHFUL / "entry.S", *code, chosen]
        places = [f"-I{SLOTHFUL}", f"-I{chosen.parent}"]
        run([compiler, *words, *places, "-T", script, "-o", elf, *files], what=what)
        run([f"{PREFIX}objcopy", "-O", "binary", elf, plain], what=what)
        content = plain.read_bytes().ljust(MONITOR_SIZE, b"\0")
        (folder / "Image").write_bytes(content + kernel.image.read_bytes())
        plain.unlink()

    own = [] if chosen.parent == SLOTHFUL else [chosen, tasks]
    made = [*toolchain(), *words, environment.BUILT_IN]
    key = digest(*sources(), *own, kernel.image, *made)
    return once("slothful", f"{kernel.name}-{key}", build) / "Image"


def module(kernel: Kernel) -> Path:
    """Return Linux' end of the pipes, built for a kernel."""
    return kernel_module(SLOTHFUL / "linux" / f"{MODULE}.c", kernel)


def add_to_device_tree(blob: Path) -> None:
    """Add what Linux must know to QEMU's device tree, a file.

    Raises BenchError if the machine has no virtual GICv2.
    """
    own = run(["dtc", "-q", "-I", "dtb", "-O", "dts", blob], what="reading QEMU's device tree")
    if GIC_INTERRUPT not in own:
        raise BenchError(
            "this machine's interrupt controller has no virtual parts: SLOTH cannot run beneath "
            "Linux",
            next_step="use QEMU's virt board with virtualization=on and gic-version=2",
        )
    source = blob.with_suffix(".dts")
    source.write_text(own + (SLOTHFUL / "linux.dtsi").read_text())
    run(
        ["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", blob, source],
        what="putting the device tree together",
    )
