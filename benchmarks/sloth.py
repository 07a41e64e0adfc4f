# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What SLOTH's services cost on QEMU's Cortex-M and a Pico's; table 5.1 of Mueller (2012)."""

import sys
import tempfile
from pathlib import Path

from tennis.bench.sloth.image import CORES, compiler_version
from tennis.bench.sloth.services import EXCEPTIONS, SERVICES, count, count_cycles
from tennis.play.services import count_beneath
from tennis.publications import load


def main() -> int:
    """Count, and print instructions and their ratio to ActivateTask."""
    published = {row["system"]: row for row in load("mueller-2012")["system_services"]}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        alone = {name: count(core, folder) for name, core in CORES.items()}
        beneath = {name: count_beneath(name, folder / name) for name in ("mainline", "rt")}
    alone["cycles, m0+"] = count_cycles()
    print(compiler_version())
    print("instructions, on the emulated Pico cycles (their ratio to activate_task)")
    print("published: cycles of an Atom D510")
    show("table 5.1: SLOTH alone", published["sloth"], alone)
    show("table 5.2: beneath Linux", published["slothful_linux"], beneath)
    return 0


def show(title: str, published: dict[str, int], counted: dict[str, dict[str, int]]) -> None:
    """Print one table."""
    print(f"\n{title}")
    print(f"{'':27}{'published':>16}" + "".join(f"{name:>14}" for name in counted))
    rows = [
        (name, published.get(name), [one[name] for one in counted.values()]) for name in SERVICES
    ]
    bases = [one["activate_task"] for one in counted.values()]
    for name, cycles, numbers in rows:
        then = f"{cycles} ({cycles / published['activate_task']:.2f})" if cycles else "-"
        cells = "".join(
            f"{f'{n} ({n / base:.2f})':>14}" for n, base in zip(numbers, bases, strict=True)
        )
        print(f"{name:27}{then:>16}{cells}  {EXCEPTIONS.get(name, '')}")


if __name__ == "__main__":
    sys.exit(main())
