# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a memory profile changes: the table of docs/memory.md, from a match of plans/memory.toml.

    tennis match plans/memory.toml
    .venv/bin/python benchmarks/memory_effect.py memory

Each figure is the median of a cell's boots. The median of all boots that could be played lies in
the interval in at least 95 of 100 matches (comparison/ranks.py). The factor is the median of the
factors of boots with the same seed. Median and 1 in 100 are of whole cycles of the load; latest and
different values grow with the number of balls, so they are of all balls, as many on both sides.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Literal, TypeAlias

from tennis.comparison.boots import Boot
from tennis.comparison.levels import level
from tennis.comparison.medians import Median, median
from tennis.comparison.rallies import boot_of
from tennis.comparison.ranks import rank
from tennis.comparison.ratios import TAIL, Ratio, ratio_of_pairs
from tennis.match.folder import MatchFolder, open_match
from tennis.rally import Rally
from tennis.stats.balls import latencies_ns

Latency: TypeAlias = Literal["interrupt", "scheduling"]
LATENCIES: tuple[Latency, ...] = ("interrupt", "scheduling")
CYCLES, BALLS = "whole cycles", "all balls"
# what a row is called: of which balls, and what one boot has: ns, or a number
ROWS: dict[str, tuple[str, Callable[[Boot], float]]] = {
    "median": (CYCLES, lambda boot: level(boot, 2)),
    "1 in 100": (CYCLES, lambda boot: level(boot, 100)),
    "latest": (BALLS, lambda boot: boot.largest),
    "different values": (BALLS, lambda boot: boot.values.size),
}
# by kernel, load, and setting: by seed
Boots: TypeAlias = dict[tuple[str, str, str], dict[int, "Played"]]


@dataclass(frozen=True)
class Played:
    """A rally's balls, and those of whole cycles, by the latency."""

    balls: dict[Latency, Boot]
    cycles: dict[Latency, Boot]

    @classmethod
    def of(cls, rally: Rally) -> "Played":
        """Count a rally's latencies."""
        every = {kind: Boot.of(latencies_ns(rally, kind)) for kind in LATENCIES}
        return cls(every, {kind: boot_of(rally, kind) for kind in LATENCIES})


def boots_of(match: MatchFolder) -> tuple[Boots, list[str]]:
    """Return what was played, and the names of rallies that are missing, suspect or incomplete."""
    boots: Boots = defaultdict(dict)
    left_out = []
    for planned in match.scheduled:
        rally = match.rally(planned.name)
        if rally is None or rally.manifest.suspect or rally.manifest.ended != "complete":
            left_out.append(planned.name)
            continue
        cell = planned.kernel, planned.plan.load, planned.setting or "none"
        boots[cell][rally.manifest.protocol.seed] = Played.of(rally)
    return boots, left_out


def three_digits(value: float, *, whole: bool = False) -> str:
    """Return a number to three digits, as the table has it."""
    if whole or value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:#.3g}".rstrip(".")


def said(found: Median | Ratio, unit: float = 1, *, whole: bool = False) -> str:
    """Return an estimate and, if there are enough boots, its interval."""
    numbers = (found.estimate, found.low, found.high)
    if isnan(found.low):
        return three_digits(found.estimate / unit, whole=whole)
    estimate, low, high = (three_digits(one / unit, whole=whole) for one in numbers)
    return f"{estimate} ({low} to {high})"


def table(boots: Boots, none: str, profile: str) -> Iterator[str]:
    """Yield the lines of a Markdown table, times in us, of the seeds that both sides have."""
    yield f"| kernel, load, latency | | {none} | {profile} | factor |"
    yield "|---|---|---|---|---|"
    for kernel, load in dict.fromkeys(cell[:2] for cell in boots):
        sides = boots[kernel, load, none], boots[kernel, load, profile]
        seeds = sorted(sides[0].keys() & sides[1].keys())
        for kind in LATENCIES if seeds else ():
            name = f"{kernel}, {load}, {kind}"
            for row, (of, figure) in ROWS.items():
                every = [
                    {
                        seed: figure((side[seed].balls if of == BALLS else side[seed].cycles)[kind])
                        for seed in seeds
                    }
                    for side in sides
                ]
                counted = row == "different values"
                found = (median(list(one.values()), rank(len(one), TAIL)) for one in every)
                cells = [said(one, 1 if counted else 1000, whole=counted) for one in found]
                cells.append(said(ratio_of_pairs(every[1], every[0])))
                yield f"| {name} | {row} | " + " | ".join(cells) + " |"
                name = ""
    for (kernel, load, setting), played in boots.items():
        balls, whole = (
            sum(one.balls["interrupt"].balls for one in played.values()),
            sum(one.cycles["interrupt"].balls for one in played.values()),
        )
        missed = sum(one.balls["interrupt"].lost for one in played.values())
        yield (
            f"{kernel}, {load}, {setting}: {len(played)} boots, {balls:,} balls, "
            f"{whole:,} of them in whole cycles, {missed} missed"
        )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("match", type=Path, help="the folder of `tennis match`")
    match = open_match(parser.parse_args().match)
    boots, left_out = boots_of(match)
    none, profile = match.record.plan.settings
    print("\n".join(table(boots, none, profile)))
    print(f"left out: {len(left_out)}" + "".join(f"\n  {name}" for name in left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
