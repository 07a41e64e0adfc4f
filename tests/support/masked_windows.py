"""The most instructions that SLOTH's monitor executes while a task may not begin.

Interrupts are masked from an exception, or ``msr daifset``, until ``msr daifclr`` or ``eret``. When
the monitor asks the controller for the most urgent task (the labels ``acknowledge_*``), a task that
pends is not passed over; so a window ends there, and another one begins. All paths through the
binary are walked, calls included; masked code must have no loop.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.processes import run_to_end

VECTORS = (0x280, 0x400, 0x480)  # an interrupt of the monitor's, a trap of Linux', an interrupt
LINE = re.compile(r"^\s*([0-9a-f]+):\t[0-9a-f]{8} \t(\S+)\s*(.*)$")
LABEL = re.compile(r"^([0-9a-f]{16}) <(\S+)>:$")
NEVER = {"monitor_fault"}  # ends all


@dataclass(frozen=True)
class Instruction:
    name: str
    operands: str

    @property
    def target(self) -> int:
        """Return the target of the branch."""
        return int(re.split(r"[ ,]+", self.operands.split(" <", maxsplit=1)[0])[-1], 16)

    @property
    def unmasks(self) -> bool:
        return self.name == "eret" or (self.name == "msr" and self.operands.startswith("daifclr"))

    @property
    def masks(self) -> bool:
        return self.name == "msr" and self.operands.startswith("daifset")


class Monitor:
    """The monitor's code."""

    def __init__(self, elf: Path) -> None:
        text = run_to_end(["aarch64-linux-gnu-objdump", "-d", str(elf)], check=True).stdout
        self.code: dict[int, Instruction] = {}
        self.labels: dict[str, int] = {}
        for line in text.splitlines():
            if match := LABEL.match(line):
                self.labels[match[2]] = int(match[1], 16)
            elif match := LINE.match(line):
                operands = match[3].split("//")[0].strip()
                self.code[int(match[1], 16)] = Instruction(match[2], operands)
        self.names = {at: name for name, at in self.labels.items()}
        self.asks = {at for name, at in self.labels.items() if name.startswith("acknowledge_")}

    def windows(self) -> dict[str, int]:
        """Return the longest window that begins at each place, in instructions."""
        found = {}
        for offset in VECTORS:
            found[f"vector {offset:#x}"] = self._longest(self.labels["vectors"] + offset)
        for at, instruction in self.code.items():
            if instruction.masks and not self._boots(at):
                found[f"{at:#x} {self._function(at)}"] = 1 + self._longest(at + 4)
        for at in self.asks:
            found[f"{at:#x} acknowledge"] = 1 + self._longest(at + 4)
        return found

    def _function(self, at: int) -> str:
        named = [x for x, name in self.names.items() if x <= at and "acknowledge" not in name]
        return self.names[max(named)]

    def _boots(self, at: int) -> bool:
        return self._function(at) in {"monitor_start", "enter", "interrupts_start"}

    @cache  # noqa: B019 (one monitor, a few thousand places)
    def _callers(self, name: str) -> tuple[int, ...]:
        """Return the places to which a function returns; a task returns to who called a pointer."""
        calls = [
            at + 4
            for at, i in self.code.items()
            if i.name == "bl" and i.target == self.labels[name]
        ]
        if name.endswith("_task"):
            calls += [at + 4 for at, i in self.code.items() if i.name == "blr"]
        return tuple(calls)

    def _longest(self, start: int) -> int:
        longest: dict[tuple[int, tuple[int, ...]], int] = {}
        walking: set[tuple[int, tuple[int, ...]]] = set()
        # a stack of our own: paths are longer than Python's
        todo: list[tuple[int, tuple[int, ...]]] = [(start, ())]
        while todo:
            place = todo[-1]
            if place in longest:
                todo.pop()
                continue
            after = self._after(*place)
            missing = [p for p in after if p not in longest]
            if not missing:
                longest[place] = 1 + max((longest[p] for p in after), default=0)
                walking.discard(place)
                todo.pop()
                continue
            walking.add(place)
            for p in missing:
                if p in walking:
                    raise AssertionError(f"masked code has a loop at {p[0]:#x}")
            todo += missing
        return longest[start, ()]

    def _after(  # noqa: PLR0911 (a kind of instruction each)
        self, at: int, stack: tuple[int, ...]
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Return where execution may go on; nothing: the window ends with this instruction."""
        i, following = self.code[at], at + 4
        if i.unmasks or at in self.asks:
            return []
        if i.name == "ret":
            if stack:
                return [(stack[-1], stack[:-1])]
            return [(back, ()) for back in self._callers(self._function(at))]
        if i.name == "blr":
            raise AssertionError(f"masked code calls a pointer at {at:#x}")
        if i.name == "bl":
            if self.names.get(i.target) in NEVER:
                return []
            return [(i.target, (*stack, following))]
        if i.name == "b":
            return [(i.target, stack)]
        if i.name.startswith(("b.", "cb", "tb")):
            return [(i.target, stack), (following, stack)]
        return [(following, stack)]
