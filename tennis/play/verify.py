"""The thesis' black-box check of the instrument: known delays, measured ball by ball.

A generator answers each ping after a known time. Two questions are kept apart:

- Is the instrument biased? Its own generator answers inside of the chip, at half the clock. There
  is no wire, and the pads take less than a tick: every ball must be right to the tick.
- What is between ping and answer? Wires and pads delay all balls alike. This constant is measured,
  must be one that such wires can have (loop_delay.py), and is taken off. No ball may differ from
  the others by more than the rounding to ticks.
"""

import contextlib
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tennis.bench.instruments import emulated, verifications
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import CommandError, Hello, Play
from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.pads import far_end
from tennis.bench.instruments.ports import the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.bench.patience import Patience
from tennis.kit import wire
from tennis.kit.errors import BenchError, TennisError, UsageError
from tennis.kit.log import log
from tennis.kit.units import NS_PER_S, format_count
from tennis.kit.wiring import wiring
from tennis.play.commissioning.request import Amount
from tennis.play.known_delays import DelaySetting, settings
from tennis.play.loop_delay import Clocks, Loop
from tennis.play.verification import Cause, Played, Source, Verification, Verifier
from tennis.rally.manifest import Verdict, VerificationRecord

GAP_NS = (20_000, 60_000)
ALLOWANCE_NS = 5_000_000  # an answer this late is a miss
# the clock for measuring the bias: half the clock, and no less clk_sys than USB needs
SLOWEST_HZ = 48_000_000
MHZ = 1_000_000
CORE_MV = (1100, 1150, 1250)  # the least that carries the clock is taken
# 2 flip-flops behind the pad of a wire: RP2040 data sheet, section 3.7, INPUT_SYNC_BYPASS
SYNCHRONISER_TICKS = 2
BIAS = DelaySetting("bias", 32, 2040, (2, 300), (3, 300), 64)


def verify(
    brickwall: Brickwall,
    *,
    source: Source = "jumpers",
    generator: Brickwall | None = None,
    amount: Amount | None = None,
    done: Callable[[DelaySetting], None] = lambda _: None,
) -> Verification:
    """Measure known delays. ``generator``: a second Pico that makes them.

    ``done`` gets each setting that was measured. Raises BenchError if there is no instrument to
    verify; later failures are in the verdict.
    """
    hello = brickwall.end_play()  # for a host that was killed
    second = generator.hello() if generator else None
    clocks = Clocks(hello.tick_hz, second.tick_hz if second else None)
    verifier = Verifier(clocks, _loop(source))
    verification = Verification(
        "not run", "", hello, "second Pico" if generator else source, verifier.tolerance()
    )
    maker = generator or brickwall
    _quiet(brickwall)  # a verification that was killed left it on
    _quiet(maker)
    verification.cause, verification.reason = _not_wired(
        brickwall, "internal" if generator else source
    )
    if verification.reason:
        return verification
    delays = settings((second or hello).tick_hz, amount or Amount())
    word = "external" if generator else source
    try:
        verification.reason = _bias(brickwall, hello)
        if verification.reason:
            verification.verdict, verification.cause = "fail", "wrong"
            return verification
        measured, trouble = _play_all(brickwall, maker, delays, word, verifier, done)
    except (LinkLostError, BenchError) as error:
        verification.verdict, verification.reason = "inconclusive", str(error)
        return verification
    finally:
        _end(brickwall, maker)
    verifier.judge(verification, measured)
    if trouble:
        verification.verdict, verification.cause, verification.reason = trouble
    return verification


def _loop(source: Source) -> Loop:
    """Return the loop that the known delays go through; a second Pico has both legs, too."""
    if source == "internal":
        return Loop(())
    return Loop(wiring().jumper_ohms())


def _generate(maker: Brickwall, setting: DelaySetting, source: str) -> int:
    """Let a generator make a setting; return the ticks of the synchroniser that it listens behind.

    Raises BenchError if it listens without one to a wire.
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


def _play_all(  # noqa: PLR0913, PLR0917 all are of one measurement
    brickwall: Brickwall,
    maker: Brickwall,
    delays: Iterator[DelaySetting],
    source: str,
    verifier: Verifier,
    done: Callable[[DelaySetting], None],
) -> tuple[list[tuple[DelaySetting, Played]], tuple[Verdict, Cause, str] | None]:
    """Measure all settings, up to one with which something is wrong; return that, too."""
    measured: list[tuple[DelaySetting, Played]] = []
    for setting in delays:
        verifier.synchroniser_ticks = _generate(maker, setting, source)
        played, odd = _measure(brickwall, setting, verifier.clocks.known_hz)
        measured.append((setting, played))
        done(setting)
        if odd:
            return measured, ("fail", "edges", odd)
        if len(played) < setting.balls:
            return measured, (
                "inconclusive",
                "",
                (
                    f"the Brickwall ended after {len(played)} of {setting.balls} balls: "
                    "look at its red LED, and verify it again"
                ),
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
    known = BIAS.delays_of(len(played))
    errors = Counter(
        (rise - pair[0], fall - rise - pair[1])
        for (rise, fall), pair in zip(played, known, strict=True)
        if wire.NONE_TICKS not in {rise, fall}
    )
    if sum(errors.values()) < BIAS.balls:
        return (
            f"{BIAS.balls - sum(errors.values())} of {BIAS.balls} answers of its own generator, "
            "inside of the chip, were missed: free the reply wire of other devices, verify again"
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


def _end(brickwall: Brickwall, maker: Brickwall) -> None:
    """Leave nothing behind: no play of which nobody takes the balls, no generator."""
    with contextlib.suppress(TennisError):
        brickwall.end_play()
    _quiet(maker)


def _quiet(maker: Brickwall) -> None:
    try:
        maker.command("quiet")
    except TennisError:
        return  # a device that is gone makes no noise


# of a wire that is no jumper: what its far end does
ENDS = {
    "low": "is held low, by the target or by ground",
    "high": "is held high, by 3.3 V or 5 V: pull it out at once",
    "pulled": "ends in another input",
    "open": "ends nowhere, or is broken",
}


def _not_wired(brickwall: Brickwall, source: Source) -> tuple[Cause, str]:
    """Say why known delays cannot reach the instrument; empty if they can."""
    seen = brickwall.wires()
    ping, reply = seen["ping"], seen["reply"]
    if source == "internal":
        driven = reply["pulled_up"] == reply["pulled_down"]
        words = "something drives the reply wire: unplug the target, and verify again"
        return ("held", words) if driven else ("", "")
    rules: tuple[tuple[bool, Cause, str], ...] = (
        (
            seen["ping_to_reply"],
            "joined",
            "ping and reply are joined: look at both ends for what touches",
        ),
        (
            (ping["high"], ping["low"]) != (1, 0) or reply.get("high") == 0,
            "short",
            "a wire touches ground or 3.3 V at the Pico: pull both off at once",
        ),
        (seen["ping_to_listen"] and seen["answer_to_reply"], "", ""),
        (
            seen["ping_to_answer"] and seen["listen_to_reply"],
            "swapped",
            f"the two far ends are swapped: the jumpers are {wiring().jumper_words()}",
        ),
        (
            any(far_end(seen[name]) in {"low", "high"} for name in _no_jumpers(seen)),
            "held",
            _no_jumper(seen),
        ),
        (True, "no jumper", _no_jumper(seen)),
    )
    return next((cause, words) for so, cause, words in rules if so)


def _no_jumpers(levels: dict[str, Any]) -> list[Literal["ping", "reply"]]:
    """Return the wires that are no jumpers."""
    there: dict[Literal["ping", "reply"], str]
    there = {"ping": "ping_to_listen", "reply": "answer_to_reply"}
    return [name for name, follows in there.items() if not levels[follows]]


def _no_jumper(levels: dict[str, Any]) -> str:
    """Say which wires are no jumpers, and what their far ends do."""
    missing = [f"the {name} wire {ENDS[far_end(levels[name])]}" for name in _no_jumpers(levels)]
    return (
        f"no jumper: {', and '.join(missing)}; plug the far ends in for the jumpers "
        f"{wiring().jumper_words()}. `tennis brickwall verify --source internal` needs none"
    )


def _measure(brickwall: Brickwall, setting: DelaySetting, tick_hz: int) -> tuple[Played, str]:
    """Play the balls of a setting, whose ticks are ``tick_hz``; return them, and a remark."""
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
                raise BenchError("the Brickwall's END is damaged", next_step="flash it again")
            _, _, _, strays, doubles, _, _ = struct.unpack(wire.END_FORMAT, frame[2])
    if strays or doubles:
        return balls, (
            f"{format_count(strays + doubles, 'edge')} too many among known answers: a loose plug, "
            "a wrong resistor or a long wire makes an edge slow or lets it bounce; check the "
            "wires, then `tennis brickwall verify --source internal`"
        )
    return balls, ""


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

    def verify(self) -> tuple[Verification, VerificationRecord]:
        """Verify, and log the progress. The caller must keep the result (``verifications.keep``).

        Raises TennisError if there is no instrument to verify, or no place for its record.
        """
        verifications.prepare()
        count = 0

        def count_balls(setting: DelaySetting) -> None:
            nonlocal count
            before = count
            count += setting.balls
            if count // 1000 > before // 1000:
                log.info(f"{format_count(count, 'ball')}, now at {setting.what}")

        with contextlib.ExitStack() as stack:
            generator = None
            if self.bench == "virtual":
                brickwall = stack.enter_context(contextlib.closing(jumpered_pico()))
            else:
                port = the_port(self.port)
                if self.generator_port == port:
                    raise UsageError(
                        f"{port} is the Brickwall's own port: "
                        "--generator-port is that of a second Pico"
                    )
                link = SerialLink(port)
                brickwall = stack.enter_context(contextlib.closing(Brickwall(link)))
                if self.generator_port:
                    second = Brickwall(SerialLink(self.generator_port))
                    generator = stack.enter_context(contextlib.closing(second))
            real = self.bench == "pi" and "://" not in brickwall.link.name
            each = self.balls or (Amount.each if self.bench == "pi" else EMULATED_BALLS)
            verification = verify(
                brickwall,
                source=self.source,
                generator=generator,
                amount=Amount(each),
                done=count_balls,
            )
        return verification, verification.record("physical" if real else "emulated")


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
