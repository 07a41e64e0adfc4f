"""Advice for real-time Linux, tested: play its comparisons, and write the page's table.

    advice.py list                   what is played, and what is not yet, as commands
    advice.py play FOLDER [ITEM...]  play what is not recorded yet (ITEM: 3, or 3:rt-idle-program)
    advice.py write                  write the tables of docs/evidence/advice.md again

``advice.toml`` has the items, the guides (sets of items) and the changes of Linux.
``docs/evidence/advice.json`` has what each comparison measured.
"""

import hashlib
import json
import re
import resource
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tennis.compare import words
from tennis.compare.comparing import compare_recorded
from tennis.compare.folders import read_side
from tennis.compare.judgement import Judgement
from tennis.compare.requested import NAMED, Recorded
from tennis.kit.checkout import ROOT
from tennis.kit.units import format_ns
from tennis.rally.repeated import digest_of

ITEMS = Path(__file__).with_name("advice.toml")
RECORDED = ROOT / "docs" / "evidence" / "advice.json"
PAGE = RECORDED.with_suffix(".md")
TENNIS = Path(sys.executable).with_name("tennis")
BEGIN, END = "<!-- {} by scripts/advice.py -->", "<!-- until here -->"
MARGIN = 0.05
NOTHING, NOT_YET, OUT = "nothing within ± 5 %", "not played yet", "built out of this kernel"
PLAYED = {0, 1, 3}  # exit codes of a comparison that was judged

Words = Sequence[str]


@dataclass(frozen=True)
class Comparison:
    """One item in one cell: the two sides as words, and how they are played."""

    name: str  # an item's number, or the name of a guide or of a change
    cell: str
    before: str
    after: str
    what: str  # the words that stand for the advice
    load: str
    balls: int

    @property
    def key(self) -> str:
        """Return its name in the record, and as a folder."""
        return f"{self.cell}/{_slug(f'{self.name:0>2}')}-{_slug(self.what)}"

    @property
    def names(self) -> tuple[str, str]:
        """Return what asks for it: its item, or the item in this cell."""
        return self.name, f"{self.name}:{self.cell}"

    def command(self, before: str | None = None) -> list[str]:
        """Return the command that plays it; ``before``: a folder in place of the side."""
        return [
            *("tennis", "compare", before or self.before, self.after, "--load", self.load),
            *("--balls", str(self.balls), "--boots", "10", "--once", "--margin", "5"),
            *("--seed", "72", "--no-explain"),
        ]


def _side(words: Words) -> str:
    return " ".join(" ".join(words).split())


def _slug(words: str) -> str:
    return re.sub("[^a-z0-9]+", "-", words.lower()).strip("-")


def comparisons(table: dict[str, Any]) -> Iterator[Comparison]:
    """Yield what the items, the guides and the changes ask for, in their order."""
    for item in [*table["item"], *table.get("change", [])]:
        name = str(item.get("number", item.get("name")))
        for tried in item.get("tries", []):
            for cell in tried["cells"]:
                about = table["cells"][cell]
                after = (
                    tried.get("kernel", about["kernel"]),
                    tried.get("instead", about["side"]),
                    tried.get("words", ""),
                )
                before = (about["kernel"], about["side"])
                yield Comparison(
                    name, cell, _side(before), _side(after), tried["what"],
                    about["load"], about["balls"],
                )  # fmt: skip
    for guide in table.get("guide", []):
        yield from _ablation(table, guide)


def _ablation(table: dict[str, Any], guide: dict[str, Any]) -> Iterator[Comparison]:
    """Yield all of a guide's words beside none, the words that carry it, and each of these less."""
    about = table["cells"][guide["cell"]]

    def side(words: Words) -> str:
        own = [word for word in words if word.partition("=")[0] in NAMED]
        kernel = " ".join(word for word in words if word not in own)
        line = [f"command-line='{kernel}'"] if kernel else []
        return _side([about["kernel"], about["side"], *line, *own])

    every, carry = guide["words"], guide["carry"]
    pairs = [((), every, f"all {len(every)} words"), (every, carry, "only what carries it")]
    pairs += [
        (carry, [word for word in carry if word != less], f"then without {less}") for less in carry
    ]
    for before, after, what in pairs:
        yield Comparison(
            guide["name"], guide["cell"], side(before), side(after), what,
            about["load"], about["balls"],
        )  # fmt: skip


def play(folder: Path, wanted: list[str]) -> None:
    """Play what is missing; each side is played once, with the first comparison that has it.

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
        out = folder / one.key
        sides = [
            folder / one.cell / "sides" / hashlib.sha256(side.encode()).hexdigest()[:16]
            for side in (one.before, one.after)
        ]
        before = str(sides[0].resolve()) if sides[0].exists() else None
        if before is None or not sides[1].exists():
            command = [str(TENNIS), *one.command(before)[1:], "--workers", "1", "--out", str(out)]
            used_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            if subprocess.run(command, cwd=ROOT, check=False).returncode not in PLAYED:
                failed.append(one.key)
                continue
            used_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - used_s
            print(f"{one.key}: {used_s / (10 if before else 20):.1f} s of a processor a boot")
            sides[0].parent.mkdir(exist_ok=True)
            for side, name in zip(sides, ("before", "after"), strict=True):
                if not side.exists():
                    side.symlink_to((out / name).resolve())
        entry = measured(one, *(Recorded(path, read_side(path)) for path in sides))
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
    verdicts, much = _found({**table, "item": [item], "change": [], "guide": []}, found)
    said = [item["verdict"]] if "verdict" in item else []
    said += [f"{OUT} ({' and '.join(item['words'])})"] if "words" in item and not said else []
    said += dict.fromkeys(one for one in verdicts if one != NOT_YET)
    if NOT_YET in verdicts and not [one for one in verdicts if one != NOT_YET]:
        said.append(NOT_YET)
    by = f"{item['by']}; {item['said']}"
    return _line(item["number"], item["advice"], by, "; ".join(said), "<br>".join(much), item)


def _line(*cells: object) -> str:
    """Return a line of a table; the last cell is the item, of which ``why`` is printed."""
    *most, item = cells
    return f"| {' | '.join(str(cell) or '-' for cell in [*most, item.get('why', '')])} |"


def _found(table: dict[str, Any], found: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the verdict of each comparison, and the figures of those that were played.

    Of a guide, whose comparisons are all of one cell, the usual time and the latest ball.
    """
    verdicts, much = [], []
    for one in comparisons(table):
        entry = found.get(one.key)
        if entry is None:
            verdicts.append(NOT_YET)
            continue
        verdicts.append(entry["verdict"])
        brief = bool(table["guide"])
        title = one.what if brief else f"{table['cells'][one.cell]['title']}, {one.what}"
        parts = [
            f"{name.removeprefix('interrupt ')} {times}, {ratio}"
            for name, (times, ratio, change) in entry["rows"].items()
            if (name.startswith("interrupt") or change != "equal")
            and ("usual" in name or not brief)
        ]
        latest = " → ".join(entry["latest"]["interrupt"])
        much.append(f"{title}: **{entry['verdict']}**: {'; '.join(parts)}; latest {latest}")
    return verdicts, much


def short(table: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return a line for each kind of verdict, with its items."""
    order = ["helps", "helps and harms", "harms", "usually nothing"]
    kinds: dict[str, list[str]] = {kind: [] for kind in order}
    for item in table["item"]:
        verdicts, _ = _found({**table, "item": [item], "change": [], "guide": []}, found)
        played = [one for one in verdicts if one != NOT_YET]
        said = " ".join(played)
        sure = [word for word in ("helps", "harms") if word in said]
        kind = " and ".join(sure) or (order[-1] if played else item.get("verdict", NOT_YET))
        kinds.setdefault(kind, []).append(f"{item['advice']} ({item['number']})")
    return [f"- **{kind}** ({len(names)}): {', '.join(names)}" for kind, names in kinds.items()]


def _table(head: str, lines: list[str]) -> list[str]:
    return [f"| {head} |", f"|{'---|' * (head.count('|') + 1)}", *lines]


def costs(table: dict[str, Any], found: dict[str, Any]) -> str:
    """Say how many processor hours the page took, by the seconds of a boot in each cell."""
    played = [one for one in comparisons(table) if one.key in found]
    sides = {(one.cell, side) for one in played for side in (one.before, one.after)}
    seconds = {name: about["boot_s"] for name, about in table["cells"].items()}
    hours = sum(10 * seconds[cell] for cell, _ in sides) / 3600
    each = ", ".join(f"{about['title']}: {seconds[name]}" for name, about in table["cells"].items())
    return (
        f"- **Costs:** {len(sides)} sides of ten boots, some {hours:.0f} processor hours. "
        f"Seconds of a processor for a boot: {each}."
    )


def written(page: str) -> str:
    """Return the page with today's tables in it."""
    table, found = tomllib.loads(ITEMS.read_text()), recorded()
    alone: dict[str, Any] = {**table, "item": [], "change": [], "guide": []}
    tables = {
        "made": _table(
            "# | advice | set by; said by | verdict | how much | why",
            [row_of(item, table, found) for item in table["item"]],
        ),
        "guides": _table(
            "guide | its words | how much | what it comes to",
            [
                _line(
                    f"{one['name']}; {one['said']}", " ".join(f"`{word}`" for word in one["words"]),
                    "<br>".join(_found({**alone, "guide": [one]}, found)[1]) or NOT_YET, one,
                )
                for one in table.get("guide", [])
            ],
        ),
        "changes": _table(
            "change | upstream | how much here | where it was found",
            [
                _line(
                    one["change"], one["upstream"],
                    "<br>".join(_found({**alone, "change": [one]}, found)[1]) or NOT_YET, one,
                )
                for one in table.get("change", [])
            ],
        ),
    }  # fmt: skip
    tables |= {"short": short(table, found), "costs": [costs(table, found)]}
    for name, lines in tables.items():
        before, begin, rest = page.partition(BEGIN.format(name))
        _, end, after = rest.partition(END)
        page = f"{before}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{after}"
    return page


def main() -> None:
    """Do what the first word says."""
    match sys.argv[1:]:
        case ["list"]:
            for one in comparisons(tomllib.loads(ITEMS.read_text())):
                state = "played" if one.key in recorded() else NOT_YET
                print(f"{one.name:2} {one.cell}: {state}: {shlex.join(one.command())}")
        case ["play", folder, *wanted]:
            play(Path(folder), wanted)
        case ["write"]:
            PAGE.write_text(written(PAGE.read_text()))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
