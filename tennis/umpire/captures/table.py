# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Tables of samples (CSV): of sigrok, PulseView, vendors' programs and oscilloscopes.

Logic or volts. Rows come at one interval, or each with the time of a change. What a column means is
found out in ``heading``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from tennis.rally.text import plain
from tennis.umpire.captures.channels import Threshold, Wires, chosen
from tennis.umpire.captures.edges import (
    MAX_SECONDS,
    MAX_TICKS,
    Capture,
    CaptureError,
    Edges,
    MissingError,
    alternating,
    merged,
)
from tennis.umpire.captures.heading import DAMAGED, NOTHING, UNITS, Heading, read_heading
from tennis.umpire.captures.resolution import agree, rate_words, resolve
from tennis.umpire.captures.table_clock import PS_PER_S, Clock, find_clock
from tennis.umpire.captures.text import WholeLines, opened_text, pass_over

BLOCK = 1 << 20
# wires that an oscilloscope writes as one number
_WIRE = r"(?:d|ch|dio|digital|data|bus|logic|la)?[ _]?[0-9]{1,3}"
_PART = r"[0-9]{1,3} ?(?::|-|\.\.) ?[0-9]{1,3}"  # of a bus, in brackets
BUS = re.compile(
    rf"{_WIRE}[ ]?(?:-|:|\.\.|\u2013|to)[ ]?{_WIRE}|\w*[ ]?[\[(<]{_PART}[\])>]|pod[ _]?[0-9]?",
    re.IGNORECASE,
)
ONLY_CHANGES = 64  # rows in a row that differ: then they are no samples


def open_table(path: Path, wires: Wires, *, single: bool = False) -> Capture:
    """Open a table; ``single``: of one channel, which is both. Raises CaptureError."""
    stated_rate_hz = wires.rate_hz
    form = read_heading(path)
    picked, notes = _columns(form, wires, single=single)
    first = next(_blocks(form, picked), None)
    if first is None or first[1].size < 2:
        raise CaptureError(f"{path} holds no samples", next_step=DAMAGED)
    notes += form.notes
    _check_alive(form, picked, first)
    if form.rate_hz is not None:
        agree(path, form.rate_hz, stated_rate_hz)
    clock = find_clock(form, first[0], stated_rate_hz)
    levels = []
    for values in first[1:]:
        known = values[np.isfinite(values)]
        levels.append(Levels(wires.threshold, logic=bool(np.isin(known, (0.0, 1.0)).all())))
    if clock.rows and form.time is None:
        _check_samples(form, first, levels)

    def read(capture: Capture) -> Iterator[Edges]:
        return _read(capture, form, picked, (levels[0], levels[1]), clock)

    capture = Capture(
        path=path,
        form="CSV",
        tick_hz=clock.hz,
        ping=form.names[picked[0]],
        reply=form.names[picked[1]],
        names=[form.names[i] for i in form.channels],
        read=read,
        counted=clock.counted,
        resolution_source="asked" if clock.counted else "said",
        notes=notes,
    )
    if clock.counted and stated_rate_hz is not None:
        capture.notes.append(
            f"its rows are counted at the {rate_words(stated_rate_hz)} of --rate-mhz"
        )
    if clock.rows:
        agree(path, clock.hz, stated_rate_hz)
    elif clock.hz == PS_PER_S:
        quantum = max(Fraction(1), form.quantum_s * PS_PER_S)
        resolve(capture, quantum, form.rate_hz, stated_rate_hz)
    return capture


def _columns(form: Heading, wires: Wires, *, single: bool) -> tuple[tuple[int, int], list[str]]:
    """Return the columns of ping and reply, and notes on how they were chosen."""
    columns = form.channels
    names = [form.names[i] for i in columns]
    buses = [at for at, name in enumerate(names) if is_bus(name)]
    asked = {word.lower() for word in (wires.ping, wires.reply) if word is not None}
    if buses and (
        len(names) - len(buses) < 2 - single or asked & {names[at].lower() for at in buses}
    ):
        raise CaptureError(
            f"{form.path}: {plain(names[buses[0]], 40)} is a column of several wires, as a number",
            next_step="export each wire as a column of its own",
        )
    if not single and len(columns) == 1:
        raise CaptureError(
            f"{form.path} holds one channel",
            next_step="name the file of ping and the file of reply, each with --capture",
        )
    if not single:
        empty = frozenset(columns.index(i) for i in form.empty) | frozenset(buses)
        which, notes = chosen(form.path, names, wires, empty)
        return (columns[which[0]], columns[which[1]]), notes
    wanted = wires.ping if wires.ping is not None else wires.reply
    alone = [name for at, name in enumerate(names) if at not in buses]
    if wanted is None and len(alone) == 1:
        wanted = alone[0]
    if wanted not in names:
        have = ", ".join(plain(name, 20) for name in names[:16])
        raise CaptureError(
            f"{form.path} has {have or 'no channel'}",
            next_step=(
                "name the one that is meant, with --ping for "
                "the first file and --reply for the second"
            ),
        )
    one = columns[names.index(wanted)]
    return (one, one), []


def is_bus(name: str) -> bool:
    """Tell whether a column's name is that of several wires: D0-D7, D[7:0], POD1."""
    return bool(BUS.fullmatch(name.strip()))


Block = tuple[NDArray[np.float64] | None, NDArray[np.float64], NDArray[np.float64]]


def _check_alive(form: Heading, picked: tuple[int, int], block: Block) -> None:
    """Raise MissingError where a channel has no data at all, as far as was read."""
    for column, values in zip(picked, block[1:], strict=True):
        if not np.isfinite(values).any():
            raise MissingError(
                f"{form.path}: the analyser has no data of {form.names[column]}, from the first "
                f"row to row {values.size}",
                next_step="name another channel, or enable it and capture again",
            )


def _check_samples(form: Heading, block: Block, levels: "list[Levels]") -> None:
    """Raise MissingError where rows without times are changes: when they came, nobody can tell."""
    if not all(level.logic for level in levels) or block[1].size < ONLY_CHANGES:
        return
    both = np.column_stack(block[1:])
    if (np.diff(both, axis=0) != 0).any(axis=1).all():
        raise MissingError(
            f"{form.path} lists only changes, without their times",
            next_step="export it with a column of times, or with a row for each sample",
        )


def _times(column: pa.Array, form: Heading) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return a column of times as numbers: seconds or counts, or whole nanoseconds of dates."""
    if form.times in {"dates", "clock"}:
        return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
    if form.times == "with unit":
        texts = pc.replace_substring_regex(pc.utf8_lower(column), " ", "")
        texts = pc.replace_substring(texts, ",", ".")
        parts = pc.extract_regex(texts, r"^(?P<value>[-+0-9.]+)(?P<unit>[a-zµμ]+)$")
        values = pc.struct_field(parts, "value").cast(pa.float64())
        seconds = np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
        words = pc.struct_field(parts, "unit").to_pylist()
        return seconds / np.array([UNITS.get(word, np.nan) for word in words], np.float64)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def _time_type(form: Heading, first: str) -> pa.DataType:
    if form.times == "dates":
        return pa.timestamp("ns", "UTC" if first[19:].strip(".0123456789") else None)
    return {"clock": pa.time64("ns"), "with unit": pa.string()}.get(form.times, pa.float64())


def _blocks(form: Heading, picked: tuple[int, int]) -> Iterator[Block]:
    """Yield (times or None, ping, reply), a block of rows at a time. Raises CaptureError.

    Times count from the first row where they are dates. Levels are NaN where there is no data.
    """
    keys = [f"c{i}" for i in range(len(form.names))]
    wanted = {*picked} | ({form.time} if form.time is not None else set())
    types = {keys[i]: pa.float64() for i in wanted}
    if form.time is not None:
        types[keys[form.time]] = _time_type(form, form.first_time)
    rows = 0
    origin: int | None = None
    with opened_text(form.path) as file:
        try:
            pass_over(file, form.offset)
            reader = pa.csv.open_csv(
                pa.PythonFile(WholeLines(file), "r"),
                read_options=pa.csv.ReadOptions(
                    column_names=keys, block_size=BLOCK, use_threads=False
                ),
                parse_options=pa.csv.ParseOptions(delimiter=form.delimiter),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=[keys[i] for i in sorted(wanted)],
                    column_types=types,
                    decimal_point=form.decimal,
                    null_values=[*NOTHING, *(f" {nothing}" for nothing in NOTHING)],
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                values = [
                    np.asarray(batch[keys[i]].to_numpy(zero_copy_only=False), np.float64)
                    for i in picked
                ]
                time = None
                if form.time is not None:
                    _check_column(form, batch[keys[form.time]].is_valid(), rows, "time")
                    raw = _times(batch[keys[form.time]], form)
                    if raw.dtype == np.int64:
                        origin = int(raw[0]) if origin is None and raw.size else origin
                        raw = (raw - (origin or 0)) / 1e9
                    _check_column(form, np.isfinite(raw), rows, "time")
                    time = np.asarray(raw / (form.per_s or 1), np.float64)
                for column in values:
                    _check_column(form, ~np.isinf(column), rows, "level")
                rows += batch.num_rows
                if values[0].size:
                    yield time, values[0], values[1]
        except (pa.ArrowException, ValueError, UnicodeError) as error:
            why = plain(str(error).splitlines()[0], 100)
            raise CaptureError(f"{form.path} cannot be read ({why})", next_step=DAMAGED) from error


def _check_column(form: Heading, whole: object, rows: int, what: str) -> None:
    good = np.asarray(whole, np.bool_)
    if not good.all():
        raise CaptureError(
            f"{form.path}: row {rows + int(np.argmin(good)) + 1} of its samples lacks a {what}",
            next_step=DAMAGED,
        )


def _read(
    capture: Capture,
    form: Heading,
    picked: tuple[int, int],
    kinds: "tuple[Levels, Levels]",
    clock: Clock,
) -> Iterator[Edges]:
    rows = 0
    start: tuple[int, float] | None = None  # row, time
    last = -np.inf
    levels: list[bool | None] = [None, None]
    gap = _Gap(capture, form, picked)
    for all_times, *all_values in _blocks(form, picked):
        if all_times is not None:
            _check_order(form, all_times, last, exact=not clock.rows)
            last = float(all_times[-1])
        count = np.arange(rows, rows + all_values[0].size, dtype=np.int64)
        rows += count.size
        if rows > MAX_TICKS:
            raise CaptureError(f"{form.path} is longer than any rally", next_step=DAMAGED)
        kept = gap.whole(all_times, count, all_values)
        if kept.start == kept.stop:
            continue
        values = [column[kept] for column in all_values]
        time = all_times[kept] if all_times is not None else None
        if start is None:
            start = (int(count[kept.start]), float(time[0]) if time is not None else 0.0)
        since = time - start[1] if time is not None else None
        ticks = _ticks(capture, form, clock, count[kept] - start[0], since)
        wires = []
        for wire, column in enumerate(values):
            up = kinds[wire].of(column, levels[wire])
            before = levels[wire]
            if before is None:
                before = bool(up[0])
                levels[wire] = before
                capture.high_at_start = (bool(levels[0]), bool(levels[1]))
            changed = np.flatnonzero(np.diff(up, prepend=before))
            those = changed[alternating(ticks[changed], up[changed], before)]
            wires.append((ticks[those], up[those]))
            levels[wire] = bool(up[-1])
        capture.end_ticks = int(ticks[-1]) + 1
        yield merged(wires[0], wires[1])


def _check_order(form: Heading, times: NDArray[np.float64], last: float, *, exact: bool) -> None:
    if times[0] < last:
        raise CaptureError(
            f"{form.path}: its time goes back: several records in one file cannot be checked",
            next_step="export them one by one",
        )
    if exact and np.any(np.diff(times) < 0):
        raise CaptureError(f"{form.path}: its time goes back", next_step=DAMAGED)


def _ticks(
    capture: Capture,
    form: Heading,
    clock: Clock,
    count: NDArray[np.int64],
    since: NDArray[np.float64] | None,
) -> NDArray[np.int64]:
    """Return the ticks of some rows: ``count`` and ``since`` are those since the first."""
    if clock.rows or since is None:
        if since is not None and form.per_s is not None and count[-1]:
            _check_even(capture, float(since[-1]), int(count[-1]))
        return count
    if since[-1] / clock.per_tick > MAX_SECONDS * float(clock.hz):
        raise CaptureError(f"{form.path} is longer than any rally", next_step=DAMAGED)
    return clock.ticks(since)


class _Gap:
    """Rows without data: a capture begins after them or ends before, but goes on over none."""

    def __init__(self, capture: Capture, form: Heading, picked: tuple[int, int]) -> None:
        self._path = capture.path
        self._names = [form.names[column] for column in picked]
        self._begun = False
        self._gone: tuple[str, str] | None = None  # the channel, and where

    def whole(
        self,
        time: NDArray[np.float64] | None,
        count: NDArray[np.int64],
        values: list[NDArray[np.float64]],
    ) -> slice:
        """Return which of some rows have data. Raises MissingError."""
        there = np.isfinite(values[0]) & np.isfinite(values[1])
        if there.all() and self._gone is None:
            self._begun = True
            return slice(0, there.size)
        again = np.flatnonzero(there)
        if not again.size:
            begin = end = 0
        elif self._gone is not None:
            self._raise(time, count, int(again[0]))
        else:
            begin = int(again[0])
            after = np.flatnonzero(~there[begin:])
            end = begin + int(after[0]) if after.size else there.size
        if end < there.size and (self._begun or begin < end) and self._gone is None:
            wire = 0 if np.isnan(values[0][end]) else 1
            self._gone = (self._names[wire], _where(time, count, end))
            back = again[again > end]
            if back.size:
                self._raise(time, count, int(back[0]))
        self._begun |= begin < end
        return slice(begin, end)

    def _raise(self, time: NDArray[np.float64] | None, count: NDArray[np.int64], at: int) -> None:
        assert self._gone is not None  # noqa: S101
        name, since = self._gone
        raise MissingError(
            f"{self._path}: the analyser has no data of {name} from {since} to "
            f"{_where(time, count, at)}",
            next_step="capture again, or export what is before or after",
        )


def _where(time: NDArray[np.float64] | None, count: NDArray[np.int64], at: int) -> str:
    row = f"row {int(count[at]) + 1}"
    return row if time is None else f"{row} ({time[at]:.6f} s)"


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
