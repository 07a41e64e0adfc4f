# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Completions that a shell offers for Tab: names of kernels and loads, and folders."""

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Items = list[CompletionItem]


class Folder(click.Path):
    """A path for which a shell offers folders only."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """Leave folders to the shell."""
        return [CompletionItem(incomplete, type="dir")]


class BenchWord(click.Choice[str]):
    """The word of a bench: one of the kit's own, or of a package's bench."""

    def __init__(self) -> None:
        super().__init__(["virtual", "pi"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take a word that is not the kit's if a bench is here that has it."""
        if value not in self.choices:
            from tennis.bench.registry import kinds

            there = (kind for kind in kinds() if kind != "replay")
            self.choices = tuple(dict.fromkeys([*self.choices, *there]))
        return super().convert(value, param, ctx)


def kernels(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offer the kernels that have a name, or folders once it cannot be one."""
    from tennis.bench.kernels.catalogue import catalogue
    from tennis.bench.registry import own_kernels

    named = _beginning([*catalogue(), *own_kernels()], incomplete)
    return named or Folder().shell_complete(ctx, parameter, incomplete)


def loads(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer the loads."""
    from tennis.bench import loads as every

    return _beginning({*every.names(), *every.names("sloth")}, incomplete)


def instruments(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer the instruments."""
    from tennis.bench.virtual.parts import instruments as every

    return _beginning(every(), incomplete)


def _beginning(names: Any, incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
