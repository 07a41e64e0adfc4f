"""Loads, which keep the target busy: a folder each under ``loads/``, with its ``load.toml``.

Beside ``load.toml`` a folder may hold

- ``start``, a script in place of ``command``: it stays in the foreground until SIGTERM and ends
  when a part of it dies;
- ``health``, a script that says whether the load really loads: a line
  ``tennis: health NAME VALUE UNIT`` on standard output for each figure, exit code 0 if it does, 1
  and a reason on standard error if not;
- C programs NAME.c (``programs``) and a kernel module (``module``).

Scripts are POSIX sh for the shells of Debian and BusyBox. Parameters are in their environment, in
upper case, and the load's own programs are in their PATH.

:meth:`Load.files` combines all that in one folder for the target. Its ``start`` runs the load in
the foreground: it ends, with all that it started, on SIGTERM or when a part dies (exit code 1). Its
``health`` checks every part. :meth:`Load.host_command` is the command for the computer at the other
end of its network.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tennis.kit import entries
from tennis.kit.checkout import ROOT
from tennis.kit.entries import Entry, EntryError
from tennis.kit.errors import TennisError, UsageError
from tennis.kit.log import log
from tennis.rally.edited import EditedError, toml_of
from tennis.rally.memory import NONE, name_of

FOLDER = ROOT / "loads"
FILE = "load.toml"
GROUP = "tennis.loads"  # of packages: the Python package, or the path, that is the load's folder
TARGET = "{target}"  # in ``host``: the target's address
CYCLE = "load_cycle_ns"  # among the versions of a rally
CYCLE_MAX_US = 600_000_000  # a boot that must see more of a load takes too long

# The mark by which a program names its kind of tasks, and the kind that each core's kernel needs.
TASKS = re.compile(rb"tennis-tasks=(posix|evl|alchemy)\0")
CORE_TASKS = {"evl": "evl", "cobalt": "alchemy"}

# what a target runs: SLOTH has loads of its own, which are tasks (target/sloth)
System = Literal["linux", "sloth"]
CALLED: dict[System, str] = {"linux": "Linux", "sloth": "SLOTH"}
Name = Annotated[str, StringConstraints(pattern=r"[a-z][a-z0-9_-]*")]


class _Parameter(BaseModel):
    """A number that ``--load-option NAME=VALUE`` sets; the name carries the unit."""

    model_config = ConfigDict(extra="forbid")

    about: str
    default: int
    minimum: int
    maximum: int
    system: System | None = None  # None: of each that has the load


class _LoadFile(BaseModel):
    """All of ``load.toml``."""

    model_config = ConfigDict(extra="forbid")

    title: str
    about: str
    source: str
    systems: list[System] = ["linux"]
    also: list[Name] = []  # loads that are a part of this one
    command: str = ""  # run by the target's shell; empty: nothing, or the script ``start``
    # run by the shell of the computer at the other end of the target's network; it stays in the
    # foreground, and {target} is the target's address
    host: str = ""
    packages: list[str] = []  # Debian's, on the target
    host_packages: list[str] = []  # Debian's, on that other computer
    programs: list[Name] = []  # C programs NAME.c in the same folder, for the target
    libraries: list[Name] = []  # that the programs are linked with: m, pthread
    # of kernels for which somebody may build the programs in another way: PROGRAM.FLAVOUR
    flavours: list[Name] = []
    module: Name | None = None  # a kernel module NAME.c in the same folder
    processors: Annotated[int, Field(ge=1, le=4)] = 1  # the fewest that it needs
    # the time after which it begins again, with all its parts: in microseconds, or the parameter
    # that has them (0: it has no cycle); or in instructions of the target's processor
    cycle_us: Annotated[int, Field(ge=0, le=CYCLE_MAX_US)] | Name | None = None
    cycle_instructions: Annotated[int, Field(ge=1, le=CYCLE_MAX_US * 1000)] | None = None
    # what its processor waits for in such a cycle with a memory profile, by the profile's name
    cycle_stalls_ms: dict[Name, Annotated[int, Field(ge=0, le=CYCLE_MAX_US // 1000)]] = {}
    parameters: dict[str, _Parameter] = {}
    ascending: list[tuple[str, str]] = []  # pairs of parameters: the first is less than the second


def tasks_of(program: bytes) -> str | None:
    """Return what kind of tasks a program's file says it has: posix, evl, alchemy; or None."""
    match = TASKS.search(program)
    return match[1].decode() if match else None


def check_tasks(where: str, tasks: str | None, flavour: str) -> None:
    """Raise UsageError if a program says that its tasks are not those of the flavour's core."""
    wanted = CORE_TASKS.get(flavour)
    if wanted and tasks not in {None, wanted}:
        raise UsageError(
            f"{where} has tasks of the kind {tasks}, not {wanted}",
            next_step=f"build it with -DXLOAD_{wanted.upper()} (docs/loads.md), or take it away",
        )


@dataclass(frozen=True)
class _LoadPart:
    """One folder under ``loads/``."""

    name: str
    folder: Path
    file: _LoadFile

    @property
    def sources(self) -> list[Path]:
        """Return the C files of its programs."""
        return [self.folder / f"{program}.c" for program in self.file.programs]

    def prebuilt(self, program: str, flavour: str) -> Path | None:
        """Return a program that somebody built for kernels of a flavour: PROGRAM.FLAVOUR.

        It takes the place of the one that is built here, which has no Xenomai library to use.
        Raises UsageError if its tasks are those of another core.
        """
        path = self.folder / f"{program}.{flavour}"
        if not path.is_file():
            return None
        check_tasks(str(path), tasks_of(path.read_bytes()), flavour)
        return path

    @property
    def own_files(self) -> list[Path]:
        """Return every file that decides what the part does, without its kernel module."""
        scripts = [self.folder / "start", self.folder / "health"]
        own = [self.folder / FILE, *filter(Path.is_file, scripts), *self.sources]
        return [*own, FOLDER / "start", FOLDER / "health"]

    @property
    def start(self) -> bytes | None:
        """Return the script that starts it on the target; None if it starts nothing."""
        script = self.folder / "start"
        if script.is_file():
            return script.read_bytes()
        return f"#!/bin/sh\nexec {self.file.command}\n".encode() if self.file.command else None

    @property
    def health(self) -> bytes | None:
        """Return the script that checks it on the target."""
        script = self.folder / "health"
        return script.read_bytes() if script.is_file() else None


@dataclass(frozen=True)
class Load:
    """A load with the values of its parameters; ``parts`` in the order in which they start."""

    name: str
    parts: tuple[_LoadPart, ...]
    values: Mapping[str, int]

    @property
    def file(self) -> _LoadFile:
        """Return the load's own ``load.toml``."""
        return self.parts[-1].file

    @property
    def folder(self) -> Path:
        """Return the load's own folder."""
        return self.parts[-1].folder

    @property
    def command(self) -> str:
        """Return the exact commands on the target and at the other end of its network."""
        commands = [self._command(part) for part in self.parts]
        host = self.host_command("target")
        return "; ".join(filter(None, [*commands, f"from the network: {host}" if host else ""]))

    def _command(self, part: _LoadPart) -> str:
        if part.file.module:
            return " ".join(["insmod", f"{part.file.module}.ko", self.module_parameters])
        if part.start is None:
            return ""
        return self._filled(part.file.command or f"sh {part.name}/start")

    def check_processors(self, processors: int) -> None:
        """Raise UsageError if it needs processors that the target does not have."""
        if processors < self.file.processors:
            raise UsageError(
                f"--load {self.name} needs {self.file.processors} processors",
                # drills and sweeps have no such option
                next_step=f"use tennis rally --processors {self.file.processors}, or another load",
            )
        named = [number for name, number in self.values.items() if name.endswith("_cpu")]
        if missing := [cpu for cpu in named if cpu >= processors]:
            raise UsageError(
                f"--load-option: the target has no processor {missing[0]}",
                next_step=f"use 0 to {processors - 1}, or more --processors",
            )
        if len(set(named)) < len(named):
            raise UsageError(
                f"--load {self.name} takes two processors, not processor {named[0]} twice",
                next_step="name another one with --load-option",
            )

    @property
    def module_source(self) -> Path:
        """Return the source of its kernel module."""
        return self.folder / f"{self.file.module}.c"

    def built_programs(self, flavour: str, build: Callable[..., Path]) -> dict[str, Path]:
        """Return its programs as they are built for a kernel of a flavour, by name.

        ``build`` takes a source and ``libraries``. Raises UsageError as ``LoadPart.prebuilt``.
        """
        return {
            source.stem: part.prebuilt(source.stem, flavour)
            or build(source, libraries=part.file.libraries)
            for part in self.parts
            for source in part.sources
        }

    @property
    def module_parameters(self) -> str:
        """Return the parameters as ``insmod`` takes them."""
        return " ".join(f"{name}={value}" for name, value in self.values.items())

    @property
    def environment(self) -> dict[str, str]:
        """Return the parameters as the scripts get them."""
        return {name.upper(): str(value) for name, value in self.values.items()}

    def cycle_ns(self, instruction_ns: int | None, memory: str = NONE) -> int | None:
        """Return the time after which the load begins again; 0: it has no cycle.

        None if it is not known: the cycle is a number of instructions, and their duration is not
        known (``instruction_ns`` is None), or their waits with this ``memory`` profile are not.
        """
        cycle = self.file.cycle_us
        if cycle is not None:
            return 1000 * (self.values[cycle] if isinstance(cycle, str) else cycle)
        instructions = self.file.cycle_instructions
        stalls_ms = 0 if memory == NONE else self.file.cycle_stalls_ms.get(name_of(memory))
        if not instructions or not instruction_ns or stalls_ms is None:
            return None
        return instructions * instruction_ns + stalls_ms * 1_000_000

    @property
    def packages(self) -> list[str]:
        """Return the Debian packages that the target needs."""
        return sorted({name for part in self.parts for name in part.file.packages})

    @property
    def host_packages(self) -> list[str]:
        """Return the Debian packages that the computer at the other end needs."""
        return sorted({name for part in self.parts for name in part.file.host_packages})

    @property
    def checked(self) -> bool:
        """Tell whether there is a health check."""
        return any(part.health for part in self.parts)

    def host_command(self, target: str) -> str:
        """Return the shell command for the other end of the network; empty if there is none."""
        hosts = [part.file.host for part in self.parts if part.file.host]
        return self._filled(" & ".join(hosts).replace(TARGET, target))

    def _filled(self, command: str) -> str:
        """Substitute the parameters' values as the shell would."""
        for name, value in self.environment.items():
            command = command.replace(f"${{{name}}}", value).replace(f"${name}", value)
        return command

    def files(self, programs: Mapping[str, Path]) -> dict[str, bytes | Path]:
        """Return the load as a folder on the target: path -> content; all are executable.

        ``programs``: name of a C program -> the executable built for the target; one that is not
        named is not among the files.
        """
        files: dict[str, bytes | Path] = {}
        for part in self.parts:
            for name, content in (("start", part.start), ("health", part.health)):
                if content is not None:
                    files[f"{part.name}/{name}"] = content
            for program in part.file.programs:
                if program in programs:
                    files[f"{part.name}/{program}"] = programs[program]
        exported = (f"export {name}={value}\n" for name, value in self.environment.items())
        files["parameters"] = "".join(exported).encode()
        files["start"] = FOLDER / "start"
        files["parts"] = " ".join(part.name for part in self.parts if part.start).encode()
        if self.checked:
            files["health"] = FOLDER / "health"
            files["checked"] = " ".join(part.name for part in self.parts if part.health).encode()
        return files


def cycle_version(load: Load, instruction_ns: int | None, memory: str = NONE) -> dict[str, str]:
    """Return the load's cycle as a rally's versions record it; empty if it is not known."""
    cycle_ns = load.cycle_ns(instruction_ns, memory)
    return {} if cycle_ns is None else {CYCLE: str(cycle_ns)}


def cycle_of(versions: Mapping[str, str]) -> int | None:
    """Return the load's cycle in ns, as it was when the rally began; None: unknown."""
    return int(versions[CYCLE]) if CYCLE in versions else None


def names(system: System = "linux") -> list[str]:
    """Return the names of all loads that there are for a system."""
    added = (entry.name for entry in entries.entries(GROUP) if _added(entry) is not None)
    every = {path.parent.name for path in FOLDER.glob(f"*/{FILE}")} | set(added)
    return sorted(name for name in every if system in _parts(name)[-1].file.systems)


def _added(entry: Entry) -> Path | None:
    """Return the folder of a package's load; log the error and return None if it is missing."""
    try:
        return entry.folder(FILE)
    except EntryError as error:
        log.info(str(error))
        return None


def _folder(name: str) -> Path | None:
    """Return a load's folder: the kit's own, else a package's; None: there is no such load.

    Raises EntryError for a package's that is broken.
    """
    if (FOLDER / name / FILE).is_file():
        return FOLDER / name
    entry = entries.find(GROUP, name)
    return entry.folder(FILE) if entry else None


def find(name: str, options: Mapping[str, int] | None = None, system: System = "linux") -> Load:
    """Return a load; ``options`` override its parameters and those of its parts.

    Raises UsageError for an unknown load or option, or a value out of range.
    """
    named = re.fullmatch(r"[a-z][a-z0-9_-]*", name) and _folder(name)
    parts = tuple(_parts(name)) if named else ()
    if not parts or system not in parts[-1].file.systems:
        why = f"the load {name} is not for {CALLED[system]}" if parts else f"no load {name!r}"
        raise UsageError(why, next_step=f"use {', '.join(names(system))}")
    parameters = {
        p: entry
        for part in parts
        for p, entry in part.file.parameters.items()
        if entry.system in {None, system}
    }
    values = {parameter: entry.default for parameter, entry in parameters.items()}
    for option, value in (options or {}).items():
        entry = parameters.get(option)
        if entry is None:
            known = ", ".join(parameters) or "none"
            raise UsageError(f"the load {name} has no option {option}: it has {known}")
        if not entry.minimum <= value <= entry.maximum:
            raise UsageError(
                f"{option}={value}: the load {name} takes {entry.minimum} to {entry.maximum}"
            )
        values[option] = value
    for smaller, larger in (pair for part in parts for pair in part.file.ascending):
        if values[smaller] >= values[larger]:
            raise UsageError(
                f"{smaller}={values[smaller]} must be less than {larger}={values[larger]}"
            )
    return Load(name, parts, values)


def _parts(name: str, within: tuple[str, ...] = ()) -> list[_LoadPart]:
    """Return a load's folder behind those of the loads that it consists of, each once."""
    return _parts_in(_folder(name) or FOLDER / name, name, within)


def _parts_in(folder: Path, name: str, within: tuple[str, ...] = ()) -> list[_LoadPart]:
    path = folder / FILE
    try:
        file = _LoadFile.model_validate(toml_of(path.read_bytes()))
    except EditedError as error:
        raise TennisError(f"{path} {error}", next_step=error.next_step) from error
    except (OSError, ValidationError) as error:
        raise TennisError(f"{path} is not right: {error}") from error
    if name in within:
        raise TennisError(f"{path} is not right: the load {name} is a part of itself")
    if file.command and (path.parent / "start").is_file():
        raise TennisError(f"{path} is not right: it has a command, and there is a script start")
    parts = {part.name: part for other in file.also for part in _parts(other, (*within, name))}
    every = [*parts.values(), _LoadPart(name, path.parent, file)]
    _check_cycle(path, file, {key for part in every for key in part.file.parameters})
    return every


def _check_cycle(path: Path, file: _LoadFile, parameters: set[str]) -> None:
    """Raise TennisError if a load does not say its cycle, or not in a way that has a meaning."""
    if (file.cycle_us is None) == (file.cycle_instructions is None):
        said = "says its cycle twice" if file.cycle_us is not None else "does not say its cycle"
        raise TennisError(
            f"{path} {said}",
            next_step="write cycle_us = 0 if it has none, else cycle_us or cycle_instructions "
            "(docs/loads.md)",
        )
    if isinstance(file.cycle_us, str) and (
        file.cycle_us not in parameters or not file.cycle_us.endswith("_us")
    ):
        raise TennisError(
            f"{path} is not right: it has no parameter {file.cycle_us} in microseconds"
        )
