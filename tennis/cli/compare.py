"""``tennis compare``: before and after, played until it is decided."""

import os
import shlex
import sys
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.options import balls_option, bench_option, field_option, options_of, workers_option
from tennis.cli.progress import progress_line, tell
from tennis.cli.settings import settings_options, takes_requests
from tennis.cli.stop import Stop
from tennis.cli.tables import print_wide, table
from tennis.cli.words import aside, echo, echo_json, print_line
from tennis.compare.request import CompareRequest
from tennis.kit.errors import UsageError
from tennis.kit.log import listening
from tennis.kit.units import format_count
from tennis.rally.disk import refuse_existing, writing
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.text import plain

if TYPE_CHECKING:
    from tennis.compare.comparing import Compared
    from tennis.compare.judgement import Verdict
    from tennis.compare.requested import SideRequest
    from tennis.explain.causes import LevelCauses

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
@settings_options(
    "compare",
    kernel="The kernel of a side that names none.",
    load="The load of a side that names none.",
    target="The board, with --bench pi.",
    port="The Brickwall's serial port, with --bench pi.",
)
@balls_option("Balls of a boot.", most=10**8)
@field_option(Serving, "seed", "The first seed. Each pair of boots gets its own seed from it.")
@options_of(CompareRequest, into="asked")
@workers_option("How many boots to play at once on the virtual bench.")
@bench_option("The bench for both sides. pi needs --target.")
@click.option(
    "--explain/--no-explain",
    "explained",
    default=True,
    help="Whether to play a boot of each side again to name the code that made the difference "
    "(virtual bench).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
@click.option(
    "--summary",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add the verdict and what changed to FILE as Markdown, as in $GITHUB_STEP_SUMMARY.",
)
@takes_requests
def compare(
    before: str,
    after: str,
    *,
    request: RallyRequest,
    serving: Serving,
    asked: CompareRequest,
    out: Path | None,
    workers: int,
    explained: bool,
    as_json: bool,
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
      tennis compare mainline rt --summary request.md

    The exit code is 0 for no worse, 1 for worse, 3 for undecided (0 with --fail-on worse). 2 is a
    wrong command, and 4 is anything that failed.
    """
    from tennis.compare.comparing import SIDES, Playing, compare_played, compare_recorded
    from tennis.compare.requested import Recorded, ToPlay, side_of
    from tennis.explain.causes import find_causes

    if summary is not None:
        _refuse_closed(summary)
    _refuse_unsuitable(asked, serving)
    sides: list[SideRequest] = [side_of(text, request, serving, asked) for text in (before, after)]
    one, other = sides
    stop = Stop()
    with listening(aside if as_json else tell):
        if isinstance(one, Recorded) and isinstance(other, Recorded):
            _refuse_what_plays(request, serving, asked)
            if out is not None:
                refuse_existing(out / PAGE)  # somebody may keep a page of that name there
            compared = compare_recorded(one, other, asked.margin_share)
        else:
            playing = Playing(serving.seed, asked, workers, progress_line, stop)
            compared = compare_played(one, other, out or Path("compare"), playing)
        found: list[LevelCauses] = []
        unexplained: list[str] = []
        if explained and not compared.interrupted:
            named = zip(SIDES, sides, strict=True)
            plans = {name: side.plans for name, side in named if isinstance(side, ToPlay)}
            found, unexplained = find_causes(compared, plans, stop)
    place = compared.out or out
    _report(compared, found, unexplained, (before, after), place, as_json=as_json)
    if summary is not None:
        from tennis.compare.markdown import as_summary
        from tennis.explain.causes import shown_cause

        causes = [shown_cause(one) for one in found]
        _add(summary, as_summary(compared.sides, compared.judgement, causes, _typed()))
    sys.exit(_exit_code(compared.judgement.verdict, asked.fail_on))


def _add(summary: Path, text: str) -> None:
    """Add a text to a file that others may have written to. Raises DiskFullError, UsageError."""
    with writing(summary):
        behind = "\n" if summary.is_file() and summary.stat().st_size else ""
        with summary.open("a", encoding="utf-8") as file:
            file.write(f"{behind}{text}\n")


def _refuse_closed(summary: Path) -> None:
    """Raise UsageError for a place to which nothing can be added."""
    if not os.access(summary if summary.exists() else summary.parent, os.W_OK):
        raise UsageError(f"--summary {summary}: it cannot be written", next_step="name another")


def _refuse_unsuitable(asked: CompareRequest, serving: Serving) -> None:
    """Raise UsageError for balls of a loop, and for periods of balls."""
    if asked.period_us is None and asked.repetitions is not None:
        raise UsageError("--repetitions are of control loops", next_step="name their --period-us")
    if asked.period_us is not None and "balls" in serving.model_fields_set:
        raise UsageError("--balls: control loops have none", next_step="use --repetitions")


def _report(
    compared: "Compared",
    found: "list[LevelCauses]",
    unexplained: list[str],
    named: tuple[str, str],
    place: Path | None,
    *,
    as_json: bool,
) -> None:
    """Write the page into the folder ``place``, and print the result."""
    from tennis.compare import words
    from tennis.compare.page import write_comparison
    from tennis.explain.causes import shown_cause

    sides, judgement = compared.sides, compared.judgement
    causes, command, page = [shown_cause(one) for one in found], _typed(), None
    if place is not None:
        with writing(place):
            place.mkdir(parents=True, exist_ok=True)
        page = write_comparison(sides, judgement, named, causes, unexplained, command, place / PAGE)
    again = _again(compared)
    if as_json:
        content = words.as_json(judgement, sides)
        content["causes"] = [_cause_json(one) for one in found]
        content |= {"unexplained": unexplained, "next": again, "page": page and str(page)}
        echo_json(content)
    else:
        _print(compared, found, unexplained, again)
        if page:
            echo(f"\nThe page: {page}")


def _exit_code(verdict: "Verdict", fail_on: str) -> int:
    from tennis.compare.judgement import EXIT_CODES

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
        if parameter.name in {"as_json", "summary", "workers"}:
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            words += [parameter.opts[0], f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)


def _refuse_what_plays(request: RallyRequest, serving: Serving, asked: CompareRequest) -> None:
    """Raise UsageError for options of boots that are played."""
    given = {*request.explicit, *serving.model_fields_set}
    given |= {name for name, value in asked if value}
    for name in ("kernel", "load", "balls", "minutes", "target", "once", "period_us"):
        if name not in given:
            continue
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"{option}: both sides were played already", next_step="leave it out")


def _again(compared: "Compared") -> str:
    """Return the next step that is likely to decide; empty: it is decided."""
    judgement = compared.judgement
    if judgement.verdict != "undecided":
        return ""
    boots = len(compared.sides.pairs[0].before.boots)
    if compared.out is not None:
        return compared.next_step
    if judgement.time.undecided:
        return "play both sides in turns: before, after, after, before"
    needed = boots * judgement.more_boots
    return f"if nothing changed, about {needed:,.0f} boots a side" if needed < inf else ""


def _print(
    compared: "Compared", found: "list[LevelCauses]", unexplained: list[str], again: str
) -> None:
    from tennis.compare import words
    from tennis.explain.causes import (
        came_or_went,
        rests_on,
        sentence,
        waited_sentence,
        why_sentence,
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
        line(f"{words.by_how_much(some.row)}:")
        for title, causes in (("came", some.came), ("went", some.went)):
            for cause in causes:
                line(f"  {title}: {sentence(cause)}")
        for waited in some.waited:
            line(f"  {came_or_went(waited)}: {waited_sentence(waited)}")
        if why := why_sentence(some):
            line(f"  most waited for: {why}")
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
    line(f"{boots}, {kind}; intervals over boots, each right in 95 % of comparisons{spent}.", "dim")
    if said := words.unseen(judgement):
        line(said, "dim")
    if again:
        line(f"To decide it: {again}")


def _table(compared: "Compared") -> Table:
    """Return a row for each statement."""
    from tennis.compare import words

    styles = {"later": "bold red", "earlier": "bold green", "undecided": "bold yellow"}
    several = len(compared.sides.cells) > 1
    titles = [*(["rally"] if several else []), "latency", "quantity"]
    made = table(*titles, numbers=("before", "after"), rest=("after / before", ""))
    judgement = compared.judgement
    for row in judgement.rows:
        *cells, outcome = words.cells(row, judgement.margin)
        named = [plain(row.cell, 40)] if several else []
        made.add_row(*named, *cells, Text(outcome, styles.get(row.change, "")))
    return made


def _cause_json(one: "LevelCauses") -> dict[str, Any]:
    from tennis.compare.words import quantity

    def rows(causes: Any) -> list[dict[str, Any]]:
        return [vars(cause) for cause in causes]

    return {
        "cell": one.row.cell,
        "latency": one.row.latency,
        "quantity": quantity(one.row),
        "before": str(one.before.path),
        "after": str(one.after.path),
        "came": rows(one.came),
        "went": rows(one.went),
        **({"waits_for_memory": rows(one.waited)} if one.waited else {}),
    }
