# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Tables of samples (CSV): of sigrok, PulseView and oscilloscopes, logic or volts.

Makers agree on nothing but commas. What a table means is found out from its own words: the first
row that is all numbers begins the samples, and the rows before it may name the columns, the sample
rate or interval, and the channels. Rows come at one interval, or each with the time of a change.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from tennis.rally.text import plain
from tennis.umpire.edges import (
    MAX_SECONDS,
    MAX_TICKS,
    Capture,
    CaptureError,
    Edges,
    alternating,
    chosen,
    merged,
    opened,
    sampling_rate,
)

HEAD = 1 << 18  # bytes in which the samples must begin
BLOCK = 1 << 20
MAX_COLUMNS = 128
EVEN = 0.02  # intervals that differ by less are one interval
PS_PER_S = 10**12
DAMAGED = "it was truncated or edited; export it again"
NUMBER = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)  # no sample, but no name either
TIME = re.compile(r"time.*|second.*|x|sequence|t|s|.*seconds", re.IGNORECASE)
TIME_UNITS = {
    "milliseconds": 10**3,
    "microseconds": 10**6,
    "nanoseconds": 10**9,
    "picoseconds": 10**12,
}


@dataclass(frozen=True)
class Threshold:
    """Where a voltage changes its level: up past ``volts`` and half the hysteresis, down below."""

    volts: float = 1.65
    hysteresis: float = 0.4


@dataclass(frozen=True)
class _Form:
    """What the head of a table says."""

    path: Path
    offset: int  # where the samples begin, bytes
    delimiter: str
    decimal: str
    names: list[str]
    time: int | None  # column
    interval_s: Fraction | None  # between two rows, where it is said
    per_s: int  # the unit of the time column

    @property
    def channels(self) -> list[int]:
        """Return the columns that are no time."""
        return [i for i in range(len(self.names)) if i != self.time]


def open_table(
    path: Path, ping: str | None, reply: str | None, threshold: Threshold, *, single: bool = False
) -> Capture:
    """Open a table; ``single``: of one channel, which is both. Raises CaptureError."""
    form = _form(path)
    columns = [i for i in form.channels if form.names[i].lower() not in {"start", "increment", ""}]
    names = [form.names[i] for i in columns]
    if single:
        wanted = ping if ping is not None else reply
        if wanted is None and len(names) == 1:
            wanted = names[0]
        if wanted not in names:
            have = ", ".join(plain(name, 20) for name in names[:16])
            raise CaptureError(
                f"{path} has {have or 'no channel'}",
                next_step=(
                    "name the one that is meant, with --ping for "
                    "the first file and --reply for the second"
                ),
            )
        one = columns[names.index(wanted)]
        picked = (one, one)
    else:
        if len(columns) == 1:
            raise CaptureError(
                f"{path} holds one channel",
                next_step="name the file of ping and the file of reply, each with --capture",
            )
        which = chosen(path, names, ping, reply)
        picked = (columns[which[0]], columns[which[1]])
    first = next(_blocks(form, picked), None)
    if first is None or first[1].size < 2:
        raise CaptureError(f"{path} holds no samples: {DAMAGED}")
    rate, even = _rate(form, first[0])
    logic = tuple(bool(np.isin(values, (0.0, 1.0)).all()) for values in first[1:])

    levels = tuple(Levels(threshold, logic=kind) for kind in logic)

    def read(capture: Capture) -> Iterator[Edges]:
        return _read(capture, form, picked, (levels[0], levels[1]), even=even)

    resolution = Fraction(1)
    if not even and first[0] is not None:
        steps = np.diff(first[0])
        least = float(steps[steps > 0].min(initial=1.0))
        resolution = max(Fraction(1), Fraction(round(least * PS_PER_S)))
    return Capture(
        path=path,
        form="CSV",
        tick_hz=rate,
        ping=form.names[picked[0]],
        reply=form.names[picked[1]],
        names=names,
        read=read,
        resolution_ticks=resolution,
    )


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip().strip('"').strip() for cell in line.split(delimiter)]


def _numbers(cells: list[str]) -> bool:
    full = [cell for cell in cells if cell]
    return len(full) >= 2 and all(NUMBER.fullmatch(cell) for cell in full)


def _form(path: Path) -> _Form:
    """Find the samples, and what is said before them. Raises CaptureError."""
    with opened(path) as file:
        head = file.read(HEAD)
    if b"\0" in head:
        raise CaptureError(
            f"{path} is neither a sigrok session (.sr) nor VCD nor CSV: export it as one of them"
        )
    lines = head.decode("latin-1").splitlines(keepends=True)
    offset = 0
    for at, line in enumerate(lines):
        following = [row for row in lines[at + 1 : at + 3] if row.endswith("\n")]
        for delimiter in (",", ";", "\t"):
            cells = _cells(line, delimiter)
            if (
                _numbers(cells)
                and len(cells) <= MAX_COLUMNS
                and all(_numbers(_cells(row, delimiter)) for row in following)
            ):
                if at:
                    _check_last_heading(path, at, _cells(lines[at - 1], delimiter), len(cells))
                return _understood(path, offset, delimiter, lines[:at], line)
        offset += len(line.encode("latin-1"))
    raise CaptureError(
        f"{path} is neither a sigrok session (.sr) nor VCD nor a table of numbers: export the "
        "capture as one of them"
    )


def _check_last_heading(path: Path, number: int, cells: list[str], columns: int) -> None:
    """Raise CaptureError where line ``number``, the last before the samples, is a broken sample.

    Taken for a heading it would be left out, and give its numbers to the channels as names.
    """

    def value(cell: str) -> bool:
        return bool(NUMBER.fullmatch(cell) or NO_NUMBER.fullmatch(cell))

    full = [cell for cell in cells if cell]
    if len(cells) == columns and full and (value(cells[0]) or all(map(value, full))):
        text = plain(",".join(cells), 60)
        raise CaptureError(f"{path}: line {number} ({text}) is no row of numbers: {DAMAGED}")


def _understood(path: Path, offset: int, delimiter: str, head: list[str], row: str) -> _Form:
    cells = _cells(row, delimiter)
    # the last row before the samples that has a word for each column, and does not only name units
    names = [f"column {n}" for n in range(1, len(cells) + 1)]
    units: list[str] = []
    for line in reversed(head):
        entries = _cells(line, delimiter)
        if line.startswith(";") or len([e for e in entries if e]) < len([c for c in cells if c]):
            continue
        kinds = {"logic", "volt", "v", "second", "s", "sequence", *TIME_UNITS, "seconds"}
        if all(not e or e.lower() in kinds or NUMBER.fullmatch(e) for e in entries):
            units = units or entries
            continue
        names = [*entries, *names[len(entries) :]][: len(cells)]
        break
    text = "".join(head)
    listed = re.search(r"^; Channels \([0-9]+/[0-9]+\): (.*)$", text, re.MULTILINE)
    time = next((i for i, name in enumerate(names) if TIME.fullmatch(name)), None)
    per_s = 1
    if units and time is None:
        time = next((i for i, unit in enumerate(units) if TIME.fullmatch(unit)), None)
    if units and time is not None and time < len(units):
        per_s = TIME_UNITS.get(units[time].lower(), 1)
    if listed:
        headings = [word.strip() for word in listed[1].split(",")]
        places = [i for i in range(len(cells)) if i != time]
        if len(headings) == len(places):
            for place, name in zip(places, headings, strict=True):
                names[place] = name
    if time is None and len(cells) >= 3 and not {cells[0]} <= {"0", "1"}:
        time = 0
    interval = _interval(text, delimiter, names, units)
    sequence = bool(units) and time is not None and units[time].lower() == "sequence"
    if sequence or (time is not None and names[time].lower() == "sequence"):
        if interval is None:
            raise CaptureError(f"{path} counts its rows and says no interval: {DAMAGED}")
        time = None if sequence else time
        names = names if time is not None else ["increment", *names[1:]]
    if time is None and interval is None:
        raise CaptureError(
            f"{path} says neither when its samples were taken nor at which rate: export it with "
            "a column of times"
        )
    decimal = "," if delimiter != "," and "," in row and "." not in row else "."
    named = [plain(name, 40) for name in names]
    return _Form(path, offset, delimiter, decimal, named, time, interval, per_s)


def _interval(text: str, delimiter: str, names: list[str], units: list[str]) -> Fraction | None:
    """Return the time between two rows, where the head says it."""
    rate_note = re.search(r"Samplerate: *([0-9.]+) *([kMG]?Hz)", text)
    if rate_note and NUMBER.fullmatch(rate_note[1]):
        unit = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}[rate_note[2]]
        hz = Fraction(rate_note[1]) * unit
        return 1 / hz if hz > 0 else None
    lower = [name.lower() for name in names]
    if "increment" in lower and lower.index("increment") < len(units):
        return _positive(units[lower.index("increment")])
    pattern = (
        rf"^\"?(?:Sample|Horizontal) Interval\"?{re.escape(delimiter)}[^0-9+.\n-]*([^,;\t\r\n]+)"
    )
    match = re.search(pattern, text, re.MULTILINE | re.IGNORECASE)
    return _positive(match[1].strip().strip('"')) if match else None


def _positive(text: str) -> Fraction | None:
    if len(text) > 40 or not NUMBER.fullmatch(text):
        return None
    value = Fraction(text.replace(",", "."))
    return value if value > 0 else None


Block = tuple[NDArray[np.float64] | None, NDArray[np.float64], NDArray[np.float64]]


def _blocks(form: _Form, picked: tuple[int, int]) -> Iterator[Block]:
    """Yield (times or None, ping, reply), a block of rows at a time. Raises CaptureError."""
    keys = [f"c{i}" for i in range(len(form.names))]
    wanted = {*picked} | ({form.time} if form.time is not None else set())
    rows = 0
    with form.path.open("rb") as file:
        file.seek(form.offset)
        try:
            reader = pa.csv.open_csv(
                pa.PythonFile(file, "r"),
                read_options=pa.csv.ReadOptions(
                    column_names=keys, block_size=BLOCK, use_threads=False
                ),
                parse_options=pa.csv.ParseOptions(delimiter=form.delimiter),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=[keys[i] for i in sorted(wanted)],
                    column_types={keys[i]: pa.float64() for i in wanted},
                    decimal_point=form.decimal,
                ),
            )
            for batch in reader:
                values = {
                    i: batch[keys[i]].to_numpy(zero_copy_only=False).astype(np.float64)
                    for i in wanted
                }
                whole = np.all([np.isfinite(column) for column in values.values()], axis=0)
                if not whole.all():
                    row = rows + int(np.argmin(whole)) + 1
                    raise CaptureError(
                        f"{form.path}: row {row} of its samples lacks a number: {DAMAGED}"
                    )
                rows += batch.num_rows
                time = values[form.time] / form.per_s if form.time is not None else None
                if values[picked[0]].size:
                    yield time, values[picked[0]], values[picked[1]]
        except (pa.ArrowException, ValueError, UnicodeDecodeError) as error:
            why = plain(str(error).splitlines()[0], 100)
            raise CaptureError(f"{form.path} cannot be read ({why}): {DAMAGED}") from error


def _rate(form: _Form, times: NDArray[np.float64] | None) -> tuple[Fraction, bool]:
    """Return the ticks of a second, and whether a row is a tick."""
    path = form.path
    if times is None:
        assert form.interval_s is not None  # noqa: S101 (_understood saw to it)
        return sampling_rate(path, 1 / form.interval_s), True
    span = float(times[-1] - times[0])
    if not span > 0:
        raise CaptureError(f"{path}: its time does not go on: {DAMAGED}")
    if span > MAX_SECONDS:
        raise CaptureError(f"{path} is longer than any rally: {DAMAGED}")
    interval = float(form.interval_s) if form.interval_s else span / (times.size - 1)
    # times are written with few digits: look at many steps at once
    steps = times[:: max(1, times.size // 16)]
    even = np.arange(times.size)[:: max(1, times.size // 16)] * interval
    if np.abs(steps - steps[0] - even).max() <= max(EVEN * span / 16, 1.5 * interval):
        if form.interval_s:
            return sampling_rate(path, 1 / form.interval_s), True
        rounded = Fraction(round(interval * PS_PER_S * 10**3), PS_PER_S * 10**3)
        return sampling_rate(path, 1 / max(rounded, Fraction(1, PS_PER_S))), True
    return Fraction(PS_PER_S), False


def _read(
    capture: Capture,
    form: _Form,
    picked: tuple[int, int],
    kinds: "tuple[Levels, Levels]",
    *,
    even: bool,
) -> Iterator[Edges]:
    rows = 0
    start = last = 0.0
    levels: list[bool | None] = [None, None]
    for time, *values in _blocks(form, picked):
        size = values[0].size
        if time is not None:
            if rows == 0:
                start = float(time[0])
            elif time[0] < last:
                raise CaptureError(
                    f"{form.path}: its time goes back: several records in one file cannot be "
                    "checked; export them one by one"
                )
            last = float(time[-1])
        if even or time is None:
            ticks = np.arange(rows, rows + size, dtype=np.int64)
            if time is not None and size > 1:
                _check_even(capture, last - start, rows + size - 1)
        else:
            if np.any(np.diff(time) < 0):
                raise CaptureError(f"{form.path}: its time goes back: {DAMAGED}")
            seconds = time - start
            if seconds[-1] > MAX_SECONDS:
                raise CaptureError(f"{form.path} is longer than any rally: {DAMAGED}")
            ticks = np.rint(seconds * PS_PER_S).astype(np.int64)
        rows += size
        if rows > MAX_TICKS:
            raise CaptureError(f"{form.path} is longer than any rally: {DAMAGED}")
        wires = []
        for wire, column in enumerate(values):
            up = kinds[wire].of(column, levels[wire])
            before = levels[wire]
            if before is None:
                before = bool(up[0])
                levels[wire] = before
                capture.high_at_start = (bool(levels[0]), bool(levels[1]))
            changed = np.flatnonzero(np.diff(up, prepend=before))
            kept = changed[alternating(ticks[changed], up[changed], before)]
            wires.append((ticks[kept], up[kept]))
            levels[wire] = bool(up[-1])
        capture.end_ticks = int(ticks[-1]) + 1
        yield merged(wires[0], wires[1])


def _check_even(capture: Capture, seconds: float, rows: int) -> None:
    expected = float(rows / capture.tick_hz)
    if abs(seconds - expected) > 0.001 * expected + 3 * capture.tick_ns / 1e9:
        raise CaptureError(
            f"{capture.path}: {rows} rows take {seconds:g} s, not {expected:g} s: rows are missing"
        )


@dataclass(frozen=True)
class Levels:
    """Tells high from low in a column."""

    threshold: Threshold
    logic: bool  # 0 and 1 instead of volts

    def of(self, values: NDArray[np.float64], before: bool | None) -> NDArray[np.bool_]:
        """Return whether each sample is high; between the thresholds a wire stays what it was."""
        if self.logic:
            return values > 0.5
        half = self.threshold.hysteresis / 2
        high = values >= self.threshold.volts + half
        sure = high | (values <= self.threshold.volts - half)
        where = np.maximum.accumulate(np.where(sure, np.arange(values.size), -1))
        start = bool(values[0] > self.threshold.volts) if before is None else before
        return np.where(where >= 0, high[np.maximum(where, 0)], start)


def open_pair(
    ping: Path, reply: Path, names: tuple[str | None, str | None], threshold: Threshold
) -> Capture:
    """Open two tables, of one channel each, that were sampled at once. Raises CaptureError."""
    first = open_table(ping, names[0], None, threshold, single=True)
    second = open_table(reply, names[1], None, threshold, single=True)
    if first.tick_hz != second.tick_hz:
        raise CaptureError(f"{ping} and {reply} were not sampled at one rate: capture both at once")

    def read(capture: Capture) -> Iterator[Edges]:
        yield from _side_by_side(capture, first, second)

    return Capture(
        path=ping,
        form="CSV",
        tick_hz=first.tick_hz,
        ping=first.ping,
        reply=second.reply,
        names=[first.ping, second.reply],
        read=read,
        resolution_ticks=first.resolution_ticks,
    )


def _side_by_side(capture: Capture, first: Capture, second: Capture) -> Iterator[Edges]:
    held: list[list[Edges]] = [[], []]
    known = [0, 0]
    done = 0
    streams = (first.read(first), second.read(second))
    for pair in itertools.zip_longest(*streams):
        for wire, (edges, source) in enumerate(zip(pair, (first, second), strict=True)):
            if edges is not None:
                held[wire].append(edges)
                known[wire] = source.end_ticks
        capture.high_at_start = (first.high_at_start[0], second.high_at_start[1])
        until = min(known)
        if until > done:
            yield _cut(held, until)
            done = until
        capture.end_ticks = done
    if abs(first.end_ticks - second.end_ticks) > 1:
        raise CaptureError(
            f"{first.path} and {second.path} are not of the same length: capture both at once"
        )
    yield _cut(held, max(known) + 1)


def _cut(held: list[list[Edges]], until: int) -> Edges:
    """Take the edges before ``until`` out of both: of the first its ping, of the second reply."""
    wires = []
    for wire in (0, 1):
        ticks = np.concatenate([np.zeros(0, np.int64), *(part.ticks for part in held[wire])])
        codes = np.concatenate([np.zeros(0, np.uint8), *(part.codes for part in held[wire])])
        mine = (codes & 1) == wire
        ticks, codes = ticks[mine], codes[mine]
        cut = int(np.searchsorted(ticks, until))
        wires.append((ticks[:cut], codes[:cut] > 1))
        held[wire] = [Edges(ticks[cut:], codes[cut:])]
    return merged(wires[0], wires[1])
