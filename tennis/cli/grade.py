"""``tennis grade``: mark what a class handed in."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tennis.cli.completion import Folder
from tennis.cli.numbers import Whole
from tennis.cli.options import UsualOption
from tennis.cli.stop import Stop
from tennis.cli.words import echo, warn
from tennis.kit.errors import TennisError, UsageError
from tennis.kit.log import listening
from tennis.kit.share import processors
from tennis.kit.units import format_count
from tennis.rally.text import plain, quoted

if TYPE_CHECKING:
    from tennis.course.labs import Lab
    from tennis.grading.class_list import ClassList
    from tennis.grading.marks import Marked


@click.command()
@click.argument("submissions", type=Folder(), metavar="DIR|ZIP")
@click.option("--lab", "number", required=True, metavar="LAB", help="The lab's number, such as 01.")
@click.option(
    "--out",
    type=Folder(),
    metavar="DIR",
    help="The folder for marks and pages. Grading again continues there. [default: DIR-marks]",
)
@click.option(
    "--replay/--no-replay",
    default=True,
    help="Play the lab's rallies here, with each student's seed, and run every notebook in a box. "
    "Without it, points are a first look, and none is final. [default: --replay]",
)
@click.option(
    "--boards/--no-boards",
    default=None,
    help="Accept rallies from boards, which cannot be played again. The choice is kept for the "
    "next time. [default: --no-boards]",
)
@click.option(
    "--workers",
    type=Whole(1, 64),
    metavar="COUNT",
    cls=UsualOption,
    help="How many hand-ins to mark at once. [default: as many as there are processors]",
)
@click.option(
    "--recorded",
    type=Folder(),
    metavar="DIR",
    multiple=True,
    help="A folder of rallies that you handed out: any student may hand them in. It is kept for "
    "the next time.",
)
@click.option(
    "--class-list",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Names, numbers, e-mail addresses: a CSV with the columns name, number, e-mail, moodle, "
    "canvas, login, section; or Moodle's grading worksheet, or Canvas's gradebook.",
)
@click.option(
    "--assignment",
    default="",
    metavar="TITLE",
    help="The assignment in Canvas. [default: the one of the class list with the lab's title]",
)
def grade(
    submissions: Path,
    number: str,
    out: Path | None,
    replay: bool,
    boards: bool | None,
    workers: int | None,
    recorded: tuple[Path, ...],
    class_list: Path | None,
    assignment: str,
) -> None:
    """Mark what students handed in: the zip files of `tennis lab submit`.

    They are in a folder, or in the archive that Moodle or Canvas lets you download, repacked or
    not.

    OUT/class.html is yours: what to look at first, points by question and student. OUT/feedback has
    a page for each student, OUT/marks.csv the points, and OUT/gradebook what Moodle and Canvas
    import. You read the texts yourself: put points and words into OUT/marks.toml, and run the
    command again. It overwrites nothing there.

    If a rally may not be the student's own, its points are withheld. OUT/decisions.toml says why,
    and you decide there. If this machine could not do something (no room, no memory, no kernel), it
    is named and costs nobody a point. The exit code is then 1, and the same command does the rest.
    Of several files of one student, the one with the most points counts, unless you decide
    otherwise.

    \b
    Examples:
      tennis grade handed-in --lab 01
      tennis grade handed-in --lab 01 --no-replay --workers 4
      tennis grade handed-in --lab 01 --out marks-01
      tennis grade submissions.zip --lab 01 --class-list worksheet.csv
    """
    from tennis.course import work
    from tennis.grading import class_list as lists
    from tennis.grading import downloads, findings, judged, marks, pages, texts

    lab = work.find_lab(number)
    listed = lists.read(class_list) if class_list is not None else None
    out = out or _beside(submissions)
    rules = marks.ClassRules.read(out)
    rules.boards = rules.boards if boards is None else boards
    rules.recorded = sorted({*rules.recorded, *marks.handed_out(lab, recorded)})
    if out.resolve() == submissions.resolve():
        raise UsageError("--out is the folder of the hand-ins", next_step="choose another")
    people, decided = marks.read_sheet(out, lab), findings.read_decisions(out)
    _ask_if_read(out, texts.signed_alike(out, lab, people))

    def observe(done: int, of: int, name: str) -> None:
        warn(f"{done} of {of}: {plain(name, 60)}")

    with listening(warn), downloads.opened(submissions) as root:
        files = downloads.files(root)
        what = "marking" if not replay else "playing the rallies of, and marking,"
        warn(f"{what} {format_count(len(files), 'hand-in')}: each is named when it is done")
        graded = judged.grade(
            files,
            lab,
            out,
            root=root,
            replays=replay,
            boards=rules.boards,
            workers=workers or processors(),
            observe=observe,
            stop=Stop(),
        )
    rules.write(out)
    marked = marks.marked(graded, people, lab, rules, decided)
    marks.write_sheet(out, lab, [one.graded for one in marked], people)
    found = [one for row in marked for one in (*row.findings, *row.unconfirmed, *row.seconds)]
    findings.write_decisions(out, found, decided)
    pages.write(out, lab, marked)
    texts.keep_signed(out, people)
    _say(out, marked, findings.equals(graded))
    for line in _gradebook(out, lab, marked, listed, assignment):
        echo(line)
    waits = sum(one.status == "later" for one in marked)
    if waits:
        raise TennisError(
            f"{format_count(waits, 'hand-in')} could not be checked by this machine, and cost "
            "nobody a point",
            next_step="correct the causes above, then use the same command again",
        )


def _ask_if_read(out: Path, alike: Sequence[str]) -> None:
    """Ask whether texts that all got the same points were read. Raises TennisError if not."""
    from tennis.grading import texts

    if not alike:
        return
    for one in alike:
        warn(f"signed alike: {one}")
    try:
        yes = click.confirm("Did you read each of these texts?", default=False, err=True)
    except click.Abort:  # nobody is there to answer
        yes = False
        echo(err=True)
    if not yes:
        raise TennisError(
            "nothing was marked",
            next_step=f"read {quoted(out / texts.PAGE)}, correct the points, "
            "then use the same command again, and answer y",
        )


def _say(out: Path, marked: Sequence["Marked"], same: Sequence[str]) -> None:
    """Print what there is, and what to look at first."""
    from tennis.grading import findings, marks, pages

    count = Counter(one.status for one in marked)
    others = sum(len(one.others) for one in marked)
    students = f" of {format_count(len(marked), 'student')}" if others else ""
    echo(
        f"{format_count(len(marked) + others, 'hand-in')}{students}, {count['refused']} that "
        f"could not be marked, {format_count(sum(len(one.open) for one in marked), 'answer')} to "
        f"be read: {quoted(out / marks.SHEET)}"
    )
    becomes = {"withheld": "withheld", "none": "no points"}
    for one in marked:
        for finding in one.findings:
            who = plain(f"{one.graded.student} ({finding.file})", 80)
            said = becomes.get(one.status, "points count")
            said = said if finding.file == one.graded.file else "another file counts"
            echo(f"{said}: {who}: {finding.words}")
    waiting = sum(decided == "" for one in marked for decided in one.members.values())
    for one in marked:
        for finding in one.unconfirmed:
            becomes_of = one.status_of(finding.about.removeprefix("member "))
            said = becomes_of if becomes_of in {"unconfirmed", "no member"} else "confirmed"
            echo(f"{said}: {plain(f'{finding.words} ({finding.file})', 120)}")
    seconds = [finding for one in marked for finding in one.seconds]
    for finding in seconds:
        who = plain(f"{finding.student} ({finding.file})", 80)
        echo(f"{finding.about}: {who}: {plain(finding.found, 80)}")
    if count["withheld"] or waiting or seconds:
        what = [format_count(count["withheld"], "hand-in")] if count["withheld"] else []
        what += [format_count(waiting, "member")] if waiting else []
        what += [format_count(len(seconds), "second file")] if seconds else []
        echo(
            f"decide about {' and '.join(what)} in "
            f'{quoted(out / findings.DECISIONS)}: "give" or "none"; then use this command again'
        )
    for why, whose in pages.waiting(marked):
        echo(f"later: {why}: {whose}")
    for words in same:
        echo(f"the same in two hand-ins: {words}")
    echo(f"look at {quoted(out / pages.CLASS)}")


def _beside(submissions: Path) -> Path:
    """Return the default folder of marks: beside the folder, or the archive."""
    name = submissions.resolve().name
    if submissions.is_file():
        name = Path(name).stem
    return submissions.with_name(f"{name}-marks")


def _gradebook(
    out: Path, lab: "Lab", marked: "Sequence[Marked]", listed: "ClassList | None", assignment: str
) -> list[str]:
    """Write what platforms import; return lines about it."""
    from tennis.grading import findings, gradebooks, identities, pages

    whose = identities.identify(marked, listed)
    folder = out / pages.FEEDBACK
    handed = [
        gradebooks.HandedIn(one, identity, folder / f"{one.graded.key}.html")
        for one in marked
        for identity in whose[one.graded.file]
    ]
    seconds = [
        plain(f"{one.file}: {one.identity.why}", 160)
        for one in handed
        if one.identity.why.startswith(findings.SECOND)
    ]
    return [*seconds, *gradebooks.write(out, lab, handed, listed, assignment)]
