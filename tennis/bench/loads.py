# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What keeps the target busy: a folder a load under ``loads/``, described by its ``load.toml``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tennis.checkout import ROOT
from tennis.errors import TennisError, UsageError

FOLDER = ROOT / "loads"


class Parameter(BaseModel):
    """A number that ``--load-option NAME=VALUE`` sets; the name carries the unit."""

    model_config = ConfigDict(extra="forbid")

    about: str
    default: int
    minimum: int
    maximum: int


class Health(BaseModel):
    """The load really loads when so many tasks of this name run."""

    model_config = ConfigDict(extra="forbid")

    task: str
    count: Annotated[int, Field(gt=0)]


class LoadFile(BaseModel):
    """All of ``load.toml``."""

    model_config = ConfigDict(extra="forbid")

    title: str
    about: str
    source: str
    command: str  # run by the target's shell; empty: nothing to start
    module: str | None = None  # a kernel module NAME.c in the same folder
    health: Health | None = None
    parameters: dict[str, Parameter] = {}
    ascending: list[tuple[str, str]] = []  # pairs of parameters: the first is less than the second


@dataclass(frozen=True)
class Load:
    """A load with the values of its parameters."""

    name: str
    folder: Path
    file: LoadFile
    values: Mapping[str, int]

    @property
    def command(self) -> str:
        """Return what is started on the target, exactly."""
        if self.file.module:
            return " ".join(["insmod", f"{self.file.module}.ko", self.module_parameters])
        return self.file.command

    @property
    def module_parameters(self) -> str:
        """Return the parameters as ``insmod`` takes them."""
        return " ".join(f"{name}={value}" for name, value in self.values.items())


def names() -> list[str]:
    """Return the names of all loads."""
    return sorted(path.parent.name for path in FOLDER.glob("*/load.toml"))


def find(name: str, options: Mapping[str, int] | None = None) -> Load:
    """Return a load; ``options`` override its parameters.

    Raises UsageError for an unknown load or option, or a value out of range.
    """
    if name not in names():
        raise UsageError(f"no load {name!r}: use {', '.join(names())}")
    path = FOLDER / name / "load.toml"
    try:
        file = LoadFile.model_validate(tomllib.loads(path.read_text()))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise TennisError(f"{path} is not right: {error}") from error
    values = {parameter: entry.default for parameter, entry in file.parameters.items()}
    for option, value in (options or {}).items():
        entry = file.parameters.get(option)
        if entry is None:
            known = ", ".join(file.parameters) or "none"
            raise UsageError(f"the load {name} has no option {option}: it has {known}")
        if not entry.minimum <= value <= entry.maximum:
            raise UsageError(
                f"{option}={value}: the load {name} takes {entry.minimum} to {entry.maximum}"
            )
        values[option] = value
    for smaller, larger in file.ascending:
        if values[smaller] >= values[larger]:
            raise UsageError(
                f"{smaller}={values[smaller]} must be less than {larger}={values[larger]}"
            )
    return Load(name, path.parent, file, values)
