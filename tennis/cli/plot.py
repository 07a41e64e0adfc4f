# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis plot``: pictures of rallies as files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.errors import UsageError
from tennis.explain.instants.picture import with_all_beside
from tennis.explain.instants.storage import read as read_instants
from tennis.explain.sections.picture import with_sections
from tennis.plots import KINDS, TOGETHER
from tennis.plots.drill import kinds_of, sizes, spans
from tennis.plots.picture import Format, Picture
from tennis.plots.sweep import Curve, rates, screens
from tennis.rally import Rally, open_folder, open_rally
from tennis.rally.disk import refuse_existing, write_whole, writing
from tennis.rally.shots import are_shots
from tennis.sweep.folder import Sweep, is_sweep, open_sweep

MAX = 16  # rows that one picture can hold
LOST = 0.5  # a rate at which a smaller share of pings is paired: most is lost


def curve(sweep: Sweep) -> Curve:
    """Return what is drawn of a sweep."""
    record, found = sweep.record, sweep.breaking
    note = f"{record.bench} bench: {record.time_note}"
    kernel = record.plan.kernel_name
    return Curve(sweep.label, kernel, note, sweep.rates, found.holds_hz, found.breaks_hz)


def three(sweep: Sweep) -> list[int]:
    """Return the rates whose screens are shown: the lowest, where it breaks, where most is lost."""
    lost = [rate for rate, share in sweep.shares.items() if share < LOST]
    some = {min(sweep.rates), sweep.breaking.breaks_hz, min(lost, default=max(sweep.rates))}
    return sorted(rate for rate in some if rate is not None)


def open_at(sweep: Sweep, rate_hz: int) -> Rally:
    """Open the rally of a rate."""
    return open_rally(sweep.path / sweep.record.at(rate_hz).name)


@dataclass(frozen=True)
class Sort:
    """A sort of folder: its name, and the pictures of one and of several."""

    one: str
    more: str
    of_one: Mapping[str, Callable[[Any], Picture]]
    of_several: Mapping[str, Callable[[Sequence[Any]], Picture]]


RALLY = Sort("rally", "rallies", KINDS, TOGETHER)
DRILL = Sort("drill", "drills", {"spans": spans, "sizes": sizes}, {})
SWEEP = Sort(
    "sweep",
    "sweeps",
    {
        "rates": lambda sweep: rates([curve(sweep)]),
        "screens": lambda sweep: screens(curve(sweep), [open_at(sweep, hz) for hz in three(sweep)]),
    },
    {"rates": lambda sweeps: rates([curve(sweep) for sweep in sweeps])},
)
SORTS = (RALLY, SWEEP, DRILL)
COVERAGE = "coverage"  # of a rally of shots
NAMES = list(dict.fromkeys(name for s in SORTS for name in (*s.of_one, *s.of_several, COVERAGE)))


def opened(folder: Path) -> tuple[Any, Sort]:
    """Open what a folder holds. Raises RallyError."""
    if is_sweep(folder):
        return open_sweep(folder), SWEEP
    rally = open_folder(folder)
    return rally, DRILL if rally.manifest.drill else RALLY


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=Folder())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The folder for the pictures. Default: DIR-plots beside the rally, or, for several "
    "rallies, plots in this folder.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(NAMES),
    metavar="KIND",
    help="May be repeated. One rally has histogram, distribution and series, and one of shots has "
    "coverage, too. Several rallies "
    "have overview, histogram and distribution. Sweeps have rates, and a single sweep "
    "has screens, too. A drill has spans, and sizes if it allocates.  [default: all of "
    "them]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png"]),
    default="svg",
    show_default=True,
    help="The pictures' file format.",
)
@click.option("--force", is_flag=True, help="Overwrite pictures that exist.")
def plot(
    folders: tuple[Path, ...], out: Path | None, kinds: tuple[str, ...], kind: str, *, force: bool
) -> None:
    """Draw the rally in DIR, or several on common axes, and print the names of the pictures.

    DIR may also be a sweep or a drill. Several sweeps are drawn on common axes, too.

    \b
    Examples:
      tennis plot first
      tennis plot first --kind histogram --format png --out pictures
      tennis plot mainline-stress rt-stress --out side-by-side
    """
    several = len(folders) > 1
    if len(folders) > MAX:
        raise UsageError(f"{len(folders)} folders are too many for one picture: at most {MAX}")
    pairs = [opened(folder) for folder in folders]
    sort = pairs[0][1]
    for folder, (_, other) in zip(folders, pairs, strict=True):
        if other is not sort:
            raise UsageError(
                f"{folder} is a {other.one}, and {folders[0]} is a {sort.one}",
                next_step="draw one sort at a time",
            )
    possible: Mapping[str, Callable[[Any], Picture]] = sort.of_several if several else sort.of_one
    if sort is RALLY and not several:
        possible = {**possible, "distribution": with_sections}
        if are_shots(pairs[0][0].manifest.protocol) or read_instants(pairs[0][0]):
            possible[COVERAGE] = with_all_beside
    if sort is DRILL and not several:
        possible = kinds_of(pairs[0][0])
    if not possible:
        raise UsageError(f"{sort.more} are drawn one at a time")
    for name in kinds:
        if name not in possible:
            of = f"several {sort.more}" if several else f"one {sort.one}"
            raise UsageError(f"--kind {name}: of {of} there are {', '.join(possible)}")
    path = folders[0].resolve()
    out = out or (Path("plots") if several else path.with_name(path.name + "-plots"))
    wanted = {name: out / f"{name}.{kind}" for name in kinds or possible}
    for path in wanted.values():
        refuse_existing(path, force=force)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    what = [one for one, _ in pairs] if several else pairs[0][0]
    for name, path in wanted.items():
        write_whole(path, possible[name](what).render(cast("Format", kind)), force=force)
    # only now: whoever reads the names may stop listening after the first
    for path in wanted.values():
        echo(path)
