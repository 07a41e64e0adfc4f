"""Play a sweep: a rally at each rate, each freshly booted; continue with the missing ones."""

import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from tennis import __version__
from tennis.bench.protocol import Bench, PreparingBench
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.kit.log import log
from tennis.match.player import Player, check_versions, unversioned
from tennis.match.sweep.folder import SWEEP, Sweep, SweepRecord, open_sweep
from tennis.match.sweep.search import Range
from tennis.play.lock import check_folder, locked
from tennis.play.rally import Observer, Stop
from tennis.rally.disk import writing
from tennis.rally.plan import Plan
from tennis.rally.statistics.pairing import percent_floor


@dataclass(frozen=True)
class SweepRequest:
    """A sweep to play: the rally without its rate, and the rates."""

    plan: Plan
    range: Range


@dataclass(frozen=True)
class _Swept:
    """The outcome of a sweep."""

    sweep: Sweep
    interrupted: bool


def play_sweep(
    bench: Bench,
    request: SweepRequest,
    out: Path,
    progress: Callable[[str], AbstractContextManager[Observer]],
    stop: Stop,
) -> _Swept:
    """Play into the folder ``out`` the rates that are not there yet.

    It logs a line for each rate. Raises UsageError if the plan cannot be played, RallyError if
    ``out`` holds another sweep, BenchError if a rate cannot be played (the target died, say), or
    DiskFullError: the rates that were played are kept, and the same call continues.
    """
    plan, span = request.plan, request.range
    if plan.protocol.loop != "open":
        raise UsageError("a sweep is an open loop: it serves at its rate, answered or not")
    check_folder(out, SWEEP, "a sweep")
    if not isinstance(bench, PreparingBench):
        plan = plan.model_copy(update={"versions": bench.versions(plan)})
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        record = _begin(bench, plan, span, out)
        interrupted = _play_rates(Player(bench, out, stop), record, out, progress)
        return _Swept(open_sweep(out), interrupted)


def _play_rates(
    player: Player,
    record: SweepRecord,
    out: Path,
    progress: Callable[[str], AbstractContextManager[Observer]],
) -> bool:
    """Play the missing rates; tell whether a stop interrupted it."""
    shares: dict[int, float] = {}  # of paired pings
    grid = len(record.range.grid())
    while (rate_hz := record.range.next_rate(shares)) is not None:
        if player.stop():
            return True
        number = len(shares) + 1
        where = f"{number}/{grid}" if number <= grid else f"{number}"
        planned = record.at(rate_hz)
        seen = player.play(planned, progress(f"{where} {rate_hz:,} Hz"))
        if seen.state == "interrupted":
            log.info(f"{where} {rate_hz:,} Hz: {seen.words}")
            return True
        if seen.state == "failed":
            done = f"{number - 1} rates are kept" if shares else "no rate was played"
            raise BenchError(
                f"at {rate_hz:,} Hz: {seen.trouble}; {done}",
                next_step="the same `tennis sweep` continues",
            )
        if seen.state == "unusable":
            raise RallyError(f"{out / planned.name}: {seen.words}", next_step="move it away")
        rate = record.open_rate(out, rate_hz)
        if rate is None:
            raise RallyError(f"{out / planned.name} was interrupted", next_step="move it away")
        shares[rate_hz] = rate.pairing.share
        paired, why = percent_floor(rate.pairing.share), rate.suspect
        log.info(
            f"{where} {rate_hz:,} Hz: {paired} paired, {seen.words}" + (f": {why}" if why else "")
        )
    return False


def _begin(bench: Bench, plan: Plan, span: Range, out: Path) -> SweepRecord:
    """Write ``sweep.json``, or compare the request with it. Raises RallyError."""
    if (out / SWEEP).exists():
        before = SweepRecord.read(out)
        if (before.range, unversioned(before.plan)) != (span, unversioned(plan)):
            raise RallyError(
                f"{out} was begun as another sweep{_difference(before, plan, span)}",
                next_step="give the same options, or another --out",
            )
        check_versions(before.plan, plan, out, "a sweep needs the same for all its rates")
        return before
    record = SweepRecord(
        tennis=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        bench=bench.kind,
        time_note=bench.time_note(plan),
        range=span,
        plan=plan,
    )
    record.write(out)
    return record


def _difference(before: SweepRecord, plan: Plan, span: Range) -> str:
    """Name the first thing in which a sweep differs from the one that was begun."""
    ours = {**span.model_dump(), **unversioned(plan).model_dump(exclude={"protocol"})}
    ours |= plan.protocol.model_dump()
    theirs = {**before.range.model_dump(), **unversioned(before.plan).model_dump()}
    theirs |= before.plan.protocol.model_dump()
    name = next((name for name, value in ours.items() if theirs.get(name) != value), None)
    return f" (its {name} differs)" if name else ""
