"""``tennis kernels uf2``: SLOTH for a second Pico."""

from pathlib import Path

import click

from tennis.bench import loads
from tennis.bench.sloth import PICO, PICO2
from tennis.cli.settings import setting_option
from tennis.cli.words import echo
from tennis.rally.text import quoted


@click.command(short_help="Make the file with which a second Pico becomes a target.")
@click.argument("name", type=click.Choice([PICO, PICO2]))
@click.option(
    "--load",
    type=click.Choice(loads.names("sloth")),
    default="idle",
    show_default=True,
    help="Its work besides answering.",
)
@setting_option(
    "load_options", "A parameter of the load: hold_us, period_us, ceiling; can be repeated."
)
@setting_option("racquet", "An application of your own, with its configuration FILE.h beside it.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
def uf2(
    name: str, load: str, load_options: tuple[str, ...], racquet: Path | None, out: Path
) -> None:
    """Make a UF2 file with SLOTH for a second Pico (sloth-pico) or Pico 2 (sloth-pico2).

    Hold BOOTSEL, plug the Pico in, and copy the file onto the drive that appears. SLOTH runs from
    RAM until the power goes. The flash stays as it is. docs/sloth.md has the wires.

    \b
    Examples:
      tennis kernels uf2 sloth-pico --out sloth.uf2
      tennis kernels uf2 sloth-pico2 --load hog --load-option hold_us=100 --out hog.uf2
    """
    from tennis.bench.sloth.application import application
    from tennis.bench.sloth.uf2 import uf2 as file_of
    from tennis.cli.settings import load_option
    from tennis.rally.disk import refuse_existing, write_whole

    refuse_existing(out)
    built = application(name, load, dict(map(load_option, load_options)), racquet)
    write_whole(out, file_of(built.elf, name))
    answers = f"tennis rally --bench pi --kernel {name} --load {load} --out DIR"
    echo(f"{quoted(out)}: {built.name}, for the RAM of a Pico; when it runs: {answers}")
