# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What several processors of the virtual target do for each other, and one alone does not.

Interprocessor interrupts, and the softirqs of RCU and the scheduler, a second: the target reads
/proc/interrupts and /proc/softirqs twice, some seconds apart, before the first ball. The kernel's
image says how many of its instructions invalidate translations on all processors, and on their own.

    .venv/bin/python benchmarks/between_processors.py
"""

import argparse
import gzip
import itertools
import re
import tempfile
from pathlib import Path

import numpy as np
from measuring import played

from tennis.bench.kernels import catalogue
from tennis.bench.virtual.bench import Extras
from tennis.rally.folder import CONSOLE
from tennis.units import format_count

KERNELS = ("mainline", "rt")
LOADS = ("idle", "stress")
AFTER = """#!/bin/busybox sh
count() {{
  sed -n "s/^ *IPI[0-9]*:/tennis: $1/p" /proc/interrupts
  sed -n "s/^ *\\(RCU\\|SCHED\\):\\(.*\\)/tennis: $1 \\2 softirqs of \\1/p" /proc/softirqs
}}
sleep 1
count before
sleep {seconds}
count after
"""
LINE = re.compile(r"tennis: (before|after)((?: +\d+)+) +(\w.*?)\s*$", re.MULTILINE)
# Arm ARM (DDI 0487), C5.5 "A64 System instructions for TLB maintenance": SYS is 1101 0101 0000 1,
# op1 of 3 bits (0: of EL1, the kernel's), CRn of 4 (8: TLBI), and CRm of 4 says how far it goes
TLBI_EL1 = 0b1101_0101_0000_1_000_1000
BROADCAST, OWN = (1, 2, 3, 5), (6, 7)  # outer or inner shareable; non-shareable


def sent(kernel: str, load: str, processors: int, seconds: int, out: Path) -> dict[str, list[int]]:
    """Return how many interrupts of each kind each processor took in so many seconds."""
    script = AFTER.format(seconds=seconds).encode()
    extras = Extras(files={"/tennis/after": script})
    settings = {"kernel": kernel, "load": load, "processors": processors}
    rally = played(out, extras, **settings, balls=10, settle_s=seconds + 3.0)
    counts: dict[str, dict[str, list[int]]] = {"before": {}, "after": {}}
    for when, numbers, what in LINE.findall((rally.path / CONSOLE).read_text(errors="replace")):
        counts[when][what] = [int(number) for number in numbers.split()]
    if not counts["after"] or counts["before"].keys() != counts["after"].keys():
        raise SystemExit(f"{rally.path}: the target did not tell its interrupts twice")
    return {
        what: [b - a for a, b in zip(counts["before"][what], after, strict=True)]
        for what, after in counts["after"].items()
    }


def invalidations(kernel: str) -> tuple[int, int]:
    """Return how many TLBI instructions of a kernel's image reach all processors, and its own."""
    image = catalogue.find(kernel).image.read_bytes()
    if image.startswith(b"\x1f\x8b"):
        image = gzip.decompress(image)
    words = np.frombuffer(image[: len(image) // 4 * 4], dtype="<u4")
    found = words[words >> 12 == TLBI_EL1] >> 8 & 15
    return int(np.isin(found, BROADCAST).sum()), int(np.isin(found, OWN).sum())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=5, help="of virtual time")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="names, with commas")
    asked = parser.parse_args()
    kernels = asked.kernels.split(",")
    with tempfile.TemporaryDirectory(prefix="tennis-bench-") as folder:
        for kernel, load, processors in itertools.product(kernels, LOADS, (1, 2, 4)):
            out = Path(folder) / f"{kernel}-{load}-{processors}"
            for what, counts in sent(kernel, load, processors, asked.seconds, out).items():
                if any(counts):
                    each = ", ".join(f"{count / asked.seconds:,.1f}" for count in counts)
                    target = f"{kernel}, {load}, {format_count(processors, 'processor')}"
                    print(f"{target}: {what}: {each} a second", flush=True)
    for kernel in kernels:
        everywhere, own = invalidations(kernel)
        print(f"{kernel}: {everywhere} TLBI instructions reach all processors, {own} one only")


if __name__ == "__main__":
    main()
