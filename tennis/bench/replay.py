"""The replay bench: a recorded rally as if it were live, for a lost session and for readers.

Balls, the instrument's events, the console and the faults are the recording's. They come at the
pace of the recording, or faster. The new rally is marked as a replay: ``tool.versions`` holds the
SHA-256 of the recorded balls.
"""

import json
import shutil
import struct
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tennis.bench.fitting import CHOSEN, Capabilities
from tennis.bench.protocol import Access, RunRecord, Session
from tennis.kit import wire
from tennis.kit.errors import UsageError
from tennis.kit.units import NS_PER_S
from tennis.rally.balls import RECORD
from tennis.rally.disk import writing
from tennis.rally.folder import AFTER, BALLS, BEFORE, CAPTURE, CONSOLE, Rally
from tennis.rally.journal import Frame
from tennis.rally.manifest import BenchKind
from tennis.rally.opening import open_rally
from tennis.rally.plan import Plan

NOTE = "; replayed from a recording"
RECORDING = "recording_balls_sha256"  # in the versions of a rally that was replayed
FRAME_NS = 250_000_000  # of recorded time that goes into one frame
FRAME_BALLS = 200
POLL_S = 0.1
CODES = {name: code for code, name in wire.EVENT_NAMES.items()}
STOPPED = next(code for code, reason in wire.END_REASONS.items() if reason == "stopped")


class ReplayBench:
    """Plays a recorded rally; ``speed``: times as fast as it was played."""

    kind: BenchKind = "replay"
    repeats = True
    kernels: ClassVar[Collection[str]] = ()
    can: ClassVar[Capabilities] = Capabilities(  # any recording
        name="replay", where="", takes=frozenset(CHOSEN), instruments=("builtin", "pico")
    )

    def __init__(self, recording: Path, speed: float) -> None:
        self.recording = open_rally(recording)
        self._speed = speed
        self._whole = False
        if self.recording.manifest.ended == "interrupted":
            raise UsageError(
                f"{recording} was interrupted: its next balls are not known",
                next_step="replay a whole rally",
            )

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is a recorded rally's."""
        return plan.bench == "replay"

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return nothing: a recording says it all."""
        del plan, options
        return {}

    @classmethod
    def of(cls, plan: Plan, access: Access) -> "ReplayBench":
        """Return the bench. Raises RallyError if there is no such recording."""
        del access
        return cls(Path(plan.recording or ""), plan.speed)

    def time_note(self, plan: Plan) -> str:
        """Return the meaning of a nanosecond: the one of the recording."""
        del plan
        return f"{self.recording.manifest.time_note.removesuffix(NOTE)}{NOTE}"

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the recording's versions, and which recording it is."""
        del plan
        manifest = self.recording.manifest
        return {**manifest.tool.versions, RECORDING: manifest.files[BALLS]}

    def start(self, plan: Plan, folder: Path) -> Session:
        """Begin to play; the target's console is complete at once."""
        del plan
        for name in (CONSOLE, CAPTURE, BEFORE, AFTER):
            if path := self.recording.file(name):
                with writing(folder / name):
                    shutil.copyfile(path, folder / name)
        return _ReplaySession(self, self._speed)

    def over(self) -> None:
        """Say that all of the recording was played, its end with it."""
        self._whole = True

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return the record of the part that was replayed."""
        del plan, folder
        manifest = self.recording.manifest
        own = {"load_started", *CODES}
        return RunRecord(
            instrument=manifest.instrument,
            target=manifest.target,
            load=manifest.load,
            line=manifest.line,
            where=manifest.counts.where if self._whole else [],
            faults=list(manifest.faults) if self._whole else [],
            events=[event for event in self.recording.each_event() if event.get("what") not in own],
        )


class _ReplaySession:
    """A recorded rally that is being played."""

    doing = ""
    garbage_bytes = 0

    def __init__(self, bench: ReplayBench, speed: float) -> None:
        self._bench = bench
        self._speed = speed
        self._stopped = False

    def frames(self) -> Iterator[Frame | None]:
        """Yield the recorded frames when they are due; None every now and then in between."""
        rally = self._bench.recording
        began = time.monotonic()
        first_ns: int | None = None
        sequence = 0
        balls = misses = clock = 0
        noted: Counter[str] = Counter()
        hello = json.dumps({"tick_hz": rally.tick_hz}).encode()
        yield Frame(wire.HELLO, sequence, hello)
        for due_ns, kind, payload in _recorded(rally):
            first_ns = due_ns if first_ns is None else first_ns
            while not self._stopped and (
                (left_s := (due_ns - first_ns) / NS_PER_S / self._speed - time.monotonic() + began)
                > 0
            ):
                time.sleep(min(left_s, POLL_S))
                yield None
            if self._stopped:
                break
            sequence += 1
            yield Frame(kind, sequence, payload)
            if kind == wire.BALLS:
                sent = np.frombuffer(payload, RECORD)
                balls += sent.size
                misses += int((sent["fall"] == wire.NONE_TICKS).sum())
                clock = int(sent["served"][-1])
            else:
                for _, what, value in struct.iter_unpack(wire.EVENT, payload):
                    noted[wire.EVENT_NAMES[what]] += value if what == CODES["unlisted"] else 1
        if not self._stopped:
            self._bench.over()
        complete = not self._stopped and rally.manifest.ended == "complete"
        end = struct.pack(
            wire.END_FORMAT,
            *(0 if complete else STOPPED, balls, misses),
            noted["stray"] + noted["runt"] + noted["unlisted"],
            *(noted["double"], noted["late_serve"], clock),
        )
        yield Frame(wire.END, sequence + 1, end)

    def stop(self) -> None:
        """End the replay at its position."""
        self._stopped = True

    def close(self) -> None:
        """Do nothing: there is no target."""


def _recorded(rally: Rally) -> Iterator[tuple[int, int, bytes]]:
    """Yield a recording's frames: due at (ns of its clock), kind, payload.

    Their limits depend on the recording alone, so that a continued replay finds them again.
    """
    events = _events(rally)
    event = next(events, None)
    for balls, served_ns in _frames(rally):
        early = []
        while event is not None and event[0] <= served_ns[0]:
            early.append(event[1])
            event = next(events, None)
        yield from _event_frames(int(served_ns[0]), early)
        yield int(served_ns[-1]), wire.BALLS, balls.tobytes()
    late = [event[1]] if event is not None else []
    late += [payload for _, payload in events]
    yield from _event_frames(0, late)


def _event_frames(due_ns: int, payloads: list[bytes]) -> Iterator[tuple[int, int, bytes]]:
    each = wire.PAYLOAD_MAX // wire.EVENT_SIZE
    for begin in range(0, len(payloads), each):
        yield due_ns, wire.EVENTS, b"".join(payloads[begin : begin + each])


def _events(rally: Rally) -> Iterator[tuple[int, bytes]]:
    """Yield the instrument's events: when (ns), and its record."""
    for event in rally.each_event():
        code = CODES.get(str(event.get("what")))
        at_ns, value = _whole(event.get("at_ns"), 62), _whole(event.get("value"), 32)
        if code is not None and at_ns is not None and value is not None:
            ticks = _ticks(np.array([at_ns], np.int64), rally.tick_hz)[0]
            yield at_ns, struct.pack(wire.EVENT, int(ticks), code, value)


def _whole(value: Any, bits: int) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**bits else None


def _frames(rally: Rally) -> Iterator[tuple[NDArray[np.void], NDArray[np.int64]]]:
    """Yield the balls of a frame each, and when they were served (ns)."""
    for batch in rally.batches():
        served_ns = batch["served_ns"].values
        balls = np.empty(served_ns.size, RECORD)
        balls["served"] = _ticks(served_ns, rally.tick_hz)
        for column in ("rise", "fall"):
            balls[column] = batch[f"{column}_ticks"].filled(wire.NONE_TICKS)
        begin = 0
        while begin < balls.size:
            end = int(np.searchsorted(served_ns, served_ns[begin] + FRAME_NS))
            end = min(max(end, begin + 1), begin + FRAME_BALLS)
            yield balls[begin:end], served_ns[begin:end]
            begin = end


def _ticks(ns: NDArray[np.int64], tick_hz: int) -> NDArray[np.uint64]:
    """Return times in ns as ticks, rounded: the inverse of ``units.ticks_to_ns``."""
    whole, rest = np.divmod(ns, NS_PER_S)
    ticks: NDArray[np.uint64] = (
        whole * tick_hz + (rest * tick_hz + NS_PER_S // 2) // NS_PER_S
    ).astype(np.uint64)
    return ticks
