# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A class of 30 is marked: with two workers and with one, and how much memory a check takes.

Rallies are made up, so that none is played again; notebooks are not run. What is compared is the
marking itself. Exits with 1 where two workers take more than 0.8 of one worker's time on two cores.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tennis.course import load_lab
from tennis.course.hand_ins import grading
from tests.support.hand_ins import make_work, zipped

RATIO_MAX = 0.8
LAB = load_lab("04-under-load")


def marked(paths: list[Path], out: Path, workers: int) -> tuple[float, list[int]]:
    """Return the seconds that it takes, and the points of each."""
    began = time.perf_counter()
    graded = grading.grade(paths, LAB, out, replays=False, workers=workers)
    seconds = time.perf_counter() - began
    return seconds, [one.report.points if one.report else -1 for one in graded]


def main() -> int:
    """Make the class, mark it twice, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=30)
    students = parser.parse_args().students
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        paths = []
        for number in range(students):
            name = f"student {number}"
            wrong = {"network": "a"} if number % 3 == 0 else {}
            work = make_work(folder / f"w{number}", LAB, name, answers=wrong)
            paths.append(zipped(work, folder / f"{number:02}.zip"))
        one_s, points = marked(paths, folder / "one", 1)
        two_s, again = marked(paths, folder / "two", 2)
        assert points == again
        known_s, again = marked(paths, folder / "two", 2)
        assert points == again
    ratio = two_s / one_s
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    memory_mb = max(resource.getrusage(one).ru_maxrss for one in who) / 1024
    cores = len(os.sched_getaffinity(0))
    print(f"{students} hand-ins, {cores} cores; two workers take {ratio:.2f} of one worker's time")
    print(f"here and now: {two_s:.0f} s with two workers")
    print(f"marked again: {known_s / two_s:.3f} of the first time")
    print(f"neither the grader nor a check took more than {memory_mb:.0f} MB")
    return int(ratio > RATIO_MAX and cores >= 2)


if __name__ == "__main__":
    sys.exit(main())
