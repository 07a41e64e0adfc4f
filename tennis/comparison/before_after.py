# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What became later, or earlier, from one side to the other: at each level that both have.

That something is later is wrong in at most ``ERROR`` of comparisons: each statement has its share
of it (C. E. Bonferroni). That nothing is later is said only if each statement says so, so each may
have all of it (R. L. Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling",
Technometrics 24, 1982). Each look has its share, where boots are added until it is decided: the
first look has a half, the next a quarter, however many follow (K. K. G. Lan, D. L. DeMets,
"Discrete Sequential Boundaries for Clinical Trials", Biometrika 70, 1983, spend it so, too).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, isnan, log, nan
from typing import Literal

from tennis.comparison import loops
from tennis.comparison.boots import Boot
from tennis.comparison.findings import Finding, QuantityRatio, between, compare, what_words
from tennis.comparison.kinds import ShareBeyond, between_kinds_at
from tennis.comparison.levels import balls_for
from tennis.comparison.order import InTime
from tennis.comparison.rare import HINT, Boots, Seen, compare_counts, latest_balls, unseen
from tennis.comparison.ratios import MARGIN, Ratio, boots_needed
from tennis.comparison.sides import Side, paired
from tennis.units import format_round_ns

ERROR = 0.05  # of comparisons: something is called later although nothing is
MEDIAN = 2  # one ball in so many exceeds it
# of one ball in so many: below the median, a tenth and a quarter of all balls are sooner
LEVELS = (10 / 9, 4 / 3, MEDIAN, 4, 10, 100, 1000, 10_000, 100_000, 1_000_000)
OF_BOOTS = 2  # statements about boots of each pair of sides: their latest balls, their misses

Change = Literal["later", "earlier", "equal", "not later", "undecided"]
Verdict = Literal["worse", "no worse", "undecided"]
EXIT_CODES: dict[Verdict, int] = {"no worse": 0, "worse": 1, "undecided": 3}


@dataclass(frozen=True)
class Pair:
    """Two sides of one kind: of one cell, for one latency."""

    cell: str  # what both have in common; empty: there is one kind only
    latency: str
    before: Side
    after: Side
    drift: loops.Drift | None = None  # in place of levels: each boot of a side has one value

    @property
    def levels(self) -> list[float]:
        """Return the levels that both sides have; of jitter no sooner ones than the median.

        A period that is off by nearly nothing is not better than one that is off by twice that.
        """
        if self.drift is not None:
            return []
        least = MEDIAN if self.latency == loops.JITTER else 0
        both = (one_in for one_in in LEVELS if self.before.has(one_in) and self.after.has(one_in))
        return [one_in for one_in in both if one_in >= least]


@dataclass(frozen=True)
class Statement:
    """What became of one level of one latency: a finding about after, over before."""

    cell: str
    latency: str
    finding: Finding
    margin: float
    most: float = inf  # after over before is no more than this, of this statement alone
    half: float = inf  # from the estimate to there, as a logarithm

    @property
    def one_in(self) -> float:
        """Return the level: what one ball in so many exceeds."""
        return self.finding.one_in

    @property
    def decisive(self) -> QuantityRatio:
        """Return what decides: the levels, or shares or times of late balls."""
        return self.finding.decisive(self.margin)[0]

    @property
    def quantity(self) -> str:
        """Name what decides: "median", "1 in 1,000", "share of balls later than 120 us"."""
        return self._said(what_words(self.decisive.what))

    @property
    def before(self) -> str:
        """Return the median boot's value before, with its unit."""
        return self._said(self.decisive.format(self.decisive.to))

    @property
    def after(self) -> str:
        """Return the median boot's value after, with its unit."""
        return self._said(self.decisive.format(self.decisive.of))

    @property
    def is_of_a_loop(self) -> bool:
        """Tell whether it is about a control loop's periods, and not about balls."""
        return self.latency in {loops.JITTER, loops.DRIFT}

    def _said(self, text: str) -> str:
        return loops.words(text) if self.is_of_a_loop else text

    @property
    def ratio(self) -> Ratio:
        """Return after over before of what decides."""
        return self.decisive.ratio

    @property
    def change(self) -> Change:
        """Say what the intervals show."""
        relation = self.finding.decisive(self.margin)[1]
        if relation == "undecided":
            return "not later" if self.most <= 1 + self.margin else "undecided"
        changes: dict[str, Change] = {"greater": "later", "less": "earlier", "equivalent": "equal"}
        return changes[relation]

    @property
    def boots_needed(self) -> float:
        """Return how many times as many boots decide it if nothing changed; infinite: unknown.

        Intervals shrink with the square root of the boots.
        """
        if self.change != "undecided":
            return 1.0
        return max(1.0, (self.half / log(1 + self.margin)) ** 2)


@dataclass(frozen=True)
class Suspects:
    """How many boots of a kind are suspect, and so not compared, of how many that were played."""

    cell: str
    before: int
    after: int
    of_before: int
    of_after: int


@dataclass(frozen=True)
class Judgement:
    """All statements about two sides, and the verdict: later anywhere is worse."""

    statements: Sequence[Statement]
    margin: float
    boots_needed: int  # of each side, for an interval at all
    paired: bool
    boots: Sequence[Boots] = ()  # of what happened in some boots only
    unseen: tuple[int, float] | None = None  # one in so many balls, and boots: rarer was not judged
    time: InTime = field(default_factory=InTime)

    @property
    def verdict(self) -> Verdict:
        """Return worse, no worse, or undecided."""
        if self.time.undecided:
            return "undecided"
        changes = {statement.change for statement in self.statements}
        happened = {one.change for one in self.boots}
        if "later" in changes or "more" in happened:
            return "worse"
        decided = changes and "undecided" not in changes | happened
        return "no worse" if decided else "undecided"

    @property
    def is_of_loops(self) -> bool:
        """Tell whether all of it is about control loops."""
        return bool(self.statements) and all(one.is_of_a_loop for one in self.statements)

    @property
    def more_of_some(self) -> list[Boots]:
        """Return of what more boots have some, if no level of theirs shows that they are later."""
        later = {(one.cell, one.latency) for one in self.statements if one.change == "later"}
        return [
            one
            for one in self.boots
            if one.change == "more" and (one.cell, one.latency) not in later
        ]

    @property
    def more_boots(self) -> float:
        """Return how many times as many boots decide if nothing changed; infinite: unknown."""
        return max((one.boots_needed for one in self.statements), default=inf)

    @property
    def rarest(self) -> float:
        """Return the rarest level that was compared, of one ball in so many."""
        return max(one.one_in for one in self.statements)


def judge(
    pairs: Sequence[Pair],
    *,
    margin: float = MARGIN,
    look: int | None = None,
    suspects: Sequence[Suspects] = (),
    time: InTime | None = None,
) -> Judgement:
    """Judge two sides at all levels that they have, and by what happened in some boots only.

    ``look``: which look it is, from 1, where boots are added between looks and it ends when it is
    decided; None: these boots are all there will be. ``time``: when they were played.
    """
    kinds = {
        (number, one_in): threshold
        for number, pair in enumerate(pairs)
        for one_in, threshold in between_kinds_at(
            pair.after.boots, pair.before.boots, pair.levels
        ).items()
    }
    # where two kinds of balls mix, their shares and each kind's own times are statements
    count = sum(1 if threshold is None else 3 for threshold in kinds.values())
    count += OF_BOOTS * len(pairs) + len({pair.cell for pair in pairs})  # its suspect boots
    count += sum(pair.drift is not None for pair in pairs)
    both = all(paired(pair.after, pair.before) for pair in pairs)
    tail = tail_of(count, look, paired=both)
    alone = tail_of(1, look, paired=both)
    statements = []
    for (number, one_in), threshold in kinds.items():
        pair = pairs[number]
        found, most = (
            between(pair.after, pair.before, one_in, threshold, one) for one in (tail, alone)
        )
        statements.append(_statement(pair, found, most, margin))
    for pair in pairs:
        if pair.drift is not None:
            found, most = (
                Finding(MEDIAN, compare(pair.after, pair.before, pair.drift, one))
                for one in (tail, alone)
            )
            statements.append(_statement(pair, found, most, margin))
    happened = [
        one for pair in pairs if pair.drift is None for one in _in_some_boots(pair, margin, tail)
    ]
    happened += [_suspect(one, tail) for one in suspects]
    sides = [side for pair in pairs if not pair.drift for side in (pair.before, pair.after)]
    met = unseen(min(s.balls for s in sides), min(len(s.boots) for s in sides)) if sides else None
    return Judgement(
        statements,
        margin,
        boots_needed(paired=both, tail=tail),
        both,
        happened,
        met,
        time or InTime(),
    )


def _statement(pair: Pair, found: Finding, most: Finding, margin: float) -> Statement:
    """Return what is said of two sides; ``most``: the same finding as if it were the only one."""
    alone_ratios = [one.ratio for one in (most.judged, *most.beside)]
    ends = [(_number(one.high), _number(one.high / (one.estimate or nan))) for one in alone_ratios]
    return Statement(
        pair.cell,
        pair.latency,
        found,
        margin,
        max(high for high, _ in ends),
        log(max(1.0, *(half for _, half in ends))),
    )


def _number(ratio: float) -> float:
    return inf if isnan(ratio) else ratio


def _in_some_boots(pair: Pair, margin: float, tail: float) -> Iterator[Boots]:
    """Yield what happened in some boots of two sides only."""
    before, after = pair.before.boots, pair.after.boots
    boots = (len(before), len(after))
    if not all(boots):
        return
    found = latest_balls(before, after, margin=margin, tail=tail)
    if found is not None:
        beyond, counts, said = found
        what = _of(pair, f"with an answer later than {format_round_ns(beyond)}")
        yield Boots(pair.cell, pair.latency, what, *counts, *boots, said, beyond)
    lost = (sum(boot.lost > 0 for boot in before), sum(boot.lost > 0 for boot in after))
    if any(lost):
        said = _misses(pair, lost, margin, tail / 2)
        what = _of(pair, "with a missed ball")
        yield Boots(pair.cell, pair.latency, what, *lost, *boots, said, inf)


def _of(pair: Pair, text: str) -> str:
    return loops.words(text) if pair.latency == loops.JITTER else text


def _misses(pair: Pair, lost: tuple[int, int], margin: float, tail: float) -> Seen:
    """Say whether more balls were missed: in more boots, or in as many boots more of them."""
    boots = len(pair.before.boots), len(pair.after.boots)
    said = compare_counts(lost[0], boots[0], lost[1], boots[1], tail=tail, few=0)
    sure, hint = (
        compare(pair.after, pair.before, ShareBeyond(inf), one).ratio.relation(margin)
        for one in (tail, HINT)
    )
    if said == "more" or sure == "greater":
        return "more"
    if said == "undecided" or hint == "greater":
        return "undecided"
    return "fewer" if sure == "less" else said


def _suspect(one: Suspects, tail: float) -> Boots:
    counts = (one.before, one.of_before, one.after, one.of_after)
    said = compare_counts(*counts, tail=tail, few=0)
    return Boots(
        one.cell, "", "that are suspect", one.before, one.after, one.of_before, one.of_after, said
    )


def tail_of(statements: int, look: int | None, *, paired: bool) -> float:
    """Return what may lie beyond each end of each interval."""
    spent = ERROR / max(1, statements) * (1.0 if look is None else 0.5**look)
    return spent if paired else spent / 2  # ranks of sides of two forms may err twice as often


def first_look(statements: int) -> int:
    """Return how many pairs of boots have an interval at the first look."""
    return boots_needed(paired=True, tail=tail_of(statements, 1, paired=True))


def level_count(balls: int) -> int:
    """Return how many levels boots of so many balls have."""
    return sum(balls >= balls_for(one_in) for one_in in LEVELS)


def statement_count(kinds: int, latencies: int, balls: int) -> int:
    """Return how many statements so many kinds of boots of so many balls have, at least."""
    return kinds * (latencies * (level_count(balls) + OF_BOOTS) + 1)


def with_partners(before: Side, after: Side) -> tuple[Side, Side]:
    """Return the boots that have a partner of their seed, if most of both sides have one.

    Otherwise both sides as they are. Which boots these are does not depend on what they show.
    """
    common = set(before.seeds) & set(after.seeds)
    most = max(len(before.boots), len(after.boots))
    if 2 * len(common) <= most or any(
        len(set(side.seeds)) < len(side.boots) for side in (before, after)
    ):
        return before, after
    one, other = (
        [(boot, seed) for boot, seed in zip(side.boots, side.seeds, strict=True) if seed in common]
        for side in (before, after)
    )
    return _side(one), _side(other)


def _side(boots: Sequence[tuple[Boot, int]]) -> Side:
    return Side([boot for boot, _ in boots], [seed for _, seed in boots])
