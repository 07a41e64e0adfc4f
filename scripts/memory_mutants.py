# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Break the rules of the memory's model, one at a time, and say which known answer finds it.

    .venv/bin/python scripts/memory_mutants.py
    .venv/bin/python scripts/memory_mutants.py walk-line page-order

scripts/memory-mutants.toml has them. Each is a change of a copy of target/virtual. Each known
answer boots a target or two: 20 s for each mutant, for it tells which one should find it, and that
is tried first. It fails if a mutant lives, or no longer fits the source.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.qemu import plugins

TESTS = "tests/bench/virtual/test_memory.py"
# the first that fails is named
SMALL = "test_known_answers"
OTHER = "test_known_answers_of_another_replacement"
FREE = "test_a_profile_that_costs_nothing_changes_no_ball[hog]"
KNOWN = {"small": SMALL, "other": OTHER, "free": FREE}
RUN = """
import sys
from pathlib import Path
from tennis.bench.qemu import plugins
plugins.FOLDER = Path(sys.argv[1])
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""


@dataclass(frozen=True)
class Mutant:
    """A rule that is broken: a text of a source, which is there once, and what is in its place."""

    name: str
    old: str
    new: str
    file: str = "memory.c"
    by: str = "small"  # which known answer should find it: a name of KNOWN


MUTANTS = [
    Mutant(**told)
    for told in tomllib.loads(Path(__file__).with_name("memory-mutants.toml").read_text())["mutant"]
]


def broken(mutant: Mutant, folder: Path) -> None:
    """Copy the sources with the mutant's change. Raises SystemExit if it does not fit."""
    shutil.copytree(plugins.FOLDER, folder)
    path = folder / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.name}: its text is {text.count(mutant.old)} times in {path.name}"
        )
    path.write_text(text.replace(mutant.old, mutant.new))


def found_by(mutant: Mutant, work: Path) -> str:
    """Return which known answer fails with a mutant, and in which words; empty: it lives."""
    folder = work / mutant.name
    broken(mutant, folder)
    for test in dict.fromkeys((KNOWN[mutant.by], *KNOWN.values())):
        words = ["-q", "-p", "no:cacheprovider", "-n", "0", f"{TESTS}::{test}"]
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(folder), *words],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == 1:
            said = re.findall(r"^E +(.+)$", done.stdout, flags=re.MULTILINE)
            return f"{test}: {said[0] if said else 'failed'}"
        if done.returncode:
            raise SystemExit(f"{mutant.name}: pytest ended with {done.returncode}\n{done.stdout}")
    return ""


def main(wanted: list[str]) -> int:
    """Say of each mutant what found it; 1 if any lives."""
    known = {mutant.name: mutant for mutant in MUTANTS}
    if strange := set(wanted) - known.keys():
        raise SystemExit(f"no such mutant: {', '.join(sorted(strange))}")
    lives = 0
    with tempfile.TemporaryDirectory() as work:
        for name in wanted or known:
            found = found_by(known[name], Path(work))
            lives += not found
            print(f"{name}: {found or 'LIVES'}", flush=True)
    print(f"{len(wanted or known)} mutants, {lives} live")
    return 1 if lives else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
