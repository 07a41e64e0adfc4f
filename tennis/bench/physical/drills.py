# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a drill takes to a board: a program, or a module that is built there."""

import hashlib
from pathlib import Path

from tennis.bench.kernels import modules
from tennis.bench.targets import snapshot
from tennis.checkout import ROOT
from tennis.rally.manifest import (
    Drill,
)
from tennis.rally.plan import Plan

DRILLS = ROOT / "target" / "drills"


def in_kernel(drill: Drill) -> bool:
    """Tell whether a drill is done by a module."""
    return drill.context in {"kernel", "hrtimer"}


def module_of(plan: Plan, facts: snapshot.Snapshot) -> str:
    """Return which module is loaded; empty where a drill is a process."""
    if plan.drill is None:
        return facts.module
    return plan.drill.name if in_kernel(plan.drill) else ""


def files_of(drill: Drill) -> dict[str, bytes | Path]:
    """Return what the target needs of a drill: a program, or what its module is built from."""
    if in_kernel(drill):
        return {f"drill-source/{path.name}": path for path in sorted(DRILLS.iterdir())}
    return {"drill": modules.program(DRILLS / f"{drill.name}.c")}


def versions_of(drill: Drill) -> dict[str, str]:
    """Return what must stay the same of a drill; of a module, which is built there, its sources."""
    content = (
        path if isinstance(path, bytes) else path.read_bytes()
        for _, path in sorted(files_of(drill).items())
    )
    sha256 = hashlib.sha256(b"".join(content)).hexdigest()
    return {"target_module": f"drill {drill.name}", "target_module_sha256": sha256}
