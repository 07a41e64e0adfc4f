"""A folder as an argument: a shell offers folders only when Tab is pressed."""

from pathlib import Path

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
