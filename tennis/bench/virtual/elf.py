"""The functions of an executable that is not moved, by its symbols (ELF-64, elf(5)).

One that is stripped, as Debian's Python, still has the names that its modules use, and tells where
each other function begins (.eh_frame_hdr of the Linux Standard Base). CPython's probes say which of
these collects garbage. It may come from anybody: malformed entries are no symbols.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from tennis.rally.phases import GARBAGE, OUTSIDE, PROGRAM, UNNAMED_OF_PYTHON, VDSO, Symbol
from tennis.rally.program import ELF
from tennis.rally.text import plain

SYMBOLS_MAX = 200_000
NAME_MAX = 256
_SYMBOL_TABLE, _NOTES, _DYNAMIC = 2, 7, 11  # sh_type
_OBJECT, _FUNCTION, _RESOLVED = 1, 2, 10  # st_info: also of functions that are chosen at start
# a C++ name of no template: Keeper::keep(int) is _ZN6Keeper4keepEi (Itanium C++ ABI)
_LOCAL = re.compile(r"_ZZ(?:L|NK?)?(\d.*)E(\d.*)")
_NESTED, _NAME = re.compile(r"_Z(?:L|NK?|NS_)?(?=\d)"), re.compile(r"(\d+)(?=\D)")
UNNAMED = "a function without a name"
# .eh_frame_hdr: version, then how its numbers are written: four bytes, signed, from its place
_FRAMES, _FRAMES_HEAD = ".eh_frame_hdr", b"\x01\x1b\x03\x3b"
# a note of SystemTap's: its address is 24 bytes before these words
_PROBE = b"python\0gc__start\0"
_EXECUTABLE = 2  # e_type: it is loaded at its own addresses
_CODE = 4  # sh_flags: it is executed
_SECTION = struct.Struct("<IIQQQQIIQQ")
_ENTRY = struct.Struct("<IBBHQQ")
# _Py_DebugOffsets of CPython 3.13 (pycore_runtime.h): a cookie, the version, whether it has no lock
# of its own, then offsets. Those that are used: as python.h has them, from interpreters_head on
_RT, _PYTHON, _OFFSETS = "_PyRuntime", 0x030D, struct.Struct("<8sQQ70Q")
_LAYOUT = (2, 6, 18, 20, 26, 27, 28, 30, 32, 34, 35, 36, 40, 62, 63, 65, 66, 67)
_OFFSET_MAX = 1 << 20


def functions(files: Mapping[str, bytes]) -> list[Symbol]:
    """Return the functions of the one executable among some files; empty: it tells none."""
    found: dict[int, str] = {}
    for content in files.values():
        if _is_in_place(content):
            for address, name in _symbols(content):
                # of several names the usual one: pthread_mutex_lock, not ___pthread_mutex_lock
                found[address] = min(found.get(address, name), name, key=_rank)
            if not found:
                found = _of_stripped(content)
            if found and (end := _end(content)) > max(found):
                # or all behind it would have the last function's name
                found[end] = OUTSIDE if _loader(content) else VDSO
            break
    return [Symbol(address, name, PROGRAM) for address, name in found.items()]


def _rank(name: str) -> tuple[int, int, str]:
    return len(name) - len(name.lstrip("_")), len(name), name


def why_nameless(files: Mapping[str, bytes]) -> str:
    """Say why a program's functions have no names; empty: they have."""
    nameless = {UNNAMED, UNNAMED_OF_PYTHON, GARBAGE, OUTSIDE, VDSO}
    if any(symbol.name not in nameless for symbol in functions(files)):
        return ""
    executables = [content for content in files.values() if content.startswith(ELF)]
    if not executables:
        return "it brings no executable of its own"
    if not any(map(_is_in_place, executables)):
        return "its place in memory is another one in each boot: link it with -static -no-pie"
    return "it is stripped: build it without -s"


def objects(files: Mapping[str, bytes]) -> list[tuple[int, int, str]]:
    """Return the variables of the one executable among some files, by address: begin, end, name."""
    content = next(filter(_is_in_place, files.values()), b"")
    found = _entries(content, _SYMBOL_TABLE, {_OBJECT})
    return sorted((at, at + size, _readable(name)) for at, size, name in found if size)


def python_layout(files: Mapping[str, bytes]) -> bytes:
    """Return where the CPython among some files has its threads, frames and lines.

    It is a ``struct python_layout`` (target/virtual/python.h), made of CPython's own table for
    debuggers. Empty: there is no CPython, or one whose table is another.
    """
    content = next(filter(_is_in_place, files.values()), b"")
    try:
        runtime = next(at for at, _, name in _entries(content, _DYNAMIC, {_OBJECT}) if name == _RT)
        its = (one for _, one in _sections(content) if one[3] <= runtime < one[3] + one[5])
        section = next(its)
        cookie, version, threaded, *numbers = _OFFSETS.unpack_from(
            content, section[4] + runtime - section[3]
        )
    except (struct.error, IndexError, OverflowError, StopIteration):
        return b""
    if (cookie, version >> 16, threaded) != (b"xdebugpy", _PYTHON, 0):
        return b""
    wanted = [numbers[place] for place in _LAYOUT]
    return struct.pack("<19Q", runtime, *wanted) if max(wanted) < _OFFSET_MAX else b""


def same_code(one: bytes, other: bytes) -> bool:
    """Tell whether two executables have the same code at the same addresses, and some."""
    codes = []
    for content in (one, other):
        try:
            its = [header for _, header in _sections(content) if header[2] & _CODE]
            codes.append([(its_[3], content[its_[4] : its_[4] + its_[5]]) for its_ in its])
        except (struct.error, IndexError, OverflowError):
            return False
    return bool(codes[0]) and codes[0] == codes[1]


def _readable(name: str) -> str:
    """Return a C++ name as its source has it, without its arguments; others as they are.

    A static variable of a function, _ZZ4mainE6ledger, is main::ledger.
    """
    if local := _LOCAL.fullmatch(name):
        return "::".join(_readable(f"_ZN{part}") for part in local.groups())
    found, rest = _NESTED.match(name), name
    if not found:
        return name
    parts, rest = [], name[found.end() :]
    while number := _NAME.match(rest):
        length = int(number[1])
        parts.append(rest[number.end() : number.end() + length])
        rest = rest[number.end() + length :]
    return "::".join(parts) if all(part.isidentifier() for part in parts) else name


def _loader(content: bytes) -> bool:
    """Tell whether an executable needs libraries."""
    try:
        return any(name == ".interp" for name, _ in _sections(content))
    except (struct.error, IndexError, OverflowError):
        return False


def _is_in_place(content: bytes) -> bool:
    return content.startswith(ELF) and content[16:18] == _EXECUTABLE.to_bytes(2, "little")


def _of_stripped(content: bytes) -> dict[int, str]:
    """Return each function's address and its name, if others may use it.

    Empty if it does not list where those without a name begin: they would have others' names.
    """
    starts = sorted(_starts(content))
    named = list(_symbols(content, _DYNAMIC))
    if not starts or not named:
        return {}
    found = dict.fromkeys(starts, UNNAMED)
    for address, name in named:
        found[address] = (
            name if found.get(address, UNNAMED) == UNNAMED else min(found[address], name, key=_rank)
        )
    before = bisect_right(starts, _probe(content)) - 1
    if before >= 0:
        found = {
            address: UNNAMED_OF_PYTHON if name == UNNAMED else name
            for address, name in found.items()
        }
        if found[starts[before]] == UNNAMED_OF_PYTHON:
            found[starts[before]] = GARBAGE
    return found


def _end(content: bytes) -> int:
    """Return the address behind the last code of an executable; 0: it does not tell."""
    try:
        ends = [one[3] + one[5] for _, one in _sections(content) if one[2] & _CODE]
    except (struct.error, IndexError, OverflowError):
        return 0
    return max(ends, default=0)


def _starts(content: bytes) -> Iterator[int]:
    """Yield the beginnings of functions, from the table for unwinding stacks."""
    try:
        for name, section in _sections(content):
            if name != _FRAMES or content[section[4] : section[4] + 4] != _FRAMES_HEAD:
                continue
            (count,) = struct.unpack_from("<I", content, section[4] + 8)
            for i in range(min(count, SYMBOLS_MAX)):
                (place,) = struct.unpack_from("<i", content, section[4] + 12 + 8 * i)
                if section[3] + place > 0:
                    yield section[3] + place
    except (struct.error, IndexError, OverflowError):
        return


def _probe(content: bytes) -> int:
    """Return an address in CPython's collector of garbage; -1: it has no such probe."""
    try:
        for _, section in _sections(content):
            notes = content[section[4] : section[4] + min(section[5], 1 << 16)]
            at = notes.find(_PROBE) if section[1] == _NOTES else -1
            if at >= 24:
                return int(struct.unpack_from("<Q", notes, at - 24)[0])
    except (struct.error, IndexError, OverflowError):
        pass
    return -1


def _sections(content: bytes) -> list[tuple[str, tuple[int, ...]]]:
    """Return each section's name and header. Raises struct.error, IndexError, OverflowError."""
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count, names = struct.unpack_from("<HHH", content, 58)
    headers = [_SECTION.unpack_from(content, table + i * size) for i in range(count)]
    if not headers:
        return []
    texts = content[headers[names][4] : headers[names][4] + headers[names][5]]
    called = (texts[one[0] : one[0] + NAME_MAX].partition(b"\0")[0] for one in headers)
    return [
        (name.decode("ascii", "replace"), one) for name, one in zip(called, headers, strict=True)
    ]


def _symbols(content: bytes, table: int = _SYMBOL_TABLE) -> Iterator[tuple[int, str]]:
    """Yield address and name of each function; ``table``: the kind of the section that has them."""
    for address, _, name in _entries(content, table, {_FUNCTION, _RESOLVED}):
        yield address, _readable(name)


def _entries(content: bytes, table: int, kinds: set[int]) -> Iterator[tuple[int, int, str]]:
    """Yield address, size and name of each symbol of some kinds."""
    try:
        sections = [section for _, section in _sections(content)]
        for section in sections:
            if section[1] != table:
                continue
            names = sections[section[6]]
            texts = content[names[4] : names[4] + names[5]]
            for i in range(min(section[5] // _ENTRY.size, SYMBOLS_MAX)):
                name, info, _, place, value, size = _ENTRY.unpack_from(
                    content, section[4] + i * _ENTRY.size
                )
                if info & 0xF not in kinds or not place or not value:
                    continue
                text = texts[name : name + NAME_MAX].partition(b"\0")[0]
                yield value, size, plain(text.decode("ascii", "replace"), 100)
    except (struct.error, IndexError, OverflowError):
        return
