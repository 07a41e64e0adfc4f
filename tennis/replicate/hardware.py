# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How far a match of the virtual bench is from boards: ranks and factors, cell by cell.

Nothing is fitted here. A factor is the board's time by the bench's: above 1 the bench is too early.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tennis.errors import UsageError
from tennis.match.folder import MatchFolder
from tennis.publications.hardware import Point, Quantity, points
from tennis.rally import Rally
from tennis.rally.memory import name_of
from tennis.rally.settings import not_as_published
from tennis.stats.balls import latencies_ns

RESAMPLES = 10_000
SEED = 54
RANKED_MIN = 5  # pairs: fewer have no rank correlation that says anything
ALL, HELD_OUT = "all boards but those held out", "held out"
US = 1000.0


@dataclass(frozen=True)
class Cell:
    """What the bench took in one cell with one memory, in µs; infinite: a ball was missed."""

    name: str
    memory: str
    boots: int
    balls: int
    times: dict[Quantity, float]


@dataclass(frozen=True)
class Pair:
    """A board's time beside the bench's."""

    point: Point
    cell: Cell

    @property
    def bench_us(self) -> float:
        """Return the bench's time."""
        return self.cell.times[self.point.quantity]

    @property
    def factor(self) -> float:
        """Return the board's time by the bench's."""
        return self.point.us / self.bench_us


@dataclass(frozen=True)
class Group:
    """The pairs of one quantity with one memory: of all boards, of one, or of those held out."""

    memory: str
    quantity: Quantity
    boards: str
    pairs: tuple[Pair, ...]

    @cached_property
    def rho(self) -> tuple[float, float, float] | None:
        """Return Spearman's rank correlation and its 95 % interval; None: it has none.

        The interval is that of ``RESAMPLES`` bootstrap samples of pairs. A sample whose board or
        bench times are all equal has no correlation, and is drawn again.
        """
        board = np.array([pair.point.us for pair in self.pairs])
        bench = np.array([pair.bench_us for pair in self.pairs])
        if len(self.pairs) < RANKED_MIN or np.ptp(rankdata(bench)) == 0 or np.ptp(board) == 0:
            return None
        draw = np.random.default_rng(SEED)
        found: list[float] = []
        while len(found) < RESAMPLES:
            chosen = draw.integers(0, len(board), len(board))
            if np.ptp(board[chosen]) and np.ptp(rankdata(bench[chosen])):
                found.append(spearman(board[chosen], bench[chosen]))
        low, high = np.quantile(found, [0.025, 0.975]).tolist()
        return spearman(board, bench), low, high

    @property
    def factor(self) -> tuple[float, float, float]:
        """Return the geometric mean of the factors, the smallest and the largest."""
        factors = np.array([pair.factor for pair in self.pairs])
        with np.errstate(divide="ignore"):  # a missed ball's is 0
            mean = float(np.exp(np.log(factors).mean()))
        return mean, float(factors.min()), float(factors.max())

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "memory": self.memory,
            "quantity": self.quantity,
            "boards": self.boards,
            "pairs": len(self.pairs),
            "rank_correlation": self.rho,
            "factor": self.factor,
            "cells": [
                {
                    "board": pair.point.source.board,
                    "source": pair.point.source.id,
                    "who": pair.point.who,
                    "load": pair.point.load,
                    "board_us": pair.point.us,
                    "board_balls": pair.point.balls,
                    "cell": pair.cell.name,
                    "bench_us": pair.bench_us if np.isfinite(pair.bench_us) else None,
                    "bench_balls": pair.cell.balls,
                    "bench_boots": pair.cell.boots,
                }
                for pair in self.pairs
            ],
        }


def spearman(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return how far two rows of numbers rank alike, from -1 to 1 (Spearman 1904)."""
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


# settings that a cell is of, or that stand beside it
NAMED = {
    *("kernel", "load", "priorities", "bottom_half", "top_half", "memory", "instruction_ns"),
}
# kernel, bottom half, top half, priorities -> whose times on boards come nearest
WHO = {
    ("mainline", "tasklet", "hard", "default"): "mainline",
    ("rt", "tasklet", "forced", "default"): "rt forced default",
    ("rt", "tasklet", "forced", "chrt"): "rt forced chrt",
    ("rt", "tasklet", "hard", "chrt"): "rt hard",
    ("rt", "user", "hard", "chrt"): "rt process",
}


def cell_of(rally: Rally) -> str | None:
    """Return which cell a rally is of, as ``Point.cell`` names it; None: of none."""
    target = rally.manifest.target
    # no board was measured with load options, say: boots with and without are no one cell
    if not_as_published(rally.manifest, NAMED):
        return None
    how = (target.bottom_half, target.top_half, target.priorities)
    flavour = next((name for name in ("mainline", "rt") if target.kernel.startswith(name)), "")
    who = WHO.get((flavour, *how))
    return who and f"{who}, {rally.manifest.load.name}"


def cells(match: MatchFolder) -> list[Cell]:
    """Return the cells of a match that are there, in the order of playing."""
    found: dict[tuple[str, str], list[Rally]] = defaultdict(list)
    for rally in match.rallies():
        if (name := cell_of(rally)) and not rally.manifest.suspect:
            found[name, name_of(rally.manifest.target.memory)].append(rally)
    return [_cell(*key, rallies) for key, rallies in found.items()]


def _cell(name: str, memory: str, rallies: Sequence[Rally]) -> Cell:
    interrupt = [latencies_ns(rally, "interrupt") / US for rally in rallies]
    scheduling = [latencies_ns(rally, "scheduling") / US for rally in rallies]
    process = [rise + fall for rise, fall in zip(interrupt, scheduling, strict=True)]
    times: dict[Quantity, float] = {
        "interrupt, usual": _usual(interrupt),
        "interrupt, latest": max(float(boot.max()) for boot in interrupt),
        "scheduling, latest": max(float(boot.max()) for boot in scheduling),
        "process, usual": _usual(process),
        "process, latest": max(float(boot.max()) for boot in process),
    }
    return Cell(name, memory, len(rallies), sum(len(boot) for boot in interrupt), times)


def _usual(boots: Sequence[NDArray[np.float64]]) -> float:
    """Return the median boot's median."""
    return float(np.median([np.median(boot) for boot in boots]))


def groups(match: MatchFolder) -> list[Group]:
    """Return the comparisons of a match with boards, by quantity, then by memory.

    Raises UsageError for a match that has no cell in common with a board.
    """
    if found := compared(cells(match)):
        return found
    raise UsageError(
        f"{match.path} has no cell that somebody measured on a board",
        next_step="play plans/hardware.toml or plans/knutsson.toml",
    )


def compared(there: Sequence[Cell]) -> list[Group]:
    """Return the comparisons of cells with boards, by quantity, then by memory."""
    return [
        Group(memory, quantity, boards, tuple(pairs))
        for quantity in get_args(Quantity)
        for memory in dict.fromkeys(cell.memory for cell in there)
        for boards, pairs in _by_board(there, quantity, memory)
    ]


def _by_board(
    there: Sequence[Cell], quantity: Quantity, memory: str
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the pairs of all boards, of each that has enough of them, and of those held out."""
    by_name = {cell.name: cell for cell in there if cell.memory == memory}
    pairs = [
        Pair(point, by_name[point.cell])
        for point in points()
        if point.quantity == quantity and point.cell in by_name
    ]
    known = [pair for pair in pairs if not pair.point.source.held_out]
    held_out = [pair for pair in pairs if pair.point.source.held_out]
    if known:
        yield ALL, known
    boards = dict.fromkeys(pair.point.source.id for pair in known)
    for board in boards if len(boards) > 1 else ():
        own = [pair for pair in known if pair.point.source.id == board]
        if len(own) >= RANKED_MIN:
            yield board, own
    if held_out:
        yield HELD_OUT, held_out
