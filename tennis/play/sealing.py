"""Seal a played rally: faults, counts and events, from the journal."""

import collections
import datetime
import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tennis import __version__
from tennis.bench.protocol import Bench, RunRecord
from tennis.kit import wire
from tennis.kit.errors import RallyError
from tennis.kit.units import format_count, ticks_to_ns
from tennis.play import capture
from tennis.play.progress import Progress
from tennis.rally.balls import batches_from_frames, records
from tennis.rally.columns import Table
from tennis.rally.folder import CONSOLE, Rally
from tennis.rally.in_play import RallyInPlay
from tennis.rally.inside import is_drill_complete
from tennis.rally.journal import Frame, Journal
from tennis.rally.manifest import PROGRAM, Counts, Fault, Manifest, OnProcessor, Tool
from tennis.rally.plan import Plan
from tennis.rally.sealing import seal
from tennis.rally.text import plain
from tennis.report.umpire.agreement.rally_balls import plain_balls
from tennis.report.umpire.simulate import SimulatedRally

# what the instrument's reasons for an early end mean for the people at the bench
REASONS = {
    "no_answer": "the target stopped answering",
    "target_ended": "the target ended before the last ball",
    "never_ready": "the target did not get ready to play",
    "instrument_fault": "the instrument reported a fault",
    "stopped": "the rally was stopped at the instrument",
}
# other reports of the instrument that are faults: event -> code and words
REPORTED = {
    "overrun": ("overrun", "the instrument lost edges: they came faster than it could keep them"),
    "no_ping": ("no_ping", "the ping wire does not rise: something holds it low or high"),
    "undecided": (
        "undecided",
        "a ball was served while the last one waited for its answer: the reply wire has glitches",
    ),
    "held_line": ("held", "the reply line is held high: it was up when a ball was served"),
    "shot_hung": (
        "shot_hung",
        "the child of a shot did not end: its row is no answer of the target's",
    ),
    "shot_broke": ("shot_broke", "the child of a shot broke: its row is no answer of the target's"),
}
# the virtual bench's events about shots (target/virtual/instrument.c); a Brickwall has none
SHOT_EVENTS = {64: "shot_hung", 65: "shot_broke"}


@dataclass
class Ending:
    """The end of playing."""

    end: Frame | None = None
    interrupted: bool = False
    lost_frames: int = 0
    garbage_bytes: int = 0
    next_frame: int = 0  # its sequence number
    progress: Progress | None = None  # None: nothing was played now
    umpire: list[str] = field(default_factory=list)  # lines about the capture

    @property
    def all_there(self) -> bool:
        """Tell whether no ball is missing, whether END came or not."""
        return self.progress is not None and self.progress.balls >= self.progress.planned

    @property
    def all_missed(self) -> bool:
        """Tell whether there were balls and no answers."""
        return self.progress is not None and 0 < self.progress.balls == self.progress.misses


class _Judged(NamedTuple):
    """The end of a rally, and its faults."""

    ended: Literal["complete", "interrupted", "fault"]
    faults: list[Fault]


def seal_played(bench: Bench, in_play: RallyInPlay, outcome: Ending) -> Rally:
    """Seal what a rally's journal holds. Raises RallyError, DiskFullError."""
    plan, journal = in_play.plan, in_play.journal
    record = _run_record(bench, in_play)
    tick_hz = record.instrument.tick_hz
    totals = _totals(journal)
    manifest = _manifest(in_play, record, outcome, totals, bench.time_note(plan))

    def balls() -> Iterator[Table]:
        return batches_from_frames(journal.payloads(wire.BALLS), tick_hz)

    words = outcome.umpire
    if plan.umpire and plan.bench == "virtual" and totals.balls:
        events = list(_events(record, journal, tick_hz))
        played = SimulatedRally(
            plan.protocol, tick_hz, events, plain_balls(balls()), pinged=plan.drill is None
        )
        words = [*words, capture.simulated(in_play.part, played)]
    notes = ({"what": "umpire", "text": text} for text in words)
    every = itertools.chain(_events(record, journal, tick_hz), notes)
    return seal(in_play.part, in_play.out, manifest, balls(), every)


def _run_record(bench: Bench, in_play: RallyInPlay) -> RunRecord:
    """Return a bench's record of a rally. Raises RallyError if its notes are malformed."""
    try:
        return bench.circumstances(in_play.plan, in_play.part)
    except (KeyError, ValueError) as error:
        why = plain(str(error), 200)
        raise RallyError(
            f"{in_play.part} was not written by tennis ({why})", next_step="play it again"
        ) from error


def _judged(in_play: RallyInPlay, record: RunRecord, outcome: Ending, totals: "_Totals") -> _Judged:
    """Return the end of a rally, and its faults, the cause first."""
    plan = in_play.plan
    end_counts = counted_end(outcome.end)
    # of a replay: those that were recorded are found again
    faults = list(dict.fromkeys(_outcome_of_run(plan, record, outcome, end_counts, totals)))
    if totals.backwards:
        text = (
            f"{format_count(totals.backwards, 'ball')} served before the one before: flash it again"
        )
        faults.append(Fault(code="clock_backwards", message=f"the instrument's clock: {text}"))
    silent = plan.bench not in {"virtual", "replay"} or (plan.program and not record.faults)
    if silent and outcome.all_missed:
        # a target that is not there, or a program that only has its lines; on the virtual bench the
        # target itself reports other faults
        others = [fault for fault in faults if fault.code != "no_answer"]
        return _Judged("fault", [_no_answer(plan, record, totals), *others])
    if not outcome.all_there and (end_counts is None or end_counts["reason"] != "complete"):
        return _Judged("interrupted" if outcome.interrupted and not faults else "fault", faults)
    if any(fault.code == "miscounted" for fault in faults):
        return _Judged("fault", faults)
    if plan.drill and not plan.program and not is_drill_complete(in_play.part / CONSOLE):
        if not outcome.interrupted:
            text = "the target did not report all of its measurements"
            faults.append(Fault(code="not_told", message=text))
        return _Judged("fault" if faults else "interrupted", faults)
    missing = ""
    if not faults:
        missing = record.unchecked or ("" if end_counts else "the instrument's own count")
    if missing and outcome.interrupted:
        return _Judged("interrupted", faults)  # between its last ball and its end
    if missing:
        text = f"nobody knows what should have come after the last ball: {missing}"
        faults.append(Fault(code="not_closed", message=text))
    return _Judged("complete", faults)


def _outcome_of_run(
    plan: Plan,
    record: RunRecord,
    outcome: Ending,
    end_counts: dict[str, Any] | None,
    totals: "_Totals",
) -> Iterator[Fault]:
    """Yield what the bench, the player and the counts say went wrong; some may say the same."""
    yield from record.faults
    yield from _faults(record, outcome, end_counts, totals.noted)
    yield from _reported(record, totals.noted)
    yield from _contradictions(plan, end_counts, totals)
    yield from _unasked(plan, totals)
    is_program = plan.bottom_half == PROGRAM
    # what a target's side counts elsewhere for a Racquet is a fault of its own words
    yield from _counted_elsewhere(
        plan, _where(plan, record, totals) if is_program else totals.where
    )
    if is_program:
        yield from _raised_elsewhere(plan, totals.where)


def _manifest(
    in_play: RallyInPlay, record: RunRecord, outcome: Ending, totals: "_Totals", time_note: str
) -> Manifest:
    """Return the manifest, without the counts from writing the table of balls."""
    plan = in_play.plan
    where = _where(plan, record, totals)
    judged = _judged(in_play, record, outcome, totals)
    return Manifest(
        schema_version=2,
        bench=plan.bench,
        time_note=time_note,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        operator=plan.operator,
        instrument=record.instrument,
        target=record.target,
        load=record.load,
        protocol=plan.protocol,
        drill=plan.drill,
        counts=Counts(balls=0, misses=0, **instrument_counts(totals.noted), where=where),
        line=record.line,
        ended=judged.ended,
        faults=judged.faults,
        suspect=bool(judged.faults),
        tool=Tool(tennis=__version__, versions=plan.versions),
        files={},
    )


def instrument_counts(noted: collections.Counter[str]) -> dict[str, int]:
    """Return the manifest's counts besides balls and misses, from events by their names."""
    return {
        "strays": noted["stray"],
        "doubles": noted["double"],
        "late_serves": noted["late_serve"],
        "runts": noted["runt"] + noted["unlisted"],
    }


@dataclass(frozen=True)
class _Totals:
    """The balls and events, counted in one pass over the journal."""

    balls: int
    misses: int
    backwards: int  # balls that were served before the one before them
    noted: collections.Counter[str]  # the instrument's events by name, also without an END
    where: list[OnProcessor]  # as the instrument saw it; empty: it did not, or not to the end
    rested_up: bool = False  # the reply line fell between the first ping and its rise


def _totals(journal: Journal) -> _Totals:
    balls = misses = backwards = last = 0
    first_stray, first_ball = wire.NONE_TICKS, (0, 0)  # when; from the ping to its rise
    where: list[OnProcessor] = []
    noted: collections.Counter[str] = collections.Counter()
    for frame in journal.frames():
        if frame.kind == wire.EVENTS:
            for when, what, value in _unpacked(frame.payload):
                name = _name(what, value)
                if name == "stray" and not noted[name]:
                    first_stray = when
                noted[name] += value if name == "unlisted" else 1
        elif frame.kind == wire.BALLS:
            came = records(frame.payload)
            balls += came.size
            misses += int((came["fall"] == wire.NONE_TICKS).sum())
            served = came["served"]
            if served.size and balls == came.size and came["rise"][0] != wire.NONE_TICKS:
                first_ball = (int(served[0]), int(served[0]) + int(came["rise"][0]))
            if served.size:
                backwards += int((served[1:] < served[:-1]).sum()) + bool(served[0] < last)
                last = served[-1]
        elif frame.kind == wire.PLACES:
            where = _places_of(frame.payload)
    rested_up = first_ball[0] < first_stray < first_ball[1]
    return _Totals(balls, misses, backwards, noted, where, rested_up)


def _places_of(payload: bytes) -> list[OnProcessor]:
    """Return the records of a PLACES frame. Raises RallyError."""
    places = enumerate(_records(wire.PLACE, payload, "processors"))
    return [
        OnProcessor(processor=number, pings=pings, replies=replies, busy=busy)
        for number, (pings, replies, busy) in places
    ]


def _where(plan: Plan, record: RunRecord, totals: _Totals) -> list[OnProcessor]:
    """Return the counts of each processor, by the instrument, else by the target.

    The instrument sees the processor that raised the line. A Racquet's top half takes the ping
    there. A program raises the line by itself, and only the target knows the processor of its
    interrupt.
    """
    told = _where_pings_came(record, totals)
    if not totals.where or plan.bottom_half != PROGRAM:
        return totals.where or told
    came = {one.processor: one.pings for one in told}
    return [
        one.model_copy(update={"pings": came.get(one.processor, 0) if told else None})
        for one in totals.where
    ]


def _where_pings_came(record: RunRecord, totals: _Totals) -> list[OnProcessor]:
    """Return the target's counts of pings, unless it saw a part of them only."""
    whole = sum(one.pings or 0 for one in record.where) >= totals.balls - totals.misses
    return record.where if whole else []


def _unasked(plan: Plan, totals: "_Totals") -> Iterator[Fault]:
    """Yield that a program answers what nobody asked: then a short latency may be luck.

    An answer that came too late for its ball is an edge of no ball, too: one for each missed ball.
    """
    edges = totals.noted["stray"] + totals.noted["double"]
    if plan.program and not plan.drill and edges > totals.misses:
        text = "it answers before the ping, or more than once"
        words = f"the program raised its line {format_count(edges, 'time')} for no ball"
        yield Fault(code="unasked_answers", message=f"{words}: {text}")


def _counted_elsewhere(plan: Plan, where: list[OnProcessor]) -> Iterator[Fault]:
    """Yield faults for pings or replies that were counted on another processor than asked."""
    pings = {one.processor: one.pings or 0 for one in where}
    replies = {one.processor: one.replies or 0 for one in where}
    for option, asked, what, counts in (
        ("--interrupt-cpu", plan.interrupt_cpu, "pings were taken", pings),
        ("--bottom-half-cpu", plan.bottom_half_cpu, "replies were given", replies),
    ):
        elsewhere = {cpu: count for cpu, count in counts.items() if count and cpu != asked}
        if asked is not None and elsewhere:
            came = ", ".join(f"{count} on processor {cpu}" for cpu, count in elsewhere.items())
            text = f"{option} {asked}, and {what} elsewhere: {came}"
            yield Fault(code="counted_elsewhere", message=text)


def _raised_elsewhere(plan: Plan, where: list[OnProcessor]) -> Iterator[Fault]:
    """Yield a fault if a program raised its line on a wrong processor, as ``where`` shows."""
    elsewhere = [one for one in where if one.pings and one.processor != plan.bottom_half_cpu]
    if plan.bottom_half_cpu is not None and elsewhere:
        rose = ", ".join(f"{one.pings} on processor {one.processor}" for one in elsewhere)
        text = (
            f"--bottom-half-cpu {plan.bottom_half_cpu}, and the line was raised elsewhere: {rose}"
        )
        yield Fault(code="counted_elsewhere", message=text)


def _unpacked(payload: bytes) -> Iterator[tuple[int, int, int]]:
    """Return the records of an EVENTS frame: when, what, value. Raises RallyError."""
    return _records(wire.EVENT, payload, "events")


def _records(form: str, payload: bytes, what: str) -> Iterator[Any]:
    if len(payload) % struct.calcsize(form):
        raise RallyError(
            f"a frame holds {len(payload)} bytes, not a whole number of {what}: "
            "it was written by another version of the instrument",
            next_step="update the instrument",
        )
    return struct.iter_unpack(form, payload)


def _name(what: int, value: int) -> str:
    """Return an event's name; an overrun that lost no edge has a name of its own."""
    name = wire.EVENT_NAMES.get(what) or SHOT_EVENTS.get(what, "unknown")
    which = wire.OVERRUNS.get(value)
    return which if name == "overrun" and which in {"no_ping", "undecided"} else name


def counted_end(end: Frame | None) -> dict[str, Any] | None:
    """Return the instrument's own counters, with the reason in words; None for a broken END."""
    if end is None or len(end.payload) != struct.calcsize(wire.END_FORMAT):
        return None
    names = ("reason", "balls", "misses", "strays", "doubles", "late_serves", "clock_ticks")
    end_counts: dict[str, Any] = dict(
        zip(names, struct.unpack(wire.END_FORMAT, end.payload), strict=True)
    )
    end_counts["reason"] = wire.END_REASONS.get(end_counts["reason"], "instrument_fault")
    return end_counts


def _faults(
    record: RunRecord,
    outcome: Ending,
    end_counts: dict[str, Any] | None,
    noted: collections.Counter[str],
) -> Iterator[Fault]:
    """Yield what the player itself saw go wrong, the cause first."""
    if end_counts is None:
        if not outcome.interrupted and not outcome.all_there:
            texts = [event["text"] for event in record.events if event["what"] == "emulator"]
            why = f": {texts[-1]}" if texts else ""
            yield Fault(code="bench_ended", message=f"the bench ended without a word{why}")
    elif end_counts["reason"] != "complete" and not outcome.interrupted and not record.faults:
        # if the target, or the instrument, reported an error, that is the reason
        named = noted["overrun"] or noted["no_ping"] or noted["undecided"]
        if end_counts["reason"] != "instrument_fault" or not named:
            yield _fault(record, end_counts["reason"], REASONS[end_counts["reason"]])
    if outcome.lost_frames or outcome.garbage_bytes:
        text = f"{outcome.lost_frames} frames lost, {outcome.garbage_bytes} bytes of garbage"
        yield Fault(code="line_noise", message=f"between instrument and host: {text}")


def _reported(record: RunRecord, noted: collections.Counter[str]) -> Iterator[Fault]:
    """Yield the faults among the instrument's own events, each once with how often it came."""
    for code, (event, text) in REPORTED.items():
        if noted[event]:
            yield _fault(record, code, f"{text} ({format_count(noted[event], 'time')})")


def _contradictions(
    plan: Plan, end_counts: dict[str, Any] | None, totals: _Totals
) -> Iterator[Fault]:
    """Yield faults for counts in the instrument's END that the journal contradicts."""
    planned, balls = plan.protocol.balls, totals.balls
    complete = end_counts is not None and end_counts["reason"] == "complete"
    if balls > planned or (complete and balls != planned):
        text = f"{balls} balls came of {planned} planned"
        addition = ", and the instrument calls that complete" if complete else ""
        yield Fault(code="miscounted", message=f"{text}{addition}: flash the instrument again")
    if end_counts is None or end_counts["balls"] != balls:
        return  # its counters are those of its last play only
    noted = totals.noted
    for name, came in (
        ("misses", totals.misses),
        ("strays", noted["stray"] + noted["runt"] + noted["unlisted"]),
        ("doubles", noted["double"]),
    ):
        if end_counts[name] != came:
            text = f"the instrument counted {end_counts[name]} {name}, but {came} came"
            yield Fault(code="miscounted", message=f"{text}: flash the instrument again")


def _fault(record: RunRecord, code: str, message: str) -> Fault:
    advice = record.advice.get(code)
    return Fault(code=code, message=f"{message}: {advice}" if advice else message)


def _no_answer(plan: Plan, record: RunRecord, totals: _Totals) -> Fault:
    """Explain that all balls were missed."""
    text = "no answer from the target"
    if totals.rested_up:
        text = "the reply line was up before the first ball, and a reply begins with a rise"
    elif totals.noted["stray"] or totals.noted["double"]:
        longer = "a longer --timeout-ms" if plan.protocol.loop == "closed" else "a lower --rate-hz"
        text = f"edges came, but no answer in time (with {longer} it may)"
    return _fault(record, "no_answer", f"{text}: all {totals.balls} balls missed")


def _events(record: RunRecord, journal: Journal, tick_hz: int) -> Iterator[dict[str, Any]]:
    """Yield all events: the load's, the instrument's, the target's own."""
    if record.load.started_ns is not None:
        yield {"what": "load_started", "at_ns": record.load.started_ns, "load": record.load.name}
    for payload in journal.payloads(wire.EVENTS):
        for when, what, value in _unpacked(payload):
            name = wire.EVENT_NAMES.get(what) or SHOT_EVENTS.get(what, f"unknown_{what}")
            yield {"what": name, "at_ns": ticks_to_ns(when, tick_hz), "value": value}
    yield from record.events
