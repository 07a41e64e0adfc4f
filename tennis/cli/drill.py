"""``tennis drill``: a target does one thing many times and times itself; the instrument listens."""

import json
from dataclasses import asdict
from inspect import cleandoc
from pathlib import Path
from typing import get_args

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.bench import loads
from tennis.cli.lab_folder import out_option
from tennis.cli.numbers import Real, Whole
from tennis.cli.options import Grouped, bench_option, field_option, umpire_option
from tennis.cli.progress import progress_line
from tennis.cli.settings import options_under, settings_options, takes_requests
from tennis.cli.stop import Stop
from tennis.cli.words import echo, paragraph, warn
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import listening
from tennis.kit.units import format_bytes, format_count, format_ns
from tennis.rally import Rally, drills
from tennis.rally.inside import REPETITIONS_MAX
from tennis.rally.manifest import PROGRAM, Drill, DrillContext, DrillName
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.settings import ELSEWHERE, FIRST, INSIDE, MORE
from tennis.rally.statistics.drill import DrillSummary, SpansByClock, summarize_drill
from tennis.rally.statistics.drill_words import FIGURES, claims, primary
from tennis.rally.text import quoted


class _Drills(Grouped):
    """A command whose help names the drills that there are, when somebody asks for it."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each drill is in place of the word DRILLS."""
        known = list(drills.every())
        width = max(len(one.name) for one in known)
        lines = "\n".join(f"  {one.name:<{width}}  {one.about.title}" for one in known)
        text, self.help = self.help, cleandoc(self.help or "").replace("  DRILLS", lines)
        super().format_help_text(ctx, formatter)
        self.help = text


@click.command(
    cls=_Drills,
    groups={
        "What to do": (
            *("--context", "--program", "--period-us", "--repetitions", "--seed", "--out"),
        ),
        "On which target": (
            *options_under(FIRST, "drill"),
            *options_under(MORE, "drill", but=["program"]),
        ),
        INSIDE: ("--umpire", *options_under(INSIDE, "drill")),
        ELSEWHERE: ("--bench", *options_under(ELSEWHERE, "drill")),
    },
)
@click.argument("name", metavar="DRILL", type=click.Choice(drills.names()), required=False)
@click.option(
    "--context",
    type=click.Choice([one for one in get_args(DrillContext) if one != PROGRAM]),
    help="The context that runs it. user: a process. user-rt: a process with SCHED_FIFO 98 "
    "and locked memory. kernel: a kernel thread with SCHED_FIFO 98. hrtimer, for "
    "periodic only: a timer in the hard interrupt. [default: kernel]",
)
@click.option(
    "--period-us",
    type=Real(10, 1_000_000),
    default=1000.0,
    show_default=True,
    metavar="US",
    help="The time from one repetition to the next. With --program: its own period.",
)
@click.option(
    "--repetitions",
    type=Whole(1, REPETITIONS_MAX),
    default=10_000,
    show_default=True,
    metavar="COUNT",
    help="How many times to do it.",
)
@field_option(Serving, "seed", "The same seed gives the same boot and the same bytes.")
@settings_options(
    "drill",
    program="A program of your own does the drill periodic: it wakes up by itself, and raises and "
    "lowers the line GPIO27 each time (docs/programs.md).",
    kernel="As for `tennis rally`. [default: mainline]",
    load=f"The load on the target: {', '.join(loads.names())}; memory is that of "
    "the paper (docs/loads.md). [default: idle]",
    command_line="Add to the kernel's command line, as in highres=off, which ties timers to "
    "a periodic tick.",
    instruction_ns="How long an instruction takes. [default: 2]",
    instrument="The instrument: builtin is fast; pico is the Brickwall's firmware on an emulated "
    "Pico, up to some 30,000 repetitions a second. [default: builtin]",
    analyser="With --umpire, as for `tennis rally`.",
    target="The board, with --bench pi.",
    port="The Brickwall's serial port, with --bench pi.",
)
@umpire_option(
    "Also record the wires with a logic analyser, as for `tennis rally`. On the virtual bench the "
    "capture is made from the drill itself."
)
@bench_option("The bench, as for `tennis rally`.")
@out_option("The drill's folder; it must not exist.")
@takes_requests
def drill(
    *,
    name: DrillName | None,
    context: DrillContext | None,
    period_us: float,
    repetitions: int,
    request: RallyRequest,
    serving: Serving,
    out: Path | None,
) -> None:
    """Time one service of the kernel many times, by two clocks.

    The target times each repetition with its own clock, and the instrument times it outside.
    `tennis stats` shows both, and their difference.

    \b
    DRILL is one of:
      DRILLS

    \b
    Examples:
      tennis drill periodic --context user-rt --kernel rt --out jitter
      tennis drill periodic --period-us 25 --context kernel --load memory \\
          --repetitions 1000000 --out table-8
      tennis drill switch --context user-rt --period-us 50 --out switch
      tennis drill periodic --program loop.c --kernel rt --load stress --out loop
      tennis drill switch --bench pi --target pi4 --context user-rt --out board
      tennis stats jitter --json

    Ctrl-C ends it, and `tennis resume` continues it (virtual bench). On a board that tennis
    manages, a drill in the kernel is built there. This needs the kernel's headers.
    """
    from tennis.bench.protocol import Access
    from tennis.bench.registry import bench_for
    from tennis.play import rally as player
    from tennis.play.planning import drill_plan_for

    stop = Stop()
    if name is None:
        raise UsageError("no drill is named", next_step=f"say which: {', '.join(drills.names())}")
    if out is None:
        raise UsageError("say where to keep the drill", next_step="--out DIR")
    by_default: DrillContext = PROGRAM if "program" in request.explicit else "kernel"
    context = context or by_default
    what = Drill(name=name, context=context, period_ns=round(period_us * 1000))
    plan = drill_plan_for(what, repetitions, serving.seed, request)
    bench = bench_for(plan, Access(plan.port, plan.target))
    with listening(warn), progress_line("drill") as observe:
        played = player.play(bench, plan, out, player.Watch(observe, stop))
    tell(played)


def tell(played: Rally) -> None:
    """Print what there is now; a fault is an error, but the drill is kept."""
    path, manifest = quoted(played.path), played.manifest
    done = format_count(played.balls, "repetition")
    faults = [f"{fault.message} ({fault.code})" for fault in manifest.faults]
    if manifest.ended == "fault":
        raise BenchError(f"{faults[0]}; kept as suspect: {path}: {done}")
    if manifest.ended == "interrupted":
        echo(f"interrupted after {done}: the target reported nothing yet")
        echo(f"to continue: tennis resume {path}")
        return
    summary = summarize_drill(played)
    for fault in faults:
        echo(f"tennis: suspect: {fault}", err=True)
    if summary.overruns:
        echo(
            f"tennis: {format_count(summary.overruns, 'overrun')}: the target cannot keep a period "
            f"of {format_ns(summary.period_ns)}; periods that were over before it ran are skipped",
            err=True,
        )
    echo(f"{path}: {done}; now: tennis stats {path}")


def print_drill(summary: DrillSummary, *, as_json: bool) -> None:
    """Print a drill: both sides of each span."""
    if as_json:
        echo(json.dumps(asdict(summary), indent=2))
        return
    console = Console(highlight=False)
    columns = console.width
    console.print(Text(summary.label, style="bold"), soft_wrap=True)
    both = primary(summary)
    if summary.by_size:
        table = _sizes(summary)
        console.width = max(columns, table.__rich_measure__(console, console.options).maximum)
        console.print(table, crop=False)
    elif both is not None:
        table = _table(summary.words, both)
        console.width = max(columns, table.__rich_measure__(console, console.options).maximum)
        console.print(table, crop=False)
    for line in claims(summary):
        paragraph(console, line, columns=columns)


def _table(title: str, both: SpansByClock) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(title, no_wrap=True)
    every = {"inside": both.inside, "outside": both.outside, "outside - inside": both.difference}
    shown = {name: one for name, one in every.items() if one is not None}
    for name in shown:
        table.add_column(name, justify="right", no_wrap=True)
    for key, label in FIGURES.items():
        if key != "deviation" or both.outside.has_period:
            style = "bold" if key in {"mean", "max", "deviation"} else None
            table.add_row(label, *(one.said(key) for one in shown.values()), style=style)
    return table


def _sizes(summary: DrillSummary) -> Table:
    """Return a table of the sizes that were allocated."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    names = ("inside median", "99 %", "max", "outside median", "99 %", "max")
    for name in ("allocated", *names):
        table.add_column(name, justify="right", no_wrap=True)
    for size, both in summary.by_size.items():
        spreads = (both.inside, both.outside)
        times = (one.said(name) for one in spreads if one for name in ("median", "p99", "max"))
        table.add_row(format_bytes(size), *times)
    return table
