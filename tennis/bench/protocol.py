"""The protocol of a bench: plans in, sessions out, and a record of the rally."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from tennis.bench.fitting import Capabilities
from tennis.rally.journal import Frame
from tennis.rally.manifest import (
    BenchKind,
    Fault,
    Instrument,
    LoadRecord,
    OnProcessor,
    SerialLine,
    Target,
)
from tennis.rally.plan import Plan


@dataclass(frozen=True)
class RunRecord:
    """A bench's record of a rally: who took part, what went wrong, what else happened."""

    instrument: Instrument
    target: Target
    load: LoadRecord
    faults: list[Fault] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    line: SerialLine | None = None
    # the target's counts of pings by processor; empty: not counted by the target
    where: list[OnProcessor] = field(default_factory=list)
    # a check after the last ball that is missing; empty: none, or the rally did not end
    unchecked: str = ""
    # how to repair a fault here, by its code: added to its message
    advice: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Position:
    """The position at which a rally continues."""

    balls: int  # that are there already
    sequence: int  # of the next frame
    clock_ticks: int  # the instrument's clock when it stopped


@dataclass(frozen=True)
class Access:
    """The access to a board, as its user named it, never as a rally's folder does."""

    port: str | None = None  # of the Brickwall; None: the only one
    target: str | None = None  # the host that ssh knows


class Session(Protocol):
    """A rally that is being played."""

    @property
    def doing(self) -> str:
        """Describe the activity while no ball comes; empty: nothing to report."""

    @property
    def garbage_bytes(self) -> int:
        """Return how many bytes came between frames, and were not repaired."""

    def frames(self) -> Iterator[Frame | None]:
        """Yield the instrument's frames as they come; None now and then while it waits."""

    def stop(self) -> None:
        """Ask the instrument to end; what it still holds comes as the last frames."""

    def close(self) -> None:
        """Undo everything that was done to the target. Safe to call twice."""


class Bench(Protocol):
    """Plays plans."""

    kind: BenchKind
    repeats: bool  # the same plan gives the same bytes: a rally is resumed by playing it again

    def time_note(self, plan: Plan) -> str:
        """Return the meaning of a nanosecond of a rally."""

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions on which the bytes of a rally depend.

        Raises UsageError or BenchError if the plan cannot be played here: before it is played.
        """

    def start(self, plan: Plan, folder: Path) -> Session:
        """Begin to play; the target's console goes to ``folder``/console.log."""

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return the record of a rally in ``folder`` after its session is closed."""


class RegisteredBench(Bench, Protocol):
    """A bench that a plan finds: ``registry`` or a package names its class."""

    can: ClassVar[Capabilities]
    kernels: ClassVar[Collection[str]]  # names of --kernel that are this bench's own

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is for this bench."""

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return a plan's defaults: load, instrument, halves, priorities.

        ``options``: the settings asked for. Raises UsageError.
        """

    @classmethod
    def of(cls, plan: Plan, access: Access) -> Bench:
        """Return a plan's bench. Raises UsageError or BenchError if it is not there."""


class ResumableBench(Bench):
    """A bench that does not repeat: a rally is resumed with the balls that are missing.

    A bench says that it is one by inheriting from it; a method ``go_on`` alone says nothing.
    """

    @abstractmethod
    def go_on(self, plan: Plan, folder: Path, position: Position) -> Session:
        """Begin to play the rest of a rally."""


class PreparingBench(Bench):
    """A bench whose target must be booted into a rally's kernel before each rally of a match.

    A bench says that it is one by inheriting from it.
    """

    @abstractmethod
    def prepare(self, plan: Plan, stop: Callable[[], bool] = lambda: False) -> None:
        """Reboot the target into the plan's kernel, and wait until it can play, or ``stop``.

        Raises BenchError if it does not come back, comes back with another kernel, or the waiting
        was stopped.
        """
