"""``tennis report``: one HTML page about one or more rallies, or drills."""

from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.kit.errors import UsageError
from tennis.rally import open_folder
from tennis.rally.disk import refuse_existing


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=Folder())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
def report(folders: tuple[Path, ...], out: Path) -> None:
    """Write one self-contained HTML page about the rallies, or the drills, in DIR...

    \b
    Examples:
      tennis report first
      tennis report mainline-stress rt-stress --out compared.html
      tennis report jitter switch --out drills.html
    """
    from tennis.report.pages.drill import write_drill_report
    from tennis.report.pages.rally import write_report

    refuse_existing(out)
    opened = [open_folder(folder) for folder in folders]
    drills = [one for one in opened if one.manifest.drill is not None]
    if not drills:
        write_report(opened, out)
    elif len(drills) == len(opened):
        write_drill_report(drills, out)
    else:
        raise UsageError(
            f"{drills[0].path} is a drill, but the others are rallies",
            next_step="write a page of each",
        )
    echo(out)
