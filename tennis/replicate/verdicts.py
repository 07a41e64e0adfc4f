# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Hold a match against what was published: a verdict for each statement, with its numbers.

The rules are those of ``tennis/replicate/rules.toml``; docs/match.md explains them.
"""

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from tennis.comparison.rallies import boot_of
from tennis.comparison.sides import Side as Boots
from tennis.match.folder import MatchFolder
from tennis.rally.text import plain
from tennis.replicate import samples
from tennis.replicate.causes import other_cause
from tennis.replicate.deciding import Level, decide, number, with_interval
from tennis.replicate.every_rule import published_quantity, rules
from tennis.replicate.knutsson_rules import published_ratio
from tennis.replicate.mechanisms import Mechanism, Mechanisms
from tennis.replicate.rules import Rule, RulePart, replication
from tennis.replicate.samples import Sample

__all__ = ["Claim", "ClaimPart", "Replication", "SideFigures", "Verdict", "number", "with_interval"]
Verdict = Literal[
    "confirmed",
    "another cause",  # the same order, by a mechanism that the original did not have
    "contradicted",
    "inconclusive",
    "not addressed",  # the plan did not play it
    "not addressable",  # no match can decide it
]
HOLDS: frozenset[Verdict] = frozenset({"confirmed", "another cause"})
SILENT: frozenset[Verdict] = frozenset({"not addressed", "not addressable"})


@dataclass(frozen=True)
class FoundLevel:
    """What one ball in ``one_in`` exceeds in a side's median boot: ns, with its interval."""

    one_in: int
    level: float | None  # None: unanswered balls
    interval: tuple[float | None, float | None]


@dataclass(frozen=True)
class SideFigures:
    """What was found on one side of a comparison under one load; ns. None: an unanswered ball."""

    words: str  # the side in a few words, a drill and a command line, too
    kernel: str
    priorities: str
    top_half: str
    load: str
    latency: str
    rallies: tuple[str, ...]  # names of folders: each is a boot
    boots: int
    n: int  # balls that are judged
    behind: int  # the last whole cycle of the load: balls that are not
    misses: int
    levels: tuple[FoundLevel, ...]
    mechanism: Mechanism | None  # of its latest ball, where `tennis replicate --explain` looked
    largest: float | None  # of all balls
    exceedance_bound_95: float | None  # of the largest of all balls: 3/N; None: there were misses


@dataclass(frozen=True)
class ClaimPart:
    """One comparison and its verdict; ``estimate`` is a ratio, or a distance in decades."""

    says: str
    verdict: Verdict
    rule: str = ""  # what the estimate must be, in words
    remark: str = ""  # what else decided, or why nothing could be decided
    next: str = ""  # what to play to decide it
    command: str = ""  # that plays it
    missing: tuple[str, ...] = ()  # what was not played, one entry a side
    published: float | None = None  # the same of the thesis' tables, of the latest balls
    measure: str = "level"
    above: float | None = None
    below: float | None = None
    judged_one_in: int | None = None
    estimate: float | None = None  # at the level that is judged
    interval: tuple[float | None, float | None] | None = None  # None at an end: unbounded
    levels: tuple[Level, ...] = ()
    largest: float | None = None  # the same ratio of the largest of all balls
    sides: tuple[SideFigures, ...] = ()
    quantity: str = ""  # what was published: "the thesis' maximum of 10,000,000 balls"
    judged: str = ""  # what is judged here: "1 in 1,000 of the median boot"

    @property
    def addressed(self) -> bool:
        """Tell whether anything was compared, or could have been with what was played."""
        return self.verdict not in SILENT

    @property
    def why(self) -> str:
        """Say in words what the verdict stands on."""
        if self.interval is None or not self.bounded:
            return self.remark
        both = "the interval holds both: " if self.verdict == "inconclusive" else ""
        ends = f"{number(self.interval[0])} to {number(self.interval[1])}"
        found = f"{'' if self.remark else both}{ends}, and it {self.rule}"
        return "; ".join(filter(None, (found, self.remark)))

    @property
    def bounded(self) -> bool:
        """Tell whether there is an interval: one boot has none."""
        return self.interval is not None and not any(
            end is not None and math.isnan(end) for end in self.interval
        )

    @property
    def n(self) -> int:
        """Return the balls of the smallest side; 0 where nothing was compared."""
        return min((side.n for side in self.sides), default=0)

    @property
    def boots(self) -> int:
        """Return the boots of the smallest side; 0 where nothing was compared."""
        return min((side.boots for side in self.sides), default=0)


@dataclass(frozen=True)
class Claim:
    """A published statement and its verdict."""

    source: str
    id: str
    kind: str
    title: str
    published: str
    verdict: Verdict
    why: str
    parts: tuple[ClaimPart, ...] = ()
    # the parts that are judged with forced top halves, with hard ones
    beside: tuple[ClaimPart, ...] = ()

    @property
    def addressed(self) -> bool:
        """Tell whether the match has something to say of it."""
        return self.verdict not in SILENT

    @property
    def n(self) -> int:
        """Return the balls of the smallest side that was compared; 0 where nothing was."""
        return min((part.n for part in self.parts if part.n), default=0)

    @property
    def boots(self) -> int:
        """Return the boots of the smallest side that was compared; 0 where nothing was."""
        return min((part.boots for part in self.parts if part.n), default=0)

    def as_json(self) -> dict[str, Any]:
        """Return what ``tennis replicate --json`` prints of it."""
        content = asdict(self)
        for name in ("parts", "beside"):
            for part in content[name]:
                for side in part["sides"]:
                    found = side["mechanism"]
                    side["mechanism"] = found.model_dump(mode="json") if found else None
        for name in ("parts", "beside"):
            for part, made in zip(content[name], getattr(self, name), strict=True):
                part.update(n=made.n, boots=made.boots, why=made.why)
        return {**content, "n": self.n, "boots": self.boots}


class Replication:
    """A match held against the publications."""

    def __init__(self, match: MatchFolder) -> None:
        self.match = match
        self._rules = replication()
        self._cells: dict[str, Boots] = {}
        self._compared_samples: dict[str, Sample] = {}
        self._mechanisms = Mechanisms.read(match.path).cells

    @property
    def compared(self) -> list[Sample]:
        """Return every side that takes part in a verdict, once."""
        _ = self.claims
        return list(self._compared_samples.values())

    @property
    def behind(self) -> tuple[int, int]:
        """Return how many balls came behind whole cycles of their load, and of how many."""
        played = {name: rally.balls for sample in self.compared for name, rally in sample.rallies}
        judged = {name: balls for sample in self.compared for name, balls in sample.judged.items()}
        every = sum(played.values())
        return every - sum(judged.values()), every

    @cached_property
    def claims(self) -> list[Claim]:
        """Return every published statement with its verdict, in the order of the rules."""
        judged = [self._judge(rule) for rule in rules()]
        return judged + [
            Claim(
                source=entry.source,
                id=entry.id,
                kind="conclusion",
                title=entry.title,
                published="",
                verdict="not addressable",
                why=entry.why,
            )
            for entry in self._rules.unaddressable
        ]

    def claim(self, source: str, name: str) -> Claim:
        """Return one statement with its verdict. Raises KeyError."""
        for claim in self.claims:
            if (claim.source, claim.id) == (source, name):
                return claim
        raise KeyError(name)

    def as_json(self) -> dict[str, Any]:
        """Return what ``tennis replicate --json`` prints."""
        return {
            "schema_version": 2,
            "match": str(self.match.path),
            "bench": self.match.bench,
            "time_note": self.match.time_note,
            "claims": [_finite(claim.as_json()) for claim in self.claims],
            "not_played": [
                {"name": plain(entry.name), "why": plain(entry.why)}
                for entry in self.match.not_played
            ],
        }

    def _judge(self, rule: Rule) -> Claim:
        parts = tuple(self._part(part, rule.source) for part in rule.parts)
        every_hard = dict.fromkeys(self._rules.top_halves, "hard")
        hard = [part.with_top_halves(every_hard) for part in rule.parts]
        changed = [made for made, part in zip(hard, rule.parts, strict=True) if made != part]
        beside = tuple(self._part(part, rule.source) for part in changed)
        verdict, why = _together(parts)
        return Claim(
            source=rule.source,
            id=rule.id,
            kind=rule.kind,
            title=rule.title,
            published=rule.published,
            verdict=verdict,
            why=why,
            parts=parts,
            beside=beside,
        )

    def _part(self, part: RulePart, source: str) -> ClaimPart:
        found = {
            name: [samples.find(self.match, self._rules, side, load) for load in side.loads]
            for name in ("of", "to", "than")
            if (side := getattr(part, name))
        }
        every = [sample for side in found.values() for sample in side]

        def undecided(verdict: Verdict, remark: str, then: str = "") -> ClaimPart:
            return ClaimPart(
                part.says,
                verdict,
                remark=remark,
                next=then,
                missing=tuple(dict.fromkeys(sample.words for sample in missing)),
                published=published_ratio(part),
                measure=part.measure,
                above=part.above,
                below=part.below,
                quantity=published_quantity(source, part.measure),
            )

        missing = [sample for sample in every if sample.missing]
        for side in found.values():
            gone = [sample for sample in side if sample.missing]
            if len(gone) == len(side):
                return undecided("not addressed", samples.not_played(gone))
        if missing:
            loads = ", ".join(dict.fromkeys(sample.load for sample in missing))
            then = f"play the load {loads} too"
            return undecided("inconclusive", samples.not_played(missing), then)
        unusable = [sample for sample in every if sample.unusable]
        if unusable:
            reasons = "; ".join(f"{sample.words}: {sample.unusable}" for sample in unusable)
            return undecided("inconclusive", reasons, "play these rallies again")
        mixed = samples.mixed([rally for sample in every for _, rally in sample.rallies])
        if mixed:
            return undecided(
                "inconclusive", mixed, "play these rallies again with one build of all"
            )
        return self._compared(part, source, found, every)

    def _compared(
        self, part: RulePart, source: str, found: dict[str, list[Sample]], every: Sequence[Sample]
    ) -> ClaimPart:
        sides = {name: [self._cell(sample) for sample in side] for name, side in found.items()}
        decision = decide(
            part, sides["of"], sides["to"], sides.get("than", []), self._rules.statistics
        )
        left_out = "; ".join(filter(None, (sample.left_out for sample in every)))
        judged = decision.judged
        then, command = "", ""
        if decision.open:
            then, command = self._advice(decision.boots_needed)
        verdict: Verdict = decision.verdict
        cause = self._other_cause(part, found["of"], every) if verdict == "confirmed" else ""
        if cause:
            verdict, cause = "another cause", f"the same order, by another cause: {cause}"
        remarks = (cause, decision.remark, left_out and f"without {left_out}")
        return ClaimPart(
            part.says,
            verdict,
            decision.rule,
            "; ".join(filter(None, remarks)),
            then,
            command,
            published=published_ratio(part),
            measure=part.measure,
            above=part.above,
            below=0.0 if part.than else part.below,
            judged_one_in=judged.one_in if judged else None,
            estimate=judged.estimate if judged else None,
            interval=judged.interval if judged else None,
            levels=decision.levels,
            largest=decision.largest,
            sides=tuple(self._found(sample) for sample in every),
            quantity=published_quantity(source, part.measure),
            judged=judged.words(part.measure) if judged else "",
        )

    def _other_cause(self, part: RulePart, of: Sequence[Sample], every: Sequence[Sample]) -> str:
        late = [
            (sample, self._cell(sample), known.sentence if known else "")
            for sample in of
            for known in [self._mechanisms.get(sample.name)]
        ]
        return other_cause(part, late, every, self._rules.statistics.judged_one_in)

    def _cell(self, sample: Sample) -> Boots:
        if sample.name not in self._cells:
            self._compared_samples[sample.name] = sample
            rallies = [rally for _, rally in sample.rallies]
            self._cells[sample.name] = Boots(
                [boot_of(rally, sample.side.latency) for rally in rallies],
                [rally.manifest.protocol.seed for rally in rallies],
            )
        return self._cells[sample.name]

    def _advice(self, boots: int | None) -> tuple[str, str]:
        """Say what to play to decide it, and with which command; empty where none helps."""
        if boots is None:
            return "no number of boots is likely to: what was measured is at the rule's edge", ""
        return f"play {boots} boots a cell", self.command_for(str(boots))

    def command_for(self, boots: str) -> str:
        """Return the command that goes on with the match until each cell has so many boots."""
        plan = shlex.quote(plain(self.match.record.plan_file or "PLAN", 200))
        out = shlex.quote(plain(str(self.match.path), 200))
        return f"tennis match {plan} --repetitions {boots} --out {out}"

    def _found(self, sample: Sample) -> SideFigures:
        cell, statistics = self._cell(sample), self._rules.statistics
        levels = []
        for one_in in statistics.one_in:
            if cell.has(one_in):
                level = cell.median(one_in)
                levels.append(FoundLevel(one_in, level.estimate, (level.low, level.high)))
        return SideFigures(
            words=sample.words,
            kernel=sample.side.kernel,
            priorities=sample.side.priorities,
            top_half=sample.side.top_half,
            load=sample.load,
            latency=sample.side.latency,
            rallies=tuple(name for name, _ in sample.rallies),
            boots=len(cell.boots),
            n=sample.balls,
            behind=sample.behind,
            misses=sample.misses,
            levels=tuple(levels),
            mechanism=self._mechanisms.get(sample.name),
            largest=max(cell.latest()),
            exceedance_bound_95=None if sample.misses else 3 / sample.balls,
        )


@dataclass(frozen=True)
class Disagreement:
    """A statement on which two matches give different verdicts."""

    claim: Claim
    other: Claim
    opposite: bool  # one confirms it, the other contradicts it


def compared(ours: Replication, theirs: Replication) -> tuple[int, list[Disagreement]]:
    """Return how many statements both matches address, and those on which they differ.

    One that only one of them can decide is listed, too: it depends on the match.
    """
    addressed, found = 0, []
    for claim in ours.claims:
        other = theirs.claim(claim.source, claim.id)
        if not (claim.addressed and other.addressed):
            continue
        addressed += 1
        if claim.verdict != other.verdict:
            either = {claim.verdict, other.verdict}
            opposite = "contradicted" in either and bool(either & HOLDS)
            found.append(Disagreement(claim, other, opposite))
    return addressed, sorted(found, key=lambda one: not one.opposite)


def _together(parts: Sequence[ClaimPart]) -> tuple[Verdict, str]:
    """Return the verdict of a statement with several parts, and why."""
    verdicts = [part.verdict for part in parts]
    verdict: Verdict = "inconclusive"
    if "contradicted" in verdicts:
        verdict = "contradicted"
    elif set(verdicts) <= HOLDS:
        verdict = "another cause" if "another cause" in verdicts else "confirmed"
    elif set(verdicts) == {"not addressed"}:
        verdict = "not addressed"
    decisive = [part for part in parts if part.verdict == verdict] or list(parts)
    return verdict, "; ".join(dict.fromkeys(part.why for part in decisive))


def _finite(value: Any) -> Any:
    """Return it with None for what is not finite: JSON has no word for that."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
