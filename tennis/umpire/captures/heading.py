# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the head of a table says: which column is what, in which units, how fast it was sampled.

Makers agree on nothing but lines. The first row of values begins the samples, and the rows before
it may name the columns, the units, the sample rate or interval, and the channels.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Literal

from tennis.rally.text import plain
from tennis.umpire.captures.edges import CaptureError, MissingError
from tennis.umpire.captures.resolution import said_rate
from tennis.umpire.captures.text import opened, opened_text

HEAD = 1 << 18  # bytes in which the samples must begin
MAX_COLUMNS = 128
ROWS_READ = 1000  # rows of samples that say what a column is
LAST_ROWS = 32  # the same at the end of the file
DAMAGED = "it was truncated or edited; export it again"
MARKS = (";", "#", "%", "//")  # of comments

NUMBER = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)  # no sample, but no name either
DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?")
# 4.647 800 ms: digits in groups, and the unit in each row
WITH_UNIT = re.compile(r"[+-]?[0-9][0-9 ]*([.,][0-9 ]*)?(s|ms|us|µs|μs|ns|ps)")
WRITTEN = re.compile(
    r"[+-]?[0-9 ]*(?:[.,]([0-9 ]*))?(?:e([+-]?[0-9]{1,3}))?\s*([a-zµμ]*)", re.IGNORECASE
)
# What stands where an analyser has no data: of a channel that was disabled, or of a pause
NOTHING = ("", "X", "x", "Z", "z", "-", "--", "NA", "N/A", "n/a", "nan", "NaN", "?", "None", "null")

UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 10**3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 10**6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 10**9),
    **dict.fromkeys(("ps", "psec", "picosecond", "picoseconds"), 10**12),
}
TIME = re.compile(r"((abs|rel)[a-z]*[ _]?)?time.*|x|x-axis|t|date|datetime")
COUNT = re.compile(
    r"(sample|point|row)s?([ _-]?(no\.?|nr\.?|number|index|num|#))?"
    r"|index|idx|no\.?|nr\.?|#|sequence"
)
KINDS = {"logic", "volt", "volts", "v", "sequence", "trigger", *UNITS}

Times = Literal["seconds", "dates", "clock", "with unit", "counts", "rows"]
WRITTEN_TIMES: tuple[tuple[re.Pattern[str], Times], ...] = (
    (DATE, "dates"),
    (CLOCK, "clock"),
    (WITH_UNIT, "with unit"),
)


@dataclass(frozen=True)
class Heading:
    """What the head of a table says."""

    path: Path
    offset: int  # where the samples begin, bytes of the text as UTF-8
    delimiter: str
    decimal: str
    names: list[str]
    channels: list[int]  # columns
    empty: frozenset[int]  # columns of channels without data, as far as was looked
    time: int | None  # column
    times: Times
    first_time: str
    per_s: int | None  # the unit of the time column; None: it is not said
    quantum_s: Fraction  # of which the times are multiples, as they are written
    interval_s: Fraction | None  # between two samples, where it is said
    rate_hz: Fraction | None  # the same as a rate
    notes: list[str]


def cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line."""
    try:
        row = next(csv.reader([line.strip("\r\n")], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in row]


def _value(cell: str) -> bool:
    return any(form.fullmatch(cell) for form in (NUMBER, DATE, CLOCK, WITH_UNIT))


def _sample(row: Sequence[str]) -> bool:
    """Say whether a row may be one of samples: a value first, and another or none of it."""
    if not 2 <= len(row) <= MAX_COLUMNS or not _value(row[0]):
        return False
    return any(_value(cell) or cell in NOTHING for cell in row[1:])


def _begins(rows: list[list[str]]) -> bool:
    """Say whether the first of some rows is one of samples: all columns go on as they begin."""
    if not all(_sample(row) for row in rows):
        return False
    words = [at for at, cell in enumerate(rows[0]) if not _value(cell) and cell not in NOTHING]
    later = [row for row in rows[1:] if len(row) == len(rows[0])]
    return not words or (bool(later) and not any(_value(row[at]) for row in later for at in words))


def read_heading(path: Path) -> Heading:
    """Find the samples, and what is said before them. Raises CaptureError."""
    try:
        with opened_text(path) as file:
            head = file.read(HEAD)
    except UnicodeError as error:
        raise CaptureError(f"{path} is not a text in UTF-16", next_step=DAMAGED) from error
    if b"\0" in head:
        raise CaptureError(
            f"{path} is neither a sigrok session (.sr) nor VCD nor CSV",
            next_step="export it as one of them",
        )
    raw = head.splitlines(keepends=True)
    if raw and not raw[-1].endswith((b"\n", b"\r")):
        raw = raw[:-1]  # cut off, here or by whatever wrote it
    lines = [_text(line) for line in raw]
    offset = 0
    for at, line in enumerate(lines):
        if not line.startswith(MARKS):
            # a semicolon or tab first: with them a comma may be part of a number
            for delimiter in ("\t", ";", ","):
                if delimiter in line and _begins(
                    [cells(row, delimiter) for row in lines[at : at + 3] if row.strip()]
                ):
                    row = cells(line, delimiter)
                    if at:
                        _check_last_heading(path, at, cells(lines[at - 1], delimiter), len(row))
                    return _understood(path, offset, delimiter, lines[:at], lines[at:])
        offset += len(raw[at])
    raise CaptureError(
        f"{path} is neither a sigrok session (.sr) nor VCD nor a table of numbers",
        next_step="export the capture as one of them",
    )


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _check_last_heading(path: Path, number: int, row: list[str], columns: int) -> None:
    """Raise CaptureError where line ``number``, the last before the samples, is a broken sample.

    Taken for a heading it would be left out, and give its numbers to the channels as names.
    """

    def value(cell: str) -> bool:
        return _value(cell) or bool(NO_NUMBER.fullmatch(cell))

    full = [cell for cell in row if cell]
    if len(row) == columns and full and (value(row[0]) or all(map(value, full))):
        text = plain(",".join(row), 60)
        raise CaptureError(
            f"{path}: line {number} ({text}) is not a row of numbers", next_step=DAMAGED
        )


def _understood(
    path: Path, offset: int, delimiter: str, head: list[str], samples: list[str]
) -> Heading:
    rows = [cells(line, delimiter) for line in samples[:ROWS_READ]]
    width = len(rows[0])
    rows = [row for row in rows if len(row) == width]
    names, units = _names(head, delimiter, rows[0])
    text = "".join(head)
    time, times = _time_column(names, units, rows)
    listed = re.search(r"^; Channels \([0-9]+/[0-9]+\): (.*)$", text, re.MULTILINE)
    if listed:
        words = [word.strip() for word in listed[1].split(",")]
        places = [i for i in range(width) if i != time]
        if len(words) <= len(places):
            for place, name in zip(places, words, strict=False):
                names[place] = name
    interval = _interval(text, delimiter, names, units)
    rate = said_rate(text)
    if interval is None and rate is not None:
        interval = 1 / rate
    notes = []
    if times == "seconds" and not units and names[time or 0].startswith("column "):
        notes.append("no column is named: took the first for times in seconds")
    per_s = None
    if time is not None:
        per_s = _unit(names[time], units[time] if units else "")
    decimal = "," if delimiter != "," and _comma(samples[:ROWS_READ]) else "."
    if per_s is None and time is not None and not (times == "seconds" and _whole(rows, time)):
        per_s = 1
    quantum = Fraction(0)
    if time is not None:
        quantum = _quantum(path, delimiter, time, rows) / (per_s or 1)
    aside = {"start", "increment", "trigger", ""}
    channels = [
        i
        for i in range(width)
        if i != time
        and names[i].lower() not in aside
        and not (units and units[i].lower() == "trigger")
        and not (COUNT.fullmatch(names[i].lower()) and _counts(rows, i))
    ]
    empty = frozenset(i for i in channels if all(row[i] in NOTHING for row in rows))
    return Heading(
        path=path,
        offset=offset,
        delimiter=delimiter,
        decimal=decimal,
        names=[plain(name, 40) for name in names],
        channels=channels,
        empty=empty,
        time=time,
        times=times,
        first_time=rows[0][time] if time is not None else "",
        per_s=per_s,
        quantum_s=quantum,
        interval_s=interval,
        rate_hz=rate,
        notes=notes,
    )


def _names(head: list[str], delimiter: str, first: list[str]) -> tuple[list[str], list[str]]:
    """Return the names of the columns, and their units if a row of its own says them."""
    width = len(first)
    full = len([cell for cell in first if cell])
    units: list[str] = []
    commented: list[str] = []
    for line in reversed(head):
        mark = next((mark for mark in MARKS if line.startswith(mark)), "")
        entries = cells(line.removeprefix(mark), delimiter)
        if len([entry for entry in entries if entry]) < full:
            continue
        if mark:
            # some write the names as a comment; the last one counts
            commented = commented or (entries if len(entries) == width else [])
            continue
        if all(not e or e.lower() in KINDS or NUMBER.fullmatch(e) for e in entries):
            units = units or entries
            continue
        commented = entries
        break
    named = [f"column {n}" for n in range(1, width + 1)]
    named[: len(commented)] = commented
    units = [*units, *[""] * width][:width] if units else []
    return named[:width], units


def _time_column(
    names: list[str], units: list[str], rows: list[list[str]]
) -> tuple[int | None, Times]:
    """Return which column says when, and how; None: there is one row a sample."""
    width = len(names)
    lower = [name.lower() for name in names]
    for i, cell in enumerate(rows[0]):
        for form, times in WRITTEN_TIMES:
            if form.fullmatch(cell):
                return i, times
    counts = [
        i
        for i in range(width)
        if (COUNT.fullmatch(lower[i]) or (units and COUNT.fullmatch(units[i].lower())))
        and _counts(rows, i)
    ]
    for i in range(width):
        of_time = TIME.fullmatch(lower[i]) or _unit(names[i], "") is not None
        if i not in counts and (of_time or (units and units[i].lower() in UNITS)):
            return i, "seconds"
    if counts:
        return counts[0], "counts"
    # nothing is named: times go on, and levels do not
    if width >= 3 and names[0].startswith("column ") and _goes_on(rows, 0):
        return 0, "seconds"
    return None, "rows"


def _unit(name: str, unit: str) -> int | None:
    """Return the units of a second that a heading names, as Time [ns] does; None: none."""
    if unit.lower() in UNITS:
        return UNITS[unit.lower()]
    words = [word for word in re.split(r"[^a-zµμ]+", name.lower()) if word]
    if len(words) > 1 and TIME.fullmatch(words[0]):
        return next((UNITS[word] for word in reversed(words) if word in UNITS), None)
    return UNITS.get(words[0]) if len(words) == 1 else None


def _numbers(rows: list[list[str]], column: int) -> list[float]:
    texts = [row[column].replace(",", ".") for row in rows]
    return [float(text) for text in texts if NUMBER.fullmatch(text)]


def _whole(rows: list[list[str]], column: int) -> bool:
    """Say whether all of a column are whole numbers."""
    return all(re.fullmatch(r"[+-]?[0-9]+", row[column]) for row in rows)


def _counts(rows: list[list[str]], column: int) -> bool:
    """Say whether a column counts something: whole numbers that go up."""
    return _whole(rows, column) and _goes_on(rows, column)


def _goes_on(rows: list[list[str]], column: int) -> bool:
    values = _numbers(rows, column)
    pairs = list(pairwise(values))
    return (
        len(values) == len(rows) >= 2
        and all(one <= other for one, other in pairs)
        and (len(set(values)) > 2 or not set(values) <= {0.0, 1.0})
    )


def _comma(samples: list[str]) -> bool:
    """Say whether numbers are written with a comma for a point."""
    return any("," in line for line in samples) and not any("." in line for line in samples)


def _quantum(path: Path, delimiter: str, time: int, rows: list[list[str]]) -> Fraction:
    """Return the last place of a column's numbers: at the end of a file it may be a higher one."""
    last: list[list[str]] = []
    with opened(path) as file:
        file.seek(max(0, file.seek(0, 2) - (1 << 14)))
        tail = file.read().splitlines(keepends=True)[1:][-LAST_ROWS:]
    if not tail or b"\0" not in tail[0]:
        whole = [_text(line) for line in tail if line.endswith(b"\n")]
        last = [row for row in (cells(line, delimiter) for line in whole) if len(row) > time]
    quanta = [_last_place([row[time] for row in part]) for part in (rows, last) if part]
    return max(quanta, default=Fraction(0))


def _last_place(texts: list[str]) -> Fraction:
    """Return the least place that any of some numbers, dates or times of day is written with."""
    places = []
    for text in texts:
        if DATE.fullmatch(text) or CLOCK.fullmatch(text):
            fraction = re.search(r"\.([0-9]+)", text)
            places.append(len(fraction[1]) if fraction else 0)
        elif match := WRITTEN.fullmatch(text):
            unit = UNITS.get(match[3].lower(), 1)
            digits = len((match[1] or "").replace(" ", ""))
            places.append(digits - int(match[2] or 0) + len(str(unit)) - 1)
    return Fraction(10) ** -max(places, default=0)


def _interval(text: str, delimiter: str, names: list[str], units: list[str]) -> Fraction | None:
    """Return the time between two rows, where the head says it."""
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


def cannot_time(heading: Heading, reason: str) -> MissingError:
    """Return the error of a table whose times cannot be known."""
    return MissingError(f"{heading.path} {reason}", next_step="name the rate with --rate-mhz")
