# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The thesis' black-box check of the instrument: delays that are known, measured ball by ball.

A generator answers each ping after a known time. Whatever is between the pads of the pins is
ignored: what the Brickwall says is compared with what is known.
"""

import contextlib
import datetime
import struct
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tennis import wire
from tennis.bench.instruments import emulated, verifications
from tennis.bench.instruments.brickwall import Brickwall, Hello, Play
from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.ports import the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.bench.patience import Patience
from tennis.errors import BenchError, TennisError, UsageError
from tennis.listener import say
from tennis.play.known_delays import Amount, DelaySetting, settings
from tennis.rally.manifest import Verdict, VerificationRecord
from tennis.units import NS_PER_S, format_count
from tennis.wiring import wiring

Source = Literal["jumpers", "internal"]
Kind = Literal["interrupt", "scheduling"]

TOLERANCE_TICKS = 1
# what a second Pico adds: its input synchroniser, and a crystal of its own (both: 30 ppm)
SYNCHRONISER_TICKS = (2, 3)
CRYSTALS = 60e-6
GAP_NS = (20_000, 60_000)
ALLOWANCE_NS = 5_000_000  # an answer so late is a miss


@dataclass(frozen=True)
class Point:
    """What was measured of one setting; of many balls, the one with the largest error."""

    what: str
    kind: Kind
    true_ns: float | None
    measured_ns: float | None  # None: nothing was measured
    error_ticks: int | None
    balls: int
    wrong: int  # further off than allowed
    misses: int
    thesis_error_us: float | None

    def with_more(self, more: "Point") -> "Point":
        """Return the point of the balls of both."""
        worse = max(self, more, key=lambda p: -1 if p.error_ticks is None else abs(p.error_ticks))
        return replace(
            worse,
            balls=self.balls + more.balls,
            wrong=self.wrong + more.wrong,
            misses=self.misses + more.misses,
        )


@dataclass
class Verification:
    """All that a verification found."""

    verdict: Verdict
    reason: str  # with a next step where it is not a pass
    hello: Hello
    source: Literal["jumpers", "internal", "second Pico"]
    tolerance: str
    points: list[Point] = field(default_factory=list)

    def add(self, points: list[Point]) -> None:
        """Take the points of a setting; those of random delays are one."""
        last = self.points[-2:]
        if points[0].what == "random" and last and last[0].what == "random":
            self.points[-2:] = [
                before.with_more(more) for before, more in zip(last, points, strict=True)
            ]
        else:
            self.points += points

    @property
    def balls(self) -> int:
        """Return how many balls were measured."""
        return sum(p.balls - p.misses for p in self.points if p.kind == "interrupt")

    @property
    def largest_error_ticks(self) -> int | None:
        """Return the largest error of any ball, either way; None where none was measured."""
        errors = [abs(p.error_ticks) for p in self.points if p.error_ticks is not None]
        return max(errors, default=None)

    def record(self, kind: Literal["physical", "emulated"]) -> VerificationRecord:
        """Return what is kept of it."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return VerificationRecord(
            serial=self.hello.unique_id,
            firmware_sha256=self.hello.firmware_sha256,
            tick_hz=self.hello.tick_hz,
            date=now,
            verdict=self.verdict,
            reason=self.reason,
            balls=self.balls,
            largest_error_ticks=self.largest_error_ticks,
            kind=kind,
            source=self.source,
        )

    def as_json(self) -> dict[str, Any]:
        """Return what ``tennis brickwall verify --json`` prints."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "instrument": self.hello.model_dump(
                include={"unique_id", "firmware_sha256", "tick_hz"}
            ),
            "source": self.source,
            "tolerance": self.tolerance,
            "balls": self.balls,
            "largest_error_ticks": self.largest_error_ticks,
            "points": [asdict(point) for point in self.points],
        }


def verify(
    brickwall: Brickwall,
    *,
    source: Source = "jumpers",
    generator: Brickwall | None = None,
    amount: Amount | None = None,
    done: Callable[[list[Point]], None] = lambda _: None,
) -> Verification:
    """Measure known delays. ``generator``: a second Pico that makes them; ``done`` gets each point.

    Raises BenchError where there is no instrument to verify; whatever happens later is in the
    verdict.
    """
    hello = brickwall.end_play()  # for a host that was killed
    second = generator.hello() if generator else None
    check = _Check(hello.tick_hz, second.tick_hz if second else None)
    verification = Verification(
        "not run", "", hello, "second Pico" if generator else source, check.tolerance()
    )
    _quiet(brickwall)  # a verification that was killed left it on
    why_not = "" if generator else _not_wired(brickwall, source)
    if why_not:
        verification.reason = why_not
        return verification
    maker = generator or brickwall
    try:
        for setting in settings((second or hello).tick_hz, amount or Amount()):
            arguments = {
                "pairs": setting.pairs,
                "seed": setting.seed,
                "rise_min_ticks": setting.rise_ticks[0],
                "rise_max_ticks": setting.rise_ticks[1],
                "width_min_ticks": setting.width_ticks[0],
                "width_max_ticks": setting.width_ticks[1],
            }
            maker.command("generate", **arguments, source="jumpers" if generator else source)
            played, trouble = _measure(brickwall, setting, (second or hello).tick_hz)
            points = check.points(setting, played)
            verification.add(points)
            done(points)
            if trouble:
                verification.verdict, verification.reason = "fail", trouble
                break
            if len(played) < setting.balls:
                verification.verdict = "inconclusive"
                verification.reason = (
                    f"the Brickwall ended after {len(played)} of {setting.balls} balls: "
                    "look at its red LED, and verify it again"
                )
                break
            if points[0].misses == setting.balls:
                break  # all others would be missed as well
    except (LinkLostError, BenchError) as error:
        verification.verdict = "inconclusive"
        verification.reason = str(error)
        return verification
    finally:
        _end(brickwall, maker)
    if verification.verdict == "not run":
        verification.verdict, verification.reason = _judge(
            verification.points, second=generator is not None
        )
    return verification


def _end(brickwall: Brickwall, maker: Brickwall) -> None:
    """Leave nothing behind: no play of which nobody takes the balls, no generator."""
    with contextlib.suppress(TennisError):
        brickwall.end_play()
    _quiet(maker)


def _quiet(maker: Brickwall) -> None:
    try:
        maker.command("quiet")
    except TennisError:
        return  # what is gone makes no noise


def _not_wired(brickwall: Brickwall, source: Source) -> str:
    """Say why known delays cannot reach the instrument; empty where they can."""
    seen = brickwall.wires()
    if source == "internal":
        reply = seen["reply"]
        if reply["pulled_up"] == reply["pulled_down"]:
            return "something drives the reply wire: unplug the target, and verify again"
        return ""
    if seen["ping_to_listen"] and seen["answer_to_reply"]:
        return ""
    ends = {
        "ping to listen": seen["ping_to_listen"],
        "answer to reply": seen["answer_to_reply"],
    }
    missing = " and ".join(name for name, there in ends.items() if not there)
    return (
        f"no jumper from {missing}: unplug the target, put the jumpers {wiring().jumper_words()} "
        "in, or use --source internal"
    )


def _measure(
    brickwall: Brickwall, setting: DelaySetting, tick_hz: int
) -> tuple[list[tuple[int, int]], str]:
    """Play the balls of a setting; return (rise, fall) of each in ticks, and what was odd."""
    longest = (setting.rise_ticks[1] + setting.width_ticks[1]) * NS_PER_S // tick_hz
    play = Play(
        balls=setting.balls,
        seed=setting.seed,
        loop="closed",
        gap_min_ns=GAP_NS[0],
        gap_max_ns=GAP_NS[1],
        period_ns=0,
        pulse_ns=1_000,
        timeout_ns=longest + ALLOWANCE_NS,
        settle_ns=1_000_000,
        give_up_ns=1_000_000_000,
    )
    balls: list[tuple[int, int]] = []
    strays = doubles = 0
    for frame in brickwall.play(play):
        if frame is not None and frame[0] == wire.BALLS:
            balls += [ball[1:] for ball in struct.iter_unpack(wire.BALL, frame[2])]
        elif frame is not None and frame[0] == wire.END:
            if len(frame[2]) != struct.calcsize(wire.END_FORMAT):
                raise BenchError("the Brickwall's END is none", next_step="flash it again")
            _, _, _, strays, doubles, _, _ = struct.unpack(wire.END_FORMAT, frame[2])
    if strays or doubles:
        return balls, (
            f"{strays} strays and {doubles} doubles among known answers: check the wires, and "
            "verify again with --source internal"
        )
    return balls, ""


@dataclass(frozen=True)
class _Check:
    """Compares what was measured with what is known."""

    tick_hz: int  # of the instrument
    generator_hz: int | None  # None: the instrument's own generator, on the same clock

    def tolerance(self) -> str:
        if self.generator_hz is None:
            return f"{TOLERANCE_TICKS} tick"
        low, high = SYNCHRONISER_TICKS
        return (
            f"{TOLERANCE_TICKS} tick, the second Pico's synchroniser ({low} to {high} of its "
            f"ticks, interrupt only), and {CRYSTALS * 1e6:.0f} ppm between two crystals"
        )

    def points(self, setting: DelaySetting, played: list[tuple[int, int]]) -> list[Point]:
        """Return the worst ball of each kind."""
        delays = setting.delays()
        known = [delays[index % setting.pairs] for index in range(len(played))]
        misses = sum(wire.NONE_TICKS in ball for ball in played)
        points = []
        kinds: tuple[Kind, Kind] = ("interrupt", "scheduling")
        for which, kind in enumerate(kinds):
            worst: tuple[int, float, int] | None = None  # error, true ns, measured ticks
            wrong = 0
            for (rise, fall), pair in zip(played, known, strict=True):
                if wire.NONE_TICKS in {rise, fall}:
                    continue
                measured = rise if which == 0 else fall - rise
                error, right = self._compare(pair[which], measured, synchronised=which == 0)
                wrong += not right
                if worst is None or abs(error) > abs(worst[0]):
                    hz = self.generator_hz or self.tick_hz
                    worst = error, pair[which] * NS_PER_S / hz, measured
            points.append(
                Point(
                    what=setting.what,
                    kind=kind,
                    true_ns=worst[1] if worst else None,
                    measured_ns=worst[2] * NS_PER_S / self.tick_hz if worst else None,
                    error_ticks=worst[0] if worst else None,
                    balls=len(played),
                    wrong=wrong,
                    misses=misses,
                    thesis_error_us=setting.thesis_us[which] if setting.thesis_us else None,
                )
            )
        return points

    def _compare(self, known: int, measured: int, *, synchronised: bool) -> tuple[int, bool]:
        """Return the error in ticks, and whether it is allowed."""
        if self.generator_hz is None:
            error = measured - known
            return error, abs(error) <= TOLERANCE_TICKS
        ratio = self.tick_hz / self.generator_hz
        low, high = SYNCHRONISER_TICKS if synchronised else (0, 0)
        error = round(measured - (known + (low + high) / 2) * ratio)
        earliest = (known + low) * ratio * (1 - CRYSTALS) - TOLERANCE_TICKS
        latest = (known + high) * ratio * (1 + CRYSTALS) + TOLERANCE_TICKS
        return error, earliest <= measured <= latest


def _judge(points: list[Point], *, second: bool) -> tuple[Verdict, str]:
    wrong = sum(point.wrong for point in points)
    misses = sum(point.misses for point in points if point.kind == "interrupt")
    balls = sum(point.balls for point in points if point.kind == "interrupt")
    if misses == balls and second:
        return "not run", "no answer from the second Pico: check its wires and its firmware"
    if misses:
        return "fail", (
            f"{misses} of {balls} known answers were missed: check the wires, and verify again "
            "with --source internal"
        )
    if wrong:
        return "fail", (
            f"{wrong} times of {2 * balls} were further off than allowed: do not measure with "
            "this Brickwall; flash it again, and report it"
        )
    return "pass", f"every one of {balls} balls within the tolerance"


# an emulated Pico takes its time over long delays
EMULATED_BALLS = 20


@dataclass(frozen=True)
class VerifyRequest:
    """The options of ``tennis brickwall verify``."""

    bench: Literal["pi", "virtual"] = "pi"
    port: str | None = None
    generator_port: str | None = None
    source: Source = "jumpers"
    balls: int | None = None


def jumpered_pico(*arguments: str) -> Brickwall:
    """Return the Brickwall's firmware on an emulated Pico, with the jumpers of the self-test.

    ``arguments`` go to the emulator besides.
    """
    known = wiring()
    pins = [
        f"{known.wire(jumper.origin).pico_gpio}-{known.wire(jumper.to).pico_gpio}"
        for jumper in known.jumpers
    ]
    return Brickwall(
        emulated.start(["--connect", ",".join(pins), *arguments]), patience=Patience(reconnect_s=0)
    )


@contextlib.contextmanager
def _closed_after(brickwall: Brickwall) -> Iterator[Brickwall]:
    try:
        yield brickwall
    finally:
        brickwall.close()


def keep(record: VerificationRecord) -> Path | None:
    """Keep a record and return its file; where nothing was found out, an earlier one stays."""
    return verifications.write(record) if record.verdict in {"pass", "fail"} else None


def run(asked: VerifyRequest) -> tuple[Verification, VerificationRecord]:
    """Verify, and say now and then how far it is. What was found must still be kept (``keep``).

    Raises TennisError where there is no instrument to verify, or no place for its record.
    """
    verifications.prepare()
    count = 0

    def done(points: list[Point]) -> None:
        nonlocal count
        before = count
        count += points[0].balls
        if count // 1000 > before // 1000:
            say(f"{format_count(count, 'ball')}, now at {points[0].what}")

    with contextlib.ExitStack() as stack:
        generator = None
        if asked.bench == "virtual":
            brickwall = stack.enter_context(_closed_after(jumpered_pico()))
        else:
            port = the_port(asked.port)
            if asked.generator_port == port:
                raise UsageError(
                    f"{port} is the Brickwall's own port: --generator-port is that of a second Pico"
                )
            link = SerialLink(port)
            brickwall = stack.enter_context(_closed_after(Brickwall(link)))
            if asked.generator_port:
                second = Brickwall(SerialLink(asked.generator_port))
                generator = stack.enter_context(_closed_after(second))
        real = asked.bench == "pi" and "://" not in brickwall.link.name
        each = asked.balls or (Amount.each if asked.bench == "pi" else EMULATED_BALLS)
        verification = verify(
            brickwall, source=asked.source, generator=generator, amount=Amount(each), done=done
        )
    return verification, verification.record("physical" if real else "emulated")
