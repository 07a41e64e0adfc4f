"""A user's own program that answers alone: its files on the target, and its record.

It has the GPIO character device, and no module of the kit's is in the kernel. It runs as an
ordinary user and cannot write to the console, from which its record comes.
"""

import posixpath
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.kernels import program_packages, program_record
from tennis.bench.kernels.own_program import HOME, OwnProgram
from tennis.bench.virtual.initramfs import Link, sha256_of_places
from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of
from tennis.rally.program import ELF, GPIO, RACQUET, TOML, Way

VIRTUAL = ROOT / "target" / "virtual"
INIT, SCRIPT, PLACES = VIRTUAL / "init", VIRTUAL / "program", VIRTUAL / "program-places"
START = VIRTUAL / "program-start.c"
MOVER = ROOT / "target" / "moving" / "move-ping.c"
PID_FILE = "/run/program.pid"
USER = 1000  # whose its processes are: START
ENVIRONMENT = {"HOME": "/run/program", "PATH": f"/usr/bin:/bin:{HOME}", "LANG": "C.UTF-8"}
FOLDERS = ("/usr/bin", "/bin")  # in which a command is looked for, beside its own
LINKS_MAX = 8
# what no program needs while it answers
LEFT_OUT = tuple(
    f"usr/share/{name}/" for name in ("doc", "man", "info", "lintian", "locale", "bug")
)

# The target's init has no code for programs, so that rallies without one keep each byte. These are
# its code for the Racquet and the replacement for a program. Each occurs there once.
_RACQUET_BEGINS, _RACQUET_ENDS = '\nif [ -z "$drill" ]; then\n', "\nfi\n"
_CHANGES = (
    # someone waits for the rally's end in any case
    (
        'if [ -x /tennis/load/health ] || [ "$witness" ]; then\n  # and again',
        "if true; then\n  # and again",
    ),
    (
        """    fact over_s "$(cut -d ' ' -f 1 /proc/uptime)"\n""",
        """    fact over_s "$(cut -d ' ' -f 1 /proc/uptime)"\n    program_over\n""",
    ),
    (
        "for pid in $(pids_named 'irq/*-racq*') $(pids_named 'ksoftirqd/*')",
        "program_begin\nfor pid in $(pids_named 'irq/*-racq*') $(pids_named 'ksoftirqd/*')",
    ),
)


# for several processors: no Racquet moves and counts pings
_PLACED = (
    ("\n. /tennis/program\n", "\n. /tennis/program\n. /tennis/program-places\nplace_begin\n"),
    ("\nprogram_begin\n", "\nprogram_begin\nplace_told\n"),
    ("\n    program_over\n", "\n    place_over\n    program_over\n"),
)

# racquet-user is the kit's own process behind the Racquet: a program is in its place
_USER_BEGINS, _USER_ENDS = '[ "$bottom_half" = user ] && {\n', "\n}\n"
_USER_DIED = '[ "$bottom_half" = user ] && { [ "$(pids_named racquet-user)" ] ||'


def _init(way: Way = GPIO, processors: int = 1) -> bytes:
    """Return the target's init for a program: with its supervisor, without the kit's answer.

    The kit's answer is the Racquet, or its process if the program is behind the Racquet. With
    several ``processors`` it also reports where pings came. Raises ValueError if init is not as
    this file expects.
    """
    text = INIT.read_text()
    if text.count(_RACQUET_BEGINS) != 1:
        raise ValueError(f"{INIT}: where does it load the Racquet?")
    head, _, rest = text.partition(_RACQUET_BEGINS)
    loads, _, rest = rest.partition(_RACQUET_ENDS)
    if way == RACQUET:
        head += f"{_RACQUET_BEGINS}{loads}{_RACQUET_ENDS}"
        if rest.count(_USER_BEGINS) != 1 or rest.count(_USER_DIED) != 1:
            raise ValueError(f"{INIT}: where does it start racquet-user?")
        before, _, behind = rest.partition(_USER_BEGINS)
        rest = before + behind.partition(_USER_ENDS)[2]
        rest = "\n".join(line for line in rest.split("\n") if not line.startswith(_USER_DIED))
    text = f"{head}\n. /tennis/program\n{rest}"
    for before, after in (*_CHANGES, *(_PLACED if _is_placed(way, processors) else ())):
        if text.count(before) != 1:
            raise ValueError(f"{INIT}: it lacks {before!r}")
        text = text.replace(before, after)
    return text.encode()


def _is_placed(way: Way, processors: int) -> bool:
    """Tell whether the target has several processors, and no Racquet that moves and counts."""
    return processors > 1 and way == GPIO


@dataclass(frozen=True)
class Places:
    """On which of a target's processors a program plays."""

    processors: int = 1
    cpu: int | None = None  # to which it is pinned; None: the kernel chooses
    mover: Path | None = None  # the module that moves its ping's interrupt; None: nobody does


def files(
    program: OwnProgram | None, start: Path | None, places: Places
) -> dict[str, bytes | Path | Link]:
    """Return a program's files on the target, by place; empty without a program."""
    if program is None or start is None:
        return {}
    way = program.brought.about.way
    return {
        "/init": _init(way, places.processors),
        "/tennis/program": SCRIPT,
        **({"/tennis/program-places": PLACES} if _is_placed(way, places.processors) else {}),
        **({"/tennis/move-ping.ko": places.mover} if places.mover else {}),
        "/tennis/program-start": start,
        "/tennis/program-command": _command(program, places.cpu),
        # the folder in which it is started; one may bring nothing but a command
        **({} if program.files else {f"{HOME}/{TOML}": program.brought.files[TOML]}),
        **_packaged(program.brought.about.packages),
        **program.files,
    }


def _packaged(names: Iterable[str]) -> dict[str, Path | Link]:
    """Return place on the target -> file here, or a link's target, for all files of packages."""
    root = program_packages.root_of(names)
    found: dict[str, Path | Link] = {}
    if root is None:
        return found
    for path in sorted(root.rglob("*")):
        place = str(path.relative_to(root))
        if place.startswith(LEFT_OUT):
            continue
        if path.is_symlink():
            found[f"/{place}"] = Link(str(path.readlink()))
        elif path.is_file():
            found[f"/{place}"] = path
    return found


def executables(program: OwnProgram) -> dict[str, bytes]:
    """Return a program's executables, or the one that its command starts if it brings none.

    That one is in its packages, such as Python.
    """
    own = {place: one for place, one in program.files.items() if one.startswith(ELF)}
    if own:
        return own
    about = program.brought.about
    there = _packaged(about.packages)
    place = about.words[0]
    if "/" not in place:
        place = next(
            (f"{folder}/{place}" for folder in FOLDERS if f"{folder}/{place}" in there), ""
        )
    for _ in range(LINKS_MAX):
        file = there.get(place)
        if not isinstance(file, Link):
            break
        place = posixpath.normpath(posixpath.join(posixpath.dirname(place), file.to))
    return {place: file.read_bytes()} if isinstance(file, Path) else {}


def _command(program: OwnProgram, cpu: int | None) -> bytes:
    """Return the script that starts a program; its priority comes by a parameter of the kernel."""
    pinned = "" if cpu is None else f"taskset -c {cpu} "
    about = program.brought.about
    limits = about.limits
    variables = {**ENVIRONMENT, **about.environment}
    words = [f"{name}={value}" for name, value in variables.items()]
    words = [
        *(PID_FILE, "$priority", str(limits.priority), str(limits.locked_mb)),
        *(str(limits.processes), *words),
        "--",
        *about.words,
    ]
    line = " ".join(word if word == "$priority" else shlex.quote(word) for word in words)
    line = line.replace("$priority", '"$priority"')
    return (
        "#!/bin/sh\n"
        f"cd {HOME} || exit\n"
        "priority=$(sed -n 's/.* tennis.program_priority=\\([0-9]*\\).*/\\1/p' /proc/cmdline)\n"
        f"exec {pinned}/tennis/program-start {line}\n"
    ).encode()


def parameters(program: OwnProgram, priorities: str) -> tuple[str, str]:
    """Return the priorities that init sets by itself, and the kernel's parameters for a program.

    ``priorities``: as ``program_record.priorities_of`` takes them.
    """
    others, priority, irq = program_record.priorities_of(program, priorities)
    limits = program.brought.about.limits
    own = f" tennis.program_priority={priority} tennis.program_start_s={limits.start_s}"
    if irq:
        own += f" tennis.program_irq={irq}"
    return others, own


def versions(program: OwnProgram, start: Path, places: Places) -> dict[str, str]:
    """Return the versions on which a program's answers depend; ``start``: its starter."""
    names = program.brought.about.packages
    packages = program_packages.versions(names)
    placed = [PLACES] if _is_placed(program.brought.about.way, places.processors) else []
    placed += [places.mover] if places.mover else []
    return {
        **program_record.versions(program, packages),
        **({"program_packages_sha256": sha256_of_places(_packaged(names))} if names else {}),
        "program_start_sha256": sha256_of(SCRIPT, *placed, start),
    }
