"""Compare a match with the thesis: a verdict for each statement, with its numbers and its words.

The rules are those of ``tennis.report.publications.rules``; docs/match.md explains them.
"""

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from tennis.compare.folders import in_time
from tennis.compare.order import InTime
from tennis.compare.rallies import boot_of
from tennis.compare.ratio_words import ratio_words
from tennis.compare.sides import Side as Boots
from tennis.kit.units import finite
from tennis.match.folder import MatchFolder
from tennis.rally.manifest import THREADED, TIMELESS
from tennis.rally.text import plain
from tennis.replicate import samples
from tennis.replicate.deciding import Level, Position, decide, level_words, number
from tennis.replicate.mechanisms import Mechanism, Mechanisms, other_cause
from tennis.replicate.samples import Sample
from tennis.report.publications.rules import Rule, RulePart, published_quantity, replication, rules

__all__ = ["Claim", "ClaimPart", "Replication", "Verdict", "_SideFigures", "number"]
Cause = Literal["looked at", "not looked at", ""]
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
DECIDED: frozenset[Verdict] = HOLDS | {"contradicted"}


@dataclass(frozen=True)
class _FoundLevel:
    """The latency that one ball in ``one_in`` exceeds in a side's median boot: ns."""

    one_in: int
    level: float | None  # None: unanswered balls


@dataclass(frozen=True)
class _SideFigures:
    """The figures of one side of a comparison under one load; ns. None: an unanswered ball."""

    words: str  # the side in a few words
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
    levels: tuple[_FoundLevel, ...]
    mechanism: Mechanism | None  # of its latest ball, if `tennis replicate --explain` found it
    largest: float | None  # of all balls
    exceedance_bound_95: float | None  # of the largest of all balls: 3/N; None: there were misses


@dataclass(frozen=True)
class ClaimPart:
    """One comparison and its verdict; ``estimate`` is a ratio, or a distance in decades."""

    says: str
    verdict: Verdict
    rule: str = ""  # what the estimate must be, in words
    remark: str = ""  # another reason of the verdict, or why there is none
    next: str = ""  # what to play to decide it
    command: str = ""  # that plays it
    missing: tuple[str, ...] = ()  # sides that were not played
    published: float | None = None  # the same of the thesis' tables, of the latest balls
    above: float | None = None
    below: float | None = None
    judged_one_in: int | None = None
    estimate: float | None = None  # at the level that is judged
    interval: tuple[float | None, float | None] | None = None  # None at an end: unbounded
    levels: tuple[Level, ...] = ()
    largest: float | None = None  # the same ratio of the largest of all balls
    largest_position: Position | None = None  # its place; "both": within a ranking's margin
    # whether the cause of the side that must be late was found; empty: no side must
    cause: Cause = ""
    sides: tuple[_SideFigures, ...] = ()
    quantity: str = ""  # the published quantity: "the thesis' maximum of 10,000,000 balls"
    judged: str = ""  # the judged quantity: "1 in 1,000 and rarer, of all balls"

    @property
    def addressed(self) -> bool:
        """Tell whether anything was compared, or could have been with the rallies played."""
        return self.verdict not in SILENT

    @property
    def why(self) -> str:
        """Give the verdict's reasons in words."""
        if self.interval is None or not self.bounded:
            return self.remark
        both = "the interval holds both: " if self.verdict == "inconclusive" else ""
        low, high = self.interval
        ends = f"{number(low)} to {number(high)}" if _are_numbers(low, high) else self.ratio
        found = f"{'' if self.remark else both}{ends}, and it {self.rule}"
        return "; ".join(filter(None, (self.latest_words, found, self.remark)))

    @property
    def ratio(self) -> str:
        """Write the ratio: "1.67 (1.3 to 4)"; empty: nothing was compared."""
        if self.estimate is None or self.interval is None:
            return ""
        return ratio_words(self.estimate, self.interval, write=number, why=self._why_no_number)

    @property
    def _why_no_number(self) -> str:
        """Say why the ratio is infinite, or 0; empty: it is not, or several loads take part."""
        if _are_numbers(self.estimate) and self.estimate:
            return ""
        if len(self.sides) != 2:
            return ""
        of, to = self.sides
        for side in self.sides:
            levels = {found.one_in: found.level for found in side.levels}
            if levels.get(self.judged_one_in or 0) == math.inf:
                return f"{self.by} of {side.words} had no answer"
        if not (of.misses or to.misses):
            return f"it is 0 with {(of if self.estimate == 0 else to).words}"
        return ""

    @property
    def by(self) -> str:
        """Name what the verdict is judged by, in short: "1 in 1,000"; empty: nothing was."""
        judged = next((one for one in self.levels if one.one_in == self.judged_one_in), None)
        if judged is None:
            return ""
        return level_words(judged.one_in)

    @property
    def latest_differ(self) -> bool:
        """Tell whether the latest balls, which were published, contradict the verdict."""
        if self.largest_position is None or self.verdict not in DECIDED:
            return False
        return self.largest_position != ("inside" if self.verdict in HOLDS else "outside")

    @property
    def latest_words(self) -> str:
        """Say what the latest balls show if they contradict the verdict; else empty."""
        if not self.latest_differ:
            return ""
        holds = "does not hold" if self.verdict in HOLDS else "is not contradicted"
        there = "" if self.published is None else f", {number(self.published)} there"
        here = f"{number(self.largest)} times here{there}"
        return f"by the latest balls, which are what was published, it {holds}: {here}"

    @property
    def sentence(self) -> str:
        """Say the verdict with what it is judged by, and what nobody looked at."""
        return _verdict_sentence(self.verdict, [self])

    @property
    def quantities(self) -> str:
        """Name the judged and the published quantity, and the result of the latest balls here."""
        value = "" if self.published is None else f" {number(self.published)}"
        words = f"judged by {self.judged}; published{value}: {self.quantity}"
        if self.largest is not None:
            words += f"; the latest balls here: {number(self.largest)}"
        return words + ("; cause not looked at" if self.cause == "not looked at" else "")

    @property
    def mechanisms(self) -> list[str]:
        """Name the cause of each side's latest ball, if it was explained."""
        lines = []
        for side in self.sides:
            if side.mechanism is None:
                continue
            top_half = f" {side.top_half}" if side.top_half in THREADED else ""
            words = f"{side.kernel} {side.priorities}{top_half}, {side.load}"
            sentence = plain(side.mechanism.sentence, 1000).removesuffix(".")
            lines.append(f"{words.replace(' default', '')}, the latest: {sentence}")
        return lines

    @property
    def bounded(self) -> bool:
        """Tell whether there is an interval: one boot has none."""
        return self.interval is not None and not any(
            end is not None and math.isnan(end) for end in self.interval
        )

    @property
    def n(self) -> int:
        """Return the balls of the smallest side; 0: nothing was compared."""
        return min((side.n for side in self.sides), default=0)

    @property
    def boots(self) -> int:
        """Return the boots of the smallest side; 0: nothing was compared."""
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
        """Tell whether the match decides about it."""
        return self.verdict not in SILENT

    @property
    def n(self) -> int:
        """Return the balls of the smallest side that was compared; 0: nothing was."""
        return min((part.n for part in self.parts if part.n), default=0)

    @property
    def boots(self) -> int:
        """Return the boots of the smallest side that was compared; 0: nothing was."""
        return min((part.boots for part in self.parts if part.n), default=0)

    @property
    def beside_verdict(self) -> str:
        """Return the verdict's details: "by 1 in 1,000; cause not looked at"."""
        return self.sentence.removeprefix(self.verdict).lstrip(",; ")

    @property
    def decisive(self) -> tuple[ClaimPart, ...]:
        """Return the parts that decide the verdict."""
        if self.verdict in HOLDS:
            return self.parts
        return tuple(part for part in self.parts if part.verdict == self.verdict)

    @property
    def sentence(self) -> str:
        """Say the verdict with what it is judged by, and what nobody looked at."""
        return _verdict_sentence(self.verdict, self.decisive)

    @property
    def cause(self) -> Cause:
        """Tell whether the sides' causes were found; empty: no cause to find."""
        return _cause(self.verdict, self.decisive)

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
                part.update(n=made.n, boots=made.boots, why=made.why, said=made.sentence)
        more = {"said": self.sentence, "cause": self.cause, "n": self.n, "boots": self.boots}
        return {**content, **more}


class Replication:
    """A match compared with the thesis."""

    def __init__(self, match: MatchFolder) -> None:
        self.match = match
        self._rules = replication()
        self._cells: dict[str, Boots] = {}
        self._compared_samples: dict[str, Sample] = {}
        self._mechanisms = Mechanisms.read(match.path).cells
        self._latest: dict[str, tuple[str, int]] = {}  # the latest ball of a side: rally, number

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

    @property
    def conclusions(self) -> list[Claim]:
        """Return the conclusions of the thesis' chapter 8 that are about kernels."""
        return [claim for claim in self.claims if claim.kind == "conclusion" and claim.parts]

    @property
    def counts(self) -> dict[Verdict, int]:
        """Count the verdicts, in the order in which they are listed."""
        verdicts: list[Verdict] = [claim.verdict for claim in self.claims]
        return {verdict: verdicts.count(verdict) for verdict in get_args(Verdict)}

    @property
    def unlooked(self) -> int:
        """Count the confirmed statements whose cause nobody looked at."""
        return sum(claim.cause == "not looked at" for claim in self.claims)

    @property
    def strangers(self) -> str:
        """Say why the thesis is not about a match; empty: it is."""
        if any(claim.addressed for claim in self.claims):
            return ""
        plans = [entry.plan for entry in self.match.scheduled if not entry.plan.drill]
        kernels = sorted({entry.kernel for entry in self.match.scheduled})
        loads = sorted({plan.load for plan in plans})
        lines = sorted({plan.command_line for plan in plans} - {""})
        played = f"kernels {', '.join(map(plain, kernels))}; loads {', '.join(map(plain, loads))}"
        if lines:
            played += f"; command lines {', '.join(map(plain, lines))}"
        return (
            f"It played {plain(played, 300)}. The thesis compares mainline, rt and xenomai with "
            "each other, and idle with stress, network and xload, in a closed loop without words "
            "on the command line: plans/knutsson.toml."
        )

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
            "claims": [finite(claim.as_json()) for claim in self.claims],
            "not_played": [
                {"name": plain(entry.name), "why": plain(entry.why)}
                for entry in self.match.not_played
            ],
        }

    def _judge(self, rule: Rule) -> Claim:
        parts = tuple(map(self._part, rule.parts))
        every_hard = dict.fromkeys(self._rules.top_halves, "hard")
        hard = [part.with_top_halves(every_hard) for part in rule.parts]
        changed = [made for made, part in zip(hard, rule.parts, strict=True) if made != part]
        beside = tuple(map(self._part, changed))
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

    def _part(self, part: RulePart) -> ClaimPart:
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
                published=part.published,
                above=part.above,
                below=part.below,
                quantity=published_quantity(),
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
        return self._compared(part, found, every)

    def _compared(
        self, part: RulePart, samples: dict[str, list[Sample]], every: Sequence[Sample]
    ) -> ClaimPart:
        sides = {name: [self._cell(sample) for sample in side] for name, side in samples.items()}
        decision = decide(
            part, sides["of"], sides["to"], sides.get("than", []), self._rules.statistics
        )
        left_out = "; ".join(filter(None, (sample.left_out for sample in every)))
        judged = decision.judged
        then, command = "", ""
        if decision.open:
            then, command = self._advice(decision.boots_needed)
        verdict: Verdict = decision.verdict
        time = self._in_time(part, samples)
        given = ""
        if verdict in {"confirmed", "contradicted"} and time.condition:
            given = f"{time.condition}: {time.words}"
            if time.undecided:
                verdict, given = "inconclusive", "; ".join([time.words, *time.drifts])
        cause = self._other_cause(part, samples["of"], every) if verdict == "confirmed" else ""
        if cause:
            verdict, cause = "another cause", f"the same order, by another cause: {cause}"
        late = part.above is not None and verdict == "confirmed"
        looked = all(self._mechanism(sample) for sample in samples["of"])
        remarks = (given, cause, decision.remark, left_out and f"without {left_out}")
        return ClaimPart(
            part.says,
            verdict,
            decision.rule,
            "; ".join(filter(None, remarks)),
            then,
            command,
            published=part.published,
            above=part.above,
            below=0.0 if part.than else part.below,
            judged_one_in=judged.one_in if judged else None,
            estimate=judged.estimate if judged else None,
            interval=judged.interval if judged else None,
            levels=decision.levels,
            largest=decision.largest,
            largest_position=self._position(part, decision.largest),
            cause=("looked at" if looked else "not looked at") if late else "",
            sides=tuple(self._side_figures(sample) for sample in every),
            quantity=published_quantity(),
            judged=judged.words if judged else "",
        )

    def _in_time(self, part: RulePart, samples: dict[str, list[Sample]]) -> InTime:
        """Say in which order the sides' boots were played; it is asked of boards only."""
        if self.match.bench in TIMELESS:
            return InTime()
        sides = {
            name: {sample.words: [rally for _, rally in sample.rallies] for sample in samples_}
            for name, samples_ in samples.items()
        }
        others = {**sides["to"], **sides.get("than", {})}
        return in_time(sides["of"], others, [part.of.latency])

    def _other_cause(self, part: RulePart, of: Sequence[Sample], every: Sequence[Sample]) -> str:
        late = [
            (sample, self._cell(sample), known.sentence if known else "")
            for sample in of
            for known in [self._mechanism(sample)]
        ]
        return other_cause(part, late, every, self._rules.statistics.judged_one_in)

    def _mechanism(self, sample: Sample) -> Mechanism | None:
        """Return the mechanism of a side's latest ball; None: that ball was not explained."""
        known = self._mechanisms.get(sample.name)
        if known is None:
            return None
        if sample.name not in self._latest:
            rally, _, ball, _ = sample.latest()
            self._latest[sample.name] = (rally, ball)
        # boots that were added since may have a later one
        return known if (known.rally, known.ball) == self._latest[sample.name] else None

    def _position(self, part: RulePart, largest: float | None) -> Position | None:
        """Return the position of the latest balls' ratio, taken as an interval of one number."""
        if largest is None or math.isnan(largest):
            return None
        if part.ranks:
            most = 1 + self._rules.statistics.margin
            return "inside" if largest > most else "outside" if largest < 1 / most else "both"
        above = part.above is None or largest > part.above
        return "inside" if above and (part.below is None or largest < part.below) else "outside"

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
        """Say what to play to decide it, and with which command; empty if none helps."""
        if boots is None:
            return "no number of boots is likely to: what was measured is at the rule's edge", ""
        return f"play {boots} boots a cell", self.command_for(str(boots))

    def command_for(self, boots: str) -> str:
        """Return the command that continues the match until each cell has ``boots`` boots."""
        plan = shlex.quote(plain(self.match.record.plan_file or "PLAN", 200))
        out = shlex.quote(plain(str(self.match.path), 200))
        return f"tennis match {plan} --boots {boots} --out {out}"

    def _side_figures(self, sample: Sample) -> _SideFigures:
        cell, statistics = self._cell(sample), self._rules.statistics
        levels = [
            _FoundLevel(one_in, cell.median_boot(one_in))
            for one_in in statistics.one_in
            if cell.has(one_in)
        ]
        return _SideFigures(
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
            mechanism=self._mechanism(sample),
            largest=max(cell.latest()),
            exceedance_bound_95=None if sample.misses else 3 / sample.balls,
        )

    def disagreements(self, theirs: "Replication") -> "tuple[int, list[_Disagreement]]":
        """Return how many statements both matches address, and those on which they differ.

        One that only one of them can decide is listed, too: it depends on the match.
        """
        addressed, found = 0, []
        for claim in self.claims:
            other = theirs.claim(claim.source, claim.id)
            if not (claim.addressed and other.addressed):
                continue
            addressed += 1
            if claim.verdict != other.verdict:
                either = {claim.verdict, other.verdict}
                opposite = "contradicted" in either and bool(either & HOLDS)
                found.append(_Disagreement(claim, other, opposite))
        return addressed, sorted(found, key=lambda one: not one.opposite)


@dataclass(frozen=True)
class _Disagreement:
    """A statement on which two matches give different verdicts."""

    claim: Claim
    other: Claim
    opposite: bool  # one confirms it, the other contradicts it


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


def _are_numbers(*values: float | None) -> bool:
    return all(value is not None and math.isfinite(value) for value in values)


def _verdict_sentence(verdict: Verdict, parts: Sequence[ClaimPart]) -> str:
    """Say a verdict with what it is judged by: "confirmed by 1 in 1,000; cause not looked at"."""
    by = " and ".join(dict.fromkeys(part.by for part in parts if part.by))
    if verdict not in DECIDED or not by:
        return verdict
    words = f"{verdict}{', judged' if verdict == 'another cause' else ''} by {by}"
    if any(part.latest_differ for part in parts):
        words += ", not by the latest balls"
    return words + ("; cause not looked at" if _cause(verdict, parts) == "not looked at" else "")


def _cause(verdict: Verdict, parts: Sequence[ClaimPart]) -> Cause:
    causes = {part.cause for part in parts if part.cause}
    if verdict != "confirmed" or not causes:
        return ""
    return "not looked at" if "not looked at" in causes else "looked at"
