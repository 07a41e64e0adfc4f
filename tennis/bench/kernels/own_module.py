"""A user's own Racquet: one C file that uses ``target/racquet/racquet-device.h``.

It may come from anybody, and is built in a box: what the compiler reads, by ``#include`` or
``.incbin``, would otherwise reach a message or the target's console. The place in the box is always
the same, so that the same source gives the same bytes.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tennis.bench import box
from tennis.bench.cache import digest, once
from tennis.bench.kernels import modules
from tennis.bench.kernels.kernel import Kernel
from tennis.kit.checkout import ROOT, cache_folder
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError, NotBuiltError
from tennis.rally.disk import read_source
from tennis.rally.text import plain

NAME = "racquet"
SOURCES = "own-sources"  # of the cache: where the source of a module was, by its SHA-256
RACQUET = ROOT / "target" / "racquet"
HEADERS = (RACQUET / "racquet-device.h", RACQUET / "racquet-processor.h")
SOURCE_MAX = 1 << 18  # bytes
LIMIT_S = 300.0
SHOWN = 20  # lines
RECIPE = 5  # another number builds everything again
# built if the user's source fails: shows whether the source or this machine is at fault
CONTROL = b'#include <linux/module.h>\nMODULE_LICENSE("GPL");\n'
# of DWARF 5, binutils 2.40 tells lines with the wrong file
KBUILD = f"obj-m := {NAME}.o\nccflags-y := -gdwarf-4\n"
OBJECT, SYMBOLS = f"{NAME}.ko", f"{NAME}-symbols.ko"
SYSTEM = {Path("/etc/alternatives"): Path("/etc/alternatives")}  # links to /usr: which awk it is
# the messages of the compiler, or of the kernel's modpost, about this module
MESSAGE = re.compile(
    r"(?:\S*/)?(?P<file>[\w-]+\.(?:[chs]|cc|cpp|cxx|hh|hpp)):(?P<line>\d+):(?:\d+:)? "
    r"(?P<what>(?:fatal )?[Ee]rror|[Ww]arning): "
    r"(?P<text>.*)"
    r"|(?P<modpost>ERROR|WARNING): modpost: (?P<words>.*)"
)
TRACED = 8  # bytes
INSTRUCTIONS_MAX = 1 << 16  # whose lines are asked for
_LINKED = f"{modules.PREFIX}ld -e 0 --unresolved-symbols=ignore-all -o linked {SYMBOLS}"
# gcc says it in either way, when it wants more than box.ADDRESSES_BYTES
NO_MEMORY = re.compile(r"(?m)^virtual memory exhausted: |: out of memory allocating ")


@dataclass(frozen=True)
class OwnModule:
    """The result of a build: ``module`` is None if there were errors."""

    module: Path | None
    symbols: Path | None  # the same with its lines
    errors: list[str]
    warnings: list[str]

    def line_of(self, name: str, offset: int) -> str:
        """Return ``racquet.c:57`` for a place in a function of the module; empty if unknself."""
        found = next((one for one in _functions(self) if one.name == name), None)
        if found is None or not 0 <= offset < max(found.size, 1):
            return ""
        # Sections of a module all begin at 0, and places would be taken from another one: linked,
        # each has addresses of its own. The answer: function and place, the innermost of inlined
        # ones first; a Racquet's author needs the place in it, not in the kernel's headers
        start = f"$({modules.PREFIX}nm linked | awk '$3 == \"{name}\" {{ print $1; exit }}')"
        address = f"$(printf %x $((0x{start} + {offset})))"
        told = _tool_output(self, f"{_LINKED} && {modules.PREFIX}addr2line -fi -e linked {address}")
        match = re.search(r"(racquet[\w-]*\.[ch]):(\d+)", told)
        return f"{match[1]}:{match[2]}" if match and name in told.split("\n")[::2] else ""

    def line_at(self, offset: int) -> str:
        """Return ``racquet.c:57`` for a place in the module's code; empty if unknself."""
        for one in _functions(self):
            if one.section == ".text" and one.start <= offset < one.start + one.size:
                return self.line_of(one.name, offset - one.start)
        return ""

    def lines(self, source: str) -> dict[str, list[tuple[int, str]]]:
        """Return of each function from which offset on it is which line: ``source`` and its number.

        An inlined function counts as its line in the Racquet's own file, a header's by its name.
        Empty: the module does not tell.
        """
        every = (
            f"{modules.PREFIX}nm -S linked | while read -r at size kind name; do "
            "case $kind in [tT]) "
            'i=$((0x$at)); end=$((i + 0x$size)); echo "function $name $i"; '
            "while [ $i -lt $end ]; do printf '%x\\n' $i; i=$((i + 4)); done;; esac; done"
            f" | head -n {INSTRUCTIONS_MAX} > places"
        )
        told = _tool_output(
            self,
            f"{_LINKED} && {every} && grep ^function places && "
            f"grep -v ^function places | {modules.PREFIX}addr2line -afi -e linked",
        )
        starts = re.findall(r"(?m)^function (\S+) (\d+)$", told)
        begins = {int(address): name for name, address in starts}
        found: dict[str, list[tuple[int, str]]] = {}
        its: list[tuple[int, str]] = []
        begin = 0
        for place in re.split(r"(?m)^0x", told)[1:]:
            address = int(place.partition("\n")[0], 16)
            if address in begins:
                begin = address
                found[begins[address]] = its = []
            rows = re.findall(r"/(racquet[\w-]*\.[ch]):(\d+)", place)
            file, number = next(
                (row for row in rows if row[0] == f"{NAME}.c"), (rows or [("", "")])[0]
            )
            line = f"{source if file == f'{NAME}.c' else file}:{number}" if file else ""
            if line and (not its or its[-1][1] != line):
                its.append((address - begin, line))
        # a function begins with two instructions for tracers, which are on the line before it
        return {name: its[its[1:2] != [] and its[1][0] == TRACED :] for name, its in found.items()}


def build(source: Path, kernel: Kernel) -> OwnModule:
    """Build a user's own Racquet, once.

    One that does not end compiling, or takes too much memory, is not built if a small module is,
    right afterwards, within the same limits: then it is not this machine that is slow.

    Raises UsageError for no such file, BenchError if this machine could not build it.
    """
    text = read_source(source.resolve(), SOURCE_MAX)

    def fill(folder: Path) -> None:
        modules.check_headers_of(kernel)
        ended = _compiled(text, kernel)
        limit = ended.limit
        if ended.code and NO_MEMORY.search(ended.words):
            limit = f"the compiler needs more than {box.ADDRESSES_BYTES >> 30} GB of memory"
        # another day it may be built, so nothing of it is kept
        if limit and _compiled(CONTROL, kernel).code != 0:
            raise BenchError(
                f"{source} could not be built here: {limit}",
                next_step="try again when the machine has less to do",
            )
        built = ended.code == 0 and len(ended.files) == len((OBJECT, SYMBOLS))
        if built:
            for name, content in ended.files.items():
                (folder / name).write_bytes(content)
        said = list(dict.fromkeys(_diagnostics(ended.words)))
        errors = [text for what, text in said if what == "error"]
        if limit:
            errors = [f"compiling it: {limit}; a small module was built right afterwards"]
        elif not built and not errors:
            errors = [ended.why or "the compiler left no module"]
        warnings = [text for what, text in said if what == "warning"]
        record = {"errors": [] if built else errors[:SHOWN], "warnings": warnings[:SHOWN]}
        (folder / "said.json").write_text(json.dumps(record))

    key = digest(
        text, *HEADERS, kernel.fingerprint, *modules.toolchain(), KBUILD, str(RECIPE),
        *modules.OVERRIDES,
    )  # fmt: skip
    folder = once("own-modules", key, fill)
    said = json.loads((folder / "said.json").read_text())
    module, symbols = folder / OBJECT, folder / SYMBOLS
    there = module.is_file()
    return OwnModule(
        module if there else None, symbols if there else None, said["errors"], said["warnings"]
    )


def _compiled(text: bytes, kernel: Kernel) -> box.Ended:
    """Compile a Racquet in a box."""
    with tempfile.TemporaryDirectory(prefix="tennis-module-") as scratch:
        work = Path(scratch)
        (work / f"{NAME}.c").write_bytes(text)
        (work / "Kbuild").write_text(KBUILD)
        for header in HEADERS:
            shutil.copy(header, work)
        return box.run(
            ["/bin/sh", "-ec", _script(kernel)],
            work,
            [OBJECT, SYMBOLS],
            _readable(kernel),
            {},
            LIMIT_S,
        )


def built(source: Path, kernel: Kernel) -> Path:
    """Return the module. Raises NotBuiltError with the first error if it does not compile.

    Raises BenchError as ``build``.
    """
    own = build(source, kernel)
    if own.module is None:
        more = f" (and {len(own.errors) - 1} more)" if len(own.errors) > 1 else ""
        raise NotBuiltError(f"{source} is not built for {kernel.name}: {own.errors[0]}{more}")
    _remember(source, sha256_of(own.module))
    return own.module


def _remember(source: Path, module_sha256: str) -> None:
    """Note in the cache of which file a module is, so that nobody has to name it again."""
    place = cache_folder() / SOURCES / module_sha256
    place.parent.mkdir(parents=True, exist_ok=True)
    record = {"path": str(source.resolve()), "sha256": sha256_of(source)}
    with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False) as file:
        json.dump(record, file)
    Path(file.name).replace(place)


def source_of(module_sha256: str) -> Path | None:
    """Return the file of which this machine built a module; None: it is gone, or another one now.

    The path is this machine's own note: what a rally says is never taken for a path.
    """
    if not re.fullmatch(r"[0-9a-f]{64}", module_sha256):
        return None
    try:
        record = json.loads((cache_folder() / SOURCES / module_sha256).read_text())
        source = Path(record["path"])
        return source if sha256_of(source) == record["sha256"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class _Function:
    """The place of a function in a module, whose sections all begin at 0."""

    name: str
    section: str
    start: int
    size: int


def _functions(own: OwnModule) -> list[_Function]:
    """Return the functions of a module that was built."""
    told = _tool_output(own, f"{modules.PREFIX}objdump -t {SYMBOLS}")
    # value, seven flags, section, size, name
    lines = re.finditer(
        r"(?m)^([0-9a-f]{16}) .{6}F (\S+)\s+([0-9a-f]{16})\s+(?:\.hidden )?(\w+)$", told
    )
    return [_Function(m[4], m[2], int(m[1], 16), int(m[3], 16)) for m in lines]


def _tool_output(own: OwnModule, command: str) -> str:
    """Return a program's output about the module; it runs in a box: the module may be hostile."""
    if own.symbols is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="tennis-lines-") as scratch:
        shutil.copy(own.symbols, Path(scratch) / SYMBOLS)
        line = ["/bin/sh", "-c", f"{{ {command}; }} > {box.OUT}/told"]
        ended = box.run(line, Path(scratch), ["told"], SYSTEM, {}, 60.0)
    return ended.files.get("told", b"").decode(errors="replace")


def _script(kernel: Kernel) -> str:
    overrides = " ".join(f"'{word}'" for word in modules.OVERRIDES)
    prefix = modules.PREFIX
    return (
        f'build() {{ make -s -C "{kernel.build}" M="$PWD" ARCH=arm64 CROSS_COMPILE={prefix} '
        f'CC={prefix}gcc {overrides} "$@"; }}\n'
        "build modules\n"
        # as modules._misaligned() tells: a place whose last digit is neither 0 nor 8, or one in a
        # section that is not aligned
        f"odd='R_AARCH64_ABS64 +[^ ]*[+]0x[0-9a-f]*[^08]$'\n"
        f"if {prefix}objdump -h {OBJECT} | grep -qE ' [.]text[.]unlikely .* 2[*][*][0-2]$'; then\n"
        f'  odd="$odd|R_AARCH64_ABS64 +[.]text[.]unlikely"\n'
        f"fi\n"
        f'if {prefix}objdump -r -j {modules.PATCHED} {OBJECT} 2>/dev/null | grep -qE "$odd"; then\n'
        f"  build {modules.UNTRACED} clean\n"
        f"  build {modules.UNTRACED} modules\n"
        "fi\n"
        f"cp {OBJECT} {box.OUT}/{SYMBOLS}\n"
        f"{prefix}strip -g -R .note.gnu.build-id -R .comment {OBJECT}\n"
        f"cp {OBJECT} {box.OUT}/{OBJECT}\n"
    )


def _readable(kernel: Kernel) -> dict[Path, Path]:
    """Return what the build reads: a named kernel's whole folder, or the user's own tree."""
    home = cache_folder()
    for kind in ("kernels", "debug-kernels", "kernel-sources"):
        if kernel.build.is_relative_to(home / kind):
            place = home / kind / kernel.build.relative_to(home / kind).parts[0]
            break
    else:
        place = kernel.build
    places = {**SYSTEM, place: place}
    source = kernel.build / "source"  # a tree that was built elsewhere than its source
    if source.is_symlink():
        places[source.resolve()] = source.resolve()
    return places


def _diagnostics(words: str) -> Iterator[tuple[str, str]]:
    """Yield the messages about the module: ``error`` or ``warning``, and a line."""
    for line in words.splitlines():
        match = MESSAGE.search(line)
        if not match:
            continue
        if match["modpost"]:
            yield match["modpost"].lower(), plain(match["words"], 200)
        else:
            kind = "warning" if match["what"].lower() == "warning" else "error"
            yield kind, plain(f"{match['file']}:{match['line']}: {match['text']}", 200)
