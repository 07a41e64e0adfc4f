"""Where figures stand in texts: found, compared with what was recorded, and written again."""

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from figures_register import Place, Registered
from figures_values import Value, said

from tennis.kit.errors import UsageError

NAME = re.compile(r"\{([a-z][a-z0-9_]*)(?:\|(ns|us|ms|plain))?\}")
# a number as a page has it, with its unit or without
MINUS = "[\N{MINUS SIGN}-]"
NUMBER = rf"(?:[<>] )?{MINUS}?\d[\d,.]*(?:\s(?:ns|µs|us|ms|s|%)(?![A-Za-z]))?"
FENCE = re.compile(r"^\s*(```|~~~|:::)")
ELISIONS = {"...", "[...]", ""}


@dataclass(frozen=True)
class Found:
    """A stretch of a text that is the register's: where, what stands there, what should."""

    start: int
    end: int
    now: str
    wanted: str

    @property
    def is_right(self) -> bool:
        """Tell whether the text has what was recorded, however its lines are broken."""
        return self.now == self.wanted


def find(text: str, place: Place, one: Registered) -> list[Found]:
    """Return the stretches of a place. Raises UsageError if it is not there, or there twice."""
    if place.text is not None:
        return _values(text, place.text, one)
    return [_block(text, place, one)]


def filled(text: str, value: Callable[[str], Value]) -> str:
    """Return a command with values in place of names in braces."""
    return NAME.sub(lambda match: said(value(match[1])).replace(",", ""), text)


def _values(text: str, pattern: str, one: Registered) -> list[Found]:
    record = one.record
    assert record is not None  # noqa: S101 (asked before)
    names: list[tuple[str, str]] = []
    built, at = "", 0
    for match in NAME.finditer(pattern):
        if match[1] not in one.play.values:
            continue
        names.append((match[1], match[2] or ""))
        value = record["values"][match[1]]
        built += _spaced(pattern[at : match.start()])
        built += f"({_shape(value)})"
        at = match.end()
    built += _spaced(pattern[at:])
    if not names:
        raise UsageError(f"{one.name}: no value of the register in {pattern!r}")
    found = list(re.finditer(built, text))
    if len(found) != 1:
        times = f"{len(found)} times" if found else "not"
        raise UsageError(f"{one.name}: {times} in the text: {pattern!r}")
    match = found[0]
    return [
        Found(
            *match.span(number),
            re.sub(r"\s+", " ", match[number]),
            said(record["values"][name], form),
        )
        for number, (name, form) in enumerate(names, 1)
    ]


def _spaced(text: str) -> str:
    """Return a pattern of a text whose lines may be broken elsewhere."""
    words = re.split(r"\s+", text)
    return r"\s+".join(map(re.escape, words))


def _shape(value: Value) -> str:
    """Return a pattern of what may stand in a value's place: a number, or words like its own."""
    if isinstance(value, str) and not re.fullmatch(NUMBER, value):
        return r"\S+(?:\s\S+)*?"
    return NUMBER


def _block(text: str, place: Place, one: Registered) -> Found:
    record = one.record
    assert record is not None and place.output is not None  # noqa: S101 (asked before)
    output = record["outputs"][str(place.output)]
    if place.part:
        begin = f"<!-- made by scripts/figures.py: {place.part} -->\n\n"
        start = text.find(begin) + len(begin)
        end = text.find("<!-- until here -->", start)
        if text.count(begin) != 1 or end < 0:
            raise UsageError(f"{one.name}: no part {place.part} in {place.file}")
        return Found(start, end, text[start:end], chosen(output, place.lines, place.wrap) + "\n")
    command = place.shows or f"tennis {one.play.commands[place.output - 1]}"
    command = filled(command, lambda name: record["values"][name])
    lines = text.splitlines(keepends=True)
    first = _below(lines, place.below) if place.below else _behind(lines, command)
    if first is None:
        what = place.below or f"$ {command}"
        raise UsageError(f"{one.name}: not once in {place.file}: {what!r}")
    last = first
    while last < len(lines) and not FENCE.match(lines[last]) and not lines[last].startswith("$ "):
        last += 1
    start = sum(map(len, lines[:first]))
    now = "".join(lines[first:last])
    return Found(start, start + len(now), now, chosen(output, place.lines, place.wrap))


def _below(lines: list[str], anchor: str) -> int | None:
    """Return the first line within the first fence below the only line with ``anchor``."""
    at = [number for number, line in enumerate(lines) if anchor in line]
    # within a block, the next fence ends it and begins none
    if len(at) != 1 or sum(bool(FENCE.match(line)) for line in lines[: at[0]]) % 2:
        return None
    fence = next((n for n in range(at[0] + 1, len(lines)) if FENCE.match(lines[n])), None)
    return None if fence is None else fence + 1


def _behind(lines: list[str], command: str) -> int | None:
    """Return the line behind the only one that types a command; it may go on in further lines."""
    found = []
    for number, line in enumerate(lines):
        if not line.startswith("$ "):
            continue
        typed, end = line[2:].strip(), number
        while typed.endswith("\\"):
            end += 1
            typed = f"{typed[:-1].strip()} {lines[end].strip()}"
        if re.sub(r"\s+", " ", typed) == command:
            found.append(end + 1)
    return found[0] if len(found) == 1 else None


def chosen(output: str, which: list[str], wrap: int | None) -> str:
    """Return lines of an output, as ``Place.lines`` names them. Raises UsageError."""
    lines = [line.rstrip() for line in output.splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    taken: list[str] = []
    for part in which:
        if part in ELISIONS:
            taken.append(part)
            continue
        if part[0] in "=@":
            found = _paragraph(lines, part[1:])
            taken += found if part[0] == "@" else found[:1]
            continue
        match = re.fullmatch(r"(-?\d+)(?:-(-?\d+))?", part)
        if not match:
            raise UsageError(f"{part!r} names no lines")
        first, last = (_line(int(n), len(lines)) for n in (match[1], match[2] or match[1]))
        taken += lines[first : last + 1]
    if wrap:
        taken = [piece for line in taken for piece in _wrapped(line, wrap)]
    return "".join(f"{line}\n" for line in taken)


def _paragraph(lines: list[str], first: str) -> list[str]:
    at = next((n for n, line in enumerate(lines) if line.lstrip().startswith(first)), None)
    if at is None:
        raise UsageError(f"the output has no line that begins with {first!r}")
    end = next((n for n in range(at, len(lines)) if not lines[n]), len(lines))
    return lines[at:end]


def _line(number: int, count: int) -> int:
    at = count + number if number < 0 else number - 1
    if not 0 <= at < count:
        raise UsageError(f"the output has {count} lines, and no line {number}")
    return at


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = re.match(r"\s*", line)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=indent[0] if indent else "",
        break_on_hyphens=False,
        break_long_words=False,
    )


def write(text: str, found: list[Found]) -> str:
    """Return the text with what should stand there."""
    for one in sorted(found, key=lambda one: one.start, reverse=True):
        if not one.is_right:
            text = text[: one.start] + one.wanted + text[one.end :]
    return text


def sentence_around(text: str, found: Found) -> str:
    """Return the paragraph's part around a stretch, so that somebody reads it again."""
    start = max(text.rfind("\n\n", 0, found.start) + 2, found.start - 160)
    end = text.find("\n\n", found.end)
    end = min(len(text) if end < 0 else end, found.end + 160)
    return re.sub(r"\s+", " ", text[start:end]).strip()


TIME = re.compile(
    "(?<![\\w.,\N{MINUS SIGN}-])"
    r"\d[\d,.]*(?: (?:\.\.|to|and|or|/) \d[\d,.]*)*\s(?:ns|µs|ms)\b"
)


def unregistered(
    text: str, covered: list[Found], facts: list[str], constants: Mapping[str, None]
) -> list[tuple[int, str]]:
    """Return (line, number) of each time in a text that neither a play nor a fact explains."""
    spans = [(one.start, one.end) for one in covered]
    if facts == ["*"]:  # the register says why the whole page has nothing to do with it
        return []
    for fact in facts:
        matches = list(re.finditer(_spaced(fact), text))
        if not matches:
            raise UsageError(f"a fact of the register is not in the text: {fact!r}")
        spans += [match.span() for match in matches]
    missing = []
    for match in TIME.finditer(text):
        inside = any(start < match.end() and match.start() < end for start, end in spans)
        if not inside and re.sub(r"\s+", " ", match[0]) not in constants:
            number = re.sub(r"\s+", " ", match[0])
            missing.append((text.count("\n", 0, match.start()) + 1, number))
    return missing
