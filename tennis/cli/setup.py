"""``tennis setup``: what a package that pip installed needs besides."""

import click

from tennis.cli.words import echo
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import listening


@click.command()
@click.option("--plan", is_flag=True, help="Only say what is missing.")
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...")
def setup(plan: bool, kernels: tuple[str, ...]) -> None:
    """Make an installed Tennis ready to play: QEMU, compilers, and kernels.

    It names the packages that are missing, and the apt-get command that installs them: it never
    asks for root. Once they are there, it fetches each KERNEL (default: mainline and rt) into the
    cache folder (TENNIS_CACHE). In a checkout, `make setup` does all of that.

    \b
    Examples:
      tennis setup --plan
      tennis setup
      tennis setup mainline-7 rt-7
    """
    from tennis.bench import debian, programs, system
    from tennis.bench.virtual.prepare import prepare
    from tennis.kit.checkout import IS_CHECKOUT

    if IS_CHECKOUT:
        raise UsageError("this is a checkout", next_step="run 'make setup'")
    system.must_be_able_to_play()
    debian.check_apt()
    if system.is_on_windows():
        echo("Note: this is Linux on Windows (WSL). Nobody tried Tennis there yet.")
    names = kernels or ("mainline", "rt")
    missing = programs.missing_packages()
    if plan:
        echo(f"packages that are missing: {' '.join(missing) or 'none'}")
        echo(f"kernels to fetch, unless they are here: {' '.join(names)}, about 100 MB each")
        return
    if missing:
        raise BenchError(
            f"{len(missing)} package{'s are' if len(missing) > 1 else ' is'} missing",
            next_step=f"{programs.how_to_install(missing)}, then 'tennis setup' again",
        )
    with listening(echo):
        prepare(names)
    echo("ready: tennis rally --kernel rt --load stress --out first")
