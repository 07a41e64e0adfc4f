"""``tennis card``: a Raspberry Pi's card before its first boot."""

import sys
from pathlib import Path

import click

from tennis.cli.completion import Folder
from tennis.cli.words import echo
from tennis.kit.errors import UsageError
from tennis.rally.text import plain, quoted

KEYS = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")
SIZE_MAX = 1 << 14


@click.command()
@click.argument("boot", type=Folder(), metavar="BOOT")
@click.option(
    "--host",
    metavar="NAME",
    help="Write the first-boot files for a board of this name. [default: only check]",
)
@click.option(
    "--user", default="pi", show_default=True, metavar="USER", help="The user who logs in."
)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The public key that lets in. [default: the first of ~/.ssh]",
)
@click.option("--replace", is_flag=True, help="Write over settings that the card has.")
def card(boot: Path, *, host: str | None, user: str, key: Path | None, replace: bool) -> None:
    """Prepare and check the memory card of a new Raspberry Pi, before you put it in.

    Write the 64-bit Raspberry Pi OS Lite to the card with any program, without settings. Plug it in
    again: its first partition, bootfs, is mounted as BOOT. With --host, the command
    writes who may log in: the first-boot files with user, key, SSH and a wired network, without
    password and Wi-Fi. Then image, key, SSH and room
    are checked. The exit code is 0 if the card is sound.

    \b
    Examples:
      tennis card /media/$USER/bootfs --host bench-1
      tennis card /media/$USER/bootfs
    """
    from tennis.bench.fleet.card import check_card

    if host is not None:
        _write(boot, host, user, key, replace=replace)
    bad = False
    for finding in check_card(boot):
        bad |= finding.verdict == "bad"
        advice = f" -> {plain(finding.advice)}" if finding.advice else ""
        echo(f"{finding.verdict:5} {finding.what}: {plain(finding.found)}{advice}")
    if bad:
        sys.exit(1)


def _write(boot: Path, host: str, user: str, key: Path | None, *, replace: bool) -> None:
    from tennis.bench.fleet.card import Card

    place = key or next((p for name in KEYS if (p := Path.home() / ".ssh" / name).is_file()), None)
    if place is None:
        raise UsageError("~/.ssh has no public key", next_step="make one: ssh-keygen -t ed25519")
    try:
        with place.open(encoding="utf-8", errors="replace") as file:
            line = file.read(SIZE_MAX).strip()
    except OSError as error:
        raise UsageError(
            f"cannot read {place} ({error.strerror})", next_step="name another file with --key"
        ) from error
    names = Card(host, user, line).write(boot, replace=replace)
    echo(f"{quoted(boot)}: {', '.join(names)}; the key {place.name} lets {user} in to {host}")
