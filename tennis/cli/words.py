# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lines for a person at a terminal."""

import click


def echo(message: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print words; nothing in them moves the cursor, whatever a name or somebody's file holds."""
    text = "".join(c if c.isprintable() or c == "\n" else "�" for c in str(message))
    click.echo(text, err=err, nl=nl)
