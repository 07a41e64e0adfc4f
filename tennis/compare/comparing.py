"""Play pairs of boots, before and after, until it is decided which side is later.

Both boots of a pair have one seed: the same gaps, and the same phase of the load. On a board they
are played in turns, before, after, after, before, so that a warm afternoon meets both.
"""

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tennis import __version__
from tennis.bench.protocol import Access
from tennis.bench.registry import Benches, timeless
from tennis.compare import BOOTS_MAX
from tennis.compare.folders import RECORD, Cell, Sides, matched, read_side
from tennis.compare.judgement import BOOTS_MIN, FIRST_LOOK, Judgement, judge
from tennis.compare.request import CompareRequest
from tennis.compare.requested import Recorded, SideRequest, ToPlay
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.kit.log import log
from tennis.kit.units import format_count
from tennis.match.folder import read_record
from tennis.match.plan import ScheduledRally
from tennis.match.player import Player, RallyOutcome, check_versions, unversioned
from tennis.match.schedule import cycle_of
from tennis.match.workers import seen_by_workers
from tennis.play.clock import Clock, duration
from tennis.play.lock import check_folder, locked
from tennis.play.rally import Observer, Stop
from tennis.rally import part_path
from tennis.rally.cycles import cycle_words
from tennis.rally.disk import write_whole, writing
from tennis.rally.folder import MANIFEST
from tennis.rally.manifest import StrictModel, Text
from tennis.rally.memory import stalls_in
from tennis.rally.plan import Plan
from tennis.rally.text import plain

SIDES = ("before", "after")
RECORD_MAX = 1 << 24  # bytes
FIRST_PAIRS = 2  # after which it shows whether boots are boots
ShowProgress = Callable[[str], AbstractContextManager[Observer]]


@dataclass(frozen=True)
class Playing:
    """The playing of boots: the first seed, the number at once, and the observer."""

    seed: int
    asked: CompareRequest
    workers: int
    shown: ShowProgress
    stop: Stop


@dataclass
class Compared:
    """Two sides, the judgement, and whether it ended undecided."""

    sides: Sides
    judgement: Judgement
    out: Path | None  # the folder of the rallies; None: none were played
    interrupted: bool = False
    spent: str = ""  # which budget, if it is not decided
    next_step: str = ""  # a step that is likely to decide it, if more can be played; else empty


def compare_recorded(before: Recorded, after: Recorded, margin: float) -> Compared:
    """Compare recorded sides. Raises UsageError if it cannot be."""
    sides = matched(before.cells, after.cells, timeless=timeless())
    return Compared(
        sides, judge(sides.pairs, margin=margin, suspects=sides.suspects, time=sides.time), None
    )


class _SideRecord(StrictModel):
    """The plans of a side; without plans it was played before, in the folder of that name."""

    words: Text
    plans: Annotated[dict[Text, Plan], Field(max_length=4096, default_factory=dict)]


class _CompareRecord(StrictModel):
    """All of ``compare.json``."""

    schema_version: Literal[1] = 1
    tennis: Text
    before: _SideRecord
    after: _SideRecord
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    margin: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
    # after how many pairs it was judged: each further look takes its share of the errors
    looks: Annotated[list[int], Field(max_length=1000, default_factory=list)]
    # it is judged once, after this number of pairs: one look has all of the errors; None: it is
    # judged again and again
    once: Annotated[int, Field(gt=0, le=10**6)] | None = None

    def write(self, folder: Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(folder / RECORD, self.model_dump_json(indent=1).encode() + b"\n", force=True)


def _read_or_write(  # noqa: PLR0913, PLR0917 (all that a comparison was begun with)
    out: Path,
    words: tuple[str, str],
    planned: Mapping[str, Mapping[str, Plan]],
    seed: int,
    margin: float,
    once: int | None = None,
) -> _CompareRecord:
    """Write or read ``compare.json``. Raises RallyError if ``out`` holds another comparison."""
    one, other = (
        _SideRecord(words=said, plans=dict(planned.get(side, {})))
        for side, said in zip(SIDES, words, strict=True)
    )
    record = _CompareRecord(
        tennis=__version__, before=one, after=other, seed=seed, margin=margin, looks=[], once=once
    )
    if not (out / RECORD).exists():
        record.write(out)
        return record
    before = read_record(out / RECORD, _CompareRecord, "compare", RECORD_MAX)
    _check_same(out, "before", before.before, one)
    _check_same(out, "after", before.after, other)
    if before.seed != seed:
        raise RallyError(
            f"{out} was begun with --seed {before.seed}", next_step="choose another --out"
        )
    if before.once != once:
        was = f"--once --boots {before.once}" if before.once else "more than one look"
        raise RallyError(
            f"{out} was begun with {was}: how often it is judged is decided before the first boot",
            next_step="choose another --out",
        )
    if once and before.looks and before.margin != margin:
        raise RallyError(
            f"{out} was judged once, with --margin {100 * before.margin:g}",
            next_step="choose another --out",
        )
    return before.model_copy(update={"margin": margin})


def _check_same(out: Path, side: str, was: _SideRecord, now: _SideRecord) -> None:
    theirs, ours = (
        {kind: unversioned(plan) for kind, plan in one.plans.items()} for one in (was, now)
    )
    if theirs != ours:
        raise RallyError(
            f"{out} was begun with another side {side}: {plain(was.words, 80)}",
            next_step="choose another --out",
        )
    for kind, plan in now.plans.items():
        check_versions(was.plans[kind], plan, out, f"the side {side} needs the same versions")


def compare_played(
    before: SideRequest, after: SideRequest, out: Path, playing: Playing
) -> Compared:
    """Play the missing boots of both sides into ``out``, and judge them.

    Raises UsageError, BenchError before anything is played, RallyError if ``out`` holds another
    comparison, BenchError if a boot fails.
    """
    check_folder(out, RECORD, "a comparison")
    both = dict(zip(SIDES, (before, after), strict=True))
    to_play = {side: one.plans for side, one in both.items() if isinstance(one, ToPlay)}
    plans = _on_both(to_play, before, after)
    benches = _benches(plans)
    _refuse_short(plans)
    planned = {side: _with_versions(benches, one) for side, one in plans.items()}
    _refuse_the_same(planned, before, after)
    _refuse_other_times(benches, planned)
    seeds = _seeds(before, after, playing.seed, playing.asked.boots)
    with writing(out):
        for side in planned:
            (out / side).mkdir(parents=True, exist_ok=True)
    with locked(out):
        words = (_words(before), _words(after))
        once = len(seeds) if playing.asked.once else None
        record = _read_or_write(out, words, planned, playing.seed, playing.asked.margin_share, once)
        game = _Game(benches, out, planned, seeds, playing)
        recorded = {
            side: asked.cells for side, asked in both.items() if isinstance(asked, Recorded)
        }
        return _until_decided(game, record, recorded)


def _until_decided(
    game: "_Game", record: _CompareRecord, recorded: Mapping[str, list[Cell]]
) -> Compared:
    """Play to one look after the other; each has twice as many pairs as the one before."""
    most = len(game.seeds)
    wanted = min(most, most if record.once else FIRST_LOOK)
    begun_with = game.there()
    while True:
        interrupted = not game.play(wanted)
        there = game.there()
        if not there:
            raise BenchError("interrupted before the first pair; the same command continues")
        if record.once and there < most:
            raise BenchError(
                f"{there} of {format_count(most, 'pair')} are there, and they are judged once",
                next_step="the same command continues",
            )
        both = (recorded.get(side) or game.cells(side, there) for side in SIDES)
        sides = matched(*both, recorded=False, timeless=timeless())
        if there not in record.looks:
            record = record.model_copy(update={"looks": [*record.looks, there]})
            record.write(game.out)
        look = None if record.once else record.looks.index(there) + 1
        judgement = judge(
            sides.pairs,
            margin=record.margin,
            look=look,
            most_boots=most,
            suspects=sides.suspects,
            time=sides.time,
        )
        compared = Compared(sides, judgement, game.out, interrupted)
        if judgement.verdict != "undecided" or interrupted or wanted >= most:
            compared.spent = game.spent(there)
            if judgement.verdict == "undecided":
                compared.next_step = game.next_step(there, wanted, judgement, recorded)
            return compared
        wanted = min(most, 2 * wanted)
        log.info(f"after {format_count(there, 'pair')} of boots it is undecided: on to {wanted}")
        log.info(_forecast(game, judgement, there, there - begun_with))


def _forecast(game: "_Game", judgement: Judgement, there: int, played: int) -> str:
    """Say how many pairs decide it if nothing changed, from the variance of those played."""
    needed = there * judgement.more_boots
    if not isfinite(needed):
        return "how many pairs would decide it is not known yet"
    minutes = game.minutes() / played * (needed - there) if played else 0.0
    most = len(game.seeds)
    budget = game.playing.asked.minutes or inf
    time_words = f", {minutes:,.0f} minutes" if minutes >= 1 else ""
    said = f"if nothing changed, about {max(1, needed - there):,.0f} more pairs{time_words} say so"
    if needed <= most and minutes <= budget:
        return said
    allowed = f"--boots allows {most}" if needed > most else f"--minutes allows {budget:g}"
    once = math.ceil(there * judgement.more_boots_once)
    return (
        f"{said}; {allowed}, so expect undecided. Judged once, {once:,} pairs may do: --once "
        f"--boots {once} --out ANOTHER. Longer boots (--balls) or a wider --margin take fewer"
    )


@dataclass
class _Game:
    """Plays the boots of both sides, numbered from 1."""

    benches: Benches
    out: Path
    plans: Mapping[str, Mapping[str, Plan]]  # by side, by kind
    seeds: Sequence[int]
    playing: Playing
    began: float = field(default_factory=time.monotonic)
    boots_played: int = 0  # by this command

    def play(self, pairs: int) -> bool:
        """Play the missing ones of ``pairs`` pairs; tell whether all are there."""
        wanted = [
            (self._boot(kind, plan, number), self.out / side)
            for number in range(1, pairs + 1)
            for side in self.turn(number)
            for kind, plan in self.plans[side].items()
        ]
        missing = [(boot, place) for boot, place in wanted if not _is_whole(place / boot.name)]
        seen, looked = 0, False
        at_once = self.playing.workers if self.benches.repeats else 1
        clock = Clock([1.0] * len(missing), at_once)
        for boot, place, became in self._play(missing):
            seen += became.state != "interrupted"
            clock.finish(1.0, played=became.state == "played")
            self.boots_played += became.state == "played"
            left = f", {clock.left()}" if seen < len(missing) else ""
            log.info(f"{seen}/{len(missing)} {place.name}/{boot.name}: {became.words}{left}")
            if became.state in {"failed", "unusable"}:
                raise BenchError(f"{place / boot.name}: {became.trouble or became.words}")
            if not looked and (looked := self.there() >= min(FIRST_PAIRS, pairs)):
                self._refuse_what_is_no_boot()
        return seen == len(missing)

    def _refuse_what_is_no_boot(self) -> None:
        """Raise BenchError if the first boots of a side are copies, before more are played."""
        for side in self.plans:
            try:
                self.cells(side, min(FIRST_PAIRS, len(self.seeds)))
            except RallyError as error:
                raise BenchError(
                    error.message,
                    next_step=f"remove {self.out / side}, and play it again. If that does not "
                    "help, this bench does not draw a boot from its seed: its boots cannot be "
                    "compared",
                ) from error

    def turn(self, number: int) -> Sequence[str]:
        """Return the sides in the order of playing: A B, B A, A B, ..."""
        order = SIDES if number % 2 else tuple(reversed(SIDES))
        return [side for side in order if side in self.plans]

    def _boot(self, kind: str, plan: Plan, number: int) -> ScheduledRally:
        protocol = plan.protocol.model_copy(update={"seed": self.seeds[number - 1]})
        return ScheduledRally(
            name=f"{kind}-{number:02d}" if kind else f"{number:02d}",
            kernel=plain(plan.kernel_name, 60).replace(" ", "_"),
            repetition=number,
            plan=plan.model_copy(update={"protocol": protocol}),
        )

    def _play(
        self, boots: Sequence[tuple[ScheduledRally, Path]]
    ) -> Iterator[tuple[ScheduledRally, Path, RallyOutcome]]:
        places = {id(boot): place for boot, place in boots}
        if self.benches.repeats and self.playing.workers > 1 and len(boots) > 1:
            for boot, seen in seen_by_workers(boots, self._over, self.playing.workers):
                yield boot, places[id(boot)], seen
            return
        for number, (boot, place) in enumerate(boots, 1):
            if self._over():
                return
            player = Player(self.benches.of(boot.plan), place, self._over)
            seen = player.play(boot, self.playing.shown(f"{number}/{len(boots)}"))
            yield boot, place, seen
            if seen.state == "interrupted":
                return

    def _over(self) -> bool:
        """Tell whether to stop: on request, or when the minutes are spent."""
        return self.playing.stop() or self._late()

    def minutes(self) -> float:
        """Return how long it has played."""
        return (time.monotonic() - self.began) / 60

    def _late(self) -> bool:
        minutes = self.playing.asked.minutes
        return minutes is not None and self.minutes() > minutes

    def spent(self, there: int) -> str:
        """Name the spent budget; all pairs before the minutes, which bring no more of them."""
        if there >= len(self.seeds):
            return f"{format_count(len(self.seeds), 'pair')} of boots"
        return f"{self.playing.asked.minutes:g} minutes" if self._late() else ""

    def next_step(
        self, there: int, wanted: int, judgement: Judgement, recorded: Mapping[str, list[Cell]]
    ) -> str:
        """Say how to continue: with more pairs, or only more time."""
        most = len(self.seeds)
        if self.playing.asked.once:  # these boots had their one look
            return "another --out, with more or longer boots (--boots, --balls) or a wider --margin"
        if there >= most:
            if recorded and most < self.playing.asked.boots:
                side = next(iter(recorded))
                return f"{side} has {format_count(most, 'boot')}: play more of it, then this again"
            likely = most * judgement.more_boots
            if BOOTS_MAX <= likely < inf:
                pairs = f"some {likely:,.0f} pairs of such boots"
                return f"{pairs}, longer boots (--balls) or a wider --margin"
            more = math.ceil(likely) if likely < BOOTS_MAX else 0
            return f"the same command with --boots {max(2 * most, BOOTS_MIN, more)}"
        words = f"the same command: it continues with pair {there + 1} of at most {most}"
        if self.playing.stop() or self.playing.asked.minutes is None or not self.boots_played:
            return words
        # as long as it took so far, up to the next look
        boots = (wanted - there) * sum(map(len, self.plans.values()))
        minutes = boots * (time.monotonic() - self.began) / self.boots_played / 60
        return f"{words}. The next look is at {wanted}, in some {duration(60 * minutes)}"

    def there(self) -> int:
        """Return how many pairs are whole, from the first one on."""
        numbers = range(1, len(self.seeds) + 1)
        return next((number - 1 for number in numbers if not self._whole(number)), numbers[-1])

    def _whole(self, number: int) -> bool:
        return all(
            _is_whole(self.out / side / self._boot(kind, plan, number).name)
            for side, plans in self.plans.items()
            for kind, plan in plans.items()
        )

    def cells(self, side: str, pairs: int) -> list[Cell]:
        """Return the boots of a side, by kind."""
        found = []
        for kind, plan in self.plans[side].items():
            names = [self._boot(kind, plan, number).name for number in range(1, pairs + 1)]
            (cell,) = read_side(self.out / side, names)
            cell.name = kind
            found.append(cell)
        return found


def _is_whole(place: Path) -> bool:
    """Tell whether a boot is sealed and complete: it cannot be continued."""
    return (place / MANIFEST).is_file() and not part_path(place).exists()


def _on_both(
    plans: Mapping[str, Mapping[str, Plan]], before: SideRequest, after: SideRequest
) -> dict[str, Mapping[str, Plan]]:
    """Leave out, and name, the combinations that only one side has: their boots decide nothing.

    Raises UsageError if no combination is on both sides.
    """
    kinds = [
        list(one.plans) if isinstance(one, ToPlay) else [cell.name for cell in one.cells]
        for one in (before, after)
    ]
    if list(map(len, kinds)) == [1, 1]:
        return dict(plans)
    both = set(kinds[0]) & set(kinds[1])
    if not both:
        raise UsageError(
            f"no combination is on both sides: before has {plain(kinds[0][0], 60)}, after "
            f"{plain(kinds[1][0], 60)}",
            next_step='name one combination a side, as in "rt top-half=explicit"',
        )
    for side, names in zip(SIDES, kinds, strict=True):
        for name in names:
            if name not in both:
                log.info(f"not compared, only {side} has it: {plain(name, 80)}")
    return {
        side: {kind: plan for kind, plan in one.items() if kind in both}
        for side, one in plans.items()
    }


def _benches(plans: Mapping[str, Mapping[str, Plan]]) -> Benches:
    every = [plan for side in plans.values() for plan in side.values()]
    first = every[0]
    for one, other in pairwise(every):
        if (one.bench, one.port, one.target) != (other.bench, other.port, other.target):
            raise UsageError(
                f"the sides are for different benches, {one.bench} and {other.bench}: their times "
                "do not compare"
            )
    benches = Benches(every, Access(first.port, first.target))
    if not benches.repeats and not benches.prepared:
        raise UsageError(
            "a comparison needs a target that tennis can set up for each boot",
            next_step="name it with --target, as ssh knows it",
        )
    return benches


def _refuse_short(plans: Mapping[str, Mapping[str, Plan]]) -> None:
    """Raise UsageError if boots are shorter than a cycle of their load."""
    for side, kinds in plans.items():
        for plan in kinds.values():
            cycle_ns, enough = cycle_of(plan)
            if plan.protocol.balls < enough and cycle_ns:
                raise UsageError(
                    f"{side} "
                    + cycle_words(plan.load, cycle_ns, plan.protocol.balls, enough)
                    + " to decide",
                    next_step=f"use --balls {enough}, or leave it out",
                )


def _with_versions(benches: Benches, plans: Mapping[str, Plan]) -> dict[str, Plan]:
    if benches.prepared:
        return dict(plans)
    return {
        kind: plan.model_copy(update={"versions": benches.of(plan).versions(plan)})
        for kind, plan in plans.items()
    }


def _refuse_the_same(
    planned: Mapping[str, Mapping[str, Plan]], before: SideRequest, after: SideRequest
) -> None:
    """Raise UsageError if both sides would be one and the same."""
    if len(planned) == len(SIDES) and planned["before"] == planned["after"]:
        words = " and ".join(plain(_words(one), 60) for one in (before, after))
        raise UsageError(
            f"both sides are the same ({words}): nothing could differ",
            next_step="name what was before, and what is after",
        )


def _refuse_other_times(benches: Benches, planned: Mapping[str, Mapping[str, Plan]]) -> None:
    """Raise UsageError if a nanosecond would not mean the same on both sides."""
    notes = {
        side: {
            benches.of(plan).time_note(plan).removesuffix(stalls_in(plan.memory))
            for plan in plans.values()
        }
        for side, plans in planned.items()
    }
    if len(notes) == len(SIDES) and not notes["before"] & notes["after"]:
        before, after = (plain(min(notes[side]), 80) for side in SIDES)
        raise UsageError(
            f"a nanosecond does not mean the same on both sides ({before}; {after}): their times "
            "do not compare",
            next_step="play both sides on one bench",
        )


def _words(one: SideRequest) -> str:
    return one.words if isinstance(one, ToPlay) else str(one.path)


def _seeds(before: SideRequest, after: SideRequest, seed: int, pairs: int) -> list[int]:
    """Return a seed for each pair: those of the side that was played, or new ones."""
    for one in (before, after):
        if isinstance(one, Recorded):
            cell = one.cells[0]
            seeds = [rally.manifest.protocol.seed for rally in cell.rallies]
            if len(one.cells) > 1:
                raise UsageError(
                    f"{one.path} has {len(one.cells)} kinds of rallies: what is played beside it "
                    "has one",
                    next_step="name a folder with one kind, or play both sides",
                )
            return seeds[:pairs]
    return [
        int.from_bytes(hashlib.sha256(f"{seed}/pair/{number}".encode()).digest()[:4])
        for number in range(1, pairs + 1)
    ]
