# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Print the tables of docs/evidence/hardware.md: the bench beside boards that others measured.

    .venv/bin/python scripts/hardware_table.py hardware      a match of plans/hardware.toml

Nothing is fitted. A factor is the board's time by the bench's: above 1 the bench is too early.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from evidence import printed
from numpy.typing import NDArray
from scipy.stats import rankdata

from tennis.kit.checkout import ROOT
from tennis.match.folder import open_match
from tennis.rally import Rally
from tennis.rally.memory import name_of
from tennis.rally.settings import not_as_published
from tennis.rally.statistics.balls import latencies_ns
from tennis.report.publications import knutsson_2008, load
from tennis.report.publications.rules import LATENCIES

RESAMPLES, SEED = 10_000, 54
RANKED_MIN = 5  # pairs: fewer have no rank correlation that says anything
ALL, HELD_OUT = "all boards but those held out", "held out"
QUANTITIES = (
    "interrupt, usual", "interrupt, latest", "scheduling, latest",
    "process, usual", "process, latest",
)  # fmt: skip
# settings that a cell is of, or that stand beside it
NAMED = {"kernel", "load", "priorities", "bottom_half", "top_half", "memory", "instruction_ns"}
# kernel, bottom half, top half, priorities -> whose times on boards come nearest
WHO = {
    ("mainline", "tasklet", "hard", "default"): "mainline",
    ("rt", "tasklet", "forced", "default"): "rt forced default",
    ("rt", "tasklet", "forced", "chrt"): "rt forced chrt",
    ("rt", "tasklet", "hard", "chrt"): "rt hard",
    ("rt", "user", "hard", "chrt"): "rt process",
}
# a row of that page: "mainline, idle | interrupt | 1.63 µs / 2.96 µs / 3.05 µs / 6.61 µs | ..."
RECORDED = ROOT / "docs" / "evidence" / "knutsson-match.md"
UNITS_US = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}
RECORDED_BALLS = 100_000


@dataclass(frozen=True)
class Point:
    """One published time in µs; ``cell``: what the bench plays that comes nearest, if anything."""

    source: str
    held_out: bool
    who: str
    load: str
    balls: int | None
    cell: str | None
    quantity: str
    us: float


@dataclass(frozen=True)
class Cell:
    """What the bench took in a cell with one memory, in µs; infinite: a ball was missed."""

    name: str
    memory: str
    balls: int
    times: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """The pairs of one quantity with one memory: of all boards, of one, or of those held out."""

    quantity: str
    boards: str
    memory: str
    pairs: tuple[tuple[Point, Cell], ...]

    @property
    def rho(self) -> tuple[float, float, float] | None:
        """Return Spearman's rank correlation and its 95 % interval of bootstrap samples."""
        board = np.array([point.us for point, _ in self.pairs])
        bench = np.array([cell.times[self.quantity] for _, cell in self.pairs])
        if len(self.pairs) < RANKED_MIN or np.ptp(rankdata(bench)) == 0 or np.ptp(board) == 0:
            return None
        draw = np.random.default_rng(SEED)
        found: list[float] = []
        while len(found) < RESAMPLES:
            chosen = draw.integers(0, len(board), len(board))
            # a sample whose times are all equal has no correlation
            if np.ptp(board[chosen]) and np.ptp(rankdata(bench[chosen])):
                found.append(spearman(board[chosen], bench[chosen]))
        low, high = np.quantile(found, [0.025, 0.975]).tolist()
        return spearman(board, bench), low, high

    @property
    def factor(self) -> tuple[float, float, float]:
        """Return the geometric mean of the factors, the smallest and the largest."""
        factors = np.array([point.us / cell.times[self.quantity] for point, cell in self.pairs])
        with np.errstate(divide="ignore"):  # a missed ball's is 0
            mean = float(np.exp(np.log(factors).mean()))
        return mean, float(factors.min()), float(factors.max())


def spearman(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return how far two rows of numbers rank alike, from -1 to 1 (Spearman 1904)."""
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def points() -> list[Point]:
    """Return all published times of boards, by source."""
    return [*_of_the_thesis(), *_of_koeker(), *_of_others()]


def _of_the_thesis() -> Iterator[Point]:
    thesis = knutsson_2008()
    for table in thesis.results:
        for name in ("idle", "stress", "network", "xload"):
            if (result := getattr(table, name)) is None:
                continue
            cells = {"mainline": f"mainline, {name}", "rt": f"rt forced {table.priorities}, {name}"}
            who = f"handler, {table.kernel}, priorities {table.priorities}"
            for quantity, us in (
                ("interrupt, latest", result.irq.max),
                ("scheduling, latest", result.sched.max),
            ):
                about = (who, name, thesis.instrument.balls, cells.get(table.kernel))
                yield Point("knutsson-2008", False, *about, quantity, us)


def _of_koeker() -> Iterator[Point]:
    """Yield tables 2 and 3: one-shot timers are the bench's, periodic ones have no cell."""
    paper = load("koeker")
    for table, key, quantity in (
        ("quartiles", "q2", "interrupt, usual"),
        ("latency", "max", "interrupt, latest"),
    ):
        for row in paper[table]:
            name = "ping-flood" if row["load"] else "idle"
            cell = f"rt hard, {name}" if row["mode"] == "oneshot" else None
            about = (f"handler, RTAI, {row['mode']}", name, paper["instrument"]["interrupts"], cell)
            yield Point("koeker", False, *about, quantity, row[key])


def _of_others() -> Iterator[Point]:
    content = load("hardware")
    held_out = {source["id"]: source.get("held_out", False) for source in content["source"]}
    for row in content["point"]:
        about = (row["who"], row["load"], row.get("balls"), row.get("cell"))
        for what in ("interrupt", "process"):
            for name, us in row.get(what, {}).items():
                source = row["source"]
                yield Point(source, held_out[source], *about, f"{what}, {name}", us)


def cell_of(rally: Rally) -> str | None:
    """Return the cell of a rally as ``Point.cell`` names it; None: it is of none."""
    target = rally.manifest.target
    # no board was measured with load options, say: boots with and without are not one cell
    if not_as_published(rally.manifest, NAMED):
        return None
    how = (target.bottom_half, target.top_half, target.priorities)
    flavour = next((name for name in ("mainline", "rt") if target.kernel.startswith(name)), "")
    who = WHO.get((flavour, *how))
    return who and f"{who}, {rally.manifest.load.name}"


def cells(match: Path) -> list[Cell]:
    """Return the cells of a match, in the order of playing."""
    found: dict[tuple[str, str], list[Rally]] = defaultdict(list)
    for rally in open_match(match).rallies():
        if (name := cell_of(rally)) and not rally.manifest.suspect:
            found[name, name_of(rally.manifest.target.memory)].append(rally)
    return [_cell(*key, rallies) for key, rallies in found.items()]


def _cell(name: str, memory: str, rallies: Sequence[Rally]) -> Cell:
    boots: dict[str, list[NDArray[np.float64]]] = {
        what: [latencies_ns(rally, what) / 1000 for rally in rallies] for what in LATENCIES
    }
    both = zip(boots["interrupt"], boots["scheduling"], strict=True)
    boots["process"] = [rise + fall for rise, fall in both]
    times = {f"{what}, latest": max(float(boot.max()) for boot in some)
             for what, some in boots.items()}  # fmt: skip
    # the median boot's median
    times |= {f"{what}, usual": float(np.median([np.median(boot) for boot in some]))
              for what, some in boots.items()}  # fmt: skip
    # without a profile the recorded match has more balls: this one says what a profile does
    balls = sum(map(len, boots["interrupt"]))
    return Cell(name, f"none, {balls:,}" if memory == "none" else memory, balls, times)


def recorded(column: int, named: str) -> list[Cell]:
    """Return the cells of the recorded match without a memory profile; column 0: Linux 6.12."""
    found: dict[str, Cell] = {}
    for line in RECORDED.read_text().splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")]
        if len(parts) != 4 or parts[1] not in LATENCIES or parts[2].count("/") != 3:
            continue
        usual, *_, latest = (
            float(value) * UNITS_US[unit]
            for value, unit in (time.split() for time in parts[2 + column].split(" / "))
        )
        name = _named(parts[0])
        cell = found.setdefault(name, Cell(name, named, RECORDED_BALLS))
        cell.times.update({f"{parts[1]}, usual": usual, f"{parts[1]}, latest": latest})
    return list(found.values())


def _named(cell: str) -> str:
    """Return a cell of that page as boards' points name it: "rt chrt forced, idle"."""
    who, _, load_name = cell.partition(", ")
    kernel, *rest = who.split()
    if kernel == "mainline":
        return cell
    priorities, half = rest if len(rest) == 2 else ("default", rest[0])
    if half == "hard":
        return f"rt hard, {load_name}" if priorities == "chrt" else cell
    return f"rt {half} {priorities}, {load_name}"


def compared(there: Sequence[Cell]) -> Iterator[Group]:
    """Yield the comparisons of cells with boards, by quantity, then by memory."""
    for quantity in QUANTITIES:
        for memory in dict.fromkeys(cell.memory for cell in there):
            by_name = {cell.name: cell for cell in there if cell.memory == memory}
            boards: dict[str, list[tuple[Point, Cell]]] = defaultdict(list)
            for point in points():
                cell = by_name.get(point.cell or "")
                if point.quantity == quantity and cell and quantity in cell.times:
                    boards[HELD_OUT if point.held_out else point.source].append((point, cell))
            held_out = boards.pop(HELD_OUT, [])
            some = {ALL: [pair for pairs in boards.values() for pair in pairs]}
            if len(boards) > 1:
                some |= {name: own for name, own in boards.items() if len(own) >= RANKED_MIN}
            for name, pairs in (some | {HELD_OUT: held_out}).items():
                if pairs:
                    yield Group(quantity, name, memory, tuple(pairs))


def tables(groups: Sequence[Group]) -> list[list[list[str]]]:
    """Return two tables: ranks and factors; each pair of times."""
    ranks = [["quantity", "boards", "memory", "pairs", "rank correlation", "board / bench"]]
    times: dict[tuple[str, ...], dict[str, str]] = {}
    for group in groups:
        rho = "{:.2f} ({:.2f} to {:.2f})".format(*group.rho) if group.rho else ""
        factor = "{:.3g} ({:.3g} to {:.3g})".format(*group.factor)
        about = [group.quantity, group.boards, group.memory, str(len(group.pairs))]
        ranks.append([*about, rho or "too few, or all equal", factor])
        for point, cell in group.pairs if group.boards in {ALL, HELD_OUT} else ():
            balls = f"{point.balls:,}" if point.balls else "?"
            row = (group.quantity, point.source, point.who, point.load, f"{point.us:g}", balls)
            bench = f"{cell.times[group.quantity]:.3g} ({cell.balls:,})"
            times.setdefault(row, {})[group.memory] = bench
    memories = list(dict.fromkeys(group.memory for group in groups))
    head = ["quantity", "board", "who", "load", "board, µs", "N", *memories]
    return [ranks, [head, *([*row, *(some.get(m, "") for m in memories)]
                            for row, some in times.items())]]  # fmt: skip


def main() -> None:
    """Print both tables."""
    if len(sys.argv) != 2:
        sys.exit("hardware_table: name the match's folder")
    there = [*recorded(0, "none"), *recorded(1, "none, 7.3"), *cells(Path(sys.argv[1]))]
    print("\n\n".join(map(printed, tables(list(compared(there))))))


if __name__ == "__main__":
    main()
