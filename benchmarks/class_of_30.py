# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A class of 30 with sixteen kinds of trouble is marked: what is found, and where it is said.

The class is made up: names, answers, and rallies that nobody played, so that these are not played
again. Two more hand-ins are really played, one of them is forged, and both are marked with
replays. Prints a table for docs/evidence/class-of-30.md. Exits with 1 where something is not said.
"""

import argparse
import csv
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import measuring  # noqa: F401 (tests.support is found)
import pyarrow as pa
import pyarrow.parquet as pq

from tennis.checkout import ROOT
from tennis.course import load_lab, predictions, work
from tennis.digests import sha256_of
from tennis.rally import balls
from tennis.rally.cells import csv_of
from tennis.rally.manifest import seal_of
from tests.support.hand_ins import make_work
from tests.support.made_up_class import packed, unpacked

LAB = load_lab("01-first-serve")
DEADLINE = datetime(2026, 11, 2, 23, 59, 59, tzinfo=UTC)
SMALL_DISK_MB, LARGE_FILE_MB = 32, 60
NAMES = (
    *("Alfa", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot", "Golf", "Hotel", "India", "Juliett"),
    *("Kilo", "Lima", "Mike", "November", "Oscar", "Papa", "Quebec", "Romeo", "Sierra", "Tango"),
    *("Uniform", "Victor", "Whiskey", "Xray", "Yankee", "Zulu", "Zoë Müller", "Zoe Muller"),
    *("李明", "Ольга"),
)
GROUP = "Mike and November"
TEXT = (
    "The minimum is 1.2 µs, the median 1.6, the 99 % quantile 2.9 and the maximum 3.1 µs. For "
    "somebody who must never be late I would quote the maximum with its N, and for comparing two "
    "kernels the median, because the maximum is one single ball and grows with every new boot."
)
NEARLY = TEXT.replace("somebody who", "a person who").replace("I would quote", "I'd take")


@dataclass(frozen=True)
class Trouble:
    """What is wrong, and what must be said of it where: each a part of the words.

    ``section``: a heading of class.html, and words below it. ``column``: file, column, student,
    words. ``feedback``: whose page, and words.
    """

    what: str
    terminal: str = ""
    section: tuple[str, str] = ("", "")
    column: tuple[str, str, str, str] = ("", "", "", "")
    feedback: tuple[str, str] = ("", "")


WHOSE, STUDENTS = "Whose work is it?", "By student"
TROUBLES = (
    Trouble(
        "another's rallies, copied with their seals",
        "withheld: Bravo",
        (WHOSE, "it is the seed of Alfa"),
        ("marks.csv", "found", "Bravo", "others have the same ones: Alfa"),
        ("Bravo", "Its points are withheld"),
    ),
    Trouble(
        "a rally edited after it was sealed",
        "withheld: Charlie",
        (WHOSE, "rally mainline-idle"),
        ("marks.csv", "found", "Charlie", "rally mainline-idle"),
        ("Charlie", "Its points are withheld"),
    ),
    Trouble(
        "a rally with nobody's seed",
        "withheld: Delta",
        (WHOSE, "it is nobody's of this class"),
        ("marks.csv", "found", "Delta", "its seed is 1"),
        ("Delta", "Its points are withheld"),
    ),
    Trouble(
        "a prediction changed after the first rally",
        "",
        ("Undecided", "Echo: prediction, sealed: it was another one"),
        ("marks.csv", "status", "Echo", "open"),
        ("Echo", "it was another one when"),
    ),
    Trouble(
        "two texts nearly alike",
        "",
        ("average", "Foxtrot"),
    ),
    Trouble(
        "handed in twice",
        "hand-ins of",
        (STUDENTS, "replaces"),
        ("marks.csv", "replaces", "Hotel", "first.zip"),
        ("Hotel", "A later hand-in counts in its place"),
    ),
    Trouble(
        "two days late",
        "late: India",
        (STUDENTS, "2 days late"),
        ("marks.csv", "days_late", "India", "2"),
        ("India", "2 days"),
    ),
    Trouble(
        "a RAR file, called .zip",
        "1 that could not be marked",
        (STUDENTS, "is a RAR file"),
        ("marks.csv", "refused", "Juliett", "is a RAR file"),
        ("Juliett", "is a RAR file"),
    ),
    Trouble(
        "packed again by macOS, in a folder",
        "",
        ("", ""),
        ("marks.csv", "status", "Kilo", "open"),
    ),
    Trouble(
        f"unpacks to {LARGE_FILE_MB} MB, on a disk of {SMALL_DISK_MB} MB",
        "later: ",
        ("Later", "Lima"),
        ("marks.csv", "status", "Lima", "later"),
        ("Lima", "cannot be unpacked here"),
    ),
    Trouble(
        "a group of two, handed in by both",
        "",
        (STUDENTS, GROUP),
        ("gradebook/students.csv", "student", "November", "November"),
        ("Mike", "A later hand-in counts in its place"),
    ),
    Trouble(
        "that group's file, handed in by a third",
        "withheld: Mike and November (Oscar",
        (WHOSE, "Oscar_"),
        (
            "gradebook/students.csv",
            "left out",
            "Mike",
            "moodle has it from Oscar, who is no member",
        ),
    ),
    Trouble(
        "the same wrong answer of three",
        "",
        ("Common wrong answers", "edges 9160 3"),
        ("marks.csv", "edges", "Papa", "0"),
        ("Papa", "9,160 ns is not the number"),
    ),
    Trouble(
        "a part: three questions without an answer",
        "",
        ("By question", ""),
        ("marks.csv", "bound", "Sierra", "0"),
        ("Sierra", "there is no answer yet"),
    ),
    Trouble(
        "a folder of 0.2: no seed, a question added since",
        "",
        ("", ""),
        ("marks.csv", "bound", "Tango", "0"),
        ("Tango", "it is older than the question"),
    ),
    Trouble(
        "handed in by somebody who is not in the list",
        "students.csv says who is left out, and why",
        ("", ""),
        ("gradebook/students.csv", "left out", "Uniform", "in the list"),
    ),
)


def main() -> int:
    """Make the class, mark it, and print what is said of each trouble."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="Make it in this new folder, and leave it there.")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as scratch:
        folder = keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        class_list = made_class(folder)
        began = time.monotonic()
        said = graded(folder, "--class-list", class_list, small_disk=True)
        seconds = time.monotonic() - began
        print(f"a class of {len(NAMES)} was marked, {seconds:.0f} s by the clock; what was said:\n")
        print("| trouble | terminal | class.html | table | student's page |\n|---|---|---|---|---|")
        lacking = [line for one in TROUBLES for line in told(one, said, folder / "in-marks")]
        again = graded(folder, "--class-list", class_list)
        if "Lima" in "".join(line for line in again.splitlines() if line.startswith("later")):
            lacking.append("with room, Lima is marked")
        lacking += forged(folder)
    for one in lacking:
        print(f"not said: {one}")
    return int(bool(lacking))


# --- what they hand in ---


def made_class(folder: Path) -> Path:
    """Make the hand-ins as Moodle lays them out, and its worksheet."""
    entries: dict[str, bytes] = {}
    hours: dict[str, float] = {}
    for number, name in enumerate(NAMES, 101):
        for file, content in hand_ins(folder / "works", name):
            label = f"{name}_{number}_assignsubmission_file_/{file}.zip"
            entries[label] = content
            hours[label] = 47 if name == "India" else -3 if file == "first" else -2
    given = unpacked(entries, folder / "in")
    for label, later in hours.items():
        at = (DEADLINE + timedelta(hours=later)).timestamp()
        os.utime(given / label, (at, at))
    return worksheet(folder / "list.csv")


def worksheet(path: Path) -> Path:
    """Write Moodle's grading worksheet; Uniform is not in it."""
    rows: list[Sequence[str]] = [("Identifier", "Full name", "Grade", "Last modified (grade)")]
    rows += [
        (f"Participant {number}", name, "", "-")
        for number, name in enumerate(NAMES, 101)
        if name != "Uniform"
    ]
    path.write_bytes(csv_of(rows))
    return path


def hand_ins(works: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield what a student hands in, by the file's name."""
    match name:
        case "Mike" | "November" | "Oscar":
            yield "lab", of_group(works)
        case "Juliett":
            yield "lab", b"Rar!\x1a\x07\0" + bytes(1000)
        case "Hotel":
            yield "first", zip_of(done(works, name, answers={"edges": 9160}))
            yield "lab", zip_of(done(works, name, at="again"))
        case _:
            made = done(works, name, answers=ANSWERS.get(name, {}))
            spoil(works, name, made)
            content = zip_of(made)
            yield "lab", packed_by_macos(content) if name == "Kilo" else content


ANSWERS: Mapping[str, Mapping[str, object]] = {
    "Foxtrot": {"average": TEXT},
    "Golf": {"average": NEARLY},
    **{name: {"edges": 9160} for name in ("Papa", "Quebec", "Romeo")},
    "Sierra": {"average": None, "histogram": None, "bound": None},
}


def done(works: Path, name: str, *, at: str = "", answers: Mapping[str, object] = {}) -> Path:
    """Do the lab under a name; everybody's texts are their own."""
    return make_work(works / f"{name} {at}".strip(), LAB, name, answers=answers)


def of_group(works: Path) -> bytes:
    """Return the group's file, which is the same for whoever hands it in."""
    folder = works / GROUP
    if not folder.exists():
        make_work(folder, LAB, GROUP)
        path = folder / work.ANSWERS
        names = ", ".join(f'{{name = "{name}"}}' for name in GROUP.split(" and "))
        path.write_text(path.read_text().replace("minutes =", f"members = [{names}]\nminutes ="))
    return zip_of(folder)


def spoil(works: Path, name: str, made: Path) -> None:
    """Do to a student's folder what its student did."""
    rally = made / "mainline-idle"
    answers = made / work.ANSWERS
    match name:
        case "Bravo":
            for asked in LAB.rallies:
                shutil.rmtree(made / asked.name)
                shutil.copytree(works / "Alfa" / asked.name, made / asked.name)
        case "Charlie":
            path = rally / "events.jsonl"
            path.write_bytes(path.read_bytes() + b"\n")
        case "Delta":
            shutil.rmtree(rally)
            other = make_work(works / "Delta's other", LAB, name, rallies={rally.name: {"seed": 1}})
            shutil.copytree(other / rally.name, rally)
        case "Echo":
            seal = predictions.Seal(
                question="prediction",
                number="40",
                reason="rt has more locks to take",
                at=DEADLINE - timedelta(days=1),
                begun="mainline-idle",
            )
            (made / work.SEALS).write_text(seal.model_dump_json() + "\n")
        case "Lima":
            (rally / "capture.sr").write_bytes(bytes(LARGE_FILE_MB << 20))
        case "Tango":
            text = re.sub(r"(?m)^seed = .*\n|^bound = .*\n", "", answers.read_text())
            answers.write_text(text)


def zip_of(folder: Path) -> bytes:
    """Pack all of a folder, also what `tennis lab submit` would refuse or leave out."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name != work.README
    )
    return packed({str(path.relative_to(folder)): path.read_bytes() for path in files})


def packed_by_macos(content: bytes) -> bytes:
    """Return a hand-in that was unpacked and packed again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {f"lab-01/{name}": archive.read(name) for name in archive.namelist()}
    added = {f"__MACOSX/lab-01/._{name.rsplit('/')[-1]}": b"\0\5\26\7" for name in entries}
    return packed({**entries, **added, "lab-01/.DS_Store": b"\0"})


# --- what is said ---


def graded(folder: Path, *words: str | Path, small_disk: bool = False) -> str:
    """Mark the class; return what the terminal says. It takes root to make a small disk."""
    grade = [Path(sys.executable).with_name("tennis"), "grade", folder / "in", "--lab", "01"]
    rules = ["--no-replay", "--deadline", DEADLINE.isoformat(), "--late-per-day", "10%"]
    command = list(map(str, [*grade, *rules, *words]))
    if small_disk:
        small = folder / "small"
        small.mkdir(exist_ok=True)
        mount = f"mount -t tmpfs -o size={SMALL_DISK_MB}m tmpfs {small} && exec env TMPDIR={small} "
        command = ["unshare", "--mount", "sh", "-c", mount + '"$@"', "sh", *command]
    printed = said_by(command)
    (folder / "said.txt").write_text(printed)
    return printed


def said_by(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """Run a program of this tree; return what it says on both streams."""
    how = {"env": {**os.environ, "PYTHONPATH": str(ROOT)}, "cwd": folder, "text": True}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return str(subprocess.run(command, check=False, **how, **output).stdout)


def sections(page: Path) -> dict[str, str]:
    """Return the words of a page below each of its headings."""
    parts = re.split(r"<h[23]>(.*?)</h[23]>", page.read_text())
    return {
        html.unescape(heading): " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
        for heading, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def cells(path: Path, column: str, student: str) -> str:
    """Return what a table says of a student in a column."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        found = [row[column] for row in csv.DictReader(file) if row["student"] == student]
    return "; ".join(found)


def pages_of(marks: Path, student: str) -> str:
    """Return the words of a student's pages."""
    of = [path.read_text() for path in sorted((marks / "feedback").iterdir())]
    named = [text for text in of if re.search(rf"\b{student}\b", text.partition("</header>")[0])]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", " ".join(named))).split())


def told(one: Trouble, said: str, marks: Path) -> list[str]:
    """Print a line of the table; return what is not said where it should be."""
    found = sections(marks / "class.html")
    begin = one.section[0] or "nothing"
    heading = next((name for name in found if name.startswith(begin)), "")
    file, column, student, words = one.column
    of_whom, on_page = one.feedback
    places = {
        "terminal": (one.terminal, said),
        f"class.html, {one.section[0]}": (one.section[1], found.get(heading, "")),
        f"{file}, {column}": (words, cells(marks / file, column, student) if file else ""),
        f"page of {of_whom}": (on_page, pages_of(marks, of_whom) if of_whom else ""),
    }
    short = heading.partition(":")[0]
    print(
        f"| {one.what} | {quoted(one.terminal)} | {named(short, one.section[1])} "
        f"| {named(f'{file}, {column}' if file else '', words)} | {quoted(on_page)} |"
    )
    return [
        f"{one.what}: {place}: {wanted}"
        for place, (wanted, where) in places.items()
        if wanted not in where
    ]


def quoted(words: str) -> str:
    """Return words as the table shows them."""
    return f"`{words.strip()}`" if words.strip() else ""


def named(place: str, words: str) -> str:
    """Return where words stand, and the words."""
    return f"{place}: {quoted(words)}" if words and place else place


# --- what only playing again tells ---


def forged(folder: Path) -> list[str]:
    """Play the lab twice, lower one ball of the second, seal it anew, and mark both."""
    given = folder / "played"
    given.mkdir()
    tennis = Path(sys.executable).with_name("tennis")
    for name in ("Victor", "Whiskey"):
        none = {asked.name: None for asked in LAB.rallies}
        made = make_work(folder / f"played by {name}", LAB, name, rallies=none)
        for asked in LAB.to_play:
            shown = asked.display(work.seed_of(LAB, name)).replace("\\\n", " ")
            command = shown.removeprefix("$ tennis ").split()
            printed = said_by([tennis, *command], made)
            assert (made / asked.name / "manifest.json").exists(), printed
        ball = lowered(made / "rt-idle") if name == "Whiskey" else 0
        (given / f"{name}.zip").write_bytes(zip_of(made))
    printed = said_by([tennis, "grade", given, "--lab", "01"])
    (folder / "said-played.txt").write_text(printed)
    marks = folder / "played-marks"
    one = Trouble(
        f"ball {ball} lowered, hashes and seal made again",
        "withheld: Whiskey",
        (WHOSE, f"ball {ball}"),
        ("marks.csv", "found", "Whiskey", f"ball {ball}"),
        ("Whiskey", "Its points are withheld"),
    )
    lacking = told(one, printed, marks)
    found = cells(marks / "marks.csv", "found", "Victor")
    return lacking + ([f"Victor played, and is suspected: {found}"] if found else [])


def lowered(folder: Path) -> int:
    """Take 2 µs from the latest answer of a rally, and seal it as if nothing had been."""
    manifest = json.loads((folder / "manifest.json").read_text())
    table = pq.read_table(folder / "balls.parquet")
    rise, fall = (table.column(name).to_pylist() for name in ("rise_ticks", "fall_ticks"))
    ball = max(range(len(fall)), key=lambda n: fall[n] - rise[n])
    hz = manifest["instrument"]["tick_hz"]
    fall[ball] -= 2 * hz // 1_000_000
    columns = [*table.columns[:-1], pa.array(fall, pa.uint32())]
    balls.write(folder / "balls.parquet", pa.table(columns, schema=balls.schema(hz)), hz)
    digest = sha256_of(folder / "balls.parquet")
    manifest["files"]["balls.parquet"] = digest
    manifest["seal"] = seal_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return ball


if __name__ == "__main__":
    sys.exit(main())
