"""Play on the virtual bench in tests."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tennis.bench.kernels.catalogue import find
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.kernels.modules import kernel_module
from tennis.bench.registry import bench_for
from tennis.bench.virtual.bench import Extras, VirtualBench
from tennis.play.rally import Watch, play
from tennis.rally import Rally
from tests.support.plans import plan_of
from tests.support.tables import arrow_of

GUEST = Path(__file__).parent / "guest"


def played(out: Path, extras: Extras | None = None, **plan: Any) -> Rally:
    """Play a rally, with what a test adds to the target, into the folder ``out``."""
    asked = plan_of(**plan)
    return play(VirtualBench(extras) if extras else bench_for(asked), asked, out, Watch())


@contextmanager
def busy_host() -> Iterator[None]:
    """Let what is started meanwhile wait for the host: all of it shares a processor with a loop.

    So QEMU's threads take turns, and lose the processor when the host's scheduler wants it to. The
    loop takes a tenth: a loop on each of the host's processors would cost more than the rally.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    loop = subprocess.Popen([sys.executable, "-c", "import os; os.nice(10)\nwhile True: pass"])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        loop.kill()
        loop.wait()


def guest_module(name: str, kernel: str | Kernel = "mainline") -> Path:
    """Build one of the tests' own kernel modules."""
    return kernel_module(
        GUEST / name / f"{name}.c", find(kernel) if isinstance(kernel, str) else kernel
    )


def script(text: str) -> bytes:
    """Return a script for the target's shell."""
    return f"#!/bin/sh\n{text}\n".encode()


def table(rally: Rally) -> pa.Table:
    """Return all balls."""
    return arrow_of(rally.batches(), rally.tick_hz)
