"""The steps of a commissioning: plugs, measurements, and the meaning of failures.

Terminal, record, check-list and the table of symptoms for the room take their words from
``steps.toml``, and the pins from ``kit-firmware/wiring.toml``.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tennis.kit.wiring import TARGET_5V_PINS, Wire, wiring

FILE = Path(__file__).with_name("steps.toml")
# words of the file that are several lines of a picture
WIRES = ("ping", "reply", "listen", "answer")
# what a processor counts for a ball in the step misses, as perf calls it
EVENTS = (
    "l1i_cache_refill",
    "l1d_cache_refill",
    "l2d_cache_refill",
    "l1i_tlb_refill",
    "l1d_tlb_refill",
)
LINES = re.compile(r"\{(jumper_lines|second_pico_lines)\}")


@dataclass(frozen=True)
class Failure:
    """A possible failure of a step."""

    name: str
    symptom: str
    means: str
    mend: str
    in_lesson: bool = False  # happens to a bench that played before


@dataclass(frozen=True)
class Step:
    """One step; ``after``: steps that must have passed."""

    name: str
    title: str
    plug: tuple[str, ...]
    measures: str
    passes: str
    failures: tuple[Failure, ...] = ()
    after: tuple[str, ...] = ()
    wires: tuple[str, ...] = ()  # which its picture shows, besides ground
    jumpers: bool = False  # its picture shows them
    warning: str = ""
    target: bool = False  # there is nothing to do without a target that is reached over SSH
    board: bool = False  # there is nothing to do without one that is reached over SSH
    second_pico: bool = False  # there is nothing to do without one
    optional: bool = False

    def failure(self, name: str) -> Failure:
        """Return one of its failures."""
        return next(failure for failure in self.failures if failure.name == name)

    @property
    def dependents(self) -> set[str]:
        """Return the steps that depend on it, directly or not."""
        found: set[str] = set()
        for one in steps():
            if self.name in one.after or found & set(one.after):
                found.add(one.name)
        return found


def _wire_line(name: str) -> str:
    """Draw a wire, as a line of a terminal's picture."""
    wire = wiring().wire(name)
    middle = f"[{wire.resistor_ohm} Ω]" if wire.resistor_ohm else "───────"
    ends = f"Pico pin {wire.pico_pin} (GP{wire.pico_gpio})"
    return f"{ends} ──{middle}── pin {wire.target_pin} (BCM{wire.target_bcm}) of the target"


def _ground_line() -> str:
    """Draw the ground wire."""
    ground = wiring().ground
    return f"Pico pin {ground.pico_pin} (GND) ───────── pin {ground.target_pin} of the target"


def _far_ends() -> Iterator[tuple[str, Wire]]:
    """Yield each of the Pico's wires up to its far end, and the wire that answers there."""
    known = wiring()
    for jumper in known.jumpers:
        ends = known.wire(jumper.origin), known.wire(jumper.to)
        here, there = ends if ends[0].target_pin else ends[::-1]
        begins = f"Pico pin {here.pico_pin} (GP{here.pico_gpio}, {here.name})"
        yield f"{begins} ──[{here.resistor_ohm} Ω]── pin {there.pico_pin}", there


def _second_pico_lines() -> tuple[str, ...]:
    """Name the places of ground and the wires' far ends on a second Pico."""
    pin = wiring().ground.pico_pin
    ends = (
        f"{line} (GP{there.pico_gpio}, {there.name}) of the second" for line, there in _far_ends()
    )
    return (f"Pico pin {pin} (GND) ── pin {pin} of the second", *ends)


def _five_volts() -> str:
    """Warn of 5 V on a signal."""
    pins = " and ".join(map(str, TARGET_5V_PINS))
    ping, reply = wiring().wire("ping"), wiring().wire("reply")
    return (
        f"Pins {pins} of the target are 5 V. On the reply wire, 5 V destroy GP{reply.pico_gpio} "
        f"of the Pico, and perhaps all of it; on the ping wire, GP{ping.pico_gpio}. Between a 5 V "
        "pin and a signal pin they destroy the target. Do not count on the resistor. Plug with the "
        "target switched off, and count the pins first."
    )


@cache
def steps() -> tuple[Step, ...]:
    """Return all steps in their order, as ``steps.toml`` has them, with the wiring's pins."""
    known = wiring()
    file = tomllib.loads(FILE.read_text(encoding="utf-8"))
    values: dict[str, Any] = {name: known.wire(name) for name in WIRES}
    values |= {f"{name}_line": _wire_line(name) for name in ("ping", "reply")}
    values |= {
        "ground_line": _ground_line(),
        "five_volts": _five_volts(),
        "jumper_words": known.jumper_words(),
    }
    values |= {name: text.format_map(values) for name, text in file["words"].items()}
    jumpers = tuple(f"{line} (GP{there.pico_gpio}) of the same Pico" for line, there in _far_ends())
    lines = {"jumper_lines": jumpers, "second_pico_lines": _second_pico_lines()}

    def filled(value: Any) -> Any:
        """Return a value of the file with its words filled in; a list becomes a tuple."""
        if isinstance(value, list):
            found = ((LINES.fullmatch(text), text) for text in value)
            each = (lines[of[1]] if of else (text.format_map(values),) for of, text in found)
            return tuple(itertools.chain.from_iterable(each))
        return value.format_map(values) if isinstance(value, str) else value

    def step_of(step: dict[str, Any]) -> Step:
        failures = tuple(
            Failure(**{name: filled(value) for name, value in failure.items()})
            for failure in step.pop("failure", ())
        )
        return Step(**{name: filled(value) for name, value in step.items()}, failures=failures)

    return tuple(map(step_of, file["step"]))


def step(name: str) -> Step:
    """Return a step by its name."""
    return next(one for one in steps() if one.name == name)


def names() -> tuple[str, ...]:
    """Return the names of all steps in their order."""
    return tuple(one.name for one in steps())
