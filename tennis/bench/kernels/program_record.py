"""A rally's record of a user's own program, from the target's console: on every bench."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tennis.bench.kernels.own_program import OwnProgram
from tennis.rally import manifest
from tennis.rally.manifest import DEVICE, NO_MODULE, PROGRAM, Fault
from tennis.rally.text import plain

SIGNALS = 64
SIGNAL = re.compile(r"^([^;]*) by signal (\d+)(?=;)")
# what the shell that started it knows; of a child that lives on it knows nothing
FOREGROUND = (
    "before the first ball with exit code 0;",
    "before the first ball with exit code 0 (it has to stay in the foreground);",
)
KILLED = re.compile(r".*Out of memory: Killed process \d+ \(([^)]*)\)")
NO_ROOM = "write error: No space left on device"  # its own shell's, in /run
LINE_THREAD = re.compile(r"irq/\d+-(?!racquet-ready)")
OVER = "program_over_s"  # this fact comes after all others about it


def versions(program: OwnProgram, packages: Mapping[str, str]) -> dict[str, str]:
    """Return a program's versions, on which its answers depend; ``packages``: on the target."""
    brought = program.brought
    return {
        **({"program_packages": json.dumps(dict(packages))} if packages else {}),
        "program": brought.name,
        "program_kind": brought.kind,
        "program_sha256": brought.sha256,
        "program_built_sha256": program.sha256,
        "program_command": plain(brought.about.command, 400),
        "program_priority": str(brought.about.priority or 0),
    }


def priorities_of(program: OwnProgram, priorities: str) -> tuple[str, str, str]:
    """Return the priorities of other threads, then the program's own and its line's; "": not set.

    ``priorities``: as ``flavours.priorities_on`` has them, in which ``program`` is its own
    priority, and ``irq`` that of its line's thread.
    """
    every = dict(entry.split("=") for entry in priorities.split(",") if entry)
    own = every.pop(PROGRAM, str(program.brought.about.priority or 0))
    irq = every.pop("irq", "")
    return ",".join(f"{thread}={number}" for thread, number in every.items()), own, irq


def record(recorded: Mapping[str, str], facts: Mapping[str, str]) -> manifest.Program | None:
    """Return a manifest's record of a program, from a rally's versions and its console's facts.

    None if none answered.
    """
    if "program_sha256" not in recorded:
        return None
    return manifest.Program(
        name=recorded["program"],
        kind=recorded["program_kind"],  # type: ignore[arg-type]
        sha256=recorded["program_sha256"],
        built_sha256=recorded["program_built_sha256"],
        command=recorded["program_command"],
        way=DEVICE if _behind_racquet(recorded) else "GPIO character device",
        priority=int(recorded["program_priority"]) or None,
        packages=json.loads(recorded.get("program_packages", "{}")),
        page_faults=_count(facts, "program_page_faults"),
        locked_kb=_count(facts, "program_locked_kb"),
        said=plain(facts.get("program_said", facts.get("program_waiting", "")), 200),
    )


def _behind_racquet(recorded: Mapping[str, str]) -> bool:
    """Tell whether a Racquet was there, from a rally's versions: on a board, by its module."""
    return "racquet_sha256" in recorded or recorded.get("target_module", NO_MODULE) != NO_MODULE


def _count(facts: Mapping[str, str], name: str) -> int | None:
    said = facts.get(name, "")
    return int(said) if said.isdecimal() and len(said) < 12 else None


def faults(found: Iterable[Fault], events: Iterable[Mapping[str, Any]] = ()) -> list[Fault]:
    """Return the target's faults, with exit code -1 as one; ``events``: its kernel's complaints.

    Its shell has 128 more than the signal's number, and there are 64 of them.
    """
    texts = [str(event.get("text")) for event in events]
    killed = [match[1] for text in texts if (match := KILLED.match(text))]
    told = [
        Fault(code=one.code, message=SIGNAL.sub(_ended, one.message, count=1).replace(*FOREGROUND))
        if one.code == "program_ended"
        else one
        for one in found
    ]
    if killed and not told:
        names = plain(", ".join(dict.fromkeys(killed)), 100)
        text = f"the target had no memory left, and its kernel ended processes: {names}"
        told.append(Fault(code="out_of_memory", message=text))
    if not told and any(NO_ROOM in text for text in texts):
        text = "what the program wrote fills the target's /run, which has 64 MB"
        told.append(Fault(code="program_output", message=text))
    return told


def _ended(how: re.Match[str]) -> str:
    number = int(how[2])
    return (
        f"{how[1]} by signal {number}"
        if number <= SIGNALS
        else f"{how[1]} with exit code {128 + number}"
    )


def advice(facts: Mapping[str, str], tasks: Sequence[tuple[str, str, int]]) -> dict[str, str]:
    """Return a program's words about a fault, by its code; ``tasks``: name, policy, priority."""
    said = facts.get("program_waiting")
    if said is None and "program_began_s" in facts:
        return {"never_ready": "the program was started, and left the target's others no time"}
    if said is None:
        return {}
    words = plain(said, 200) or "nothing"
    words = f"the program has its lines, and printed before the first ball: {words}"
    return {"no_answer": words + _before_its_line(tasks)}


def _before_its_line(tasks: Sequence[tuple[str, str, int]]) -> str:
    """Say which task goes before the thread of the program's line; empty: none.

    If that task polls, the thread never runs on its processor: what Linux keeps for others of a
    processor that real-time tasks fill (sched_rt_runtime_us) is for ordinary processes alone.
    """
    threads = [one for one in tasks if LINE_THREAD.match(one[0])]
    others = [one for one in tasks if one[1] in {"SCHED_FIFO", "SCHED_RR"} and one not in threads]
    if not threads or not others:
        return ""
    (name, _, first), (line, _, behind) = max(others, key=_priority), min(threads, key=_priority)
    if first <= behind:
        return ""
    return (
        f"; {plain(name, 40)} has priority {first}, its line's thread {plain(line, 40)} {behind}: "
        f"`tennis explain` tells whether it polls, so that the thread never runs (then let it wait "
        f"in read(), or use --priorities irq=99)"
    )


def _priority(task: tuple[str, str, int]) -> int:
    return task[2]
