#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Count the errors that people see, and those that say what to do next.

A next step stands in ``next_step``, not in the text. Fails if one does not, or if more errors than
before have none: ``WITHOUT_MAX`` only goes down.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

WITHOUT_MAX = 301
BASE = "TennisError"
# how a next step begins
STEP = re.compile(
    r"[:;] (?:add|boot|build|check|choose|free|give|go on|install|leave|look|make|mend|move|name"
    r"|play|plug|put|remove|run|say|see|set|shorten|take|try|update|use|wait)\b"
)


def error_names(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names of ``TennisError`` and of all that inherit from it, in whatever room."""
    bases = {
        node.name: {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    names = {BASE}
    while more := {name for name, of in bases.items() if of & names} - names:
        names |= more
    return names


def errors(tree: ast.Module, names: set[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield each error that a file makes: its line, its words, and whether it has a next step."""
    for node in ast.walk(tree):
        called = getattr(node, "func", None)
        if (
            isinstance(node, ast.Call)
            and getattr(called, "id", getattr(called, "attr", "")) in names
        ):
            texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            words = "".join(text for text in texts if isinstance(text, str))
            yield node.lineno, words, any(word.arg == "next_step" for word in node.keywords)


def main() -> int:
    """Print what is wrong, and the count."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(Path("tennis").rglob("*.py"))}
    names = error_names(trees.values())
    found = [(path, *error) for path, tree in trees.items() for error in errors(tree, names)]
    without = [(path, line, words) for path, line, words, has_step in found if not has_step]
    wrong = [
        f"{path}:{line}: the next step belongs into next_step"
        for path, line, words in without
        if STEP.search(words)
    ]
    if len(without) > WITHOUT_MAX:
        wrong.append(f"{len(without)} errors say nothing of what to do, {WITHOUT_MAX} at most")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(found)} errors, {len(found) - len(without)} with a next step")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
