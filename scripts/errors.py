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
from collections.abc import Iterator
from pathlib import Path

WITHOUT_MAX = 227
ERRORS = {
    *("TennisError", "UsageError", "RallyError", "AlteredError", "BenchError", "NotBuiltError"),
    "DiskFullError",
}
# how a next step begins
STEP = re.compile(
    r"[:;] (?:add|build|check|choose|free|give|go on|install|leave|look|make|mend|move|name|play"
    r"|plug|put|remove|run|say|see|set|shorten|take|try|update|use|wait)\b"
)


def errors(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield each error that a file makes: its line, its words, and whether it has a next step."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
            texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            words = "".join(text for text in texts if isinstance(text, str))
            yield node.lineno, words, any(word.arg == "next_step" for word in node.keywords)


def main() -> int:
    """Print what is wrong, and the count."""
    found = [
        (path, *error) for path in sorted(Path("tennis").rglob("*.py")) for error in errors(path)
    ]
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


sys.exit(main())
