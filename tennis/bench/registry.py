"""The benches that there are, and the one that plays a plan."""

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tennis.bench.fitting import Capabilities, settings_of
from tennis.bench.kernels import catalogue
from tennis.bench.loads import System
from tennis.bench.protocol import Access, Bench, PreparingBench, RegisteredBench
from tennis.kit import entries
from tennis.kit.entries import OWN, Entry, EntryError, load
from tennis.kit.errors import UsageError
from tennis.kit.log import log
from tennis.rally.manifest import TIMELESS, BenchKind
from tennis.rally.plan import Plan
from tennis.rally.text import plain

# the kit's own, in the order in which they are asked for a plan
BENCHES = (
    "tennis.bench.sloth.bench:SlothBench",
    "tennis.bench.virtual.bench:VirtualBench",
    "tennis.bench.physical.second_pico:SecondPicoBench",
    "tennis.bench.physical.managed:PiBench",
    "tennis.bench.physical.wired:WiredBench",
    "tennis.bench.replay:ReplayBench",
)
GROUP = "tennis.benches"  # those of packages
# what a class must have, as RegisteredBench says
MEMBERS = (
    *("kind", "repeats", "kernels", "can", "plays", "defaults", "of"),
    *("time_note", "versions", "start", "circumstances"),
)


def benches() -> tuple[type[RegisteredBench], ...]:
    """Return all benches that are here, the kit's own first."""
    return tuple(bench for _, bench in _registered()[0])


@cache
def _registered() -> tuple[list[tuple[str, type[RegisteredBench]]], list[EntryError]]:
    """Return package and bench, and why others cannot be used.

    A bench of the kit may lack an optional Python package: the error comes when it is used.
    """
    found: list[tuple[str, type[RegisteredBench]]] = []
    troubles = []
    for named in BENCHES:
        try:
            found.append((OWN, load(named)))
        except EntryError as error:
            troubles.append(error)
    for entry in entries.entries(GROUP):
        try:
            found.append((entry.package, _read(entry)))
        except EntryError as error:
            troubles.append(error)
            log.info(str(error))
    return found, troubles


def _read(entry: Entry) -> type[RegisteredBench]:
    """Return the bench class that an entry names. Raises EntryError if it is not a complete one."""
    found: type[RegisteredBench] = entry.load()
    if not isinstance(found, type):
        raise EntryError(f"{entry} is no class", next_step=entry.repair)
    entry.check_has(found, MEMBERS)
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        why = f"it has no {', '.join(missing)}"
        raise EntryError(f"{entry} is broken ({why})", next_step=entry.repair)
    return found


def forget() -> None:
    """Forget the benches, so that installed packages are read again."""
    entries.forget()
    _registered.cache_clear()


def bench_for(plan: Plan, access: Access | None = None) -> Bench:
    """Return the bench that plays a plan.

    Raises UsageError if the plan asks for something that the bench lacks, or, as BenchError, if the
    bench is not there.
    """
    found = refuse(plan)
    if plan.bench == "virtual" and plan.kernel not in found.kernels:
        catalogue.refuse_unknown(plan.kernel, own_kernels())
    return found.of(plan, access or Access())


def refuse(plan: Plan, options: Mapping[str, Any] | None = None) -> type[RegisteredBench]:
    """Return the bench that plays a plan. Raises UsageError for what does not go with it.

    ``options``: what somebody asked for, see ``fitting``; None: what the plan says.
    """
    bench = _class_of(plan)
    if options is None:
        asked = settings_of(plan) | {name: getattr(plan, name) for name in bench.can.has}
    else:
        asked = dict(options)
    bench.can.refuse_misfits(asked, [other.can for other in benches()])
    return bench


def can(plan: Plan) -> Capabilities:
    """Return what a plan's bench takes. Raises UsageError if no bench plays it."""
    return _class_of(plan).can


def is_named(kernel: str) -> bool:
    """Tell whether a kernel has a name that every checkout knows; others are folders."""
    return kernel in catalogue.catalogue() or kernel in own_kernels()


def own_kernels() -> list[str]:
    """Return the names of kernels that are a bench's own, such as SLOTH's."""
    return list(dict.fromkeys(name for bench in benches() for name in bench.kernels))


def kinds() -> list[BenchKind]:
    """Return the kinds of all benches here, as words of ``--bench``."""
    return list(dict.fromkeys(bench.kind for bench in benches()))


def check_kind(kind: BenchKind) -> None:
    """Raise UsageError for a kind that no bench here has."""
    there = [one for one in kinds() if one != "replay"]
    if kind not in there:
        raise UsageError(f"bench: {kind!a} is not one of {', '.join(map(repr, there))}")


def timeless() -> set[BenchKind]:
    """Return the words of benches whose rallies do not depend on when they are played."""
    once = {bench.kind for bench in benches() if not bench.repeats}
    return {*TIMELESS, *(kind for kind in kinds() if kind not in once)}


def boots_afresh(bench: type[RegisteredBench]) -> bool:
    """Tell whether rallies of a bench have a target that was freshly booted, as a match needs."""
    return bench.repeats or issubclass(bench, PreparingBench)


def kernels_of(kind: BenchKind) -> list[str]:
    """Return the names of kernels that are own ones of benches of a kind."""
    own = (sorted(bench.kernels) for bench in benches() if bench.kind == kind)
    return list(dict.fromkeys(itertools.chain.from_iterable(own)))


def bench_with(kernel: str, kind: BenchKind) -> type[RegisteredBench] | None:
    """Return the bench of a kind whose own kernel has this name; None: no bench's own."""
    for bench in benches():
        if bench.kind == kind and kernel in bench.kernels:
            return bench
    return None


def system_of(kernel: str) -> System:
    """Return the system of a virtual kernel: Linux, unless it is a bench's own."""
    own = bench_with(kernel, "virtual")
    return own.can.system if own else "linux"


def completed(plan: Plan, options: Mapping[str, Any]) -> Plan:
    """Return a plan with its bench's defaults for all that ``options`` leaves out.

    ``options``: the settings asked for. Raises UsageError for one that the bench does not take.
    """
    defaults = refuse(plan, options).defaults(plan, options)
    return plan.model_copy(update={k: v for k, v in defaults.items() if k not in options})


class Benches:
    """The benches of a match or a comparison: of one kind, and each is made once.

    A match may have kernels of several benches of a kind. Raises as ``bench_for``.
    """

    def __init__(self, plans: Sequence[Plan], access: Access | None = None) -> None:
        kinds = {plan.bench: plan for plan in plans}
        if len(kinds) > 1:
            raise UsageError(
                f"{' and '.join(kinds)} are different benches: their times do not compare",
                next_step="play them apart",
            )
        first = plans[0]
        refuse(first)
        self._access = access or Access()
        self._made: dict[type[RegisteredBench], Bench] = {}
        self.kind: BenchKind = self.of(first).kind
        # whether the same plan gives the same balls: then several are played at once
        self.repeats = all(self.of(plan).repeats for plan in plans)
        # what a match needs of them, and whether their targets are booted before each rally
        self.boot_afresh = all(boots_afresh(_class_of(plan)) for plan in plans)
        self.prepared = all(isinstance(self.of(plan), PreparingBench) for plan in plans)

    def of(self, plan: Plan) -> Bench:
        """Return the bench that plays a plan."""
        kind = _class_of(plan)
        if kind not in self._made:
            self._made[kind] = bench_for(plan, self._access)
        return self._made[kind]


def _refuse_elsewhere(plan: Plan) -> None:
    """Raise UsageError for a kernel that only benches of other kinds have."""
    words = dict.fromkeys(bench.kind for bench in benches() if plan.kernel in bench.kernels)
    if words and plan.bench not in words:
        raise UsageError(f"the kernel {plan.kernel} needs --bench {' or '.join(words)}")


def _class_of(plan: Plan) -> type[RegisteredBench]:
    """Return the bench that plays a plan: first one whose own kernel it is, then any."""
    found, troubles = _registered()
    playing = [(package, bench) for package, bench in found if bench.plays(plan)]
    owning = [(package, bench) for package, bench in playing if plan.kernel in bench.kernels]
    if len(owning) > 1:
        packages = " and ".join(package for package, _ in owning)
        raise UsageError(
            f"the kernel {plan.kernel} is that of several benches, of {packages}",
            next_step="remove one of the packages",
        )
    if plan.bench == "virtual" and plan.kernel not in catalogue.catalogue():
        _refuse_elsewhere(plan)
    for _, bench in owning or playing:
        return bench
    _refuse_elsewhere(plan)
    if own := kernels_of(plan.bench):
        raise UsageError(
            f"the bench {plan.bench} has no kernel {plain(plan.kernel, 60)}",
            next_step=f"use --kernel {' or '.join(own)}",
        )
    there = " or ".join(kind for kind in kinds() if kind != "replay")
    if not troubles:
        raise UsageError(f"no bench {plan.bench} here", next_step=f"use {there}")
    # it is unknown which of them would have played it
    last = troubles[-1]
    why = f"{len(troubles)} cannot be used, the last: {last.message}"
    raise UsageError(f"no bench {plan.bench} here; {why}", next_step=last.next_step)
