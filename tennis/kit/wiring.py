"""The wiring of a physical bench, from its one source, ``kit-firmware/wiring.toml``."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tennis.kit.checkout import ROOT
from tennis.kit.errors import TennisError

SOURCE = ROOT / "kit-firmware" / "wiring.toml"
# The pin of each GPIO of a Pico (and a Pico 2); the others of the 40 are ground, power and such.
PICO_PINS = dict(
    zip(
        (*range(23), 26, 27, 28),
        # every pin that is neither ground, power nor a control; GP23 to GP25 have none
        (pin for pin in range(1, 35) if pin not in {3, 8, 13, 18, 23, 28, 30, 33}),
        strict=True,
    )
)
PICO_GROUND_PINS = (3, 8, 13, 18, 23, 28, 33, 38)
# The pin of each BCM number on the Raspberry Pi's 40-pin header.
TARGET_PINS = {
    **{2: 3, 3: 5, 4: 7, 14: 8, 15: 10, 17: 11, 18: 12, 27: 13, 22: 15, 23: 16, 24: 18, 10: 19},
    **{9: 21, 25: 22, 11: 23, 8: 24, 7: 26, 5: 29, 6: 31, 12: 32, 13: 33, 19: 35, 16: 36, 26: 37},
    **{20: 38, 21: 40},
}
TARGET_GROUND_PINS = (6, 9, 14, 20, 25, 30, 34, 39)
TARGET_5V_PINS = (2, 4)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Ground(_Part):
    """The wire without which the others mean nothing."""

    pico_pin: int
    target_pin: int
    target_pico_pin: int  # if the target is a second Pico


class Wire(_Part):
    """The connection of one of the Pico's pins."""

    name: str
    pico_gpio: int
    pico_pin: int
    target_bcm: int | None = None
    target_pin: int | None = None
    target_pico_gpio: int | None = None
    target_pico_pin: int | None = None
    resistor_ohm: int | None = None  # in series
    direction: Literal["to target", "to Pico", "from Pico"]
    purpose: str


class _ToGround(_Part):
    """A resistor from a wire's end at the Pico to ground, which some boards need."""

    wire: str
    resistor_ohm: int
    boards: list[str]  # words of what a board calls itself
    purpose: str


class _Jumper(_Part):
    """A wire between two pins of the same Pico, by the names of the wires."""

    origin: str = Field(alias="from")
    to: str


class Wiring(_Part):
    """All of ``wiring.toml``."""

    ground: _Ground
    wires: list[Wire] = Field(alias="wire")
    to_ground: list[_ToGround] = []
    jumpers: list[_Jumper] = Field(alias="jumper")

    def wire(self, name: str) -> Wire:
        """Return a wire by its name."""
        return next(wire for wire in self.wires if wire.name == name)

    def to_ground_words(self, board: str) -> list[str]:
        """Say which resistors to ground a board needs, from pin to pin; ``board`` as it is called.

        A Brickwall calls itself ``Raspberry Pi Pico2 with RP2350``, others end in the chip, too.
        """
        name = board.replace(" ", "").lower()
        return [
            f"{part.resistor_ohm} Ω from GP{self.wire(part.wire).pico_gpio} (pin "
            f"{self.wire(part.wire).pico_pin}) to ground (pin {self.ground.pico_pin})"
            for part in self.to_ground
            if any(known.replace(" ", "").lower() in name for known in part.boards)
        ]

    def firmware_json(self) -> str:
        """Return ``wiring.json`` as the firmware reads it: name -> GP number."""
        pins = {wire.name: wire.pico_gpio for wire in self.wires}
        return json.dumps(pins, separators=(",", ":")) + "\n"

    def jumper_words(self) -> str:
        """Name the ends of the jumpers of the self-test: ``GP2-GP6 and GP7-GP3``."""
        return " and ".join(
            f"GP{self.wire(jumper.origin).pico_gpio}-GP{self.wire(jumper.to).pico_gpio}"
            for jumper in self.jumpers
        )

    def jumper_ohms(self) -> list[int]:
        """Return the ohms in series in each jumper of the self-test: the resistors of its ends."""
        ends = ((self.wire(jumper.origin), self.wire(jumper.to)) for jumper in self.jumpers)
        return [sum(wire.resistor_ohm or 0 for wire in both) for both in ends]


@cache
def wiring(source: Path = SOURCE) -> Wiring:
    """Read the wiring. Raises TennisError if it contradicts itself or the boards."""
    try:
        read = Wiring.model_validate(tomllib.loads(source.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise TennisError(f"{source}: {error}: restore it from the repository") from error
    wrong = _contradictions(read)
    if wrong:
        raise TennisError(f"{source}: {wrong[0]}: correct the pin")
    return read


def _contradictions(wiring: Wiring) -> list[str]:
    wrong = []
    for wire in wiring.wires:
        if PICO_PINS.get(wire.pico_gpio) != wire.pico_pin:
            wrong.append(f"{wire.name}: GP{wire.pico_gpio} is not pin {wire.pico_pin} of a Pico")
        if (wire.target_bcm is None) != (wire.target_pin is None) or (
            wire.target_bcm is not None and TARGET_PINS.get(wire.target_bcm) != wire.target_pin
        ):
            wrong.append(f"{wire.name}: BCM{wire.target_bcm} is not pin {wire.target_pin}")
        second = wire.target_pico_gpio
        if second is not None and PICO_PINS.get(second) != wire.target_pico_pin:
            wrong.append(f"{wire.name}: GP{second} is not pin {wire.target_pico_pin} of a Pico")
    used: tuple[list[int | str], ...] = (
        [wire.pico_gpio for wire in wiring.wires],
        [wire.target_bcm for wire in wiring.wires if wire.target_bcm is not None],
        [wire.name for wire in wiring.wires],
    )
    for numbers in used:
        wrong += [f"{number} is used twice" for number in numbers if numbers.count(number) > 1]
    names = {wire.name for wire in wiring.wires}
    for jumper in wiring.jumpers:
        wrong += [f"no wire {name}" for name in (jumper.origin, jumper.to) if name not in names]
    wrong += [f"no wire {part.wire}" for part in wiring.to_ground if part.wire not in names]
    for pin in (wiring.ground.pico_pin, wiring.ground.target_pico_pin):
        if pin not in PICO_GROUND_PINS:
            wrong.append(f"pin {pin} of a Pico is not ground")
    if wiring.ground.target_pin not in TARGET_GROUND_PINS:
        wrong.append(f"pin {wiring.ground.target_pin} of the header is not ground")
    return wrong
