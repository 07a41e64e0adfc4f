# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Plant causes in programs, ask `tennis explain` for them, and print a table of what it says.

usage: planted.py FOLDER [NAME...]

Each program answers late for one known reason, and times itself. A sentence is right if it has all
words that name the cause and its place, and a time that is the program's own, to 10 % and 4 µs. It
is half right if it lacks some of them, and wrong if it has none. What FOLDER has stays.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tennis.bench.targets.console import Console
from tennis.rally import open_rally
from tennis.rally.folder import CONSOLE

HERE = Path(__file__).parent / "planted"
TOML = {
    "planted.c": 'command = "./planted {}"\nsources = ["planted.c"]\n'
    'build_packages = ["libgpiod-dev"]\nlibraries = ["gpiod"]\n',
    "planted.cpp": 'command = "./planted {}"\nsources = ["planted.cpp"]\n',
    "planted.py": 'command = "python3 -I planted.py"\nfiles = ["planted.py"]\n'
    'packages = ["python3"]\n',
}
OWN = re.compile(r"ran (?P<ran>\d+) took (?P<took>\d+)(?: (?P<lock>\w+))?")
UNITS = {"ns": 1, "µs": 1000, "ms": 1_000_000, "s": 1_000_000_000}
BALLS = 60
RATIO, MORE_NS = 0.1, 4000


@dataclass(frozen=True)
class Planted:
    """A cause: what the sentence must say, and which time of the program's it must have."""

    title: str
    words: list[str]
    time: Literal["ran", "took"] = "took"
    kernel: str = "rt"
    processors: int = 1
    source: str = "planted.c"
    mode: str = ""  # the program's word; empty: the name


def tennis(*words: str) -> str:
    """Run a command of the kit's, and return what it prints; its progress is not shown."""
    command = [str(Path(sys.executable).parent / "tennis"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def explained(name: str, one: Planted, folder: Path) -> dict[str, str]:
    """Return what is said of a cause's latest ball, and the program's own times; kept there."""
    kept = folder / f"{name}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    program, rally = folder / f"program-{name}", folder / name
    shutil.copytree(HERE, program, dirs_exist_ok=True)
    (program / "program.toml").write_text(TOML[one.source].format(one.mode or name))
    if not rally.exists():
        where = ("--processors", str(one.processors)) if one.processors > 1 else ()
        setup = ("--program", str(program), "--kernel", one.kernel, *where, "--seed", "3")
        tennis("rally", *setup, "--balls", str(BALLS), "--quiet", "--out", str(rally))
    told = tennis("explain", str(rally), "--program", str(program), "--worst", "1", "--json")
    console = open_rally(rally).file(CONSOLE)
    facts = Console(console).report().facts if console else {}
    story = json.loads(told)["explained"][0]
    moments = {moment["what"]: moment["at_ns"] for moment in story["moments"]}
    ran = moments.get("the program runs", 0) - moments.get("interrupt taken", 0)
    own = facts.get("program_said", "")
    said = {"sentence": story["sentence"], "ran_ns": str(ran), "own": own}
    kept.write_text(json.dumps(said, ensure_ascii=False, indent=1) + "\n")
    return said


def judged(one: Planted, said: dict[str, str]) -> tuple[str, str]:
    """Return right, half or wrong, and what is missing."""
    own = OWN.fullmatch(said["own"])
    expected = int(own[one.time]) if own else 0
    times = re.findall(r"([\d.,]+) (ns|µs|ms|s)\b", said["sentence"].partition(": ")[2])
    found = [float(number.replace(",", "")) * UNITS[unit] for number, unit in times]
    if one.time == "ran":
        found = [float(said["ran_ns"])]
    words = [word.format(lock=own["lock"] if own else "") for word in one.words]
    missing = [word for word in words if word not in said["sentence"]]
    if not any(abs(ns - expected) <= RATIO * expected + MORE_NS for ns in found):
        missing.append(f"{expected / 1000:.1f} µs")
    if len(missing) > len(one.words):
        return "wrong", "all"
    return ("half", "; ".join(missing)) if missing else ("right", "")


def main() -> None:
    """Play what is missing, and print the table."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(exist_ok=True)
    print("| planted | kernel, processors | `tennis explain` says | own record | |")
    print("|---|---|---|--:|---|")
    causes = tomllib.loads((HERE / "causes.toml").read_text())
    for name in names or causes:
        one = Planted(**causes[name])
        said = explained(name, one, folder)
        verdict, missing = judged(one, said)
        own = OWN.fullmatch(said["own"])
        time = f"{int(own[one.time]) / 1000:.1f} µs" if own else "none"
        sentence = said["sentence"].replace("|", "\\|")
        lacks = f" (lacks {missing})" if missing else ""
        row = (one.title, f"{one.kernel}, {one.processors}", sentence, time, verdict + lacks)
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
