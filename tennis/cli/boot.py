# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis boot``: another kernel on a target."""

from pathlib import Path

import click


@click.command()
@click.argument("target")
@click.argument("kernel", required=False)
@click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    help="An Ansible inventory that knows TARGET. [default: ansible/inventory, where it exists; "
    "a name that it does not have is one for ssh]",
)
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(10, 3600),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="How long it may take to come back.",
)
@click.option("--once", is_flag=True, help="Do not make it the default: the next boot forgets it.")
@click.option("--again", is_flag=True, help="Reboot even if that kernel runs already.")
@click.option(
    "--as", "holder", metavar="NAME", help="Who asks, for a bench with leases. [default: USER@HOST]"
)
def boot(
    target: str,
    kernel: str | None,
    inventory: Path | None,
    wait_s: float,
    once: bool,
    again: bool,
    holder: str | None,
) -> None:
    """Boot TARGET into KERNEL (mainline, rt, evl), and check that it is the one that runs.

    A kernel is tried once and becomes the default when it has come up. One that does not come up is
    gone with the next reset: the target is back on its default, and the exit code is 1. Without
    KERNEL: list those that TARGET has.

    \b
    Examples:
      tennis boot bench-1
      tennis boot bench-1 rt
      tennis boot pi@192.0.2.11 evl --once
    """
    from tennis.bench import booting, fleet  # noqa: PLC0415

    with fleet.connect(target, inventory) as connection:
        if kernel is None:
            known = booting.kernels_of(connection)
            for name, entry in known.flavours.items():
                notes = [
                    *(["runs"] if entry.release == known.running.release else []),
                    *(["default"] if name == known.default else []),
                    *([entry.missing] if entry.missing else []),
                ]
                click.echo(f"{name:10} {entry.release:36} {', '.join(notes)}".rstrip())
            if known.running.flavour is None:
                click.echo(f"{'(none)':10} {known.running.release:36} runs")
            return
        fleet.refuse_if_held(connection, holder or fleet.holder_here())
        done = booting.boot(
            connection,
            kernel,
            lambda line: click.echo(line, err=True),
            wait_s=wait_s,
            keep=not once,
            again=again,
        )
        click.echo(f"{target}: {done.release} {'runs' if done.rebooted else 'runs already'}")
