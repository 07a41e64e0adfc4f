"""The result of a verification: known delays beside measured ones, and the verdict."""

import datetime
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from tennis.bench.instruments.commands import Hello
from tennis.kit import wire
from tennis.kit.units import NS_PER_S
from tennis.play.known_delays import DelaySetting
from tennis.play.loop_delay import CRYSTALS, STATISTICS_TICKS, WANDER, Clocks, Common, Loop
from tennis.rally.manifest import Verdict, VerificationRecord

Source = Literal["jumpers", "internal"]
# the fault, in a word: a commissioning has advice for each
Wiring = Literal["no jumper", "swapped", "joined", "short", "held"]
Cause = Literal["", Wiring, "missed", "edges", "loop", "width", "clocks", "wrong"]
Kind = Literal["interrupt", "scheduling"]
Played = list[tuple[int, int]]  # (rise, fall) of each ball, in ticks of the instrument


@dataclass(frozen=True)
class _DelayResult:
    """The measurement of one setting; with many balls, the one with the largest error."""

    what: str
    kind: Kind
    true_ns: float | None
    measured_ns: float | None  # None: nothing was measured
    error_ticks: int | None  # without what all balls have in common
    balls: int
    wrong: int  # further off than allowed
    misses: int
    thesis_error_us: float | None

    def with_more(self, more: "_DelayResult") -> "_DelayResult":
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
    reason: str  # with a next step if it is not a pass
    hello: Hello
    source: Literal["jumpers", "internal", "second Pico"]
    tolerance: str
    points: list[_DelayResult] = field(default_factory=list)
    loop_ns: float | None = None  # by which all answers came later: wires and pads
    width_ns: float | None = None  # by which all answers were longer
    apart_ppm: float | None = None  # two crystals; None: there is one
    cause: Cause = ""

    def add(self, points: list[_DelayResult]) -> None:
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
        """Return the largest error of any ball, either way; None if none was measured."""
        errors = [abs(p.error_ticks) for p in self.points if p.error_ticks is not None]
        return max(errors, default=None)

    def record(self, kind: Literal["physical", "emulated"]) -> VerificationRecord:
        """Return its record."""
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


@dataclass
class Verifier:
    """Compares measured delays with known ones."""

    clocks: Clocks
    loop: Loop
    synchroniser_ticks: int = 0  # of the generator

    def tolerance(self) -> str:
        """Say by how much a ball may differ from its known delay."""
        tick_ns = NS_PER_S / self.clocks.tick_hz
        each = f"{self.clocks.rounding_ticks:g} ticks of rounding"
        both = f"a loop of 0 to {self.loop.most_ns:.0f} ns, measured and taken off"
        if self.clocks.generator_hz is None:
            return f"1 tick ({tick_ns:g} ns) of rounding, and {both}"
        return f"{each}, {both}, and {CRYSTALS * 1e6:.0f} ppm between two crystals"

    def judge(
        self, verification: Verification, measured: list[tuple[DelaySetting, Played]]
    ) -> None:
        """Fill in the results and the verdict."""
        kinds: tuple[Kind, Kind] = ("interrupt", "scheduling")
        alike = [Common.find(self._balls(measured, kind), self.clocks) for kind in kinds]
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
        verification.verdict, verification.cause, verification.reason = self._verdict(verification)

    def _balls(
        self, measured: list[tuple[DelaySetting, Played]], kind: Kind
    ) -> list[tuple[float, int]]:
        """Return the known and the measured delay of each answered ball, in ticks."""
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
            played, setting.delays_of(len(played)), strict=True
        ):
            if wire.NONE_TICKS in {rise, fall}:
                yield None
            elif kind == "interrupt":
                yield known_rise * self.clocks.ratio, rise
            else:
                yield known_width * self.clocks.ratio, fall - rise

    def _point(
        self, setting: DelaySetting, played: Played, kind: Kind, alike: Common
    ) -> _DelayResult:
        """Return the worst ball of a kind."""
        worst: tuple[float, float, int] | None = None  # error, known and measured ticks
        wrong = misses = 0
        wander = 0.0 if self.clocks.generator_hz is None else WANDER
        for pair in self._pairs(setting, played, kind):
            if pair is None:
                misses += 1
                continue
            known, measured = pair
            error = measured - known - alike.of(known)
            wrong += abs(error) > self.clocks.rounding_ticks + wander * known
            if worst is None or abs(error) > abs(worst[0]):
                worst = error, known, measured
        which = 0 if kind == "interrupt" else 1
        return _DelayResult(
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

    def _verdict(self, verification: Verification) -> tuple[Verdict, Cause, str]:
        two = self.clocks.generator_hz is not None
        wrong = sum(point.wrong for point in verification.points)
        misses = sum(point.misses for point in verification.points if point.kind == "interrupt")
        balls = sum(point.balls for point in verification.points if point.kind == "interrupt")
        if misses == balls and two:
            reason = "no answer from the second Pico: check its wires and its firmware"
            return "not run", "missed", reason
        if misses:
            reason = (
                f"{misses} of {balls} known answers were missed: check the wires, then `tennis "
                "brickwall verify --source internal`"
            )
            return "fail", "missed", reason
        if verification.loop_ns is None or verification.width_ns is None:
            return "inconclusive", "", "too few balls: verify again with more --balls"
        cause, reason = self._unlike(
            verification.loop_ns, verification.width_ns, verification.apart_ppm
        )
        if not cause and wrong:
            cause = "wrong"
            reason = (
                f"{wrong} times of {2 * balls} were further off than allowed: do not measure with "
                "this Brickwall; flash it again, and report it"
            )
        if cause:
            return "fail", cause, reason
        apart = f", the clocks are {verification.apart_ppm:+.1f} ppm apart" if two else ""
        reason = (
            f"every one of {balls} balls within the tolerance; the loop of pads and wires takes "
            f"{verification.loop_ns:.1f} ns{apart}"
        )
        return "pass", "", reason

    def _unlike(
        self, loop_ns: float, width_ns: float, apart_ppm: float | None
    ) -> tuple[Cause, str]:
        """Say why such constants are not those of wires, pads and crystals; empty if they are."""
        if apart_ppm is not None and abs(apart_ppm) > CRYSTALS * 1e6:
            return "clocks", (
                f"the two clocks are {apart_ppm:+.1f} ppm apart, two good crystals "
                f"{CRYSTALS * 1e6:.0f} at most: verify with a third Pico to see which one is off"
            )
        tick_ns = NS_PER_S / self.clocks.tick_hz
        # with one clock a delay is rounded down to whole ticks, and a width either way
        room = width_room = STATISTICS_TICKS * tick_ns
        if self.clocks.generator_hz is None:
            room, width_room = 0, tick_ns
        if not -room <= loop_ns <= self.loop.most_ns + room:
            return "loop", (
                f"all answers are {loop_ns:+.1f} ns off, and the loop of pads and wires takes 0 to "
                f"{self.loop.most_ns:.0f} ns: use short wires with the resistors of the wiring "
                "table, from pin to pin (docs/brickwall.md), and verify again"
            )
        shorter, longer = self.loop.width_ns
        if not shorter - width_room < width_ns < longer + width_room:
            return "width", (
                f"all answers are {width_ns:+.1f} ns too long, and the edges of such wires differ "
                f"by {shorter:.0f} to {longer:.0f} ns: check the resistor of the reply wire, and "
                "verify again"
            )
        return "", ""
