# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which benches there are, and which of them plays a plan: a line for each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tennis.bench.fitting import Capabilities, refuse_misfits, settings_of
from tennis.bench.kernels import catalogue
from tennis.bench.physical.managed import PiBench
from tennis.bench.physical.second_pico import SecondPicoBench
from tennis.bench.physical.wired import WiredBench
from tennis.bench.protocol import Access, Bench, RegisteredBench, RunRecord, Session
from tennis.bench.replay import ReplayBench
from tennis.bench.sloth.bench import SlothBench
from tennis.bench.virtual.bench import VirtualBench
from tennis.errors import UsageError
from tennis.rally.manifest import BenchKind
from tennis.rally.plan import Plan

# the first that plays a plan is taken: SLOTH is a kernel of the virtual bench, too
BENCHES: tuple[type[RegisteredBench], ...] = (
    SlothBench,
    VirtualBench,
    SecondPicoBench,
    PiBench,
    WiredBench,
    ReplayBench,
)


def bench_for(plan: Plan, access: Access | None = None) -> Bench:
    """Return the bench that plays a plan.

    Raises UsageError if the plan asks for what the bench does not have, or, as BenchError, if the
    bench is not there.
    """
    refuse(plan, settings_of(plan))
    return _class_of(plan).of(plan, access or Access())


def refuse(plan: Plan, asked: Mapping[str, Any]) -> None:
    """Raise UsageError for what does not go with a plan's bench; ``asked``: see ``fitting``."""
    refuse_misfits(_class_of(plan).can, asked, [bench.can for bench in BENCHES])


def can(plan: Plan) -> Capabilities:
    """Return what a plan's bench takes. Raises UsageError if there is none."""
    return _class_of(plan).can


def is_named(kernel: str) -> bool:
    """Tell whether a kernel has a name that every checkout knows; others are folders."""
    return kernel in catalogue.catalogue() or any(kernel in bench.kernels for bench in BENCHES)


def bench_with(kernel: str, kind: BenchKind) -> type[RegisteredBench] | None:
    """Return the bench of a kind whose own kernel has this name; None: no bench's own."""
    for bench in BENCHES:
        if bench.kind == kind and kernel in bench.kernels:
            return bench
    return None


def usual(plan: Plan, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a plan's bench takes if nobody asked for something else. Raises UsageError."""
    return _class_of(plan).usual(plan, asked)


def bench_for_all(plans: Sequence[Plan], access: Access | None = None) -> Bench:
    """Return one bench for all plans of a match or a comparison. Raises as ``bench_for``."""
    kinds = {plan.bench: plan for plan in plans}
    if len(kinds) > 1:
        raise UsageError(
            f"{' and '.join(kinds)} are different benches: their times do not compare",
            next_step="play them apart",
        )
    first = bench_for(plans[0], access)
    if len(set(map(_class_of, plans))) == 1:
        return first
    return EachOnItsOwn(first, access or Access())


class EachOnItsOwn:
    """Plays each plan on its own bench: a match may have kernels of several benches of a kind."""

    def __init__(self, first: Bench, access: Access) -> None:
        self.kind: BenchKind = first.kind
        self.repeats: bool = first.repeats
        self._access = access
        self._made: dict[type[RegisteredBench], Bench] = {}

    def _of(self, plan: Plan) -> Bench:
        kind = _class_of(plan)
        if kind not in self._made:
            self._made[kind] = kind.of(plan, self._access)
        return self._made[kind]

    def time_note(self, plan: Plan) -> str:
        """Return what a nanosecond of a rally means."""
        return self._of(plan).time_note(plan)

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend."""
        return self._of(plan).versions(plan)

    def start(self, plan: Plan, folder: Path) -> Session:
        """Begin to play."""
        return self._of(plan).start(plan, folder)

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return what is known of a rally in ``folder`` once its session is closed."""
        return self._of(plan).circumstances(plan, folder)


def _class_of(plan: Plan) -> type[RegisteredBench]:
    for bench in BENCHES:
        if bench.plays(plan):
            return bench
    raise UsageError(f"no bench {plan.bench} here", next_step="use virtual or pi")
