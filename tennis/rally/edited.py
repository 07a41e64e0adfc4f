"""Text that people edit: files of all editors are read alike, or refused with the reason.

An editor may put a byte order mark in front, end lines in its own way, save in another encoding,
or turn quotation marks into those of a printed text.
"""

import codecs
import difflib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tennis.kit.errors import TennisError, UsageError
from tennis.rally.copied_names import SHOWN_MAX, copies_of
from tennis.rally.disk import write_whole
from tennis.rally.text import plain

_MARKS = (  # the longer ones first: one begins as another does
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_NUMBER = "correct the number"
_SAVE = "save it as UTF-8"
_PRINTED = frozenset(
    "\u00ab\u00bb\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f"
    "\u2032\u2033\u2039\u203a\u300c\u300d\uff02\uff07"
)
_AS_TYPED = "write ' or \" there, in an editor for plain text"
# look like a space, like nothing, like a sign of TOML
_STRANGE = frozenset(
    "\u00a0\u00ad\u2002\u2003\u2009\u200b\u200c\u200d\u202f\u2060\u3000\ufeff\u2212\u2013\uff1d"
)
# a key of this many parts takes Python hours
_LONG_KEY = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){64}""")
# Python's words for a key or a table that occurs a second time
_TWICE = ("Cannot overwrite a value", "Cannot declare ", "Duplicate inline table key ")
_KEY = re.compile(r"\s*\[*\s*([\w.-]+)\s*(?:=(?!\s*\{)|\])")
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")


class EditedError(ValueError):
    """A file that somebody edited cannot be read.

    ``message`` continues after the file's name, in one line; ``next_step`` is what to do.
    """

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(message)
        self.message, self.next_step = message, next_step


def text_of(data: bytes) -> str:
    """Return a file's text without its byte order mark; every line ends with a newline.

    Raises EditedError if it is not UTF-8.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            raise EditedError(f"is saved as {name}", _SAVE)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = len(data[: error.start + 1].splitlines())
        raise EditedError(f"is not UTF-8 (line {line})", _SAVE) from error
    if len(text) // 4 < text.count("\0") < len(text):
        raise EditedError("holds zero bytes, as UTF-16 does", _SAVE)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def toml_of(data: bytes, next_step: str = "correct that line") -> dict[str, Any]:
    """Return the contents of a TOML file; ``next_step`` is what to do if it is malformed.

    Raises EditedError with the line.
    """
    text = text_of(data)
    if (long := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, long.start()) + 1
        raise EditedError(f"has a key of too many parts in line {line}", next_step)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _why(text, plain(str(error), 120), next_step) from error
    except RecursionError as error:
        raise EditedError(
            "cannot be read: it is not TOML (too many brackets in brackets)", next_step
        ) from error
    except ValueError as error:  # more digits than Python takes
        raise EditedError("is not TOML: a number has too many digits", _NUMBER) from error
    if _holds_large_number(content):
        raise EditedError("holds a number of more than 64 bits", _NUMBER)
    return content


def write_readable(path: Path, data: bytes) -> None:
    """Write a TOML file that people edit, in place of the one that is there.

    Raises TennisError for what nobody could read again: the file stays as it is.
    """
    try:
        toml_of(data)
    except EditedError as error:
        raise TennisError(
            f"{path} was not written: it {error.message} then", next_step="report this"
        ) from error
    write_whole(path, data, force=True)


def nearest(word: str, names: Iterable[str]) -> str:
    """Return what to write in place of a word that is not among ``names``."""
    listed = list(names)
    close = difflib.get_close_matches(word, listed, 1)
    return f"write {close[0]}" if close else f"use {', '.join(listed)}"


def _holds_large_number(value: object) -> bool:
    """Tell whether a number is too large for TOML: Python reads it, but cannot print it.

    The recursion is bounded: TOML with more levels was refused before.
    """
    if isinstance(value, dict):
        return any(map(_holds_large_number, value.values()))
    if isinstance(value, list):
        return any(map(_holds_large_number, value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _why(text: str, reason: str, next_step: str) -> EditedError:
    """Return the error of a text that is no TOML: the editor's character, if that is the reason."""
    lines = text.split("\n")
    place = _PLACE.search(reason)
    number, column = (int(place[1]), int(place[2])) if place else (len(lines), 0)
    if reason.startswith(_TWICE):
        key = _KEY.match(lines[number - 1])  # not in the last line of a text
        what = plain(key[1], 40) if key else "a key"
        return EditedError(f"has {what} twice, again in line {number}", "take one of them out")
    there = lines[number - 1][column - 1 : column] if column else ""
    if there in _PRINTED and there:
        return _printed(number, there)
    if there in _STRANGE:
        what = f"has U+{ord(there):04X} in line {number}, column {column}, which TOML does not know"
        return EditedError(what, "type that line again, in an editor for plain text")
    # a text that never ended, or that ended too late: its own quotation marks come before
    for before, line in enumerate(lines[:number], 1):
        marks = line.partition("=")[2].strip() or line.strip()
        if marks[:1] in _PRINTED or (len(marks) < 10 and set(marks) <= _PRINTED | {"'", '"'}):
            found = next((mark for mark in marks[:10] if mark in _PRINTED), "")
            if found:
                return _printed(before, found)
    return EditedError(f"is not TOML: {reason}", next_step)


def _printed(line: int, mark: str) -> EditedError:
    what = f"has {mark} in line {line}, a quotation mark of a word processor"
    return EditedError(what, _AS_TYPED)


def read_edited(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file that people edit; empty if it is missing.

    Raises UsageError if somebody broke it, or if a copy of it is beside it: both are kept.
    """
    if copies := copies_of(path):  # somebody edited one of them, and this one may be the other
        raise UsageError(
            f"{path.parent} has {plain(', '.join(copies[:SHOWN_MAX]), 200)}, which nothing reads",
            next_step=f"put what you wrote there into {path.name}, and remove it",
        )
    if not path.is_file():
        return {}
    try:
        return toml_of(path.read_bytes())
    except EditedError as error:
        raise UsageError(f"{path} {error}", next_step=error.next_step) from error
