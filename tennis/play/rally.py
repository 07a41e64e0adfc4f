# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Play a rally: from the instrument's frames to a sealed folder, whatever happens on the way."""

import collections
import contextlib
import datetime
import itertools
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tennis import __version__, wire
from tennis.bench import Bench, Circumstances, GoingOnBench, Position, Session
from tennis.errors import BenchError, RallyError, TennisError, UsageError
from tennis.play.planning import command_again
from tennis.play.progress import Progress
from tennis.play.umpire import simulated, watching
from tennis.rally.balls import batches_from_frames, records
from tennis.rally.disk import writing
from tennis.rally.folder import Rally, check_part, finished, part_path, remove_part, seal
from tennis.rally.journal import Frame, Journal
from tennis.rally.manifest import Counts, Fault, Manifest, Tool
from tennis.rally.plan import Plan
from tennis.rally.text import plain, quoted
from tennis.umpire.rally_balls import plain_balls
from tennis.umpire.simulate import Played
from tennis.units import format_count, ticks_to_ns

Observer = Callable[[Progress], None]
Stop = Callable[[], bool]


@dataclass(frozen=True)
class Watch:
    """Who looks on: told of the progress often, and asked as often whether to stop."""

    observe: Observer = lambda _: None
    stop: Stop = lambda: False


# what the instrument's reasons for an early end mean for the people at the bench
REASONS = {
    "no_answer": "the target stopped answering",
    "target_ended": "the target ended before the last ball",
    "never_ready": "the target did not get ready to play",
    "instrument_fault": "the instrument reported a fault",
    "stopped": "the rally was stopped at the instrument",
}
# what else the instrument may report, as faults: code, what the event is called, in words
REPORTED = {
    "overrun": ("overrun", "the instrument lost edges: they came faster than it could keep them"),
    "no_ping": ("no_ping", "the ping wire does not rise: something holds it low or high"),
    "undecided": (
        "undecided",
        "a ball was served while the last one waited for its answer: the reply wire has glitches",
    ),
    "held_line": ("held", "the reply line is held high: it was up when a ball was served"),
}


def play(bench: Bench, plan: Plan, out: Path, watch: Watch) -> Rally:
    """Play a plan and seal it as the folder ``out``.

    When told to stop, what was played is sealed. A fault of the bench is recorded and taints the
    rally, which is sealed all the same. Raises UsageError or BenchError before anything is written
    where the plan cannot be played, DiskFullError where the disk gets full (``resume`` goes on).
    """
    if os.path.lexists(out):
        raise UsageError(f"{out} exists: choose another name for the rally")
    try:
        os.fspath(out).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{out!a} is no name in UTF-8: choose another name") from error
    part = part_path(out)
    if os.path.lexists(part):
        raise UsageError(
            f"{out} was begun and not finished: go on with "
            f"`tennis rally --resume {quoted(out)}`, or remove {part}"
        )
    if not out.parent.is_dir() or not os.access(out.parent, os.W_OK | os.X_OK):
        raise RallyError(f"{out.parent} is no folder that can be written: choose another place")
    plan = plan.model_copy(update={"versions": bench.versions(plan)})
    with writing(part):
        part.mkdir()
    try:
        plan.write(part)
    except BaseException:
        remove_part(part)  # nothing was played: nothing to resume
        raise
    try:
        with Journal(part, out) as journal:
            return _play(bench, plan, out, journal, watch)
    except (KeyboardInterrupt, NothingPlayedError, BenchError) as error:
        if next(Journal(part, out).payloads(wire.BALLS), None) is None:
            remove_part(part)
        elif isinstance(error, BenchError):
            raise _with_a_way_on(error, out, plan) from error
        raise


def resume(bench: Bench, out: Path, watch: Watch) -> Rally:
    """Go on with a rally that was interrupted by force, and seal it.

    On a bench that repeats, the rally is played again; what comes must be what the journal holds
    already, and then it goes on. The plan in the folder is played: the caller answers for it
    (``planning.bench_again``), as the folder may come from somebody else. Raises UsageError where
    there is nothing to resume, RallyError where the bench has changed since.
    """
    plan = begun_plan(out)
    part = part_path(out)
    with Journal(part, out) as journal:
        ending = _cut_ending(journal, repeats=bench.repeats)
        if ending:
            return _seal(bench, plan, out, journal, _Outcome(end=ending))
        versions = bench.versions(plan)
        for name in sorted({*versions, *plan.versions}):
            if versions.get(name) != plan.versions.get(name):
                why = "the balls would not be the same" if bench.repeats else "a rally has one"
                raise RallyError(
                    f"{out} was begun with {name} {plain(plan.versions.get(name, 'unknown'))}, now "
                    f"it is {versions.get(name)}: {why}; play it anew under another name"
                )
        try:
            if isinstance(bench, GoingOnBench) and not bench.repeats:
                return _go_on(bench, plan, out, journal, watch)
            return _play(bench, plan, out, journal, watch)
        except BenchError as error:
            raise _with_a_way_on(error, out, plan) from error


def _with_a_way_on(error: BenchError, out: Path, plan: Plan) -> BenchError:
    return BenchError(f"{error}; nothing is lost: go on with `{command_again(out, plan)}`")


def begun_plan(out: Path) -> Plan:
    """Return the plan of an unfinished rally. Raises UsageError where there is none, RallyError."""
    part = part_path(out)
    if finished(out) is not None:
        raise UsageError(f"{out} is sealed: there is nothing to resume")
    if not os.path.lexists(part):
        raise UsageError(f"{out} was never begun: play it with `tennis rally --out {quoted(out)}`")
    check_part(part)
    return Plan.read(part)


class NothingPlayedError(TennisError):
    """Somebody stopped a rally before its first ball."""


@dataclass
class _Outcome:
    """How playing came to its end."""

    end: Frame | None = None
    interrupted: bool = False
    lost_frames: int = 0
    garbage_bytes: int = 0
    next_frame: int = 0  # its sequence number
    progress: Progress | None = None  # None: nothing was played now
    umpire: list[str] = field(default_factory=list)  # what is to be said of the capture

    @property
    def all_there(self) -> bool:
        """Tell whether no ball is missing, whether END came or not."""
        return self.progress is not None and self.progress.balls >= self.progress.planned

    @property
    def all_missed(self) -> bool:
        """Tell whether there were balls and no answers."""
        return self.progress is not None and 0 < self.progress.balls == self.progress.misses


def _cut_ending(journal: Journal, *, repeats: bool) -> Frame | None:
    """Prepare a journal for going on; return its END frame if the rally had been played out.

    A rally that was stopped early has a last, short frame that it would not have if it had gone
    on: that is cut off where the bench repeats, playing again brings its balls back.
    """
    sizes: list[tuple[Frame, int]] = []
    end = 0
    for frame in journal.frames():
        end += len(frame.encoded)
        sizes = [*sizes[-1:], (frame, end)]
    journal.truncate(end)
    if sizes and sizes[-1][0].kind == wire.END:
        ending = sizes[-1][0]
        if (_count(ending) or {}).get("reason") == "complete":
            return ending
        journal.truncate(end - len(sizes.pop()[0].encoded))
    if repeats and sizes and sizes[-1][0].kind == wire.BALLS:
        journal.truncate(journal.size - len(sizes[-1][0].encoded))
    return None


def _play(bench: Bench, plan: Plan, out: Path, journal: Journal, watch: Watch) -> Rally:
    progress = Progress(planned=plan.protocol.balls)
    outcome = _Outcome(progress=progress)
    held = journal.frames() if journal.size else iter(())
    with (
        watching(plan, part_path(out)) as outcome.umpire,
        contextlib.closing(bench.start(plan, part_path(out))) as session,
    ):
        for frame in _frames(session, outcome, progress, watch):
            known = next(held, None)
            progress.replaying = known is not None
            if known is None:
                journal.append(frame.encoded)
            elif known.encoded != frame.encoded and not outcome.interrupted:
                raise RallyError(
                    f"{out} does not repeat: frame {frame.sequence} is not what it was before; "
                    f"what was played first is still in {part_path(out)}; "
                    "play it anew under another name"
                )
            watch.observe(progress)
    if outcome.interrupted and next(held, None) is not None:
        raise RallyError(
            f"interrupted before {out} was where it had been; nothing is lost: "
            f"go on with `{command_again(out, plan)}`"
        )
    return _sealed(bench, plan, out, journal, outcome)


def _go_on(bench: GoingOnBench, plan: Plan, out: Path, journal: Journal, watch: Watch) -> Rally:
    """Play the balls that a journal does not hold."""
    progress = Progress(planned=plan.protocol.balls)
    sequence = clock_ticks = 0
    for frame in journal.frames():
        sequence = frame.sequence + 1
        if frame.kind == wire.HELLO:
            progress.tick_hz = _tick_hz(frame, progress.tick_hz)
        elif frame.kind == wire.BALLS and frame.payload:
            progress.add(frame.payload)
            clock_ticks = int(records(frame.payload)["served"][-1])
    outcome = _Outcome(next_frame=sequence, progress=progress)
    if plan.umpire:
        outcome.umpire.append("the rally was interrupted: the capture ends there")
    if progress.balls < progress.planned:
        # a second of the clock stands for the pause, which nobody measured
        position = Position(progress.balls, sequence, clock_ticks + progress.tick_hz)
        session = bench.go_on(plan, part_path(out), position)
        progress.continued()
        with contextlib.closing(session):
            for frame in _frames(session, outcome, progress, watch):
                journal.append(frame.encoded)
                watch.observe(progress)
        if outcome.interrupted and progress.first_ball is None:
            raise NothingPlayedError(
                "interrupted before the next ball; nothing is lost: "
                f"go on with `{command_again(out, plan)}`"
            )
    return _sealed(bench, plan, out, journal, outcome)


def _sealed(bench: Bench, plan: Plan, out: Path, journal: Journal, outcome: _Outcome) -> Rally:
    """Seal what was played, unless it is nothing."""
    if outcome.interrupted and outcome.progress and not outcome.progress.balls:
        raise NothingPlayedError("interrupted before the first ball: nothing was kept")
    return _seal(bench, plan, out, journal, outcome)


def _tick_hz(hello: Frame, otherwise: int) -> int:
    """Return the instrument's ticks of a second, as its HELLO says."""
    try:
        found = json.loads(hello.payload)["tick_hz"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return otherwise
    return found if isinstance(found, int) and found > 0 else otherwise


def _frames(
    session: Session, outcome: _Outcome, progress: Progress, watch: Watch
) -> Iterator[Frame]:
    """Yield the frames of a session; when asked to stop, the rest still comes."""
    decoder = wire.Decoder()
    ending: list[bytes | None] = [None]
    for chunk in itertools.chain(session.chunks(), ending):
        if watch.stop() and not outcome.interrupted:
            outcome.interrupted = True
            session.stop()
        if not chunk:
            progress.doing = getattr(session, "doing", "")
            watch.observe(progress)
        # the chain's last link stands for the end
        for kind, sequence, payload in decoder.finish() if chunk is None else decoder.feed(chunk):
            outcome.lost_frames += (sequence - outcome.next_frame) & 0xFFFFFFFF
            outcome.next_frame = sequence + 1
            frame = Frame(kind, sequence, payload, wire.encode(kind, sequence, payload))
            if kind == wire.HELLO:
                progress.tick_hz = _tick_hz(frame, progress.tick_hz)
            elif kind == wire.BALLS:
                progress.add(payload)
                progress.doing = ""
            elif kind == wire.END:
                outcome.end = frame
            yield frame
    outcome.garbage_bytes = decoder.garbage_bytes


def _seal(bench: Bench, plan: Plan, out: Path, journal: Journal, outcome: _Outcome) -> Rally:
    part = part_path(out)
    try:
        known = bench.circumstances(plan, part)
    except (KeyError, ValueError) as error:
        why = plain(str(error), 200)
        raise RallyError(f"{part} was not written by tennis ({why}): play it anew") from error
    tick_hz = known.instrument.tick_hz
    counted = _count(outcome.end)
    noted = _noted(journal)
    misses, backwards = _odd(journal)
    faults = [
        *known.faults,
        *_faults(known, outcome, counted, noted),
        *_reported(known, noted),
        *_contradictions(plan, counted, _balls(journal), {**noted, "misses": misses}),
    ]
    if backwards:
        words = f"{format_count(backwards, 'ball')} served before the one before: flash it again"
        faults.append(Fault(code="clock_backwards", message=f"the instrument's clock: {words}"))
    ended: Literal["complete", "interrupted", "fault"] = "complete"
    if plan.bench == "pi" and outcome.all_missed:
        # a target that is not there; on the virtual bench the target itself says what is wrong
        faults = [fault for fault in faults if fault.code != "no_answer"]
        faults.insert(0, _no_answer(plan, known, noted, _balls(journal)))
        ended = "fault"
    elif not outcome.all_there and (counted is None or counted["reason"] != "complete"):
        ended = "interrupted" if outcome.interrupted and not faults else "fault"
    elif any(fault.code == "miscounted" for fault in faults):
        ended = "fault"
    manifest = Manifest(
        schema_version=1,
        bench=plan.bench,
        time_note=bench.time_note,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        operator=plan.operator,
        instrument=known.instrument,
        target=known.target,
        load=known.load,
        protocol=plan.protocol,
        counts=Counts(
            balls=0,  # balls and misses are counted when the table is written
            misses=0,
            strays=noted["stray"],
            doubles=noted["double"],
            late_serves=noted["late_serve"],
            runts=noted["runt"] + noted["unlisted"],
        ),
        line=known.line,
        ended=ended,
        faults=faults,
        tainted=bool(faults),
        tool=Tool(tennis=__version__, versions=plan.versions),
        files={},
    )

    def balls() -> Iterator[pa.RecordBatch]:
        return batches_from_frames(journal.payloads(wire.BALLS), tick_hz)

    if plan.umpire and plan.bench == "virtual" and _balls(journal):
        events = list(_events(known, journal, tick_hz))
        played = Played(plan.protocol, tick_hz, events, lambda: plain_balls(balls()))
        outcome.umpire.append(simulated(part, played))
    said = ({"what": "umpire", "text": words} for words in outcome.umpire)
    every = itertools.chain(_events(known, journal, tick_hz), said)
    return seal(part, out, manifest, balls(), every)


def _noted(journal: Journal) -> collections.Counter[str]:
    """Count the instrument's events by name: what is kept, also where no END came."""
    noted: collections.Counter[str] = collections.Counter()
    for payload in journal.payloads(wire.EVENTS):
        for _, what, value in _unpacked(payload):
            name = _name(what, value)
            noted[name] += value if name == "unlisted" else 1
    return noted


def _unpacked(payload: bytes) -> Iterator[tuple[int, int, int]]:
    """Return the records of an EVENTS frame: when, what, value. Raises RallyError."""
    if len(payload) % wire.EVENT_SIZE:
        raise RallyError(
            f"a frame holds {len(payload)} bytes, not a whole number of events: "
            "it was written by another version of the instrument; update the instrument"
        )
    return struct.iter_unpack(wire.EVENT, payload)


def _name(what: int, value: int) -> str:
    """Return what an event is called; an overrun that lost no edge has a name of its own."""
    name = wire.EVENT_NAMES.get(what, "unknown")
    which = wire.OVERRUNS.get(value)
    return which if name == "overrun" and which in {"no_ping", "undecided"} else name


def _count(end: Frame | None) -> dict[str, Any] | None:
    """Return the instrument's own counters, with the reason in words; None for a broken END."""
    if end is None or len(end.payload) != struct.calcsize(wire.END_FORMAT):
        return None
    names = ("reason", "balls", "misses", "strays", "doubles", "late_serves", "clock_ticks")
    counted: dict[str, Any] = dict(
        zip(names, struct.unpack(wire.END_FORMAT, end.payload), strict=True)
    )
    counted["reason"] = wire.END_REASONS.get(counted["reason"], "instrument_fault")
    return counted


def _faults(
    known: Circumstances,
    outcome: _Outcome,
    counted: dict[str, Any] | None,
    noted: collections.Counter[str],
) -> Iterator[Fault]:
    """Yield what the player itself saw go wrong, the cause first."""
    if counted is None:
        if not outcome.interrupted and not outcome.all_there:
            said = [event["text"] for event in known.events if event["what"] == "emulator"]
            why = f": {said[-1]}" if said else ""
            yield Fault(code="bench_ended", message=f"the bench ended without a word{why}")
    elif counted["reason"] != "complete" and not outcome.interrupted and not known.faults:
        # where the target, or the instrument, said what went wrong, that is the reason
        named = noted["overrun"] or noted["no_ping"] or noted["undecided"]
        if counted["reason"] != "instrument_fault" or not named:
            yield _fault(known, counted["reason"], REASONS[counted["reason"]])
    if outcome.lost_frames or outcome.garbage_bytes:
        text = f"{outcome.lost_frames} frames lost, {outcome.garbage_bytes} bytes of garbage"
        yield Fault(code="line_noise", message=f"between instrument and host: {text}")


def _reported(known: Circumstances, noted: collections.Counter[str]) -> Iterator[Fault]:
    """Yield the faults among the instrument's own events, each once with how often it came."""
    for code, (event, words) in REPORTED.items():
        if noted[event]:
            yield _fault(known, code, f"{words} ({format_count(noted[event], 'time')})")


def _contradictions(
    plan: Plan, counted: dict[str, Any] | None, balls: int, came: Mapping[str, int]
) -> Iterator[Fault]:
    """Yield what the instrument says of the end, and what came says otherwise."""
    planned = plan.protocol.balls
    complete = counted is not None and counted["reason"] == "complete"
    if balls > planned or (complete and balls != planned):
        words = f"{balls} balls came of {planned} planned"
        said = ", and the instrument calls that complete" if complete else ""
        yield Fault(code="miscounted", message=f"{words}{said}: flash the instrument again")
    if counted is None or counted["balls"] != balls:
        return  # its counters are those of its last play only
    for name, events in (
        ("misses", ("misses",)),
        ("strays", ("stray", "runt", "unlisted")),
        ("doubles", ("double",)),
    ):
        found = sum(came.get(event, 0) for event in events)
        if counted[name] != found:
            words = f"the instrument counted {counted[name]} {name}, but {found} came"
            yield Fault(code="miscounted", message=f"{words}: flash the instrument again")


def _fault(known: Circumstances, code: str, words: str) -> Fault:
    advice = known.advice.get(code)
    return Fault(code=code, message=f"{words}: {advice}" if advice else words)


def _no_answer(
    plan: Plan, known: Circumstances, noted: collections.Counter[str], balls: int
) -> Fault:
    """Say what it means that all balls were missed."""
    words = "no answer from the target"
    if noted["stray"] or noted["double"]:
        longer = "a longer --timeout-ms" if plan.protocol.loop == "closed" else "a lower --rate-hz"
        words = f"edges came, but no answer in time (with {longer} it may)"
    return _fault(known, "no_answer", f"{words}: all {balls} balls missed")


def _balls(journal: Journal) -> int:
    return sum(len(payload) for payload in journal.payloads(wire.BALLS)) // wire.BALL_SIZE


def _odd(journal: Journal) -> tuple[int, int]:
    """Count the misses, and the balls that were served before the one before them."""
    misses = backwards = last = 0
    for payload in journal.payloads(wire.BALLS):
        balls = records(payload)
        misses += int((balls["fall"] == wire.NONE_TICKS).sum())
        served = balls["served"]
        if served.size:
            backwards += int((served[1:] < served[:-1]).sum()) + bool(served[0] < last)
            last = served[-1]
    return misses, backwards


def _events(known: Circumstances, journal: Journal, tick_hz: int) -> Iterator[dict[str, Any]]:
    """Yield all events: the load's, the instrument's, the target's own."""
    if known.load.started_ns is not None:
        yield {"what": "load_started", "at_ns": known.load.started_ns, "load": known.load.name}
    for payload in journal.payloads(wire.EVENTS):
        for when, what, value in _unpacked(payload):
            name = wire.EVENT_NAMES.get(what, f"unknown_{what}")
            yield {"what": name, "at_ns": ticks_to_ns(when, tick_hz), "value": value}
    yield from known.events
