# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What benchmarks share: a rally and its processor time, a command, two rallies byte by byte."""

import json
import resource
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tennis.bench.virtual.bench import Extras, VirtualBench
from tennis.checkout import ROOT
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally import Rally
from tennis.rally.folder import MANIFEST
from tennis.rally.plan import Plan
from tennis.rally.request import requests_of

sys.path.insert(0, str(ROOT))  # for tests.support
# of a manifest: when it was made, and the seal, which follows from it
OF_THE_DAY = ("created", "seal")


def used_s(who: int = resource.RUSAGE_CHILDREN) -> float:
    """Return the seconds that the processor gave to children that ended, or to ``who``."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def planned(**settings: Any) -> Plan:
    """Return the plan of a rally, of the options' names and values. Raises UsageError."""
    return plan_for(*requests_of(settings))


def played(out: Path, extras: Extras | None = None, **settings: Any) -> Rally:
    """Play a rally on the virtual bench; settings as ``planned`` takes them."""
    return play(VirtualBench(extras or Extras()), planned(**settings), out, Watch())


def tennis(
    *words: str | Path, folder: Path, codes: Collection[int] = (0,), python: Path | None = None
) -> tuple[int, str]:
    """Run a command of Tennis'; return its exit code and what it says. Exits for another code."""
    command = [python or sys.executable, "-c", "from tennis.cli import main; main()", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        said = done.stdout[-2000:] + done.stderr[-2000:]
        sys.exit(f"tennis {' '.join(map(str, words))}: {said}")
    return done.returncode, done.stdout


def bytes_of(rally: Rally) -> dict[str, bytes]:
    """Return what must come again, by the name of the file."""
    files = (path for path in sorted(rally.path.rglob("*")) if path.is_file())
    found = {str(path.relative_to(rally.path)): path.read_bytes() for path in files}
    manifest = json.loads(found[MANIFEST])
    same = {key: value for key, value in manifest.items() if key not in OF_THE_DAY}
    return found | {MANIFEST: json.dumps(same).encode()}


def unlike(one: Rally, other: Rally, balls: int) -> list[str]:
    """Return what is not as it must be: files that differ, and rallies that are not whole."""
    once, again = bytes_of(one), bytes_of(other)
    parts = [f"a rally of {r.balls} balls" for r in (one, other) if r.balls != balls]
    parts += [fault.code for r in (one, other) for fault in r.manifest.faults]
    return parts + sorted(n for n in {*once, *again} if once.get(n) != again.get(n))
