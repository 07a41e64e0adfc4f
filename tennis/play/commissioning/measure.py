"""The measurement of each step of a commissioning, and its judgement."""

import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tennis.bench.instruments import verifications
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Hello, Play
from tennis.bench.kernels.gpio_lines import racquet_lines
from tennis.bench.registry import bench_for
from tennis.bench.targets.snapshot import Snapshot
from tennis.kit import wire
from tennis.kit.errors import BenchError, TennisError, UsageError
from tennis.kit.units import NS_PER_S
from tennis.kit.wiring import wiring
from tennis.play.commissioning import misses
from tennis.play.commissioning.equipment import Equipment, StepError
from tennis.play.commissioning.record import Number, StepVerdict
from tennis.play.commissioning.steps import step
from tennis.play.commissioning.wires import WireTrial
from tennis.play.doctor.target import examine_facts
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.play.verification import Cause, Verification
from tennis.play.verify import verify
from tennis.rally import Rally
from tennis.rally.manifest import Manifest
from tennis.rally.memory import canonical
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.statistics.summary import summarize
from tennis.rally.text import plain
from tennis.report.umpire.rally import umpire

# of the rate: more is asked for than there can be
RATE_BALLS = 3000
RATE_GAP_NS, RATE_REPLY_NS = 2_000, 5_000
# no handler answers so soon: what does is the ping itself, by another way
OWN_PING_NS = 100
SEED = 1
# the cause in a verification -> the failure of a step
CAUSES: dict[Cause, str] = {
    "no jumper": "no jumper",
    "held": "held",
    "swapped": "swapped",
    "joined": "joined",
    "short": "short",
    "missed": "loose",
    "edges": "edges",
    "clocks": "clocks",
}


@dataclass
class Outcome:
    """The outcome of a step."""

    verdict: StepVerdict
    reason: str
    advice: str = ""
    failure: str = ""
    numbers: list[Number] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    serial: str = ""  # of the Pico that took part; no record has it

    def number(self, name: str, words: str, value: float, unit: str) -> None:
        """Add a number."""
        self.numbers.append(Number(name=name, words=words, value=float(value), unit=unit))

    def failed(self, failure: str, where: str, more: str = "") -> "Outcome":
        """Return the same as a failure of a step, in that step's words."""
        known = step(where).failure(failure)
        reason = f"{known.symptom}{f' ({more})' if more else ''}: {known.means}"
        return replace(self, verdict="fail", reason=reason, advice=known.mend, failure=failure)


@dataclass(frozen=True)
class Work:
    """The input of a step."""

    equipment: Equipment
    folder: Path  # of the record; rallies go into it
    watch: Watch


def _pico(work: Work) -> Outcome:
    """Find the Pico."""
    found = work.equipment.find()
    outcome = Outcome("pass", f"a Pico with MicroPython {found.micropython}", serial=found.serial)
    outcome.facts = {"micropython": found.micropython}
    if found.board:
        outcome.facts["board"] = found.board
    return outcome


def _flashed(work: Work) -> Outcome:
    """Bring the Pico to this checkout's firmware."""
    hello = work.equipment.flash()
    outcome = Outcome("pass", f"firmware {hello.firmware} runs", serial=hello.unique_id)
    outcome.facts = _facts_of(hello)
    outcome.number("tick_ns", "one tick", NS_PER_S / hello.tick_hz, "ns")
    outcome.notes = [f"this board needs {words}" for words in wiring().to_ground_words(hello.board)]
    return outcome


def _facts_of(hello: Hello) -> dict[str, str]:
    return {
        "board": hello.board,
        "micropython": hello.micropython,
        "firmware": hello.firmware,
        "firmware_sha256": hello.firmware_sha256,
    }


def _jumpers(work: Work) -> Outcome:
    """Verify with jumpers, and measure how fast the Pico is."""
    with work.equipment.jumpered() as brickwall:
        found = verify(brickwall, amount=work.equipment.amount)
        outcome = _verified(found, work)
        if found.verdict == "pass":
            outcome.number("rate_balls_s", "served and kept", _rate(brickwall), "balls/s")
            return outcome
    return _off(outcome, "jumpers", CAUSES.get(found.cause, "wrong delays"))


def _pair(work: Work) -> Outcome:
    """Verify with a second Pico: another crystal, and every phase of a tick."""
    with work.equipment.paired() as (brickwall, second):
        found = verify(brickwall, generator=second, amount=work.equipment.amount)
    outcome = _verified(found, work)
    if found.apart_ppm is not None:
        outcome.number("clocks_apart_ppm", "clocks apart", round(found.apart_ppm, 2), "ppm")
    if found.verdict == "pass":
        return outcome
    none = found.largest_error_ticks is None
    return _off(outcome, "pair", "no answers" if none else CAUSES.get(found.cause, "wrong delays"))


def _verified(verification: Verification, work: Work) -> Outcome:
    """Return a verification's measurements, and keep its record as ``verify`` does."""
    outcome = Outcome("pass", verification.reason, serial=verification.hello.unique_id)
    tick_ns = NS_PER_S / verification.hello.tick_hz
    if verification.balls:
        outcome.number("balls", "known delays measured", verification.balls, "balls")
    if verification.largest_error_ticks is not None:
        error = verification.largest_error_ticks
        outcome.number("largest_error_ns", "largest error", error * tick_ns, "ns")
    if verification.loop_ns is not None:
        outcome.number("loop_ns", "loop of wires and pads", verification.loop_ns, "ns")
    if verification.width_ns is not None:
        outcome.number("width_ns", "edges apart", verification.width_ns, "ns")
    verifications.keep(verification.record(work.equipment.kind))
    return outcome


def _off(outcome: Outcome, where: str, failure: str) -> Outcome:
    """Return the same as a failure; the verification's own words describe it."""
    advice = step(where).failure(failure).mend
    return replace(outcome, verdict="fail", advice=advice, failure=failure)


def _rate(brickwall: Brickwall) -> float:
    """Return how many balls a second of its own the Pico serves, times and sends."""
    tick_hz = brickwall.hello().tick_hz
    ticks = RATE_REPLY_NS * tick_hz // NS_PER_S
    brickwall.command(
        "generate",
        pairs=1,
        seed=SEED,
        rise_min_ticks=ticks,
        rise_max_ticks=ticks + 1,
        width_min_ticks=ticks,
        width_max_ticks=ticks + 1,
        source="jumpers",
    )
    served: list[int] = []
    asked = Play(
        balls=RATE_BALLS,
        seed=SEED,
        loop="closed",
        gap_min_ns=RATE_GAP_NS,
        gap_max_ns=RATE_GAP_NS,
        period_ns=0,
        pulse_ns=1_000,
        timeout_ns=1_000_000,
        settle_ns=1_000_000,
        give_up_ns=10_000_000_000,
    )
    try:
        for frame in brickwall.play(asked):
            if frame is not None and frame[0] == wire.BALLS:
                served += [ball[0] for ball in struct.iter_unpack(wire.BALL, frame[2])]
    finally:
        brickwall.end_play()
        brickwall.command("quiet")
    if len(served) < RATE_BALLS:
        raise BenchError(
            f"the Brickwall kept {len(served)} of {RATE_BALLS} balls",
            next_step="look at its red LED, and do the step again",
        )
    return round((len(served) - 1) * tick_hz / (served[-1] - served[0]), 1)


def _target(work: Work) -> Outcome:
    """Reach the target, and be root there."""
    work.equipment.rights()
    seen = work.equipment.facts()
    outcome = Outcome("pass", "commands run there as root")
    outcome.facts = _lines_of(seen, "model", "system", "machine")
    return outcome


def _kernel(work: Work) -> Outcome:
    """Look at the target's kernel as the doctor does."""
    seen = work.equipment.facts()
    findings = list(examine_facts(seen))
    if work.equipment.kind == "emulated" and not seen.pairs("modules"):
        # the virtual bench brings a Racquet and its lines along when it plays
        findings = [finding for finding in findings if finding.what not in {"Racquet", "lines"}]
    bad = [finding for finding in findings if finding.verdict == "bad"]
    outcome = Outcome("pass", f"{seen.line('release') or 'a kernel'} would spoil no rally")
    outcome.facts = {
        "flavour": seen.flavour,
        **_lines_of(seen, "release", "version", "clocksource"),
    }
    if governors := sorted(set(seen.pairs("governor").values())):
        outcome.facts["governor"] = ", ".join(governors)
    outcome.facts |= _lines(seen)
    outcome.notes = [plain(f.words, 300) for f in findings if f.verdict == "note"]
    if bad:
        words = "; ".join(plain(f"{f.what}: {f.found}", 300) for f in bad)
        outcome.verdict, outcome.reason = "fail", words
        outcome.advice = "; ".join(dict.fromkeys(plain(f.advice, 200) for f in bad if f.advice))
        outcome.failure = "unsound"
    return outcome


def _lines_of(snapshot: Snapshot, *names: str) -> dict[str, str]:
    return {name: plain(line, 200) for name in names if (line := snapshot.line(name))}


def _lines(snapshot: Snapshot) -> dict[str, str]:
    """Return the lines that a loaded Racquet has, as the kernel tells them."""
    held = racquet_lines(snapshot)
    if held is None:
        return {}
    return {f"{use}_line": f"{line} of {held.chip}" for use, line in held.offsets.items()}


def _ping(work: Work) -> Outcome:
    """Look at the ping wire, with the help of the target's count."""
    seen, outcome = _wires(work)
    if failure := seen.judge_ping():
        return outcome.failed(failure, "ping", _count(seen, "ping", failure))
    if seen.counted is None:
        outcome.verdict = "left out"
        outcome.reason = "no target was named, which could count: the reply wire's step will tell"
        return outcome
    outcome.reason = f"the target counted {seen.counted} of {seen.balls} pings"
    return outcome


def _reply(work: Work) -> Outcome:
    """Look at both wires."""
    seen, outcome = _wires(work)
    where, failure = seen.judge_reply()
    if failure:
        return outcome.failed(failure, where, _count(seen, where, failure))
    outcome.reason = f"the line rests low, {seen.answered} of {seen.balls} pings are answered"
    return outcome


def _count(trial: WireTrial, where: str, failure: str) -> str:
    """Name the evidence of a failure, besides the pads; empty if nothing was played."""
    if (where, failure) == ("ping", "short"):
        return trial.short
    if not trial.balls:
        return ""
    if where == "ping" and trial.counted is not None:
        return f"{trial.counted} of {trial.balls} counted"
    return f"{trial.answered} of {trial.balls} answered"


def _wires(work: Work) -> tuple[WireTrial, Outcome]:
    """Try both wires; return the trial, and an outcome with its numbers."""
    with work.equipment.wired() as (brickwall, count):
        serial = brickwall.hello().unique_id
        seen = WireTrial.of(brickwall, count)
    outcome = Outcome("pass", "", serial=serial)
    outcome.number("pings", "pings served", seen.balls, "")
    outcome.number("answered", "answered", seen.answered, "")
    if seen.counted is not None:
        outcome.number("counted", "counted by the target", seen.counted, "")
    outcome.facts = {"reply_at_rest": seen.resting}
    return seen, outcome


def _rally(work: Work, name: str, load_name: str) -> Outcome:
    bench, plan = work.equipment.rally(load_name)
    rally = play(bench, plan, work.folder / name, work.watch)
    outcome = Outcome("pass", "", serial=rally.manifest.instrument.serial or "")
    summary = summarize(rally)
    outcome.number("balls", "balls", rally.balls, "")
    outcome.number("misses", "missed", rally.misses, "")
    medians = _medians(rally)
    for kind, median in medians.items():
        outcome.number(f"{kind}_median_ns", f"{kind} latency, median", median, "ns")
    for kind in ("interrupt", "scheduling"):
        latency = getattr(summary, f"{kind}_ns")
        if latency.max is not None:
            outcome.number(f"{kind}_max_ns", f"{kind} latency, latest", latency.max, "ns")
    outcome.facts = {"kernel": rally.manifest.target.kernel, "load": rally.manifest.load.name}
    outcome.notes = [plain(f"{f.code}: {f.message}", 300) for f in rally.manifest.faults]
    if rally.manifest.suspect or rally.manifest.ended != "complete" or rally.misses:
        why = outcome.notes[0] if outcome.notes else f"{rally.misses} of {rally.balls} missed"
        return outcome.failed("faults", "idle", why)
    if medians["interrupt"] < OWN_PING_NS:
        return outcome.failed("own ping", "idle", f"median {medians['interrupt']:.0f} ns")
    outcome.reason = f"{rally.balls} balls, none missed"
    _beside_virtual(work, name, load_name, outcome, rally)
    return outcome


def _medians(rally: Rally) -> dict[str, float]:
    """Return the medians in ns; none among missed balls."""
    summary = summarize(rally)
    medians = {"interrupt": summary.interrupt_ns.median, "scheduling": summary.scheduling_ns.median}
    return {kind: float(median) for kind, median in medians.items() if median is not None}


def _virtual(played: Manifest) -> str:
    """Return the kernel of the virtual bench that is nearest to one that was played on."""
    return played.target.kernel if played.target.kernel in {"mainline", "rt"} else "mainline"


def _beside_virtual(work: Work, name: str, load_name: str, outcome: Outcome, rally: Rally) -> None:
    """Play the same on the virtual bench, with its own instrument, or note why it cannot."""
    virtual = work.folder / f"{name}-virtual"
    try:
        kernel = _virtual(rally.manifest)
        request = RallyRequest(bench="virtual", kernel=kernel, load=load_name)
        plan = plan_for(request, Serving())
        plan = plan.model_copy(update={"protocol": rally.manifest.protocol})
        beside = play(bench_for(plan), plan, virtual, work.watch)
    except (BenchError, UsageError) as error:
        outcome.notes.append(f"not compared with the virtual bench: {plain(str(error), 300)}")
        return
    mine = _medians(rally)
    outcome.facts["virtual_kernel"] = beside.manifest.target.release
    for kind, median in _medians(beside).items():
        outcome.number(
            f"virtual_{kind}_median_ns",
            f"{kind} latency, median on the virtual bench",
            median,
            "ns",
        )
        if median and kind in mine:
            times = round(mine[kind] / median, 3)
            outcome.number(
                f"{kind}_times_virtual", f"{kind} median over the virtual one", times, ""
            )


def _looked_on(work: Work) -> Outcome:
    """Play a rally while an analyser looks on."""
    bench, plan = work.equipment.rally("idle", umpire=True)
    rally = play(bench, plan, work.folder / "umpire", work.watch)
    found = umpire(rally)
    verdict: StepVerdict = "pass" if found.verdict == "pass" else "fail"
    outcome = Outcome(verdict, found.reason, serial=rally.manifest.instrument.serial or "")
    outcome.number("balls", "balls compared", found.balls, "")
    for kind in ("interrupt", "scheduling"):
        difference: Any = getattr(found, kind)
        if difference is not None:
            outcome.number(f"{kind}_bias_ns", f"{kind} bias", round(difference.bias_ns, 2), "ns")
    if found.clock_ci is not None and found.clock is not None:
        outcome.number("clocks_apart_ppm", "clocks apart", round(found.clock.ppm, 2), "ppm")
    return outcome


def _missed(work: Work) -> Outcome:
    """Count what the board's processor misses for a ball, beside what the model misses."""
    without = work.equipment.misses(with_balls=False)  # first: it says at once if nothing counts
    bench, plan = work.equipment.rally("idle")
    count = partial(work.equipment.misses, with_balls=True)
    with ThreadPoolExecutor(1) as pool:
        counted = pool.submit(count)
        rally = play(bench, plan, work.folder / "misses", work.watch)
        found = counted.result().of_a_ball(without)
    outcome = Outcome("pass", "", serial=rally.manifest.instrument.serial or "")
    for event, times in found.items():
        outcome.number(f"{event}_a_ball", f"{event}, a ball", round(times, 2), "")
    profile = misses.profile_of(work.equipment.facts().line("model") or "")
    if not profile:
        outcome.notes.append("not compared with the model: no memory profile of this board")
        outcome.reason = "all five were counted, and no profile is of this board"
        return outcome
    played = rally.manifest
    try:
        beside = misses.of_the_model(
            _virtual(played), played.protocol, profile, work.folder / "misses", work.watch
        )
    except (BenchError, UsageError) as error:
        outcome.notes.append(f"not compared with the model: {plain(str(error), 300)}")
        outcome.reason = "all five were counted, and the model was not played"
        return outcome
    outcome.facts = {"memory": str(canonical(profile))}
    for event, times in beside.items():
        words = f"{event}, a ball of the memory profile"
        outcome.number(f"virtual_{event}_a_ball", words, round(times, 2), "")
    near = [event for event in found if misses.near(found[event], beside[event])]
    outcome.reason = (
        f"all five were counted; {len(near)} of them are within a factor of {misses.WITHIN:g} "
        f"of the model's ({profile})"
    )
    return outcome


MEASURES: dict[str, Callable[[Work], Outcome]] = {
    "pico": _pico,
    "firmware": _flashed,
    "jumpers": _jumpers,
    "pair": _pair,
    "target": _target,
    "kernel": _kernel,
    "ping": _ping,
    "reply": _reply,
    "idle": lambda work: _rally(work, "idle", "idle"),
    "load": lambda work: _rally(work, "load", "stress"),
    "misses": _missed,
    "umpire": _looked_on,
}


def measure(name: str, work: Work) -> Outcome:
    """Do a step; an error becomes its outcome."""
    try:
        return MEASURES[name](work)
    except StepError as error:
        return _step_failed(error, error.failure)
    except TennisError as error:
        return _step_failed(error)


def _step_failed(error: TennisError, failure: str = "") -> Outcome:
    """Return the outcome of what could not be measured."""
    if error.next_step:
        return Outcome("fail", error.message, error.next_step, failure)
    return Outcome("fail", *error.finding, failure)
