# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Whether ``tennis explain`` finds causes that were planted in Racquets.

planted_causes.py FOLDER [NAME...]   plays and explains them; prints the table of docs/evidence

Each Racquet of planted/racquets.toml keeps a trace of its own: from when to when its cause was at
work, by the counter that the virtual clock drives. It prints that after ``TOLD_AT`` pings. Of the
balls before that the latest is explained whose wait the trace covers for the most part. A sentence
is right if it says every word of the cause's and the planted line, half right without the line or
one word, else wrong. Exits with 1 unless all are right.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from tennis.explain.replayed import explain
from tennis.kit.units import format_ns
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.play.repeat import balls_of
from tennis.rally import Rally, open_rally
from tennis.rally.folder import CONSOLE
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving

PLANTED = Path(__file__).parent / "planted"
TOLD_AT = 150  # as planted/racquet.c.in
TICK_NS = 16  # of the counter of QEMU's machine
SEED, BALLS = 7, 200


def source_of(cause: dict[str, Any], folder: Path) -> Path:
    """Write the C file of a cause."""
    text = (PLANTED / "racquet.c.in").read_text().replace("@CODE@", cause["code"].strip())
    path = folder / f"{cause['name']}.c"
    path.write_text(text)
    return path


def played(cause: dict[str, Any], source: Path, folder: Path) -> Rally:
    """Play a cause's rally, unless it is there."""
    out = folder / cause["name"]
    if out.exists():
        return open_rally(out)
    processors = cause.get("processors", 1)
    asked = {"bench": "virtual", "kernel": cause["kernel"], "racquet": source}
    if processors > 1:
        asked |= {"processors": processors, "interrupt_cpu": 0}
    plan = plan_for(RallyRequest.of(asked), Serving(balls=BALLS, seed=SEED))
    from tennis.bench.registry import bench_for

    bench = bench_for(plan)
    plan = plan.model_copy(update={"versions": bench.versions(plan)})
    return play(bench, plan, out, Watch())


def late_ball(rally: Rally) -> tuple[int, int, int]:
    """Return the latest ball of the cause, its wait and how long of that the cause was at work."""
    console = (rally.path / CONSOLE).read_text(errors="replace")
    traced = [
        (int(began) * TICK_NS, int(ended) * TICK_NS)
        for began, ended in re.findall(r"planted: (\d+) (\d+)", console)
    ]
    found = []
    for number, (served, _, fall) in enumerate(balls_of(rally)[: TOLD_AT - 1].tolist()):
        covered = sum(max(0, min(served + fall, e) - max(served, b)) for b, e in traced)
        found.append((fall, number, covered))
    wait, number, covered = max(one for one in found if 2 * one[2] >= one[0])
    return number, wait, covered


def judged(cause: dict[str, Any], sentence: str, line: str) -> str:
    """Say whether a sentence names a cause."""
    wanted = [*cause["says"], line]
    missed = [word for word in wanted if word not in sentence]
    return "right" if not missed else "half" if len(missed) == 1 else "wrong"


def main() -> int:
    """Play, explain, print."""
    folder, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    folder.mkdir(exist_ok=True)
    causes = tomllib.loads((PLANTED / "racquets.toml").read_text())["cause"]
    found = []
    print("| cause | kernel, processors | ball | of that the cause | verdict | sentence |")
    print("|---|---|--:|--:|---|---|")
    for cause in causes:
        if names and cause["name"] not in names:
            continue
        source = source_of(cause, folder)
        rally = played(cause, source, folder)
        number, wait, covered = late_ball(rally)
        sentence = explain(rally, ball=number, racquet=source).story.sentence
        at = source.read_text().split("/* HERE */")[0].count("\n") + 1
        verdict = judged(cause, sentence, f"{source.name}:{at}")
        found.append(verdict)
        where = f"{cause['kernel']}, {cause.get('processors', 1)}"
        print(
            f"| {cause['title']} | {where} | {format_ns(wait)} | {format_ns(covered)} | {verdict} "
            f"| {sentence} |",
            flush=True,
        )
    print(f"\n{found.count('right')} of {len(found)} right, {found.count('wrong')} wrong")
    return 0 if found.count("right") == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
