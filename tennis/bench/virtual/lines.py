"""Where in its source a program's code is: by its debug information, which never plays."""

import re
import shlex
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from tennis.bench import box, programs
from tennis.bench.kernels import modules, own_module, own_program, program_packages
from tennis.bench.virtual import elf
from tennis.rally.program import ELF, C
from tennis.rally.text import plain

ADDR2LINE = f"{modules.PREFIX}addr2line"


def lines(own: own_program.OwnProgram, addresses: Sequence[int]) -> dict[int, str]:
    """Return address -> place in the program's own source, as in ``keep (answer.c:12)``.

    A source is compiled once more with ``-g``. If that gives other code than the one that played,
    or if an executable was built without it, there are none.
    """
    brought, files = own.brought, own.files
    about, compiled = brought.about, bool(brought.about.sources)
    wanted = next((one for one in files.values() if one.startswith(ELF)), b"")
    if not wanted or not addresses or programs.find(ADDR2LINE) is None:
        return {}
    with tempfile.TemporaryDirectory(prefix="tennis-lines-") as scratch:
        folder, asked = Path(scratch), "\n".join(map(hex, addresses))
        names = dict(brought.files) | {"asked": asked.encode()}
        line, readable = [ADDR2LINE], dict(own_module.SYSTEM)
        if compiled:
            compiler = own_program.COMPILERS[all(Path(one).suffix in C for one in about.sources)]
            packages = program_packages.root_of(about.build_packages)
            libraries = [f"-l{name}" for name in about.libraries]
            line, more = own_program.compiling(compiler, [*about.sources, *libraries], packages)
            readable |= more
        else:
            names["program"] = wanted
        for place, content in names.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(content)
        build = f"{shlex.join([line[0], '-g', *line[1:]])} && " if compiled else ""
        build += f"[ -e {box.OUT}/program ] || cp program {box.OUT}/program; "
        tell = f"{ADDR2LINE} -a -f -i -C -s -e {box.OUT}/program < asked > {box.OUT}/told"
        line, results = ["/bin/sh", "-c", build + tell], ["program", "told"]
        ended = box.run(line, folder, results, readable, {}, own_program.LIMIT_S)
    if not elf.same_code(wanted, ended.files.get("program", b"")):
        return {}
    mine = {PurePosixPath(place).name for place in brought.files} if compiled else None
    return _places(ended.files.get("told", b"").decode(errors="replace"), mine)


def _places(told: str, mine: Collection[str] | None) -> dict[int, str]:
    """Return addr2line's places: for each address the innermost one in some files; None: all."""
    found: dict[int, str] = {}
    address, function = 0, ""
    for line in told.splitlines():
        if match := re.fullmatch(r"0x([0-9a-f]{16})", line):
            address, function = int(match[1], 16), ""
        elif not function:
            function = plain(line.partition("(")[0], 100) or "?"
        else:
            match = re.match(r"([^:?]+):(\d+)", line)
            if match and (mine is None or match[1] in mine):
                found.setdefault(address, f"{function} ({plain(match[1], 60)}:{match[2]})")
            function = ""
    return found
