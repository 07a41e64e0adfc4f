"""Compatibility: the settings that each bench takes, and one sentence for the others.

The table of settings (``rally.settings``) says who takes which of them, ``registry.benches`` which
benches there are. Halves and priorities of a kernel are in ``flavours``, a load's options in
``loads/*/load.toml``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tennis.bench.loads import System
from tennis.kit.errors import UsageError
from tennis.rally.plan import Plan
from tennis.rally.settings import EVERY_BENCH, SETTINGS, InstrumentKind, option_of
from tennis.rally.shots import are_shots

# what not every bench takes
CHOSEN = tuple(name for name, row in SETTINGS.items() if row.benches is not EVERY_BENCH)


@dataclass(frozen=True)
class Capabilities:
    """The settings that a bench takes, of those that not every bench does."""

    name: str  # as tables have it
    where: str  # the option that asks for this bench
    takes: frozenset[str]
    instruments: tuple[InstrumentKind, ...]  # the first is the usual one
    system: System = "linux"
    # settings that every bench takes, of which this one has these values only; the first is the
    # usual one. Others are refused before anything is played, also by `tennis match --list`
    has: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def refuse_misfits(self, options: Mapping[str, Any], every: "Sequence[Capabilities]") -> None:
        """Raise UsageError for the first setting that the bench does not take.

        ``options``: what somebody asked for, by the names of the table. ``every``: of all benches.
        """
        instrument = options.get("instrument")
        if instrument and instrument not in self.instruments:
            there = sorted({name for one in every for name in one.instruments})
            if instrument not in there:
                raise UsageError(
                    f"there is no instrument {instrument}", next_step=f"use {' or '.join(there)}"
                )
            if self.where.startswith("--kernel"):
                raise UsageError(
                    f"{self.where} has no --instrument {instrument}", next_step="leave it out"
                )
            raise UsageError(
                f"--instrument {instrument} needs --bench virtual: a physical bench has a Pico",
                next_step="leave it out",
            )
        for name, values in self.has.items():
            if options.get(name, values[0]) not in values:
                raise UsageError(
                    f"{self.where} has no {option_of(name, options[name])}",
                    next_step=f"use {' or '.join(values)}, or leave it out",
                )
        for name in CHOSEN:
            if _is_asked(options, name) and name not in self.takes:
                raise _misfit(name, self, every)
        for name, row in SETTINGS.items():
            if row.parameter and _is_asked(options, name):
                _refuse_given_twice(name, options)
            for apart in row.apart:
                other = apart.other
                if other == "instrument" and len(self.instruments) == 1:
                    continue  # nobody chose it there: a board's Pico, while others are emulated
                if _is_asked(options, name, apart.own) and _is_asked(options, other, apart.values):
                    one = f" {options[name]}" if apart.own else ""
                    its = f" {options[other]}" if apart.values else ""
                    raise UsageError(
                        f"{option_of(name)}{one} cannot be used with {option_of(other)}{its}"
                        f"{f': {apart.why}' if apart.why else ''}",
                        next_step="leave one of them out",
                    )


def _refuse_given_twice(name: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError if the kernel would get a setting's word twice."""
    own = SETTINGS[name].parameter.replace("-", "_")  # the kernel reads both alike
    for word in (options.get("command_line") or "").split():
        if word.partition("=")[0].replace("-", "_") == own:
            raise UsageError(
                f"{option_of(name, options[name])} cannot be used with --command-line {word}: the "
                "kernel would get the word twice",
                next_step="leave one of them out",
            )


def _is_asked(options: Mapping[str, Any], name: str, values: Collection[Any] = ()) -> bool:
    """Tell whether somebody asked for a setting; ``values``: for one of these values."""
    # what a command passes if nobody asked; 0 is a processor's number
    has_value = options.get(name) not in (None, "", "none", {}) and options.get(name) is not False
    return has_value and (not values or options[name] in values)


def _misfit(name: str, bench: Capabilities, every: Sequence[Capabilities]) -> UsageError:
    option, row = option_of(name), SETTINGS[name]
    if bench.system == "sloth" and "Linux only" not in row.traits:
        return UsageError(
            f"{option} needs a Linux kernel; SLOTH has none", next_step="leave it out"
        )
    places = [can.where for can in every if name in can.takes and can.where]
    if "--bench pi" in places or name == "target":  # with --target as without
        places = ["--bench pi" if place == "--target" else place for place in places]
    linux = "Linux on " if "Linux only" in row.traits else ""
    because = f": {row.why}" if row.why else ""
    place = " or ".join(dict.fromkeys(places))
    if bench.where.startswith("--kernel"):  # the bench is the right one
        place = place.replace("--bench virtual", "another kernel of --bench virtual")
        option = f"{bench.where} takes no {option}: that"
    return UsageError(f"{option} needs {linux}{place}{because}", next_step=row.instead)


def settings_of(plan: Plan) -> dict[str, Any]:
    """Return what a plan asks a bench for."""
    chosen = {
        name: value
        for name in CHOSEN
        if name in Plan.model_fields and (value := getattr(plan, name)) != SETTINGS[name].default
    }
    return chosen | ({"shots": plan.protocol.balls} if are_shots(plan.protocol) else {})
