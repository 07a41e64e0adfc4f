"""``tennis lab``: a student's way through a lab: list, start, open, check, submit."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.tables import table
from tennis.cli.words import echo, echo_json, paragraph, warn
from tennis.kit.entries import OWN
from tennis.kit.errors import TennisError, UsageError
from tennis.kit.share import processors
from tennis.kit.turns import turn
from tennis.rally.text import quoted

if TYPE_CHECKING:
    from tennis.course.checking.running import QuestionReport, Report
    from tennis.course.labs import Lab
    from tennis.course.work import Work

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
    """Do a lab of the course: start, see what is missing, make the file to hand in.

    Without a command, it lists the labs, with the minutes they take and their points.

    \b
    Examples:
      tennis lab
      tennis lab start 01 --as "Ada Lovelace"
      tennis lab open 01
      tennis lab check 01
      tennis lab submit 01
    """
    if ctx.invoked_subcommand is not None:
        return
    from tennis.course.labs import every_lab
    from tennis.kit.log import listening

    with listening(warn):
        labs = every_lab()
    course = table("lab", "what it is about", numbers=("minutes", "points"), ruled=False)
    for one in labs:
        about = Text(one.title, style="bold") + Text(f": {one.about}", style="default")
        about += Text("" if one.package == OWN else f" (package {one.package})", style="dim")
        course.add_row(f"{one.number:02}", about, str(one.minutes), str(one.points))
    Console().print(course)


@lab.command("start", short_help="Make your own folder for a lab.")
@click.argument("number", metavar="LAB")
@click.option(
    "--as",
    "names",
    metavar="NAME",
    multiple=True,
    required=True,
    help="Your name; for a group, once for each member. It decides the seed of your rallies.",
)
@click.option(
    "--number",
    "numbers",
    multiple=True,
    metavar="NUMBER",
    help="Your student number. It also decides your seed, so that two students of the same "
    "name get different ones. In a group, one for each --as, in that order; its seed follows "
    "from the names.",
)
@click.option(
    "--email",
    "emails",
    multiple=True,
    metavar="ADDRESS",
    help="Your e-mail address at the school. In a group, one for each --as.",
)
@click.option("--out", type=Folder(), help="The folder. [default: lab-NN]")
def _start(
    number: str,
    names: tuple[str, ...],
    numbers: tuple[str, ...],
    emails: tuple[str, ...],
    out: Path | None,
) -> None:
    """Make your own folder for a lab: answers to fill in, your seed, the commands with it.

    A group has one folder and hands in one file; each member gets its points. The order of the
    names does not matter.

    \b
    Examples:
      tennis lab start 01 --as "Ada Lovelace"
      tennis lab start 01 --as "Ada Lovelace" --number 4711 --email ada@example.org
      tennis lab start 04 --as "Ada Lovelace" --as "Blaise Pascal" --out work/04
    """
    from tennis.course import people, work

    found = work.find_lab(number)
    folder = out or _folder(found)
    known = [
        people.Member(*one)
        for one in zip(
            names,
            _of_each(names, "--number", numbers),
            _of_each(names, "--email", emails),
            strict=True,
        )
    ]
    if len(known) == 1:
        work.start(found, known[0].name, folder, known[0].number, known[0].email)
    else:
        work.start_group(found, known, folder)
    opened = work.read(folder, found)
    echo(f"{quoted(folder)}: read {work.README} there; your seed is {opened.seed}")
    if opened.answers.members:
        echo("each member hands in the group's file: so each confirms that the group is theirs")


def _of_each(names: tuple[str, ...], option: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return a value for each name; empty ones if the option was not used. Raises UsageError."""
    if values and len(values) != len(names):
        raise UsageError(
            f"{len(values)} times {option}, and {len(names)} times --as",
            next_step=f"say {option} once for each --as, in that order, or not at all",
        )
    return values or ("",) * len(names)


@lab.command("open", short_help="Open JupyterLab on your folder.")
@click.argument("number", metavar="LAB")
@in_option
@click.option("--browser/--no-browser", default=True, help="Open it in a browser. [default: yes]")
def _open_lab(number: str, folder: Path | None, *, browser: bool) -> None:
    """Open JupyterLab on your folder, with the lab's notebook; Ctrl-C ends it.

    \b
    Examples:
      tennis lab open 01
      tennis lab open 01 --no-browser
    """
    import subprocess

    from tennis.course import work
    from tennis.course.notebook import jupyter

    found = work.find_lab(number)
    opened = work.read(_work_folder(found, folder), found)
    command, environment = jupyter.command(opened, browser=browser)
    try:
        code = subprocess.run(command, env=dict(environment), check=False).returncode
    except KeyboardInterrupt:  # JupyterLab had it, too
        return
    if code:
        raise TennisError(f"JupyterLab ended with {code}: the lines above say why")


@lab.command("plant", short_help="Write the capture with an error to find.")
@click.argument("number", metavar="LAB")
@in_option
def _plant(number: str, folder: Path | None) -> None:
    """Write a capture of your rally with a planted error. Each student gets another error.

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
    opened = work.read(_work_folder(found, folder), found)
    if name in opened.trouble:
        raise TennisError(f"{name}: {opened.trouble[name]}", next_step="play it first")
    out = opened.folder / planting.CAPTURE
    planting.plant(opened.rallies[name], opened.seed, out)
    rally = quoted(opened.folder / name)
    echo(f"{quoted(out)}; now: tennis umpire check {rally} --capture {quoted(out)}")


@lab.command("check", short_help="Say what is right and what is missing.")
@click.argument("number", metavar="LAB")
@in_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def _check(number: str, folder: Path | None, *, as_json: bool) -> None:
    """Show what you have answered, what is right, what was not run, and what `submit` will refuse.

    These are your teacher's checks, except those that know the answers. So an answer that passes
    may still be wrong. Numbers are read as people write them, in any unit of their kind: 7,740,
    7740 ns, 7.74 µs. The exit code is 1 if something is missing or wrong.

    \b
    Examples:
      tennis lab check 01
      tennis lab check 01 --in work/01
      tennis lab check 01 --json
    """
    from tennis.course import work
    from tennis.course.checking import running as checking
    from tennis.grading import hand_in

    found = work.find_lab(number)
    opened = work.read(_work_folder(found, folder), found)
    report = _checked(opened)
    asked = checking.questions(found, report)
    refused = hand_in.missing(opened, report)
    if as_json:
        told = report.model_dump() | {"questions": [one.model_dump() for one in asked]}
        echo_json(told | {"submit_refuses": refused})
    else:
        _show_questions(found, asked)
        _show(report)
        _show_what_is_left(found, asked, report, refused)
    failed = sum(result.verdict == "fail" for result in report.results)
    if failed:
        raise TennisError(f"{failed} of {len(report.results)} checks say no")


@lab.command("submit", short_help="Make the one file to hand in.")
@click.argument("number", metavar="LAB")
@in_option
@click.option("--out", type=Folder(), metavar="FILE", help="The file. [default: LAB-NAME.zip]")
@click.option("--partial", is_flag=True, help="Hand in what is there, and do not ask: for scripts.")
def _submit(number: str, folder: Path | None, out: Path | None, *, partial: bool) -> None:
    """Make the one file to hand in: answers, notebook and rallies.

    If something is missing, the command asks whether to hand in the rest. The notebook is run once
    more, from top to bottom, and handed in as PDF, too.

    \b
    Examples:
      tennis lab submit 01
      tennis lab submit 01 --in work/01 --out ada.zip
      tennis lab submit 01 --partial
    """
    from tennis.course import work
    from tennis.course.checking import running as checking
    from tennis.grading import hand_in

    found = work.find_lab(number)
    opened = work.read(_work_folder(found, folder), found)
    report = _checked(opened)
    lacking = hand_in.missing(opened, report)
    if lacking:
        for one in lacking:
            warn(f"missing: {one}")
        _accept_a_part(opened, checking.questions(found, report), partial=partial)
    if any(rally.own_file for rally in found.rallies):
        warn(work.OWN_CODE)
    out = out or Path(hand_in.file_name(opened))
    hand_in.check_place(out)
    printed = _printed(opened, partial=bool(lacking))
    size = hand_in.pack(opened, out, without=() if printed else (work.NOTEBOOK_PDF,))
    part = " (a part)" if lacking else ""
    echo(f"{quoted(out)}{part}: {size / 1e6:.1f} MB, {report.of} points to win; hand this file in")


def _accept_a_part(opened: "Work", reports: "list[QuestionReport]", *, partial: bool) -> None:
    """Ask whether to hand in a part. Raises TennisError if it is not."""
    there = sum(one.answered for one in reports)
    if opened.answers.seed != opened.seed:
        raise TennisError(
            "nothing was made: answers.toml was made for another name",
            next_step="put the old name back, or start again with `tennis lab start`",
        )
    if not there:
        raise TennisError("nothing was made: no question is answered", next_step="answer one")
    part = f"{there} of {len(reports)} answered"
    if opened.lab.rallies:
        part += f", {len(opened.rallies)} of {len(opened.lab.rallies)} rallies are there"
    if partial:
        warn(f"{part}: handed in as a part")
        return
    try:
        yes = click.confirm(f"{part}. Hand in this part?", default=False, err=True)
    except click.Abort:  # nobody is there to answer
        yes = False
        echo(err=True)
    if not yes:
        raise TennisError(
            "nothing was made", next_step="add what is missing, or hand in the part with --partial"
        )


def _printed(opened: "Work", *, partial: bool) -> bool:
    """Print the notebook; tell whether it was. That of a part may fail: it lacks rallies."""
    from tennis.course import work
    from tennis.grading import hand_in

    there = (opened.folder / work.NOTEBOOK).is_file()
    if not there and (partial or not opened.lab.notebook.is_file()):
        return False
    try:
        # with thirty at once on one server, each notebook would take longer than it may
        with turn("notebook", processors(), lambda: warn("waiting for others who hand in")):
            warn("running the notebook once more, and printing it")
            hand_in.print_notebook(opened)
    except work.WorkError as error:
        if not partial:
            raise
        warn(f"handed in without the notebook's print: {error}")
        return False
    return True


def _checked(opened: "Work") -> "Report":
    """Run a student's checks: in turns if they boot what is tried, as each takes a processor."""
    from tennis.course.checking.running import run_checks

    if not opened.lab.files:
        return run_checks(opened.folder, blind=True)
    with turn("trial", processors(), lambda: warn("waiting for others whose files are tried")):
        warn("building and trying your files: up to half a minute")
        return run_checks(opened.folder, blind=True)


def _folder(lab: "Lab") -> Path:
    return Path(f"lab-{lab.number:02}")


def _work_folder(lab: "Lab", folder: Path | None) -> Path:
    """Return the folder of a student's work: the one that was named, this one, or the usual."""
    from tennis.course.work import ANSWERS

    if folder is not None:
        return folder
    for place in (Path(), _folder(lab)):
        if (place / ANSWERS).is_file():
            return place
    raise UsageError(
        f"there is no folder here for lab {lab.number:02}",
        next_step=f"start with `tennis lab start {lab.number:02} --as NAME`, or say --in DIR",
    )


def _show_questions(lab: "Lab", reports: "list[QuestionReport]") -> None:
    """Print a line a question: whether it is answered, and whether that is right."""
    made = table("question", ruled=False)
    made.add_column("answered", ratio=1)
    made.add_column("right", ratio=1)
    for one in reports:
        answer = Text("yes" if one.answered else "no", STYLES["pass" if one.answered else "fail"])
        styles = {"yes": "pass", "no": "fail", "waits": "inconclusive"}
        style = STYLES[styles.get(one.right, "not run")]
        right = Text(one.right if one.answered else "", style)
        said = (one.understood, one.why if one.answered else "")
        cells = [
            cell + Text(f": {words}" if words else "")
            for cell, words in zip((answer, right), said, strict=True)
        ]
        made.add_row(one.question, *cells)
    console = Console(highlight=False)
    console.print(Text(f"Lab {lab.number}, {lab.title}", style="bold"))
    console.print(made)
    console.print()


def _show(report: "Report") -> None:
    """Print what each other check says; those that say no, with why and what helps."""
    from tennis.course.checking.running import ANSWERED, SEALED, title

    console = Console(highlight=False)
    for _, group in itertools.groupby(report.results, lambda result: result.rationale):
        results = [
            result
            for result in group
            if result.verdict != "not run"
            and not result.check.startswith((ANSWERED, SEALED))
            and not (result.question and result.verdict == "pass")
        ]
        for result in results:
            lead = Text(f"{SIGNS[result.verdict]:>3}  ", style=STYLES[result.verdict])
            said = f": {result.message}" if result.message else ""
            paragraph(console, f"{title(result)}{said}", lead)
        for line in itertools.chain.from_iterable(result.details for result in results):
            console.print(Text(f"     | {line}", style="dim", overflow="fold"))
        hint = next((result.hint for result in results if result.verdict == "fail"), "")
        if hint:
            paragraph(console, hint, Text("     "), "dim")


def _show_what_is_left(
    lab: "Lab", reports: "list[QuestionReport]", report: "Report", refused: list[str]
) -> None:
    """Print what nobody looked at here, and what happens when this is handed in."""
    from tennis.course.checking.running import not_run, title

    console = Console(highlight=False)
    echo()
    there, right = (
        sum(one.answered for one in reports),
        sum(one.right == "yes" for one in reports),
    )
    paragraph(
        console,
        f"{there} of {len(reports)} answered, {right} of them known to be right. Answered does "
        "not mean right: your teacher knows the other answers, and reads texts.",
    )
    if left := [title(result) for result in not_run(report)]:
        paragraph(console, f"Not run here, but when it is marked: {'; '.join(left)}.")
    submit_it = f"`tennis lab submit {lab.number:02}`"
    if refused:
        paragraph(console, f"{submit_it} will refuse this, or ask whether to hand in the part:")
        for one in refused:
            paragraph(console, one, Text("  - "))
    else:
        paragraph(console, f"{submit_it} will take it, if the notebook runs.")
