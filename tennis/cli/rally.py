"""``tennis rally``: play balls and keep every one of them."""

from pathlib import Path

import click

from tennis.cli.lab_folder import out_option
from tennis.cli.options import Grouped, bench_option, fields_options, options_of, umpire_option
from tennis.cli.progress import watching
from tennis.cli.settings import options_under, settings_options, takes_requests
from tennis.cli.words import echo, warn
from tennis.kit.errors import BenchError, UsageError
from tennis.rally import Rally, calibration, part_path
from tennis.rally.folder import CONSOLE
from tennis.rally.in_play import can_go_on
from tennis.rally.plan import Plan
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.settings import ELSEWHERE, FIRST, INSIDE, MORE
from tennis.rally.shots import SHOTS, are_shots
from tennis.rally.text import quoted


@click.command(
    cls=Grouped,
    groups={
        FIRST: (
            *options_under(FIRST, "rally", but=["shots"]),
            *("--balls", "--shots", "--seed", "--out"),
        ),
        MORE: options_under(MORE, "rally"),
        "When balls are served": fields_options(Serving, but=["balls", "seed"]),
        INSIDE: (*options_under(INSIDE, "rally", but=["analyser"]), "--umpire", "--analyser"),
        ELSEWHERE: ("--bench", *options_under(ELSEWHERE, "rally")),
    },
    usual=(
        *("--kernel", "--load", "--bottom-half", "--top-half", "--priorities", "--balls"),
        *("--shots", "--seed", "--out", "--loop", "--rate-hz", "--stages", "--racquet"),
        *("--program", "--bench", "--target"),
    ),
    epilog="Units are in the names of the options. `tennis kernels` lists the kernels.",
)
@bench_option(
    "Where to play: virtual needs no hardware; pi is a Brickwall on a port, and a board "
    "that is wired to it. With --target the board is set up for the rally and left as it "
    "was. Without --target, the manifest records only what you say about the board."
)
@settings_options("rally")
@options_of(Serving)
@umpire_option(
    "Also record the wires with a logic analyser, and keep its capture for `tennis umpire check`. "
    "On the virtual bench the capture is made from the rally."
)
@out_option("The rally's folder; it must not exist.")
@takes_requests
def rally(*, request: RallyRequest, serving: Serving, out: Path | None) -> None:
    """Play a rally: serve balls to the target, time its replies, keep all of it in a folder.

    \b
    Examples:
      tennis rally --kernel mainline --load stress --out mainline-stress
      tennis rally --kernel rt --load stress --bottom-half thread \\
          --priorities chrt --balls 20000 --seed 7 --out rt-stress
      tennis rally --kernel rt --top-half forced --balls 2000 --stages \\
          --out every-ball
      tennis rally --loop open --rate-hz 10000 --out koeker
      tennis rally --racquet racquet.c --load stress --out my-own
      tennis rally --program answer.c --kernel rt --load stress --out my-program
      tennis rally --bench pi --target bench1 --kernel rt --load stress \\
          --out on-the-board

    Ctrl-C ends a rally, and seals the balls that were played. `tennis resume` continues it, also
    after `kill -9`, a crash or a full disk.
    """
    from tennis.bench.protocol import Access
    from tennis.bench.registry import bench_for, is_named
    from tennis.cli.explain_stages import show_stages
    from tennis.play import rally as player
    from tennis.play.planning import plan_for

    if not out:
        raise UsageError("say where to keep the rally", next_step="--out DIR")
    with watching(say=warn) as watch:
        plan = plan_for(request, serving)
        bench = bench_for(plan, Access(plan.port, plan.target))
        played = player.play(bench, plan, out, watch)
    tell(played)
    if request.stages:
        show_stages(played, kernel=None if is_named(plan.kernel) else plan.kernel)


def tell(played: Rally) -> None:
    """Print what there is now; a fault is an error, but the rally is kept."""
    counts, manifest, path = played.manifest.counts, played.manifest, quoted(played.path)
    misses = f"{counts.misses} {'miss' if counts.misses == 1 else 'misses'}"
    noun = SHOTS if are_shots(manifest.protocol) else "balls"
    kept = f"{path}: {counts.balls} {noun}, {misses}"
    if counts.late_serves and manifest.bench == "virtual":
        echo(
            f"tennis: {counts.late_serves} late serves: "
            "this rally may not repeat byte for byte; play it again on a quieter machine",
            err=True,
        )
    faults = [f"{fault.message} ({fault.code})" for fault in manifest.faults]
    if manifest.ended == "fault":
        console = played.file(CONSOLE)
        told = f"; the target's console is in {console}" if console else ""
        raise BenchError(f"{faults[0]}; kept as suspect: {kept}{told}")
    for fault in faults:
        warn(f"suspect: {fault}")
    doubt = calibration.doubt(manifest.instrument, manifest.created)
    if doubt:
        warn(doubt)
    if manifest.ended == "interrupted":
        echo(f"interrupted; sealed {kept} of {manifest.protocol.balls} planned")
        if can_go_on(played):
            from tennis.play.planning import command_again

            part = part_path(played.path)
            echo(f"to continue: {command_again(played.path, Plan.read(part))}")
            echo(f"(it needs {quoted(part)}; remove that if this is all you want)")
    else:
        echo(f"{kept}; now: tennis stats {path}")
