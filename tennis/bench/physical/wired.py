"""The physical bench: a Brickwall on a serial port, and any target wired to it.

Tennis does not manage the target here: the manifest describes it in the operator's words.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from tennis.bench.fitting import Capabilities
from tennis.bench.instruments import firmware, verifications
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Hello, Play, play_of
from tennis.bench.instruments.ports import the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.bench.patience import USUAL, Patience
from tennis.bench.protocol import Access, Position, ResumableBench, RunRecord
from tennis.kit.edition import PUBLIC_VERSION
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.units import NS_PER_S, ticks_to_ns
from tennis.rally.disk import writing
from tennis.rally.journal import Frame
from tennis.rally.manifest import BenchKind, Fault, Instrument, LoadRecord, SerialLine, Target
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.settings import taken_by

MANAGED = "not managed by tennis"
TIME_NOTE = "real time on real wires"
SOCKET_NOTE = "a Brickwall behind a socket, which may be emulated"
TIMEOUT_MAX_NS = 30_000_000_000
RESERVE_NS = 2_000_000_000  # what the firmware wants on top, so that its counters cannot wrap
NOTES = "bench.jsonl"  # what happened on this side, beside the journal of frames
FAULTS = {"instrument_restarted", "exception"}
WIRE_TESTS = 4  # each raises the ping three times


class WiredBench(ResumableBench):
    """Plays plans on the wired target."""

    kind: BenchKind = "pi"
    repeats = False
    kernels: ClassVar[Collection[str]] = ()
    can: ClassVar[Capabilities] = Capabilities(
        name="a board, not managed",
        where="--bench pi",
        takes=taken_by("wired"),
        instruments=("pico",),
    )

    def __init__(self, port: str | None = None, patience: Patience = USUAL) -> None:
        self._port = port
        self._patience = patience
        self._brickwall: Brickwall | None = None
        self._hello: Hello | None = None

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is for a board that nobody manages."""
        return plan.bench == "pi" and plan.target is None

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the instrument: what the target plays with, only its owner knows."""
        del plan, options
        unknown = ("load", "top_half", "bottom_half", "priorities")
        return {"instrument": "pico", **dict.fromkeys(unknown, UNKNOWN)}

    @classmethod
    def of(cls, plan: Plan, access: Access) -> "WiredBench":
        """Return the bench."""
        del plan
        return cls(access.port)

    def time_note(self, _: Plan) -> str:
        """Return the meaning of a nanosecond."""
        return SOCKET_NOTE if self._port and "://" in self._port else TIME_NOTE

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return what must stay the same while a rally is played: this very instrument."""
        hello = self._meet()
        _check(plan, hello)
        return {
            "tennis": PUBLIC_VERSION,
            "serial": hello.unique_id,
            "board": hello.board,
            "firmware": hello.firmware,
            "firmware_sha256": hello.firmware_sha256,
            "micropython": hello.micropython,
            "tick_hz": str(hello.tick_hz),
        }

    def _meet(self) -> Hello:
        """Open the port, unless it is open, and read the greeting."""
        if self._brickwall is None or self._hello is None:
            self._port = the_port(self._port)
            self._brickwall = Brickwall(SerialLink(self._port), patience=self._patience)
            try:
                self._hello = self._brickwall.hello()
            except BaseException:
                self._brickwall.close()
                self._brickwall = None
                raise
        return self._hello

    def start(self, plan: Plan, folder: Path) -> "WiredSession":
        """Begin to play."""
        return self.go_on(plan, folder, Position(balls=0, sequence=0, clock_ticks=0))

    def go_on(self, plan: Plan, folder: Path, position: Position) -> "WiredSession":
        """Begin to play the missing balls of a rally."""
        tick_hz = self._meet().tick_hz
        brickwall, self._brickwall = self._brickwall, None  # the session closes it
        assert brickwall is not None  # noqa: S101 (it was just met)
        play = replace(
            play_of(plan.protocol),
            first=position.balls,
            sequence=position.sequence,
            clock_ticks=position.clock_ticks,
        )
        return WiredSession(brickwall, play, _Notes(folder / NOTES, tick_hz))

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return what took part, as it was recorded when the rally began."""
        recorded = plan.versions
        notes = _Notes(folder / NOTES, int(recorded["tick_hz"]))
        self._port = self._port or plan.port
        doctor = f"tennis doctor --port {self._port}" if self._port else "tennis doctor"
        return RunRecord(
            instrument=Instrument(
                kind="brickwall",
                serial=recorded["serial"],
                firmware=recorded["firmware"],
                firmware_sha256=recorded["firmware_sha256"],
                tick_hz=int(recorded["tick_hz"]),
                calibration=verifications.read(recorded["serial"]),
            ),
            target=Target(
                board=UNKNOWN,
                release=UNKNOWN,
                version=UNKNOWN,
                config_sha256=None,
                command_line=UNKNOWN,
                module=UNKNOWN,
                module_sha256=None,
                governor=None,
                added=plan.command_line,
                tasks=[],
                managed=MANAGED,
                **(plan.of_target() | {"kernel": plan.kernel}),
            ),
            load=LoadRecord(name=plan.load, command=UNKNOWN),
            faults=notes.faults(),
            events=notes.events(),
            line=notes.line(),
            advice={
                "no_answer": f"check the reply wire ({doctor})",
                "no_ping": f"check the ping wire ({doctor})",
                "overrun": f"serve fewer balls a second, and check the reply wire ({doctor})",
                "undecided": f"look for reflections and cross-talk on the reply wire ({doctor})",
                "held_line": f"check the reply wire and the Racquet ({doctor})",
            },
        )


def _check(plan: Plan, hello: Hello) -> None:
    """Refuse what cannot be played. Raises UsageError, BenchError."""
    protocol = plan.protocol
    flash = "run `tennis brickwall flash`, then `tennis brickwall verify`"
    if hello.firmware_sha256 != firmware.sha256():
        raise BenchError(f"the Brickwall's firmware is not that of this checkout: {flash}")
    if protocol.timeout_ns > TIMEOUT_MAX_NS:
        raise UsageError("a timeout on a physical bench is at most 30 s (30000 ms)")
    between_ns = max(protocol.gap_max_ns, NS_PER_S / (protocol.rate_hz or NS_PER_S))
    longest_ns = between_ns + max(protocol.timeout_ns + RESERVE_NS, protocol.settle_ns)
    if longest_ns * hello.tick_hz / NS_PER_S >= 2**32:
        limit_s = 2**32 / hello.tick_hz
        raise UsageError(
            f"this Brickwall counts to {limit_s:.3g} s: a gap and the timeout (and 2 s), and a gap "
            "and the settling, must be less",
            next_step="shorten the longest of them",
        )


class WiredSession:
    """A rally that is being played through a Brickwall."""

    garbage_bytes = 0  # the line's is repaired, and counted with its other errors

    def __init__(self, brickwall: Brickwall, play: Play, notes: "_Notes") -> None:
        self._brickwall = brickwall
        self._play = play
        self._notes = notes
        brickwall.note = lambda what, words: notes.add(what, words, brickwall.at_ticks)

    @property
    def doing(self) -> str:
        """Describe the activity while no ball comes."""
        return self._brickwall.doing

    def frames(self) -> Iterator[Frame | None]:
        """Yield the Brickwall's frames, each once and in their order; None while none comes."""
        if self._play.first:
            self._notes.add("resumed", f"with ball {self._play.first}", self._play.clock_ticks)
        yield from self._brickwall.play(self._play)

    def ping(self) -> None:
        """Let the target see some pings before the first ball: those of the wire test."""
        self._brickwall.end_play()  # of a host that was killed
        self._brickwall.command("quiet")
        for _ in range(WIRE_TESTS):
            self._brickwall.wires()

    def stop(self) -> None:
        """Ask the Brickwall to end."""
        self._brickwall.stop()

    def close(self) -> None:
        """Give the port up; keep what the line did."""
        self._brickwall.close()
        self._notes.add_line(self._brickwall.counts.as_dict())


class _Notes:
    """Notes of the host's side, kept as they happen: a line of JSON each."""

    def __init__(self, path: Path, tick_hz: int) -> None:
        self._path = path
        self._tick_hz = tick_hz

    def add(self, what: str, text: str, at_ticks: int) -> None:
        self._append({"what": what, "text": text, "at_ns": ticks_to_ns(at_ticks, self._tick_hz)})

    def add_line(self, counts: dict[str, int]) -> None:
        self._append({"what": "line", "counts": counts})

    def _append(self, note: dict[str, Any]) -> None:
        with writing(self._path), self._path.open("a", encoding="utf-8") as notes:
            notes.write(json.dumps(note) + "\n")

    def _all(self) -> list[dict[str, Any]]:
        frames = []
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    note = json.loads(line)
                except ValueError:  # half a line: the host lost its power
                    continue
                if isinstance(note, dict):
                    frames.append(note)
        return frames

    def events(self) -> list[dict[str, Any]]:
        return [note for note in self._all() if note["what"] != "line"]

    def faults(self) -> list[Fault]:
        """Return the faults, those of the same words once."""
        counts = Counter(
            (note["what"], note["text"]) for note in self._all() if note["what"] in FAULTS
        )
        return [
            Fault(code=what, message=text if times == 1 else f"{text} ({times} times)")
            for (what, text), times in counts.items()
        ][:100]

    def line(self) -> SerialLine:
        """Return the errors of the line in all sittings of the rally."""
        total: dict[str, int] = {}
        for note in self._all():
            if note["what"] == "line":
                for name, count in note["counts"].items():
                    total[name] = total.get(name, 0) + count
        return SerialLine(**total)
