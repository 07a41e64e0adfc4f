"""Synthetic rallies that differ in one setting, which is altered in the manifest.

A setting that the manifest's target has by its own name needs no line here.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tennis.course import load_lab
from tennis.course.work import seed_of
from tennis.kit.checkout import ROOT
from tennis.match.plan import ScheduledRally
from tennis.rally import Rally, open_folder
from tennis.rally.folder import MANIFEST
from tennis.rally.manifest import OWN, Drill, Manifest, Program
from tennis.rally.memory import canonical
from tennis.rally.plan import Plan
from tennis.rally.program import read as read_program
from tennis.rally.record_file import seal_of
from tennis.rally.settings import OF_KIND, SETTINGS
from tests.support.hand_ins import make_work
from tests.support.plans import drill_plan

LAB = load_lab("01-first-serve")
ASKED = LAB.rallies[0].model_copy(update={"balls": 60})
LAB = LAB.model_copy(update={"rallies": [ASKED]})
PROGRAM = read_program(ROOT / "target/programs/answer.c")
ANSWERED = Program(
    name=PROGRAM.name,
    kind=PROGRAM.kind,
    sha256=PROGRAM.sha256,
    built_sha256="0" * 64,
    command=PROGRAM.about.command,
    way="GPIO character device",
    priority=None,
)
# whose files are never taken from a folder: their value in a plan, in place of a manifest's words
BROUGHT = {"racquet": "own.c", "program": str(PROGRAM.path)}
DRILL = Drill(name="periodic", context="user", period_ns=1_000_000)
IN_KERNEL = DRILL.model_copy(update={"context": "kernel"})
LISTENS = drill_plan(IN_KERNEL, ASKED.balls, seed_of(LAB, "zoe")).protocol
# the part of a manifest with another value, unless it is a choice or a number of the target
ELSEWHERE = {
    "kernel": ("target", {"kernel": "rt"}),
    "load": ("load", {"name": "hog"}),
    "load_options": ("load", {"options": {"hold_us": 7}}),
    "load_cpus": ("load", {"cpus": "0"}),
    "bottom_half_cpu": ("target", {"bottom_half": "user", "bottom_half_cpu": 0}),
    "command_line": ("target", {"added": "nohz=off"}),
    "racquet": ("target", {"module": OWN}),
    "program": ("target", {"program": ANSWERED}),
    "stage": ("target", {"kernel": "evl", "module": "racquet"}),
    "priorities": ("target", {"priorities": "chrt"}),
    "memory": ("target", {"memory": canonical("cortex-a72")}),
    "instrument": ("instrument", {"kind": "brickwall"}),
    "drill": ("", {"drill": DRILL}),  # in another context
}
# what a rally is before, if that matters
FIRST = {
    "stage": [("target", {"kernel": "evl", "module": "racquet_evl"})],
    "bottom_half_cpu": [("target", {"bottom_half": "user"})],
    "drill": [
        ("", {"drill": IN_KERNEL, "protocol": LISTENS}),
        ("target", {"bottom_half": "unknown"}),
    ],
}
SERVED = {
    "loop": {"loop": "open", "rate_hz": 1000.0},
    "rate_hz": {"loop": "open", "rate_hz": 1000.0},
    "gap_min_ns": {"gap_min_ns": 400_000},
    "gap_max_ns": {"gap_max_ns": 1_600_000},
    "pulse_ns": {"pulse_ns": 2_000},
    "timeout_ns": {"timeout_ns": 100_000_000},
    "settle_ns": {"settle_ns": 1},
    "shots": {"loop": "shots"},
}
NAMES = [row.name for row in OF_KIND]


def other_of(name: str) -> tuple[str, dict[str, Any]]:
    """Return which part of a manifest says another value of a setting, and that."""
    if name in SERVED:
        return "protocol", SERVED[name]
    row = SETTINGS[name]
    others = [value for value in row.choices if value != row.default]
    found = [value for value in others if value not in {"tasklet", "hard", "default"}]
    return ELSEWHERE.get(name) or ("target", {name: found[0] if found else 0})


def altered(manifest: Manifest, part: str, update: dict[str, Any]) -> Manifest:
    """Return a manifest in which a part says something else; no part: the manifest itself."""
    if not part:
        return manifest.model_copy(update=update)
    changed = getattr(manifest, part).model_copy(update=update)
    return manifest.model_copy(update={part: changed})


def make_altered(place: Path) -> Path:
    """Make in a folder a lab's rally as it should be, `usual`, and with each setting altered.

    Some settings need a base of their own, `usual NAME`. Returns the folder.
    """
    made = make_work(place / "work", LAB, "zoe")
    usual = (made / ASKED.name).rename(place / "usual")
    sealed(usual, altered(open_folder(usual).manifest, "target", {"instruction_ns": 2}))
    for name in (*NAMES, *SERVED):
        manifest = open_folder(usual).manifest
        if name in FIRST:
            for part, update in FIRST[name]:
                manifest = altered(manifest, part, update)
            sealed(shutil.copytree(usual, place / f"usual {name}"), manifest)
        sealed(shutil.copytree(usual, place / name), altered(manifest, *other_of(name)))
    return place


def sealed(place: Path, manifest: Manifest) -> None:
    """Write a manifest with its seal."""
    content = manifest.model_dump(mode="json")
    content["seal"] = seal_of(content)
    (place / MANIFEST).write_text(json.dumps(content))


def before_and_after(folder: Path, name: str) -> tuple[Rally, Rally]:
    """Return the rally as it should be, and that of another setting."""
    first = folder / (f"usual {name}" if name in FIRST else "usual")
    return open_folder(first), open_folder(folder / name)


def planned_of(rally: Rally) -> Plan:
    """Return a plan of which a rally is one."""
    manifest = rally.manifest
    values = {row.name: row.recorded(manifest) for row in OF_KIND if row.name not in BROUGHT}
    return Plan(bench="virtual", protocol=manifest.protocol, **values)


def listed(plan: Plan, name: str = "r") -> ScheduledRally:
    """Return a plan as a match lists it."""
    return ScheduledRally(name=name, kernel=plan.kernel, repetition=1, plan=plan)


def with_setting(plan: Plan, name: str, rally: Rally) -> Plan:
    """Return the plan of which the other rally is one."""
    if name in SERVED:
        return plan.model_copy(update={"protocol": rally.manifest.protocol})
    value = BROUGHT.get(name) or SETTINGS[name].recorded(rally.manifest)
    return plan.model_copy(update={name: value})


EVERY = pytest.mark.parametrize("name", [*NAMES, *SERVED])
# what a comparison calls it
WORDS = {name: SETTINGS[name].words for name in NAMES} | {
    "drill": "context",
    "loop": "loop",
    "rate_hz": "loop",
    "gap_min_ns": "loop",
    "gap_max_ns": "loop",
    "pulse_ns": "pulse",
    "timeout_ns": "timeout",
    "settle_ns": "settling",
    "shots": "loop",
}
