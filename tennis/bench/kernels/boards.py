"""The limits of boards with their kernels, which no setting removes: from the sources of both.

``docs/hardware-sources.md`` has the source and version of each. We have not yet seen them on a
board.
"""

import re
from collections.abc import Iterator
from typing import Literal

from tennis.bench.findings import Finding
from tennis.bench.targets.snapshot import Snapshot
from tennis.rally.text import plain

# their interrupt controller sends shared interrupts to the first processor, and moves none
FIRST_PROCESSOR_ONLY = re.compile(r"Raspberry Pi (3|Zero 2|Compute Module 3)")
RP1 = "pinctrl-rp1"  # a Pi 5's GPIO controller, as its drivers call it
# the releases of Raspberry Pi's packages, and of kernels built with its configurations
RASPBERRY_PIS_OWN = re.compile(r"[+-](rpt|rpi|v8)\b")

Link = Literal["awake", "may sleep"]


def check(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what there is to say about a board and the kernel that runs on it."""
    lock, isolation = gpio_lock(snapshot), _isolation(snapshot)
    yield from (finding for finding in (lock, isolation) if finding)


def gpio_lock(snapshot: Snapshot) -> Finding | None:
    """Return a finding if a GPIO line sleeps on PREEMPT_RT, although it claims not to.

    The driver of kernel.org reaches RP1's registers through a regmap, also in the interrupt. Its
    lock is a spinlock, which PREEMPT_RT makes a sleeping one. Raspberry Pi's own driver has none.
    """
    told = (*snapshot.lines("gpio"), *snapshot.lines("interrupts"))
    if snapshot.flavour != "rt" or not any(RP1 in line for line in told):
        return None
    # only Raspberry Pi's own has parameters, and the driver of the chip around it that option
    own = bool(snapshot.lines("rp1_driver")) or snapshot.config.get("CONFIG_MFD_RP1", "n") != "n"
    if own or RASPBERRY_PIS_OWN.search(snapshot.line("release") or ""):
        return None
    return Finding(
        "bad",
        "GPIO controller",
        f"kernel.org's driver {RP1} takes a lock in the interrupt that sleeps on PREEMPT_RT",
        "use Raspberry Pi's kernel with PREEMPT_RT (linux-image-rpi-v8-rt), or a Pi 4",
    )


def fixed_interrupts(snapshot: Snapshot) -> str | None:
    """Return the model of a board whose pings come to processor 0 and nowhere else."""
    model = snapshot.line("model") or ""
    return plain(model, 60) if FIRST_PROCESSOR_ONLY.search(model) else None


def _isolation(snapshot: Snapshot) -> Finding | None:
    isolated = snapshot.line("isolated")
    if not isolated:
        return None
    found = f"processor {plain(isolated, 40)} is isolated"
    if model := fixed_interrupts(snapshot):
        return Finding(
            "bad",
            "isolation",
            f"{found}, and all pings of a {model} come to processor 0",
            "take isolcpus off the command line there, or use a Pi 4 or 5",
        )
    if snapshot.line("racquet_cpu") is None:
        return Finding(
            "note",
            "isolation",
            f"{found}, and nothing puts the ping there: neither irqaffinity nor /proc/irq does",
            "say --interrupt-cpu, or provision it with tuning_isolated_cpus",
        )
    return Finding("good", "isolation", f"{found}, the ping goes to {snapshot.line('racquet_cpu')}")


def gpio_link(snapshot: Snapshot) -> Link | None:
    """Return whether the PCIe link to the GPIO controller may sleep; None: no link, or unknown.

    Linux keeps a link awake by the policy performance, or if no state of sleep is enabled.
    """
    told = snapshot.pairs("gpio_link")
    states = [value for name, value in told.items() if name.endswith("_aspm")]
    if not told.get("policy") and not states:
        return None
    awake = told.get("policy") == "performance" or (states and set(states) == {"0"})
    return "awake" if awake else "may sleep"
