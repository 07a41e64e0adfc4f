# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a shell offers when somebody presses Tab: names of kernels and loads, and folders."""

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


class StorePlace(Folder):
    """A folder, or the URL of a place in a bucket, which stays a text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Tell them apart."""
        return value if str(value).startswith("s3://") else super().convert(value, param, ctx)


def kernels(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offer the kernels that have a name, or folders once it cannot be one."""
    from tennis.bench.kernels.catalogue import catalogue
    from tennis.bench.sloth import KERNELS

    named = _beginning([*catalogue(), *KERNELS], incomplete)
    return named or Folder().shell_complete(ctx, parameter, incomplete)


def loads(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer the loads."""
    from tennis.bench import loads as every

    return _beginning({*every.names(), *every.names("sloth")}, incomplete)


def _beginning(names: Any, incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
