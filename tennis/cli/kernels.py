"""``tennis kernels``: the kernels that the virtual bench can boot, and what others must be."""

import json
import sys
from pathlib import Path

import click
from rich.console import Console

from tennis.cli.tables import table
from tennis.cli.uf2 import uf2
from tennis.cli.words import aside, echo
from tennis.kit.log import listening
from tennis.rally.manifest import BenchKind


@click.group(invoke_without_command=True)
@click.pass_context
def kernels(ctx: click.Context) -> None:
    """List and fetch the kernels of the virtual bench; check and build a kernel of your own.

    \b
    Examples:
      tennis kernels
      tennis kernels fetch mainline rt
      tennis kernels fetch --again rt
      tennis kernels package rt /usr/src/linux-source-6.12.tar.xz
      tennis kernels check rt > rt.config
      tennis kernels check rt linux/.config
      tennis kernels package evl linux-evl --base allnoconfig \\
          --config target/kernels/small.config
      tennis kernels uf2 sloth-pico --out sloth.uf2
    """
    if ctx.invoked_subcommand is not None:
        return
    from tennis.bench.kernels import catalogue as known
    from tennis.bench.registry import benches, own_kernels, system_of

    named = table("kernel", "release", "what it is", ruled=False)
    for name, entry in known.catalogue().items():
        release = known.find(name).release if known.is_fetched(name) else "not fetched"
        named.add_row(name, release, entry["about"])
    Console().print(named)
    echo("\n--kernel also takes the folder of a built arm64 kernel tree (5.10 or newer),")
    echo("and SLOTH, which is no Linux (docs/sloth.md):")
    echo(f"{', '.join(name for name in own_kernels() if system_of(name) == 'sloth')}.")
    for bench in benches():
        if bench.kernels and bench.can.system != "sloth":
            where = "" if bench.kind == "virtual" else f", with --bench {bench.kind}"
            echo(f"\nThe bench {bench.can.name} has kernels of its own{where}:")
            echo(f"{', '.join(sorted(bench.kernels))}.")


kernels.add_command(uf2)


@kernels.command("fetch", short_help="Fetch kernels by name, and the target's programs.")
@click.argument("names", nargs=-1)
@click.option(
    "--again", is_flag=True, help="Fetch again what is here: there may be a newer version."
)
def _fetch(names: tuple[str, ...], again: bool) -> None:
    """Fetch the kernels NAMES and the target's programs; build what they need.

    Without NAMES, it fetches mainline and rt.

    They are Debian packages, from the mirror that this machine's apt uses. Nothing is installed:
    they go to the cache folder (TENNIS_CACHE). Packages that are there already are not fetched
    again.

    The kernel `debug` finds a module's mistakes, and nothing is ever measured on it. `tennis lab
    check 03` uses it. It is built from Debian's source of Linux with PREEMPT_RT, lockdep (locks),
    KASAN (memory) and a check for code that sleeps although it must not. This takes ten minutes
    and 4 GB, once, and the programs that `scripts/setup.sh --provision` installs.

    \b
    Examples:
      tennis kernels fetch
      tennis kernels fetch mainline-7 rt-7
      tennis kernels fetch debug
    """
    from tennis.bench.kernels import debugging
    from tennis.bench.virtual.prepare import prepare

    with listening(echo):
        if others := [name for name in names if name != debugging.NAME]:
            prepare(others, again=again)
        elif not names:
            prepare(("mainline", "rt"), again=again)
        if debugging.NAME in names:
            kernel = debugging.build(again=again)
            echo(f"{kernel.name}: Linux {kernel.release} is ready, of {kernel.origin}")


@kernels.command(
    "check", short_help="Print what a flavour needs of a .config, or compare one with it."
)
@click.argument("flavour", type=click.Choice(["mainline", "rt", "evl", "cobalt"]))
@click.argument("config", type=click.Path(path_type=Path), required=False)
@click.option(
    "--bench",
    type=click.Choice(["virtual", "pi"]),
    default="virtual",
    show_default=True,
    help="The bench for it: the virtual bench needs the drivers of QEMU's machine.",
)
def _check(flavour: str, config: Path | None, bench: BenchKind) -> None:
    """Compare CONFIG, a kernel's `.config`, with what FLAVOUR and a bench need.

    The exit code is 1 if a required option is missing or a forbidden one is set. Without CONFIG, it
    prints what the flavour needs (`target/kernels/FLAVOUR.toml`), to be merged into a configuration
    with the kernel's own `scripts/kconfig/merge_config.sh`.

    \b
    Examples:
      tennis kernels check rt > rt.config
      tennis kernels check rt linux/.config
      tennis kernels check rt linux/.config --bench pi
    """
    if config is None:
        from tennis.bench.kernels.requirements import fragment

        echo(fragment(flavour), nl=False)
        return
    from tennis.cli.findings import show
    from tennis.play.doctor.kernel import examine_config

    if show(examine_config(flavour, config, bench)):
        sys.exit(1)


@kernels.command("package", short_help="Build a Debian package of Linux for a flavour.")
@click.argument("flavour")
@click.argument("source")
@click.option(
    "--base",
    default="defconfig",
    show_default=True,
    help="The configuration to begin with: a name as for make (bcm2711_defconfig), or a file.",
)
@click.option(
    "--config",
    "fragments",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A file of CONFIG_NAME=VALUE lines to merge into it; can be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def _package(
    flavour: str, source: str, base: str, fragments: tuple[Path, ...], as_json: bool
) -> None:
    """Build a Debian package of Linux for a FLAVOUR (mainline, rt, evl, cobalt) of arm64 targets.

    SOURCE is a folder with the source of Linux, not built, or an archive of it. Or it is a
    repository with a branch, a tag or a commit behind a #.

    The flavour's requirements (target/kernels/) are a part of the configuration, and are checked. A
    package from the same source, configuration and compiler is not built again. A build that fails
    keeps its tree, and the same command continues there. If the virtual bench has what the printed
    tree needs, you can play on it: tennis rally --kernel TREE.

    \b
    Examples:
      tennis kernels package evl linux-evl --base allnoconfig \\
          --config target/kernels/small.config
      tennis kernels package rt /usr/src/linux-source-6.12.tar.xz
      tennis kernels package rt https://example.org/linux#v6.12 \\
          --base bcm2711_defconfig
    """
    from tennis.bench.kernels import packages

    with listening(aside):
        built = packages.package(flavour, packages.source_of(source), base, fragments)
    if as_json:
        record = {
            "release": built.release,
            "debs": [str(built.deb)],
            "racquet": str(built.racquet),
            "build": str(built.build),
        }
        echo(json.dumps(record))
    else:
        for title, value in (
            ("release", built.release),
            ("package", built.deb),
            ("racquet", built.racquet),
            ("tree", built.build),
        ):
            echo(f"{title:8} {value}")
