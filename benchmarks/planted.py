"""Plant causes in programs or Racquets, ask `tennis explain` for them, and print a table of it.

usage: planted.py programs|racquets FOLDER [NAME...]

A program times itself. Of each cause the latest ball counts. Causes may take turns in
one boot, ball by ball. A sentence is right if it has all words that name the cause and its place,
and a time that is the program's own, to 10 % and 4 µs. It is half right if it lacks some of them,
and wrong if it has none.

A Racquet keeps a trace of its own: from when to when its cause was at work, by the counter that the
virtual clock drives. It prints that after ``TOLD_AT`` pings. Of the balls before that the latest is
explained whose wait the trace covers for the most part. A sentence is right if it has every word of
the cause's and the planted line, half right without one of them, else wrong.

What FOLDER has stays. Without a NAME, the table is written into the page, too. Exits with 1 unless
all are right.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tennis.bench.targets.console import Console
from tennis.kit.units import format_ns
from tennis.play.repeat import balls_of
from tennis.rally import open_rally
from tennis.rally.folder import CONSOLE

HERE = Path(__file__).parent / "planted"
PAGE = HERE.parents[1] / "docs/evidence/planted-causes.md"
TOML = {
    "planted.c": 'command = "./planted {}"\nsources = ["planted.c"]\n'
    'build_packages = ["libgpiod-dev"]\nlibraries = ["gpiod"]\n',
    "planted.cpp": 'command = "./planted {}"\nsources = ["planted.cpp"]\nfiles = ["pings.h"]\n',
    "planted.py": 'command = "python3 -I planted.py {}"\nfiles = ["planted.py"]\n'
    'packages = ["python3"]\n',
}
OWN = re.compile(r"ran (?P<ran>\d+) took (?P<took>\d+)(?: (?P<lock>\w+))?")
OWN_C = re.compile(r"(\d+)/(\d+)(\w*)")  # of planted.c, in 0.1 µs, for each of its causes
ROUNDS = 4  # of causes that take turns
UNITS = {"ns": 1, "µs": 1000, "ms": 1_000_000, "s": 1_000_000_000}
RATIO, MORE_NS = 0.1, 4000
ASKS = {
    "thread": "threaded_irq(dev, r->irq, NULL, wheel_turned, r->trigger | IRQF_ONESHOT,",
    "request": "irq(dev, r->irq, wheel_turned, r->trigger,",
    "hard": "irq(dev, r->irq, wheel_turned, r->trigger | IRQF_NO_THREAD,",
}
TOLD_AT = 150  # as planted/racquet.c.in
TICK_NS = 16  # of the counter of QEMU's machine


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
    heard: int | None = None  # no ball is answered: how many the program hears

    @property
    def turns(self) -> str:
        """Return the boot in which others take turns with it; empty: it is alone."""
        alone = self.source != "planted.c" or self.heard is not None
        return "" if alone else f"{self.kernel}-{self.processors}"


def tennis(*words: str, kept: Path | None = None) -> str:
    """Run a command of the kit's, and return what it prints; its progress is not shown.

    ``kept``: what it leaves behind even if it fails, as a rally does that nobody answers.
    """
    command = [str(Path(sys.executable).parent / "tennis"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and not (kept and kept.exists()):
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def play(rally: Path, *words: str) -> None:
    """Play a rally, unless it is there."""
    if not rally.exists():
        tennis("rally", *words, "--quiet", "--out", str(rally), kept=rally)


def explained(
    name: str, one: Planted, folder: Path, causes: dict[str, dict[str, Any]]
) -> dict[str, str]:
    """Return what is said of a cause's latest ball, and the program's own times; kept there."""
    others = [each for each, cause in causes.items() if one.turns == Planted(**cause).turns]
    names = others if one.turns else [name]
    boot = one.turns or name
    kept, program, rally = folder / f"{boot}.json", folder / f"program-{boot}", folder / boot
    if not kept.exists():
        shutil.copytree(HERE, program, dirs_exist_ok=True)
        words = " ".join(causes[each].get("mode", each) for each in names)
        (program / "program.toml").write_text(TOML[one.source].format(words))
        where = ("--processors", str(one.processors)) if one.processors > 1 else ()
        setup = ("--program", str(program), "--kernel", one.kernel, *where, "--seed", "3")
        # fifty misses end a rally, and then the program says no more
        balls = str(ROUNDS * len(names) if one.turns else 60 if one.heard is None else 20)
        play(rally, *setup, "--balls", balls, "--settle-s", "0.1")
        count = balls if one.turns else "1"
        told = tennis("explain", str(rally), "--program", str(program), "--worst", count, "--json")
        kept.write_text(told)
    stories = json.loads(kept.read_text())["explained"]
    mine = [story for story in stories if story["ball"] % len(names) == names.index(name)]
    story = max(mine, key=lambda story: story["waited_ns"]) if one.turns else stories[0]
    console = open_rally(rally).file(CONSOLE)
    own = (Console(console).report().facts if console else {}).get("program_said", "")
    if one.source == "planted.c" and one.heard is None:
        ran, took, lock = OWN_C.findall(own)[names.index(name)]
        own = f"ran {ran}00 took {took}00 {lock}".strip()
    moments = {moment["what"]: moment["at_ns"] for moment in story["moments"]}
    ran_ns = moments.get("the program runs", 0) - moments.get("interrupt taken", 0)
    return {"sentence": story["sentence"], "ran_ns": str(ran_ns), "own": own}


def judged(one: Planted, said: dict[str, str]) -> tuple[str, str]:
    """Return right, half or wrong, and what is missing."""
    if one.heard is not None:
        missing = [word for word in one.words if word not in said["sentence"]]
        heard = f"heard {one.heard}"
        missing += [heard] * (not said["own"].startswith(f"{heard}:"))
        return ("half", "; ".join(missing)) if missing else ("right", "")
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


def of_program(name: str, causes: dict[str, dict[str, Any]], folder: Path) -> tuple[str, list[str]]:
    """Return a verdict on a program's cause, and its row."""
    one = Planted(**causes[name])
    said = explained(name, one, folder, causes)
    verdict, missing = judged(one, said)
    own = OWN.fullmatch(said["own"])
    time = f"{int(own[one.time]) / 1000:.1f} µs" if own else said["own"].partition(":")[0]
    lacks = f" (lacks {missing})" if missing else ""
    where = f"{one.kernel}, {one.processors}"
    return verdict, [one.title, where, said["sentence"], time, verdict + lacks]


def written(match: re.Match[str], once: dict[str, str]) -> str:
    """Return what a line of a cause's code stands for."""
    name, *parts = match.groups()
    flags = "unsigned long flags;\n\t\t" * ("flags" in parts[0])
    text = once[name].strip().replace("@FLAGS@", flags)
    for place, part in zip(("@A@", "@B@"), parts, strict=True):
        statements = part.strip().replace("; ", ";\n\t\t")
        text = text.replace(place, statements) if statements else text.replace(f"\t\t{place}\n", "")
    return text


def late_ball(rally: Path) -> tuple[int, int, int]:
    """Return the latest ball of the cause, its wait and how long of that the cause was at work."""
    traced = [
        (int(began) * TICK_NS, int(ended) * TICK_NS)
        for began, ended in re.findall(
            r"planted: (\d+) (\d+)", (rally / CONSOLE).read_text(errors="replace")
        )
    ]
    found = []
    for number, (served, _, fall) in enumerate(balls_of(open_rally(rally))[: TOLD_AT - 1].tolist()):
        covered = sum(max(0, min(served + fall, e) - max(served, b)) for b, e in traced)
        found.append((fall, number, covered))
    wait, number, covered = max(one for one in found if 2 * one[2] >= one[0])
    return number, wait, covered


def source_of(cause: dict[str, Any], once: dict[str, str]) -> str:
    """Return the C file of a Racquet's cause; ``once``: what several have."""
    begin = cause.get("begin", "")
    asks = f'devm_request_{ASKS[cause.get("asks", "thread")]} "racquet", r)'
    expand = partial(written, once=once)
    code = re.sub(r"^@(\w+) (.*)@ (.*)$", expand, cause["code"].strip(), flags=re.MULTILINE) + "\n"
    code += once["turned"] * ("wheel_turned(int" not in code)
    code += once["probe"].format(begin, "err ?: " * ("err" in begin), asks)
    return (HERE / "racquet.c.in").read_text().replace("@CODE@", code.strip())


def of_racquet(name: str, causes: dict[str, dict[str, Any]], folder: Path) -> tuple[str, list[str]]:
    """Return a verdict on a Racquet's cause, and its row."""
    cause, rally, source = causes[name], folder / name, folder / f"{name}.c"
    processors = cause.get("processors", 1)
    text = source_of(cause, causes["once"])
    source.write_text(text)
    where = ("--processors", str(processors), "--interrupt-cpu", "0") if processors > 1 else ()
    setup = ("--racquet", str(source), "--kernel", cause["kernel"], *where, "--seed", "7")
    play(rally, *setup, "--balls", "200")
    number, wait, covered = late_ball(rally)
    ball = ("--ball", str(number), "--racquet", str(source), "--json")
    sentence = json.loads(tennis("explain", str(rally), *ball))["explained"][0]["sentence"]
    line = text.split("/* HERE */")[0].count("\n") + 1
    missed = sum(word not in sentence for word in (*cause["says"], f"{source.name}:{line}"))
    verdict = ("right", "half")[missed] if missed < 2 else "wrong"
    times = [format_ns(wait), format_ns(covered)]
    return verdict, [cause["title"], f"{cause['kernel']}, {processors}", *times, verdict, sentence]


HEADS = {
    "programs": "| planted | kernel, processors | `tennis explain` says | own record | |\n"
    "|---|---|---|--:|---|",
    "racquets": "| cause | kernel, processors | ball | of that the cause | verdict | sentence |\n"
    "|---|---|--:|--:|---|---|",
}


def main() -> int:
    """Play what is missing, and print the table."""
    kind, folder, names = sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3:]
    folder.mkdir(exist_ok=True)
    if kind == "programs":
        causes, of = tomllib.loads((HERE / "causes.toml").read_text()), of_program
        every = list(causes)
    else:
        table = tomllib.loads((HERE / "racquets.toml").read_text())
        causes, of = {cause["name"]: cause for cause in table["cause"]}, of_racquet
        for cause in table["cause"]:
            cause.setdefault("code", causes.get(cause.get("like"), {}).get("code"))
        every, causes["once"] = list(causes), table["once"]
    print(HEADS[kind])
    found, rows = [], []
    for name in names or every:
        verdict, row = of(name, causes, folder)
        found.append(verdict)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
        print(rows[-1], flush=True)
    count = ", ".join(f"{found.count(one)} {one}" for one in ("right", "half", "wrong"))
    rows += ["", f"Of {len(found)} causes: {count}."]
    print("\n".join(rows[-2:]))
    if not names:
        before, head, rest = PAGE.read_text().partition(HEADS[kind])
        after = re.sub(r"\A(?:\n\|.*)+\n\n.*", "", rest)
        PAGE.write_text(before + head + "\n" + "\n".join(rows) + after)
    return 0 if found.count("right") == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
