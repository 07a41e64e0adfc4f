# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Hold a match against what was published: a verdict for each statement, with its numbers.

The rules are those of ``tennis/replicate/rules.toml``; docs/match.md explains them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tennis.match.folder import MatchFolder
from tennis.match.plan import ScheduledRally
from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.replicate.rules import Rule, RulePart, Side, replication, rules
from tennis.stats import blocks
from tennis.stats.blocks import Median, Values
from tennis.units import format_count

Verdict = Literal["confirmed", "contradicted", "inconclusive", "not addressed"]
STATISTICS = {
    "worst": blocks.worst,
    "quartile distance": blocks.quartile_distance,
    "concentration": blocks.concentration,
}
# how often a block may be made twice as long, where neighbours are alike
# what must be the same in all rallies of a comparison, and in all of one kernel
BENCH_PARTS = {
    "qemu": "QEMU",
    "bench_sha256": "the virtual bench",
    "instrument_sha256": "the instrument",
    "firmware_sha256": "the Brickwall's firmware",
    "micropython": "MicroPython",
    "tick_hz": "the Brickwall's clock",
}
KERNEL_PARTS = {
    "kernel_image_sha256": "the kernel",
    "kernel_config_sha256": "the kernel",
    "racquet_sha256": "the Racquet",
    "target_release": "the kernel",
    "target_config_sha256": "the kernel",
    "target_module_sha256": "the Racquet",
}
DOUBLINGS = 1


@dataclass(frozen=True)
class Found:
    """What was found on one side of a comparison; ns, or a share. None: an unanswered ball."""

    kernel: str
    priorities: str
    load: str
    latency: str
    rallies: tuple[str, ...]  # names of folders
    n: int  # balls
    misses: int
    blocks: int
    median: float | None  # of the blocks
    interval: tuple[float | None, float | None]
    largest: float | None  # of all balls in the blocks that are compared
    exceedance_bound_95: float | None  # of the largest of all balls: 3/N; None: there were misses


@dataclass(frozen=True)
class Comparison:
    """One comparison and its verdict; ``estimate`` is a ratio of medians, or a share."""

    says: str
    verdict: Verdict
    why: str  # in words
    next: str = ""  # what to play to decide it
    measure: str = "worst"
    above: float | None = None
    below: float | None = None
    block_balls: int | None = None
    estimate: float | None = None
    interval: tuple[float | None, float | None] | None = None  # None at an end: unbounded
    largest: float | None = None  # the same ratio of the largest of all balls
    of_is_larger: float | None = None  # the share of pairs of blocks; effect size
    sides: tuple[Found, ...] = ()

    @property
    def n(self) -> int:
        """Return the balls of the smallest side; 0 where nothing was compared."""
        return min((side.n for side in self.sides), default=0)


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
    parts: tuple[Comparison, ...] = ()

    @property
    def n(self) -> int:
        """Return the balls of the smallest side that was compared; 0 where nothing was."""
        return min((part.n for part in self.parts if part.n), default=0)

    def as_json(self) -> dict[str, Any]:
        """Return what ``tennis replicate --json`` prints of it."""
        content = asdict(self)
        parts = content.pop("parts")
        for part, made in zip(parts, self.parts, strict=True):
            part["n"] = made.n
        return {**content, "n": self.n, "parts": parts}


@dataclass
class _Sample:
    """A side's rallies under one load."""

    side: Side
    load: str
    rallies: list[tuple[str, Rally]] = field(default_factory=list)
    missing: str = ""  # why there is no such rally
    foreign: bool = False  # there is one, and its load is not what the rule is about
    unusable: str = ""  # why there are such rallies, and none speaks
    left_out: str = ""  # which of them do not speak, where others do

    @property
    def words(self) -> str:
        return self.side.model_copy(update={"loads": (self.load,)}).words

    @property
    def balls(self) -> int:
        return sum(rally.balls for _, rally in self.rallies)


@dataclass
class _Cut:
    """A sample cut into blocks."""

    sample: _Sample
    values: Values
    median: Median
    largest: Values  # of each block


class Replication:
    """A match held against the publications."""

    def __init__(self, match: MatchFolder) -> None:
        self.match = match
        self._rules = replication()
        self._cuts: dict[tuple[str, str, int, str], Values] = {}

    @cached_property
    def claims(self) -> list[Claim]:
        """Return every published statement with its verdict, in the order of the rules."""
        judged = [self._judge(rule) for rule in rules()]
        return judged + [
            Claim(entry.source, entry.id, "conclusion", entry.title, "", "not addressed", entry.why)
            for entry in self._rules.unaddressed
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
            "schema_version": 1,
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
        parts = tuple(self._part(part) for part in rule.parts)
        verdicts = [part.verdict for part in parts]
        verdict: Verdict = "inconclusive"
        if "contradicted" in verdicts:
            verdict = "contradicted"
        elif set(verdicts) == {"confirmed"}:
            verdict = "confirmed"
        elif set(verdicts) == {"not addressed"}:
            verdict = "not addressed"
        decisive = [part for part in parts if part.verdict == verdict] or list(parts)
        why = "; ".join(dict.fromkeys(part.why for part in decisive))
        return Claim(
            rule.source, rule.id, rule.kind, rule.title, rule.published, verdict, why, parts
        )

    def _part(self, part: RulePart) -> Comparison:
        samples = [self._sample(side, load) for side in part.sides for load in side.loads]

        def undecided(verdict: Verdict, why: str, then: str = "") -> Comparison:
            return Comparison(
                part.says, verdict, why, then, part.measure, above=part.above, below=part.below
            )

        missing = [sample for sample in samples if sample.missing]
        for side in part.sides:
            gone = [sample for sample in missing if sample.side is side]
            if len(gone) == len(side.loads):
                return undecided("not addressed", _not_played(gone))
        if missing:
            loads = ", ".join(dict.fromkeys(sample.load for sample in missing))
            then = f"play the load {loads} too"
            return undecided("inconclusive", _not_played(missing), then)
        unusable = [sample for sample in samples if sample.unusable]
        if unusable:
            reasons = "; ".join(f"{sample.words}: {sample.unusable}" for sample in unusable)
            wanted = self._rules.statistics.balls_min
            then = f"play these rallies anew, with at least {wanted} balls"
            return undecided("inconclusive", reasons, then)
        mixed = _mixed([rally for sample in samples for _, rally in sample.rallies])
        if mixed:
            return undecided("inconclusive", mixed, "play these rallies anew with one build of all")
        return self._compared(part, samples)

    def _sample(self, side: Side, load: str) -> _Sample:
        """Find the rallies of a side under a load, and say which of them may speak."""
        sample = _Sample(side, load)
        wanted = {
            "kernel": side.kernel,
            "priorities": side.priorities,
            "load": load,
            "bottom_half": self._rules.bottom_halves[side.kernel],
        }
        scheduled = [entry for entry in self.match.scheduled if entry.is_one(**wanted)]
        if not scheduled:
            left = [entry.why for entry in self.match.not_played if entry.is_one(**wanted)]
            sample.missing = plain(left[0]) if left else "not in the plan"
            return sample
        doubts, foreign = [], []
        tasks = self._rules.core_tasks.get(side.kernel, {}).get(load)
        for planned in scheduled:
            rally = self.match.rally(planned.name)
            if rally is not None and tasks and rally.manifest.load.tasks not in tasks:
                foreign.append(
                    f"{planned.name} had {_tasks(rally.manifest.load.tasks)}, which do not load "
                    f"{side.kernel}'s core: build {load} for it (docs/loads.md) and play it anew"
                )
                continue
            doubt = self._doubt(planned, rally)
            if rally is not None and not doubt:
                sample.rallies.append((planned.name, rally))
            else:
                doubts.append(f"{planned.name} {doubt}")
        if foreign and not sample.rallies and not doubts:
            sample.missing, sample.foreign = "; ".join(foreign), True
        elif not sample.rallies:
            sample.unusable = "; ".join(doubts)
        sample.left_out = "; ".join(doubts + foreign)
        return sample

    def _doubt(self, planned: ScheduledRally, rally: Rally | None) -> str:
        """Say why a rally may not speak; empty where it may."""
        if rally is None:
            return self.match.trouble(planned.name)
        if rally.manifest.suspect:
            faults = rally.manifest.faults
            return "is suspect" + (f" ({plain(faults[0].message, 120)})" if faults else "")
        if rally.balls < self._rules.statistics.balls_min:
            return f"has {format_count(rally.balls, 'ball')}: too few"
        return ""

    def _compared(self, part: RulePart, samples: list[_Sample]) -> Comparison:
        rules_ = self._rules.statistics
        shortest = min(rally.balls for sample in samples for _, rally in sample.rallies)
        usual = blocks.size_for(shortest, rules_.blocks_min, rules_.block_root)
        confidence = 1 - (1 - Fraction(str(rules_.confidence))) / len(samples)
        cuts: list[_Cut] = []
        why = then = ""
        for doubling in range(DOUBLINGS + 1):
            size = usual << doubling
            comparison = self._cut(part, samples, size, confidence)
            if comparison is None:
                why = f"too few blocks of {size} balls for an interval"
                then = f"play {_balls(2 * shortest)} a rally, or repetitions"
                break
            cuts, dependent = comparison
            if not dependent:
                return _verdict(part, cuts, size, shortest)
            why = (
                f"neighbouring blocks of {size} balls are alike "
                f"({', '.join(dict.fromkeys(dependent))}): "
                "disturbances last too long for that many balls"
            )
            then = f"play {_balls(4 * shortest)} a rally"
        return Comparison(
            part.says,
            "inconclusive",
            why,
            then,
            part.measure,
            above=part.above,
            below=part.below,
            block_balls=size,
            sides=_sides(cuts),
        )

    def _cut(
        self, part: RulePart, samples: list[_Sample], size: int, confidence: Fraction
    ) -> tuple[list[_Cut], list[str]] | None:
        """Cut the samples into blocks; also name the rallies whose neighbouring blocks are alike.

        None where there are too few blocks.
        """
        cuts, dependent = [], []
        for sample in samples:
            latency = sample.side.latency
            each = [
                (name, self._blocks(name, rally, latency, size, part.measure))
                for name, rally in sample.rallies
            ]
            dependent += [name for name, values in each if blocks.alike(values)]
            values = np.concatenate([latencies for _, latencies in each])
            median = blocks.median(values, confidence)
            if median is None:
                return None
            largest = np.concatenate(
                [
                    self._blocks(name, rally, latency, size, "worst")
                    for name, rally in sample.rallies
                ]
            )
            cuts.append(_Cut(sample, values, median, largest))
        return cuts, dependent

    def _blocks(self, name: str, rally: Rally, latency: str, size: int, measure: str) -> Values:
        key = (name, latency, size, measure)
        if key not in self._cuts:
            values = blocks.series(rally, latency)
            self._cuts[key] = blocks.block_values(values, size, STATISTICS[measure])
        return self._cuts[key]


def _tasks(kind: str | None) -> str:
    return f"tasks of the kind {kind}" if kind else "tasks of a kind that its manifest does not say"


def _words(side: Side | None) -> str:
    return side.words if side else ""


def _mixed(rallies: Sequence[Rally]) -> str:
    """Say which part of the bench had two versions among rallies; empty where none had."""
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
    return ""


def _not_played(samples: Sequence[_Sample]) -> str:
    """Say what was not played, and why; the same reason once."""
    whys: dict[str, list[str]] = {}
    for sample in samples:
        whys.setdefault(sample.missing, []).append(sample.words)
    played = {sample.missing for sample in samples if sample.foreign}
    return "; ".join(
        why if why in played else f"not played ({why}): {'; '.join(reason)}"
        for why, reason in whys.items()
    )


def _verdict(part: RulePart, cuts: list[_Cut], size: int, shortest: int) -> Comparison:
    """Decide a comparison whose sides are all there."""
    of, to, than = (
        [cut for cut in cuts if side is not None and cut.sample.side is side]
        for side in (part.of, part.to, part.than)
    )
    above, below = part.above, part.below
    one, other, third = _worst(of), _worst(to), _worst(than)
    largest_of, largest_to, largest_than = (_largest(side, cuts) for side in (of, to, than))
    if than and not (other.low > third.high or other.high < third.low):
        return Comparison(
            part.says,
            "inconclusive",
            f"{_words(part.to)} and {_words(part.than)} cannot be told apart",
            f"play {_balls(4 * shortest)} a rally",
            part.measure,
            block_balls=size,
            sides=_sides(cuts),
        )
    if than:
        # nearer: on the same side of the geometric middle
        estimate = _ratio(one.value, math.sqrt(other.value * third.value))
        low = _ratio(one.low, math.sqrt(other.high * third.high))
        high = _ratio(one.high, math.sqrt(other.low * third.low))
        above, below = (1.0, None) if other.low > third.high else (None, 1.0)
        largest = _ratio(largest_of, math.sqrt(largest_to * largest_than))
        if (largest_to > largest_than) != (other.low > third.high):
            largest = math.nan
    elif to:
        estimate = _ratio(one.value, other.value)
        low, high = _ratio(one.low, other.high), _ratio(one.high, other.low)
        largest = _ratio(largest_of, largest_to)
    else:
        estimate, low, high = one.value, one.low, one.high
        largest = math.nan
    checked = largest if part.measure == "worst" and to else None
    verdict, why = _decide((low, high), checked, (above, below))
    then = f"play {_balls(4 * shortest)} a rally" if verdict == "inconclusive" else ""
    share = blocks.larger_share(of[0].values, to[0].values) if len(of) == len(to) == 1 else None
    left_out = "; ".join(filter(None, (cut.sample.left_out for cut in cuts)))
    return Comparison(
        part.says,
        verdict,
        why + (f"; without {left_out}" if left_out else ""),
        then,
        part.measure,
        above=above,
        below=below,
        block_balls=size,
        estimate=estimate,
        interval=(low, high),
        largest=checked,
        of_is_larger=share,
        sides=_sides(cuts),
    )


def _decide(
    interval: tuple[float, float],
    largest: float | None,
    bounds: tuple[float | None, float | None],
) -> tuple[Verdict, str]:
    """Hold an interval, and the ratio of the largest of all balls, against a rule."""
    low, high = interval
    above, below = bounds
    reason = f"{number(low)} to {number(high)}, the rule: {_bounds(*bounds)}"
    # what is not bounded (missed balls) is above every rule that has no upper end
    inside = (above is None or low > above) and (below is None or high < below)
    outside = (above is not None and high <= above) or (below is not None and low >= below)
    if math.isnan(low) or math.isnan(high):
        return "inconclusive", "too many balls were not answered to compare"
    if not inside and not outside:
        return "inconclusive", f"the interval holds both: {reason}"
    if largest is not None and math.isnan(largest):
        return "inconclusive", f"{reason}; but the largest of all balls rank otherwise"
    if largest is not None and inside != (
        (above is None or largest > above) and (below is None or largest < below)
    ):
        why = f"for the largest of all balls it is {number(largest)}: rare events decide"
        return "inconclusive", f"{reason}; but {why}"
    return ("confirmed" if inside else "contradicted"), reason


def _worst(cuts: Sequence[_Cut]) -> Median:
    """Return the worst of several loads: of medians, and of both ends of their intervals."""
    return (
        Median(*(max(ends) for ends in zip(*(cut.median for cut in cuts), strict=True)))
        if cuts
        else Median(math.nan, math.nan, math.nan)
    )


def _largest(side: Sequence[_Cut], every: Sequence[_Cut]) -> float:
    """Return the largest of all balls of a side, in as many blocks as the other sides have."""
    count = min(cut.largest.size for cut in every)
    return max((float(cut.largest[:count].max()) for cut in side), default=math.nan)


def _ratio(one: float, other: float) -> float:
    """Return one / other; infinite over zero, nothing (nan) where neither is a number."""
    if math.isnan(one) or math.isnan(other) or (math.isinf(one) and math.isinf(other)):
        return math.nan
    if other == 0:
        return math.nan if one == 0 else math.inf
    return one / other


def _sides(cuts: Sequence[_Cut]) -> tuple[Found, ...]:
    sides = []
    for cut in cuts:
        sample = cut.sample
        misses = sum(rally.misses for _, rally in sample.rallies)
        sides.append(
            Found(
                kernel=sample.side.kernel,
                priorities=sample.side.priorities,
                load=sample.load,
                latency=sample.side.latency,
                rallies=tuple(name for name, _ in sample.rallies),
                n=sample.balls,
                misses=misses,
                blocks=cut.values.size,
                median=cut.median.value,
                interval=(cut.median.low, cut.median.high),
                largest=float(cut.largest.max()),
                exceedance_bound_95=None if misses else 3 / sample.balls,
            )
        )
    return tuple(sides)


def _bounds(above: float | None, below: float | None) -> str:
    parts = []
    if above is not None:
        parts.append(f"above {number(above)}")
    if below is not None:
        parts.append(f"below {number(below)}")
    return " and ".join(parts)


def number(value: float | None) -> str:
    """Write a ratio or a share with three digits; what has no number is not bounded."""
    if value is None or not math.isfinite(value):
        return "unbounded"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _balls(count: int) -> str:
    """Write a count of balls to play, rounded up to a round one."""
    size = blocks.round_size(count)
    while size < count:
        size = blocks.round_size(5 * size // 2)  # 1, 2, 5, 10
    return f"{size:,} balls"


def _finite(number: Any) -> Any:
    """Return it with None for what is not finite: JSON has no word for that."""
    if isinstance(number, dict):
        return {key: _finite(value) for key, value in number.items()}
    if isinstance(number, (list, tuple)):
        return [_finite(value) for value in number]
    return None if isinstance(number, float) and not math.isfinite(number) else number
