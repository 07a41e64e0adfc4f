# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Value change dumps (IEEE 1364): the text form that every logic analyser can export.

pyvcd's reader was tried in place of this one. It takes 5 to 7 times as long for 800,000 changes,
and holds a word or a comment in memory however long it is: a stranger's file must not do that.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from tennis.rally.text import plain
from tennis.umpire.edges import (
    MAX_SECONDS,
    Capture,
    CaptureError,
    Edges,
    alternating,
    chosen,
    merged,
    sampling_rate,
)

BLOCK = 1 << 20  # bytes read at once
MAX_HEADER = 1 << 20  # bytes
MAX_WORD = 1 << 12  # bytes
MAX_TIME = 1 << 62  # ticks
SECONDS = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15}
DAMAGED = "it was truncated or damaged; export it again"


def open_vcd(path: Path, ping: str | None, reply: str | None) -> Capture:
    """Open a value change dump. Raises CaptureError."""
    with path.open("rb") as file:
        head = file.read(MAX_HEADER)
    end = re.search(rb"\$enddefinitions\s+\$end", head)
    if not end:
        raise CaptureError(f"{path} has no end of its definitions: {DAMAGED}")
    text = head[: end.end()].decode("utf-8", errors="replace")
    scale = re.search(r"\$timescale\s+(1|10|100)\s*(s|ms|us|ns|ps|fs)\s+\$end", text)
    if not scale:
        raise CaptureError(f"{path} has no timescale: {DAMAGED}")
    rate = sampling_rate(path, Fraction(10 ** SECONDS[scale[2]], int(scale[1])))
    wires = re.findall(r"\$var\s+\w+\s+1\s+(\S+)\s+(\S+)(?:\s+\[\d+\])?\s+\$end", text)
    names = [plain(name, 40) for _, name in wires]
    which = chosen(path, names, ping, reply)
    keys = [wires[place][0].encode() for place in which]
    rate_note = re.search(r"at\s+([0-9.]+)\s*([kMG]?Hz)", text)  # sigrok says how it sampled
    resolution = Fraction(1)
    if rate_note and re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", rate_note[1]):
        unit = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}[rate_note[2]]
        hz = Fraction(rate_note[1]) * unit
        if 0 < hz < rate:
            resolution = rate / hz

    def read(capture: Capture) -> Iterator[Edges]:
        return _read(capture, end.end(), keys[0], keys[1])

    return Capture(
        path=path,
        form="VCD",
        tick_hz=rate,
        ping=names[which[0]],
        reply=names[which[1]],
        names=names,
        read=read,
        resolution_ticks=resolution,
    )


def _words(path: Path, start: int) -> Iterator[list[bytes]]:
    """Yield lists of words, as they stand between blanks."""
    with path.open("rb") as file:
        file.seek(start)
        rest = b""
        while block := file.read(BLOCK):
            block = rest + block
            cut = max(block.rfind(b"\n"), block.rfind(b" ")) + 1
            rest = block[cut:]
            if len(rest) > MAX_WORD:
                raise CaptureError(f"{path} has a word of more than {MAX_WORD} bytes: {DAMAGED}")
            yield block[:cut].split()
        yield rest.split()


class _Changes:
    """Follows the words of a dump: what time it is, and how both wires change."""

    def __init__(self, capture: Capture, ping: bytes, reply: bytes) -> None:
        self._capture = capture
        # a word -> what it says; x and z say nothing: the level stays
        self._kinds = {b"0" + ping: 0, b"0" + reply: 1, b"1" + ping: 2, b"1" + reply: 3}
        self.now = 0
        self.first: int | None = None
        self.level: list[bool | None] = [None, None]  # before the words that are taken now
        self._text = self._value = False  # within a comment; after a number of another channel

    def take(self, tokens: list[bytes]) -> Edges:
        """Take some words; return the edges in them."""
        ticks: tuple[list[int], list[int]] = ([], [])
        ups: tuple[list[bool], list[bool]] = ([], [])
        kinds = self._kinds
        for word in tokens:
            kind = None if self._text else kinds.get(word)
            if kind is None:
                self._other(word)
                continue
            wire, up = kind & 1, kind > 1
            if self.level[wire] is None:
                self.level[wire] = up
                self._capture.high_at_start = (bool(self.level[0]), bool(self.level[1]))
            else:
                ticks[wire].append(self.now)
                ups[wire].append(up)
        wires = []
        for wire in (0, 1):
            times = np.array(ticks[wire], np.int64) - (self.first or 0)
            up_array = np.array(ups[wire], np.bool_)
            kept = alternating(times, up_array, bool(self.level[wire]))
            wires.append((times[kept], up_array[kept]))
            if up_array.size:
                self.level[wire] = bool(up_array[-1])
        return merged(wires[0], wires[1])

    def _other(self, word: bytes) -> None:
        """Take what is no change of the two wires."""
        path = self._capture.path
        if self._text:
            self._text = word != b"$end"
        elif word[0] == 35:  # '#'
            self._pass(_time(path, word))
        elif self._value:
            self._value = False
        elif word[0] in b"bBrR":
            self._value = True  # a vector or a number: its channel is the next word
        elif word == b"$comment":
            self._text = True
        elif word[0] not in b"01xXzZ$":
            raise CaptureError(f"{path} holds {plain(repr(word[:20]), 24)}: {DAMAGED}")

    def _pass(self, now: int) -> None:
        if self.first is None:
            self.first = now
        elif now < self.now:
            raise CaptureError(f"{self._capture.path}: its time goes back to {now}: {DAMAGED}")
        self.now = now


def _read(capture: Capture, start: int, ping: bytes, reply: bytes) -> Iterator[Edges]:
    changes = _Changes(capture, ping, reply)
    for tokens in _words(capture.path, start):
        edges = changes.take(tokens)
        capture.end_ticks = changes.now - (changes.first or 0)
        if capture.end_ticks > MAX_SECONDS * capture.tick_hz:
            raise CaptureError(f"{capture.path} is longer than any rally: {DAMAGED}")
        yield edges
    if None in changes.level:
        missing = [capture.ping, capture.reply][changes.level.index(None)]
        raise CaptureError(f"{capture.path} says nothing of the channel {missing}: {DAMAGED}")


def _time(path: Path, word: bytes) -> int:
    if not word[1:].isdigit() or len(word) > 20 or int(word[1:]) > MAX_TIME:
        raise CaptureError(f"{path} holds the time {plain(repr(word[:24]), 30)}: {DAMAGED}")
    return int(word[1:])
