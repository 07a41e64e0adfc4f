# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis match``: a plan of rallies, played one after the other."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tennis.cli.progress import shown
from tennis.cli.stop import Stop
from tennis.cli.words import echo
from tennis.errors import BenchError, UsageError
from tennis.listener import listening


def _kernel(text: str) -> tuple[str, str]:
    name, separator, place = text.partition("=")
    if not name or not separator or not place:
        raise UsageError(f"--kernel {text}", next_step="write NAME=DIR, as in xenomai=../linux-evl")
    return name, place


@click.command()
@click.argument("plan", metavar="PLAN", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The match's folder; by default it is named after PLAN, without .toml, and lies here. "
    "Where it holds a part of the same match, the rest is played.",
)
@click.option(
    "--kernel",
    "kernels",
    metavar="NAME=DIR",
    multiple=True,
    help="The tree (or the name from `tennis kernels`) to play where the plan says NAME. May be "
    "repeated.",
)
@click.option(
    "--list", "list_only", is_flag=True, help="Say what would be played, and how long it may take."
)
def match(plan: Path, out: Path | None, kernels: tuple[str, ...], *, list_only: bool) -> None:
    """Play the rallies of PLAN, a TOML file: kernels x loads x priorities x bottom halves.

    Every rally boots its own kernel. At the end the match is held against the publications, as
    `tennis replicate` does, and DIR/report.html is written.

    \b
    Examples:
      tennis match plans/quick.toml --list
      tennis match plans/quick.toml
      tennis match plans/knutsson.toml --kernel xenomai=../linux-evl --out chapter-7

    Ctrl-C seals the rally that is being played. The same command goes on: after Ctrl-C, after
    `kill -9`, or when there is room on the disk again. A rally that fails or is suspect is marked,
    the others are played, and the exit code is 1.
    """
    from tennis.cli.verdicts import print_verdicts
    from tennis.match.plan import read_plan
    from tennis.pages.match import write_match_report
    from tennis.play.match import Match, bench_for, play_match
    from tennis.play.schedule import scheduled_rallies
    from tennis.replicate.verdicts import Replication

    if out is None:
        out = Path(plan.stem)
    asked = read_plan(plan)
    wanted = Match(asked, *scheduled_rallies(asked, dict(map(_kernel, kernels)), plan.parent))
    console = Console()
    if list_only:
        _list(console, wanted)
        return
    bench_for(asked)
    for entry in wanted.not_played:
        echo(f"not played: {entry.name}: {entry.why}")
    with listening(echo):
        outcome = play_match(wanted, out, shown, Stop())
    if outcome.interrupted:
        raise BenchError("interrupted; nothing is lost: the same command plays the rest")
    replication = Replication(outcome.folder)
    page = write_match_report(replication)
    print_verdicts(console, replication)
    echo(f"\nThe report, table by table, figure by figure: {page}")
    if outcome.bad:
        name, why = next(iter(outcome.bad.items()))
        raise BenchError(
            f"{len(outcome.bad)} of {len(wanted.scheduled)} rallies are not sound, the first "
            f"{name}: {why}; failed ones are tried again by the same command, others once they "
            "are moved away"
        )


def _list(console: Console, wanted: object) -> None:
    """Print the rallies in their order, and an estimate."""
    from tennis.play.match import Match, duration, estimate_s

    assert isinstance(wanted, Match)  # noqa: S101
    table = Table(box=None, pad_edge=False)
    table.add_column("rally", no_wrap=True)
    for title in ("balls", "seed", "settles", "about"):
        table.add_column(title, justify="right", no_wrap=True)
    for planned in wanted.scheduled:
        protocol = planned.plan.protocol
        table.add_row(
            planned.name,
            f"{protocol.balls:,}",
            str(protocol.seed),
            f"{protocol.settle_ns / 1e9:g} s",
            duration(estimate_s(planned.plan)),
        )
    console.print(table)
    for entry in wanted.not_played:
        echo(f"not played: {entry.name}: {entry.why}")
    total = sum(estimate_s(planned.plan) for planned in wanted.scheduled)
    balls = sum(planned.plan.protocol.balls for planned in wanted.scheduled)
    console.print(
        f"{len(wanted.scheduled)} rallies, {balls:,} balls, about {duration(total)} "
        "(a guess: it depends on this machine)",
        highlight=False,
    )
