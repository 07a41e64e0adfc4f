# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis compare``: before and after, played until it is decided."""

import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.numbers import Real, Whole
from tennis.cli.options import balls_option, bench_option, field_option, workers_option
from tennis.cli.progress import progress_line, tell
from tennis.cli.settings import setting_option
from tennis.cli.stop import Stop
from tennis.cli.tables import print_wide, table
from tennis.cli.words import aside, echo, echo_json, print_line
from tennis.comparison import BOOTS_MAX
from tennis.errors import UsageError
from tennis.log import listening
from tennis.rally.disk import refuse_existing, writing
from tennis.rally.serving import Serving
from tennis.rally.text import plain
from tennis.units import format_count

if TYPE_CHECKING:
    from tennis.comparison.before_after import Verdict
    from tennis.comparison.control import Control
    from tennis.play.causes import LevelCauses
    from tennis.play.comparing import Compared
    from tennis.play.sides import SideRequest

PAGE = "compare.html"


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder for the boots and the page. [default: compare, if something is played]",
)
@setting_option("kernel", "The kernel of a side that names none.")
@setting_option("load", "The load of a side that names none.")
@balls_option("Balls of a boot.", most=10**8)
@click.option(
    "--period-us",
    type=Real(10, 1_000_000),
    metavar="US",
    help="Play control loops of this period in place of balls (`tennis drill periodic`). --balls "
    "is then how often they wake.",
)
@field_option(Serving, "seed", "The first seed. Each pair of boots gets its own seed from it.")
@click.option(
    "--margin",
    type=Real(0.1, 1000),
    default=10.0,
    show_default=True,
    metavar="PERCENT",
    help="Smaller differences count as equal.",
)
@click.option(
    "--boots",
    type=Whole(1, BOOTS_MAX),
    default=32,
    show_default=True,
    metavar="COUNT",
    help="Play at most this many boots of each side.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["undecided", "worse"]),
    default="undecided",
    show_default=True,
    help="Which verdicts give an exit code other than 0: with worse, undecided gives 0, too.",
)
@click.option(
    "--minutes",
    type=Real(0.1, 10_000),
    metavar="MINUTES",
    help="Stop after this time. The same command continues.",
)
@click.option(
    "--once",
    is_flag=True,
    help="Judge once, when all --boots are played. Fewer boots then show that nothing changed.",
)
@workers_option("How many boots to play at once on the virtual bench.")
@bench_option("The bench for both sides. pi needs --target.")
@setting_option("target", "The board, with --bench pi.")
@setting_option("port", "The Brickwall's serial port, with --bench pi.")
@click.option(
    "--explain/--no-explain",
    "explained",
    default=True,
    help="Whether to play a boot of each side again to name the code that made the difference "
    "(virtual bench).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
@click.option(
    "--markdown",
    "as_markdown",
    is_flag=True,
    help="Print the verdict, the table and the circumstances as Markdown, for a merge request.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add the verdict and what changed to FILE as Markdown, as in $GITHUB_STEP_SUMMARY.",
)
def compare(
    before: str,
    after: str,
    out: Path | None,
    *,
    kernel: str | None,
    load: str | None,
    balls: int | None,
    period_us: float | None,
    seed: int,
    margin: float,
    boots: int,
    fail_on: str,
    minutes: float | None,
    once: bool,
    workers: int,
    bench: str,
    target: str | None,
    port: str | None,
    explained: bool,
    as_json: bool,
    as_markdown: bool,
    summary: Path | None,
) -> None:
    """Show what became later or earlier from BEFORE to AFTER, and which code made the difference.

    A side is a played folder (a rally, rallies, a match, control loops), or a setting to play. A
    setting is a kernel, a Racquet's C file, a match's plan, or words such as "rt
    top-half=explicit". The command plays pairs of boots until each level (a quantile) is decided,
    or the budget is spent.

    \b
    Examples:
      tennis compare mainline rt --load stress
      tennis compare "rt top-half=forced" "rt top-half=explicit" --load stress
      tennis compare racquet-before.c racquet.c --load stress --out gate
      tennis compare ../linux-before ../linux --load stress --minutes 20
      tennis compare rt "rt command-line=nohz=off" --margin 1
      tennis compare program=loop.c program=other-loop.c --period-us 1000
      tennis compare last-week/before last-week/after --json
      tennis compare mainline rt --markdown > request.md

    The exit code is 0 for no worse, 1 for worse, 3 for undecided (0 with --fail-on worse). 2 is a
    wrong command, and 4 is anything that failed.
    """
    from tennis.comparison.control import control
    from tennis.play.causes import find_causes
    from tennis.play.compare_record import SIDES
    from tennis.play.comparing import Budget, Playing, compare_played, compare_recorded
    from tennis.play.sides import Recorded, ToPlay, side_of

    _refuse_forms(summary, as_json=as_json, as_markdown=as_markdown)
    common: dict[str, Any] = {"bench": bench, "target": target, "port": port}
    common |= {"kernel": kernel, "load": load} | ({} if balls is None else {"balls": balls})
    common = {key: value for key, value in common.items() if value is not None}
    period_ns = None if period_us is None else round(period_us * 1000)
    asked: list[SideRequest] = [side_of(text, common, period_ns) for text in (before, after)]
    stop = Stop()
    playing = Playing(seed, Budget(boots, minutes, once), workers, progress_line, stop)
    one, other = asked
    if isinstance(one, Recorded) and isinstance(other, Recorded):
        _refuse_options(kernel=kernel, load=load, balls=balls, minutes=minutes, target=target)
        _refuse_options(once=once or None, period_us=period_us)
    with listening(aside if as_json or as_markdown else tell):
        if isinstance(one, Recorded) and isinstance(other, Recorded):
            if out is not None:
                refuse_existing(out / PAGE)  # somebody may keep a page of that name there
            compared = compare_recorded(one, other, margin / 100)
        else:
            compared = compare_played(
                one,
                other,
                out or Path("compare"),
                margin=margin / 100,
                playing=playing,
            )
        found: list[LevelCauses] = []
        unexplained: list[str] = []
        if explained and not compared.interrupted:
            sides = zip(SIDES, asked, strict=True)
            plans = {name: side.plans for name, side in sides if isinstance(side, ToPlay)}
            found, unexplained = find_causes(compared, plans, stop)
    itself = control(compared.sides.pairs, compared.judgement)
    form = "json" if as_json else "markdown" if as_markdown else ""
    _report(compared, found, unexplained, (before, after), compared.out or out, form, itself)
    if summary is not None:
        from tennis.pages.compare_markdown import as_summary
        from tennis.play.causes import shown_cause

        causes = [shown_cause(one) for one in found]
        _add(summary, as_summary(compared.sides, compared.judgement, causes, _typed()))
    sys.exit(_exit_code(compared.judgement.verdict, fail_on))


def _add(summary: Path, text: str) -> None:
    """Add a text to a file that others may have written to. Raises DiskFullError, UsageError."""
    with writing(summary):
        behind = "\n" if summary.is_file() and summary.stat().st_size else ""
        with summary.open("a", encoding="utf-8") as file:
            file.write(f"{behind}{text}\n")


def _refuse_forms(summary: Path | None, *, as_json: bool, as_markdown: bool) -> None:
    """Refuse two forms at once, a form that there is not, and a place that is not there."""
    if as_json and as_markdown:
        raise UsageError("--json and --markdown are two forms", next_step="choose one")
    if summary is None:
        return
    if not os.access(summary if summary.exists() else summary.parent, os.W_OK):
        raise UsageError(f"--summary {summary}: it cannot be written", next_step="name another")


def _report(
    compared: "Compared",
    found: "list[LevelCauses]",
    unexplained: list[str],
    named: tuple[str, str],
    place: Path | None,
    form: str,
    itself: "Control | None",
) -> None:
    """Write the page into the folder ``place``, and print the result; ``form``: json, markdown."""
    from tennis.comparison import words
    from tennis.pages.compare import write_comparison
    from tennis.pages.compare_markdown import as_markdown
    from tennis.play.causes import shown_cause

    sides, judgement = compared.sides, compared.judgement
    causes, command, page = [shown_cause(one) for one in found], _typed(), None
    if place is not None:
        with writing(place):
            place.mkdir(parents=True, exist_ok=True)
        page = write_comparison(
            sides, judgement, named, causes, unexplained, command, place / PAGE, itself
        )
    again = _again(compared)
    if form == "json":
        content = words.as_json(judgement, sides)
        content["causes"] = [_cause_json(one) for one in found]
        content |= {"unexplained": unexplained, "next": again, "page": page and str(page)}
        content["before_against_itself"] = None if itself is None else vars(itself)
        echo_json(content)
    elif form == "markdown":
        echo(as_markdown(sides, judgement, causes, unexplained, command, itself))
    else:
        _print(compared, found, unexplained, again, itself)
        if page:
            echo(f"\nThe page: {page}")


def _exit_code(verdict: "Verdict", fail_on: str) -> int:
    from tennis.comparison.before_after import EXIT_CODES

    return 0 if (fail_on, verdict) == ("worse", "undecided") else EXIT_CODES[verdict]


def _typed() -> str:
    """Return the command as it was typed, without the options that only change its output."""
    context = click.get_current_context()
    words = ["tennis", "compare"]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        source = context.get_parameter_source(parameter.name or "")
        if source is not click.core.ParameterSource.COMMANDLINE:
            continue
        if parameter.name in {"as_json", "as_markdown", "quiet", "summary", "workers"}:
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            words += [parameter.opts[0], f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)


def _refuse_options(**given: object) -> None:
    """Refuse what belongs to boots that are played."""
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option}: both sides were played already", next_step="leave it out")


def _again(compared: "Compared") -> str:
    """Say what is likely to decide; empty where it is decided."""
    judgement = compared.judgement
    if judgement.verdict != "undecided":
        return ""
    boots = len(compared.sides.pairs[0].before.boots)
    if compared.out is not None:
        return compared.next_step
    least = judgement.boots_needed
    more = f"at least {least}" if boots < least else f"more than {boots}"
    return f"give each side {more} boots"


def _print(
    compared: "Compared",
    found: "list[LevelCauses]",
    unexplained: list[str],
    again: str,
    itself: "Control | None",
) -> None:
    from tennis.comparison import words
    from tennis.play.causes import (
        came_or_went,
        change_words,
        rests_on,
        sentence,
        waited_sentence,
    )

    console = Console(highlight=False)
    line = partial(print_line, console)
    sides, judgement = compared.sides, compared.judgement
    for what, (ours, theirs) in sides.differences.items():
        line(f"differs: {what}: {ours or '-'} before, {theirs or '-'} after")
    for remark in (*sides.remarks, *words.odd_boots(sides)):
        line(remark, "yellow")
    print_wide(_table(compared))
    for some in found:
        line(f"{change_words(some.statement)}:")
        for title, causes in (("came", some.came), ("went", some.went)):
            for cause in causes:
                line(f"  {title}: {sentence(cause)}")
        for waited in some.waited:
            line(f"  {came_or_went(waited)}: {waited_sentence(waited)}")
        line(f"  {plain(rests_on(some), 400)}", "dim")
    for why in unexplained:
        line(f"not explained: {plain(why, 400)}", "dim")
    counts = [len(side.boots) for side in (sides.pairs[0].before, sides.pairs[0].after)]
    boots = f"{format_count(counts[0], 'boot')} a side"
    if counts[0] != counts[1]:
        boots = f"{counts[0]} and {format_count(counts[1], 'boot')}"
    kind = "pairs of one seed" if judgement.paired else "not paired"
    line("")
    line(words.verdict(judgement), "bold")
    spent = f"; spent: {compared.spent}" if compared.spent and again else ""
    line(
        f"{boots}, {kind}; intervals over boots, together right in 95 % of comparisons{spent}.",
        "dim",
    )
    for said in (words.unseen(judgement), itself.words if itself else ""):
        if said:
            line(said, "dim")
    if again:
        line(f"To decide it: {again}")


def _table(compared: "Compared") -> Table:
    """Return a row for each statement."""
    from tennis.comparison import words

    styles = {"later": "bold red", "earlier": "bold green", "undecided": "bold yellow"}
    styles |= {"more": "bold red", "fewer": "bold green"}
    several = len(compared.sides.cells) > 1
    titles = [*(["rally"] if several else []), "latency", "level"]
    made = table(*titles, numbers=("before", "after"), rest=("after / before", ""))
    for row in words.rows(compared.judgement):
        *cells, outcome = row.cells
        named = [plain(row.cell, 40)] if several else []
        made.add_row(*named, *cells, Text(outcome, styles.get(row.change, "")))
    return made


def _cause_json(one: "LevelCauses") -> dict[str, Any]:
    def rows(causes: Any) -> list[dict[str, Any]]:
        return [vars(cause) for cause in causes]

    return {
        "cell": one.statement.cell,
        "latency": one.statement.latency,
        "one_in": getattr(one.statement, "one_in", None),
        "quantity": one.statement.quantity,
        "before": str(one.before.path),
        "after": str(one.after.path),
        "came": rows(one.came),
        "went": rows(one.went),
        **({"waits_for_memory": rows(one.waited)} if one.waited else {}),
    }
