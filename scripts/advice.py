"""Advice for real-time Linux, tested: play its comparisons, and write the page's table.

    advice.py list                   what is played, and what is not yet, as commands
    advice.py play FOLDER [ITEM...]  play what is not recorded yet (ITEM: 3, or 3:rt-idle-program)
    advice.py write                  write the table of docs/evidence/advice.md again

``advice.toml`` has the items. ``docs/evidence/advice.json`` has what each comparison measured.
"""

import hashlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tennis.compare import words
from tennis.compare.comparing import compare_recorded
from tennis.compare.folders import read_side
from tennis.compare.judgement import Judgement
from tennis.compare.requested import Recorded
from tennis.kit.checkout import ROOT
from tennis.kit.units import format_ns
from tennis.rally.repeated import digest_of

ITEMS = Path(__file__).with_name("advice.toml")
RECORDED = ROOT / "docs" / "evidence" / "advice.json"
PAGE = RECORDED.with_suffix(".md")
TENNIS = Path(sys.executable).with_name("tennis")
BEGIN, END = "<!-- made by scripts/advice.py -->", "<!-- until here -->"
MARGIN = 0.05
NOTHING, NOT_YET, OUT = "nothing within ± 5 %", "not played yet", "built out of this kernel"
PLAYED = {0, 1, 3}  # exit codes of a comparison that was judged


@dataclass(frozen=True)
class Comparison:
    """One item in one cell: the two sides as words, and how they are played."""

    item: int
    cell: str
    before: str
    after: str
    what: str  # the words that stand for the advice
    load: str
    balls: int

    @property
    def key(self) -> str:
        """Return its name in the record, and as a folder."""
        return (
            f"{self.cell}/{self.item:02d}-{re.sub('[^a-z0-9]+', '-', self.what.lower()).strip('-')}"
        )

    @property
    def names(self) -> tuple[str, str]:
        """Return what asks for it: its item, or the item in this cell."""
        return str(self.item), f"{self.item}:{self.cell}"

    def command(self, before: str | None = None) -> list[str]:
        """Return the command that plays it; ``before``: a folder in place of the side."""
        return [
            *("tennis", "compare", before or self.before, self.after, "--load", self.load),
            *("--balls", str(self.balls), "--boots", "10", "--once", "--margin", "5"),
            *("--seed", "72", "--no-explain"),
        ]


def comparisons(table: dict[str, Any]) -> Iterator[Comparison]:
    """Yield what the items ask for, in their order."""
    for item in table["item"]:
        for tried in item.get("tries", []):
            for cell in tried["cells"]:
                about = table["cells"][cell]
                side = tried.get("instead", about["side"])
                before = f"{about['kernel']} {about['side']}".strip()
                after = f"{about['kernel']} {side} {tried.get('words', '')}".strip()
                yield Comparison(
                    item["number"], cell, before, " ".join(after.split()), tried["what"],
                    about["load"], about["balls"],
                )  # fmt: skip


def play(folder: Path, wanted: list[str]) -> None:
    """Play what is missing; a cell's own boots are played once, with its first item.

    Exits with 1 if one of them failed, and refuses an ITEM that is not there.
    """
    every = list(comparisons(tomllib.loads(ITEMS.read_text())))
    named = {name: [one for one in every if name in one.names] for name in wanted}
    if strange := [name for name, found in named.items() if not found]:
        sys.exit(f"{strange[0]}: nothing is played for it (advice.py list)")
    failed = []
    for one in every:
        if one.key in recorded() or (wanted and not {*one.names} & {*wanted}):
            continue
        out, own = folder / one.key, folder / one.cell / "own"
        before = str(own.resolve()) if own.exists() else None
        command = [str(TENNIS), *one.command(before)[1:], "--workers", "1", "--out", str(out)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode not in PLAYED:
            failed.append(one.key)
            continue
        if before is None:
            own.symlink_to((out / "before").resolve())
        paths = (Path(before or out / "before"), out / "after")
        entry = measured(one, *(Recorded(path, read_side(path)) for path in paths))
        everything = {**recorded(), one.key: entry}
        lines = [f" {json.dumps(key)}: {json.dumps(everything[key])}" for key in sorted(everything)]
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def recorded() -> dict[str, Any]:
    """Return what was measured so far."""
    return dict(json.loads(RECORDED.read_text())) if RECORDED.exists() else {}


def measured(one: Comparison, before: Recorded, after: Recorded) -> dict[str, Any]:
    """Return what a comparison says, for the record. Times are as people read them."""
    compared = compare_recorded(before, after, MARGIN)
    rows = {
        f"{row.latency} {words.quantity(row)}".strip(): [
            " → ".join(words.values(row)), words.ratio(row), row.change,
        ]
        for row in compared.judgement.rows
        if row.what == "usual"
        or row.one_in == 1000
        or (row.latency == "interrupt" and row.change in {"later", "earlier"})
    }  # fmt: skip
    pairs = {pair.latency: pair for pair in compared.sides.pairs}
    latest = {
        name: [format_ns(max(side.latest())) for side in (pair.before, pair.after)]
        for name, pair in pairs.items()
    }
    every = [rally for side in (before, after) for rally in side.cells[0].rallies]
    return {
        "command": shlex.join(one.command()), "verdict": verdict(compared.judgement),
        "boots": len(pairs["interrupt"].after.boots), "balls": pairs["interrupt"].after.balls,
        "rows": rows, "latest": latest,
        "digest": hashlib.sha256("".join(map(digest_of, every)).encode()).hexdigest(),
    }  # fmt: skip


def verdict(judgement: Judgement) -> str:
    """Say in a word what the advice does: by all quantities, not only by those that are shown."""
    changes = {row.change for row in judgement.rows}
    if "later" in changes:
        return "helps and harms" if "earlier" in changes else "harms"
    if judgement.verdict == "undecided":
        usual = {row.change for row in judgement.rows if row.what == "usual"}
        sure = f"usually {NOTHING}" if usual == {"equal"} else ""
        sure = "helps" if "earlier" in changes else sure
        return f"{sure}; the rest undecided" if sure else "undecided"
    if "earlier" in changes:
        return "helps"
    levels = {row.change for row in judgement.rows if row.what in {"usual", "level"}}
    return NOTHING if levels == {"equal"} else "not later"


def row_of(item: dict[str, Any], table: dict[str, Any], found: dict[str, Any]) -> str:
    """Return an item's line of the table."""
    verdicts, much = [], []
    for one in comparisons({**table, "item": [item]}):
        entry = found.get(one.key)
        title = f"{table['cells'][one.cell]['title']}, {one.what}"
        if entry is None:
            verdicts.append(NOT_YET)
            continue
        verdicts.append(entry["verdict"])
        parts = [
            f"{name.removeprefix('interrupt ')} {times}, {ratio}"
            for name, (times, ratio, change) in entry["rows"].items()
            if name.startswith("interrupt") or change != "equal"
        ]
        latest = " → ".join(entry["latest"]["interrupt"])
        much.append(f"{title}: **{entry['verdict']}**: {'; '.join(parts)}; latest {latest}")
    said = [item["verdict"]] if "verdict" in item else []
    said += [f"{OUT} ({' and '.join(item['words'])})"] if "words" in item and not said else []
    said += dict.fromkeys(one for one in verdicts if one != NOT_YET)
    if NOT_YET in verdicts and not [one for one in verdicts if one != NOT_YET]:
        said.append(NOT_YET)
    cells = [str(item["number"]), item["advice"], f"{item['by']}; {item['said']}", "; ".join(said)]
    return f"| {' | '.join([*cells, '<br>'.join(much) or '-', item.get('why', '') or '-'])} |"


def written(page: str) -> str:
    """Return the page with today's table in it."""
    table, found = tomllib.loads(ITEMS.read_text()), recorded()
    head = ["#", "advice", "set by; said by", "verdict", "how much", "why"]
    lines = [f"| {' | '.join(head)} |", "|--:|---|---|---|---|---|"]
    lines += [row_of(item, table, found) for item in table["item"]]
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}"


def main() -> None:
    """Do what the first word says."""
    match sys.argv[1:]:
        case ["list"]:
            for one in comparisons(tomllib.loads(ITEMS.read_text())):
                state = "played" if one.key in recorded() else NOT_YET
                print(f"{one.item:2} {one.cell}: {state}: {shlex.join(one.command())}")
        case ["play", folder, *wanted]:
            play(Path(folder), wanted)
        case ["write"]:
            PAGE.write_text(written(PAGE.read_text()))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
