# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Seven programs, each with one mistake: `tennis explain` shall name it, `tennis compare` find it.

Each program of target/programs/bad-* is played on a kernel under a load, and its latest ball is
explained. With --compare it is also compared with the good one that it differs from, on the same
kernel without a load: under one with a cycle each boot needs all of it. A program without a
priority is late only beside a load, and is compared under stress. The boots of a good one are
played once. Prints a line for each program, and exits with 1 if a mistake was not named (or
not found). A program takes about a minute of a processor, and with --compare another one to three;
bad-ordinary.c takes ten.
"""

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measuring import tennis

from tennis.checkout import ROOT

PROGRAMS = ROOT / "target" / "programs"


@dataclass(frozen=True)
class Mistake:
    """A bad program: the good one, and words of which explain must say one for its latest balls."""

    bad: str
    good: str
    named: str  # a regular expression
    compared: tuple[str, int] = ("idle", 100)  # under which load, and with how many balls a boot


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
        ("stress", 5084),  # a whole cycle of it
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
    parser.add_argument("--only-compare", action="store_true", help="explain nothing")
    parser.add_argument("--keep", type=Path, help="a folder for the boots, to go on with later")
    asked = parser.parse_args()
    wanted = [one for one in MISTAKES if asked.only in {None, one.bad}]
    if not wanted:
        sys.exit(f"--only {asked.only}: use {', '.join(one.bad for one in MISTAKES)}")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="bad-programs-") as scratch:
        for one in wanted:
            folder = (asked.keep or Path(scratch)).resolve()
            folder.mkdir(exist_ok=True)
            if not asked.only_compare:
                how = ["--kernel", asked.kernel, "--load", asked.load, "--balls", str(asked.balls)]
                sentences = explained(one, how, asked.worst, folder)
                named = bool(re.search(one.named, " ".join(sentences)))
                missed += not named
                print(f"{one.bad}: {'named' if named else 'NOT NAMED'}", flush=True)
                for sentence in sentences:
                    print(f"  {sentence}", flush=True)
            if asked.compare or asked.only_compare:
                found, said = compared(one, asked.kernel, folder)
                missed += not found
                print(f"{one.bad}: compare: {'found' if found else 'NOT FOUND'}", flush=True)
                print(f"  {said}", flush=True)
    sys.exit(missed > 0)


def explained(one: Mistake, how: list[str], worst: int, folder: Path) -> list[str]:
    """Play a bad program, and return what is told of its latest balls."""
    rally, program = one.bad.partition(".")[0], str(PROGRAMS / one.bad)
    played = ["rally", "--program", program, *how, "--seed", "1", "--out", rally, "--quiet"]
    if not (folder / rally).exists():
        tennis(*played, folder=folder)
    why = ["explain", rally, "--program", program, "--worst", str(worst)]
    told = tennis(*why, folder=folder)[1]
    return re.findall(r"(?m)^(?:Ball|The \w+ latency of ball) \d+ .*", told)


def compared(one: Mistake, kernel: str, folder: Path) -> tuple[bool, str]:
    """Tell whether a comparison of the good program with a bad one says that it is later."""
    load, balls = one.compared
    how = ["--kernel", kernel, "--load", load, "--balls", str(balls)]
    good = f"good-{one.good.partition('.')[0]}-{load}"
    boots = str(folder / good / "before")
    before = boots if (folder / good).exists() else f"program={PROGRAMS / one.good}"
    out = f"compare-{one.bad.partition('.')[0]}" if (folder / good).exists() else good
    sides = [before, f"program={PROGRAMS / one.bad}"]
    words = ["compare", *sides, *how, "--no-explain", "--out", out, "--quiet"]
    code, told = tennis(*words, folder=folder, codes={0, 1, 3})
    (said, *_) = re.findall(r"(?m)^(?:Worse|No worse|Undecided).*", told)
    return code == 1, said


if __name__ == "__main__":
    main()
