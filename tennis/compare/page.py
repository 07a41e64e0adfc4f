"""The page of a comparison: the verdict, what differs, each level, which code it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tennis.compare import words
from tennis.compare.folders import Sides
from tennis.compare.judgement import Judgement
from tennis.kit.edition import VERSION
from tennis.rally import Rally
from tennis.rally.disk import write_whole
from tennis.rally.statistics import summarize
from tennis.rally.text import plain
from tennis.report.pages.circumstances import circumstances
from tennis.report.pages.rally import EmbeddedPicture, drawn
from tennis.report.pages.templates import template
from tennis.report.picture_words import bench_note


@dataclass(frozen=True)
class CauseShown:
    """The code that changed one level, in words."""

    cell: str
    title: str
    lines: Sequence[str]
    replayed: str


@dataclass(frozen=True)
class _Boot:
    side: str
    name: str
    seed: int
    balls: int
    misses: int


@dataclass(frozen=True)
class _Line:
    cells: Sequence[str]  # latency, quantity, before, after, ratio, change
    change: str


@dataclass(frozen=True)
class _Cell:
    name: str
    pictures: list[EmbeddedPicture]
    rows: list[_Line]
    found: list[CauseShown]
    played: dict[str, tuple[str, str]]  # what a stranger needs: before, after
    boots: list[_Boot]


def write_comparison(  # noqa: PLR0913, PLR0917 (what the page shows)
    sides: Sides,
    judgement: Judgement,
    named: tuple[str, str],
    causes: Sequence[CauseShown],
    unexplained: Sequence[str],
    command: str,
    out: Path,
) -> Path:
    """Write the page; ``named``: both sides, as somebody asked for them. Returns its path."""
    first = sides.cells[0][0].rallies[0]
    title = f"{plain(named[0], 60)} before, {plain(named[1], 60)} after"
    text = template("compare.html.j2").render(
        title=title,
        version=VERSION,
        bench=bench_note([summarize(first)]),
        verdict=words.verdict(judgement),
        worse=judgement.verdict == "worse",
        changed=[
            f"{row.cell}: {words.by_how_much(row)}" if row.cell else words.by_how_much(row)
            for row in words.changed(judgement)
        ],
        differences=sides.differences,
        remarks=[*sides.remarks, *words.odd_boots(sides)],
        cells=[
            _cell(sides, judgement, number, title, causes) for number in range(len(sides.cells))
        ],
        paired=judgement.paired,
        unseen=[*filter(None, (words.unseen(judgement),))],
        unexplained=[plain(why, 400) for why in unexplained],
        command=plain(command, 1500),
    )
    write_whole(out, text.encode(), force=True)
    return out


def _cell(
    sides: Sides, judgement: Judgement, number: int, title: str, causes: Sequence[CauseShown]
) -> _Cell:
    before, after = sides.cells[number]
    name = before.name or after.name
    rows = [
        _Line(words.cells(row, judgement.margin), row.change)
        for row in judgement.rows
        if row.cell == name
    ]
    alt = " ".join("{0}, {1}: {2} before, {3} after, {5}.".format(*row.cells) for row in rows)
    is_loop = before.rallies[0].manifest.drill is not None
    shown = "periods off by more than x" if is_loop else "balls later than x"
    caption = f"The share of {shown}, of each boot."
    return _Cell(
        plain(name, 64),
        drawn("sides:sides", caption, before.rallies, after.rallies, title, alt),
        rows,
        [one for one in causes if one.cell == name],
        _circumstances_beside(before.rallies, after.rallies),
        [
            _Boot(
                side,
                plain(rally.path.name, 64),
                rally.manifest.protocol.seed,
                rally.balls,
                rally.misses,
            )
            for side, cell in (("before", before), ("after", after))
            for rally in cell.rallies
        ],
    )


def _circumstances_beside(
    before: Sequence[Rally], after: Sequence[Rally]
) -> dict[str, tuple[str, str]]:
    """Return the circumstances of both sides, beside each other."""
    one, other = (circumstances([rally.manifest for rally in side]) for side in (before, after))
    return {what: (one.get(what, "-"), other.get(what, "-")) for what in {**one, **other}}
