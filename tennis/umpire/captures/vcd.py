# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Value change dumps (IEEE 1364): the text form that every logic analyser can export.

pyvcd's reader was tried in place of this one. It takes 5 to 7 times as long for 800,000 changes,
and holds a word or a comment in memory however long it is: a stranger's file must not do that.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from tennis.rally.text import plain
from tennis.umpire.captures.channels import Wires, chosen
from tennis.umpire.captures.edges import (
    MAX_SECONDS,
    Capture,
    CaptureError,
    Edges,
    MissingError,
    alternating,
    merged,
)
from tennis.umpire.captures.resolution import resolve, said_rate, sampling_rate
from tennis.umpire.captures.text import opened_text, pass_over

BLOCK = 1 << 20  # bytes read at once
MAX_HEADER = 1 << 20  # bytes
MAX_WORD = 1 << 12  # bytes
MAX_TIME = 1 << 62  # ticks
SECONDS = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15}
MAX_SCOPES = 32
MAX_WIDTH = 64  # bits of a variable
TIMESCALE = r"\$timescale\s+([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(s|ms|us|ns|ps|fs)\s*\$end"
DEFINITION = (
    r"\$scope\s+\w+\s+(?P<scope>\S{1,256})\s+\$end|\$upscope\s+\$end|"
    r"\$var\s+(?P<kind>\w+)\s+(?P<width>[0-9]{1,6})\s+(?P<key>\S{1,64})\s+"
    r"(?P<name>.{1,256}?)\s*\$end"
)
# low, high, neither: the four values of IEEE 1364, and the nine of IEEE 1164, which VHDL's tools
# dump: uninitialised, unknown and high impedance, weak ones of both levels and of none, any
LEVELS = {b"0": 0, b"L": 0, b"1": 1, b"H": 1, b"X": 2, b"Z": 2, b"U": 2, b"W": 2, b"-": 2}
LEVELS |= {value.lower(): says for value, says in LEVELS.items()}
OF_A_WIRE = frozenset(ord(value) for value in LEVELS)  # what a change of one bit begins with
EXTENDED = "it is an extended VCD (of $dumpports); export a plain one ($dumpvars)"
NO_WIRES = {"real", "realtime", "time", "string", "event", "parameter"}
DAMAGED = "it was truncated or damaged; export it again"


def open_vcd(path: Path, wires: Wires) -> Capture:
    """Open a value change dump. Raises CaptureError."""
    with opened_text(path) as file:
        try:
            head = file.read(MAX_HEADER)
        except UnicodeError as error:
            raise CaptureError(f"{path} is not a text in UTF-16", next_step=DAMAGED) from error
    end = re.search(rb"\$enddefinitions\s+\$end", head)
    if not end:
        raise CaptureError(f"{path} has no end of its definitions", next_step=DAMAGED)
    text = head[: end.end()].decode("utf-8", errors="replace")
    scale = re.search(TIMESCALE, text, re.IGNORECASE)
    if not scale or not Fraction(scale[1]):
        raise CaptureError(f"{path} has no timescale", next_step=DAMAGED)
    rate = sampling_rate(path, Fraction(10 ** SECONDS[scale[2].lower()]) / Fraction(scale[1]))
    bits = _bits(text)
    names = [plain(bit.name, 40) for bit in bits]
    if len(bits) < 2 and re.search(r"\$var\s+real\s", text):
        raise CaptureError(
            f"{path} holds voltages", next_step="export them as CSV, which is read, too"
        )
    which, notes = chosen(path, names, wires)

    def read(capture: Capture) -> Iterator[Edges]:
        return _read(capture, end.end(), bits[which[0]], bits[which[1]])

    capture = Capture(
        path=path,
        form="VCD",
        tick_hz=rate,
        ping=names[which[0]],
        reply=names[which[1]],
        names=names,
        read=read,
        notes=notes,
    )
    resolve(capture, Fraction(1), said_rate(text), wires.rate_hz)
    return capture


@dataclass(frozen=True)
class _Bit:
    """One bit of a variable."""

    name: str
    key: bytes
    bit: int = 0  # from the right
    width: int = 1


def _bits(text: str) -> list[_Bit]:
    """Return all bits that the definitions name, each once."""
    found: list[tuple[str, str, str, _Bit]] = []  # name, name with its bit, with its scopes
    scopes: list[str] = []
    seen: set[tuple[str, int]] = set()
    for match in re.finditer(DEFINITION, text, re.DOTALL):
        if match["scope"]:
            scopes = [*scopes, match["scope"]][:MAX_SCOPES]
            continue
        if not match["kind"]:
            scopes = scopes[:-1]
            continue
        if match["kind"] in NO_WIRES:
            continue
        width, key = int(match["width"]), match["key"]
        whole = " ".join(match["name"].split()).removeprefix("\\").strip()
        select = re.search(r"\s*\[(\d{1,4})(?::(\d{1,4}))?\]$", whole)
        base = whole[: select.start()] if select and select.start() else whole
        lowest, down = 0, True
        if select and select[2]:
            lowest, down = min(int(select[1]), int(select[2])), int(select[1]) >= int(select[2])
        for bit in range(min(width, MAX_WIDTH)):
            if (key, bit) in seen:
                continue  # the same wire in another scope
            seen.add((key, bit))
            number = lowest + (bit if down else width - 1 - bit)
            name = base if width == 1 else f"{base}[{number}]"
            exact = whole if width == 1 else name
            wire = _Bit(name, key.encode(), bit, width)
            found.append((name, exact, ".".join([*scopes, exact]), wire))
    # as short as it can be
    short = Counter(name for name, _, _, _ in found)
    longer = Counter(exact for _, exact, _, _ in found)
    return [
        _Bit(
            name if short[name] == 1 else exact if longer[exact] == 1 else full,
            wire.key,
            wire.bit,
            wire.width,
        )
        for name, exact, full, wire in found
    ]


def _words(path: Path, start: int) -> Iterator[list[bytes]]:
    """Yield lists of words, as they stand between blanks.

    A last word without a blank or an end of line after it may have been cut off: it is left out.
    """
    with opened_text(path) as file:
        pass_over(file, start)
        rest = b""
        while block := file.read(BLOCK):
            block = rest + block
            cut = max(block.rfind(b"\n"), block.rfind(b" ")) + 1
            rest = block[cut:]
            if len(rest) > MAX_WORD:
                raise CaptureError(
                    f"{path} has a word of more than {MAX_WORD} bytes", next_step=DAMAGED
                )
            yield block[:cut].split()


class _Changes:
    """Follows the words of a dump: what time it is, and how both wires change.

    The capture begins where both wires have a level, and ends where one has none any more.
    """

    def __init__(self, capture: Capture, ping: _Bit, reply: _Bit) -> None:
        self._capture = capture
        # a word -> the wire, and twice what it says: low, high, nothing
        self._kinds: dict[bytes, int] = {}
        self._vectors: dict[bytes, list[tuple[int, int]]] = {}  # key -> wires and bits
        for wire, which in enumerate((ping, reply)):
            self._vectors.setdefault(which.key, []).append((wire, which.bit))
            if which.width == 1:
                for value, says in LEVELS.items():
                    self._kinds[value + which.key] = wire + 2 * says
        self.now = 0
        self.first: int | None = None
        self.level: list[bool | None] = [None, None]  # before the words that are taken now
        self.gone: dict[int, int] = {}  # wires that have no level, since when
        self.ended: int | None = None  # since when there is no data
        self._timed = self.begun = False
        self._text = False  # within a comment
        self._value: bytes | None = None  # of a vector or number, before its channel
        self._ticks: tuple[list[int], list[int]] = ([], [])
        self._ups: tuple[list[bool], list[bool]] = ([], [])

    def take(self, tokens: list[bytes]) -> Edges:
        """Take some words; return the edges in them."""
        self._ticks, self._ups = ([], []), ([], [])
        kinds = self._kinds
        for word in tokens:
            kind = None if self._text or self._value else kinds.get(word)
            if kind is None:
                self._other(word)
            else:
                self._set(kind & 1, kind >> 1)
        wires = []
        for wire in (0, 1):
            times = np.array(self._ticks[wire], np.int64) - (self.first or 0)
            up_array = np.array(self._ups[wire], np.bool_)
            kept = alternating(times, up_array, bool(self.level[wire]))
            wires.append((times[kept], up_array[kept]))
            if up_array.size:
                self.level[wire] = bool(up_array[-1])
        return merged(wires[0], wires[1])

    def _set(self, wire: int, says: int) -> None:
        """Take it that a wire is low (0), high (1), or neither (2)."""
        if says == 2:
            self.gone.setdefault(wire, self.now)
            return
        since = self.gone.pop(wire, None)
        if self.ended is not None:
            if since is not None and since < self.now:
                capture = self._capture
                name = (capture.ping, capture.reply)[wire]
                raise MissingError(
                    f"{capture.path}: the analyser has no data of {name} from "
                    f"{self._seconds(since)} to {self._seconds(self.now)}",
                    next_step="capture again, or export what is before or after",
                )
        elif self.begun:
            self._ticks[wire].append(self.now)
            self._ups[wire].append(says == 1)
        else:
            self.level[wire] = says == 1
            if None not in self.level and not self.gone:
                self.begun = True
                self.first = self.now if self._timed else None
                self._capture.high_at_start = (bool(self.level[0]), bool(self.level[1]))

    def _seconds(self, at: int) -> str:
        return f"{float((at - (self.first or 0)) / self._capture.tick_hz):.6f} s"

    def _other(self, word: bytes) -> None:
        """Take what is no change of the two wires."""
        path = self._capture.path
        if self._text:
            self._text = word != b"$end"
        elif self._value is not None:
            for wire, bit in self._vectors.get(word, ()):
                self._set(wire, _bit(self._value, bit))
            self._value = None
        elif word[0] == 35:  # '#'
            self._pass(_time(path, word))
        elif word[0] in b"bBrRsS":
            self._value = word  # of a vector, number or text: its channel is the next word
        elif word == b"$comment":
            self._text = True
        elif word[:1] == b"p" or word.startswith(b"$dumpports"):
            raise CaptureError(f"{path} holds ports", next_step=EXTENDED)
        elif word[0] not in OF_A_WIRE and word[:1] != b"$":
            raise CaptureError(f"{path} holds {plain(repr(word[:20]), 24)}", next_step=DAMAGED)

    def _pass(self, now: int) -> None:
        if self._timed and now < self.now:
            raise CaptureError(
                f"{self._capture.path}: its time goes back to {now}", next_step=DAMAGED
            )
        if self.begun and self.first is None:
            self.first = now
        if self.begun and self.gone and now > self.now and self.ended is None:
            self.ended = min(self.gone.values())
        self.now, self._timed = now, True


def _bit(value: bytes, bit: int) -> int:
    """Return what a bit of a vector says: low, high, neither."""
    digits = value[1:]
    if value[0] not in b"bB" or not digits:
        return 2
    if bit >= len(digits):  # the left is left out: zeros, or more of what cannot be known
        return 2 if LEVELS.get(digits[:1], 2) == 2 else 0
    return LEVELS.get(digits[len(digits) - 1 - bit : len(digits) - bit], 2)


def _read(capture: Capture, start: int, ping: _Bit, reply: _Bit) -> Iterator[Edges]:
    changes = _Changes(capture, ping, reply)
    try:
        for tokens in _words(capture.path, start):
            edges = changes.take(tokens)
            end = changes.now if changes.ended is None else changes.ended
            capture.end_ticks = end - (changes.first or 0)
            if capture.end_ticks > MAX_SECONDS * capture.tick_hz:
                raise CaptureError(f"{capture.path} is longer than any rally", next_step=DAMAGED)
            yield edges
    except UnicodeError as error:
        raise CaptureError(f"{capture.path} is not a text in UTF-16", next_step=DAMAGED) from error
    for wire, name in enumerate((capture.ping, capture.reply)):
        if not changes.begun and (changes.level[wire] is None or wire in changes.gone):
            raise MissingError(
                f"{capture.path} says nothing of the channel {name}: the analyser has no data there"
                if wire in changes.gone
                else f"{capture.path} says nothing of the channel {name}: {DAMAGED}"
            )


def _time(path: Path, word: bytes) -> int:
    if not word[1:].isdigit() or len(word) > 20 or int(word[1:]) > MAX_TIME:
        raise CaptureError(f"{path} holds the time {plain(repr(word[:24]), 30)}", next_step=DAMAGED)
    return int(word[1:])
