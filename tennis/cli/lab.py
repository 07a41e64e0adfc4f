# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis lab``: a student's way through a lab: list, start, open, check, submit."""

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.words import echo, paragraph
from tennis.errors import TennisError, UsageError
from tennis.rally.text import quoted

if TYPE_CHECKING:
    from tennis.course.checking import Report
    from tennis.course.labs import Lab

SIGNS = {"pass": "ok", "fail": "no", "inconclusive": "?", "not run": "-"}
STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow", "not run": "dim"}

in_option = click.option(
    "--in",
    "folder",
    type=Folder(),
    metavar="DIR",
    help="Your folder of the lab. [default: this one, or lab-NN in it]",
)


@click.group(invoke_without_command=True)
@click.pass_context
def lab(ctx: click.Context) -> None:
    """Do a lab of the course: begin, see what is missing, make the file to hand in.

    \b
    Examples:
      tennis lab
      tennis lab start 01 --as "Ada Lovelace"
      tennis lab open 01
      tennis lab check 01
      tennis lab submit 01
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_labs)


@lab.command("list", short_help="List the labs, with minutes and points.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def list_labs(*, as_json: bool = False) -> None:
    """List the labs of the course, with the minutes they take and their points.

    \b
    Examples:
      tennis lab list
      tennis lab list --json
    """
    from tennis.course.labs import load_course

    _course, labs = load_course()
    if as_json:
        listed = [
            {"lab": one.slug, "title": one.title, "minutes": one.minutes, "points": one.points}
            for one in labs
        ]
        echo(json.dumps(listed, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("lab")
    table.add_column("what it is about")
    for title in ("minutes", "points"):
        table.add_column(title, justify="right")
    for one in labs:
        about = Text(one.title, style="bold") + Text(f": {one.about}", style="default")
        table.add_row(f"{one.number:02}", about, str(one.minutes), str(one.points))
    Console().print(table)


@lab.command(short_help="Make your own folder for a lab.")
@click.argument("number", metavar="LAB")
@click.option(
    "--as",
    "student",
    metavar="NAME",
    required=True,
    help="Your name, or your group's. It decides the seed of your rallies.",
)
@click.option("--out", type=Folder(), help="The folder. [default: lab-NN]")
def start(number: str, student: str, out: Path | None) -> None:
    """Make your own folder for a lab: answers to fill in, your seed, the commands with it.

    \b
    Examples:
      tennis lab start 01 --as "Ada Lovelace"
      tennis lab start 04 --as "group 3" --out work/04
    """
    from tennis.course import work

    found = work.find_lab(number)
    folder = out or _folder(found)
    work.start(found, student, folder)
    echo(f"{quoted(folder)}: read {work.README} there; your seed is {work.seed_of(found, student)}")


@lab.command("open", short_help="Open JupyterLab on your folder.")
@click.argument("number", metavar="LAB")
@in_option
@click.option("--browser/--no-browser", default=True, help="Open it in a browser. [default: yes]")
def open_lab(number: str, folder: Path | None, *, browser: bool) -> None:
    """Open JupyterLab on your folder, with the lab's notebook; Ctrl-C ends it.

    \b
    Examples:
      tennis lab open 01
      tennis lab open 01 --no-browser
    """
    import subprocess

    from tennis.course import jupyter, work

    found = work.find_lab(number)
    opened = work.read(_given(found, folder), found)
    command, environment = jupyter.command(opened, browser=browser)
    try:
        code = subprocess.run(command, env=dict(environment), check=False).returncode
    except KeyboardInterrupt:  # JupyterLab had it, too
        return
    if code:
        raise TennisError(f"JupyterLab ended with {code}: the lines above say why")


@lab.command(short_help="Write the capture with an error to find.")
@click.argument("number", metavar="LAB")
@in_option
def plant(number: str, folder: Path | None) -> None:
    """Write a capture of your rally in which an error was planted: another one for each student.

    \b
    Examples:
      tennis lab plant 02
      tennis lab plant 02 --in work/02
    """
    from tennis.course import planting, work

    found = work.find_lab(number)
    name = found.parameters.get("planted")
    if not isinstance(name, str):
        raise UsageError(f"in lab {found.number:02} nothing is planted")
    opened = work.read(_given(found, folder), found)
    if name in opened.trouble:
        raise TennisError(f"{name}: {opened.trouble[name]}", next_step="play it first")
    out = opened.folder / planting.CAPTURE
    planting.plant(opened.rallies[name], opened.seed, out)
    rally = quoted(opened.folder / name)
    echo(f"{quoted(out)}; now: tennis umpire check {rally} --capture {quoted(out)}")


@lab.command(short_help="Say what is right and what is missing.")
@click.argument("number", metavar="LAB")
@in_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(number: str, folder: Path | None, *, as_json: bool) -> None:
    """Run the checks that whoever marks runs, but for those that know the answers.

    Exit code 1: something is missing or wrong.

    \b
    Examples:
      tennis lab check 01
      tennis lab check 01 --in work/01
      tennis lab check 01 --json
    """
    from tennis.course import checking, work

    found = work.find_lab(number)
    opened = work.read(_given(found, folder), found)
    _wait_for_trials(found)
    report = checking.check(opened.folder, blind=True)
    if as_json:
        echo(report.model_dump_json(indent=2))
    else:
        _show(found, report)
    failed = sum(result.verdict == "fail" for result in report.results)
    if failed:
        raise TennisError(f"{failed} of {len(report.results)} checks say no")


@lab.command(short_help="Make the one file to hand in.")
@click.argument("number", metavar="LAB")
@in_option
@click.option("--out", type=Folder(), metavar="FILE", help="The file. [default: LAB-NAME.zip]")
def submit(number: str, folder: Path | None, out: Path | None) -> None:
    """Make the one file to hand in: answers, notebook and rallies. What is missing is refused.

    The notebook is run once more, from top to bottom, and handed in as PDF, too.

    \b
    Examples:
      tennis lab submit 01
      tennis lab submit 01 --in work/01 --out ada.zip
    """
    from tennis.course import checking, hand_in, work

    found = work.find_lab(number)
    opened = work.read(_given(found, folder), found)
    _wait_for_trials(found)
    report = checking.check(opened.folder, blind=True)
    lacking = hand_in.missing(opened, report)
    if lacking:
        for one in lacking:
            echo(f"tennis: missing: {one}", err=True)
        raise TennisError("nothing was made", next_step="add what is missing, then submit again")
    out = out or Path(hand_in.file_name(opened))
    if out.exists():
        raise UsageError(f"{out} exists", next_step="remove it, or choose another name with --out")
    echo("tennis: the notebook is run once more, and printed", err=True)
    hand_in.print_notebook(opened)
    size = hand_in.pack(opened, out)
    echo(f"{quoted(out)}: {size / 1e6:.1f} MB, {report.of} points to win; hand this file in")


def _wait_for_trials(lab: "Lab") -> None:
    """Say what takes its time."""
    if lab.files:
        echo("tennis: your module is built, and tried on real kernels: half a minute", err=True)


def _folder(lab: "Lab") -> Path:
    return Path(f"lab-{lab.number:02}")


def _given(lab: "Lab", folder: Path | None) -> Path:
    """Return the folder of a student's work: the one that was named, this one, or the usual."""
    from tennis.course.work import ANSWERS

    if folder is not None:
        return folder
    for place in (Path(), _folder(lab)):
        if (place / ANSWERS).is_file():
            return place
    raise UsageError(
        f"here is no folder of lab {lab.number:02}",
        next_step=f"begin with `tennis lab start {lab.number:02} --as NAME`, or say --in DIR",
    )


def _show(lab: "Lab", report: "Report") -> None:
    """Print what each check says; those that say no, with why and what helps."""
    from tennis.course.checking import title

    console = Console(highlight=False)
    for _, group in itertools.groupby(report.results, lambda result: result.rationale):
        results = [result for result in group if result.verdict != "not run"]
        for result in results:
            lead = Text(f"{SIGNS[result.verdict]:>3}  ", style=STYLES[result.verdict])
            said = f": {result.message}" if result.message else ""
            paragraph(console, f"{title(result)}{said}", lead)
        for line in itertools.chain.from_iterable(result.details for result in results):
            console.print(Text(f"     | {line}", style="dim", overflow="fold"))
        hint = next((result.hint for result in results if result.verdict == "fail"), "")
        if hint:
            paragraph(console, hint, Text("     "), "dim")
    verdicts = [result.verdict for result in report.results]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in SIGNS if verdict in verdicts]
    echo(f"\n{lab.title}: {', '.join(counts)}. Whoever marks judges texts, and what did not run.")
