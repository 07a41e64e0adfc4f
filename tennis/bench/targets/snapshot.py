"""A target's description of itself: the text that ``target/snapshot`` writes, read and bounded."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tennis.bench.configuration import Flavour, flavour_of, read_config
from tennis.bench.flavours import RACQUETS
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError
from tennis.rally.text import plain

SCRIPT = ROOT / "target" / "snapshot"
SIZE_MAX = 1 << 22  # bytes; a kernel's configuration has about 300,000
LINES_MAX = 60_000


@dataclass(frozen=True)
class Snapshot:
    """Facts by their names, each some lines; and the text that they came from."""

    facts: Mapping[str, list[str]]
    text: str

    def lines(self, name: str) -> list[str]:
        """Return the lines of a fact; none if the target does not report it."""
        return [line for line in self.facts.get(name, []) if line.strip()]

    def line(self, name: str) -> str | None:
        """Return the first line of a fact, in plain text; or None."""
        lines = self.lines(name)
        return plain(lines[0], 4000) if lines else None

    def pairs(self, name: str) -> dict[str, str]:
        """Return a fact of lines "KEY VALUE..." as a dictionary."""
        split = (line.partition(" ") for line in self.lines(name))
        return {plain(key, 100): plain(value) for key, _, value in split}

    @cached_property
    def config(self) -> dict[str, str]:
        """Return the kernel's configuration; empty if the target does not tell it."""
        return read_config("\n".join(self.facts.get("config", [])))

    @property
    def config_sha256(self) -> str | None:
        """Return the hash of the kernel's configuration."""
        line = self.line("config_sha256")
        return line if self.config and line and re.fullmatch(r"[0-9a-f]{64}", line) else None

    @property
    def flavour(self) -> Flavour:
        """Return the flavour of the kernel that runs; by other signs if there is no config."""
        if self.config:
            return flavour_of(self.config)
        if self.lines("evl"):
            return "evl"
        if self.lines("cobalt"):
            return "cobalt"
        real_time = self.line("realtime") == "1" or "PREEMPT_RT" in (self.line("version") or "")
        return "rt" if real_time else "mainline"

    @property
    def module(self) -> str:
        """Return the name of the Racquet that this kernel takes."""
        return RACQUETS[self.flavour].module


def read(text: str) -> Snapshot:
    """Read what ``target/snapshot`` wrote. Raises BenchError if it is cut off or too long."""
    facts: dict[str, list[str]] = {}
    lines: list[str] = []
    if len(text) > SIZE_MAX or text.count("\n") > LINES_MAX:
        raise BenchError("the target's snapshot is too long: is that its own script's output?")
    for line in text.splitlines():
        if line.startswith("= "):
            lines = facts.setdefault(plain(line[2:], 100), [])
        elif line.startswith(" "):
            lines.append(line[1:])
    if "end" not in facts:
        raise BenchError(
            "the target's snapshot is cut off", next_step="try again, and look at its load"
        )
    return Snapshot(facts, text)


def script() -> bytes:
    """Return the script that a target's shell reads."""
    return Path(SCRIPT).read_bytes()
