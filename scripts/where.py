#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Say where a feature is: the files of a command, from what imports what.

    .venv/bin/python scripts/where.py compare      its files, tests and pages
    .venv/bin/python scripts/where.py              all commands, a line each

A file is a command's own if no other command needs it, or if it or its folder is called like the
command: `compare`, `comparison/`, `comparing.py`. What up to four commands share is named with
them. What more share is the ground that all stand on, of which the folders are counted.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tennis import entries
from tennis.checkout import ROOT
from tennis.cli import CORE_COMMANDS, names, plugged

FEW = 4  # commands that share a file
ENDINGS = ("", "s", "e", "ed", "ing", "ison")  # of words that a command's files are called


@dataclass(frozen=True)
class Feature:
    """Where a command is; ``shared``: file -> the other commands that need it.

    ``ground``: files that it needs, and more commands than a few.
    """

    name: str
    own: tuple[str, ...]
    shared: dict[str, tuple[str, ...]]
    ground: tuple[str, ...]
    tests: tuple[str, ...]
    pages: tuple[str, ...]


@cache
def features() -> dict[str, Feature]:
    """Return all commands with their files."""
    modules = modules_of_the_kit()
    imports = {name: set(_imported(path, modules)) for name, path in modules.items()}
    needs = {command: _reached(list(_begins(command)), imports) for command in names()}
    users = defaultdict(set)
    called = {command: {one for one in modules if is_called(one, command)} for command in needs}
    for command, needed in needs.items():
        for module in needed | called[command]:
            users[module].add(command)
    tested = {
        path: set(_imported(path, modules)) for path in sorted((ROOT / "tests").rglob("*.py"))
    }
    found = {}
    for command, needed in needs.items():
        own = {module for module in needed if len(users[module]) == 1} | called[command]
        shared = {module for module in needed if len(users[module]) <= FEW} - own
        tests = [
            path for path, its in tested.items() if its & own and path.name.startswith("test_")
        ]
        tests += [path for path in tested if path.name == f"test_{command}.py"]
        pages = [ROOT / "docs" / "commands" / f"{command}.md", ROOT / "docs" / f"{command}.md"]
        found[command] = Feature(
            command,
            _files(modules[module] for module in own),
            {
                name_of(modules[module]): tuple(c for c in needs if c in users[module] - {command})
                for module in sorted(shared)
            },
            _files(modules[module] for module in needed - own - shared),
            _files(set(tests)),
            _files(filter(Path.is_file, pages)),
        )
    return found


def is_called(module: str, command: str) -> bool:
    """Tell whether a module or a folder of it is called like a command, or like its doing."""
    stem = command.removesuffix("e")
    words = {word for part in module.split(".") for word in part.split("_")}
    return any(stem + ending in words for ending in ENDINGS)


def _begins(command: str) -> Iterator[str]:
    """Yield where a command begins, and its own commands that rooms add."""
    if command in CORE_COMMANDS:
        yield f"tennis.cli.{command}"
    for _, entry in plugged.commands():
        if entry.name.partition(".")[0] == command:
            yield entry.module


def modules_of_the_kit() -> dict[str, Path]:
    """Return all modules of the kit, and their files."""
    found = {}
    for path in sorted((ROOT / "tennis").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield what a file imports of the kit, and which entry points it asks for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {
        str(target.id): node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            begin = str(node.values[0].value)  # of groups: "tennis.plots." of f"tennis.plots.{of}"
            of = entries.groups(begin[:-1]) if re.fullmatch(r"tennis\.[a-z]+\.", begin) else ()
            every = [entry.module for group in of for entry in entries.entries(group)]
            yield from (module for module in every if module in modules)
        elif isinstance(node, ast.Call):
            said = [texts.get(one.id) if isinstance(one, ast.Name) else one for one in node.args]
            words = [one.value if isinstance(one, ast.Constant) else one for one in said[:2]]
            texts_of = [word for word in words if isinstance(word, str)]
            if len(texts_of) == len(words) and words and texts_of[0].startswith("tennis."):
                yield from _named(*texts_of, modules=modules)


def _named(group: str, name: str = "", *, modules: Container[str]) -> Iterator[str]:
    """Yield the kit's modules that an entry point names, or all of a group."""
    for entry in entries.entries(group):
        if name in {"", entry.name} and entry.module in modules:
            yield entry.module


def _reached(todo: list[str], imports: dict[str, set[str]]) -> set[str]:
    seen = set()
    while todo:
        module = todo.pop()
        if module not in seen and module != "tennis":  # which imports tennis.api when it is used
            seen.add(module)
            todo += imports.get(module, ())
    return seen


def _files(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(sorted(map(name_of, paths)))


def name_of(path: Path) -> str:
    """Return a file's name in the tree."""
    return str(path.relative_to(ROOT))


def main(words: list[str]) -> int:
    """Print what was asked for; return the exit code."""
    known = features()
    if not words:
        for feature in known.values():
            tests = f"{len(feature.tests)} of tests"
            print(f"{feature.name:12} {len(feature.own):3} files of its own, {tests}")
        return 0
    for word in words:
        if word not in known:
            print(f"where: no command {word}: use {', '.join(known)}", file=sys.stderr)
            return 2
        feature = known[word]
        for title, files in (
            ("own", feature.own),
            ("tests", feature.tests),
            ("pages", feature.pages),
        ):
            for file in files:
                print(f"{title:6} {file}")
        for file, others in feature.shared.items():
            print(f"shared {file} ({', '.join(others)})")
        folders = Counter(str(Path(file).parent) for file in feature.ground)
        for folder, count in folders.items():
            print(f"ground {folder}/: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
