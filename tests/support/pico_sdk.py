"""The Pico SDK of Debian's package, and its descriptions (SVD) of a chip's registers.

The chip's makers generate the SDK's header files and these descriptions from one source.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from tennis.bench.cache import once
from tennis.bench.debian import Suite, host_architecture

CHIPS = ("rp2040", "rp2350")


def sdk() -> Path:
    """Return the SDK's ``src``, fetched once."""

    def fetch(folder: Path) -> None:
        suite = Suite("trixie", host_architecture())
        suite.update()
        suite.unpack([suite.package("pico-sdk-source")], folder)

    return once("tests", "pico-sdk", fetch) / "usr" / "src" / "pico-sdk" / "src"


@dataclass(frozen=True)
class Field:
    """Some bits of a register, and what their values are called."""

    low: int
    high: int
    values: dict[str, int]

    @property
    def mask(self) -> int:
        return (1 << self.high + 1) - (1 << self.low)


@dataclass(frozen=True)
class Register:
    """A register by its name, ``PIO1.CTRL``."""

    name: str
    reset: int
    fields: dict[str, Field]

    def read(self, value: int) -> dict[str, int]:
        """Return the fields that are not 0; a bit that no field has comes as ``?``."""
        found = {n: (value & f.mask) >> f.low for n, f in self.fields.items() if value & f.mask}
        known = sum(field.mask for field in self.fields.values())
        return found | ({"?": value & ~known} if value & ~known else {})


class Chip:
    """A chip's registers, by name and by address."""

    def __init__(self, name: str) -> None:
        regs = sdk() / name / "hardware_regs"
        self._registers = dict(_registers(regs / f"{name.upper()}.svd"))
        self._by_name = {register.name: register for register in self._registers.values()}
        # the aliases that set and clear are in no SVD
        header = (regs / "include/hardware/regs/addressmap.h").read_text()
        found = re.findall(r"REG_ALIAS_(\w+)_BITS +\(_u\((\w+)\) << _u\((\w+)\)\)", header)
        self._aliases = {alias: int(bits, 0) << int(by) for alias, bits, by in found}
        assert self._aliases.keys() == {"RW", "XOR", "SET", "CLR"}

    def __getitem__(self, name: str) -> Register:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def at(self, address: int) -> tuple[Register, str]:
        """Return what is at an address, and by which alias: RW, XOR, SET, CLR."""
        for alias, offset in self._aliases.items():
            if address - offset in self._registers:
                return self._registers[address - offset], alias
        raise KeyError(f"no register is at {address:#x}")


@cache
def chip(name: str) -> Chip:
    """Return a chip of CHIPS."""
    return Chip(name)


def _registers(svd: Path) -> Iterator[tuple[int, Register]]:
    tree = ElementTree.parse(svd)  # noqa: S314 (of a package whose hash apt has checked)
    homes = {home.findtext("name"): home for home in tree.iter("peripheral")}
    for name, home in homes.items():
        model = homes[home.get("derivedFrom", name)]
        for register in model.iter("register"):
            address = _number(home, "baseAddress") + _number(register, "addressOffset")
            full = f"{name}.{register.findtext('name')}"
            fields = {field.findtext("name", ""): _field(field) for field in register.iter("field")}
            yield address, Register(full, int(register.findtext("resetValue", "0"), 0), fields)


def _field(field: ElementTree.Element) -> Field:
    found = re.fullmatch(r"\[(\d+):(\d+)\]", field.findtext("bitRange", ""))
    assert found
    values = {
        value.findtext("name", ""): _number(value, "value")
        for value in field.iter("enumeratedValue")
    }
    return Field(int(found[2]), int(found[1]), values)


def _number(element: ElementTree.Element, name: str) -> int:
    return int(element.findtext(name, ""), 0)
