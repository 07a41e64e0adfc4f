# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which code became later or earlier: balls of both sides, played again and looked at.

Of each statement that changed, balls near its level are explained in one boot of either side: in
the pair of boots that is most like the comparison's ratio.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tennis.comparison.before_after import MEDIAN, Statement
from tennis.comparison.kinds import ShareBeyond
from tennis.comparison.levels import level
from tennis.comparison.played import Cell
from tennis.comparison.rallies import Measured, boot_of
from tennis.comparison.words import by_how_much
from tennis.errors import BenchError, RallyError, UsageError
from tennis.explain.story import Story, shares
from tennis.listener import say
from tennis.pages.compare import CauseShown
from tennis.play.comparing import Compared
from tennis.play.explain import profile_balls
from tennis.play.rally import Stop, Watch
from tennis.play.replaying import NONE, balls_of, plan_again
from tennis.rally import Rally
from tennis.rally.plan import Plan
from tennis.rally.text import plain
from tennis.units import format_ns

BALLS = 15  # of a boot, for a statement
ROWS_MAX = 6
SHARE_MIN = 0.1  # of the difference: what is less is no cause


@dataclass(frozen=True)
class Cause:
    """What the processor was at: ns a ball, before and after, and the function of most of it."""

    words: str
    function: str
    before_ns: float
    after_ns: float


@dataclass(frozen=True)
class LevelCauses:
    """What came and what went, of one statement."""

    statement: Statement
    before: Rally
    after: Rally
    balls: tuple[int, int]  # that were looked at, of both boots
    came: Sequence[Cause]
    went: Sequence[Cause]


def find_causes(
    compared: Compared, plans: Mapping[str, Mapping[str, Plan]], stop: Stop
) -> tuple[list[LevelCauses], list[str]]:
    """Explain what changed; return also why some of it cannot be explained.

    ``plans``: of the sides that were played, by side and kind: their kernels and Racquets are
    trusted. Of recorded ones only rallies of named kernels are played again.
    """
    found: list[LevelCauses] = []
    unexplained: list[str] = []
    for before, after in compared.sides.cells:
        kind = before.name or after.name
        wanted = _changed(one for one in compared.judgement.statements if one.cell == kind)
        if not wanted:
            continue
        pair = _typical(before, after, wanted[0])
        try:
            stories = _replayed_stories(pair, kind, wanted, plans, stop)
        except (BenchError, RallyError, UsageError) as error:
            unexplained.append(f"{kind}: {error}" if kind else str(error))
            continue
        found += [
            _found(one, pair, [stories[side, one.latency, one.one_in] for side in (0, 1)])
            for one in wanted
        ]
    return found, unexplained


def _changed(statements: Iterable[Statement]) -> list[Statement]:
    """Return what to explain: of each latency the rarest level that changed, and the median."""
    of: dict[str, list[Statement]] = defaultdict(list)
    for one in statements:
        if one.change in {"later", "earlier"}:
            of[one.latency].append(one)
    wanted = [
        one
        for some in of.values()
        for one in {some[0].one_in: some[0], some[-1].one_in: some[-1]}.values()
    ]
    return sorted(wanted, key=lambda one: (one.change != "later", -_distance(one.ratio.estimate)))


def _distance(ratio: float) -> float:
    """Return how far a ratio is from 1, in either direction; infinite over or under zero."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def _typical(before: Cell, after: Cell, statement: Statement) -> tuple[Rally, Rally]:
    """Return two boots, of one seed if there are such, whose ratio is most like all pairs'."""
    latency: Measured = "interrupt" if statement.latency == "interrupt" else "scheduling"

    def by_seed(cell: Cell) -> dict[int, Rally]:
        return {rally.manifest.protocol.seed: rally for rally in cell.rallies}

    def value(rally: Rally) -> float:
        return level(boot_of(rally, latency), statement.one_in)

    ours, theirs = by_seed(before), by_seed(after)
    common = sorted(ours.keys() & theirs.keys())
    couples = [(ours[seed], theirs[seed]) for seed in common]
    if not couples:
        middle = [sorted(cell.rallies, key=value) for cell in (before, after)]
        return middle[0][len(middle[0]) // 2], middle[1][len(middle[1]) // 2]
    ratios = [value(other) / max(value(one), 1e-9) for one, other in couples]
    order = sorted(range(len(couples)), key=ratios.__getitem__)
    return couples[order[len(order) // 2]]


def _replayed_stories(
    pair: tuple[Rally, Rally],
    kind: str,
    wanted: Sequence[Statement],
    plans: Mapping[str, Mapping[str, Plan]],
    stop: Stop,
) -> dict[tuple[int, str, int], list[Story]]:
    """Play both boots again; return stories by side, latency and level."""
    say("playing a boot of either side again, to see which code it was")

    def side(number: int, name: str) -> dict[tuple[int, str, int], list[Story]]:
        rally = pair[number]
        plan = plans[name][kind] if name in plans else plan_again(rally)
        plan = plan.model_copy(update={"protocol": rally.manifest.protocol, "versions": {}})
        table = balls_of(rally)
        chosen = {(one.latency, one.one_in): _near(table, one) for one in wanted}
        stories: dict[tuple[int, str, int], list[Story]] = {}
        numbers = sorted({ball for balls in chosen.values() for ball in balls})
        seen = profile_balls(
            rally, plan, table, numbers, lambda story: story, watch=Watch(stop=stop)
        )
        by_ball = {story.ball: story for story in seen.found}
        for key, balls in chosen.items():
            stories[number, *key] = [by_ball[ball] for ball in balls]
        return stories

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(side, *one) for one in enumerate(("before", "after"))]
        return {**both[0].result(), **both[1].result()}


def _near(table: NDArray[np.int64], statement: Statement) -> list[int]:
    """Return balls whose latency is near a level: from half to twice as rare.

    Where shares are compared: balls that are later than the time, the latest if none is.
    """
    rise, fall = table[:, 1], table[:, 2]
    value = rise if statement.latency == "interrupt" else fall - rise
    value = np.where((rise == NONE) | (fall == NONE), np.iinfo(np.int64).max, value)
    order = np.argsort(-value, kind="stable")
    place, half = len(order) / statement.one_in, BALLS // 2
    first, last = int(place / 2), int(2 * place)
    if statement.one_in == MEDIAN:
        first, last = int(place) - half, int(place) + half
    elif isinstance(statement.decisive.what, ShareBeyond):
        first, last = 0, int((value > statement.decisive.what.threshold_ns).sum()) - 1
    first, last = max(first, 0), min(max(last, first + 4), len(order) - 1)
    ranks = np.unique(np.linspace(first, last, BALLS).astype(int))
    return sorted(int(order[rank]) for rank in ranks)


def _found(
    statement: Statement, pair: tuple[Rally, Rally], stories: Sequence[Sequence[Story]]
) -> LevelCauses:
    ns: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    most: dict[str, tuple[int, str]] = {}
    for number, some in enumerate(stories):
        for share in shares([_phase(story, statement.latency) for story in some]):
            words = str(share.what)
            ns[words][number] += share.ns / len(some)
            most[words] = max(most.get(words, (0, "")), (share.ns, share.blame.function))
    rows = [Cause(words, most[words][1], *both) for words, both in ns.items()]
    total = sum(abs(row.after_ns - row.before_ns) for row in rows)
    rows = [row for row in rows if abs(row.after_ns - row.before_ns) > SHARE_MIN * total]
    rows.sort(key=lambda row: -abs(row.after_ns - row.before_ns))
    return LevelCauses(
        statement,
        *pair,
        (len(stories[0]), len(stories[1])),
        [row for row in rows if row.after_ns > row.before_ns][:ROWS_MAX],
        [row for row in rows if row.after_ns < row.before_ns][:ROWS_MAX],
    )


def _phase(story: Story, latency: str) -> Story:
    """Return a story with the part that a latency is about."""
    parts = story.parts[:1] if latency == "interrupt" else story.parts[1:]
    return replace(story, parts=parts)


def sentence(cause: Cause) -> str:
    """Say how much more or less of a ball's wait went to one thing."""
    change = cause.after_ns - cause.before_ns
    more = "more" if change > 0 else "less"
    return (
        f"{format_ns(round(abs(change)))} {more} a ball in {cause.words}, most in "
        f"{cause.function} ({format_ns(round(cause.before_ns))} before, "
        f"{format_ns(round(cause.after_ns))} after)"
    )


def shown_cause(found: LevelCauses) -> CauseShown:
    """Return what a page says of one level."""
    lines = [f"Came: {sentence(cause)}." for cause in found.came]
    lines += [f"Went: {sentence(cause)}." for cause in found.went]
    replayed = (
        f"{found.balls[0]} balls near this level of {plain(found.before.path.name, 64)} before, "
        f"{found.balls[1]} of {plain(found.after.path.name, 64)} after, played again."
    )
    return CauseShown(found.statement.cell, by_how_much(found.statement), lines, replayed)
