"""``tennis sweep``: open loops at rising rates, until replies can no longer be paired."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from tennis.bench import loads
from tennis.cli.lab_folder import out_option
from tennis.cli.options import (
    Grouped,
    balls_option,
    bench_option,
    field_option,
    fields_options,
    options_of,
)
from tennis.cli.progress import progress_line, tell
from tennis.cli.settings import options_under, settings_options, takes_requests
from tennis.cli.stop import Stop
from tennis.cli.tables import print_wide, table
from tennis.cli.words import echo, echo_json, paragraph
from tennis.kit.errors import BenchError
from tennis.kit.log import listening
from tennis.match.sweep.folder import Sweep
from tennis.match.sweep.search import Range
from tennis.rally.request import RallyRequest
from tennis.rally.serving import BALLS_MAX, Serving
from tennis.rally.settings import ELSEWHERE, FIRST, MORE
from tennis.rally.statistics.pairing import percent_floor


@click.command(
    cls=Grouped,
    groups={
        FIRST: (*options_under(FIRST, "sweep"), "--balls", "--seed", "--out"),
        "Which rates": fields_options(Range, but=["paired_percent"]),
        MORE: options_under(MORE, "sweep"),
        ELSEWHERE: ("--bench", *options_under(ELSEWHERE, "sweep")),
    },
)
@settings_options(
    "sweep",
    kernel="As for `tennis rally`. [default: mainline]",
    load=f"The load on the target: {', '.join(loads.names())}. [default: idle]",
    top_half="As for `tennis rally`.",
    bottom_half="The code that lowers the reply line. [default: tasklet, on EVL and Cobalt thread]",
    priorities="As for `tennis rally`.",
    command_line="Add to the kernel's command line, as in highres=off.",
    target="The board, with --bench pi.",
    port="The Brickwall's serial port, with --bench pi.",
)
@balls_option("How many pings to serve at each rate.", 2, BALLS_MAX, 5000)
@field_option(
    Serving, "seed", "The same seed gives the same boots and, on the virtual bench, the same bytes."
)
@options_of(Range, into="span", but=["paired_percent"])
@bench_option("The bench, as for `tennis rally`.")
@out_option(
    "The sweep's folder. If it contains a part of the same sweep, the rest is played.",
    required=True,
)
@takes_requests
def sweep(*, request: RallyRequest, serving: Serving, span: Range, out: Path) -> None:
    """Serve pings at rising rates, and find the rate at which replies can no longer be paired.

    Each rate is a rally of its own, in DIR: an open loop on a freshly booted target. A ping is
    paired if one reply begins and ends before the next ping, and no earlier reply was missing. If
    too few pings are paired, pairing has broken. The interval between the last good rate and the
    first bad one is halved until it is narrow.

    \b
    Examples:
      tennis sweep --kernel rt --out rates
      tennis sweep --kernel rt --load ping-flood --from-hz 10000 --out flooded
      tennis sweep --load hog --to-hz 50000 --out known-answer
      tennis plot rates flooded

    Ctrl-C ends it, and so does a target that dies. The same command continues.
    """
    from tennis.bench.protocol import Access
    from tennis.bench.registry import bench_for
    from tennis.match.sweep.playing import SweepRequest, play_sweep
    from tennis.play.planning import plan_for

    lowest = {"loop": "open", "rate_hz": float(span.from_hz)}
    plan = plan_for(request, serving.model_copy(update=lowest))
    bench = bench_for(plan, Access(plan.port, plan.target))
    with listening(tell):
        swept = play_sweep(bench, SweepRequest(plan, span), out, progress_line, Stop())
    print_sweep(swept.sweep, as_json=False)
    if swept.interrupted:
        echo("interrupted: the same command continues")
    if swept.sweep.suspect:
        first, why = next(iter(swept.sweep.suspect.items()))
        raise BenchError(f"suspect at {len(swept.sweep.suspect)} rates, first {first:,} Hz: {why}")


def print_sweep(swept: Sweep, *, as_json: bool) -> None:
    """Print the rates of a sweep, and between which of them pairing breaks."""
    if as_json:
        echo_json(_as_object(swept))
        return
    console = Console(highlight=False)
    figures = ("rate", "paired", "unanswered", "lost", "q1", "median", "q3", "max")
    rates = table(numbers=figures, collapse=True)
    found = swept.breaking
    for rate_hz, rate in swept.rates.items():
        latency = rate.interrupt_ns
        style = "bold" if rate_hz in {found.holds_hz, found.breaks_hz} else None
        rates.add_row(
            f"{rate_hz:,} Hz",
            percent_floor(rate.share),
            f"{rate.unanswered}",
            f"{rate.lost}",
            *(
                "unpaired" if name in latency.among_missed else latency.said(name)
                for name in ("q1", "median", "q3", "max")
            ),
            style=style,
        )
    console.print(Text(swept.label, style="bold"), soft_wrap=True)
    print_wide(rates)
    for line in _claims(swept):
        paragraph(console, line)


def _claims(swept: Sweep) -> list[str]:
    """Return in words what a sweep found, and what its figures are of."""
    record, found = swept.record, swept.breaking
    limit = f"{record.range.paired_percent:g} %"
    if not swept.rates:
        return ["No rate was played."]
    if found.breaks_hz is None:
        told = f"Up to {found.holds_hz:,} Hz at least {limit} of the pings are paired."
    elif found.holds_hz is None:
        told = f"At {found.breaks_hz:,} Hz, the lowest rate, fewer than {limit} are paired."
    else:
        told = (
            f"Pairing breaks between {found.holds_hz:,} and {found.breaks_hz:,} Hz: "
            f"above, fewer than {limit} of the pings are paired."
        )
    limit_share = record.range.paired_percent / 100
    again = [
        rate
        for rate, share in swept.shares.items()
        if found.breaks_hz is not None and rate > found.breaks_hz and share >= limit_share
    ]
    if again:
        listed = ", ".join(f"{rate:,}" for rate in again[:5])
        told += f" It holds again at {listed} Hz: pings and target have rhythms of their own."
    strays = [rate for rate, share in swept.shares.items() if share < 1]
    first = f" The first ping that is not paired is at {min(strays):,} Hz." if strays else ""
    pings = max(rate.pings for rate in swept.rates.values())
    figures = (
        f"Bench: {record.bench} ({record.time_note}); {pings:,} pings a rate are judged. Times are "
        "interrupt latencies; a ping that is not paired counts as later than all paired ones."
    )
    return [f"{told}{first}", figures]


def _as_object(swept: Sweep) -> dict[str, Any]:
    """Return a sweep for programs; times in ns."""
    from dataclasses import asdict

    return {
        "label": swept.label,
        "bench": swept.record.bench,
        "time_note": swept.record.time_note,
        "range": swept.record.range.model_dump(),
        "holds_hz": swept.breaking.holds_hz,
        "breaks_hz": swept.breaking.breaks_hz,
        "rates": [{**asdict(rate), "share": rate.share} for rate in swept.rates.values()],
        "suspect": {str(rate): why for rate, why in swept.suspect.items()},
    }
