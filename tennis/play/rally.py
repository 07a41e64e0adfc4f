"""Play a rally: from the instrument's frames to its journal, with all failures on the way."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.protocol import Bench, Position, ResumableBench, Session
from tennis.bench.targets.console import Console
from tennis.kit import wire
from tennis.kit.errors import BenchError, RallyError, TennisError, UsageError
from tennis.kit.log import log
from tennis.play import capture
from tennis.play.planning import command_again
from tennis.play.progress import Progress
from tennis.play.sealing import Ending, counted_end, seal_played
from tennis.rally.balls import records
from tennis.rally.folder import CONSOLE, Rally
from tennis.rally.in_play import RallyInPlay, can_go_on, check_part, part_path
from tennis.rally.inside import is_drill_complete
from tennis.rally.journal import Frame, Journal
from tennis.rally.plan import Plan
from tennis.rally.sealing import finished
from tennis.rally.text import plain, quoted

Observer = Callable[[Progress], None]
Stop = Callable[[], bool]


@contextlib.contextmanager
def unobserved() -> Iterator[Observer]:
    """Yield an observer that shows nothing."""
    yield lambda _: None


@dataclass(frozen=True)
class Watch:
    """An observer of a rally: gets the progress often, and is asked as often whether to stop."""

    observe: Observer = lambda _: None
    stop: Stop = lambda: False


def play(bench: Bench, plan: Plan, out: Path, watch: Watch) -> Rally:
    """Play a plan and seal it as the folder ``out``.

    If it is stopped, the played balls are sealed, and ``resume`` continues. A fault of the bench is
    recorded and makes the rally suspect, which is sealed all the same. Raises UsageError or
    BenchError before anything is written if the plan cannot be played, RallyError if its versions
    are gone, DiskFullError if the disk gets full (``resume`` continues).
    """
    if not out.name or out.name == "..":
        raise UsageError(f"--out {str(out)!r} names no folder", next_step="say --out NAME")
    part = part_path(out)
    if os.path.lexists(out):
        raise UsageError(f"{out} exists", next_step="choose another name for the rally")
    try:
        os.fspath(out).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{out!a} is not a name in UTF-8", next_step="choose another name"
        ) from error
    if os.path.lexists(part):
        raise UsageError(
            f"{out} is unfinished",
            next_step=f"continue with `tennis resume {quoted(out)}`, or remove {part}",
        )
    if not out.parent.is_dir() or not os.access(out.parent, os.W_OK | os.X_OK):
        raise RallyError(
            f"{out.parent} is not a folder that can be written", next_step="choose another place"
        )
    versions = bench.versions(plan)
    if plan.versions:
        _refuse_changes(bench, f"{out} was planned", plan.versions, versions)
    plan = plan.model_copy(update={"versions": versions})
    in_play = RallyInPlay.begin(out, plan)
    try:
        with in_play:
            return play_on(bench, in_play, watch)
    except (KeyboardInterrupt, NothingPlayedError, BenchError, UsageError) as error:
        if not in_play.remove_unless_played():
            if isinstance(error, BenchError):
                raise _with_a_way_on(error, in_play) from error
            if isinstance(error, KeyboardInterrupt):
                log.warning(f"to continue: {command_again(out, plan)}")
        raise


def resume(bench: Bench, out: Path, watch: Watch) -> Rally:
    """Continue a rally that was interrupted, by force or by Ctrl-C, and seal it.

    On a bench that repeats, the rally is played again: its balls must be those of the journal, and
    then it continues. The plan in the folder is played: the caller answers for it
    (``planning.bench_again``), as the folder may come from somebody else. Raises UsageError if
    there is nothing to resume, RallyError if the bench has changed since.
    """
    plan = begun_plan(out)
    with RallyInPlay(out, plan) as in_play:
        ending = _cut_ending(
            in_play.journal, repeats=bench.repeats, unclosed=_is_unclosed(bench, in_play)
        )
        if ending:
            return seal_played(bench, in_play, Ending(end=ending))
        _refuse_changes(bench, f"{out} was begun", plan.versions, bench.versions(plan))
        try:
            if isinstance(bench, ResumableBench) and not bench.repeats:
                return _go_on(bench, in_play, watch)
            return play_on(bench, in_play, watch)
        except BenchError as error:
            raise _with_a_way_on(error, in_play) from error
        except KeyboardInterrupt:
            log.warning(f"to continue: {command_again(out, plan)}")
            raise


def _refuse_changes(
    bench: Bench, what: str, before: Mapping[str, str], now: Mapping[str, str]
) -> None:
    for name in sorted({*now, *before}):
        if now.get(name) != before.get(name):
            why = "the balls would not be the same" if bench.repeats else "a rally needs one"
            was = plain(before.get(name, "unknown"))
            raise RallyError(
                f"{what} with {name} {was}, now it is {now.get(name)}: {why}",
                next_step=f"use {was}, or play it again under another name",
            )


def _with_a_way_on(error: BenchError, in_play: RallyInPlay) -> BenchError:
    return BenchError(f"{error}; nothing is lost", next_step=_way_on(in_play))


def _way_on(in_play: RallyInPlay) -> str:
    return f"continue with `{command_again(in_play.out, in_play.plan)}`"


def begun_plan(out: Path) -> Plan:
    """Return the plan of an unfinished rally. Raises UsageError for another folder, RallyError."""
    part = part_path(out)
    sealed = finished(out)
    if sealed is not None and sealed.manifest.ended == "interrupted" and not can_go_on(sealed):
        raise UsageError(
            f"{out} was interrupted, but {part} is gone, which is needed to continue",
            next_step="play it again under another name",
        )
    if sealed is not None and not can_go_on(sealed):
        raise UsageError(f"{out} is sealed: there is nothing to resume")
    if not os.path.lexists(part):
        raise UsageError(
            f"{out} was never begun", next_step=f"play it with `tennis rally --out {quoted(out)}`"
        )
    check_part(part)
    return Plan.read(part)


class NothingPlayedError(TennisError):
    """Somebody stopped a rally before its first ball."""


def _is_unclosed(bench: Bench, in_play: RallyInPlay) -> bool:
    """Tell whether a rally lacks the part after its last ball: then it must be played again.

    There a drill's target reports its measurements. A missing check of the load can be repeated if
    the bench repeats; otherwise sealing names the fault.
    """
    plan = in_play.plan
    if plan.drill and not plan.program and not is_drill_complete(in_play.part / CONSOLE):
        return True
    try:
        return bench.repeats and bool(bench.circumstances(plan, in_play.part).unchecked)
    except (KeyError, ValueError):
        return False  # sealing reports its faults


def _cut_ending(journal: Journal, *, repeats: bool, unclosed: bool = False) -> Frame | None:
    """Prepare a journal for continuing; return its END frame if the rally had been played out.

    A rally that was stopped early has a last, short frame that it would lack if it had continued:
    it is cut off if the bench repeats, as the repetition brings its balls back. ``unclosed``: it
    was stopped after its last ball, and before the target's last words.
    """
    sizes: list[tuple[Frame, int]] = []
    end = 0
    for frame in journal.frames():
        end += frame.size
        sizes = [*sizes[-1:], (frame, end)]
    journal.truncate(end)
    if sizes and sizes[-1][0].kind == wire.END:
        ending = sizes[-1][0]
        if (counted_end(ending) or {}).get("reason") == "complete" and not unclosed:
            return ending
        journal.truncate(end - sizes.pop()[0].size)
    if repeats and sizes and sizes[-1][0].kind == wire.BALLS:
        journal.truncate(journal.size - sizes[-1][0].size)
    return None


def play_on(bench: Bench, in_play: RallyInPlay, watch: Watch) -> Rally:
    """Play a rally from its first ball, and seal it; its journal's balls must come again.

    Raises RallyError if it does not, and all errors of the bench and the disk.
    """
    plan, journal = in_play.plan, in_play.journal
    progress = Progress(planned=plan.protocol.balls, listens=plan.drill is not None)
    outcome = Ending(progress=progress)
    ending: list[Frame] = []
    held = journal.frames() if journal.size else iter(())
    with (
        capture.watching(plan, in_play.part) as outcome.umpire,
        contextlib.closing(bench.start(plan, in_play.part)) as session,
    ):
        for frame in _frames(session, outcome, progress, watch):
            known = next(held, None)
            progress.replaying = known is not None
            if known is None:
                _keep(frame, journal, ending)
            elif known != frame and not outcome.interrupted:
                raise RallyError(
                    f"{in_play.out} does not repeat: frame {frame.sequence} differs from before; "
                    f"the first balls are still in {in_play.part}",
                    next_step="play it again under another name",
                )
            watch.observe(progress)
    _close(journal, ending)
    if outcome.interrupted and next(held, None) is not None:
        raise RallyError(
            f"interrupted before {in_play.out} reached its earlier place; nothing is lost",
            next_step=_way_on(in_play),
        )
    return _sealed(bench, in_play, outcome)


def _keep(frame: Frame, journal: Journal, ending: list[Frame]) -> None:
    """Put a frame into the journal; END, and what may follow, when all is over.

    So a journal with an END is complete, and can be sealed.
    """
    if ending or frame.kind == wire.END:
        ending.append(frame)
    else:
        journal.append(frame)


def _close(journal: Journal, ending: list[Frame]) -> None:
    """Put the end into the journal: the session is closed."""
    for frame in ending:
        journal.append(frame)


def _go_on(bench: ResumableBench, in_play: RallyInPlay, watch: Watch) -> Rally:
    """Play the balls that a journal does not hold."""
    plan, journal = in_play.plan, in_play.journal
    progress = Progress(planned=plan.protocol.balls)
    sequence = clock_ticks = 0
    for frame in journal.frames():
        sequence = frame.sequence + 1
        if frame.kind == wire.HELLO:
            progress.tick_hz = _tick_hz_of(frame.payload) or progress.tick_hz
        elif frame.kind == wire.BALLS and frame.payload:
            progress.add(frame.payload)
            clock_ticks = int(records(frame.payload)["served"][-1])
    outcome = Ending(next_frame=sequence, progress=progress)
    ending: list[Frame] = []
    if plan.umpire:
        outcome.umpire.append("the rally was interrupted: the capture ends there")
    if progress.balls < progress.planned:
        # a second of the clock represents the pause, which nobody measured
        position = Position(progress.balls, sequence, clock_ticks + progress.tick_hz)
        session = bench.go_on(plan, in_play.part, position)
        progress.continued()
        with contextlib.closing(session):
            for frame in _frames(session, outcome, progress, watch):
                _keep(frame, journal, ending)
                watch.observe(progress)
        _close(journal, ending)
        if outcome.interrupted and progress.first_ball is None:
            raise NothingPlayedError(
                "interrupted before the next ball; nothing is lost", next_step=_way_on(in_play)
            )
    return _sealed(bench, in_play, outcome)


def _sealed(bench: Bench, in_play: RallyInPlay, outcome: Ending) -> Rally:
    """Seal the played balls, if there are any."""
    # who starved the target wants to see its console
    began = in_play.plan.program and Console(in_play.part / CONSOLE).has_begun
    if outcome.interrupted and outcome.progress and not outcome.progress.balls and not began:
        raise NothingPlayedError("interrupted before the first ball: nothing was kept")
    return seal_played(bench, in_play, outcome)


def _frames(session: Session, outcome: Ending, progress: Progress, watch: Watch) -> Iterator[Frame]:
    """Yield the frames of a session; when asked to stop, the rest still comes."""
    for frame in session.frames():
        if watch.stop() and not outcome.interrupted:
            outcome.interrupted = True
            session.stop()
        if frame is None:
            progress.doing = session.doing
            watch.observe(progress)
            continue
        outcome.lost_frames += (frame.sequence - outcome.next_frame) & 0xFFFFFFFF
        outcome.next_frame = frame.sequence + 1
        if frame.kind == wire.HELLO:
            progress.tick_hz = _tick_hz_of(frame.payload) or progress.tick_hz
        elif frame.kind == wire.BALLS:
            progress.add(frame.payload)
            progress.doing = ""
        elif frame.kind == wire.END:
            outcome.end = frame
        yield frame
    progress.doing = session.doing
    watch.observe(progress)
    outcome.garbage_bytes = session.garbage_bytes


def _tick_hz_of(hello: bytes) -> int | None:
    """Return the instrument's ticks of a second; None: its HELLO does not say them."""
    try:
        tick_hz = json.loads(hello)["tick_hz"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return tick_hz if isinstance(tick_hz, int) and tick_hz > 0 else None
