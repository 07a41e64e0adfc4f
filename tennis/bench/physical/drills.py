# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a drill takes to a board: a program, or a module that is built there."""

import hashlib
from pathlib import Path

from tennis.bench.kernels import modules
from tennis.bench.targets import snapshot
from tennis.rally import drills
from tennis.rally.manifest import Drill
from tennis.rally.plan import Plan


def module_of(plan: Plan, facts: snapshot.Snapshot) -> str:
    """Return which module is loaded; empty where a drill is a process."""
    if plan.drill is None:
        return facts.module
    return plan.drill.name if plan.drill.in_kernel else ""


def files_of(drill: Drill) -> dict[str, bytes | Path]:
    """Return what the target needs of a drill: a program, or what its module is built from."""
    source = drills.find(drill.name).code
    if drill.in_kernel:
        return {f"drill-source/{path.name}": path for path in modules.sources(source)}
    return {"drill": modules.program(source)}


def versions_of(drill: Drill) -> dict[str, str]:
    """Return what must stay the same of a drill; of a module, which is built there, its sources."""
    content = (
        path if isinstance(path, bytes) else path.read_bytes()
        for _, path in sorted(files_of(drill).items())
    )
    sha256 = hashlib.sha256(b"".join(content)).hexdigest()
    return {"target_module": f"drill {drill.name}", "target_module_sha256": sha256}
