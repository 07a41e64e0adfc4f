"""A plain host for the firmware's tests: it decides itself what it acknowledges, and when."""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tennis.bench.instruments import emulated
from tennis.kit import wire

PLAY: dict[str, int | str] = {
    "rally": "0a0b0c0d",
    "balls": 100,
    "first": 0,
    "sequence": 0,
    "clock_ticks": 0,
    "seed": 1,
    "loop": "closed",
    "gap_min_ns": 70_000,
    "gap_max_ns": 120_000,
    "period_ns": 50_000,
    "pulse_ns": 1_000,
    "timeout_ns": 1_000_000,
    "settle_ns": 1_000_000,
    "give_up_ns": 10_000_000_000,
}
NONE = wire.NONE_TICKS


class Ball(NamedTuple):
    served: int
    rise: int
    fall: int


class Event(NamedTuple):
    when: int
    what: str
    value: int


class End(NamedTuple):
    reason: str
    balls: int
    misses: int
    strays: int
    doubles: int
    late_serves: int
    clock: int


@dataclass
class Played:
    """The frames of a play."""

    frames: list[tuple[int, int, bytes]] = field(default_factory=list)

    def _records(self, kind: int, layout: str) -> Iterator[tuple[Any, ...]]:
        for found, _, payload in self.frames:
            if found == kind:
                yield from struct.iter_unpack(layout, payload)

    @property
    def hello(self) -> dict[str, Any]:
        assert self.frames[0][0] == wire.HELLO
        return json.loads(self.frames[0][2])

    @property
    def balls(self) -> list[Ball]:
        return [Ball(*record) for record in self._records(wire.BALLS, wire.BALL)]

    @property
    def events(self) -> list[Event]:
        return [
            Event(when, wire.EVENT_NAMES[what], value)
            for when, what, value in self._records(wire.EVENTS, wire.EVENT)
        ]

    @property
    def end(self) -> End:
        ((reason, *rest),) = self._records(wire.END, wire.END_FORMAT)
        return End(wire.END_REASONS[reason], *rest)


class Host:
    """An emulated Pico in lock-step, and what it says."""

    def __init__(self, *arguments: str) -> None:
        self.link = emulated.start(arguments)
        self.frames: list[tuple[int, int, bytes]] = []
        self.answers: dict[int, list[dict[str, Any]]] = {}
        self.raw = b""
        self.decoder = wire.Decoder()
        self._number = 0

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def respond(self, kind: str, **script: Any) -> None:
        """Put another scripted target at the pads."""
        self.link.respond(json.dumps({"kind": kind, **script}).encode())

    def run(self, seconds: float) -> bool:
        """Let the Pico run until it says something, at most so long. Says whether it did."""
        data = self.link.read(seconds)
        self.raw += data
        for kind, sequence, payload in self.decoder.feed(data):
            if kind == wire.ANSWER:
                self.answers.setdefault(sequence, []).append(json.loads(payload))
            else:
                self.frames.append((kind, sequence, payload))
        return bool(data)

    def run_until_quiet(self, seconds: float) -> None:
        while self.run(seconds):
            pass

    def tell(self, verb: str, **parameters: int | str) -> int:
        self._number += 1
        self.link.write(wire.encode_command(self._number, verb, parameters))
        return self._number

    def ask(self, verb: str, **parameters: int | str) -> dict[str, Any]:
        number = self.tell(verb, **parameters)
        for _ in range(2000):
            self.run(1)
            if number in self.answers:
                (answer,) = self.answers.pop(number)
                return answer
        raise AssertionError(f"no answer to {verb}, but {self.raw[-500:]!r}")

    def ok(self, verb: str, **parameters: int | str) -> dict[str, Any]:
        answer = self.ask(verb, **parameters)
        assert "ok" in answer, answer
        return answer["ok"]

    def start(self, **parameters: int | str) -> dict[str, int | str]:
        """Begin to play."""
        given = PLAY | parameters
        self.frames.clear()
        self.ok("play", **given)
        return given

    def finish(self, seconds: float = 5, *, ack_every: int = 8) -> Played:
        """Take frames until END, acknowledging them; nothing for so long is a failure."""
        acknowledged = self.frames[0][1] if self.frames else 0
        while not self.frames or self.frames[-1][0] != wire.END:
            if self.frames and self.frames[-1][1] + 1 - acknowledged >= ack_every:
                acknowledged = self.frames[-1][1] + 1
                self.tell("ack", next=acknowledged)
            assert self.run(seconds), f"silent after {len(self.frames)} frames"
        self.tell("ack", next=self.frames[-1][1] + 1)
        sequences = [sequence for _, sequence, _ in self.frames]
        assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
        assert self.decoder.garbage_bytes == 0
        return Played(list(self.frames))

    def play(self, seconds: float = 5, **parameters: int | str) -> Played:
        self.start(**parameters)
        return self.finish(seconds)

    def leave(self) -> None:
        """Go to MicroPython's raw REPL."""
        self.raw = b""
        self.link.write(b"\r\x03\r")
        self._expect(b">>> ")
        self.link.write(b"\x01")
        self._expect(b"to exit\r\n>")

    def execute(self, code: str) -> str:
        """Execute code in the raw REPL; return what it printed."""
        self.raw = b""
        data = code.encode()
        for at in range(0, len(data), 256):
            self.link.write(data[at : at + 256])
            self.run(0.002)
        self.link.write(b"\x04")
        self._expect(b"\x04>")
        said, error, _ = self.raw.removeprefix(b"OK").rsplit(b"\x04", 2)
        assert not error, error.decode()
        return said.decode().replace("\r\n", "\n").rstrip("\x04")

    def _expect(self, ending: bytes) -> None:
        for _ in range(100_000):
            if self.raw.endswith(ending):
                return
            self.raw += self.link.read(1)
        raise AssertionError(f"no {ending!r}, but {self.raw[-500:]!r}")
