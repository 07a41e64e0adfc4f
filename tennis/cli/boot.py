"""``tennis benches boot``: another kernel on a target."""

import click

from tennis.cli.numbers import Real
from tennis.cli.words import aside, echo
from tennis.kit.log import listening
from tennis.rally.text import plain


@click.command(short_help="Boot a target into another kernel, and check that it came up.")
@click.argument("target")
@click.argument("kernel", required=False)
@click.option(
    "--wait",
    "wait_s",
    type=Real(10, 3600),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="How long it may take to come back.",
)
@click.option("--once", is_flag=True, help="Do not make it the default: the next boot forgets it.")
def boot(target: str, kernel: str | None, wait_s: float, once: bool) -> None:
    """Boot TARGET into KERNEL (mainline, rt, evl, cobalt), and check that it is the one that runs.

    TARGET is one of the inventory, or a host as ssh knows it.

    A kernel is tried once and becomes the default when it has come up. One that does not come up is
    gone with the next reset: the target is back on its default, and the exit code is 1. Without
    KERNEL: list those that TARGET has.

    \b
    Examples:
      tennis benches boot bench-1
      tennis benches boot bench-1 rt
      tennis benches boot pi@192.0.2.11 evl --once
    """
    from tennis.bench.fleet import boot, leases
    from tennis.bench.fleet.inventory import connect

    who = leases.holder_of()
    with connect(target) as connection:
        if kernel is None:
            known = boot.kernels_of(connection)
            for name, entry in known.flavours.items():
                notes = [
                    *(["runs"] if entry.release == known.running.release else []),
                    *(["default"] if name == known.default else []),
                    *([plain(entry.missing, 200)] if entry.missing else []),
                ]
                row = f"{plain(name, 32):10} {plain(entry.release, 64):36} {', '.join(notes)}"
                echo(row.rstrip())
            if known.running.flavour is None:
                echo(f"{'(none)':10} {plain(known.running.release, 64):36} runs")
            return
        leases.refuse_if_held(connection, who, playing=False)
        with listening(aside):
            done = boot.boot(connection, kernel, who, wait_s=wait_s, keep=not once)
        echo(f"{target}: {done.release} {'runs' if done.rebooted else 'runs already'}")
