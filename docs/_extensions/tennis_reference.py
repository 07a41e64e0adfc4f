# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A Sphinx extension: the reference takes commands, options and fields from the code.

- ``{tennis-command} NAME`` writes the usage, the help and every option of a command.
- ``{tennis-commands}`` lists all commands with what they do; each has a page of its name.
- ``{tennis-manifest}`` writes every field of ``manifest.json``.
- ``{tennis-settings}`` writes which bench takes which setting of a rally.
- ``{tennis-settings} side`` names the words of a side of a comparison.
- ``{tennis-settings} match`` names the keys of settings in a match's plan.
- ``{tennis-module} NAME`` writes a module's docstring, which must be Markdown or plain text.
"""

import importlib
import inspect
import json
import re
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from docutils import nodes
from pydantic import BaseModel
from sphinx.application import Sphinx

from tennis.bench.fitting import CHOSEN
from tennis.bench.registry import benches
from tennis.cli import cli, listed
from tennis.course.authoring.sphinx import GeneratedDirective
from tennis.rally.manifest import Manifest
from tennis.rally.settings import option_of, rows_of

HEXADECIMAL = "^[0-9a-f]{64}$"


def prose(text: str) -> nodes.paragraph:
    """Return a paragraph of a help text; what stands between backticks is typed as it is."""
    paragraph = nodes.paragraph(text, "")
    for index, piece in enumerate(text.split("`")):
        paragraph += nodes.literal(piece, piece) if index % 2 else nodes.Text(piece)
    return paragraph


def commands(name: str) -> list[tuple[str, click.Command]]:
    """Return a command and, where it is a group, its subcommands, with the words to type."""
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


def option_terms(words: str, command: click.Command) -> list[tuple[str, str]]:
    """Return (how it is written, what it does) of each option, as the command's help has it."""
    context = click.Context(command, info_name=words)
    found = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            found.append(record)
    return found


class TennisCommand(GeneratedDirective):
    """``{tennis-command} NAME``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return usage, help text and options, also those of subcommands."""
        content: list[nodes.Node] = []
        found = commands(self.arguments[0])
        for words, command in found:
            if len(found) > 1:
                content.append(nodes.rubric(words, words))
            context = click.Context(command, info_name=words)
            usage = command.get_usage(context).removeprefix("Usage: ")
            content.append(nodes.literal_block(usage, usage, language="text"))
            content += self.help(command)
            content += self.options_of(words, command)
        return content

    def help(self, command: click.Command) -> list[nodes.Node]:
        """Return the help's paragraphs; one after a backspace is written as it stands."""
        content: list[nodes.Node] = []
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            if paragraph.startswith("\b\n"):
                first, _, rest = paragraph.removeprefix("\b\n").partition("\n")
                if first.endswith(":"):
                    content.append(prose(first))
                else:
                    rest = f"{first}\n{rest}"
                text = inspect.cleandoc("\n" + rest)
                content.append(nodes.literal_block(text, text, language="text"))
            elif paragraph:
                content.append(prose(paragraph))
        return content

    def options_of(self, words: str, command: click.Command) -> list[nodes.Node]:
        """Return a list of the options, or one below each heading that the help has."""
        content: list[nodes.Node] = []
        terms = option_terms(words, command)
        for heading, options in getattr(command, "groups", {}).items():
            named = [one for one in terms if one[0].split()[0] in options]
            terms = [one for one in terms if one not in named]
            content += [nodes.rubric(heading, heading), self.listed(named)]
        if content:
            content.append(nodes.rubric("Other options", "Other options"))
        return [*content, self.listed(terms)]

    def listed(self, terms: list[tuple[str, str]]) -> nodes.Node:
        """Return options with what they do."""
        listed = nodes.definition_list(classes=["options"])
        for term, text in terms:
            item = nodes.definition_list_item()
            item += nodes.term("", "", nodes.literal(term, term))
            item += nodes.definition("", prose(text))
            listed += item
        return listed


class TennisCommands(GeneratedDirective):
    """``{tennis-commands}``."""

    def run(self) -> list[nodes.Node]:
        """Return a table."""
        rows = [
            f"| {'' if number else heading} | [tennis {name}]({name}.md) | {does} |"
            for heading, commands in listed()[0].items()
            for number, (name, does) in enumerate(commands.items())
        ]
        text = "\n".join(["| to | command | what it does |", "|---|---|---|", *rows])
        return self.parse_text_to_nodes(text)


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


class TennisManifest(GeneratedDirective):
    """``{tennis-manifest}``."""

    def run(self) -> list[nodes.Node]:
        """Return a table of the fields."""
        rows = ["| field | type |", "|---|---|"]
        rows += [f"| `{name}` | {words} |" for name, words in fields(Manifest)]
        return self.parse_text_to_nodes("\n".join(rows))


def settings_of(what: str) -> str:
    """Return which settings may be said of a side of a comparison, or in a match's plan."""
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


class TennisSettings(GeneratedDirective):
    """``{tennis-settings} [side | match]``."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a table: a line for each setting, a column for each bench; or the names alone."""
        if self.arguments:
            return self.parse_text_to_nodes(settings_of(self.arguments[0]))
        every = [
            bench.can for bench in benches() if bench.can.where
        ]  # a replay takes what it finds
        rows = ["| setting | " + " | ".join(can.name for can in every) + " |"]
        rows.append("|---" * (len(every) + 1) + "|")
        for name in CHOSEN:
            takes = ["yes" if name in can.takes else "" for can in every]
            rows.append(f"| `{option_of(name)}` | " + " | ".join(takes) + " |")
        return self.parse_text_to_nodes("\n".join(rows))


class TennisModule(GeneratedDirective):
    """``{tennis-module} NAME``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the docstring's paragraphs."""
        docstring = inspect.getdoc(importlib.import_module(self.arguments[0])) or ""
        return self.parse_text_to_nodes(re.sub(r"::\n\n(?:    .*\n)+", _fence, docstring))


def _fence(match: re.Match[str]) -> str:
    """Make Markdown's fenced code of reStructuredText's indented code."""
    code = inspect.cleandoc("\n" + match[0].removeprefix("::\n\n"))
    return f":\n\n```text\n{code}\n```\n"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives to Sphinx."""
    app.add_directive("tennis-command", TennisCommand)
    app.add_directive("tennis-commands", TennisCommands)
    app.add_directive("tennis-manifest", TennisManifest)
    app.add_directive("tennis-settings", TennisSettings)
    app.add_directive("tennis-module", TennisModule)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
