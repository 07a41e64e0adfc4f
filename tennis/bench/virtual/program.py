# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A program of somebody's own that answers alone: what lies on the target for it, what is recorded.

It has the GPIO character device, and no module of the kit's is in the kernel. It runs as an
ordinary user's: the console, from which its record comes, is not its to write.
"""

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from tennis.bench.kernels.own_program import HOME, OwnProgram
from tennis.bench.virtual import program_packages
from tennis.bench.virtual.initramfs import Link
from tennis.checkout import ROOT
from tennis.digests import sha256_of
from tennis.rally import manifest
from tennis.rally.manifest import PROGRAM, Fault
from tennis.rally.program import ELF, GPIO, RACQUET, TOML, Way
from tennis.rally.text import plain

VIRTUAL = ROOT / "target" / "virtual"
INIT, SCRIPT = VIRTUAL / "init", VIRTUAL / "program"
START = VIRTUAL / "program-start.c"
PID_FILE = "/run/program.pid"
ENVIRONMENT = {
    "HOME": "/run/program",
    "PATH": f"/usr/bin:/bin:{HOME}",
    "LANG": "C.UTF-8",
}
FOLDERS = ("/usr/bin", "/bin")  # in which a command is looked for, beside its own
LINKS_MAX = 8
SIGNALS = 64
SIGNAL = re.compile(r"^([^;]*) by signal (\d+)(?=;)")
OVER = "program_over_s"  # the fact that all was told of it

# The target's init does not know of programs, so that rallies without one keep each byte: what it
# does for the Racquet, and what it does for a program. Each stands there once.
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


# racquet-user is the kit's own process behind the Racquet: a program is in its place
_USER_BEGINS, _USER_ENDS = '[ "$bottom_half" = user ] && {\n', "\n}\n"
_USER_DIED = '[ "$bottom_half" = user ] && { [ "$(pids_named racquet-user)" ] ||'


def init(way: Way = GPIO) -> bytes:
    """Return the target's init for a program: with what looks after it, without the kit's answer.

    That is the Racquet, or its process where the program is behind the Racquet. Raises ValueError
    where init is not what this file takes it for.
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
    for before, after in _CHANGES:
        if text.count(before) != 1:
            raise ValueError(f"{INIT}: it lacks {before!r}")
        text = text.replace(before, after)
    return text.encode()


def files(program: OwnProgram | None, start: Path | None) -> dict[str, bytes | Path | Link]:
    """Return what lies on the target for a program, by place; nothing where there is none."""
    if program is None or start is None:
        return {}
    return {
        "/init": init(program.brought.about.way),
        "/tennis/program": SCRIPT,
        "/tennis/program-start": start,
        "/tennis/program-command": _command(program),
        # where it is started; a folder may bring nothing but a command
        **({} if program.files else {f"{HOME}/{TOML}": program.brought.files[TOML]}),
        **program_packages.files(program.brought.about.packages),
        **program.files,
    }


def executables(program: OwnProgram) -> dict[str, bytes]:
    """Return a program's executables; of one that brings none that which its command starts.

    That is one of its packages', such as Python.
    """
    own = {place: one for place, one in program.files.items() if one.startswith(ELF)}
    if own:
        return own
    about = program.brought.about
    there = program_packages.files(about.packages)
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


def _command(program: OwnProgram) -> bytes:
    """Return the script that starts a program; its priority comes by a parameter of the kernel."""
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
    return (
        "#!/bin/sh\n"
        f"cd {HOME} || exit\n"
        "priority=$(sed -n 's/.* tennis.program_priority=\\([0-9]*\\).*/\\1/p' /proc/cmdline)\n"
        f"exec /tennis/program-start {line.replace('$priority', chr(34) + '$priority' + chr(34))}\n"
    ).encode()


def parameters(program: OwnProgram, priorities: str) -> tuple[str, str]:
    """Return what of priorities init sets by itself, and the kernel's parameters for a program.

    ``priorities``: as ``flavours.priorities_on`` has them, in which ``program`` is its own
    priority, and ``irq`` that of its line's thread.
    """
    about = program.brought.about
    every = dict(entry.split("=") for entry in priorities.split(",") if entry)
    priority = every.pop(PROGRAM, str(about.priority or 0))
    irq = every.pop("irq", "")
    own = f" tennis.program_priority={priority} tennis.program_start_s={about.limits.start_s}"
    if irq:
        own += f" tennis.program_irq={irq}"
    return ",".join(f"{thread}={number}" for thread, number in every.items()), own


def versions(program: OwnProgram, start: Path) -> dict[str, str]:
    """Return what the bytes of a program's answers depend on; ``start``: what starts it."""
    brought = program.brought
    packages = program_packages.versions(brought.about.packages)
    return {
        **({"program_packages": json.dumps(packages)} if packages else {}),
        "program": brought.name,
        "program_kind": brought.kind,
        "program_sha256": brought.sha256,
        "program_built_sha256": program.sha256,
        "program_command": plain(brought.about.command, 400),
        "program_priority": str(brought.about.priority or 0),
        "program_start_sha256": sha256_of(SCRIPT, start),
    }


def record(recorded: Mapping[str, str], facts: Mapping[str, str]) -> manifest.Program | None:
    """Return what a manifest says of a program, from a rally's versions and its console's facts.

    None where none answered.
    """
    if "program_sha256" not in recorded:
        return None
    return manifest.Program(
        name=recorded["program"],
        kind=recorded["program_kind"],  # type: ignore[arg-type]
        sha256=recorded["program_sha256"],
        built_sha256=recorded["program_built_sha256"],
        command=recorded["program_command"],
        way="/dev/racquet" if "racquet_sha256" in recorded else "GPIO character device",
        priority=int(recorded["program_priority"]) or None,
        packages=json.loads(recorded.get("program_packages", "{}")),
        page_faults=_count(facts, "program_page_faults"),
        locked_kb=_count(facts, "program_locked_kb"),
        said=plain(facts.get("program_said", facts.get("program_waiting", "")), 200),
    )


def _count(facts: Mapping[str, str], name: str) -> int | None:
    said = facts.get(name, "")
    return int(said) if said.isdecimal() and len(said) < 12 else None


def faults(found: Iterable[Fault]) -> list[Fault]:
    """Return what the target found, with the exit code -1 as one.

    Its shell has 128 more than the signal's number, and there are 64 of them.
    """
    return [
        Fault(code=one.code, message=SIGNAL.sub(_ended, one.message, count=1))
        if one.code == "program_ended"
        else one
        for one in found
    ]


def _ended(how: re.Match[str]) -> str:
    number = int(how[2])
    return (
        f"{how[1]} by signal {number}"
        if number <= SIGNALS
        else f"{how[1]} with exit code {128 + number}"
    )


def advice(facts: Mapping[str, str]) -> dict[str, str]:
    """Return what a program says about a fault, by its code."""
    said = facts.get("program_waiting")
    if said is None:
        return {}
    words = plain(said, 200) or "nothing"
    return {"no_answer": f"the program has its lines, and said before the first ball: {words}"}
