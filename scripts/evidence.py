"""Print the tables of docs/evidence from matches: one column a match, in Markdown.

    .venv/bin/python scripts/evidence.py 6.12=k612 7.3=k7

Verdicts first, as `tennis replicate` has them; then what the median boot's balls exceed.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tennis.compare.boots import Boot
from tennis.compare.folders import LATENCIES, read_side
from tennis.compare.rallies import boot_of
from tennis.compare.sides import Side
from tennis.kit.units import format_ns
from tennis.match.folder import open_match
from tennis.rally import Rally
from tennis.rally.cycles import balls_in_whole_cycles
from tennis.rally.statistics.balls import latencies_ns
from tennis.replicate.verdicts import Claim, Replication, number

LEVELS = (2, 100, 1000, 10_000)


def verdicts(replications: Mapping[str, Replication]) -> list[list[str]]:
    """Return a row for each part of each claim that a match addresses."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for name, replication in replications.items():
        for claim in replication.claims:
            if claim.addressed:
                for row, text in _parts(claim):
                    rows.setdefault(row, {})[name] = text
    head = ["claim", "statement", "published", *replications]
    return [
        head,
        *([*row, *(found.get(n, "") for n in replications)] for row, found in rows.items()),
    ]


def _parts(claim: Claim) -> list[tuple[tuple[str, ...], str]]:
    found: list[tuple[tuple[str, ...], str]] = []
    several = claim.kind == "conclusion"
    judged = [(part, part.says if several else claim.title) for part in claim.parts]
    beside = [(part, f"{part.says if several else claim.title}, hard") for part in claim.beside]
    for part, says in judged + beside:
        if part.verdict == "not addressed":
            continue
        published = "" if part.published is None else number(part.published)
        text = f"**{part.verdict}**{part.sentence.removeprefix(part.verdict)}"
        text += f": {part.ratio}" if part.ratio else ""
        if part.largest is not None:
            text += f"; latest {number(part.largest)}"
        found.append(((claim.id, says, published), text))
    return found


def levels(matches: Mapping[str, Path]) -> list[list[str]]:
    """Return three rows for each cell: the median boot's levels, and the latest ball.

    Interrupt latency, scheduling latency, and both: until the bottom half has answered.
    """
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for name, path in matches.items():
        for cell in sorted(read_side(path), key=lambda cell: cell.name):
            for latency, boots_of_it in _boots(cell.rallies).items():
                side = Side(boots_of_it)
                times = [side.median_boot(n) for n in LEVELS if side.has(n)]
                times += [max(side.latest(), default=-1)]  # no boot has a whole cycle
                text = " / ".join(map(format_ns, times)) if times[-1] >= 0 else "-"
                boots = len(cell.rallies)
                rows.setdefault((cell.name, latency), {})[name] = (
                    f"{text} ({side.balls:,}, {boots})"
                )
    head = ["cell", "latency", *matches]
    return [head, *([*row, *(found.get(n, "") for n in matches)] for row, found in rows.items())]


def _boots(rallies: Sequence[Rally]) -> dict[str, list[Boot]]:
    """Return the boots of a cell by latency, in ns; both: until the bottom half has answered."""
    boots: dict[str, list[Boot]] = {
        latency: [boot_of(rally, latency) for rally in rallies] for latency in LATENCIES
    }
    return boots | {"both": [_both(rally) for rally in rallies]}


def _both(rally: Rally) -> Boot:
    whole = balls_in_whole_cycles(rally)
    interrupt, scheduling = latencies_ns(rally, "interrupt"), latencies_ns(rally, "scheduling")
    return Boot.of((interrupt + scheduling)[:whole])


def printed(rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def tables(named: Mapping[str, Path]) -> str:
    """Return both tables of some matches."""
    of = {name: Replication(open_match(path)) for name, path in named.items()}
    return f"{printed(verdicts(of))}\n\n{printed(levels(named))}\n"


def main() -> None:
    """Print both tables."""
    if not sys.argv[1:] or not all("=" in word for word in sys.argv[1:]):
        sys.exit("evidence: name each match: evidence.py NAME=FOLDER ...")
    named = (word.partition("=")[::2] for word in sys.argv[1:])
    print(tables({name: Path(folder) for name, folder in named}), end="")


if __name__ == "__main__":
    main()
