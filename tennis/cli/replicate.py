"""``tennis replicate``: a match compared with a publication."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from tennis.cli.completion import Folder
from tennis.cli.words import aside, echo, echo_json
from tennis.kit.errors import RallyError, UsageError
from tennis.rally.disk import refuse_existing

if TYPE_CHECKING:
    from tennis.replicate.verdicts import Replication


@click.command()
@click.argument("folder", metavar="MATCH", type=Folder())
@click.option(
    "--only",
    type=click.Choice(["claims", "played"]),
    help="Print only the thesis' conclusions (claims), or only statements for which something "
    "was played (played).",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Also write the HTML report."
)
@click.option(
    "--against",
    type=Folder(),
    metavar="OTHER",
    help="Show only which verdicts of another match differ: one with another "
    "--instruction-ns, kernel or bench.",
)
@click.option(
    "--explain",
    "explained",
    is_flag=True,
    help="First find out what made the latest ball of each side late. On the virtual bench "
    "their rallies are played again, as `tennis explain` does. The result is kept in "
    "MATCH.",
)
@click.option(
    "--with",
    "kernels",
    metavar="NAME=KERNEL",
    multiple=True,
    help="With --explain: the tree that was played for the plan's NAME.",
)
def replicate(
    folder: Path,
    out: Path | None,
    *,
    only: str | None,
    as_json: bool,
    against: Path | None,
    explained: bool,
    kernels: tuple[str, ...],
) -> None:
    """Judge each published claim and figure by the match in the folder MATCH.

    A verdict is confirmed (or the same order by another cause), contradicted or inconclusive. It
    names what it is judged by, and has its numbers, intervals and N. A confirmed one says "cause
    not looked at" until --explain looked. An inconclusive one says what to play to decide it. Other
    statements are not addressed or not addressable, with the reason.

    \b
    Examples:
      tennis replicate quick
      tennis replicate quick --only played
      tennis replicate quick --json
      tennis replicate quick --explain
      tennis replicate quick --against quick-1ns
      tennis replicate quick --out verdicts.html
    """
    from tennis.cli.verdicts import print_verdicts
    from tennis.match.folder import open_match
    from tennis.replicate.match_page import write_match_report
    from tennis.replicate.verdicts import Replication

    if against is not None:
        if explained or as_json or out is not None:
            raise UsageError("--against stands alone")
        _differences(folder, against)
        return
    if out is not None:
        refuse_existing(out)
    replication = Replication(open_match(folder))
    if explained:
        _explain(replication, kernels)
        replication = Replication(open_match(folder))
    elif kernels:
        raise UsageError("--with needs --explain")
    if as_json:
        echo_json(replication.as_json())
    else:
        print_verdicts(Console(), replication, every=only != "claims", played=only == "played")
    if out is not None:
        write_match_report(replication, out, force=False)
        echo(out, err=as_json)
    damaged = replication.match.damaged()
    if damaged:
        name, why = next(iter(damaged.items()))
        count = len(damaged)
        raise RallyError(
            f"{count} of the match's rallies cannot be used, the first: {name} {why}"
            if count > 1
            else f"a rally of the match cannot be used: {name} {why}"
        )


def _differences(folder: Path, against: Path) -> None:
    from tennis.cli.verdicts import print_differences
    from tennis.match.folder import open_match
    from tennis.replicate.verdicts import Replication

    print_differences(Console(), *(Replication(open_match(one)) for one in (folder, against)))


def _explain(replication: "Replication", kernels: tuple[str, ...]) -> None:
    from tennis.cli.match import kernel_of
    from tennis.cli.options import workers_here
    from tennis.cli.stop import Stop
    from tennis.kit.log import listening
    from tennis.replicate.finding_mechanisms import find_mechanisms

    with listening(aside):
        find_mechanisms(replication, dict(map(kernel_of, kernels)), Stop(), workers_here())
