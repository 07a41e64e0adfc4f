"""Options under headings, options of several commands, and those that are made from a model."""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tennis.cli.numbers import Real, Whole
from tennis.kit.share import free_memory_bytes, processors
from tennis.rally.manifest import StrictModel
from tennis.rally.request import checked

TARGET_BYTES = 3 << 29  # of the host's memory: a target's 1 GiB, QEMU, and what plays it

Command = TypeVar("Command", bound=Callable[..., Any])


def options_of(
    model: type[StrictModel], *, into: str = "", but: Collection[str] = ()
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command an option for each field of a model, in order.

    ``into``: the command's parameter that takes all of them as one model. ``but``: other fields.
    """
    names = [name for name in model.model_fields if name not in but]

    def decorate(command: Command) -> Command:
        if into:
            command = _gathered(command, model, names, into)
        for name in reversed(names):
            command = field_option(model, name)(command)
        return command

    return decorate


def _gathered(
    command: Command, model: type[StrictModel], names: Sequence[str], into: str
) -> Command:
    @functools.wraps(command)
    def call(**options: Any) -> Any:
        options[into] = checked(model, given(options, names))
        return command(**options)

    return call  # type: ignore[return-value]


def given(options: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Take some options out of all; return those that were typed, and flags."""
    taken = {name: options.pop(name) for name in names if name in options}
    return {name: value for name, value in taken.items() if value is not None}


class UsualOption(click.Option):
    """An option that is None if nobody typed it; its help ends with its default, in brackets.

    The default and the limits are then in one pair of brackets.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        text, separator, usual = str(more["help"]).removesuffix("]").rpartition(" [default: ")
        self.usual = usual if separator else ""
        if separator:
            more["help"] = text
        super().__init__(*args, **more)

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return the text in the brackets."""
        extra = super().get_help_extra(ctx)
        return {**extra, "default": self.usual} if self.usual else extra


# the placeholder after an option: its unit
_UNITS = {
    **dict.fromkeys(["balls", "boots", "decade", "repetitions"], "COUNT"),
    **{"seed": "NUMBER", "percent": "PERCENT", "margin": "PERCENT", "minutes": "MINUTES"},
    **{"hz": "HZ", "us": "US", "ms": "MS", "s": "S", "port": "PORT", "analyser": "SPEC"},
}


def field_option(
    model: type[BaseModel], name: str, text: str | None = None
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option of one field; ``text``: its own help.

    An option that nobody typed is None, so that the model tells it from its default.
    """
    field, option = model.model_fields[name], f"--{name.replace('_', '-')}"
    words = text or field.description or ""
    if field.annotation is bool:
        return click.option(option, is_flag=True, help=words)
    kind = type_of(field.annotation, field.metadata)
    if field.default is not None:
        words = f"{words} [default: {field.default}]"
    metavar = _UNITS.get(name.rpartition("_")[2])
    return click.option(option, cls=UsualOption, type=kind, metavar=metavar, help=words)


def fields_options(model: type[BaseModel], but: Collection[str] = ()) -> list[str]:
    """Return the options of a model's fields, as they are typed."""
    return [f"--{name.replace('_', '-')}" for name in model.model_fields if name not in but]


class _BenchWord(click.Choice[str]):
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


def bench_option(text: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option ``--bench``; ``text``: its help."""
    return click.option(
        "--bench", type=_BenchWord(), default="virtual", show_default=True, help=text
    )


def workers_here() -> int:
    """Return how many targets can play at once, by the usable processors and memory."""
    cores = processors()
    free = free_memory_bytes()
    return cores if free is None else max(1, min(cores, free // TARGET_BYTES))


def workers_option(text: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option of how much to play at once."""
    return click.option(
        "--workers",
        type=Whole(1, 256),
        cls=UsualOption,
        default=workers_here,
        metavar="COUNT",
        help=f"{text} [default: one for each core, if there is memory for its targets]",
    )


def type_of(annotation: Any, metadata: list[Any]) -> Any:
    """Return what click checks of a field: a choice, or a number within the limits."""
    if annotation is str:
        return None
    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation))
    if inner := next((part for part in get_args(annotation) if part is not type(None)), None):
        # NUMBER | None: the limits are the number's own
        number = FieldInfo.from_annotation(inner)
        return type_of(number.annotation, number.metadata)
    low = next((limit.ge for limit in metadata if isinstance(limit, Ge)), None)
    high = next((limit.le for limit in metadata if isinstance(limit, Le)), None)
    if annotation is int:
        below = next((limit.lt for limit in metadata if isinstance(limit, Lt)), None)
        return Whole(low, high if below is None else below - 1)  # type: ignore[arg-type,operator]
    if annotation is float and not any(isinstance(limit, Gt | Lt) for limit in metadata):
        return Real(low, high)  # type: ignore[arg-type]
    raise TypeError(f"no option can be made of {annotation}")


def umpire_option(text: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option to record the wires, too."""
    return click.option("--umpire", is_flag=True, help=text)


def port_option(
    text: str = "The Pico's serial port. [default: that of the only Pico]",
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option of a Pico's port."""
    return click.option("--port", metavar="PORT", help=text)


def balls_option(
    text: str, least: int = 1, most: int = 1_000_000, default: int | None = None
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the option of a number of balls, within limits."""
    return click.option(
        "--balls",
        type=Whole(least, most),
        default=default,
        show_default=default is not None,
        metavar="COUNT",
        cls=UsualOption,
        help=text,
    )


_ALL = "tennis.options"


def _help_all(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_help_all,
    help="Show this message and exit; --help shows the usual options.",
)


class Grouped(click.Command):
    """A command whose help shows its options under headings, the common ones first.

    ``groups``: heading -> names of options, as they are typed. Options of no group come last.
    ``usual``: those that --help shows if it does not show all; --help-all shows all.
    """

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Sequence[str]],
        usual: Sequence[str] = (),
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.groups = groups
        self.usual = usual
        if usual:
            self.params.append(_HELP_ALL)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        if self.usual and not ctx.meta.get(_ALL):
            self._format_usual(ctx, formatter)
            return
        records = {
            parameter.opts[0]: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        }
        for heading, options in self.groups.items():
            with formatter.section(heading):
                formatter.write_dl([records.pop(option) for option in options])
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))

    def _format_usual(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = {parameter.opts[0]: parameter for parameter in self.get_params(ctx)}
        shown = [options[name].get_help_record(ctx) for name in self.usual]
        with formatter.section("Options"):
            formatter.write_dl([record for record in shown if record is not None])
        rest = len(options) - len(shown)
        with formatter.section("Other options"):
            formatter.write_dl([("--help-all", f"Show all options, {rest} more.")])
