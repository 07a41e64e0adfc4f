"""The device tree of a target in QEMU: QEMU's own, with our additions for Linux."""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from tennis.bench.commands import run

# options of QEMU on which its tree depends. The tree holds the seed, for the guest's random numbers
SHAPES = ("-M", "-cpu", "-smp", "-m", "-seed")
GPIO_CONTROLLER = "/pl061@9030000"


def dump(command: Sequence[str], blob: Path) -> None:
    """Write the device tree that QEMU makes of ``command``, its own command line."""
    shape = {option: value for option, value in pairwise(command) if option in SHAPES}
    shape["-M"] += f",dumpdtb={blob}"
    words = [word for pair in shape.items() for word in pair]
    run(
        [command[0], *words, "-nodefaults", "-display", "none"],
        what="asking QEMU for its device tree",
    )


def name_lines(blob: Path, names: Sequence[str]) -> None:
    """Name the first lines of the GPIO controller, as a program asks for them."""
    run(
        ["fdtput", "-t", "s", blob, GPIO_CONTROLLER, "gpio-line-names", *names],
        what="naming the lines in the device tree",
    )


def held_open(blob: Path) -> int:
    """Return a file descriptor with a copy of the tree, which QEMU inherits."""
    descriptor = os.memfd_create("tennis-device-tree", 0)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(blob.read_bytes())
    os.set_inheritable(descriptor, True)
    return descriptor
