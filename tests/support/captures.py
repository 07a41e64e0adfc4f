"""Synthetic captures, made in milliseconds, and sigrok's output for them."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tennis.kit.checkout import ROOT
from tennis.rally.captures.edges import Edges
from tennis.rally.captures.srzip import write_levels
from tests.support.processes import run_to_end

MHZ = 1_000_000


def edges(*events: tuple[int, str]) -> Edges:
    """Return edges from (tick, "p+", "p-", "r+" or "r-")."""
    codes = [("p-", "r-", "p+", "r+").index(what) for _, what in events]
    return Edges(np.array([tick for tick, _ in events], np.int64), np.array(codes, np.uint8))


def ball(at: int, rise: int, fall: int, pulse: int = 1) -> list[tuple[int, str]]:
    """Return the edges of a whole ball; times since ``at``."""
    events = [(at, "p+"), (at + pulse, "p-"), (at + rise, "r+"), (at + fall, "r-")]
    return sorted(events, key=lambda event: event[0])


def write(
    path: Path, events: Sequence[tuple[int, str]], end: int, *, start: int = 0, rate: int = MHZ
) -> Path:
    """Write a session file; ``start`` is the first level, bit 0 ping, bit 1 reply."""
    write_levels(path, rate, edges(*events), start, end)
    return path


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    assert shutil.which("sigrok-cli"), "sigrok-cli is not installed: scripts/setup.sh --unit"
    return run_to_end(
        ["sigrok-cli", *map(str, words)],
        env=os.environ | {"SIGROKDECODE_DIR": str(ROOT / "umpire/decoder")},
        timeout=120,
    )


def sigrok(*words: str | Path) -> str:
    """Run sigrok-cli with the decoder of this checkout; fail if it is not installed."""
    done = _run(*words)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def decoded(path: Path, *outputs: str, **options: str | float) -> str:
    """Decode a session with sigrok's own library."""
    asked = "".join(f":{key}={value}" for key, value in options.items())
    return sigrok("-i", path, "-P", f"tennis:ping=ping:reply=reply{asked}", *outputs)


def told(path: Path, option: str) -> tuple[str, str]:
    """Return what sigrok-cli writes, and what it says, of a session with an option that is bad."""
    done = _run("-i", path, "-P", f"tennis:ping=ping:reply=reply:{option}", "-A", "tennis")
    return done.stdout, done.stderr
