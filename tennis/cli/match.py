"""``tennis match``: a plan of rallies, played one after the other."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from tennis.cli.completion import Folder
from tennis.cli.lab_folder import prediction_sealed
from tennis.cli.numbers import Whole
from tennis.cli.options import workers_option
from tennis.cli.progress import progress_line, tell
from tennis.cli.settings import setting_option
from tennis.cli.stop import Stop
from tennis.cli.tables import print_wide, table
from tennis.cli.words import echo
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import listening

if TYPE_CHECKING:
    from tennis.match.crew import Crew


def kernel_of(text: str) -> tuple[str, str]:
    """Read NAME=KERNEL. Raises UsageError."""
    name, separator, kernel = text.partition("=")
    if not name or not separator or not kernel:
        raise UsageError(f"--with {text}", next_step="write NAME=KERNEL, as in rt=rt-7")
    return name, kernel


@click.command()
@click.argument("plan", metavar="PLAN", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=Folder(),
    metavar="DIR",
    help="The match's folder. By default it is named after PLAN, without .toml, in this "
    "folder. If it contains a part of the same match, the rest is played.",
)
@click.option(
    "--with",
    "kernels",
    metavar="NAME=KERNEL",
    multiple=True,
    help="The kernel (a name from `tennis kernels`, or a tree) to play if the plan says NAME. May "
    "be repeated.",
)
@click.option(
    "--boots",
    type=Whole(1, 1000),
    metavar="COUNT",
    help="How many boots of each combination to play, instead of the plan's number. A match "
    "with fewer boots is continued.",
)
@setting_option(
    "instruction_ns",
    "How long an instruction takes on the virtual bench, instead of the plan's time. Use "
    "it to see which findings depend on that time.",
)
@workers_option(
    "How many rallies to play at once on the virtual bench. It changes the time that a "
    "match takes, but no ball."
)
@click.option(
    "--targets",
    metavar="all|NAME,...",
    help="Play on several boards of the inventory at once, each with its Brickwall at the port "
    "that its tennis_port says.",
)
@click.option(
    "--cluster",
    "address",
    metavar="ADDRESS",
    help="Play on a Dask cluster with its scheduler at ADDRESS (docs/cluster.md). Needs --store.",
)
@click.option(
    "--store",
    metavar="DIR",
    help="With --cluster: the folder in which its machines leave rallies for this one. All of them "
    "must see it.",
)
@click.option(
    "--list", "list_only", is_flag=True, help="Say what would be played, and how long it may take."
)
def match(
    plan: Path,
    out: Path | None,
    kernels: tuple[str, ...],
    boots: int | None,
    instruction_ns: int | None,
    workers: int,
    targets: str | None,
    address: str | None,
    store: str | None,
    *,
    list_only: bool,
) -> None:
    """Play the rallies of PLAN, a TOML file: kernels x loads x priorities x top and bottom halves.

    Every rally boots its own kernel. At the end the match is compared with the publications, as
    `tennis replicate` does, and DIR/report.html is written.

    \b
    Examples:
      tennis match plans/quick.toml --list
      tennis match plans/quick.toml
      tennis match plans/quick.toml --boots 20
      tennis match plans/quick.toml --instruction-ns 1 --out quick-1ns
      tennis match plans/knutsson.toml --with xenomai=../linux-evl \\
          --out chapter-7
      tennis match plans/knutsson.toml --cluster tcp://head:8786 \\
          --store /shared/tennis --out chapter-7
      tennis match plans/knutsson.toml --targets all --out boards

    Ctrl-C seals the rally that is being played. The same command continues the match: after Ctrl-C,
    after `kill -9`, or after a full disk. If a rally fails or is suspect, it is marked, the others
    are played, and the exit code is 1.
    """
    from tennis.cli.verdicts import print_verdicts
    from tennis.match.plan import MatchPlan, read_plan
    from tennis.match.playing import Match, benches_of_match
    from tennis.match.schedule import scheduled_rallies
    from tennis.match.workers import Workers
    from tennis.replicate.match_page import write_match_report
    from tennis.replicate.verdicts import Replication

    if out is None:
        out = Path(plan.stem)
    cluster = _cluster(address, store)
    if targets is not None and cluster is not None:
        raise UsageError("--targets are boards, --cluster plays virtual ones: one of them")
    changed: dict[str, object] = {}
    if targets is not None:
        changed |= {"bench": "pi", "target": "all", "port": None}
    if boots is not None:
        changed["repetitions"] = boots
    if instruction_ns is not None:
        changed["instruction_ns"] = instruction_ns
    asked = read_plan(plan).model_copy(update=changed)
    if asked.bench != "virtual" and asked.instruction_ns != MatchPlan().instruction_ns:
        raise UsageError("--instruction-ns needs the virtual bench: only there you can choose it")
    rallies, left_out = scheduled_rallies(asked, dict(map(kernel_of, kernels)), plan.parent)
    wanted = Match(asked, rallies, left_out, str(plan))
    console = Console()
    if list_only:
        boards = _fleet(targets)
        at_once = workers if asked.bench == "virtual" else 1
        _list(console, wanted, boards.at_once if boards else at_once)
        return
    benches_of_match(asked, rallies)
    fleet = _fleet(targets)
    # a board plays one rally at a time, however many processes the default asks for
    processes = Workers(workers) if workers > 1 and asked.bench == "virtual" else None
    crew: Crew | None = fleet or cluster or processes
    for entry in wanted.not_played:
        echo(f"not played: {entry.name}: {entry.why}")
    with listening(tell), prediction_sealed(out):
        outcome = wanted.play(out, progress_line, Stop(), crew)
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
            f"{name}: {why}; the same command tries failed ones again, and others after you "
            "move them away"
        )


def _fleet(targets: str | None) -> "Crew | None":
    """Return the boards that play; None: nobody named any. Raises UsageError."""
    if targets is None:
        return None
    from tennis.match.fleet import FleetCrew

    return FleetCrew.of(targets)


def _cluster(address: str | None, store: str | None) -> "Crew | None":
    """Return the cluster that plays; None: this machine does. Raises UsageError."""
    if address is None:
        if store is not None:
            raise UsageError("--store needs --cluster")
        return None
    if store is None:
        raise UsageError(
            "--cluster needs --store: its machines leave rallies there for this one",
            next_step="name a folder that all of them see",
        )
    if "://" in store:  # it may hold a key: it is not printed
        raise UsageError(
            "--store takes a folder, no URL",
            next_step="mount the bucket or share on all machines, and name the folder",
        )
    from tennis.match.cluster.client import Cluster

    return Cluster(address, str(Path(store).absolute()))


def _list(console: Console, wanted: object, workers: int) -> None:
    """Print the rallies in their order, and an estimate."""
    from tennis.match.playing import Match, estimate_s
    from tennis.match.schedule import short_of_a_cycle
    from tennis.play.clock import duration

    assert isinstance(wanted, Match)  # noqa: S101
    listed = table("rally", numbers=("balls", "seed", "settles", "about"), ruled=False)
    for planned in wanted.scheduled:
        protocol = planned.plan.protocol
        listed.add_row(
            planned.name,
            f"{protocol.balls:,}",
            str(protocol.seed),
            f"{protocol.settle_ns / 1e9:g} s",
            duration(estimate_s(planned.plan)),
        )
    print_wide(listed)
    for entry in wanted.not_played:
        echo(f"not played: {entry.name}: {entry.why}")
    for name, words, _ in short_of_a_cycle(wanted.scheduled):
        echo(f"{name} {words}; it takes part in no verdict")
    total = sum(estimate_s(planned.plan) for planned in wanted.scheduled)
    balls = sum(planned.plan.protocol.balls for planned in wanted.scheduled)
    console.print(
        f"{len(wanted.scheduled)} rallies, {balls:,} balls, about {duration(total / workers)} "
        "(a guess: it depends on this machine)",
        highlight=False,
    )
