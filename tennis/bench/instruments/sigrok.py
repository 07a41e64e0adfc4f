"""The umpire: the logic analyser that sigrok-cli finds, and its sampling."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from fractions import Fraction

from tennis.kit import environment
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.units import NS_PER_S
from tennis.rally.captures.edges import MAX_TICKS
from tennis.rally.text import plain

PROGRAM = "sigrok-cli"
ANSWER_S = 60  # it loads the firmware of some analysers first
SAMPLES_A_PULSE = 2  # fewer do not see every ping
USUAL_HZ = 24_000_000  # what an fx2lafw analyser does with eight channels
UNITS = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
RATE = r"([0-9]+(?:\.[0-9]+)?) *([kMG]?Hz)"
MAX_OUTPUT = 1 << 20


@dataclass(frozen=True)
class _Analyser:
    """A logic analyser that sigrok-cli found."""

    spec: str  # what -d takes: driver, or driver:conn=...
    name: str
    channels: tuple[str, ...]  # logic and others
    rates_hz: tuple[int, ...] = ()  # ascending; or the ends of a range
    any_rate: bool = False  # a range
    continuous: bool = False  # streams; otherwise it has a memory of its own
    samples_max: int | None = None  # of that memory; None: it does not say

    @property
    def demo(self) -> bool:
        """Say whether it is sigrok's pattern generator, which measures nothing."""
        return self.spec.split(":")[0] == "demo"

    def covering(self, pulse_ns: int, needed_s: float) -> "_Analyser":
        """Return the analyser with those of its rates at which its memory covers a rally.

        Raises UsageError if none of them sees the ping.
        """
        if self.continuous or self.samples_max is None:
            return self
        most_hz, least_hz = self.samples_max / needed_s, SAMPLES_A_PULSE * NS_PER_S / pulse_ns
        if self.any_rate:
            rates = [self.rates_hz[0], min(int(most_hz), self.rates_hz[-1])]
            fits = rates[0] <= rates[1] and rates[1] >= least_hz
        else:
            rates = [rate for rate in self.rates_hz if rate <= most_hz]
            fits = any(rate >= least_hz for rate in rates)
        if not fits:
            raise UsageError(
                f"{plain(self.name, 40)} holds {self.samples_max} samples: at the "
                f"{least_hz / 1e6:g} MHz that see a ping of {pulse_ns / 1000:g} µs that is "
                f"{self.samples_max / least_hz:.3g} s, and the rally takes {needed_s:.0f} s",
                next_step="use fewer --balls, a longer --pulse-us, or an analyser that streams",
            )
        return replace(self, rates_hz=tuple(rates))

    def rate(self, wanted_hz: int) -> int:
        """Return the highest rate that is not above the wanted one, or the lowest there is."""
        if not self.rates_hz:
            return wanted_hz
        if self.any_rate:
            return min(max(wanted_hz, self.rates_hz[0]), self.rates_hz[-1])
        below = [rate for rate in self.rates_hz if rate <= wanted_hz]
        return below[-1] if below else self.rates_hz[0]


@dataclass(frozen=True)
class Settings:
    """The settings of a capture."""

    analyser: _Analyser
    rate_hz: int
    ping: str  # channels
    reply: str
    seconds: float | None = None  # None: until it is stopped

    @classmethod
    def asked(
        cls,
        spec: str | None = None,
        *,
        rate_hz: int | None = None,
        ping: str | None = None,
        reply: str | None = None,
        seconds: float | None = None,
    ) -> "Settings":
        """Choose defaults for settings that were not asked for. Raises BenchError, UsageError."""
        return cls._of(_choose(spec), rate_hz, ping, reply, seconds)

    @classmethod
    def covering(cls, spec: str | None, pulse_ns: int, needed_s: float) -> "Settings":
        """Choose settings that cover a rally: an analyser that streams runs until it is stopped.

        Raises BenchError, UsageError if the analyser's memory does not cover it.
        """
        analyser = _choose(spec).covering(pulse_ns, needed_s)
        return cls._of(analyser, seconds=None if analyser.continuous else needed_s)

    @classmethod
    def _of(
        cls,
        analyser: _Analyser,
        rate_hz: int | None = None,
        ping: str | None = None,
        reply: str | None = None,
        seconds: float | None = None,
    ) -> "Settings":
        """Choose an analyser's settings that were not asked for. Raises UsageError."""
        if seconds is None and not analyser.continuous:
            raise UsageError(
                f"{plain(analyser.name, 40)} cannot stream: say how long to sample",
                next_step="use --seconds",
            )
        ping = ping or analyser.channels[0]
        reply = reply or next(name for name in analyser.channels if name != ping)
        for name in (ping, reply):
            if name not in analyser.channels:
                have = ", ".join(analyser.channels[:16])
                raise UsageError(
                    f"{plain(analyser.name, 40)} has no channel {name!a}: it has {have}"
                )
        if ping == reply:
            raise UsageError(f"{ping} cannot be both ping and reply", next_step="name two channels")
        rate = rate_hz or analyser.rate(USUAL_HZ)
        if rate_hz and analyser.rates_hz and analyser.rate(rate_hz) != rate_hz:
            raise UsageError(
                f"{plain(analyser.name, 40)} cannot sample at {rate_hz / 1e6:g} MHz: the next it "
                f"can is {analyser.rate(rate_hz) / 1e6:g} MHz"
            )
        return cls(analyser, rate, ping, reply, seconds)

    def warnings(self, pulse_ns: int, needed_s: float | None) -> list[str]:
        """Describe the limits of this capture for a rally; empty if all is well."""
        lines = []
        if self.rate_hz * pulse_ns < SAMPLES_A_PULSE * NS_PER_S:
            lines.append(
                f"{self.rate_hz / 1e6:g} MHz is too slow for a ping of {pulse_ns / 1000:g} µs: "
                f"choose {2000 / pulse_ns:g} MHz or more, or a longer --pulse-us"
            )
        if not self.analyser.continuous and self.analyser.samples_max is None:
            lines.append(
                f"{plain(self.analyser.name, 40)} keeps its samples in a memory of its own and "
                "does not say how large that is: it may end before the rally"
            )
        if needed_s is not None and self.seconds is not None and self.seconds < needed_s:
            lines.append(
                f"{self.seconds:g} s are less than the {needed_s:.0f} s that the rally takes: its "
                "end will not be covered"
            )
        if needed_s is not None and needed_s * self.rate_hz > MAX_TICKS:
            lines.append(
                f"{needed_s:.0f} s at {self.rate_hz / 1e6:g} MHz are more samples than are "
                f"checked: choose {MAX_TICKS / needed_s / 1e6:.3g} MHz or less"
            )
        return lines


def find_program() -> str:
    """Return the path of sigrok-cli. Raises BenchError."""
    path = shutil.which(PROGRAM)
    if not path:
        raise BenchError(
            "sigrok-cli is not installed", next_step="run `apt-get install sigrok-cli`"
        )
    return path


def version() -> str:
    """Return the version of sigrok-cli. Raises BenchError."""
    return plain(_ask("--version").partition("\n")[0].removeprefix("sigrok-cli").strip(), 40)


def _ask(*words: str) -> str:
    """Return what sigrok-cli says. Raises BenchError."""
    command = [find_program(), *words]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environment.for_sigrok(),
                timeout=ANSWER_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise BenchError(
                f"sigrok-cli {' '.join(words)} does not answer",
                next_step="unplug the analyser, and plug it in again",
            ) from error
        output.seek(0)
        errors.seek(0)
        text = output.read(MAX_OUTPUT).decode(errors="replace")
        wrong = errors.read(4096).decode(errors="replace")
    if done.returncode:
        why = plain(wrong or text, 200)
        raise BenchError(
            f"sigrok-cli {' '.join(words)}: {why or 'failed'}", next_step="check the analyser"
        )
    return text


def _parse_scan(text: str) -> list[_Analyser]:
    """Read ``sigrok-cli --scan``: analysers with at least two channels."""
    analysers = []
    for line in text.splitlines():
        match = re.fullmatch(r"([a-z0-9][\w:=./-]*) - (.+?) with ([0-9]+) channels?: (.+)", line)
        if not match:
            continue
        channels = tuple(plain(word, 20) for word in match[4].split()[:64])
        if len(channels) >= 2:
            analysers.append(_Analyser(match[1], plain(match[2], 80), channels))
    return analysers


def _parse_show(analyser: _Analyser, text: str) -> _Analyser:
    """Add the properties that ``sigrok-cli --show`` prints."""
    lines = text.splitlines()
    rates: list[int] = []
    any_rate = False
    for at, line in enumerate(lines):
        if not line.strip().startswith("samplerate"):
            continue
        span = re.search(rf"\({RATE} - {RATE} in steps", line)
        if span:
            any_rate = True
            rates = [_hz(span[1], span[2]), _hz(span[3], span[4])]
            break
        for row in lines[at + 1 :]:
            rate = re.fullmatch(RATE + r"(?: \(current\))?", row.strip())
            if not rate:
                break
            rates.append(_hz(rate[1], rate[2]))
    # one that could stream, and is set not to, has its memory as others have: "on, off (current)"
    streams = any(
        line.strip().startswith("continuous:") and "off (current)" not in line for line in lines
    )
    memory = re.search(r"^ *Maximum number of samples: ([0-9]{1,15})$", text, re.MULTILINE)
    return replace(
        analyser,
        rates_hz=tuple(sorted(rates)),
        any_rate=any_rate,
        continuous=streams,
        samples_max=int(memory[1]) if memory and int(memory[1]) else None,
    )


def _hz(number: str, unit: str) -> int:
    return int(Fraction(number) * UNITS[unit])


def _choose(spec: str | None) -> _Analyser:
    """Return the analyser to use: the only one that is plugged in, or the one that is named.

    Raises BenchError if there is none, UsageError if there are several.
    """
    analysers = _parse_scan(_ask(*(("-d", spec) if spec else ()), "--scan"))
    if spec is None:
        analysers = [analyser for analyser in analysers if not analyser.demo]
    if not analysers:
        raise BenchError(
            f"sigrok-cli finds no {'analyser ' + spec if spec else 'logic analyser'}",
            next_step="plug one in, and check that you may use it (`sigrok-cli --scan`)",
        )
    if len(analysers) > 1:
        names = ", ".join(analyser.spec for analyser in analysers[:8])
        raise UsageError(
            "there are several analysers", next_step=f"choose one with --analyser ({names})"
        )
    analyser = analysers[0]
    if spec is not None and ":" in spec:
        analyser = replace(analyser, spec=spec)
    return _parse_show(analyser, _ask("-d", analyser.spec, "--show"))
