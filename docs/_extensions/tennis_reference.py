# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A Sphinx extension: the reference takes commands, options and fields from the code.

- ``{tennis-command} NAME`` writes the usage, the help and every option of a command.
- ``{tennis-manifest}`` writes every field of ``manifest.json``.
- ``{tennis-module} NAME`` writes a module's docstring, which must be Markdown or plain text.
"""

import importlib
import inspect
import re
from typing import Any

import click
from docutils import nodes
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tennis.cli import cli
from tennis.rally.manifest import Manifest


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


class TennisCommand(SphinxDirective):
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
            content.append(self.options_of(words, command))
        return content

    def help(self, command: click.Command) -> list[nodes.Node]:
        """Return the help's paragraphs; one after a backspace is written as it stands."""
        content: list[nodes.Node] = []
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            if paragraph.startswith("\b\n"):
                first, _, rest = paragraph.removeprefix("\b\n").partition("\n")
                if first.endswith(":"):
                    content.append(nodes.paragraph(first, first))
                else:
                    rest = f"{first}\n{rest}"
                text = inspect.cleandoc("\n" + rest)
                content.append(nodes.literal_block(text, text, language="text"))
            elif paragraph:
                content.append(nodes.paragraph(paragraph, paragraph))
        return content

    def options_of(self, words: str, command: click.Command) -> nodes.Node:
        """Return a list of the options."""
        listed = nodes.definition_list(classes=["options"])
        for term, text in option_terms(words, command):
            item = nodes.definition_list_item()
            item += nodes.term(term, term)
            item += nodes.definition("", nodes.paragraph(text, text))
            listed += item
        return listed


def fields(model: type[BaseModel], where: str = "") -> list[tuple[str, str]]:
    """Return (dotted name, type) of a model's fields, parts within parts."""
    found = []
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            found += fields(kind, f"{where}{name}.")
        else:
            found.append((where + name, kind_words(kind)))
    return found


def kind_words(kind: Any) -> str:
    """Write a type for people who do not know Python's."""
    words = kind.__name__ if inspect.isclass(kind) else str(kind)
    words = re.sub(r"Annotated\[([a-z]+), .*?\)\]", r"\1", words.replace("typing.", ""))
    words = re.sub(r"FieldInfo\(.*\)", "", words)
    for python, plain in (("NoneType", "null"), ("None", "null"), ("str", "text"), ("Literal", "")):
        words = re.sub(rf"\b{python}\b", plain, words)
    return words.replace("tennis.rally.manifest.", "").replace("'", '"').replace("|", "or")


class TennisManifest(SphinxDirective):
    """``{tennis-manifest}``."""

    def run(self) -> list[nodes.Node]:
        """Return a table of the fields."""
        rows = ["| field | type |", "|---|---|"]
        rows += [f"| `{name}` | {words} |" for name, words in fields(Manifest)]
        return self.parse_text_to_nodes("\n".join(rows))


class TennisModule(SphinxDirective):
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
    app.add_directive("tennis-manifest", TennisManifest)
    app.add_directive("tennis-module", TennisModule)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
