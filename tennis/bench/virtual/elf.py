# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The functions of a static executable, as its table of symbols has them (ELF-64, elf(5)).

It may come from anybody: what does not fit is no symbol.
"""

import struct
from collections.abc import Iterator, Mapping

from tennis.explain.phases import PROGRAM, Symbol
from tennis.rally.program import ELF
from tennis.rally.text import plain

SYMBOLS_MAX = 200_000
NAME_MAX = 256
_SYMBOL_TABLE, _FUNCTION, _RESOLVED = 2, 2, 10  # sh_type; st_info: also of what is chosen at start
_EXECUTABLE = 2  # e_type: it is where it says
_SECTION = struct.Struct("<IIQQQQIIQQ")
_ENTRY = struct.Struct("<IBBHQQ")


def functions(files: Mapping[str, bytes]) -> list[Symbol]:
    """Return the functions of the one executable among some files; empty: it tells none."""
    found: dict[int, str] = {}
    for content in files.values():
        if _is_in_place(content):
            for address, name in _symbols(content):
                # of several names the usual one: pthread_mutex_lock, not ___pthread_mutex_lock
                found[address] = min(found.get(address, name), name, key=_rank)
            break
    return [Symbol(address, name, PROGRAM) for address, name in found.items()]


def _rank(name: str) -> tuple[int, int, str]:
    return len(name) - len(name.lstrip("_")), len(name), name


def why_nameless(files: Mapping[str, bytes]) -> str:
    """Say why a program's functions have no names; empty: they have."""
    if functions(files):
        return ""
    executables = [content for content in files.values() if content.startswith(ELF)]
    if not executables:
        return "it brings no executable of its own"
    if not any(map(_is_in_place, executables)):
        return "its place in memory is another one in each boot: link it with -static -no-pie"
    return "it is stripped: build it without -s"


def _is_in_place(content: bytes) -> bool:
    return content.startswith(ELF) and content[16:18] == _EXECUTABLE.to_bytes(2, "little")


def _symbols(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield address and name of each function."""
    try:
        (table,) = struct.unpack_from("<Q", content, 40)
        size, count = struct.unpack_from("<HH", content, 58)
        sections = [_SECTION.unpack_from(content, table + i * size) for i in range(count)]
        for section in sections:
            if section[1] != _SYMBOL_TABLE:
                continue
            names = sections[section[6]]
            texts = content[names[4] : names[4] + names[5]]
            for i in range(min(section[5] // _ENTRY.size, SYMBOLS_MAX)):
                name, info, _, place, value, _ = _ENTRY.unpack_from(
                    content, section[4] + i * _ENTRY.size
                )
                if info & 0xF not in {_FUNCTION, _RESOLVED} or not place or not value:
                    continue
                text = texts[name : name + NAME_MAX].partition(b"\0")[0]
                yield value, plain(text.decode("ascii", "replace"), 100)
    except (struct.error, IndexError, OverflowError):
        return
