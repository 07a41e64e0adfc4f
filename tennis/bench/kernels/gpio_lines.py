"""The GPIO chip that has the Racquet's two lines, and the chips that could have them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tennis.bench.findings import Finding
from tennis.bench.targets.snapshot import Snapshot
from tennis.rally.text import plain

# "gpiochip0: GPIOs 512-519, parent: platform/NAME, LABEL:"; "gpiochip0: 8 GPIOs, ..." as of
# Linux 6.15; ", can sleep" at the end: drivers/gpio/gpiolib.c, gpiolib_seq_show()
_CHIP = re.compile(r"gpiochip\d+: (?:GPIOs (\d+)-(\d+)|(\d+) GPIOs)(.*?)(, can sleep)?:$")
_LINE = re.compile(r" gpio-(\d+) .*\|(ping|reply) +\)")
_OPTION = re.compile(r"(gpiochip|ping_line|reply_line)=(\S+)")
CHIPS_MAX = 64
PAGE = "docs/other-boards.md"


@dataclass(frozen=True)
class _GpioChip:
    """A GPIO chip as /sys/kernel/debug/gpio shows it."""

    label: str
    lines: int
    can_sleep: bool


@dataclass(frozen=True)
class _RacquetLines:
    """The lines that a loaded Racquet holds."""

    chip: str
    offsets: Mapping[str, int]  # in the chip, of "ping" and "reply"


def _gpio_chips(snapshot: Snapshot) -> list[_GpioChip]:
    """Return the chips of a target; none if it does not tell them (root reads debugfs)."""
    return [chip for chip, _ in _chips(snapshot)]


def check_lines(snapshot: Snapshot) -> Finding:
    """Say which lines the Racquet has, or which chips could give it two."""
    held = racquet_lines(snapshot)
    if held:
        ping, reply = held.offsets["ping"], held.offsets["reply"]
        told = f"ping is line {ping}, reply line {reply} of {held.chip}"
        return Finding("good", "lines", told)
    named = snapshot.lines("racquet_lines")
    nodes = [line for line in named if line.startswith("device-tree ")]
    if nodes:
        return Finding("good", "lines", "the device tree names them")
    chips = _gpio_chips(snapshot)
    options = dict(_OPTION.findall(" ".join(_options(named, snapshot.module))))
    if "gpiochip" in options:
        return _check_options(options, chips)
    if not chips:
        return Finding(
            "note",
            "lines",
            "the target does not list its GPIO chips (/sys/kernel/debug/gpio)",
            "log in as root, or with sudo",
        )
    able = [chip for chip in chips if not chip.can_sleep and chip.lines > 1]
    if not able:
        names = ", ".join(plain(chip.label, 40) for chip in chips)
        return Finding(
            "bad",
            "lines",
            f"no GPIO chip can answer from an interrupt: {names} can sleep (I2C, SPI, USB)",
            f"use lines of the processor or its chip set: {PAGE}",
        )
    return Finding(
        "bad",
        "lines",
        f"nothing names the lines of ping and reply; there are {_chip_names(able)}",
        f"write 'options {snapshot.module} gpiochip={plain(able[0].label, 40)} ping_line=A "
        f"reply_line=B' to /etc/modprobe.d/racquet.conf: {PAGE}",
    )


def _options(named: list[str], module: str) -> list[str]:
    """Return modprobe's options for this module, in its order."""
    split = (line.partition(" ") for line in named)
    return [options for name, _, options in split if name == module]


def _check_options(options: dict[str, str], chips: list[_GpioChip]) -> Finding:
    label = options["gpiochip"]
    chip = next((chip for chip in chips if chip.label == label), None)
    lines = [
        options.get(name, default) for name, default in (("ping_line", "0"), ("reply_line", "1"))
    ]
    ping, reply = (plain(line, 10) for line in lines)
    said = f"ping is line {ping}, reply line {reply} of {plain(label, 60)}"
    if not chips:
        return Finding("good", "lines", said)
    if chip is None:
        return Finding(
            "bad",
            "lines",
            f"modprobe's options name {plain(label, 60)}, and no GPIO chip has that label",
            f"take one of {_chip_names(chips)}",
        )
    if chip.can_sleep:
        return Finding(
            "bad",
            "lines",
            f"{plain(label, 60)} can sleep (I2C, SPI, USB): no interrupt can wait for it",
            f"use lines of the processor or its chip set: {PAGE}",
        )
    if lines[0] == lines[1] or not all(
        line.isdecimal() and int(line) < chip.lines for line in lines
    ):
        return Finding(
            "bad", "lines", f"{said}, which has {chip.lines} lines", "name two of them, from 0 on"
        )
    return Finding("good", "lines", said)


def _chip_names(chips: list[_GpioChip]) -> str:
    shown = [f"{plain(chip.label, 40)} ({chip.lines} lines)" for chip in chips[:6]]
    return ", ".join(shown) + (", ..." if len(chips) > len(shown) else "")


def _chips(snapshot: Snapshot) -> Iterator[tuple[_GpioChip, list[tuple[str, int]]]]:
    """Yield each chip, and which of its lines a Racquet holds: name and offset."""
    found: list[tuple[_GpioChip, list[tuple[str, int]]]] = []
    base = 0
    for line in snapshot.lines("gpio"):
        head = _CHIP.match(line.strip())
        if head and len(found) < CHIPS_MAX:
            first, last, count, names, sleeps = head.groups()
            base = int(first or 0)
            lines = int(count) if count else int(last) - base + 1
            found.append((_GpioChip(names.rpartition(", ")[2], lines, bool(sleeps)), []))
        elif (held := _LINE.match(line)) and found:
            found[-1][1].append((held[2], int(held[1]) - base))
    yield from found


def racquet_lines(snapshot: Snapshot) -> _RacquetLines | None:
    """Return the lines that a loaded Racquet holds; None if the target reports none."""
    for chip, lines in _chips(snapshot):
        offsets = dict(lines)
        if {"ping", "reply"} <= offsets.keys():
            return _RacquetLines(plain(chip.label, 60), offsets)
    return None
