# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis rally``: play balls and keep every one of them."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tennis.bench import loads
from tennis.cli.completion import BenchWord, Folder, kernels
from tennis.cli.completion import loads as load_names
from tennis.cli.lab_folder import prediction_sealed
from tennis.cli.numbers import Whole
from tennis.cli.options import Grouped, options_of
from tennis.cli.progress import quiet_option, shown
from tennis.cli.stop import Stop
from tennis.cli.words import echo, warn
from tennis.errors import BenchError, UsageError
from tennis.listener import listening
from tennis.rally import Rally, calibration, part_path
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import THREADED
from tennis.rally.plan import Plan
from tennis.rally.sealing import can_go_on
from tennis.rally.serving import Serving
from tennis.rally.text import quoted


def load_option(text: str) -> tuple[str, int]:
    """Read NAME=NUMBER. Raises UsageError."""
    name, _, value = text.partition("=")
    if not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise UsageError(f"--load-option {text}", next_step="write NAME=NUMBER, as in hold_us=200")
    return name, int(value)


@click.command(
    cls=Grouped,
    groups={
        "What to play": (
            *("--kernel", "--load", "--bottom-half", "--top-half", "--priorities"),
            *("--balls", "--seed", "--out"),
        ),
        "More about the target": (
            *("--load-option", "--command-line", "--instruction-ns"),
            *("--racquet", "--stage", "--beneath", "--processors", "--interrupt-cpu"),
            *("--bottom-half-cpu", "--load-cpus"),
        ),
        "When balls are served": (
            *("--loop", "--rate-hz", "--gap-min-us", "--gap-max-us"),
            *("--pulse-us", "--timeout-ms", "--settle-s"),
        ),
        "More instruments": ("--stages", "--sections", "--witness", "--umpire", "--analyser"),
        "Another bench": ("--bench", "--port", "--target", "--as", "--instrument"),
    },
    usual=(
        *("--kernel", "--load", "--bottom-half", "--top-half", "--priorities", "--balls", "--seed"),
        *("--out", "--loop", "--rate-hz", "--stages", "--bench"),
    ),
    moved={
        "--resume": "tennis resume DIR",
        "--check": "tennis check DIR",
        "--bench replay": "tennis replay DIR --out DIR",
    },
    epilog="Units are in the names of the options. `tennis kernels` lists the kernels.",
)
@click.option(
    "--bench",
    type=BenchWord(),
    default="virtual",
    show_default=True,
    help="Where to play: virtual needs no hardware; pi is a Brickwall on a port, and a board "
    "that is wired to it. With --target the board is set up for the rally and left as it "
    "was. Without --target, the manifest records only what you say about the board.",
)
@click.option(
    "--port",
    metavar="PORT",
    help="The Brickwall's serial port, with --bench pi. [default: that of the only Pico]",
)
@click.option(
    "--target",
    metavar="HOST",
    help="The board, with --bench pi: a target of the inventory, or a host as ssh knows it "
    "(NAME or USER@NAME). Racquet, load and priorities are set up there over SSH, and "
    "undone in the end, whatever happens. A target that somebody else holds is refused.",
)
@click.option(
    "--as",
    "holder",
    metavar="NAME",
    help="The player, for a --target with leases. [default: TENNIS_HOLDER, or USER@MACHINE]",
)
@click.option(
    "--instrument",
    type=click.Choice(["builtin", "pico"]),
    help="The instrument on the virtual bench: builtin is fast; pico is the Brickwall's "
    "firmware on an emulated Pico, end to end. [default: builtin; with --kernel "
    "sloth-pico: pico]",
)
@click.option(
    "--kernel",
    metavar="NAME|DIR",
    shell_complete=kernels,
    help="A name from `tennis kernels`, such as sloth, or the folder of a built arm64 kernel "
    "tree. The tree may have EVL (Xenomai 4) or Cobalt (Xenomai 3). On a physical bench, "
    "the kernel that the target runs. [default: mainline; with --bench pi: unknown]",
)
@click.option(
    "--load",
    metavar="NAME",
    shell_complete=load_names,
    help=f"The load on the target: {', '.join(loads.names())}; you can compute what hog "
    f"does. SLOTH has {', '.join(loads.names('sloth'))}. On a physical bench, the load that you "
    "started. [default: idle; with --bench pi: unknown]",
)
@click.option(
    "--load-option",
    "load_options",
    metavar="NAME=NUMBER",
    multiple=True,
    help="A parameter of the load, as in hold_us=200. May be repeated.",
)
@click.option(
    "--top-half",
    type=click.Choice(["hard", *THREADED]),
    help="The place of the handler that raises the reply line. hard: in the interrupt itself. "
    "forced: in the thread that PREEMPT_RT makes for ordinary handlers. explicit: in a "
    "thread that the driver asks for, on any kernel. [default: hard; with --bench pi: "
    "unknown]",
)
@click.option(
    "--bottom-half",
    type=click.Choice(["tasklet", "thread", "workqueue", "user", "task"]),
    help="The code that lowers the reply line. [default: tasklet, on EVL and Cobalt thread, "
    "on SLOTH task, the only one there; with --bench pi: unknown]",
)
@click.option(
    "--priorities",
    metavar="NAME|MAP",
    help="default: the kernel's own. chrt: the answering threads at SCHED_FIFO 99, as in the "
    "thesis. thesis-2008: all softirq threads at 50, as a 2.6 kernel had them. Or a map "
    "of your own, as in irq=90,ksoftirqd=50,rcuc=1. native: the core's highest on EVL "
    "and Cobalt; on SLOTH that of its configuration, the only one there. [default: "
    "default, on EVL, Cobalt and SLOTH native; with --bench pi: unknown]",
)
@click.option(
    "--command-line",
    default="",
    metavar="WORDS",
    help="Add to the kernel's command line, as in 'rcu_nocbs=0 threadirqs'. A kernel that "
    "does not know a word is refused. A board must have been booted with the words before.",
)
@click.option(
    "--interrupt-cpu",
    type=Whole(0, 4095),
    help="Move the ping's interrupt and its threads to this CPU of a --target, or of the "
    "virtual target. A board first counts some pings, and the rally is refused if they "
    "come to another CPU. A Pi 3 and a Zero 2 have no choice.",
)
@click.option(
    "--bottom-half-cpu",
    type=Whole(0, 4095),
    help="Pin the process of --bottom-half user to this CPU of a --target, or of the virtual "
    "target. The kernel keeps processes away from an isolated CPU if nobody pins them.",
)
@click.option(
    "--load-cpus",
    metavar="LIST",
    help="Pin the load to these CPUs of a --target, or of the virtual target, as in 0,2-3.",
)
@click.option(
    "--instruction-ns",
    type=click.Choice(["1", "2", "4"]),
    callback=lambda _ctx, _parameter, text: text and int(text),
    help="How long an instruction takes on the virtual bench. [default: 2]",
)
@click.option(
    "--processors",
    type=click.Choice(["1", "2", "4"]),
    callback=lambda _ctx, _parameter, text: text and int(text),
    help="The number of the virtual target's processors. [default: 1]",
)
@click.option(
    "--racquet",
    type=click.Path(path_type=Path),
    metavar="FILE.c",
    help="A Racquet of your own on the virtual bench, built in a box. It is one C file that "
    "includes target/racquet/racquet-device.h. With --kernel sloth it includes "
    "target/sloth/sloth.h, and FILE.h is beside it.",
)
@click.option(
    "--stage",
    type=click.Choice(["in-band", "out-of-band"]),
    help="Which stage of a tree with EVL or Cobalt answers (virtual bench). out-of-band: the "
    "core's Racquet. in-band: the ordinary one, as part of Linux, with its halves and "
    "priorities. [default: out-of-band]",
)
@click.option(
    "--beneath",
    type=click.Choice(["none", "sloth"]),
    default="none",
    show_default=True,
    help="sloth: SLOTH answers beneath a kernel of Debian's that nobody changed, and takes all "
    "interrupts first (virtual bench; docs/sloth-beneath-linux.md).",
)
@click.option(
    "--witness",
    type=click.Choice(["none", "cyclictest", "timerlat", "osnoise"]),
    default="none",
    show_default=True,
    help="Also measure inside the target, every millisecond: with rt-tests' cyclictest, or "
    "with a tracer of the kernel. `tennis witness` shows the result (virtual bench, or "
    "--target).",
)
@options_of(Serving)
@click.option(
    "--umpire",
    is_flag=True,
    help="Also record the wires with a logic analyser, and keep its capture for `tennis "
    "umpire check`. On the virtual bench the capture is made from the rally.",
)
@click.option(
    "--analyser",
    metavar="SPEC",
    help="The analyser, as `sigrok-cli -d` takes it. [default: the only one]",
)
@click.option(
    "--stages",
    is_flag=True,
    help="Then play the rally once more, and record each step of every ball with its time, in "
    "OUT/stages.parquet (virtual bench; `tennis explain OUT --stages` does it later).",
)
@click.option(
    "--sections",
    is_flag=True,
    help="Then boot the machine twice more, and record what a ping at every instant would have "
    "met, in OUT/sections.parquet (virtual bench; `tennis explain OUT --sections` does it later).",
)
@quiet_option
@click.option("--operator", metavar="NAME", help="The player; kept in the manifest.")
@click.option("--out", type=Folder(), help="The rally's folder; it must not exist.")
def rally(
    *,
    out: Path | None,
    stages: bool,
    sections: bool,
    holder: str | None,
    load_options: Any,
    **asked: Any,
) -> None:
    """Play a rally: serve balls to the target, time its replies, keep all of it in a folder.

    \b
    Examples:
      tennis rally --kernel mainline --load stress --out mainline-stress
      tennis rally --kernel rt --load stress --bottom-half thread \\
          --priorities chrt --balls 20000 --seed 7 --out rt-stress
      tennis rally --kernel rt --load stress --top-half forced \\
          --priorities irq=90,ksoftirqd=50 --command-line rcu_nocbs=0 --out mapped
      tennis rally --load hog --load-option hold_us=200 --out known-answer
      tennis rally --kernel rt --top-half forced --balls 2000 --stages \\
          --out every-ball
      tennis rally --load stress --balls 2000 --sections --out every-instant
      tennis rally --kernel rt --load stress --witness cyclictest --out inside
      tennis rally --loop open --rate-hz 10000 --out koeker
      tennis rally --racquet racquet.c --load stress --out my-own
      tennis rally --kernel ../linux-evl --stage in-band --bottom-half thread \\
          --priorities chrt --load stress --out in-band
      tennis rally --bench pi --target bench1 --kernel rt --load stress \\
          --out on-the-board
      tennis rally --bench pi --out a-board-that-nobody-manages

    Ctrl-C ends a rally, and seals the balls that were played. `tennis resume` continues it, also
    after `kill -9`, a crash or a full disk.
    """
    from tennis.bench.protocol import Access
    from tennis.bench.registry import bench_for
    from tennis.play import rally as player
    from tennis.play.planning import plan_of
    from tennis.play.umpiring import umpire

    if not out:
        raise UsageError("say where to keep the rally", next_step="--out DIR")
    stop = Stop()
    with listening(warn), shown() as observe, ended_at_once(out):
        options = dict(map(load_option, load_options))
        plan = plan_of(**asked, stages=stages, sections=sections, load_options=options)
        _check_recordings(plan, stages=stages, sections=sections)
        bench = bench_for(plan, Access(plan.port, plan.target, holder))
        for warning in umpire().warnings(plan) if plan.umpire else []:
            warn(warning)
        with prediction_sealed(out):
            played = player.play(bench, plan, out, player.Watch(observe, stop))
    tell(played)
    tree = asked["kernel"] if "/" in (asked["kernel"] or "") else None
    if stages:
        from tennis.cli.stages import show_stages

        show_stages(played, kernel=tree)
    if sections:
        _show_sections(played, tree)


def _check_recordings(plan: Plan, *, stages: bool, sections: bool) -> None:
    """Raise UsageError, before anything is booted, if one of them is not possible."""
    if stages:
        from tennis.play.stages import check_plan as check_stages

        check_stages(plan)
    if sections:
        from tennis.play.sections import check_plan as check_sections

        check_sections(plan)


def _show_sections(played: Rally, tree: str | None) -> None:
    from tennis.cli.sections import show_sections

    if played.manifest.ended == "complete":
        show_sections(played, exact=False, kernel=tree, as_json=False)
    else:
        echo(f"once it is complete: tennis explain {quoted(played.path)} --sections")


@contextlib.contextmanager
def ended_at_once(out: Path | None) -> Iterator[None]:
    """Say what there is after a second Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        if out and part_path(out).exists():
            echo(f"tennis: to continue: tennis resume {quoted(out)}", err=True)
        raise


def tell(played: Rally) -> None:
    """Say what there is now; a fault is an error, but the rally is kept."""
    counts, manifest, path = played.manifest.counts, played.manifest, quoted(played.path)
    misses = f"{counts.misses} {'miss' if counts.misses == 1 else 'misses'}"
    kept = f"{path}: {counts.balls} balls, {misses}"
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
        echo(f"tennis: suspect: {fault}", err=True)
    doubt = calibration.doubt(manifest.instrument, manifest.created)
    if doubt:
        echo(f"tennis: {doubt}", err=True)
    if manifest.ended == "interrupted":
        echo(f"interrupted; sealed {kept} of {manifest.protocol.balls} planned")
        if can_go_on(played):
            from tennis.play.planning import command_again

            part = part_path(played.path)
            echo(f"to continue: {command_again(played.path, Plan.read(part))}")
            echo(f"(it needs {quoted(part)}; remove that if this is all you want)")
    else:
        echo(f"{kept}; now: tennis stats {path}")
