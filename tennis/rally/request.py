"""A user's request for a rally: options by name, checked once, in the command line's words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tennis.kit.errors import UsageError
from tennis.rally.manifest import BenchKind, StrictModel
from tennis.rally.serving import Serving
from tennis.rally.settings import SETTINGS, SettingsRequest, option_of
from tennis.rally.text import plain

Model = TypeVar("Model", bound=StrictModel)
FILES = {name for name, row in SETTINGS.items() if "a file" in row.traits}


class RallyRequest(SettingsRequest):
    """A user's request, without the balls (``Serving``); None: not asked for.

    It has the names of a plan's fields.
    """

    bench: BenchKind = "virtual"
    umpire: bool | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "RallyRequest":
        """Check options by name; those of others are left alone. Raises UsageError."""
        own = {name: options[name] for name in cls.model_fields if name in options}
        for name in FILES & own.keys():
            own[name] = own[name] and Path(own[name])
        if own.get("load_options") is not None:
            own["load_options"] = dict(own["load_options"])
        return checked(cls, own)


def serving_of(options: Mapping[str, Any]) -> Serving:
    """Check options about the balls, by name. Raises UsageError, also for one that is unknown."""
    try:
        return Serving.model_validate(options)
    except ValidationError as error:
        first = error.errors()[0]
        option, value = f"--{str(first['loc'][0]).replace('_', '-')}", first["input"]
        if first["type"] == "finite_number":
            raise UsageError(f"{option} {value}", next_step="use a number") from error
        if option == "--rate-hz" and isinstance(value, (int, float)) and value <= 0:
            reason = "an open loop serves more than 0 balls a second"
            raise UsageError(f"{option} {value:g}: {reason}") from error
        option_text = plain(f"{option} {value}", 80)
        raise UsageError(f"{option_text}: {first['msg'].removeprefix('Input ')}") from error


def requests_of(options: Mapping[str, Any]) -> tuple[RallyRequest, Serving]:
    """Return what options ask of the target, and of the balls. Raises UsageError."""
    request = RallyRequest.of(options)
    rest = {name: options[name] for name in options if name not in RallyRequest.model_fields}
    return request, serving_of(rest)


def checked(model: type[Model], options: Mapping[str, Any]) -> Model:
    """Make a model of options. Raises UsageError, in words of the command line."""
    try:
        return model(**options)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        if option in SETTINGS:
            given = plain(f"{option_of(option)} {first['input']}", 80)
            raise UsageError(f"{given}: {first['msg']}") from error
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{option}: {message}" if option else message) from error
