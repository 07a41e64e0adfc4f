"""``tennis plot``: pictures of rallies as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.kit.entries import load
from tennis.kit.errors import UsageError
from tennis.report.pictures import PICTURES

if TYPE_CHECKING:
    from tennis.report.plots.picture import Format, Picture

MAX = 16  # rows that one picture can hold
SEVERAL = {"rally": "rallies", "sweep": "sweeps", "drill": "drills"}


def _which() -> str:
    """Say which pictures there are."""
    said = [
        f"{'several' if of in SEVERAL.values() else 'one'} {of}: {', '.join(names)}"
        for of, names in PICTURES.items()
        if names
    ]
    return "; ".join(said)


def _opened(folder: Path) -> tuple[Any, str]:
    """Open what a folder holds, and say what it is. Raises RallyError."""
    from tennis.match.sweep.folder import is_sweep, open_sweep
    from tennis.rally import open_folder

    if is_sweep(folder):
        return open_sweep(folder), "sweep"
    rally = open_folder(folder)
    return rally, "drill" if rally.manifest.drill else "rally"


def _drawn(of: str, names: tuple[str, ...], what: Any, called: str) -> "dict[str, Picture]":
    """Draw the pictures of these names; no name: all that there are of it."""
    pictures = {}
    for name in names or PICTURES[of]:
        picture = load(PICTURES[of][name])(what)
        if picture is not None:
            pictures[name] = picture
        elif names:
            raise UsageError(
                f"--kind {name}: {called} has no such picture",
                next_step="leave it out, for all others",
            )
    if not pictures:
        raise UsageError(
            f"there is no picture of {called}", next_step="`tennis stats` has its figures"
        )
    return pictures


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
    type=click.Choice(list(dict.fromkeys(name for names in PICTURES.values() for name in names))),
    metavar="KIND",
    help=f"May be repeated. Of {_which()}.  [default: all that apply]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png"]),
    default="svg",
    show_default=True,
    help="The pictures' file format.",
)
def plot(folders: tuple[Path, ...], out: Path | None, kinds: tuple[str, ...], kind: str) -> None:
    """Draw the rally in DIR, or several on common axes, and print the names of the pictures.

    DIR may also be a sweep or a drill. Several sweeps are drawn on common axes, too.

    \b
    Examples:
      tennis plot first
      tennis plot first --kind histogram --format png --out pictures
      tennis plot mainline-stress rt-stress --out side-by-side
    """
    from tennis.rally.disk import refuse_existing, write_whole, writing

    several = len(folders) > 1
    if len(folders) > MAX:
        raise UsageError(f"{len(folders)} folders are too many for one picture: at most {MAX}")
    pairs = [_opened(folder) for folder in folders]
    sort = pairs[0][1]
    for folder, (_, other) in zip(folders, pairs, strict=True):
        if other != sort:
            raise UsageError(
                f"{folder} is a {other}, and {folders[0]} is a {sort}",
                next_step="draw one sort at a time",
            )
    of = SEVERAL[sort] if several else sort
    if not PICTURES[of]:
        raise UsageError(f"{of} are drawn one at a time")
    for name in kinds:
        if name not in PICTURES[of]:
            some = f"several {of}" if several else f"one {of}"
            raise UsageError(
                f"--kind {name}: no picture of {some}", next_step=f"use {', '.join(PICTURES[of])}"
            )
    path = folders[0].resolve()
    out = out or (Path("plots") if several else path.with_name(path.name + "-plots"))
    for name in kinds or PICTURES[of]:
        refuse_existing(out / f"{name}.{kind}")
    what = [one for one, _ in pairs] if several else pairs[0][0]
    pictures = _drawn(of, kinds, what, str(folders[0]))
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}.{kind}" for name in pictures]
    for path, picture in zip(paths, pictures.values(), strict=True):
        write_whole(path, picture.render(cast("Format", kind)))
    # only now: the reader of the names may stop after the first
    for path in paths:
        echo(path)
