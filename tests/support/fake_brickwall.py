"""A fake: the Brickwall's side of the line without a Brickwall, for the host's own unit tests.

It serves nothing and measures nothing; it makes balls up (``ball_of``). The emulated Pico tests the
real firmware.
"""

import binascii
import contextlib
import json
import secrets
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable

from tennis.bench.instruments import firmware
from tennis.kit import wire
from tennis.kit.gaps import gap_ns

TICK_HZ = 125_000_000
HELD_MAX = 24
BALLS_A_FRAME = 64
PINS = {"ping": 2, "reply": 3, "listen": 6, "answer": 7}


def ball_of(index: int, clock: int) -> tuple[int, int, int]:
    """Return a ball as the fake makes it up: served, rise, fall."""
    return clock, 125 + index % 100, 625 + index % 1000


def wires(
    reply: tuple[int, int] = (1, 0), ping: tuple[int, int] = (1, 0), **joined: bool
) -> dict[str, object]:
    """Return what ``wires`` answers: levels when pulled or driven (up, down), what is joined."""
    names = ("ping_to_reply", "ping_to_listen", "answer_to_reply", "listen_to_reply")
    return {
        "ping": {"high": ping[0], "low": ping[1], "pulled_up": 1, "pulled_down": 0},
        "reply": {"pulled_up": reply[0], "pulled_down": reply[1]},
        "listen": {"pulled_up": 1, "pulled_down": 0},
        **dict.fromkeys(names, False),
        **joined,
    }


class FakeBrickwall:
    """Listens on TCP; one connection at a time, as a serial port."""

    def __init__(self, *, ball: Callable[[int, int], tuple[int, int, int]] = ball_of) -> None:
        self.ball = ball
        self.hello = {
            "instrument": "brickwall",
            "firmware": firmware.VERSION,
            "firmware_sha256": firmware.sha256(),
            "micropython": "1.25.0",
            "board": "a fake Pico",
            "unique_id": "e660000000000001",
            "clock_hz": TICK_HZ,
            "tick_hz": TICK_HZ,
            "pins": PINS,
        }
        self.wires = wires(ping_to_listen=True, answer_to_reply=True)
        self.pinged: Callable[[], object] = lambda: (
            None
        )  # what a target does at a wire test's pings
        self.balls_a_second = 1e9
        self.said: list[str] = []  # the commands
        self.events: list[tuple[int, int, int]] = []  # (before ball, what, value)
        self.exceptions: list[tuple[int, str]] = []  # (before ball, what was raised)
        self.fault_at: int | None = None  # an exception before this ball
        self.error = "ValueError: made up, line 7"  # its words
        self.miscounts = 0  # it reports this many misses too many in the end
        self.ends_at: int | None = None  # it calls the rally complete before this ball
        self.errors = (0, 0)  # of its measuring: ticks of the rise, of the width
        self.loop = (0, 0)  # ticks that wires add: to a rise, to a width
        self.generating: dict[str, int] | None = None
        self.inside = True  # of the chip: its generator has no wires
        self.restart()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = f"socket://127.0.0.1:{self._server.getsockname()[1]}"
        self._connection: socket.socket | None = None
        self._out = b""
        self._in = b""
        self._lock = threading.RLock()
        self._ended = False
        self._accepting = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # --- what tests do to it ---

    def restart(self) -> None:
        """Forget everything, as after a loss of power."""
        self.boot = secrets.token_hex(4)
        self.state = "idle"
        self.play: dict[str, str] = {}
        self.next_ball = self.balls = self.clock = self.misses = 0
        self.sequence = 0
        self.held: deque[tuple[int, bytes]] = deque()
        self._out = b""

    def unplug(self, *, restart: bool = False) -> None:
        with self._lock:
            self._accepting = False
            self._drop()
            if restart:
                self.restart()

    def plug_in(self) -> None:
        self._accepting = True

    def close(self) -> None:
        self._ended = True
        self._thread.join()
        self._drop()
        self._server.close()

    def __enter__(self) -> "FakeBrickwall":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the line ---

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._out = self._in = b""

    def _run(self) -> None:
        while not self._ended:
            readers = [s for s in (self._connection, self._server) if s is not None]
            try:
                ready, _, _ = select.select(readers, [], [], 0.005)
                with self._lock:
                    self._turn(ready)
            except (OSError, ValueError):
                with self._lock:
                    self._drop()

    def _turn(self, ready: list[socket.socket]) -> None:
        if self._server in ready:
            connection, _ = self._server.accept()
            if self._accepting:
                self._drop()
                self._connection = connection
                connection.setblocking(False)
            else:
                connection.close()
        if self._connection is None:
            return
        if self._connection in ready:
            data = self._connection.recv(4096)
            if not data:
                self._drop()
                return
            self._take(data)
        if self.state == "playing":
            self._serve()
        if self._out:
            with contextlib.suppress(BlockingIOError):
                self._out = self._out[self._connection.send(self._out) :]

    def _take(self, data: bytes) -> None:
        self._in += data
        *lines, self._in = self._in.split(b"\n")
        for line in lines:
            if line.strip():
                self._line(line)

    def _line(self, line: bytes) -> None:
        words, _, crc = line.rpartition(b" #")
        if f"{binascii.crc32(words):08x}".encode() != crc:
            self._answer(0xFFFFFFFF, {"error": "wrong checksum", "code": "checksum"})
            return
        number, verb, *values = words.decode().split(" ")
        self.said.append(verb)
        arguments = dict(value.split("=") for value in values)
        found = getattr(self, f"do_{verb}")(arguments)
        if isinstance(found, str):
            self._answer(int(number), {"error": found, "code": found.split()[0]})
        elif found is not None:
            self._answer(int(number), {"ok": found})
        if verb == "play" and not isinstance(found, str):
            self._frame(wire.HELLO, json.dumps(self.do_hello({}) | self.play).encode())

    def _answer(self, number: int, content: dict[str, object]) -> None:
        self._out += wire.encode(wire.ANSWER, number, json.dumps(content).encode())

    # --- commands ---

    def do_hello(self, _: dict[str, str]) -> dict[str, object]:
        return {
            **self.hello,
            "boot": self.boot,
            "state": self.state,
            "rally": self.play.get("rally"),
            "next_frame": self.sequence,
            "oldest_frame": self.held[0][0] if self.held else self.sequence,
        }

    def do_play(self, arguments: dict[str, str]) -> dict[str, str] | str:
        if self.state == "playing":
            return "playing already"
        self.play = arguments
        self.state = "playing"
        self.next_ball, self.balls = int(arguments["first"]), int(arguments["balls"])
        self.clock, self.misses = int(arguments["clock_ticks"]), 0
        self.sequence = int(arguments["sequence"])
        self.held.clear()
        self.due = time.monotonic()
        return arguments

    def do_ack(self, arguments: dict[str, str]) -> None:
        while self.held and self.held[0][0] < int(arguments["next"]):
            self.held.popleft()
        if self.state == "ended" and not self.held:
            self.state = "idle"

    def do_resend(self, arguments: dict[str, str]) -> None:
        for sequence, frame in self.held:
            if sequence >= int(arguments["from"]):
                self._out += frame

    def do_stop(self, _: dict[str, str]) -> dict[str, str] | str:
        if self.state != "playing":
            return "idle"
        self._end(5)
        return {}

    def do_status(self, _: dict[str, str]) -> dict[str, object]:
        return {"state": self.state}

    def do_wires(self, _: dict[str, str]) -> dict[str, object]:
        self.pinged()
        return self.wires

    def do_generate(self, arguments: dict[str, str]) -> dict[str, object]:
        source = arguments.pop("source")
        self.generating = {key: int(value) for key, value in arguments.items()}
        self.inside = source == "internal"
        return {**arguments, "source": source, "synchroniser_ticks": self.synchroniser_ticks}

    @property
    def synchroniser_ticks(self) -> int:
        """Return what the generator listens behind."""
        return 0 if self.inside else 2

    def do_clock(self, arguments: dict[str, str]) -> dict[str, object]:
        hz = int(arguments["hz"])
        self.hello |= {"clock_hz": hz, "tick_hz": hz}
        return {"clock_hz": hz, "tick_hz": hz}

    def do_quiet(self, _: dict[str, str]) -> dict[str, object]:
        self.generating = None
        return {}

    # --- a play ---

    def _frame(self, kind: int, payload: bytes) -> None:
        frame = wire.encode(kind, self.sequence, payload)
        self.held.append((self.sequence, frame))
        self._out += frame
        self.sequence += 1

    def _serve(self) -> None:
        if time.monotonic() < self.due:
            return
        while self.state == "playing" and len(self.held) < HELD_MAX - 2:
            if self.next_ball in {self.balls, self.ends_at}:
                self._end(0)
                return
            for before, text in self.exceptions:
                if before == self.next_ball:
                    self._answer(0, {"error": text, "code": "exception"})
            for before, what, value in self.events:
                if before == self.next_ball:
                    self._frame(wire.EVENTS, struct.pack(wire.EVENT, self.clock, what, value))
            if self.fault_at is not None and self.next_ball >= self.fault_at:
                self._end(4)
                self._answer(0, {"error": self.error, "code": "exception"})
                return
            count = min(BALLS_A_FRAME, self.balls - self.next_ball)
            balls = []
            for _ in range(count):
                self.clock += 125_000
                balls.append(self.answered())
                self.misses += balls[-1][2] == wire.NONE_TICKS
                self.next_ball += 1
            self._frame(wire.BALLS, b"".join(struct.pack(wire.BALL, *ball) for ball in balls))
            if self.balls_a_second < 1e9:
                self.due = time.monotonic() + count / self.balls_a_second
                return

    def answered(self) -> tuple[int, int, int]:
        """Return the next ball: made up, or what a generator without any error would do."""
        known = self.generating
        if known is None:
            return self.ball(self.next_ball, self.clock)
        pair = self.next_ball % known["pairs"]
        rise, width = (
            gap_ns(known["seed"], 2 * pair + one, known[f"{what}_min_ticks"], most)
            for one, (what, most) in enumerate(
                [("rise", known["rise_max_ticks"]), ("width", known["width_max_ticks"])]
            )
        )
        off, longer = self.errors
        if not self.inside:
            off += self.synchroniser_ticks + self.loop[0]
            longer += self.loop[1]
        return self.clock, rise + off, rise + off + width + longer

    def _end(self, reason: int) -> None:
        played = self.next_ball - int(self.play["first"])
        strays, doubles = (
            sum(
                value if what == 8 else 1
                for before, what, value in self.events
                if what in kinds and before <= self.next_ball
            )
            for kinds in ((2, 7, 8), (3,))
        )
        counters = [played, self.misses + self.miscounts, strays, doubles, 0]
        payload = struct.pack(wire.END_FORMAT, reason, *counters, self.clock)
        self._frame(wire.END, payload)
        self.state = "ended"
