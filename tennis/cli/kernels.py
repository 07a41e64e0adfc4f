# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis kernels``: the kernels that the virtual bench can boot, and what others must be."""

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table


@click.group(invoke_without_command=True)
@click.pass_context
def kernels(ctx: click.Context) -> None:
    """List and fetch the kernels of the virtual bench; say what a kernel of your own must be.

    \b
    Examples:
      tennis kernels
      tennis kernels fetch mainline rt
      tennis kernels fetch --again rt
      tennis kernels fragment rt > rt.config
      tennis kernels check rt linux/.config
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_kernels)


@kernels.command("list")
def list_kernels() -> None:
    """List the kernels by name, with the release of those that are here."""
    from tennis.bench.targets.virtual import kernels as known  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for title in ("kernel", "release", "what it is"):
        table.add_column(title, no_wrap=title != "what it is")
    for name, entry in known.catalogue().items():
        release = known.find(name).release if known.is_fetched(name) else "not fetched"
        table.add_row(name, release, entry["about"])
    Console().print(table)
    click.echo("\n--kernel also takes the folder of a built arm64 kernel tree (5.10 or newer).")


@kernels.command()
@click.argument("names", nargs=-1)
@click.option(
    "--again", is_flag=True, help="Fetch even what is here: there may be a newer version."
)
def fetch(names: tuple[str, ...], again: bool) -> None:
    """Fetch kernels by name (default: mainline rt) and the target's programs; build what they need.

    They are Debian packages, from the mirror that this machine's apt uses. Nothing is installed:
    they go to the cache folder (TENNIS_CACHE). What is there already is not fetched again.
    """
    from tennis.bench.targets.virtual.prepare import prepare  # noqa: PLC0415

    prepare(names or ("mainline", "rt"), click.echo, again=again)


@kernels.command()
@click.argument("flavour", type=click.Choice(["mainline", "rt", "evl", "cobalt"]))
def fragment(flavour: str) -> None:
    """Print the configuration fragment of a flavour, from `target/kernels/FLAVOUR.toml`.

    Put it upon a configuration with the kernel's own `scripts/kconfig/merge_config.sh`, and see
    with `tennis kernels check` what became of it.
    """
    from tennis.bench.requirements import fragment as text_of  # noqa: PLC0415

    click.echo(text_of(flavour), nl=False)


@kernels.command()
@click.argument("flavour", type=click.Choice(["mainline", "rt", "evl", "cobalt"]))
@click.argument("config", type=click.Path(path_type=Path))
def check(flavour: str, config: Path) -> None:
    """Hold a kernel's configuration (its `.config`) against what a flavour needs.

    The exit code is 1 where a required option is missing or a forbidden one is set.
    """
    from tennis.cli.findings import show  # noqa: PLC0415
    from tennis.play.doctor_target import examine_config  # noqa: PLC0415

    if show(examine_config(flavour, config)):
        sys.exit(1)
