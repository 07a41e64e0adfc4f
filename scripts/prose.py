#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Count the sentences that make a reader stop, by page; fail if a page has more than before.

    scripts/prose.py                    what is above a ceiling
    scripts/prose.py FILE...            every finding in these files or folders
    scripts/prose.py --table            all counts, in Markdown
    scripts/prose.py --lower            write lower ceilings; they never rise

The rules are in prose-rules.toml, the ceilings in prose-ceilings.toml. A page that has no ceiling
may have no finding. The decision is docs/decisions/0019.
"""

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prose_texts import Block, texts

HERE = Path(__file__).parent
RULES, CEILINGS = HERE / "prose-rules.toml", HERE / "prose-ceilings.toml"
WORDS_MAX = 25
LONG = "long sentence"

# where a sentence ends: not behind an initial or an abbreviation
END = re.compile(
    r"(?:(?<!\b[A-Z])|(?<=\d [A-Z])|(?<=/[A-Z]))(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bno)"
    r"[.!?][)”\"]*\s+(?=[^a-z ])"
)
WORD = re.compile(r"`code`|[^\s]*[A-Za-z0-9][^\s]*")


@dataclass(frozen=True)
class Rule:
    """What is not wanted: its pattern, in which blocks, and what to write instead."""

    name: str
    pattern: re.Pattern[str]
    instead: str
    kinds: frozenset[str]
    counts: bool  # else it is shown in the table, and fails nothing
    never: bool  # no ceiling excuses it


@dataclass(frozen=True)
class Finding:
    """One sentence that a rule does not want."""

    page: str
    place: str
    rule: str
    sentence: str


def read_rules() -> list[Rule]:
    """Return the project's rules."""
    return [
        Rule(
            name,
            re.compile(rule["pattern"]),
            rule["instead"],
            frozenset(rule.get("in", ["text", "cell", "title"])),
            rule.get("counts", True),
            rule.get("never", False),
        )
        for name, rule in tomllib.loads(RULES.read_text()).items()
    ]


def sentences(text: str) -> list[str]:
    """Split a block."""
    # a quotation is somebody else's sentence
    text = re.sub(r"[“\"][^“”\"]{1,300}[”\"]", "“Title”", text)
    start, found = 0, []
    for end in END.finditer(text):
        found.append(text[start : end.end()].strip())
        start = end.end()
    return [one for one in [*found, text[start:].strip()] if one]


def findings(block: Block, rules: Sequence[Rule]) -> Iterator[tuple[str, str]]:
    """Yield each rule that a sentence of the block breaks, and the sentence."""
    for sentence in sentences(block.text):
        if len(WORD.findall(sentence)) > WORDS_MAX:
            yield LONG, sentence
        for rule in rules:
            if block.kind in rule.kinds:
                for _ in rule.pattern.finditer(sentence):
                    yield rule.name, sentence


def look(root: Path, rules: Sequence[Rule]) -> list[Finding]:
    """Return all findings of the tree."""
    return [
        Finding(page, f"{file}:{block.line}" if block.line else file, rule, sentence)
        for page, file, blocks in texts(root)
        for block in blocks
        for rule, sentence in findings(block, rules)
    ]


def counted(found: Sequence[Finding], rules: Sequence[Rule]) -> Counter[str]:
    """Return each page's count."""
    shown_only = {rule.name for rule in rules if not rule.counts}
    return Counter(one.page for one in found if one.rule not in shown_only)


def table(found: Sequence[Finding], rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the counts as a table: a row a page, a column a rule."""
    names = [LONG, *(rule.name for rule in rules)]
    by_page: dict[str, Counter[str]] = {}
    for one in found:
        by_page.setdefault(one.page, Counter())[one.rule] += 1
    totals = counted(found, rules)
    yield "| page | all | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 2) + "|"
    whole = Counter(one.rule for one in found)
    for page, counts in [*sorted(by_page.items()), ("all pages", whole)]:
        total = totals[page] if page in by_page else totals.total()
        yield (
            f"| {page} | {total} | " + " | ".join(str(counts[name] or "") for name in names) + " |"
        )


def forbidden(found: Sequence[Finding], rules: Sequence[Rule]) -> list[str]:
    """Return the findings that nothing excuses."""
    never = {rule.name: rule.instead for rule in rules if rule.never}
    return [
        f"{one.place}: {one.rule} ({never[one.rule]}): {one.sentence}"
        for one in found
        if one.rule in never
    ]


def above(counts: Counter[str], ceilings: dict[str, int]) -> list[str]:
    """Return the pages above their ceiling."""
    return [
        f"{page}: {count} findings, {ceilings.get(page, 0)} at most: scripts/prose.py {page}"
        for page, count in sorted(counts.items())
        if count > ceilings.get(page, 0)
    ]


def lowered(counts: Counter[str], ceilings: dict[str, int]) -> str:
    """Return the file of ceilings, none of them higher than before."""
    lines = [line for line in CEILINGS.read_text().splitlines() if line.startswith("#")]
    for page, ceiling in sorted(ceilings.items()):
        if limit := min(ceiling, counts[page]):
            lines.append(f'"{page}" = {limit}')
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Print what was asked for; 1 if a page is above its ceiling."""
    rules = read_rules()
    found = look(HERE.parent, rules)
    counts = counted(found, rules)
    ceilings = tomllib.loads(CEILINGS.read_text())
    if arguments == ["--table"]:
        print(*table(found, rules), sep="\n")
        return 0
    if arguments == ["--lower"]:
        CEILINGS.write_text(lowered(counts, ceilings))
        return 0
    if arguments:
        names = {rule.name for rule in rules if rule.counts} | {LONG}
        instead = {rule.name: rule.instead for rule in rules}
        for one in found:
            if one.rule in names and any(f"{one.place}/".startswith(name) for name in arguments):
                say = instead.get(one.rule, f"{WORDS_MAX} words at most")
                print(f"{one.place}: {one.rule} ({say}): {one.sentence}")
        return 0
    wrong = forbidden(found, rules) + above(counts, ceilings)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{counts.total()} findings left, on {len(counts)} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
