"""Find the rallies of a match that speak for a side of a comparison, and say why others do not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tennis.compare.boots import Boot
from tennis.compare.rallies import BENCH_PARTS, KERNEL_PARTS, boot_of
from tennis.compare.sides import Side
from tennis.match.folder import MatchFolder
from tennis.match.plan import NotPlayed, ScheduledRally
from tennis.rally import Rally
from tennis.rally.cycles import balls_in_whole_cycles, misses, too_short
from tennis.rally.statistics.balls import latencies_ns
from tennis.rally.text import plain
from tennis.report.publications.rules import LatencyName, RuleBook, RuleSide


@dataclass
class Sample:
    """A side's rallies under one load: each of them is a boot."""

    side: RuleSide
    load: str
    rallies: list[tuple[str, Rally]] = field(default_factory=list)
    missing: str = ""  # why there is no such rally
    foreign: bool = False  # there is one, and its load is not what the rule is about
    unusable: str = ""  # why there are such rallies, and none speaks
    left_out: str = ""  # which of them do not count, if others do

    @property
    def words(self) -> str:
        """Return the side in a few words."""
        return self.side.model_copy(update={"loads": (self.load,)}).words

    @property
    def name(self) -> str:
        """Return what tells it from all others of a match."""
        side = self.side
        return f"{side.kernel}/{side.priorities}/{side.top_half}/{self.load}/{side.latency}"

    @property
    def balls(self) -> int:
        """Return how many balls are judged: those in whole cycles of the load."""
        return sum(self.judged.values())

    @cached_property
    def judged(self) -> dict[str, int]:
        """Return how many balls of each rally are judged, by its name; ask when all are there."""
        return {name: balls_in_whole_cycles(rally) for name, rally in self.rallies}

    @property
    def behind(self) -> int:
        """Return how many balls came behind the last whole cycle of their boot."""
        return sum(rally.balls for _, rally in self.rallies) - self.balls

    @property
    def misses(self) -> int:
        """Return how many of the balls that are judged were missed."""
        return sum(misses(rally, self.judged[name]) for name, rally in self.rallies)

    def latest(self) -> tuple[str, Rally, int, int | None]:
        """Return the latest ball of a side: its rally, its number, and its latency in ns.

        None: it had no answer.
        """
        found = []
        for name, rally in self.rallies:
            boot = boot_of(rally, self.side.latency)
            found.append((boot.largest, name, rally, boot.latest))
        value, name, rally, number = max(found, key=lambda one: one[0])
        return name, rally, number, round(value) if np.isfinite(value) else None


def find(
    match: MatchFolder, rules: RuleBook, side: RuleSide, load: str, *, judged: bool = True
) -> Sample:
    """Find the rallies of a side under a load, and say which of them may speak.

    ``judged``: only boots that see a whole cycle of their load do.
    """
    sample = Sample(side, load)
    alike = [entry for entry in match.scheduled if _is_one(entry, rules, side, load)]
    # the thesis waited for each answer; in an open loop one later than a period is a miss
    scheduled = [entry for entry in alike if entry.plan.protocol.rate_hz is None]
    if not scheduled:
        left = [entry.why for entry in match.not_played if _is_one(entry, rules, side, load)]
        sample.missing = plain(left[0]) if left else "not in the plan"
        if alike:
            sample.missing = "not played in a closed loop"
        return sample
    doubted: dict[str, list[str]] = {}  # why -> rallies
    foreign = []
    tasks = rules.core_tasks.get(side.kernel, {}).get(load)
    for planned in scheduled:
        rally = match.rally(planned.name)
        if rally is not None and tasks and rally.manifest.load.tasks not in tasks:
            foreign.append(
                f"{planned.name} had {_tasks(rally.manifest.load.tasks)}, which do not load "
                f"{side.kernel}'s core: build {load} for it (docs/loads.md) and play it again"
            )
            continue
        doubt = _doubt(match, planned, rally)
        if rally is not None and not doubt and judged:
            doubt = too_short(rally)
        if rally is not None and not doubt:
            sample.rallies.append((planned.name, rally))
        else:
            doubted.setdefault(doubt, []).append(planned.name)
    doubts = [_all(names, doubt) for doubt, names in doubted.items()]
    if foreign and not sample.rallies and not doubts:
        sample.missing, sample.foreign = "; ".join(foreign), True
    elif not sample.rallies:
        sample.unusable = "; ".join(doubts)
    sample.left_out = "; ".join(doubts + foreign)
    return sample


def _all(names: Sequence[str], doubt: str) -> str:
    """Say why some rallies do not count."""
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return f"{names[0]}{more} {doubt}"


def _is_one(entry: ScheduledRally | NotPlayed, rules: RuleBook, side: RuleSide, load: str) -> bool:
    """Tell whether a rally, or one that was left out, is of a side under a load."""
    return entry.is_one(
        kernel=side.kernel,
        priorities=side.priorities,
        load=load,
        bottom_half=rules.bottom_halves[side.kernel],
        top_half=side.top_half,
    )


def _doubt(match: MatchFolder, planned: ScheduledRally, rally: Rally | None) -> str:
    """Say why a rally is not judged; empty: it is."""
    if rally is None:
        return match.trouble(planned.name)
    if rally.manifest.suspect:
        faults = rally.manifest.faults
        return "is suspect" + (f" ({plain(faults[0].message, 120)})" if faults else "")
    return "" if rally.balls else "has no balls"


def _tasks(kind: str | None) -> str:
    return f"tasks of the kind {kind}" if kind else "tasks of a kind that its manifest does not say"


def mixed(rallies: Sequence[Rally]) -> str:
    """Say which part of the bench has two versions among rallies; empty if none has."""
    seen: dict[tuple[str, str], str] = {}
    for rally in rallies:
        versions, kernel = rally.manifest.tool.versions, rally.manifest.target.kernel
        for key, what in {**BENCH_PARTS, **KERNEL_PARTS}.items():
            whose = kernel if key in KERNEL_PARTS else ""
            value = versions.get(key, "unknown")
            first = seen.setdefault((key, whose), value)
            if value != first:
                of = f" of {plain(whose, 40)}" if whose else ""
                builds = " and ".join(sorted((plain(first, 12), plain(value, 12))))
                return f"the rallies are from two builds of {what}{of}: {builds}"
    notes = sorted({rally.manifest.time_note for rally in rallies})
    if len(notes) > 1:
        return f"the rallies' times mean different things: {plain(notes[0])} and {plain(notes[1])}"
    return ""


def boots_shown(rallies: Sequence[Rally], latency: LatencyName) -> Side:
    """Return boots as they are judged; one that is too short has all its balls."""
    return Side(
        [
            Boot.of(latencies_ns(rally, latency)) if too_short(rally) else boot_of(rally, latency)
            for rally in rallies
        ]
    )


def not_played(samples: Sequence[Sample]) -> str:
    """List the samples that were not played, and why; each reason once."""
    whys: dict[str, list[str]] = {}
    for sample in samples:
        whys.setdefault(sample.missing, []).append(sample.words)
    played = {sample.missing for sample in samples if sample.foreign}
    return "; ".join(
        why if why in played else f"not played ({why}): {'; '.join(reason)}"
        for why, reason in whys.items()
    )
