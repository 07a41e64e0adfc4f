# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What SLOTH beneath Linux costs Linux: the same kernel with and without the monitor, in one run.

Virtual time, 2 ns an instruction; entering and leaving EL2 takes no instruction in QEMU, so this is
what the monitor's own code takes.

    .venv/bin/python benchmarks/beneath.py
"""

import re
import tempfile
from pathlib import Path

from measuring import played

from tennis.bench.kernels.modules import program
from tennis.bench.virtual.bench import Extras

GUEST = Path(__file__).parent / "guest" / "switches.c"
AFTER = b"#!/bin/sh\n/tennis/switches > /tmp/said; cat /tmp/said > /dev/console\n"


def measured(kernel: str, beneath: str) -> dict[str, int]:
    """Return medians in ns, as a program in Linux saw them; nobody serves meanwhile."""
    files = {"/tennis/switches": program(GUEST), "/tennis/after": AFTER}
    # the program is done before the first ball
    settings = {"kernel": kernel, "beneath": beneath, "balls": 20, "settle_s": 6}
    with tempfile.TemporaryDirectory() as scratch:
        rally = played(Path(scratch) / "r", Extras(files=files), **settings)
        return {name: int(ns) for name, ns in re.findall(r"switches: (\w+) (\d+)", rally.console())}


def main() -> None:
    """Print medians and ratios for mainline and rt."""
    for kernel in ("mainline", "rt"):
        alone, above = measured(kernel, "none"), measured(kernel, "sloth")
        for name in alone:
            print(
                f"{kernel:9} {name:12} alone {alone[name]:6} ns, above SLOTH {above[name]:6} ns, "
                f"{above[name] - alone[name]:+5} ns, ratio {above[name] / alone[name]:.3f}"
            )


if __name__ == "__main__":
    main()
