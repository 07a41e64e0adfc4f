# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis plot``: pictures of rallies as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.errors import UsageError
from tennis.plots import KINDS, TOGETHER
from tennis.plots.picture import Format
from tennis.plots.sweep import SPEAKS, Curve, rates, screens
from tennis.rally import Rally, open_rally
from tennis.rally.disk import refuse_existing, write_whole, writing
from tennis.sweep.folder import Sweep, is_sweep, open_sweep


def curve(sweep: Sweep) -> Curve:
    """Return what is drawn of a sweep."""
    record, found = sweep.record, sweep.breaking
    note = f"{record.bench} bench: {record.time_note}"
    kernel = record.plan.kernel
    return Curve(sweep.label, kernel, note, sweep.rates, found.holds_hz, found.breaks_hz)


def three(sweep: Sweep) -> list[int]:
    """Return the rates whose screens are shown: the lowest, where it breaks, where most is lost."""
    lost = [rate for rate, share in sweep.shares.items() if share < SPEAKS]
    some = {min(sweep.rates), sweep.breaking.breaks_hz, min(lost, default=max(sweep.rates))}
    return sorted(rate for rate in some if rate is not None)


def open_at(sweep: Sweep, rate_hz: int) -> Rally:
    """Open the rally of a rate."""
    return open_rally(sweep.path / sweep.record.at(rate_hz).name)


MAX = 16  # rows that one picture can hold
SWEEPS: Mapping[str, Any] = {"rates": lambda sweeps: rates([curve(one) for one in sweeps])}
ONE_SWEEP: Mapping[str, Any] = {
    "screens": lambda sweep: screens(curve(sweep), [open_at(sweep, hz) for hz in three(sweep)])
}


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=Folder())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the pictures; default: beside the rally, DIR-plots, or for several rallies "
    "plots, here.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(dict.fromkeys((*KINDS, *TOGETHER, *SWEEPS, *ONE_SWEEP)))),
    help="May be repeated. Of one rally there are histogram, distribution and series, of several "
    "overview, histogram and distribution; of sweeps rates, of one screens, too.  [default: all "
    "of them]",
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

    Of sweeps there is rates, all of them on common axes; of one there is screens, too.

    \b
    Examples:
      tennis plot first
      tennis plot first --kind histogram --format png --out pictures
      tennis plot mainline-stress rt-stress --out side-by-side
    """
    several = len(folders) > 1
    sweeps = [is_sweep(folder) for folder in folders]
    if any(sweeps) and not all(sweeps):
        odd = folders[sweeps.index(False)]
        raise UsageError(f"{odd} is no sweep", next_step="draw sweeps, or rallies, not both")
    possible: Mapping[str, Any] = TOGETHER if several else KINDS
    if all(sweeps):
        possible = SWEEPS if several else {**SWEEPS, **ONE_SWEEP}
    if len(folders) > MAX:
        raise UsageError(f"{len(folders)} rallies are too many for one picture: at most {MAX}")
    for name in kinds:
        if name not in possible:
            one, more = ("sweep", "sweeps") if all(sweeps) else ("rally", "rallies")
            of = f"several {more}" if several else f"one {one}"
            raise UsageError(f"--kind {name}: of {of} there are {', '.join(possible)}")
    opened: list[Any] = [(open_sweep if all(sweeps) else open_rally)(at) for at in folders]
    path = folders[0].resolve()
    out = out or (Path("plots") if several else path.with_name(path.name + "-plots"))
    wanted = {name: out / f"{name}.{kind}" for name in kinds or possible}
    for path in wanted.values():
        refuse_existing(path, force=force)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    for name, path in wanted.items():
        picture = possible[name](opened if several or name in SWEEPS else opened[0])
        write_whole(path, picture.render(cast("Format", kind)), force=force)
    # only now: whoever reads the names may stop listening after the first
    for path in wanted.values():
        echo(path)
