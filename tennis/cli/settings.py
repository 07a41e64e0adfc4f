"""Options that are made from the table of settings (``rally.settings``)."""

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from tennis.bench import loads
from tennis.cli.completion import Folder, Items
from tennis.cli.options import UsualOption, given, type_of
from tennis.kit import entries
from tennis.kit.errors import UsageError
from tennis.rally import memory
from tennis.rally.request import RallyRequest, requests_of
from tennis.rally.serving import Serving
from tennis.rally.settings import SETTINGS, Setting, Taker, option_of, rows_of

Command = TypeVar("Command", bound=Callable[..., Any])
LOAD_OPTIONS = "load_options"  # NAME=NUMBER each
FILLED = {"load", "memory"}  # whose help names what there is


def _kernels(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offer the kernels that have a name, or folders once it cannot be one."""
    from tennis.bench.kernels.catalogue import catalogue
    from tennis.bench.registry import own_kernels

    named = _beginning([*catalogue(), *own_kernels()], incomplete)
    return named or Folder().shell_complete(ctx, parameter, incomplete)


def _loads(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer the loads."""
    return _beginning({*loads.names(), *loads.names("sloth")}, incomplete)


def _instruments(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer the instruments."""
    from tennis.bench.virtual.parts import instruments

    return _beginning(instruments(), incomplete)


def _beginning(names: Any, incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


COMPLETED = {"kernel": _kernels, "load": _loads, "instrument": _instruments}


def setting_option(name: str, text: str | None = None) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option of a setting; ``text``: its own help."""
    row = SETTINGS[name]
    about: dict[str, Any] = {"help": text or _help(row), "metavar": row.metavar}
    about["cls"] = UsualOption
    if row.field.annotation is bool:
        about["is_flag"] = True
    elif name == LOAD_OPTIONS:
        about["multiple"] = True
    else:
        about["type"] = _type(row)
    if name in COMPLETED:
        about["shell_complete"] = COMPLETED[name]
    if row.is_number and row.choices:
        about["callback"] = lambda _ctx, _parameter, text: text and int(text)
    if isinstance(row.default, str) and row.default in {"", "none"}:
        about |= {"default": row.default, "show_default": bool(row.default)}
    return click.option(option_of(name), name, **about)


def settings_options(command: Taker, **texts: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of its settings, in the table's order.

    ``texts``: helps of its own, by setting.
    """

    def decorate(function: Command) -> Command:
        for row in reversed(list(rows_of(command))):
            function = setting_option(row.name, texts.get(row.name))(function)
        return function

    return decorate


def options_under(heading: str, command: Taker, but: Sequence[str] = ()) -> list[str]:
    """Return a command's options under a heading, as they are typed."""
    return [
        option_of(row.name)
        for row in rows_of(command)
        if row.heading == heading and row.name not in but
    ]


def takes_requests(command: Command) -> Command:
    """Give a command ``request`` and ``serving`` in place of the options that say them.

    Put it next to the function, below all options. Raises UsageError when the command begins.
    """

    @functools.wraps(command)
    def call(**options: Any) -> Any:
        own = given(options, [*RallyRequest.model_fields, *Serving.model_fields])
        if LOAD_OPTIONS in own:
            own[LOAD_OPTIONS] = dict(map(load_option, own[LOAD_OPTIONS]))
        request, serving = requests_of(own)
        return command(request=request, serving=serving, **options)

    return call  # type: ignore[return-value]


def load_option(text: str) -> tuple[str, int]:
    """Read NAME=NUMBER. Raises UsageError."""
    name, _, value = text.partition("=")
    if not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise UsageError(f"--load-option {text}", next_step="write NAME=NUMBER, as in hold_us=200")
    return name, int(value)


def _help(row: Setting) -> str:
    every = {
        "loads": ", ".join(loads.names()),
        "sloth_loads": ", ".join(loads.names("sloth")),
        "memory": ", ".join(memory.names()),
    }
    text = row.help.format(**every) if row.name in FILLED else row.help
    added = [entry.name for entry in entries.entries("tennis.instruments")]  # none is imported
    if row.name == "instrument" and added:
        return text.replace(" [default", f" Packages add {', '.join(added)}. [default")
    return text


def _type(row: Setting) -> Any:
    if "a file" in row.traits:
        return click.Path(path_type=Path)
    if row.choices:
        return click.Choice([str(value) for value in row.choices])
    return type_of(row.field.annotation, []) if row.is_number else str


played_kernel_option = setting_option(
    "kernel",
    "The kernel of the rally. Name a tree here: Tennis builds none that only the folder names.",
)
