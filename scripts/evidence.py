# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Print the tables of docs/evidence from matches: one column a match, in Markdown.

    .venv/bin/python scripts/evidence.py 6.12=k612 7.3=k7
    .venv/bin/python scripts/evidence.py --hardware hardware     beside boards: ranks and factors

Verdicts first, as `tennis replicate` has them; then what the median boot's balls exceed.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tennis.checkout import ROOT
from tennis.cli.hardware import correlation, factor
from tennis.comparison.boots import Boot
from tennis.comparison.folders import LATENCIES, read_side
from tennis.comparison.rallies import boot_of
from tennis.comparison.sides import Side
from tennis.match.folder import open_match
from tennis.publications.hardware import Quantity
from tennis.rally import Rally
from tennis.rally.cycles import balls_in_whole_cycles
from tennis.rally.memory import NONE
from tennis.replicate.hardware import ALL, HELD_OUT, Cell, Group, cells, compared
from tennis.replicate.verdicts import Claim, Replication, number
from tennis.stats.balls import latencies_ns
from tennis.units import format_ns

LEVELS = (2, 100, 1000, 10_000)


def verdicts(replications: Mapping[str, Replication]) -> list[list[str]]:
    """Return a row for each part of each claim that a match addresses."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for name, replication in replications.items():
        for claim in replication.claims:
            if claim.addressed:
                for row, text in _parts(claim):
                    rows.setdefault(row, {})[name] = text
    head = ["claim", "statement", "published", *replications]
    return [
        head,
        *([*row, *(found.get(n, "") for n in replications)] for row, found in rows.items()),
    ]


def _parts(claim: Claim) -> list[tuple[tuple[str, ...], str]]:
    found: list[tuple[tuple[str, ...], str]] = []
    several = claim.kind == "conclusion"
    judged = [(part, part.says if several else claim.title) for part in claim.parts]
    beside = [(part, f"{part.says if several else claim.title}, hard") for part in claim.beside]
    for part, says in judged + beside:
        published = "" if part.published is None else number(part.published)
        text = f"**{part.verdict}**{part.sentence.removeprefix(part.verdict)}"
        text += f": {part.ratio}" if part.ratio else ""
        if part.largest is not None:
            text += f"; latest {number(part.largest)}"
        found.append(((claim.id, says, published), text))
    return found


def levels(matches: Mapping[str, Path]) -> list[list[str]]:
    """Return three rows for each cell: the median boot's levels, and the latest ball.

    Interrupt latency, scheduling latency, and both: until the bottom half has answered.
    """
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for name, path in matches.items():
        for cell in sorted(read_side(path), key=lambda cell: cell.name):
            for latency, boots_of_it in _boots(cell.rallies).items():
                side = Side(boots_of_it)
                times = [side.median(n).estimate for n in LEVELS if side.has(n)]
                text = " / ".join(map(format_ns, [*times, max(side.latest())]))
                boots = len(cell.rallies)
                rows.setdefault((cell.name, latency), {})[name] = (
                    f"{text} ({side.balls:,}, {boots})"
                )
    head = ["cell", "latency", *matches]
    return [head, *([*row, *(found.get(n, "") for n in matches)] for row, found in rows.items())]


def _boots(rallies: Sequence[Rally]) -> dict[str, list[Boot]]:
    """Return the boots of a cell by latency, in ns; both: until the bottom half has answered."""
    boots: dict[str, list[Boot]] = {
        latency: [boot_of(rally, latency) for rally in rallies] for latency in LATENCIES
    }
    return boots | {"both": [_both(rally) for rally in rallies]}


def _both(rally: Rally) -> Boot:
    whole = balls_in_whole_cycles(rally)
    interrupt, scheduling = latencies_ns(rally, "interrupt"), latencies_ns(rally, "scheduling")
    return Boot.of((interrupt + scheduling)[:whole])


# a row of that page: "mainline, idle | interrupt | 1.63 µs / 2.96 µs / 3.05 µs / 6.61 µs | ..."
RECORDED = ROOT / "docs" / "evidence" / "knutsson-match.md"
UNITS_US = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}
RECORDED_BALLS, RECORDED_BOOTS = 100_000, 10


def recorded(column: int, named: str) -> list[Cell]:
    """Return the cells of the recorded match without a memory profile; column 0: Linux 6.12."""
    times: dict[str, dict[Quantity, float]] = {}
    for line in RECORDED.read_text().splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")]
        if len(parts) != 4 or parts[1] not in LATENCIES or parts[2].count("/") != 3:
            continue
        usual, *_, latest = (
            float(value) * UNITS_US[unit]
            for value, unit in (time.split() for time in parts[2 + column].split(" / "))
        )
        found = times.setdefault(_named(parts[0]), {})
        if parts[1] == "interrupt":
            found |= {"interrupt, usual": usual, "interrupt, latest": latest}
        else:
            found["scheduling, latest"] = latest
    return [Cell(name, named, RECORDED_BOOTS, RECORDED_BALLS, of) for name, of in times.items()]


def _named(cell: str) -> str:
    """Return a cell of that page as boards' points name it: "rt chrt forced, idle"."""
    who, _, load = cell.partition(", ")
    kernel, *rest = who.split()
    if kernel == "mainline":
        return cell
    priorities, half = rest if len(rest) == 2 else ("default", rest[0])
    if half == "hard":
        return f"rt hard, {load}" if priorities == "chrt" else cell
    return f"rt {half} {priorities}, {load}"


def boards(found: Sequence[Group]) -> list[list[list[str]]]:
    """Return two tables of cells beside boards: ranks and factors; each pair of times."""
    head = ["quantity", "boards", "memory", "pairs", "rank correlation", "board / bench"]
    ranks = [
        [g.quantity, g.boards, g.memory, str(len(g.pairs)), correlation(g), factor(g)]
        for g in found
    ]
    memories = list(dict.fromkeys(g.memory for g in found))
    times: dict[tuple[str, ...], dict[str, str]] = {}
    for group in found:
        for pair in group.pairs if group.boards in {ALL, HELD_OUT} else ():
            point = pair.point
            balls = f"{point.balls:,}" if point.balls else "?"
            row = (point.quantity, point.source.id, point.who, point.load, f"{point.us:g}", balls)
            bench = f"{pair.bench_us:.3g} ({pair.cell.balls:,})"
            times.setdefault(row, {})[group.memory] = bench
    head_of_cells = ["quantity", "board", "who", "load", "board, µs", "N", *memories]
    rows = [[*row, *(some.get(m, "") for m in memories)] for row, some in times.items()]
    return [[head, *ranks], [head_of_cells, *rows]]


def printed(rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def main() -> None:
    """Print both tables."""
    if sys.argv[1:2] == ["--hardware"] and len(sys.argv) == 3:
        # without a profile the recorded match has more balls: this one says what a profile does
        own = [
            replace(cell, memory=f"{NONE}, {cell.balls:,}") if cell.memory == NONE else cell
            for cell in cells(open_match(Path(sys.argv[2])))
        ]
        played = compared([*recorded(0, NONE), *recorded(1, f"{NONE}, 7.3"), *own])
        print("\n\n".join(map(printed, boards(played))))
        return
    if not sys.argv[1:] or not all("=" in word for word in sys.argv[1:]):
        sys.exit("evidence: name each match: evidence.py NAME=FOLDER ...")
    named = (word.partition("=")[::2] for word in sys.argv[1:])
    matches = {name: Path(folder) for name, folder in named}
    print(printed(verdicts({n: Replication(open_match(path)) for n, path in matches.items()})))
    print()
    print(printed(levels(matches)))


if __name__ == "__main__":
    main()
