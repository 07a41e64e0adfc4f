# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What each layer costs: the table and the picture of docs/evidence/layers.md, from its matches.

    tennis match plans/layers.toml
    tennis match plans/layers-shell.toml
    .venv/bin/python benchmarks/layers.py layers layers-shell --picture docs/images/layers.svg

All boots of a cell are taken together. A missed ball is later than all others.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
Boots: TypeAlias = dict[tuple[str, str, str], list[NDArray[np.float64]]]


def answers_ns(rally: Rally, kinds: Sequence[str]) -> NDArray[np.float64]:
    """Return how long each ball waited for its answer, float64 of shape (balls,); inf: missed."""
    parts = [latencies_ns(rally, "interrupt" if k == "interrupt" else "scheduling") for k in kinds]
    return np.nan_to_num(np.sum(parts, axis=0, dtype=np.float64), nan=np.inf)


def boots_of(matches: Iterable[Path]) -> Boots:
    """Return each boot's answers, by row, kernel and load. Raises RallyError."""
    boots: Boots = defaultdict(list)
    for path in matches:
        match = open_match(path)
        for planned in match.scheduled:
            rally = match.rally(planned.name)
            row = planned.setting or planned.plan.bottom_half
            if rally is None or rally.manifest.ended != "complete" or row not in ROWS:
                continue
            boots[row, planned.kernel, planned.plan.load].append(answers_ns(rally, ROWS[row][1]))
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
    for row in ROWS:
        counts = [boots.get((row, *cell), []) for cell in CELLS]
        yield f"{row}: " + ", ".join(f"{len(one)} x {one[0].size if one else 0}" for one in counts)


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
    parser.add_argument("--picture", type=Path, help="draw it there, as SVG")
    asked = parser.parse_args()
    boots = boots_of(asked.match)
    print("\n".join(table(boots)))
    if asked.picture:
        asked.picture.write_bytes(picture(boots).render("svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
