"""Print the two tables of docs/evidence/hardware.md about what is missing: cycles, by class.

    .venv/bin/python scripts/cycles.py FOLDER    plays there what is not there yet: idle rallies

In a rally one class costs STEP cycles more than the profile says: the usual answer is later by as
many of it as are in it. A profile at its own clock and at half of it divides an answer into what
follows the clock and what does not. Others have all assumed costs at an end of their ranges.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from boards import PROFILES, points
from evidence import printed

from tennis.bench.virtual import memory
from tennis.bench.virtual.bench import VirtualBench
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally import memory as profiles
from tennis.rally import open_folder
from tennis.rally.request import requests_of
from tennis.rally.statistics.balls import latencies_ns

STEP = 100  # cycles
CELL, CLASSED = "mainline, idle", "beaglebone"  # whose classes are counted
RALLY = {"kernel": "mainline-6.1", "bottom_half": "tasklet", "seed": 54, "balls": 100}
ENDS = ("as assumed", "lowest", "highest")
# a Raspberry Pi 3 B+, whose kernel saves power by default (bcm2709_defconfig): at most, at least
CLOCKS = {"gkaindl-pi3": (1400, 600)}
OWN = profiles.FOLDER
Figures = dict[str, Any]


def costs(figures: Figures, *path: str) -> Iterator[tuple[str, str, Figures, str]]:
    """Yield each figure of a profile: its part, name, itself, and the key of its number."""
    for name, part in figures.items():
        if isinstance(part, dict) and "source" in part:
            yield path[0] if path else "", name, part, "cycles" if "cycles" in part else "value"
        elif isinstance(part, dict):
            yield from costs(part, *path, name)


def usual_us(folder: Path, name: str, figures: Figures) -> float:
    """Return the median interrupt latency with a profile that is made here."""
    own = {key: json.dumps(part) for key, part in figures.items() if key != "base"}
    text = "".join(f"{key} = {part}\n" for key, part in own.items()).replace('": ', '" = ')
    (profiles.FOLDER / f"{name}.toml").write_text(text)
    if not (folder / name).is_dir():
        plan = plan_for(*requests_of(RALLY | {"memory": name}))
        play(VirtualBench(), plan, folder / name, Watch())
    return float(np.median(latencies_ns(open_folder(folder / name), "interrupt"))) / 1000


def line(folder: Path, name: str, end: str) -> tuple[float, float]:
    """Return what of a profile's median follows no clock, in µs, and its cycles."""
    figures = memory._figures(OWN / f"{name}.toml")
    for part, _, figure, key in costs(figures):
        if end != ENDS[0] and "range" in figure and part in {"cycles", "costs", "devices"}:
            figure[key] = figure["range"][ENDS.index(end) - 1]
    mhz, us = figures["clock_mhz"]["value"], []
    for at in (mhz, mhz // 2):
        figures["clock_mhz"]["value"] = at
        us.append(usual_us(folder, f"{name}-{end}-{at}".replace(" ", "-"), figures))
    cycles = (us[1] - us[0]) / (1 / (mhz // 2) - 1 / mhz)
    return us[0] - cycles / mhz, cycles


def boards(folder: Path) -> Iterator[list[str]]:
    """Yield a row for each board: the bench's ends, and the cycles on both sides."""
    head = ["board", "MHz", "published, µs", "bench, µs: lowest, as assumed, highest"]
    yield [*head, "cycles, board", "cycles, bench", "missing", "missing at the highest"]
    for point in points():
        own = next((name for part, name in PROFILES.items() if part in point.board), "")
        if (point.cell, point.what, point.which) != (CELL, "interrupt", "usual") or not own:
            continue
        name = profiles.file_of(own).stem
        usual, *ends = (line(folder, name, end) for end in ENDS)
        mhz = profiles.clock_of(own) or memory._figures(OWN / f"{name}.toml")["clock_mhz"]["value"]
        for at in CLOCKS.get(point.board.partition(":")[0], (mhz,)):
            us, low, high = (rest + cycles / at for rest, cycles in (usual, *ends))
            board = (point.us - usual[0]) * at
            row = [point.board, f"{at}", f"{point.us:g}", f"{low:.2f}, {us:.2f}, {high:.2f}"]
            row += [f"{board:,.0f}", f"{usual[1]:,.0f}", f"{board - usual[1]:,.0f}"]
            yield [*row, f"{max(0, point.us - high) * at:,.0f}"]


def classes(folder: Path) -> Iterator[list[str]]:
    """Yield a row for each class of the usual answer: how often, and its cycles."""
    file = OWN / f"{CLASSED}.toml"
    mhz = memory._figures(file)["clock_mhz"]["value"]
    rest, cycles = line(folder, CLASSED, ENDS[0])
    rows, sums = [], np.zeros(2)
    for number, (part, name, _, key) in enumerate(costs(memory._figures(file))):
        if part != "cycles" and key != "cycles":
            continue
        figure = [*costs(figures := memory._figures(file))][number][2]
        each, (low, high) = figure[key], figure.pop("range", [figure[key]] * 2)
        figure |= {key: each + STEP, "source": "a count"}
        later_us = usual_us(folder, f"{CLASSED}-{name}".replace("_", "-"), figures)
        count = ((later_us - rest) * mhz - cycles) / STEP
        takes = np.array([each, high - each]) * count
        sums += takes
        words = name.removesuffix("_ns").replace("_", " ")
        row = [words, f"{count:z.1f}", f"{each:g} ({low:g} to {high:g})"]
        rows.append((takes[0], [*row, *(f"{one:z,.0f}" for one in takes)]))
    yield ["class", "in an answer", "cycles each (range)", "cycles", "more at the highest"]
    yield from (row for _, row in sorted(rows, key=lambda one: -one[0]))
    yield ["all", "", "", *(f"{one:,.0f}" for one in sums)]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("cycles: name a folder for the rallies")
    profiles.FOLDER = Path(sys.argv[1]) / "profiles"
    profiles.FOLDER.mkdir(parents=True, exist_ok=True)
    tables = ([*table(Path(sys.argv[1]))] for table in (classes, boards))
    print("\n\n".join(map(printed, tables)))
