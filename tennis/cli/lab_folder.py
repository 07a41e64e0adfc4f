"""Steps that a command adds if it plays in a student's folder of a lab."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from tennis.cli.completion import Folder
from tennis.cli.words import warn

Command = TypeVar("Command", bound=Callable[..., Any])


@contextlib.contextmanager
def prediction_sealed(out: Path | None) -> Iterator[None]:
    """Seal the prediction of the lab in whose folder ``out`` is played; elsewhere do nothing."""
    if out is None or not (out.parent / "answers.toml").is_file():
        yield
        return
    from tennis.course.predictions import sealing

    with sealing(out, warn):
        yield


def seal(ctx: click.Context, parameter: click.Parameter, out: Path | None) -> Path | None:  # noqa: ARG001
    """Seal the prediction for the time of a command, which plays into ``out``; click's callback."""
    if not ctx.resilient_parsing:
        ctx.with_resource(prediction_sealed(out))
    return out


def out_option(text: str, *, required: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option of the folder into which it plays."""
    return click.option(
        "--out", type=Folder(), metavar="DIR", required=required, callback=seal, help=text
    )
