"""Boot a kernel on the virtual bench, only to ask it what it is."""

import tempfile
import time
from contextlib import closing
from pathlib import Path

from tennis.bench.flavours import RACQUETS
from tennis.bench.kernels import catalogue
from tennis.bench.targets import snapshot
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras, Machine
from tennis.kit.errors import BenchError
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import Protocol
from tennis.rally.plan import Plan

MARK = "tennis: snapshot "
LIMIT_S = 60  # of virtual time
PATIENCE_S = 300  # of the host's

# nothing else may write to the console meanwhile; the configuration is the host's to know
BEFORE = f"""#!/bin/sh
dmesg -n 1
sh /tennis/snapshot no-config | sed 's/^/{MARK}/'
sync
poweroff -f
"""


def facts_of(kernel: str) -> snapshot.Snapshot:
    """Return a virtual kernel's snapshot. Raises UsageError, BenchError."""
    protocol = Protocol(
        loop="closed",
        balls=1,
        seed=1,
        gap_min_ns=1000,
        gap_max_ns=1000,
        pulse_ns=1000,
        timeout_ns=1000,
        settle_ns=0,
    )
    # nothing answers here, but a plan has to fit its kernel
    racquet = RACQUETS[catalogue.flavour_of(kernel)]
    plan = Plan(
        bench="virtual",
        kernel=kernel,
        load="idle",
        load_options={},
        bottom_half=racquet.bottom_halves[0],
        priorities=racquet.priorities[0],
        protocol=protocol,
        versions={},
    )
    extras = Extras(
        files={"/tennis/before": BEFORE.encode(), "/tennis/snapshot": snapshot.script()},
        parameters=f"tennis.limit_s={LIMIT_S}",
        instrument=False,
    )
    parts = VirtualBench(extras).parts(plan)
    with tempfile.TemporaryDirectory(prefix="tennis-facts-") as folder:
        with closing(Machine(parts, extras, Path(folder), {})) as machine:
            _wait(machine)
        lines = (Path(folder) / CONSOLE).read_text(errors="replace").splitlines()
    answers = [line.strip("\r").removeprefix(MARK) for line in lines if line.startswith(MARK)]
    if not answers:
        last = next((line for line in reversed(lines) if line.strip()), "nothing")
        raise BenchError(f"the kernel {kernel} did not come up; its last words: {last.strip()}")
    config = [f" {line}" for line in parts.kernel.config.read_text(errors="replace").splitlines()]
    return snapshot.read("\n".join([*answers, "= config", *config, ""]))


def _wait(machine: Machine) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while machine.running:
        if time.monotonic() > deadline:
            raise BenchError(
                f"the virtual target did not end within {PATIENCE_S} s", next_step="try again"
            )
        time.sleep(0.1)
