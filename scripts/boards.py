"""Print the tables of docs/evidence/hardware.md: the bench beside boards that others measured.

    .venv/bin/python scripts/boards.py hardware boards    matches of the plans of these names

Nothing is fitted. A factor is the board's time by the bench's: above 1 the bench is too early.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evidence import printed
from numpy.typing import NDArray

from tennis.match.folder import open_match
from tennis.rally import Rally
from tennis.rally.memory import name_of
from tennis.rally.statistics.balls import latencies_ns
from tennis.report.publications import knutsson_2008, load

RESAMPLES, SEED = 10_000, 54
RANKED_MIN = 5  # pairs: fewer have no rank correlation that says anything
INTERVAL = (0.025, 0.975)
WHICH = ("earliest", "usual", "latest")
THESIS, OTHERS, HELD_OUT = "knutsson-2008", "other boards", "held out"
# a part of a source and its words -> the profile of that board
PROFILES = {
    THESIS: "cm-x270",
    "Raspberry Pi 1": "raspberry-pi-1",
    "jjackowski": "raspberry-pi-1",
    "gkaindl-pi3": "raspberry-pi-3-at-1400mhz",  # a 3 B+
    "linux-comparison": "beaglebone",
    "1 GHz": "beaglebone",
    **{f"{mhz} MHz": f"beaglebone-at-{mhz}mhz" for mhz in (600, 500, 300)},
}
# bottom half, top half, priorities -> the cell, as hardware.toml names it
WHO = {
    ("tasklet", "hard", "default"): "mainline",
    ("tasklet", "explicit", "thesis-2008"): "rt default",
    ("tasklet", "explicit", "chrt"): "rt chrt",
    ("tasklet", "hard", "chrt"): "rt hard",
    ("user", "hard", "chrt"): "rt process",
}
Row = NDArray[np.float64]


class Point(NamedTuple):
    """A published time in µs; ``cell``: what the bench plays that comes nearest."""

    board: str
    cell: str
    what: str
    which: str
    us: float
    held_out: bool = False


def points() -> Iterator[Point]:
    """Yield all published times that have a cell on the bench."""
    for table in knutsson_2008().results:
        who = "mainline" if table.kernel == "mainline" else f"rt {table.priorities}"
        for name in ("idle", "stress", "network") if table.kernel != "xenomai" else ():
            of = getattr(table, name)
            for what, figure in (("interrupt", of.irq), ("scheduling", of.sched)):
                yield Point(THESIS, f"{who}, {name}", what, "earliest", figure.max - figure.jitter)
                yield Point(THESIS, f"{who}, {name}", what, "latest", figure.max)
    paper = load("koeker")
    for row in (*paper["quartiles"], *paper["latency"]):
        cell = f"rt hard, {'ping-flood' if row['load'] else 'idle'}"
        for key, which in zip(("min", "q2", "max"), WHICH, strict=True):
            if key in row and row["mode"] == "oneshot":
                yield Point("koeker", cell, "interrupt", which, row[key])
    content = load("hardware")
    out = {source["id"] for source in content["source"] if source.get("held_out")}
    for row in content["point"]:
        board = f"{row['source']}: {row['who'].removeprefix('handler, mainline, ')}"
        for what in {"interrupt", "process"} & set(row) if "cell" in row else ():
            for which, us in row[what].items():
                yield Point(board, row["cell"], what, which, us, row["source"] in out)


def times_us(rally: Rally) -> tuple[tuple[str, str], dict[str, Row]]:
    """Return a rally's cell and profile, and its earliest, usual and latest times by latency."""
    target = rally.manifest.target
    rise, fall = (latencies_ns(rally, what) / 1000 for what in ("interrupt", "scheduling"))
    if rally.manifest.suspect:
        sys.exit(f"boards: {rally.path} is suspect")
    every = {"interrupt": rise, "scheduling": fall, "process": rise + fall}
    cell = (
        f"{WHO[target.bottom_half, target.top_half, target.priorities]}, {rally.manifest.load.name}"
    )
    return (cell, name_of(target.memory)), {
        w: np.quantile(t, (0, 0.5, 1)) for w, t in every.items()
    }


def spearman(one: Row, other: Row) -> float:
    """Return how far two rows of numbers rank alike, from -1 to 1 (Spearman 1904)."""
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(numbers: Row) -> Row:
    """Return each number's rank; equal ones share their mean rank."""
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[places]


def at_most(board: Row) -> float:
    """Return the mean rank correlation of benches that are right within a factor of 2."""
    draw = np.random.default_rng(SEED)
    times = board * 2.0 ** draw.uniform(-1, 1, (1000, len(board)))
    return float(np.mean([spearman(board, one) for one in times]))


def compared(pairs: Row) -> list[str]:
    """Return how many pairs of board and bench there are, their mean factor, range, and rank."""
    board, factors = pairs[:, 0], pairs[:, 0] / pairs[:, 1]
    said = [
        str(len(pairs)),
        f"{_mean_of(factors):.2f}",
        f"{factors.min():.3g} to {factors.max():.3g}",
        "",
    ]
    if len(pairs) < RANKED_MIN:
        return said
    draw = np.random.default_rng(SEED)
    samples = draw.integers(0, len(pairs), (RESAMPLES, len(pairs)))
    low, high = np.quantile([_mean_of(factors[rows]) for rows in samples], INTERVAL)
    said[1] += f" ({low:.2f} to {high:.2f})"
    if np.ptp(pairs, axis=0).all():
        # a sample whose times are all equal has no correlation
        some = [pairs[rows].T for rows in samples if np.ptp(pairs[rows], axis=0).all()]
        low, high = np.quantile([spearman(*one) for one in some], INTERVAL)
        said[3] = (
            f"{spearman(*pairs.T):.2f} ({low:.2f} to {high:.2f}), at most {at_most(board):.2f}"
        )
    return said


def _mean_of(factors: Row) -> float:
    return float(np.exp(np.log(factors).mean()))


def tables(rallies: Sequence[Rally]) -> list[list[list[str]]]:
    """Return two tables: factors and ranks; each cell's times."""
    bench, groups = dict(map(times_us, rallies)), defaultdict(list)
    cells: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for point in points():
        board = THESIS if point.board == THESIS else HELD_OUT if point.held_out else OTHERS
        own = next((name for part, name in PROFILES.items() if part in point.board), "")
        for kind, memory in (("none", "none"), ("its own", own)):
            if (times := bench.get((point.cell, memory))) is None:
                continue
            us = float(times[point.what][WHICH.index(point.which)])
            groups[f"{point.what}, {point.which}", board, kind].append((point.us, us))
            row = cells[point.board, f"{point.cell}: {point.what}"]
            row |= {f"{point.which}, board": f"{point.us:g}", f"{point.which}, {kind}": f"{us:.3g}"}
    summary = [
        ["quantity", "boards", "profile", "pairs", "board / bench", "from to", "rank correlation"]
    ]
    summary += [[*key, *compared(np.array(groups[key]))] for key in sorted(groups)]
    head = [f"{which}, {kind}" for which in WHICH for kind in ("board", "none", "its own")]
    rows = [[*key, *(row.get(name, "") for name in head)] for key, row in cells.items()]
    return [summary, [["board", "cell", *head], *rows]]


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("boards: name the folders of the matches")
    played = [rally for path in sys.argv[1:] for rally in open_match(Path(path)).rallies()]
    print("\n\n".join(map(printed, tables(played))))
