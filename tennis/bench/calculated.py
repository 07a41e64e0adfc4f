"""Benches without a target: a function says when each ball is answered.

For an expected distribution beside a measured one, for exercises, for a page that needs a rally of
known numbers. Balls are served as the plan's protocol says, and other settings are refused.
"""

import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import cramjam

from tennis.bench.fitting import Capabilities
from tennis.bench.protocol import Access, RunRecord
from tennis.kit import gaps, wire
from tennis.kit.edition import EDITION, KEY, PUBLIC_VERSION
from tennis.kit.errors import BenchError
from tennis.kit.units import NS_PER_S, format_count
from tennis.rally.folder import CONSOLE
from tennis.rally.journal import Frame
from tennis.rally.manifest import BenchKind, Instrument, LoadRecord, Protocol, Target
from tennis.rally.plan import Plan

NOBODY = "none"
UNTOUCHED = "0" * 64  # the hash of a missing file
FRAME_BALLS = 200
# what a bench has that has no target
NO_TARGET = {
    "load": ("idle",),
    "top_half": ("hard",),
    "bottom_half": ("thread",),
    "priorities": ("default",),
}
STOPPED = next(code for code, reason in wire.END_REASONS.items() if reason == "stopped")
Answer = tuple[int, int]  # from serving to the reply's rise, and to its fall: ns


class CalculatedBench(ABC):
    """A bench without a target. A class of it says what it is, and ``answers``."""

    kind: BenchKind = "virtual"
    repeats = True
    kernels: ClassVar[tuple[str, ...]]  # what --kernel takes beside the known ones
    can: ClassVar[Capabilities]
    version: ClassVar[str]  # another one if the same plan gives other answers

    @abstractmethod
    def time_note(self, plan: Plan) -> str:
        """Return the meaning of a nanosecond: the same for all rallies that may be compared."""

    @abstractmethod
    def answers(self, plan: Plan) -> Iterator[Answer | None]:
        """Yield how each ball is answered, the same of the same plan; None: it is not.

        Draw from ``plan.protocol.seed`` what differs from boot to boot.
        """

    @classmethod
    def plays(cls, plan: Plan) -> bool:
        """Tell whether a plan is for this bench."""
        return plan.bench == cls.kind and plan.kernel in cls.kernels

    @classmethod
    def defaults(cls, plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return instrument, load, halves and priorities: the first of what the bench has."""
        del plan, options
        return {"instrument": "builtin", **{name: has[0] for name, has in cls.can.has.items()}}

    @classmethod
    def of(cls, plan: Plan, access: Access) -> "CalculatedBench":
        """Return the bench."""
        del plan, access
        return cls()

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend."""
        del plan
        return {
            "tennis": PUBLIC_VERSION,
            KEY: str(EDITION),
            "bench": f"{self.can.name} {self.version}",
            "cramjam": cramjam.__version__,
        }

    def start(self, plan: Plan, folder: Path) -> "_CalculatedSession":
        """Begin to play."""
        (folder / CONSOLE).write_text("there is no target\n", encoding="utf-8")
        return _CalculatedSession(plan.protocol, self.answers(plan))

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return who took part: nobody. Settings are recorded that the bench takes or has."""
        del folder
        own = {"kernel", *self.can.takes, *self.can.has}
        target = Target(
            board=NOBODY,
            release=NOBODY,
            version=NOBODY,
            config_sha256=UNTOUCHED,
            command_line="",
            module=NOBODY,
            module_sha256=UNTOUCHED,
            tasks=[],
            **{name: value for name, value in plan.of_target().items() if name in own},
        )
        instrument = Instrument(
            kind="virtual",
            firmware=f"{self.can.name} {self.version}",
            firmware_sha256=UNTOUCHED,
            tick_hz=NS_PER_S,
        )
        return RunRecord(instrument, target, LoadRecord(name=plan.load, command=""))


class _CalculatedSession:
    """A rally that is calculated."""

    doing = ""
    garbage_bytes = 0

    def __init__(self, protocol: Protocol, answers: Iterator[Answer | None]) -> None:
        self._served = _served(protocol, answers)
        self._stopped = False

    def frames(self) -> Iterator[Frame]:
        """Yield the frames; a tick is a nanosecond."""
        yield Frame(wire.HELLO, 0, json.dumps({"tick_hz": NS_PER_S}).encode())
        sequence = balls = misses = clock = 0
        while not self._stopped and (part := list(islice(self._served, FRAME_BALLS))):
            sequence += 1
            balls += len(part)
            misses += sum(fall == wire.NONE_TICKS for _, _, fall in part)
            clock = part[-1][0]
            records = b"".join(struct.pack(wire.BALL, *ball) for ball in part)
            yield Frame(wire.BALLS, sequence, records)
        reason = STOPPED if self._stopped else 0
        end = struct.pack(wire.END_FORMAT, reason, balls, misses, 0, 0, 0, clock)
        yield Frame(wire.END, sequence + 1, end)

    def stop(self) -> None:
        """End after the current frame."""
        self._stopped = True

    def close(self) -> None:
        """Do nothing: there is no target."""


def _served(protocol: Protocol, answers: Iterator[Answer | None]) -> Iterator[tuple[int, int, int]]:
    """Yield balls as a protocol serves them: when, to the rise and the fall of the reply; ns.

    Closed loop: a gap after each answer, or after the timeout. Open: at its rate, independent of
    the answers. A reply that is later than the timeout did not come. Raises BenchError if
    answers are missing.
    """
    clock = protocol.settle_ns
    for ball in range(protocol.balls):
        if not protocol.period_ns:
            clock += gaps.gap_ns(protocol.seed, ball, protocol.gap_min_ns, protocol.gap_max_ns)
        try:
            answer = next(answers) or (wire.NONE_TICKS, wire.NONE_TICKS)
        except StopIteration:
            raise BenchError(
                f"there are answers to {format_count(ball, 'ball')} only, and the rally has "
                f"{protocol.balls:,}",
                next_step="let the bench's answers yield one for each",
            ) from None
        rise, fall = (
            wire.NONE_TICKS if time_ns > protocol.timeout_ns else time_ns for time_ns in answer
        )
        yield clock, rise, fall
        clock += protocol.period_ns or min(fall, protocol.timeout_ns)
