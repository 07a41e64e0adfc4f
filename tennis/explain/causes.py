"""Find the code that became later or earlier: replay balls of both sides, and look at them.

For each statement that changed, balls near its level are explained in one boot of either side: the
pair of boots whose ratio is nearest to the comparison's. For late balls that most boots lack, these
balls are explained, in a boot that has them, beside usual ones.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tennis.compare.comparing import Compared
from tennis.compare.folders import Cell
from tennis.compare.judgement import MEDIAN, Row
from tennis.compare.page import CauseShown
from tennis.compare.rallies import Measured, boot_of
from tennis.compare.words import by_how_much
from tennis.explain.replayed import profile_balls, refuse_shots
from tennis.explain.stalls import Stall, cause_words
from tennis.explain.story import Story, shares
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.kit.log import log
from tennis.kit.units import format_count, format_ns
from tennis.play.rally import Stop, Watch
from tennis.play.repeat import NONE, balls_of, plan_again
from tennis.rally import Rally
from tennis.rally.plan import Plan
from tennis.rally.text import plain, quoted

BALLS = 15  # of a boot, for a statement
ROWS_MAX = 6
SHARE_MIN = 0.1  # of the difference: smaller parts are no cause
REPEATS = 0.75  # of all pairs of a ball before and a ball after show a cause: else it is chance
FEW = 5  # balls: beside fewer late ones, usual ones are looked at
LATE_FROM = 10  # a level of one ball in this many, or a rarer one, is one of late balls
Level = tuple[str, float]  # a latency, and N of "one ball in N"; 0: balls beyond a time


@dataclass(frozen=True)
class _Cause:
    """Work of the processor: ns in the median ball, before and after, and its main function.

    ``ball`` says which balls those are: usual, or late.
    """

    words: str
    function: str
    before_ns: float
    after_ns: float
    ball: str = "usual ball"


@dataclass(frozen=True)
class _Waited:
    """Waits for memory of one cause: how many and how long in the median ball of either side."""

    words: str
    function: str
    before: tuple[float, float]  # how many; ns
    after: tuple[float, float]
    ball: str = "usual ball"


@dataclass(frozen=True)
class LevelCauses:
    """The causes that came and went, for one statement."""

    row: Row
    before: Rally
    after: Rally
    balls: tuple[int, int]  # that were looked at, of both boots
    came: Sequence[_Cause]
    went: Sequence[_Cause]
    why: tuple[str, str] = ("", "")  # of a program's balls: what most wait for, before and after
    waited: Sequence[_Waited] = ()  # of rallies with a memory profile on both sides


def find_causes(
    compared: Compared, plans: Mapping[str, Mapping[str, Plan]], stop: Stop
) -> tuple[list[LevelCauses], list[str]]:
    """Explain changes; also return why some of them cannot be explained.

    ``plans``: of the sides that were played, by side and kind: their kernels and Racquets are
    trusted. Recorded sides are replayed only if they are rallies of named kernels.
    """
    found: list[LevelCauses] = []
    unexplained: list[str] = []
    judgement = compared.judgement
    if judgement.is_of_loops:
        if judgement.verdict != "worse":
            return [], []
        boot = compared.sides.cells[0][1].rallies[0]
        target = boot.manifest.target
        program = " --program PROGRAM" if target.program else ""
        command = f"tennis explain {quoted(boot.path)}{program}"
        return [], [f"loops are not played again here; why one was late says {command}"]
    for before, after in compared.sides.cells:
        kind = before.name or after.name
        head = f"{kind}: " if kind else ""
        rows = [row for row in judgement.rows if row.cell == kind]
        lost = [row for row in rows if row.change == "later" and row.what in {"lost", "suspect"}]
        unexplained += [f"{head}{by_how_much(row)}: no code answered there" for row in lost]
        levels = _changed(row for row in rows if row.unit == "ns")
        later = {row.latency for row in levels if row.change == "later"}
        late = [
            row
            for row in rows
            if row.what == "late" and row.change == "later" and row.latency not in later
        ]
        groups: list[tuple[tuple[Rally, Rally], Sequence[Row]]] = []
        if levels:
            groups.append((_typical(before, after, levels[0]), levels))
        groups += [(_with_late(before, after, row), [row]) for row in late]
        for pair, some in groups:
            try:
                found += _explained(pair, kind, some, plans, stop)
            except (BenchError, RallyError, UsageError) as error:
                unexplained.append(f"{head}{error}")
    return found, list(dict.fromkeys(unexplained))


def _beyond(row: Row) -> float | None:
    """Return the time that late balls are beyond; None: a level is compared."""
    return row.beyond_ns if row.what == "late" else None


def _one_in(row: Row) -> float:
    return MEDIAN if row.what == "usual" else row.one_in


def _level(row: Row) -> Level:
    return row.latency, _one_in(row)


def _changed(rows: Iterable[Row]) -> list[Row]:
    """Return what to explain: of each latency the rarest level that changed, and the soonest."""
    of: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.change in {"later", "earlier"}:
            of[row.latency].append(row)
    wanted = [
        row
        for some in of.values()
        for row in {_one_in(some[0]): some[0], _one_in(some[-1]): some[-1]}.values()
    ]
    return sorted(wanted, key=lambda row: (row.change != "later", -_distance(row.ratio)))


def _distance(ratio: float) -> float:
    """Return how far a ratio is from 1, in either direction; infinite over or under zero."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def _measured(latency: str) -> Measured:
    return "interrupt" if latency == "interrupt" else "scheduling"


def _by_seed(cell: Cell) -> dict[int, Rally]:
    return {rally.manifest.protocol.seed: rally for rally in cell.rallies}


def _typical(before: Cell, after: Cell, row: Row) -> tuple[Rally, Rally]:
    """Return two boots, of one seed if possible, whose ratio is most like all pairs'."""
    latency = _measured(row.latency)

    def value(rally: Rally) -> float:
        return boot_of(rally, latency).level(_one_in(row))

    ours, theirs = _by_seed(before), _by_seed(after)
    common = sorted(ours.keys() & theirs.keys())
    couples = [(ours[seed], theirs[seed]) for seed in common]
    if not couples:
        middle = [sorted(cell.rallies, key=value) for cell in (before, after)]
        return middle[0][len(middle[0]) // 2], middle[1][len(middle[1]) // 2]
    ratios = [value(other) / max(value(one), 1e-9) for one, other in couples]
    order = sorted(range(len(couples)), key=ratios.__getitem__)
    return couples[order[len(order) // 2]]


def _with_late(before: Cell, after: Cell, row: Row) -> tuple[Rally, Rally]:
    """Return the boot after with the most late balls, and the one of its seed before."""
    latency, times = _measured(row.latency), np.array([row.beyond_ns])

    def late(rally: Rally) -> float:
        boot = boot_of(rally, latency)
        return float(boot.from_time(times)[0]) / boot.balls

    most = max(after.rallies, key=late)
    return _by_seed(before).get(most.manifest.protocol.seed, before.rallies[0]), most


def _explained(
    pair: tuple[Rally, Rally],
    kind: str,
    rows: Sequence[Row],
    plans: Mapping[str, Mapping[str, Plan]],
    stop: Stop,
) -> list[LevelCauses]:
    stories = _replayed_stories(pair, kind, rows, plans, stop)
    return [
        _level_causes(row, pair, [stories[side, _level(row)] for side in (0, 1)]) for row in rows
    ]


def _replayed_stories(
    pair: tuple[Rally, Rally],
    kind: str,
    rows: Sequence[Row],
    plans: Mapping[str, Mapping[str, Plan]],
    stop: Stop,
) -> dict[tuple[int, Level], list[Story]]:
    """Play both boots again; return stories by side, latency and level."""
    log.info("playing a boot of either side again, to see which code it was")

    def side(number: int, name: str) -> dict[tuple[int, Level], list[Story]]:
        rally = pair[number]
        refuse_shots(rally, "causes")
        target = rally.manifest.target
        if name not in plans and target.program is not None:
            raise UsageError(
                f"{rally.path}: a program answered",
                next_step=f'name this side in words, to be played: "{target.kernel} program=FILE"',
            )
        plan = plans[name][kind] if name in plans else plan_again(rally)
        plan = plan.model_copy(update={"protocol": rally.manifest.protocol, "versions": {}})
        table = balls_of(rally)
        chosen = {_level(row): near(table, row) for row in rows}
        stories: dict[tuple[int, Level], list[Story]] = {}
        numbers = sorted({ball for balls in chosen.values() for ball in balls})
        seen = profile_balls(
            rally, plan, table, numbers, lambda story: story, watch=Watch(stop=stop)
        )
        by_ball = {story.ball: story for story in seen.found}
        for key, balls in chosen.items():
            stories[number, key] = [by_ball[ball] for ball in balls]
        return stories

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(side, *one) for one in enumerate(("before", "after"))]
        return {**both[0].result(), **both[1].result()}


def near(table: NDArray[np.int64], row: Row) -> list[int]:
    """Return the numbers of balls whose latency is near a level: from half to twice as rare.

    If shares are compared: the soonest of the balls after that are so late, and the balls before
    of the same ranks; of a few balls, usual ones beside them. A ball without an answer is never one
    of them: nothing ran in the answer's place.
    """
    rise, fall = table[:, 1], table[:, 2]
    value = rise if row.latency == "interrupt" else fall - rise
    answered = np.flatnonzero((rise != NONE) & (fall != NONE))
    order = answered[np.argsort(-value[answered], kind="stable")]
    if not order.size:
        return []
    beyond = _beyond(row)
    late = 0 if beyond is None else int((value[answered] >= beyond).sum())
    last = 0 if beyond is None else max(1, round(row.after * len(order)))
    if late or last >= FEW:
        first, last = max(0, last - BALLS), last - 1
    else:
        one_in = MEDIAN if beyond is not None else _one_in(row)
        place, half = len(order) / one_in, BALLS // 2
        first, last = int(place) - half, int(place) + half
        if one_in >= LATE_FROM:
            first, last = int(place / 2), max(int(2 * place), int(place / 2) + 4)
    first = min(max(first, 0), len(order) - 1)
    ranks = np.unique(np.linspace(first, min(last, len(order) - 1), BALLS).astype(int))
    return sorted(int(order[rank]) for rank in ranks)


def _level_causes(
    row: Row, pair: tuple[Rally, Rally], stories: Sequence[Sequence[Story]]
) -> LevelCauses:
    balls = [
        [
            {str(share.what): share for share in shares([_phase(story, row.latency)])}
            for story in some
        ]
        for some in stories
    ]
    late = _beyond(row) is not None or _one_in(row) >= LATE_FROM
    came, went = causes_of(
        [[{words: share.ns for words, share in one.items()} for one in some] for some in balls]
    )
    most: dict[str, tuple[int, str]] = {}
    for some in balls:
        for one in some:
            for words, share in one.items():
                most[words] = max(most.get(words, (0, "")), (share.ns, share.blame.function))
    ball = "late ball" if late else "usual ball"

    def rows(found: Sequence[tuple[str, float, float]]) -> list[_Cause]:
        return [
            _Cause(words, most[words][1], one, other, ball)
            for words, one, other in found[:ROWS_MAX]
        ]

    parts = [[_phase(story, row.latency) for story in some] for some in stories]
    return LevelCauses(
        row,
        *pair,
        (len(stories[0]), len(stories[1])),
        rows(came),
        rows(went),
        (common_kind(stories[0], row.latency), common_kind(stories[1], row.latency)),
        waits_of(parts, ball)[:ROWS_MAX],
    )


def common_kind(stories: Sequence[Story], latency: str) -> str:
    """Return the kind of cause that most balls of a program have; empty: there is no such kind."""
    kinds = Counter(one.kind for one in stories if latency in {one.latency, "whole"})
    kind, count = kinds.most_common(1)[0] if kinds else ("", 0)
    return kind if count >= REPEATS * len(stories) else ""


def why_sentence(causes: LevelCauses) -> str:
    """Say what most balls of a program waited for, before and after; empty: the same."""
    before, after = causes.why
    return "" if before == after else f"{before or 'nothing in common'}, then {after or 'nothing'}"


def waits_of(stories: Sequence[Sequence[Story]], ball: str) -> list[_Waited]:
    """Return which waits for memory became more or less, the largest difference first.

    None if a side has none at all: it was played without a memory profile.
    """
    found = [
        [{cause_words(one.cause, one.where): one for one in story.stalls()} for story in some]
        for some in stories
    ]
    if not all(any(some) for some in found):
        return []
    came, went = causes_of(
        [[{words: one.ns for words, one in waits.items()} for waits in some] for some in found]
    )

    def count(some: Sequence[Mapping[str, Stall]], words: str) -> float:
        return float(np.median([waits[words].count if words in waits else 0 for waits in some]))

    rows = []
    for words, before_ns, after_ns in sorted(came + went, key=lambda one: -abs(one[2] - one[1])):
        most = max(
            (waits[words] for some in found for waits in some if words in waits),
            key=lambda one: one.ns,
        )
        before, after = (
            (count(some, words), ns) for some, ns in zip(found, (before_ns, after_ns), strict=True)
        )
        rows.append(_Waited(words, most.function, before, after, ball))
    return rows


Change = tuple[str, float, float]  # what the processor was at; ns of the median ball of both sides


def causes_of(balls: Sequence[Sequence[Mapping[str, int]]]) -> tuple[list[Change], list[Change]]:
    """Return what takes more time after than before, and what takes less, the largest first.

    ``balls``: of both sides, for each ball how long (ns) the processor was at what. Only what
    repeats is named: most balls of the one side must have more of it than most of the other.
    """
    names = sorted({words for some in balls for one in some for words in one})
    found: list[tuple[float, str, float, float]] = []
    for words in names:
        before, after = (np.array([one.get(words, 0) for one in some], float) for some in balls)
        if not before.size or not after.size:
            continue
        more = after[:, None] - before
        if max((more > 0).mean(), (more < 0).mean()) >= REPEATS:
            one, other = float(np.median(before)), float(np.median(after))
            found.append((other - one, words, one, other))
    total = sum(abs(change) for change, *_ in found)
    found = [one for one in found if abs(one[0]) > SHARE_MIN * total]
    found.sort(key=lambda one: -abs(one[0]))
    came = [(words, one, other) for change, words, one, other in found if change > 0]
    return came, [(words, one, other) for change, words, one, other in found if change < 0]


def _phase(story: Story, latency: str) -> Story:
    """Return a story with the part that a latency is about."""
    parts = story.parts[:1] if latency == "interrupt" else story.parts[1:]
    return replace(story, parts=parts)


def sentence(cause: _Cause) -> str:
    """Describe the change of one part of the median ball's wait."""
    change = cause.after_ns - cause.before_ns
    more = "more" if change > 0 else "less"
    return (
        f"{format_ns(round(abs(change)))} {more} a {cause.ball} in {cause.words}, most in "
        f"{cause.function} ({format_ns(round(cause.before_ns))} before, "
        f"{format_ns(round(cause.after_ns))} after)"
    )


def came_or_went(waited: _Waited) -> str:
    """Say whether waits came or went."""
    return "came" if waited.after[1] > waited.before[1] else "went"


def waited_sentence(waited: _Waited) -> str:
    """Say how many more or fewer waits of a cause there are."""
    (count, ns), (count_after, ns_after) = waited.before, waited.after
    more = "more" if ns_after > ns else "fewer"
    return (
        f"{abs(count_after - count):g} {more} {waited.words} a {waited.ball}, "
        f"{format_ns(round(abs(ns_after - ns)))}, most in {waited.function} ({count:g} before, "
        f"{count_after:g} after)"
    )


def shown_cause(causes: LevelCauses) -> CauseShown:
    """Return a page's lines about one level."""
    lines = [f"Came: {sentence(cause)}." for cause in causes.came]
    lines += [f"Went: {sentence(cause)}." for cause in causes.went]
    lines += [f"Most waited for: {why}." for why in filter(None, [why_sentence(causes)])]
    lines += [f"{came_or_went(one).capitalize()}: {waited_sentence(one)}." for one in causes.waited]
    return CauseShown(causes.row.cell, by_how_much(causes.row), lines, rests_on(causes))


def rests_on(causes: LevelCauses) -> str:
    """Name the balls and the boots of the evidence."""
    return (
        f"The median of {format_count(causes.balls[0], 'ball')} of "
        f"{plain(causes.before.path.name, 64)} before, and of "
        f"{format_count(causes.balls[1], 'ball')} of {plain(causes.after.path.name, 64)} after, "
        "played again."
    )
