"""``tennis course``: the tree for those who teach, and the one for students."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.rally.text import quoted

if TYPE_CHECKING:
    from tennis.course.authoring.release import Audience


@click.group()
def course() -> None:
    """Prepare the course: the students' tree.

    \b
    Examples:
      tennis course release student --out ../tennis-2026
    """


@course.command("release", short_help="Copy this tree for students, or for those who teach.")
@click.argument("audience", type=click.Choice(["student", "instructor"]))
@click.option("--out", type=Folder(), required=True, help="The new folder, outside of this one.")
def _release(audience: "Audience", out: Path) -> None:
    """Copy this tree for students, without answers, or for those who teach.

    AUDIENCE is student or instructor. The tree of a student has no solutions, wrong answers or
    tests. Everything else is there.

    \b
    Examples:
      tennis course release student --out ../tennis-2026
      tennis course release instructor --out ../tennis-for-teachers
    """
    from tennis.course.authoring.release import release as copied

    count = copied(audience, out)
    echo(f"{quoted(out)}: {count} files; there: scripts/setup.sh --lab")
