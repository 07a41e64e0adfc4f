# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A class does lab 1, really played, and is marked: how long `tennis grade` takes.

Each student plays the lab's rallies with a seed of their own. Two of them hand in a second time,
with another answer, and a group of two hands in the same file twice. The class is marked, and then
marked again. With --python and the Python of another checkout, that one's Tennis plays and marks:
before a change and after it. Prints what each step took, of the clock and of the processors. It
takes half a minute of the processors for each student.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import tennis, used_s

LAB, SLUG = "01", "01-first-serve"
AGAIN = 2  # students who hand in a second time
KERNELS = ("mainline", "rt")
ANSWERS = {
    "minutes": "minutes = 80",
    "edges": "edges = 7740",
    "prediction.number": "prediction.number = 2",
    "bound": "bound = 2995732",
}
TEXTS = ("prediction.reason", "average", "histogram")


def answered(folder: Path, words: str) -> None:
    """Write answers, right where they are numbers."""
    lines, skip = [], False
    for line in (folder / "answers.toml").read_text().splitlines():
        name = line.partition(" = ")[0]
        if skip:
            skip = line != "'''"
        elif name in ANSWERS:
            lines.append(ANSWERS[name])
        elif name in TEXTS:
            lines += [f"{name} = '''", f"{words} thinks of {name}: five words at least.", "'''"]
            skip = True
        else:
            lines.append(line)
    (folder / "answers.toml").write_text("\n".join(lines) + "\n")


def hand_in(python: Path, folder: Path, place: Path) -> None:
    """Pack a folder's work into a platform's folder."""
    place.mkdir(parents=True, exist_ok=True)
    tennis("lab", "submit", LAB, folder=folder, python=python)
    made = max(folder.rglob("*.zip"), key=lambda path: path.stat().st_mtime)
    shutil.move(made, place / f"{len(list(place.iterdir()))}-{made.name}")


def play(python: Path, scratch: Path, students: int) -> Path:
    """Let the class do the lab; return the folder with what it handed in."""
    handed_in = scratch / "handed-in"
    for number in range(students):
        name = f"Student {number:02}"
        members = ["--as", name] + (["--as", "Partner"] if number == 0 else [])
        folder = scratch / f"w{number}"
        begin = ["lab", "start", LAB, *members, "--out", str(folder)]
        tennis(*begin, folder=scratch, python=python)
        answered(folder, name)
        (seed,) = (
            line.partition("=")[2].split()[0]
            for line in (folder / "answers.toml").read_text().splitlines()
            if line.startswith("seed = ")
        )
        for kernel in KERNELS:
            words = ["rally", "--kernel", kernel, "--load", "idle", "--balls", "5000"]
            words += ["--seed", seed, "--out", f"{kernel}-idle"]
            tennis(*words, folder=folder, python=python)
        place = handed_in / f"{name}_{number + 100}_assignsubmission_file_"
        hand_in(python, folder, place)
        if number == 0:
            copy = handed_in / f"Partner_{number + 500}_assignsubmission_file_"
            copy.mkdir()
            shutil.copy2(next(place.iterdir()), copy)
        if 0 < number <= AGAIN:
            answered(folder, f"{name}, once more,")
            hand_in(python, folder, place)
    return handed_in


def timed(what: str, run: Sequence[str], python: Path, folder: Path) -> None:
    """Run `tennis grade`, and print how long it took."""
    began, before_s = time.perf_counter(), used_s()
    tennis(*run, folder=folder, codes=(0, 1), python=python)
    seconds = time.perf_counter() - began
    print(f"{what}: {seconds:.0f} s, {used_s() - before_s:.0f} processor seconds", flush=True)


def main() -> int:
    """Play the class, mark it twice, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=10)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    options = parser.parse_args()
    python = Path(os.path.abspath(options.python))  # noqa: PTH100 (a link says whose packages)
    with tempfile.TemporaryDirectory(prefix="tennis-marking-") as name:
        scratch = Path(name)
        began = time.perf_counter()
        handed_in = play(python, scratch, options.students)
        files = len(list(handed_in.rglob("*.zip")))
        seconds = time.perf_counter() - began
        print(f"{options.students} folders, {files} files; played in {seconds:.0f} s", flush=True)
        grade = ["grade", str(handed_in), "--lab", LAB, "--out", str(scratch / "marks")]
        timed("marked", grade, python, scratch)
        timed("marked again", grade, python, scratch)
        table = (scratch / "marks" / "marks.csv").read_text("utf-8-sig").splitlines()
        print(f"{len(table) - 1} rows; {table[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
