# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Seven programs, each with one mistake: `tennis explain` shall name it, `tennis compare` find it.

Each program of target/programs/bad-* is played on a kernel under a load, and its latest ball is
explained. With --compare it is also compared with the good one that it differs from. Prints a line
for each program, and exits with 1 if a mistake was not named (or not found). A program takes about
a minute of a processor, and with --compare the boots that the comparison needs beside it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tennis.checkout import ROOT

PROGRAMS = ROOT / "target" / "programs"


@dataclass(frozen=True)
class Mistake:
    """A bad program: the good one, and words of which explain must say one for its latest balls."""

    bad: str
    good: str
    named: str  # a regular expression


MISTAKES = (
    Mistake("bad-pages.c", "answer.c", r"page fault of|for a page of its memory"),
    Mistake("bad-malloc.c", "answer.c", r"page fault of|clear_page|mmap|munmap|_int_malloc|memset"),
    Mistake("bad-log.c", "answer.c", r"system call write|sys_write|its system call write"),
    Mistake("bad-mutex.c", "answer.c", r"a lock of its own without priority inheritance"),
    Mistake("bad-sleep.c", "answer.c", r"slept when the ping came \(system call clock_nanosleep\)"),
    Mistake("bad-collector", "answer-python-gpiod", r"garbage collection"),
    Mistake(
        "bad-ordinary.c",
        "answer.c",
        r"\(no real-time priority\) (?:did not get to its own code|.*lost the processor)",
    ),
)


def main() -> None:
    """Play, explain and, if asked for, compare all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="rt")
    parser.add_argument("--load", default="stress")
    parser.add_argument("--balls", type=int, default=300)
    parser.add_argument("--worst", type=int, default=1, help="how many balls are explained")
    parser.add_argument("--only", help="a single program, such as bad-log.c")
    parser.add_argument("--compare", action="store_true")
    asked = parser.parse_args()
    wanted = [one for one in MISTAKES if asked.only in {None, one.bad}]
    if not wanted:
        sys.exit(f"--only {asked.only}: use {', '.join(one.bad for one in MISTAKES)}")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="bad-programs-") as scratch:
        for one in wanted:
            folder = Path(scratch)
            rally, program = one.bad.partition(".")[0], str(PROGRAMS / one.bad)
            how = ["--kernel", asked.kernel, "--load", asked.load, "--balls", str(asked.balls)]
            played = ["rally", "--program", program, *how, "--seed", "1", "--out", rally, "--quiet"]
            tennis(played, folder, {0})
            worst = ["--worst", str(asked.worst)]
            asking = ["explain", rally, "--program", program, *worst]
            told = tennis(asking, folder, {0})[1]
            sentences = re.findall(r"(?m)^(?:Ball|The \w+ latency of ball) \d+ .*", told)
            named = bool(re.search(one.named, " ".join(sentences)))
            missed += not named
            print(f"{one.bad}: {'named' if named else 'NOT NAMED'}", flush=True)
            for sentence in sentences:
                print(f"  {sentence}", flush=True)
            if asked.compare:
                found = compared(one, how, folder)
                missed += not found
                print(f"  compare: {'found' if found else 'NOT FOUND'}", flush=True)
    sys.exit(missed > 0)


def compared(one: Mistake, how: list[str], folder: Path) -> bool:
    """Tell whether a comparison of the good program with a bad one says that it is later."""
    sides = [f"program={PROGRAMS / name}" for name in (one.good, one.bad)]
    out = f"compare-{one.bad.partition('.')[0]}"
    return (
        tennis(["compare", *sides, *how, "--no-explain", "--out", out], folder, {0, 1, 3})[0] == 1
    )


def tennis(arguments: list[str], folder: Path, codes: set[int]) -> tuple[int, str]:
    """Run a command of Tennis'; return its exit code and what it says. Exits for another code."""
    command = [sys.executable, "-c", "from tennis.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"tennis {' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode, done.stdout


if __name__ == "__main__":
    main()
