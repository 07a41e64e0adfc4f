# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The thesis' black-box check of the instrument: delays that are known, measured ball by ball.

A generator answers each ping after a known time. Two questions are kept apart:

- Is the instrument biased? Its own generator answers inside of the chip, at half the clock: there is
  no wire, and the pads take less than a tick. Every ball must be right to the tick.
- What is between ping and answer? Wires and pads delay all balls alike. This constant is measured,
  must be one that such wires can have (loop_delay.py), and is taken off; no ball may differ from the
  others by more than the rounding to ticks.
"""

import contextlib
import datetime
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tennis import wire
from tennis.bench.instruments import emulated, verifications
from tennis.bench.instruments.brickwall import Brickwall, CommandError, Hello, Play
from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.ports import the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.bench.patience import Patience
from tennis.errors import BenchError, TennisError, UsageError
from tennis.listener import say
from tennis.play.known_delays import Amount, DelaySetting, settings
from tennis.play.loop_delay import CRYSTALS, STATISTICS_TICKS, WANDER, Clocks, Common, Loop, common
from tennis.rally.manifest import Verdict, VerificationRecord
from tennis.units import NS_PER_S, format_count
from tennis.wiring import wiring

Source = Literal["jumpers", "internal"]
Kind = Literal["interrupt", "scheduling"]

GAP_NS = (20_000, 60_000)
ALLOWANCE_NS = 5_000_000  # an answer so late is a miss
# where the bias is measured: at half the clock, and at no less than USB needs of clk_sys
SLOWEST_HZ = 48_000_000
MHZ = 1_000_000
CORE_MV = (1100, 1150, 1250)  # the least that carries the clock is taken
# of a pad behind whose wire the generator listens (RP2040's register INPUT_SYNC_BYPASS: 2 flip-flops)
SYNCHRONISER_TICKS = 2
BIAS = DelaySetting("bias", 32, 2040, (2, 300), (3, 300), 64)


@dataclass(frozen=True)
class Point:
    """What was measured of one setting; of many balls, the one with the largest error."""

    what: str
    kind: Kind
    true_ns: float | None
    measured_ns: float | None  # None: nothing was measured
    error_ticks: int | None  # without what all balls have in common
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
    loop_ns: float | None = None  # by which all answers came later: wires and pads
    width_ns: float | None = None  # by which all answers were longer
    apart_ppm: float | None = None  # two crystals; None: there is one

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
            "loop_ns": self.loop_ns,
            "width_ns": self.width_ns,
            "apart_ppm": self.apart_ppm,
            "balls": self.balls,
            "largest_error_ticks": self.largest_error_ticks,
            "points": [asdict(point) for point in self.points],
        }


Played = list[tuple[int, int]]  # (rise, fall) of each ball, in ticks of the instrument


def verify(
    brickwall: Brickwall,
    *,
    source: Source = "jumpers",
    generator: Brickwall | None = None,
    amount: Amount | None = None,
    done: Callable[[DelaySetting], None] = lambda _: None,
) -> Verification:
    """Measure known delays. ``generator``: a second Pico that makes them; ``done`` gets each setting.

    Raises BenchError where there is no instrument to verify; whatever happens later is in the
    verdict.
    """
    hello = brickwall.end_play()  # for a host that was killed
    second = generator.hello() if generator else None
    clocks = Clocks(hello.tick_hz, second.tick_hz if second else None)
    check = _Check(clocks, _loop(source))
    verification = Verification(
        "not run", "", hello, "second Pico" if generator else source, check.tolerance()
    )
    maker = generator or brickwall
    _quiet(brickwall)  # a verification that was killed left it on
    _quiet(maker)
    verification.reason = _not_wired(brickwall, "internal" if generator else source)
    if verification.reason:
        return verification
    wanted = settings((second or hello).tick_hz, amount or Amount())
    word = "external" if generator else source
    try:
        verification.reason = _bias(brickwall, hello)
        if verification.reason:
            verification.verdict = "fail"
            return verification
        measured, trouble = _play_all(brickwall, maker, wanted, word, check, done)
    except (LinkLostError, BenchError) as error:
        verification.verdict, verification.reason = "inconclusive", str(error)
        return verification
    finally:
        _end(brickwall, maker)
    check.judge(verification, measured)
    if trouble:
        verification.verdict, verification.reason = trouble
    return verification


def _loop(source: Source) -> Loop:
    """Return the loop that the known delays go through; a second Pico has both legs, too."""
    if source == "internal":
        return Loop(())
    return Loop(wiring().jumper_ohms())


def _generate(maker: Brickwall, setting: DelaySetting, source: str) -> int:
    """Let a generator make a setting; return the ticks of the synchroniser that it listens behind.

    Raises BenchError where it listens without one to a wire.
    """
    (rise_min, rise_max), (width_min, width_max) = setting.rise_ticks, setting.width_ticks
    answer = maker.command(
        "generate",
        pairs=setting.pairs,
        seed=setting.seed,
        rise_min_ticks=rise_min,
        rise_max_ticks=rise_max,
        width_min_ticks=width_min,
        width_max_ticks=width_max,
        source=source,
    )
    ticks = answer.get("synchroniser_ticks")
    if ticks != (0 if source == "internal" else SYNCHRONISER_TICKS):
        raise BenchError(
            f"the generator listens to a wire behind {ticks!a} flip-flops",
            next_step="flash it again",
        )
    return int(ticks)


def _play_all(  # noqa: PLR0913, PLR0917 all of them belong to one measurement
    brickwall: Brickwall,
    maker: Brickwall,
    wanted: Iterator[DelaySetting],
    source: str,
    check: "_Check",
    done: Callable[[DelaySetting], None],
) -> tuple[list[tuple[DelaySetting, Played]], tuple[Verdict, str] | None]:
    """Measure all settings, up to one with which something is wrong; return that, too."""
    measured: list[tuple[DelaySetting, Played]] = []
    for setting in wanted:
        check.synchroniser_ticks = _generate(maker, setting, source)
        played, odd = _measure(brickwall, setting, check.clocks.known_hz)
        measured.append((setting, played))
        done(setting)
        if odd:
            return measured, ("fail", odd)
        if len(played) < setting.balls:
            return measured, (
                "inconclusive",
                f"the Brickwall ended after {len(played)} of {setting.balls} balls: "
                "look at its red LED, and verify it again",
            )
        if all(wire.NONE_TICKS in ball for ball in played):
            break  # all others would be missed as well
    return measured, None


def _bias(brickwall: Brickwall, hello: Hello) -> str:
    """Say whether the instrument is off by itself, at half its clock; empty if it is right.

    Pads and wires delay by nanoseconds, a bias of the firmware is a number of ticks. Inside of the
    chip there are no wires, and a tick of half the clock is longer than the pads take.
    """
    half_hz = max(hello.tick_hz // 2 // MHZ * MHZ, SLOWEST_HZ)
    slow_hz = min(half_hz, hello.tick_hz)
    try:
        if slow_hz != hello.tick_hz:
            _set_clock(brickwall, slow_hz)
        _generate(brickwall, BIAS, "internal")
        played, odd = _measure(brickwall, BIAS, slow_hz)
    finally:
        with contextlib.suppress(TennisError):
            brickwall.end_play()
        _quiet(brickwall)
        if slow_hz != hello.tick_hz:
            _set_clock(brickwall, hello.tick_hz)
    if odd:
        return odd
    known = _known(BIAS, played)
    errors = Counter(
        (rise - pair[0], fall - rise - pair[1])
        for (rise, fall), pair in zip(played, known, strict=True)
        if wire.NONE_TICKS not in {rise, fall}
    )
    if sum(errors.values()) < BIAS.balls:
        return (
            f"{BIAS.balls - sum(errors.values())} of {BIAS.balls} answers of its own generator, "
            "inside of the chip, were missed: unplug what else is on the reply wire, verify again"
        )
    if set(errors) == {(0, 0)}:
        return ""
    wrong = max((off for off in errors if off != (0, 0)), key=errors.__getitem__)
    return (
        f"the instrument is biased: with its own generator, inside of the chip, {errors[wrong]} of "
        f"{BIAS.balls} rises are {wrong[0]:+} ticks off, and widths {wrong[1]:+}: do not measure "
        "with this Brickwall; flash it again, and report it"
    )


def _set_clock(brickwall: Brickwall, hz: int) -> None:
    """Set the clock, with the lowest voltage that carries it. Raises BenchError if none does."""
    for core_mv in CORE_MV:
        try:
            brickwall.command("clock", hz=hz, core_mv=core_mv)
        except CommandError:
            if core_mv == CORE_MV[-1]:
                raise
        else:
            return


def _known(setting: DelaySetting, played: Played) -> list[tuple[int, int]]:
    delays = setting.delays()
    return [delays[index % setting.pairs] for index in range(len(played))]


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


def _measure(brickwall: Brickwall, setting: DelaySetting, tick_hz: int) -> tuple[Played, str]:
    """Play the balls of a setting, whose ticks are ``tick_hz``; return them, and what was odd."""
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
    balls: Played = []
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


@dataclass
class _Check:
    """Compares what was measured with what is known."""

    clocks: Clocks
    loop: Loop
    synchroniser_ticks: int = 0  # of the generator

    def tolerance(self) -> str:
        tick_ns = NS_PER_S / self.clocks.tick_hz
        each = f"{self.clocks.rounding_ticks:g} ticks of rounding"
        both = f"a loop of 0 to {self.loop.most_ns:.0f} ns, measured and taken off"
        if self.clocks.generator_hz is None:
            return f"1 tick ({tick_ns:g} ns) of rounding, and {both}"
        return f"{each}, {both}, and {CRYSTALS * 1e6:.0f} ppm between two crystals"

    def judge(self, verification: Verification, measured: list[tuple[DelaySetting, Played]]) -> None:
        """Fill in what was found, and the verdict."""
        kinds: tuple[Kind, Kind] = ("interrupt", "scheduling")
        alike = [common(self._balls(measured, kind), self.clocks) for kind in kinds]
        for setting, played in measured:
            points = [
                self._point(setting, played, kind, found or Common(0))
                for kind, found in zip(kinds, alike, strict=True)
            ]
            verification.add(points)
        tick_ns = NS_PER_S / self.clocks.tick_hz
        late, longer = alike
        if late and longer:
            expected = self.clocks.mean_ticks(self.synchroniser_ticks)
            verification.loop_ns = round((late.ticks - expected) * tick_ns, 2)
            verification.width_ns = round(longer.ticks * tick_ns, 2)
            if self.clocks.generator_hz is not None:
                verification.apart_ppm = round(late.slope * 1e6, 2)
        verification.verdict, verification.reason = self._verdict(verification)

    def _balls(
        self, measured: list[tuple[DelaySetting, Played]], kind: Kind
    ) -> list[tuple[float, int]]:
        """Return what is known of each answered ball and what was measured, in ticks."""
        return [
            pair
            for setting, played in measured
            for pair in self._pairs(setting, played, kind)
            if pair is not None
        ]

    def _pairs(
        self, setting: DelaySetting, played: Played, kind: Kind
    ) -> Iterator[tuple[float, int] | None]:
        for (rise, fall), (known_rise, known_width) in zip(
            played, _known(setting, played), strict=True
        ):
            if wire.NONE_TICKS in {rise, fall}:
                yield None
            elif kind == "interrupt":
                yield known_rise * self.clocks.ratio, rise
            else:
                yield known_width * self.clocks.ratio, fall - rise

    def _point(self, setting: DelaySetting, played: Played, kind: Kind, alike: Common) -> Point:
        """Return the worst ball of a kind."""
        worst: tuple[float, float, int] | None = None  # error, known and measured ticks
        wrong = misses = 0
        for pair in self._pairs(setting, played, kind):
            if pair is None:
                misses += 1
                continue
            known, measured = pair
            error = measured - known - alike.of(known)
            wrong += abs(error) > self.clocks.rounding_ticks + self._wander(known)
            if worst is None or abs(error) > abs(worst[0]):
                worst = error, known, measured
        which = 0 if kind == "interrupt" else 1
        return Point(
            what=setting.what,
            kind=kind,
            true_ns=worst[1] * NS_PER_S / self.clocks.tick_hz if worst else None,
            measured_ns=worst[2] * NS_PER_S / self.clocks.tick_hz if worst else None,
            error_ticks=round(worst[0]) if worst else None,
            balls=len(played),
            wrong=wrong,
            misses=misses,
            thesis_error_us=setting.thesis_us[which] if setting.thesis_us else None,
        )

    def _wander(self, known_ticks: float) -> float:
        return 0.0 if self.clocks.generator_hz is None else WANDER * known_ticks

    def _verdict(self, found: Verification) -> tuple[Verdict, str]:
        two = self.clocks.generator_hz is not None
        wrong = sum(point.wrong for point in found.points)
        misses = sum(point.misses for point in found.points if point.kind == "interrupt")
        balls = sum(point.balls for point in found.points if point.kind == "interrupt")
        if misses == balls and two:
            return "not run", "no answer from the second Pico: check its wires and its firmware"
        if misses:
            return "fail", (
                f"{misses} of {balls} known answers were missed: check the wires, and verify again "
                "with --source internal"
            )
        if found.loop_ns is None or found.width_ns is None:
            return "inconclusive", "too few balls: verify again with more --balls"
        if found.apart_ppm is not None and abs(found.apart_ppm) > CRYSTALS * 1e6:
            return "fail", (
                f"the two clocks are {found.apart_ppm:+.1f} ppm apart, two good crystals "
                f"{CRYSTALS * 1e6:.0f} at most: verify with a third Pico to see which one is off"
            )
        reason = self._unlike(found.loop_ns, found.width_ns)
        if reason:
            return "fail", reason
        if wrong:
            return "fail", (
                f"{wrong} times of {2 * balls} were further off than allowed: do not measure with "
                "this Brickwall; flash it again, and report it"
            )
        apart = "" if found.apart_ppm is None else f", the clocks are {found.apart_ppm:+.1f} ppm apart"
        return "pass", (
            f"every one of {balls} balls within the tolerance; the loop of pads and wires takes "
            f"{found.loop_ns:.1f} ns{apart}"
        )

    def _unlike(self, loop_ns: float, width_ns: float) -> str:
        """Say why such a constant is not that of the loop; empty if it is."""
        tick_ns = NS_PER_S / self.clocks.tick_hz
        two = self.clocks.generator_hz is not None
        # with one clock a constant is whole ticks: rounded down, and of a width either way
        less, more = (STATISTICS_TICKS, STATISTICS_TICKS) if two else (0.0, 0.0)
        if not -less * tick_ns <= loop_ns <= self.loop.most_ns + more * tick_ns:
            return (
                f"all answers are {loop_ns:+.1f} ns off, and the loop of pads and wires takes 0 to "
                f"{self.loop.most_ns:.0f} ns: short wires, with the resistors of the wiring table, "
                "from pin to pin as docs/brickwall.md says; then verify again"
            )
        shorter, longer = self.loop.width_ns
        less, more = (STATISTICS_TICKS, STATISTICS_TICKS) if two else (1.0, 1.0)
        if not shorter - less * tick_ns < width_ns < longer + more * tick_ns:
            return (
                f"all answers are {width_ns:+.1f} ns too long, and edges of such wires differ by "
                f"{shorter:.0f} to {longer:.0f} ns: check the resistor of the reply wire, and "
                "verify again"
            )
        return ""


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

    def done(setting: DelaySetting) -> None:
        nonlocal count
        before = count
        count += setting.balls
        if count // 1000 > before // 1000:
            say(f"{format_count(count, 'ball')}, now at {setting.what}")

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
