"""``tennis benches``: all benches of an inventory, and who holds them."""

import sys

import click
from rich.console import Console

from tennis.cli.boot import boot
from tennis.cli.tables import table
from tennis.cli.words import echo, echo_json, warn
from tennis.kit.log import listening
from tennis.rally.text import plain


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@click.pass_context
def benches(ctx: click.Context, as_json: bool) -> None:
    """List the benches of the inventory; lease, release, boot, restore one.

    For each bench the list shows its kernel, its Picos, its holder, and whether a rally is being
    played there. It also shows when its Brickwall was verified, and when a rally was last put
    there. Problems follow below the list, each with what to do. A bench that does not answer is a
    problem, too. The exit code is 1 if there is a problem. Each query takes some of the bench's
    processor time, so do not list benches while somebody measures a maximum.

    The inventory is TENNIS_INVENTORY, else ansible/inventory. TENNIS_HOLDER says in whose name a
    bench is leased and used; by default it is USER@MACHINE.

    \b
    Examples:
      tennis benches
      tennis benches lease bench-1 --for 2h
      tennis benches release bench-1
      tennis benches boot bench-1 rt
      tennis benches restore bench-1
    """
    if ctx.invoked_subcommand is not None:
        return
    from tennis.play import benches as listing

    rows = listing.rows()
    if as_json:
        echo_json([row.model_dump() for row in rows])
    else:
        listed = table("bench", "kernel", "Pico", "verified", "last rally", "held by")
        for row in rows:
            cells = (row.bench, row.kernel, row.pico, row.verified, row.last_rally, row.held_by)
            listed.add_row(*(plain(word, 100) for word in cells))
        Console(markup=False, width=None if sys.stdout.isatty() else 200).print(listed)
        for row in rows:
            if row.trouble:
                echo(f"{row.bench}: {plain(row.trouble, 400)}")
    sys.exit(1 if any(row.trouble for row in rows) else 0)


benches.add_command(boot)


@benches.command("lease", short_help="Hold a bench: nobody else can play on it.")
@click.argument("name")
@click.option(
    "--for",
    "duration",
    default="2h",
    show_default=True,
    metavar="TIME",
    help="How long: 90m, 2h, 1d; a minute to 14 days.",
)
def _lease(name: str, duration: str) -> None:
    """Hold bench NAME, or hold it longer: nobody else can play on it until the time is over.

    You can use a bench after your lease has expired, until somebody else wants it. Then your data
    are put aside first, and the command says where. A bench never changes hands while a rally is
    played.

    A group that shares an account, or has several machines, plays under one name:
    `export TENNIS_HOLDER=group-3`, before lease, boot, rally, match and release.

    \b
    Examples:
      tennis benches lease bench-1
      tennis benches lease bench-1 --for 90m
    """
    from tennis.bench.fleet import leases, state
    from tennis.bench.fleet.inventory import read_inventory
    from tennis.play import benches as listing

    who, duration_s = leases.holder_of(), listing.seconds(duration)
    bench = read_inventory().find(name)
    held = leases.take(bench, who, duration_s)
    echo(f"{name}: held by {held.holder} until {listing.until(held)}")
    if held.saved:
        echo(f"{name}: what was there is in {plain(held.saved, 200)} on it")
    if skew := state.skew_of(held.now):
        warn(f"{name}: {skew}")


@benches.command("release", short_help="Give a bench back.")
@click.argument("name")
def _release(name: str) -> None:
    """Give bench NAME back. Data that were left on it are put aside there.

    \b
    Examples:
      tennis benches release bench-1
      TENNIS_HOLDER=group-3 tennis benches release bench-1    (for a group that forgot)
    """
    from tennis.bench.fleet import leases
    from tennis.bench.fleet.inventory import read_inventory

    who = leases.holder_of()
    held = leases.give_back(read_inventory().find(name), who)
    echo(f"{name}: {'free' if held else 'free already: nobody held it'}")


@benches.command("restore", short_help="Return a bench to its known state.")
@click.argument("name")
@click.option(
    "--check", is_flag=True, help="Only show what differs; the exit code is 1 if it does."
)
def _restore(name: str, check: bool) -> None:
    """Return bench NAME to its known state: its data are put aside, then it is provisioned.

    That is ansible/site.yml for this one bench; it says what it changes. A kernel that somebody
    chose stays; `tennis benches boot` chooses another one. A bench that somebody else holds, or on
    which a rally is played, is refused.

    \b
    Examples:
      tennis benches restore bench-1 --check
      tennis benches restore bench-1
    """
    from tennis.bench.fleet import leases
    from tennis.play import benches as listing

    with listening(echo):
        changed = listing.restore(name, leases.holder_of(), check=check)
    state = "differs" if check else "was changed"
    echo(f"{name}: {changed} {state}" if changed else f"{name}: as it should be")
    sys.exit(1 if check and changed else 0)
