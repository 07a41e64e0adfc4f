#!/usr/bin/python3 -I
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The files that a Raspberry Pi's firmware reads, by its documentation: one rule for all.

``tennis card`` imports this. The role ``tuning`` runs it on the target, and ``tennis-boot`` has it
beside itself there (ansible/roles/*/files/tennis-firmware): it needs Python and nothing else.

  tennis-firmware FOLDER   print, as JSON, the name of the file that is the command line of the
                           board's own kernel; null if FOLDER has no config.txt

Sources: Raspberry Pi's documentation (config_txt/what_is_config_txt: a line's form and length,
include; conditional; boot: cmdline, os_prefix, upstream_kernel; autoboot), and
docs/hardware-sources.md for what other sources say. A line that depends on a monitor, a pin or
something undocumented is ``Unclear`` if it could change the answer.
"""

import glob
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

MODEL = Path("/proc/device-tree/model")
CONFIG, COMMAND_LINE = "config.txt", "cmdline.txt"
MARK = "\ufeff"  # in front of a file that an editor of Windows saved
LINE_MAX = 98  # bytes of a line of config.txt; the firmware ignores the rest
# Bytes. arm64 takes 2048 (arch/arm64/include/uapi/asm/setup.h) and cuts off the rest without a
# word; some are left to the words that the firmware puts in front.
COMMAND_LINE_MAX = 1400
FILE_MAX = 1 << 16  # bytes
FILES_MAX = 32  # included in each other; how many the firmware takes, nobody says
BEGIN, END = "# tennis: the kernel (written by tennis-boot)", "# tennis: end of the kernel"
KERNELS = ("kernel8.img", "kernel_2712.img", "kernel7l.img", "kernel7.img", "kernel.img")


class Unclear(Exception):  # noqa: N818 (it is no error of the program)
    """Nobody but the board can tell what its firmware does; the message says with which line."""


@dataclass(frozen=True)
class _Entry:
    """A line of config.txt. ``applies`` is None if only the board can tell."""

    name: str
    value: str
    applies: bool | None
    where: str


def _filters_of(model: str) -> frozenset[str] | None:
    """Return the model filters that apply to a board, None for a model that is not known.

    ``model`` is what /proc/device-tree/model says: ``Raspberry Pi 4 Model B Rev 1.5``.
    """
    found = re.match(r"Raspberry Pi (Compute Module )?(Zero 2|Zero W|Zero|\d+S?)( Model)?", model)
    if not found:
        return None
    module, name = bool(found[1]), found[2]
    if name.startswith("Zero"):
        names = {"pi0"} | ({"pi0w"} if name != "Zero" else set())
        return frozenset(names | ({"pi02"} if name == "Zero 2" else set()))
    names = {f"pi{name[0]}"}
    if module:
        names.add(f"cm{name.lower()}")
    elif len(name) > 1:  # 400 and 500
        names.add(f"pi{name}")
    elif name == "3" and "Plus" in model:
        names.add("pi3+")
    return frozenset(names)


@dataclass
class _Filters:
    """The filters above a line: the last one of a kind counts, kinds add up."""

    board: frozenset[str] | None
    tryboot: bool
    passes: dict[str, bool | None] = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Take a line that begins with a bracket."""
        word = line.removeprefix("[").removesuffix("]").strip()
        if "none" in self.passes:
            self.passes["none"] = None  # nobody says whether another filter ends it
        if not line.endswith("]"):
            self.passes = {"unsaid": None}
        elif word == "all":
            self.passes = {}
        elif word == "none":
            self.passes["none"] = False
        elif word == "tryboot":
            self.passes["tryboot"] = self.tryboot
        elif re.fullmatch(r"(pi|cm)\d\S*", word):
            self.passes["model"] = None if self.board is None else word in self.board
        elif word.startswith("board-type="):
            self.passes["model"] = None
        elif found := re.match(r"EDID=|HDMI:|0x|gpio\d", word):
            self.passes[found[0]] = None  # a monitor, a serial number, a pin
        else:  # it may be one that ends them all: [ALL]
            self.passes = {"unsaid": None}

    @property
    def applies(self) -> bool | None:
        """Tell whether a line below them applies; None: perhaps."""
        if False in self.passes.values():
            return False
        return None if None in self.passes.values() else True


def without_ours(text: str) -> str:  # tennis_boot.py runs this file, and asks for it by name
    """Return config.txt without the block that tennis-boot wrote for a kernel."""
    return _blocks(text, lambda _: "")


def _blocks(text: str, instead: Callable[[re.Match[str]], str]) -> str:
    # \r: somebody may have edited it on Windows since
    pattern = rf"^{re.escape(BEGIN)}\r?$.*?^{re.escape(END)}\r?$\n?"
    return re.sub(pattern, instead, text, flags=re.MULTILINE | re.DOTALL)


def _lines_of(folder: Path, name: str, *, ours: bool = False) -> list[str]:
    """Return a file's lines as far as the firmware reads them; none if the file is missing."""
    try:
        with (folder / name).open("rb") as file:
            data = file.read(FILE_MAX + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return []
    if len(data) > FILE_MAX:
        raise Unclear(f"{folder / name} has more than {FILE_MAX} bytes")
    if not ours:
        # empty lines in its place: later lines keep their numbers
        text = data.decode(errors="surrogateescape")
        data = _blocks(text, lambda block: "\n" * block[0].count("\n")).encode(
            errors="surrogateescape"
        )
    return [line[:LINE_MAX].decode(errors="replace").strip() for line in data.split(b"\n")]


def entries(
    folder: Path, name: str = CONFIG, *, model: str = "", tryboot: bool = False, ours: bool = False
) -> list[_Entry]:
    """Return the lines that apply, or that may apply, in their order: the last one counts.

    ``model``: of the board; without it, lines below a model's filter may apply. ``ours``: with the
    block that tennis-boot wrote, which chooses another kernel. Raises Unclear.
    """
    filters = _Filters(_filters_of(model), tryboot)
    includes = 0

    def read(name: str, *, sure: bool) -> Iterator[_Entry]:
        nonlocal includes
        for number, line in enumerate(_lines_of(folder, name, ours=ours), 1):
            where = f"line {number} of {folder / name}"
            if line.startswith(("[", f"{MARK}[")):
                filters.take(line)
            if not line or line.lstrip(MARK).startswith(("#", "[")) or filters.applies is False:
                continue
            word, _, rest = line.partition(" ")
            if word == "include":  # its lines replace this one, and so do its filters
                includes += 1
                if includes > FILES_MAX:
                    raise Unclear(f"{where}: more than {FILES_MAX} files are included")
                before = None if sure and filters.applies else dict(filters.passes)
                yield from read(_inside(rest.strip(), where), sure=before is None)
                if before is not None and before != filters.passes:
                    filters.passes = {"unsaid": None}  # as it was, or as that file left it
                continue
            applies = filters.applies if sure else None
            key, equals, value = line.partition("=")
            if not equals or " " in key.strip():  # initramfs FILE, and so cmdline FILE
                key, value = word, rest
                if equals or word not in {"initramfs", "cmdline", "kernel"}:
                    applies = None  # nobody says so of others
            elif key != key.strip(f" {MARK}") or value != value.strip():
                applies = None  # nobody says what spaces around it do, or a mark in front
            yield _Entry(key.strip(f" {MARK}"), value.strip(), applies, where)

    return list(read(name, sure=True))


def value_of(lines: list[_Entry], name: str, default: str = "") -> str:
    """Return a setting's value, the last one that applies. Raises Unclear."""
    value, doubts = default, list[_Entry]()
    for entry in lines:
        if entry.name == name:
            if entry.applies:
                value, doubts = entry.value, []
            else:
                doubts.append(entry)
    for entry in doubts:
        if entry.value != value:
            raise Unclear(
                f"{entry.where} says {name}={_printable(entry.value)}, and only the board knows "
                f"whether that applies: write {name}= below [all], once"
            )
    return value


def command_line(folder: Path, model: str = "") -> str | None:
    """Return the name of the file that is the command line of a board's own kernel.

    The name is relative to the boot partition ``folder``. tennis-boot's block is ignored: the
    kernels of that block have copies. None if config.txt is missing. Raises Unclear.
    """
    if not (folder / CONFIG).is_file():
        return None
    lines = entries(folder, model=model)
    name = value_of(lines, "cmdline", COMMAND_LINE)
    placed = name if name.startswith("/") else _prefix(folder, lines) + name
    return _inside(placed, f"cmdline={_printable(name)}")


def cut_off(folder: Path) -> list[int]:
    """Return the numbers of config.txt's lines whose end the firmware ignores, from 1."""
    with (folder / CONFIG).open("rb") as file:
        lines = file.read(FILE_MAX).split(b"\n")
    return [
        number
        for number, line in enumerate(lines, 1)
        if line[LINE_MAX:].strip() and not line.lstrip().startswith(b"#")
    ]


def _prefix(folder: Path, lines: list[_Entry]) -> str:
    """Return os_prefix, empty if kernel and device tree are not behind it."""
    upstream = value_of(lines, "upstream_kernel", "0") != "0"
    prefix = value_of(lines, "os_prefix", "upstream/" if upstream else "")
    if not prefix:
        return ""
    named = value_of(lines, "kernel")
    place = folder / _inside(f"{prefix}x", f"os_prefix={_printable(prefix)}")
    front = place.name.removesuffix("x")
    kernels = [named] if named else KERNELS
    kernel = any((folder / f"{prefix}{kernel}".lstrip("/")).is_file() for kernel in kernels)
    tree = any(place.parent.glob(f"{glob.escape(front)}bcm2*.dtb"))
    return prefix if kernel and tree else ""


def _inside(name: str, where: str) -> str:
    """Return a name that is below the boot partition. Raises Unclear for any other."""
    parts = PurePosixPath(name.lstrip("/")).parts
    if not parts or ".." in parts or not name.isprintable():
        raise Unclear(f"{where} names no file of the boot partition: {name!a}")
    return str(PurePosixPath(*parts))


def _printable(text: str) -> str:
    """Return a file's text without characters that move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def main(words: list[str]) -> None:
    """Print the file of the command line."""
    if len(words) != 1:
        sys.exit("use: tennis-firmware FOLDER")
    try:
        model = MODEL.read_bytes().decode(errors="replace").rstrip("\0")
    except OSError:
        model = ""
    try:
        name = command_line(Path(words[0]), model)
    except Unclear as unclear:
        sys.exit(f"tennis-firmware: {unclear}")
    print(json.dumps({"command_line": name}))


if __name__ == "__main__":
    main(sys.argv[1:])
