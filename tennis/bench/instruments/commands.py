"""The Brickwall's commands, its greeting, its report about the wires, and its refusals."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tennis.kit.errors import BenchError
from tennis.rally.manifest import Protocol
from tennis.rally.text import plain

# it is shown to people and kept in manifests: nothing in it may move a cursor
DeviceText = Annotated[str, AfterValidator(lambda text: plain(text, 100))]


class Hello(BaseModel):
    """A Brickwall's greeting."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    instrument: DeviceText
    firmware: DeviceText
    firmware_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    micropython: DeviceText
    board: DeviceText
    unique_id: str = Field(pattern="^[0-9A-Za-z_-]{1,64}$")  # names a verification record, too
    clock_hz: int = Field(ge=10**6, le=10**10)
    tick_hz: int = Field(ge=10**6, le=10**10)
    boot: DeviceText
    state: DeviceText
    rally: DeviceText | None = None
    next_frame: int = 0
    oldest_frame: int = 0
    pins: dict[str, int] = {}


Level = Literal[0, 1]


class _Pulled(BaseModel):
    """The level of a pad that is pulled up, and down."""

    pulled_up: Level
    pulled_down: Level


class _DrivenHigh(_Pulled):
    """The same for a pad that is also driven high and released: right after the release, and later.

    Firmware of 0.2 and 0.3 omits these levels.
    """

    high: Level | None = None
    from_high: tuple[Level, Level] | None = None


class _Driven(BaseModel):
    """The same of one that is driven low, too. Firmware of 0.2 says only ``high`` and ``low``."""

    high: Level
    low: Level
    from_high: tuple[Level, Level] | None = None
    from_low: tuple[Level, Level] | None = None
    pulled_up: Level | None = None
    pulled_down: Level | None = None


class PadReadings(BaseModel):
    """The levels of the Brickwall's pads, which show how the wires are connected."""

    ping: _Driven
    reply: _DrivenHigh
    listen: _Pulled
    ping_to_reply: bool
    ping_to_listen: bool
    ping_to_answer: bool = False  # firmware of 0.3 omits it
    answer_to_reply: bool
    listen_to_reply: bool


@dataclass(frozen=True)
class Play:
    """The arguments of the command ``play``."""

    balls: int
    seed: int
    loop: str
    gap_min_ns: int
    gap_max_ns: int
    period_ns: int
    pulse_ns: int
    timeout_ns: int
    settle_ns: int
    give_up_ns: int
    rally: str = ""
    first: int = 0
    sequence: int = 0
    clock_ticks: int = 0


def play_of(protocol: Protocol) -> Play:
    """Return the parameters of a rally that is played from its beginning."""
    return Play(
        balls=protocol.balls,
        seed=protocol.seed,
        loop=protocol.loop,
        gap_min_ns=protocol.gap_min_ns,
        gap_max_ns=protocol.gap_max_ns,
        period_ns=protocol.period_ns,
        pulse_ns=protocol.pulse_ns,
        timeout_ns=protocol.timeout_ns,
        settle_ns=protocol.settle_ns,
        give_up_ns=protocol.give_up_ns,
    )


class CommandError(BenchError):
    """The Brickwall refused a command; ``code`` is the firmware's word for why."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class NobodyError(BenchError):
    """No Brickwall is on the port; ``silent``: nothing at all answers."""

    def __init__(self, message: str, *, silent: bool) -> None:
        super().__init__(message)
        self.silent = silent
