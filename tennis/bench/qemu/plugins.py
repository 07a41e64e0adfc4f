"""The instruments of the virtual bench: plugins in QEMU's virtual clock.

``instrument`` is the built-in one, ``link`` lets another program play: the emulated Pico.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from tennis.bench.cache import made_of
from tennis.bench.commands import identity, run, says_of_itself
from tennis.kit import environment
from tennis.kit.checkout import ROOT, SETUP
from tennis.kit.errors import BenchError
from tennis.rally.manifest import Instrument, Protocol

FOLDER = ROOT / "target" / "virtual"
SOURCES = (  # of both instruments
    *("machine.c", "machine.h", "idle.c", "idle.h", "processors.c", "processors.h"),
    *("clock.h", "qemu.h", "host_clock.c", "host_clock.h", "places.c", "places.h"),
    *("kicks.c", "kicks.h", "parameters.c", "parameters.h"),
)
INSIDE = ("inside.h", "qemu.h", "parameters.c", "parameters.h")  # of those that look into the guest
LANES = ("lanes.c", "lanes.h", "python.c", "python.h", "machine.h", "clock.h")
MEMORY = ("stalls.c", "stalls.h", "cycles.c", "cycles.h", "machine.h", "clock.h")
SHOTS = ("shots.c", "shots.h")
Plugin = Literal["instrument", "link", "profile", "guest", "memory"]
FIRMWARE_VERSION = "1"
TICK_HZ = 1_000_000_000
# A latency is a uint32 of ticks on the wire, and its last value means "none".
TIMEOUT_MAX_NS = 4_000_000_000
QEMU = "qemu-system-aarch64"
OLDEST_QEMU = (7, 2)
NO_PLUGIN_API = 1_000_000  # no QEMU takes it
FLAGS = [
    "-O2",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Werror",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    f'-DFIRMWARE_VERSION="{FIRMWARE_VERSION}"',
]
FASTEST = ["-O3", "-flto"]  # of code that runs some 100 million times a second


@dataclass(frozen=True)
class Qemu:
    """An emulator that can carry the instrument."""

    path: Path
    version: str  # as the distribution names it


@dataclass(frozen=True)
class QemuPlugin:
    """A plugin beside the instrument: it looks on and changes nothing."""

    plugin: Path
    parameters: Mapping[str, int]
    descriptors: Sequence[int] = ()


def find_qemu() -> Qemu:
    """Find QEMU and check that it exports what the instrument needs.

    Raises BenchError with what to do.
    """
    path = shutil.which(QEMU)
    if not path:
        raise BenchError(f"{QEMU} is not installed", next_step=f"run '{SETUP}'")
    text = says_of_itself(path, what="asking QEMU for its version")
    match = re.search(r"version (\d+)\.(\d+)\S*(?: \(([^)]*)\))?", text)
    if not match or (int(match.group(1)), int(match.group(2))) < OLDEST_QEMU:
        raise BenchError(
            f"{path} is too old ({text.splitlines()[0]}): QEMU 7.2 or newer is needed",
            next_step="use the one of Debian 12 or newer, or the container (docs/install.md)",
        )
    needed = set[str]().union(*map(_externs, sources("instrument")))
    missing = needed - _exported_symbols(Path(path))
    if missing:
        raise BenchError(
            f"{path} does not export {', '.join(sorted(missing)[:3])}"
            f"{' and others' if len(missing) > 3 else ''}, which the virtual instrument needs",
            next_step="use the QEMU of Debian, Ubuntu or Fedora (built with modules and plugins)",
        )
    version = match.group(0).removeprefix("version ")
    return Qemu(Path(path), version)


def _externs(path: Path) -> set[str]:
    """Return the functions and the data that a source takes from QEMU."""
    # of data only arrays and what each thread has its own of: the plugin's own headers have others
    names = r"^extern (?:__thread .*?\b\*?(\w+);|.*?\b\*?(\w+)[(\[])"
    found = re.finditer(names, path.read_text(), flags=re.MULTILINE)
    return {match[1] or match[2] for match in found}


def _exported_symbols(program: Path) -> set[str]:
    """Return the names that a program offers to its plugins."""
    return set(_exported(program, identity(program)))


@lru_cache(maxsize=4)  # QEMU's are thousands, and each boot asks
def _exported(program: Path, _identity: object) -> frozenset[str]:
    text = run(["nm", "-D", "--defined-only", program], what="reading QEMU's symbols")
    return frozenset({line.split()[-1].split("@")[0] for line in text.splitlines() if line.strip()})


def sources(plugin: Plugin) -> list[Path]:
    """Return the files that a plugin is made of."""
    inside = {
        "instrument": (*SHOTS, *SOURCES),
        "profile": (*LANES, *INSIDE),
        "guest": INSIDE,
        "memory": (*MEMORY, *INSIDE),
    }
    return [FOLDER / name for name in (f"{plugin}.c", *inside.get(plugin, SOURCES))]


def check_exports(qemu: Qemu, plugin: Plugin, purpose: str) -> None:
    """Raise BenchError if this QEMU lacks what a plugin needs; ``purpose``: what it is for."""
    needed = set[str]().union(*map(_externs, sources(plugin)))
    missing = sorted(needed - _exported_symbols(qemu.path))
    flushes = {"tb_flush", "queue_tb_flush"}
    if plugin in {"profile", "memory"} and not _exported_symbols(qemu.path) & flushes:
        missing.append("tb_flush")
    if missing:
        raise BenchError(
            f"{qemu.path} does not export {', '.join(missing[:3])}, which {purpose} needs",
            next_step="use the QEMU of Debian 12 or 13",
        )


def build(qemu: Qemu, plugin: Plugin = "instrument") -> Path:
    """Build a plugin for this QEMU; return its path."""
    compiler = says_of_itself("gcc", what="the C compiler").splitlines()[0]
    flags = [*FLAGS, *(FASTEST if plugin == "memory" else [])]
    made = [compiler, *flags, str(qemu.path), qemu.version, environment.BUILT_IN]
    files, name = sources(plugin), f"{plugin}.so"
    code = [path for path in files if path.suffix == ".c"]
    command: list[str | Path] = ["gcc", *flags, *code]
    what = f"building the virtual bench's {plugin}"

    def compile_into(folder: Path) -> None:
        into = folder / name
        run([*command, f"-DPLUGIN_API={NO_PLUGIN_API}", "-o", into], what=what)
        run([*command, f"-DPLUGIN_API={_plugin_api(qemu, into)}", "-o", into], what=what)

    return made_of("instruments", plugin, [*files, *made], compile_into) / name


def _plugin_api(qemu: Qemu, impossible: Path) -> int:
    """Return the newest version of the plugin API that QEMU takes: it says so when it refuses."""
    words = [qemu.path, "-M", "none", "-display", "none", "-plugin", impossible]
    refused = environment.completed(words, environment.for_programs(), timeout=60)
    return _api_version_in(refused.stderr, qemu, impossible.name)


def _api_version_in(output: str, qemu: Qemu, plugin: str) -> int:
    """Return the version of the API that QEMU names as it refuses. Raises BenchError."""
    match = re.search(r"supports only up to version (\d+)", output)
    if match:
        return int(match.group(1))
    if unloaded := re.search(rf"Could not load plugin .*{re.escape(plugin)}: (.+)", output):
        # an update of the checkout under a command that runs: its list of sources is the old one
        raise BenchError(
            f"{qemu.path} cannot load {plugin}: {unloaded[1]}",
            next_step="run this again: the kit's files may have changed meanwhile",
        )
    raise BenchError(
        f"{qemu.path} does not say which plugins it takes ({output.strip()[-200:]})",
        next_step="use the QEMU of Debian, Ubuntu or Fedora",
    )


def preloaded(library: int) -> dict[str, str]:
    """Return the environment of a QEMU that loads an instrument first (host_clock.c says why).

    ``library`` is a descriptor of the instrument that QEMU inherits: a path may have a space or a
    colon, at which LD_PRELOAD is divided.
    """
    given = environment.for_programs()
    others = given.get("LD_PRELOAD", "")
    return given | {"LD_PRELOAD": f"/proc/self/fd/{library} {others}".strip()}


def parameters(protocol: Protocol, instruction_ns: int, descriptor: int) -> dict[str, int]:
    """Return the plugin's parameters; all times in ns."""
    return {
        "fd": descriptor,
        "balls": protocol.balls,
        "seed": protocol.seed,
        "period": protocol.period_ns,
        "gap_min": protocol.gap_min_ns,
        "gap_max": protocol.gap_max_ns,
        "pulse": protocol.pulse_ns,
        "timeout": protocol.timeout_ns,
        "settle": protocol.settle_ns,
        "give_up": protocol.give_up_ns,
        "instruction": instruction_ns,
        "listen": int(protocol.loop == "listen"),
    }


def describe(firmware_sha256: str) -> Instrument:
    """Return the instrument's entry in the manifest."""
    return Instrument(
        kind="virtual",
        firmware=FIRMWARE_VERSION,
        firmware_sha256=firmware_sha256,
        tick_hz=TICK_HZ,
        calibration=None,
    )
