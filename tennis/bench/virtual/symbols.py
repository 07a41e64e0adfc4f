"""The names of a virtual target's kernel functions: as the kernel itself prints them.

The target is booted once more to read /proc/kallsyms: the kernel's own functions before the load
starts, the modules' after the Racquet was loaded. KASLR moves kernel and modules in each boot; the
rally's console has their addresses. The kernel's own are read with ``nokaslr``. The modules' are
not: Linux 6.1 obeys it and calls it unknown, and such a target is not started.
``tennis.explain.replayed`` checks that the Racquet is where the names then say. See
docs/decisions/0011.
"""

import base64
import binascii
import re
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.kernels import own_module
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.virtual import elf, program
from tennis.bench.virtual.machine import Extras, Machine
from tennis.bench.virtual.parts import Parts
from tennis.kit.errors import BenchError
from tennis.kit.log import log
from tennis.rally.folder import CONSOLE
from tennis.rally.phases import Symbol
from tennis.rally.text import plain

# busybox's grep is quick with fixed strings only
_DUMP = """#!/bin/sh
head -n 1 /proc/kallsyms > /tmp/symbols
cat /proc/modules >> /tmp/symbols
grep -F {filter} /proc/kallsyms >> /tmp/symbols
echo "tennis: symbols begin"
gzip -1 -c /tmp/symbols | base64
echo "tennis: symbols end"
poweroff -f
"""
MODULES, INIT_TASK = "modules", "init_task"  # the lists' heads: of modules, of tasks
_FUNCTIONS = f"-e ' t ' -e ' T ' -e ' w ' -e ' W ' -e ' {MODULES}' -e ' {INIT_TASK}'"
# of /proc/modules: name, size, users, their names, state, address
_MODULE = re.compile(r"(\S+) \d+ \d+ \S+ \S+ 0x([0-9a-f]{16})(?: .*)?")
_LINE = re.compile(r"([0-9a-f]{16}) [tTwW] ([^\s$]\S*)(?:\t\[(\S+)\])?")
_VARIABLE = re.compile(r"([0-9a-f]{16}) [dDbB] ([^\s$._]\S*)(?:\t\[(\S+)\])?")
SIZE_LIMIT = 1 << 26  # bytes
BOOT_LIMIT_S = 300


def functions(parts: Parts, facts: Mapping[str, str]) -> list[Symbol]:
    """Return all functions of a target by address, one for each address. Raises BenchError.

    ``facts`` are those of the rally's console: the addresses of kernel and modules (``at_kernel``,
    ``at_racquet``). Each line of a user's Racquet is a symbol of its own.
    """
    answerer = parts.answerer
    both = _table_of(_kernel(parts), facts) + _table_of(_modules(parts), facts)
    if answerer.program:
        both += elf.functions(program.executables(answerer.program))
    if parts.plan.racquet:
        both = _by_lines(both, Path(parts.plan.racquet), parts.kernel)
    return sorted(both, key=lambda symbol: symbol.address)


def variables(parts: Parts, facts: Mapping[str, str]) -> list[Symbol]:
    """Return the variables of a target's modules by address, as ``functions``."""
    return _table_of(_modules(parts), facts, _VARIABLE)


def _by_lines(symbols: Sequence[Symbol], source: Path, kernel: Kernel) -> list[Symbol]:
    """Return the symbols; those of a user's own Racquet are divided into lines."""
    lines = own_module.build(source, kernel).lines(plain(source.name, 40))
    found: list[Symbol] = []
    for symbol in symbols:
        found.append(symbol)
        if symbol.module != own_module.NAME:
            continue
        for offset, line in lines.get(symbol.name, ()):
            if not offset:
                found.pop()
            address, goes_on = symbol.address + offset, offset > 0
            found.append(replace(symbol, address=address, line=line, goes_on=goes_on))
    return found


def _modules(parts: Parts) -> str:
    """Return what a target tells of the symbols in its modules."""
    kernel, answerer = parts.kernel, parts.answerer
    loaded = [file for file in (answerer.racquet, parts.load_module, answerer.drill) if file]
    key = digest(
        kernel.fingerprint,
        kernel.image,
        parts.qemu.version,
        _DUMP,
        *loaded,
        *parts.drivers.values(),
        parts.load.name,
        parts.plan.kernel_words,
    )
    return _printed_symbols(
        f"modules-{key}",
        parts,
        {"/tennis/after": _DUMP.format(filter="'\t['")},
        "reading the names in the modules (once)",
    )


def fixed(parts: Parts) -> tuple[list[Symbol], int, dict[str, int]]:
    """Return a kernel's layout without KASLR: its functions by address, its beginning, heads.

    Heads are those of the lists. Raises BenchError if the kernel does not tell.
    """
    text = _kernel(parts)
    heads = {
        match[2]: int(match[1], 16)
        for match in re.finditer(rf"(?m)^([0-9a-f]{{16}}) [dDbB] ({MODULES}|{INIT_TASK})$", text)
    }
    if heads.keys() != {MODULES, INIT_TASK}:
        raise BenchError(
            f"Linux {parts.kernel.release} does not say where its lists of modules and tasks are",
            next_step="build it with CONFIG_KALLSYMS_ALL=y",
        )
    return _table_of(text, {"at_kernel": text[:16]}), int(text[:16], 16), heads


def in_place(kernel: Kernel) -> str:
    """Return the parameter that keeps KASLR from moving a kernel; empty: it has no KASLR.

    A kernel without it would say that it does not know the parameter.
    """
    return "nokaslr" if kernel.options.get("CONFIG_RANDOMIZE_BASE") == "y" else ""


def _kernel(parts: Parts) -> str:
    """Return a kernel's own symbols, at their addresses without KASLR."""
    kernel = parts.kernel
    key = digest(
        kernel.fingerprint, kernel.image, parts.qemu.version, _DUMP, _FUNCTIONS, in_place(kernel)
    )  # fmt: skip
    return _printed_symbols(
        f"{kernel.release}-{key}",
        parts,
        {"/tennis/before": _DUMP.format(filter=_FUNCTIONS)},
        f"reading the functions' names of Linux {kernel.release} (once)",
        in_place(kernel),
    )


def _table_of(text: str, facts: Mapping[str, str], kind: re.Pattern[str] = _LINE) -> list[Symbol]:
    """Return the functions that a target printed, at the addresses of a rally's boot.

    ``kind``: of the lines that count, by default those of functions.
    """
    lines = text.splitlines()
    begins = {match[1]: int(match[2], 16) for line in lines if (match := _MODULE.fullmatch(line))}
    begins["kernel"] = int(lines[0].split(" ")[0], 16) if lines else 0
    moved = {name: _address(facts, name) - begin for name, begin in begins.items()}
    symbols: dict[int, Symbol] = {}
    for line in lines:
        match = kind.fullmatch(line)
        if not match or match[1] == "0" * 16:
            continue
        offset = moved.get(match[3] or "kernel")
        if offset is None:
            continue
        symbol = Symbol(int(match[1], 16) + offset, match[2], match[3])
        known = symbols.get(symbol.address)
        # several names for one place: the one that says most, and the same one each time
        if known is None or _rank(symbol) < _rank(known):
            symbols[symbol.address] = symbol
    return [symbols[address] for address in sorted(symbols)]


def _address(facts: Mapping[str, str], name: str) -> int:
    """Return the address of a rally's kernel or module. Raises BenchError."""
    match = re.fullmatch(r"(?:0x)?([0-9a-f]{16})", facts.get(f"at_{name}", ""))
    if not match:
        raise BenchError(
            f"the rally's console does not say where {name} was in memory: tennis 0.1 played it, "
            "or it is damaged",
            next_step="play it again",
        )
    return int(match[1], 16)


def _rank(symbol: Symbol) -> tuple[bool, int, str]:
    return symbol.name.startswith(("__pi_", "_")), len(symbol.name), symbol.name


def _printed_symbols(
    name: str, parts: Parts, scripts: dict[str, str], doing: str, parameters: str = ""
) -> str:
    """Return a target's print of /proc/kallsyms; booted once, and kept."""

    def build(folder: Path) -> None:
        log.info(doing)
        (folder / "kallsyms").write_text(_boot(parts, scripts, parameters))

    return (once("symbols", name, build) / "kallsyms").read_text()


def _boot(parts: Parts, scripts: dict[str, str], parameters: str) -> str:
    files = {path: text.encode() for path, text in scripts.items()}
    with tempfile.TemporaryDirectory(prefix="tennis-symbols-") as scratch:
        extras = Extras(files=files, parameters=parameters, instrument=False)
        machine = Machine(parts, extras, Path(scratch), {})
        try:
            machine.wait(BOOT_LIMIT_S)
        finally:
            machine.stop()
            machine.close()
        with (Path(scratch) / CONSOLE).open("rb") as console:
            output = console.read(SIZE_LIMIT).decode("ascii", errors="replace")
    _, begin, rest = output.partition("tennis: symbols begin")
    encoded, end, _ = rest.partition("tennis: symbols end")
    # a message of the kernel's may fall into the middle of the lines
    lines = [line for line in encoded.split() if re.fullmatch(r"[A-Za-z0-9+/=]+", line)]
    try:
        packed = base64.b64decode("".join(lines), validate=True)
        text = zlib.decompressobj(31).decompress(packed, SIZE_LIMIT).decode("ascii", "replace")
    except (binascii.Error, zlib.error) as error:
        raise BenchError(f"the target's list of functions came garbled ({error})") from error
    if not begin or not end or " " not in text:
        raise BenchError(
            f"Linux {parts.kernel.release} does not list the names of its functions",
            next_step="build it with CONFIG_KALLSYMS=y",
        )
    return text
