#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Find the sentences that make a reader stop; fail if there is one.

    scripts/prose.py                    every finding
    scripts/prose.py FILE...            those in these files or folders
    scripts/prose.py --table [TREE]     the counts of a tree by page and rule, in Markdown

The rules are in prose-rules.toml. The decision is docs/decisions/0019.
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
RULES = HERE / "prose-rules.toml"
WORDS_MAX = 25
LONG = "long sentence"

# where a sentence ends: not behind an initial or an abbreviation; before a capital, or a value and
# its colon
END = re.compile(
    r"(?:(?<!\b[A-Z])|(?<=\d [A-Z])|(?<=/[A-Z]))(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bno)"
    r"[.!?][)”\"]*\s+(?=[^a-z ]|[a-z][a-z0-9-]*: )"
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


def main(arguments: Sequence[str]) -> int:
    """Print what was asked for; 1 if there is a finding."""
    rules = read_rules()
    if arguments[:1] == ["--table"]:
        root = Path(arguments[1]) if len(arguments) > 1 else HERE.parent
        print(*table(look(root, rules), rules), sep="\n")
        return 0
    instead = {rule.name: rule.instead for rule in rules if rule.counts}
    instead[LONG] = f"{WORDS_MAX} words at most"
    found = [
        one
        for one in look(HERE.parent, rules)
        if one.rule in instead
        and (not arguments or any(f"{one.place}/".startswith(name) for name in arguments))
    ]
    for one in found:
        print(f"{one.place}: {one.rule} ({instead[one.rule]}): {one.sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
