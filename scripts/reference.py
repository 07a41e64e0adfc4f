"""Write into the pages what the code says: commands, options, fields, settings, wires, sessions.

    reference.py         check: each part of each page is what the code says today
    reference.py write   write these parts again

A box of the labs' books is a directive; :mod:`tennis_boxes` makes its lines. In ``docs/``, a part
begins with ``<!-- made by scripts/reference.py: NAME ARGUMENT -->`` and ends with
``<!-- until here -->``. What is between is Markdown, so a page is whole on a forge, too.
"""

import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel

from tennis.bench.fitting import CHOSEN
from tennis.bench.registry import benches
from tennis.cli import cli, listed
from tennis.course.authoring.sessions import load_sessions
from tennis.kit.checkout import ROOT
from tennis.kit.wiring import wiring
from tennis.play.commissioning.record import read_record
from tennis.rally.manifest import Manifest
from tennis.rally.settings import option_of, rows_of
from tennis.report.pages.wiring import picture

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import tennis_boxes
import tennis_commissioning
import tennis_sessions
import tennis_wiring

BEGIN, END = "<!-- made by scripts/reference.py: ", "<!-- until here -->"
PART = re.compile(rf"{BEGIN}([^\n]*) -->\n(.*?)\n{END}", re.DOTALL)
HEXADECIMAL = "^[0-9a-f]{64}$"


def commands(name: str) -> list[tuple[str, click.Command]]:
    """Return a command and, of a group, its subcommands, with the words to type."""
    context = click.Context(cli, info_name="tennis")
    command = cli.get_command(context, name)
    if command is None:
        raise ValueError(f"tennis has no command {name!r}")
    found = [(f"tennis {name}", command)]
    if isinstance(command, click.Group):
        inner = click.Context(command, info_name=name, parent=context)
        for sub in command.list_commands(inner):
            subcommand = command.get_command(inner, sub)
            assert subcommand is not None  # noqa: S101
            found.append((f"tennis {name} {sub}", subcommand))
    return found


def cell(text: str) -> str:
    """Return a text as a cell of a table: in one line, and no sign of it is Markdown's."""
    pieces = " ".join(text.split()).split("`")
    for index in range(0, len(pieces), 2):
        pieces[index] = re.sub(r"([*<])", r"\\\1", pieces[index])
    return "`".join(pieces).replace("|", "\\|")


def command_table(name: str) -> str:
    """Return a row for a command and each of its subcommands, and below it its options."""
    rows = ["| to type | what it does |", "|---|---|"]
    for words, command in commands(name):
        context = click.Context(command, info_name=words)
        usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
        help_text = inspect.cleandoc(command.help or "").split("\n\n")
        prose = " ".join(part for part in help_text if not part.startswith("\b"))
        rows.append(f"| **`{usage.replace('|', chr(92) + '|')}`** | {cell(prose)} |")
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and record[1] and "--help" not in parameter.opts:
                option = record[0].replace("|", "\\|")
                rows.append(f"| `{option}` | {cell(record[1])} |")
    return "\n".join(rows)


def command_list() -> str:
    """Return a table of all commands; each has a page of its name."""
    rows = [
        f"| {'' if number else heading} | [tennis {name}]({name}.md) | {does} |"
        for heading, commands in listed()[0].items()
        for number, (name, does) in enumerate(commands.items())
    ]
    return "\n".join(["| to | command | what it does |", "|---|---|---|", *rows])


def fields(model: type[BaseModel], where: str = "") -> list[tuple[str, str]]:
    """Return (dotted name, type) of a model's fields, parts within parts."""
    found = []
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if field.metadata:
            kind = Annotated[(kind, *field.metadata)]
        part = field.annotation
        if get_origin(part) is list:
            (part,) = get_args(part)
        optional = None
        if get_origin(part) in {Union, UnionType}:
            models = [item for item in get_args(part) if inspect.isclass(item)]
            optional = next((item for item in models if issubclass(item, BaseModel)), None)
        if optional is not None:
            found.append((where + name, "object or null"))
            found += fields(optional, where + name + ".")
        elif inspect.isclass(part) and issubclass(part, BaseModel):
            found += fields(part, where + name + ("." if part is field.annotation else "[]."))
        else:
            found.append((where + name, kind_words(kind)))
    return found


def kind_words(kind: Any) -> str:
    """Write a type for people who do not know Python's."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        patterns = [getattr(item, "pattern", None) for item in inside[1:]]
        return "64 hexadecimal digits" if HEXADECIMAL in patterns else kind_words(inside[0])
    if origin is Literal:
        return " or ".join(f"`{json.dumps(item)}`" for item in inside)
    if origin in {Union, UnionType}:
        return " or ".join(kind_words(item) for item in inside)
    if origin is dict:
        return f"object of {kind_words(inside[1])}"
    if origin is list:
        return f"list of {kind_words(inside[0])}"
    return {str: "text", int: "integer", float: "number", bool: "true or false"}.get(kind, "null")


def manifest_table() -> str:
    """Return a table of the fields of ``manifest.json``: a row for each part of it."""
    parts: dict[str, list[str]] = {}
    for name, words in fields(Manifest):
        part, _, field = name.rpartition(".")
        parts.setdefault(part, []).append(f"`{field}` {words}")
    rows = [f"| {f'`{part}`' if part else ''} | {'; '.join(of)} |" for part, of in parts.items()]
    return "\n".join(["| part | its fields |", "|---|---|", *rows])


def settings_of(what: str) -> str:
    """Return which settings a side may have of a comparison, or in a match's plan."""
    if what == "side":
        words = (option_of(row.name) for row in rows_of("side"))
        listed = ", ".join(f"`{word.removeprefix('--')}`" for word in words)
        return f"The words of a side are {listed}."
    of_kernels, of_ways = (
        ", ".join(f"`{row.name}`" for row in rows_of(whose)) for whose in ("kernel", "setting")
    )
    return (
        f"For all kernels of a plan, or for one: {of_kernels}. For all of a plan, or in each of "
        f"its settings: {of_ways}; and in a setting `command_line`."
    )


def settings_table() -> str:
    """Return a table: a line for each setting, a column for each bench."""
    every = [bench.can for bench in benches() if bench.can.where]  # a replay takes what it finds
    rows = ["| setting | " + " | ".join(can.name for can in every) + " |"]
    rows.append("|---" * (len(every) + 1) + "|")
    for name in CHOSEN:
        takes = ["yes" if name in can.takes else "" for can in every]
        rows.append(f"| `{option_of(name)}` | " + " | ".join(takes) + " |")
    return "\n".join(rows)


def module_text(name: str) -> str:
    """Return a module's docstring, which must be Markdown or plain text."""
    docstring = inspect.getdoc(importlib.import_module(name)) or ""
    return re.sub(r"::\n\n(?:    .*\n)+", _fence, docstring)


def _fence(match: re.Match[str]) -> str:
    """Make Markdown's fenced code of reStructuredText's indented code."""
    code = inspect.cleandoc("\n" + match[0].removeprefix("::\n\n"))
    return f":\n\n```text\n{code}\n```\n"


MAKERS: dict[str, Callable[..., str]] = {
    "boards": lambda: tennis_commissioning.boards(
        (path.stem, read_record(path)) for path in sorted((ROOT / "docs" / "boards").glob("*.json"))
    ),
    "check-list": tennis_commissioning.check_list,
    "command": command_table,
    "commands": command_list,
    "manifest": manifest_table,
    "module": module_text,
    "sessions": lambda name: str(getattr(tennis_sessions, name)(load_sessions())),
    "settings": settings_table,
    "settings-of": settings_of,
    "symptoms": tennis_commissioning.symptoms,
    "two-picos": lambda: tennis_wiring.two_picos(wiring()),
    "wires": lambda: tennis_wiring.table(wiring()),
}
DRAWN = {"docs/images/wiring.svg": lambda: f"{picture(wiring(), '#fff')}\n"}


def rewritten(text: str) -> str:
    """Return a page with its parts made again."""

    def made(part: re.Match[str]) -> str:
        name, *arguments = part[1].split()
        return f"{BEGIN}{part[1]} -->\n\n{MAKERS[name](*arguments).strip()}\n\n{END}"

    return PART.sub(made, text)


def main() -> int:
    """Check all pages of the book, or write them."""
    wanted = {path: rewritten(path.read_text()) for path in sorted((ROOT / "docs").rglob("*.md"))}
    for path in sorted([*ROOT.glob("handouts/*.md"), *ROOT.glob("slides/*.md")]):
        wanted[path] = tennis_boxes.boxed(path, path.read_text())
    wanted |= {ROOT / name: draw() for name, draw in DRAWN.items()}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if sys.argv[1:] == ["write"]:
            path.write_text(wanted[path])
        print(f"reference: {path.relative_to(ROOT)} is not what the code says")
    return int(bool(stale) and sys.argv[1:] != ["write"])


if __name__ == "__main__":
    sys.exit(main())
