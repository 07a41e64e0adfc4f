# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What goes with what: the settings that each bench takes, and one sentence for the others.

Each bench says what it takes (``Capabilities``), ``registry.benches`` which there are. Halves and
priorities of a kernel are in ``flavours``, a load's options in ``loads/*/load.toml``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tennis.bench.loads import System
from tennis.errors import UsageError
from tennis.rally.plan import InstrumentKind, Plan

# what a person may ask a bench for; docs/how-it-is-built.md has a table of them
SETTINGS = (
    *("instrument", "port", "target", "load_options", "command_line", "instruction_ns"),
    *("processors", "stage"),
    *("interrupt_cpu", "bottom_half_cpu", "load_cpus", "racquet", "beneath", "drill"),
    *("witness", "stages", "sections", "analyser"),
)
BELONGS = {"target": "--bench pi", "analyser": "--umpire on a physical bench"}
LINUX_ONLY = frozenset({"beneath", "stages", "sections"})
CALLED = {"load_options": "--load-option", "drill": "tennis drill"}
Said = tuple[str, str | int | None]  # a setting and its value; None: whatever it is
# settings of which a bench takes one only
APART: tuple[tuple[Said, Said], ...] = (
    (("beneath", "sloth"), ("instrument", "pico")),
    (("beneath", "sloth"), ("racquet", None)),
    (("beneath", "sloth"), ("drill", None)),
    (("stages", None), ("instrument", "pico")),
    (("stages", None), ("beneath", "sloth")),
    (("stages", None), ("racquet", None)),
    (("sections", None), ("instrument", "pico")),
    (("sections", None), ("beneath", "sloth")),
    *(
        (("processors", several), other)
        for several in (2, 4)
        for other in (("beneath", "sloth"), ("witness", None), ("drill", None))
    ),
)
# why a setting belongs where it does, and what to do instead; both may be empty
WHY: dict[str, tuple[str, str]] = {
    "port": ("the virtual bench has no port", ""),
    "target": ("the virtual bench boots its own", ""),
    "load_options": ("", "without --target, start it yourself"),
    "instruction_ns": ("only there you can choose it", ""),
    "stage": ("on a board, the Racquet that was installed there answers", ""),
    "processors": ("you cannot choose a board's processors", ""),
    "racquet": ("", "on a board, build and load it yourself, and play without --target"),
    "drill": ("nothing would start the drill there", "name the board that tennis manages"),
    "witness": ("without --target, nobody starts it there", ""),
    "stages": ("the stages are those of Linux", ""),
    "sections": ("on a board, nobody sees when its interrupts were masked", ""),
}


@dataclass(frozen=True)
class Capabilities:
    """What a bench takes of ``SETTINGS``."""

    name: str  # as tables have it
    where: str  # the option that asks for this bench
    takes: frozenset[str]
    instruments: tuple[InstrumentKind, ...]  # the first is the usual one
    system: System = "linux"


def refuse_misfits(
    bench: Capabilities, asked: Mapping[str, Any], every: Sequence[Capabilities]
) -> None:
    """Raise UsageError for the first setting that a bench does not take.

    ``asked``: what somebody asked for, by the names of ``SETTINGS``. ``every``: of all benches.
    """
    instrument = asked.get("instrument")
    if instrument and instrument not in bench.instruments:
        raise UsageError(
            f"--instrument {instrument} needs --bench virtual: a physical bench has a Pico",
            next_step="leave it out",
        )
    for name in SETTINGS:
        if _is_said(asked, name, None) and name not in bench.takes:
            raise _misfit(name, bench, every)
    for one, other in APART:
        if _is_said(asked, *one) and _is_said(asked, *other):
            raise UsageError(
                f"{option_of(*one)} cannot be used with {option_of(*other)}",
                next_step="leave one of them out",
            )


def _is_said(asked: Mapping[str, Any], name: str, value: str | int | None) -> bool:
    """Tell whether somebody asked for a setting, or for one of its values."""
    # what a command says if nobody did; 0 is a processor's number
    said = asked.get(name) not in (None, "", "none", {}) and asked.get(name) is not False
    return said and (value is None or value == asked[name])


def option_of(name: str, value: str | int | None = None) -> str:
    """Return a setting as it is written on the command line."""
    option = CALLED.get(name, f"--{name.replace('_', '-')}")
    return f"{option} {value}" if value else option


def _misfit(name: str, bench: Capabilities, every: Sequence[Capabilities]) -> UsageError:
    option = option_of(name)
    if bench.system == "sloth" and name not in LINUX_ONLY:
        return UsageError(
            f"{option} needs a Linux kernel; SLOTH has none", next_step="leave it out"
        )
    places = [can.where for can in every if name in can.takes and can.where]
    if "--bench pi" in places:  # with --target as without
        places.remove("--target")
    linux = "Linux on " if name in LINUX_ONLY else ""
    why, instead = WHY.get(name, ("", ""))
    because = f": {why}" if why else ""
    place = BELONGS.get(name) or " or ".join(dict.fromkeys(places))
    return UsageError(f"{option} needs {linux}{place}{because}", next_step=instead)


def settings_of(plan: Plan) -> dict[str, Any]:
    """Return what a plan asks a bench for."""
    return {
        name: value
        for name in SETTINGS
        if name in Plan.model_fields
        and (value := getattr(plan, name)) != Plan.model_fields[name].default
    }
