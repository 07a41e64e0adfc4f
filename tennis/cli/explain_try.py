"""``tennis explain try``: play a rally's plan with another setting, and compare late balls."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.numbers import Whole, time_ns
from tennis.cli.progress import watching
from tennis.cli.tables import table
from tennis.cli.words import echo_json, print_line
from tennis.explain.remedies import BOOTS, BOOTS_MAX
from tennis.kit.errors import NotBuiltError
from tennis.kit.units import format_count, format_ns, format_round_ns
from tennis.rally import open_rally
from tennis.rally.agreement import apart
from tennis.rally.shots import are_shots
from tennis.rally.statistics import Summary
from tennis.rally.statistics.summary import summarize
from tennis.rally.text import plain

if TYPE_CHECKING:
    from tennis.explain.remedy_trial import Tried

OUTCOMES = {
    "helps": "It helps",
    "harms": "It harms",
    "alike": "It makes no difference of more than 10 %",
    "undecided": "Undecided",
}


@click.command("try")
@click.argument("rally", metavar="RALLY", type=Folder())
@click.argument("settings", metavar="NAME=VALUE...", nargs=-1)
@click.option("--over", metavar="TIME", help="Compare the balls that waited longer, as in 100us.")
@click.option(
    "--boots",
    type=Whole(1, BOOTS_MAX),
    metavar="COUNT",
    default=BOOTS,
    show_default=True,
    help=f"How many pairs of boots; fewer than {BOOTS} decide nothing.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def try_(
    rally: Path, settings: tuple[str, ...], *, over: str | None, boots: int, as_json: bool
) -> None:
    """Play the same with another setting, and compare.

    The command plays pairs of boots of one seed beside RALLY, and compares their late balls. NAME
    is kernel, command-line, priorities, top-half, bottom-half or witness, and VALUE what the option
    of `tennis rally` takes. If a program answered, program=FILE names it; source=mlockall and
    source=inherit=MUTEX change a copy of it. Without any other setting the command explains the
    latest ball, and tries what may help.

    \b
    Examples:
      tennis explain try first command-line=rcu_nocbs=0
      tennis explain try first kernel=rt-7 --over 100us
      tennis explain try first
      tennis explain try answer program=answer.c
      tennis explain try answer program=answer.c priorities=irq=90
      tennis explain try answer program=answer.c source=inherit=ledger
    """
    from tennis.explain.remedy_trial import suggested, try_setting

    over_ns = None if over is None else time_ns("--over", over)
    one = open_rally(rally)
    program = [setting for setting in settings if setting.startswith("program=")]
    if len(program) == len(settings):
        with watching("try") as watch:
            sentence, found = suggested(one, program, watch)
            rows = []
            for setting, why in found:
                words = [*program, setting]
                tried, failed = None, ""
                try:
                    if setting:
                        tried = try_setting(one, words, over_ns=over_ns, boots=boots, watch=watch)
                except NotBuiltError as error:  # a copy of the program: the others are tried
                    failed = f" ({plain(str(error), 200)})"
                rows.append((setting, why + failed, tried))
        _print_suggested(sentence, rows, as_json=as_json)
        return
    with watching("try") as watch:
        tried = try_setting(one, settings, over_ns=over_ns, boots=boots, watch=watch)
    summaries = [summarize(one) for one in (tried.before, tried.after)]
    of_shots = are_shots(tried.before.manifest.protocol)
    differ = apart(tried.before, tried.after) if of_shots else None
    if as_json:
        content = {
            "setting": tried.setting,
            "verdict": tried.verdict,
            "over_ns": tried.over_ns,
            "late": [tried.late_before, tried.late_after],
            "balls": list(tried.balls),
            "boots": tried.boots,
            "why": tried.why,
            "moved": asdict(tried.moved) if tried.moved else None,
            "after": str(tried.after.path),
            "apart": asdict(differ) if differ else None,
            "summaries": [one.as_json() for one in summaries],
        }
        echo_json(content)
        return
    shown = table("", numbers=("before", "after"))
    shown.add_row(
        f"balls of {format_count(tried.boots, 'boot')}", *(f"{count:,}" for count in tried.balls)
    )
    if tried.over_ns is not None:
        shown.add_row(
            f"later than {format_round_ns(tried.over_ns)}, ping to fall",
            *(f"{count:,}" for count in (tried.late_before, tried.late_after)),
        )
    shown.add_section()
    for name, cells in _latency_rows(summaries):
        shown.add_row(f"first boot: {name}", *cells)
    console = Console(highlight=False)
    console.print(shown)
    moved = f" {tried.moved.words}." if tried.moved else ""
    console.print(Text(f"{OUTCOMES[tried.verdict]}. After against before, {tried.why}.{moved}"))
    if differ:
        console.print(Text(differ.words))
    console.print(Text(f"The first rally after: {plain(str(tried.after.path))}", style="dim"))


def _print_suggested(
    sentence: str, rows: Sequence[tuple[str, str, "Tried | None"]], *, as_json: bool
) -> None:
    """Print the reason, then what was tried against it; a change of the program is not tried."""
    if as_json:
        found = [
            {
                "setting": setting,
                "why": why,
                "verdict": tried.verdict if tried else None,
                "latest_ns": tried.latest_ns if tried else None,
            }
            for setting, why, tried in rows
        ]
        echo_json({"sentence": sentence, "tried": found})
        return
    console = Console(highlight=False)
    print_line(console, sentence, "bold")
    print_line(console, "May help, and the latest ball of all boots without it and with it:")
    for setting, why, tried in rows:
        print_line(console, f"  {setting or 'a change of the program'}: {why}")
        without, with_it = map(format_ns, tried.latest_ns) if tried else ("", "")
        verdict = f"{without} -> {with_it}; {OUTCOMES[tried.verdict]}" if tried else "not tried"
        print_line(console, f"    {verdict}", "bold" if tried else "dim")
    if not rows:
        print_line(console, "  no known remedy")


def _latency_rows(summaries: Sequence[Summary]) -> Iterator[tuple[str, list[str]]]:
    """Yield what a row is called, and its cells: median, 99 % and latest of both latencies."""
    for latency in ("interrupt", "scheduling"):
        for name, words in (("median", "median"), ("p99", "99 %"), ("max", "latest")):
            cells = [getattr(one, f"{latency}_ns").said(name) for one in summaries]
            yield f"{latency}, {words}", cells
