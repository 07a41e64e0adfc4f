"""The firmware's PIO programs, read from its own source and assembled by somebody else's assembler.

MicroPython's decorator runs a function whose names are instructions; this one writes down what each
is called in the language of pioasm.
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

from adafruit_pioasm import Program

from tennis.kit.checkout import ROOT

_CONDITIONS = {"not_x": "!x", "x_dec": "x--", "not_y": "!y", "y_dec": "y--", "pin": "pin"}
_NAMES = ("x", "y", "isr", "osr", "pins", "pin", "null", "x_dec", "y_dec", "not_x", "not_y")


@dataclass
class Assembled:
    """A program, and what the emulator must know about its configuration."""

    name: str
    options: dict[str, Any]
    lines: list[str] = field(default_factory=list)

    @property
    def program(self) -> Program:
        return Program("\n".join([f".program {self.name}", *self.lines]))

    @property
    def opcodes(self) -> list[int]:
        return list(self.program.assembled)

    @property
    def emulation(self) -> dict[str, Any]:
        """Return what pioemu.emulate takes."""
        wrap = self.program.pio_kwargs
        return {
            "opcodes": self.opcodes,
            "wrap_target": wrap.get("wrap_target", 0),
            "wrap_top": wrap.get("wrap", len(self.opcodes) - 1),
            "auto_push": self.options.get("autopush", False),
            "auto_pull": self.options.get("autopull", False),
            "shift_isr_right": False,
            "shift_osr_right": self.options.get("out_shiftdir") == "right",
        }


@dataclass
class _Delay:
    """The instruction that was just written: an index behind it is its delay."""

    lines: list[str]

    def __getitem__(self, cycles: int) -> None:
        self.lines[-1] += f" [{cycles}]"


def _asm_pio(**options: Any) -> Callable[[Callable[[], None]], Assembled]:
    def decorate(function: Callable[[], None]) -> Assembled:
        made = Assembled(function.__name__, options)

        def write(line: str) -> _Delay:
            made.lines.append(line)
            return _Delay(made.lines)

        def jmp(*words: str) -> _Delay:
            *condition, label = words
            return write(" ".join(["jmp", *(_CONDITIONS[word] for word in condition), label]))

        names: dict[str, Any] = {name: name for name in _NAMES} | {
            "jmp": jmp,
            "label": lambda name: write(f"{name}:"),
            "wrap_target": lambda: write(".wrap_target"),
            "wrap": lambda: write(".wrap"),
            "in_": lambda source, bits: write(f"in {source}, {bits}"),
            "out": lambda target, bits: write(f"out {target}, {bits}"),
            "mov": lambda target, source: write(f"mov {target}, {source}"),
            "set": lambda target, value: write(f"set {target}, {value}"),
            "wait": lambda level, source, index: write(f"wait {level} {source} {index}"),
            "pull": lambda how: write(f"pull {how}"),
            "block": "block",
        }
        kept = dict(function.__globals__)
        function.__globals__.update(names)
        try:
            function()
        finally:
            function.__globals__.clear()
            function.__globals__.update(kept)
        return made

    return decorate


def load(name: str) -> Any:
    """Return a module of the firmware with assembled programs."""
    pio = SimpleNamespace(OUT_LOW=2, SHIFT_LEFT="left", SHIFT_RIGHT="right", JOIN_RX=2)
    rp2, machine = ModuleType("rp2"), ModuleType("machine")
    vars(rp2).update(PIO=pio, asm_pio=_asm_pio, DMA=None, StateMachine=None)
    vars(machine).update(Pin=SimpleNamespace(PULL_DOWN=None), mem32=None)
    uctypes = ModuleType("uctypes")
    vars(uctypes).update(addressof=None)
    folders = [str(ROOT / "kit-firmware" / folder) for folder in ("brickwall", "generator")]
    wires = ModuleType("wires")
    fakes = {"wires": wires, "rp2": rp2, "machine": machine, "uctypes": uctypes}
    with mock.patch.dict(sys.modules, fakes), mock.patch.object(sys, "path", folders + sys.path):
        (path,) = (p for folder in folders for p in Path(folder).glob(f"{name}.py"))
        spec = importlib.util.spec_from_file_location(f"firmware_{name}", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
