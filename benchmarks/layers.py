# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What each layer costs: the table and the picture of docs/evidence/layers.md, from its matches.

    tennis match plans/layers.toml
    tennis match plans/layers-shell.toml
    .venv/bin/python benchmarks/layers.py layers layers-shell --picture docs/images/layers.svg

All boots of a cell are taken together. A missed ball is later than all others. Of cells with more
than one boot a second table says how far boots are apart: the median boot with an interval of 95 %,
and the latest ball of the soonest and the latest boot. A boot that is in two matches counts once.
--page fills the page's table.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tennis.comparison.boots import Boot
from tennis.comparison.sides import Side
from tennis.match.folder import open_match
from tennis.plots.picture import Picture, house_style, time_axis
from tennis.rally import Rally
from tennis.stats.balls import latencies_ns
from tennis.style import KERNELS

# as the plans call them: what a row is called, the latencies that make up its answer
ROWS = {
    "racquet": ("the Racquet: its hard handler", ("interrupt",)),
    "user": ("the Racquet, and its process", ("interrupt", "scheduling")),
    "c": ("answer.c", ("interrupt",)),
    "libgpiod": ("answer-libgpiod (C)", ("interrupt",)),
    "python": ("answer-python", ("interrupt",)),
    "python-gpiod": ("answer-python-gpiod", ("interrupt",)),
    "shell": ("answer-shell", ("interrupt",)),
    "ordinary": ("answer.c without a priority", ("interrupt",)),
    "pages": ("answer.c, memory not locked", ("interrupt",)),
}
CELLS = [(kernel, load) for kernel in ("mainline", "rt") for load in ("idle", "stress")]
FEW = 1000  # balls: fewer have no 1 in 1,000
Cell: TypeAlias = tuple[str, str, str]  # row, kernel, load
Boots: TypeAlias = dict[Cell, list[NDArray[np.float64]]]


def answers_ns(rally: Rally, kinds: Sequence[str]) -> NDArray[np.float64]:
    """Return how long each ball waited for its answer, float64 of shape (balls,); inf: missed."""
    parts = [latencies_ns(rally, "interrupt" if k == "interrupt" else "scheduling") for k in kinds]
    return np.nan_to_num(np.sum(parts, axis=0, dtype=np.float64), nan=np.inf)


def boots_of(matches: Iterable[Path]) -> Boots:
    """Return each boot's answers, by row, kernel and load. Raises RallyError."""
    boots: Boots = defaultdict(list)
    seen = set()
    for path in matches:
        match = open_match(path)
        for planned in match.scheduled:
            rally = match.rally(planned.name)
            row = planned.setting or planned.plan.bottom_half
            if rally is None or rally.manifest.ended != "complete" or row not in ROWS:
                continue
            cell = (row, planned.kernel, planned.plan.load)
            if (*cell, rally.manifest.protocol.seed) in seen:
                continue
            seen.add((*cell, rally.manifest.protocol.seed))
            boots[cell].append(answers_ns(rally, ROWS[row][1]))
    return boots


def figures(boots: Sequence[NDArray[np.float64]]) -> tuple[float, float | None, float]:
    """Return median, 1 in 1,000 (None: too few balls) and latest of all balls, in us."""
    every = np.sort(np.concatenate(boots)) / 1000
    rare = float(every[-(-every.size * 999 // 1000) - 1]) if every.size >= FEW else None
    return float(every[(every.size + 1) // 2 - 1]), rare, float(every[-1])


def said(us: float | None) -> str:
    """Return a time in us to three digits, as a table has it."""
    if us is None:
        return "-"
    if np.isinf(us):
        return "missed"
    places = 2 if us < 10 else 1 if us < 100 else 0
    return f"{float(f'{us:.3g}'):,.{places}f}"


def table(boots: Boots) -> Iterable[str]:
    """Yield the lines of a Markdown table."""
    yield "| who answers | " + " | ".join(f"{kernel}, {load}" for kernel, load in CELLS) + " |"
    yield "|---|" + "--:|" * len(CELLS)
    for row, (name, _) in ROWS.items():
        cells = [boots.get((row, *cell), []) for cell in CELLS]
        texts = [" / ".join(map(said, figures(one))) if one else "not played" for one in cells]
        yield f"| {name} | " + " | ".join(texts) + " |"


def filled(page: str, boots: Boots) -> str:
    """Return a page with the cells of its table that were played; others stay as they are."""
    rows = {name: row for row, (name, _) in ROWS.items()}
    lines = page.split("\n")
    for number, line in enumerate(lines):
        name, *cells = line.strip("| ").split(" | ")
        if name not in rows or len(cells) != len(CELLS):
            continue
        some = (boots.get((rows[name], *cell)) for cell in CELLS)
        new = (
            " / ".join(map(said, figures(one))) if one else old
            for one, old in zip(some, cells, strict=True)
        )
        lines[number] = f"| {name} | " + " | ".join(new) + " |"
    return "\n".join(lines)


def apart(boots: Boots) -> Iterable[str]:
    """Yield the lines of a Markdown table of what differs from boot to boot."""
    yield "| who answers | " + " | ".join(f"{kernel}, {load}" for kernel, load in CELLS) + " |"
    yield "|---|" + "--:|" * len(CELLS)
    for row, (name, _) in ROWS.items():
        cells = [boots.get((row, *cell), []) for cell in CELLS]
        yield f"| {name} | " + " | ".join(map(_apart, cells)) + " |"


def _apart(boots: Sequence[NDArray[np.float64]]) -> str:
    """Say of a cell: boots: 1 in 1,000 of the median boot (interval) / latest ball of boots.

    Of boots of fewer than 3,000 balls a level of 1 in 1,000 is a guess.
    """
    if len(boots) < 2:
        return f"{len(boots)} boot" if boots else "not played"
    latest = sorted(float(one.max()) / 1000 for one in boots)
    side = Side([Boot.of(one) for one in boots])
    rare = side.median(FEW) if side.has(FEW) else None
    said_rare = "-"
    if rare is not None:
        said_rare = said(rare.estimate / 1000)
        if not np.isnan(rare.low):
            said_rare += f" ({said(rare.low / 1000)} to {said(rare.high / 1000)})"
    return f"{len(boots)}: {said_rare} / {said(latest[0])} to {said(latest[-1])}"


def counts(boots: Boots) -> Iterable[str]:
    """Yield how many boots of how many balls each cell has, and how many balls were missed."""
    for row in ROWS:
        cells = [boots.get((row, *cell), []) for cell in CELLS]
        missed = sum(int(np.isinf(one).sum()) for some in cells for one in some)
        said_counts = ", ".join(f"{len(one)} x {one[0].size if one else 0}" for one in cells)
        yield f"{row}: {said_counts}; missed {missed}"


@house_style
def picture(boots: Boots) -> Picture:
    """Draw each row's median, and a line to its latest, under stress."""
    rows = [row for row in ROWS if any((row, kernel, "stress") in boots for kernel in KERNELS)]
    drawn = Picture(
        9.0,
        4.4,
        "From the interrupt to Python, under stress",
        "Median, 1 in 1,000 and latest answer of each layer on mainline and rt, on a log scale",
    )
    drawn.head("virtual bench: virtual time, 2 ns per instruction")
    axes = drawn.subplots()
    for shift, (kernel, color) in zip((0.17, -0.17), KERNELS.items(), strict=True):
        for place, row in enumerate(rows):
            if (row, kernel, "stress") not in boots:
                continue
            median, rare, latest = figures(boots[row, kernel, "stress"])
            y = len(rows) - place + shift
            axes.plot([1000 * median, 1000 * latest], [y, y], color=color, lw=1.2)
            label = kernel if place == 0 else None
            axes.plot(1000 * median, y, "o", color=color, ms=5, label=label)
            if rare is not None:
                axes.plot(1000 * rare, y, "|", color=color, ms=9)
            axes.plot(1000 * latest, y, "x", color=color, ms=6)
    axes.set_xscale("log")
    time_axis(axes, "x", log=True)
    axes.set_yticks(range(len(rows), 0, -1), [ROWS[row][0] for row in rows])
    axes.set_xlabel("to the answer (log scale): dot median, bar 1 in 1,000, cross latest")
    axes.legend(fontsize=9, loc="lower right")
    return drawn


def main() -> int:
    """Print the table; draw the picture if somebody wants it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("match", nargs="+", type=Path, help="folders of `tennis match`")
    parser.add_argument("--page", type=Path, help="put the played cells into this page's table")
    parser.add_argument("--picture", type=Path, help="draw it there, as SVG")
    asked = parser.parse_args()
    boots = boots_of(asked.match)
    print("\n".join([*table(boots), "", *apart(boots), "", *counts(boots)]))
    if asked.page:
        asked.page.write_text(filled(asked.page.read_text(), boots))
    if asked.picture:
        asked.picture.write_bytes(picture(boots).render("svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
