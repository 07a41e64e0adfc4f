"""How large the kit is: lines, commands, options, public names, each with its limit.

count.py            one line each; the exit code is 1 if one of them is above its limit
count.py commands   each command with its options, too
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tennis.cli import cli

ROOT = Path(__file__).parent.parent
SOURCES = ("*.py", "*.c", "*.h", "*.mjs", "*.js", "*.sh", "*.yml")
LIMITS = {"lines": 140_000, "commands": 45, "options": 230, "public names": 1_300}


def lines() -> int:
    """Count the lines of all source files that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return sum(path.read_bytes().count(b"\n") for path in paths if path.is_file())


def commands(command: click.Command, words: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Yield each command: its words, whether it is a group, its options, hidden ones, too."""
    options = [one.opts[-1] for one in command.params if isinstance(one, click.Option)]
    is_group = isinstance(command, click.Group)
    yield words, is_group, options
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None  # noqa: S101
            yield from commands(inner, f"{words} {name}")


def public_names() -> int:
    """Count the functions and classes of all modules whose names have no underscore in front."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return sum(
        isinstance(node, kinds) and not node.name.startswith("_")
        for path in (ROOT / "tennis").rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    )


def main() -> None:
    """Print the counts."""
    every = list(commands(cli, "tennis"))
    if sys.argv[1:] == ["commands"]:
        for words, _, options in every:
            print(f"{words} ({len(options)}): {' '.join(options)}")
    found = {
        "lines": lines(),
        "commands": sum(not is_group for _, is_group, _ in every),
        "options": sum(len(options) for *_, options in every),
        "public names": public_names(),
    }
    for what, count in found.items():
        print(f"{what}: {count:,} (at most {LIMITS[what]:,})")
    sys.exit(any(count > LIMITS[what] for what, count in found.items()))


if __name__ == "__main__":
    main()
