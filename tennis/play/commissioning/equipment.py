"""The equipment of a commissioning: a Pico and a target, real or emulated."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from tennis.bench.fleet import leases
from tennis.bench.fleet.inventory import connect
from tennis.bench.instruments import emulated
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Hello
from tennis.bench.instruments.flash import flash, interpreter
from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.ports import bootsel, checked, picos, ports, the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.bench.patience import Patience
from tennis.bench.protocol import Access, Bench
from tennis.bench.registry import bench_for
from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import RemoteError, SshError, SshTarget
from tennis.bench.virtual.kernel_facts import facts_of
from tennis.kit.errors import BenchError, TennisError, UsageError
from tennis.play.commissioning import misses
from tennis.play.commissioning.misses import Misses
from tennis.play.commissioning.request import Amount, CommissionRequest
from tennis.play.planning import plan_for
from tennis.play.verify import EMULATED_BALLS, jumpered_pico
from tennis.rally.plan import Plan
from tennis.rally.request import RallyRequest
from tennis.rally.text import plain

VIRTUAL = "virtual"
MEET_S = 2.0
MEET_SECOND_S = 5.0  # it may have been plugged in just now
# of an emulated target: cycles from the ping to the answer, and its length
RISE, WIDTH = 1000, 1250
# the Racquet's counter, found as target/agent finds it. Tests have another place for /sys
LOAD = """
sys=${TENNIS_SYS:-/sys} loaded=
[ -d $sys/module/MODULE ] && loaded=loaded
modprobe MODULE || exit
cat $sys/bus/platform/drivers/*racquet*/*/pings > /dev/null 2>&1 && echo "$loaded" && exit
[ "$loaded" ] || rmmod MODULE
echo "it has no lines: put the overlay in, or options into /etc/modprobe.d (docs/racquet.md)" >&2
exit 1
"""
PINGS = "cat ${TENNIS_SYS:-/sys}/bus/platform/drivers/*racquet*/*/pings"


class StepError(BenchError):
    """A step failed in a way that its list of failures names."""

    def __init__(self, failure: str, message: str, *, next_step: str) -> None:
        super().__init__(message, next_step=next_step)
        self.failure = failure


@dataclass(frozen=True)
class _FoundPico:
    """A Pico that answers."""

    micropython: str
    board: str  # empty before the firmware is there
    serial: str


Count = Callable[[], int | None]


class Equipment(Protocol):
    """The equipment of the steps."""

    kind: Literal["physical", "emulated"]
    amount: Amount
    reached: bool  # there is a target that can be asked
    counts: bool  # its processor may count what it misses
    has_second_pico: bool
    private: set[str]  # words that no record may have

    def find(self) -> _FoundPico:
        """Find the Pico. Raises TennisError."""
        ...

    def flash(self) -> Hello:
        """Put the firmware there. Raises TennisError."""
        ...

    def jumpered(self) -> Any:
        """Return a context with the Brickwall whose wires are jumpers."""
        ...

    def paired(self) -> Any:
        """Return a context with the Brickwall and a second Pico."""
        ...

    def wired(self) -> Any:
        """Return a context with the Brickwall and what counts the pings at the target."""
        ...

    def rights(self) -> None:
        """Do something as root on the target. Raises TennisError."""
        ...

    def facts(self) -> snapshot.Snapshot:
        """Return the target's snapshot. Raises TennisError."""
        ...

    def misses(self, *, with_balls: bool) -> Misses:
        """Count what the target's processor misses, for a while. Raises TennisError."""
        ...

    def rally(self, load: str, *, umpire: bool = False) -> tuple[Bench, Plan]:
        """Return what plays a rally. Raises TennisError."""
        ...


class _Boards:
    """A real Pico on a port (or one behind a socket), and a board, or none that is managed."""

    def __init__(self, request: CommissionRequest) -> None:
        self._request = request
        self.kind: Literal["physical", "emulated"] = (
            "emulated" if "://" in (request.port or "") else "physical"
        )
        self.amount = request.amount or Amount()
        self.reached = self.counts = request.target is not None
        self.has_second_pico = request.generator_port is not None
        words = (request.port, request.generator_port, request.target)
        self.private = {word for word in words if word}
        if request.target:
            self.private.add(request.target.rpartition("@")[2])

    def find(self) -> _FoundPico:
        """Find the Pico, and report other devices."""
        if not self._request.port:
            _refuse_what_is_plugged_in()
        port = the_port(self._request.port)
        self.private.add(port)
        with closing(Brickwall(SerialLink(port))) as brickwall:
            try:
                hello = brickwall.hello(patience_s=MEET_S)
                return _FoundPico(hello.micropython, hello.board, hello.unique_id)
            except LinkLostError:
                raise
            except BenchError:
                pass  # nobody, or firmware of another day: what the prompt says counts
        try:
            return _FoundPico(interpreter(port), "", "")
        except BenchError as error:
            if "CircuitPython" in str(error):
                raise StepError(
                    "circuitpython", "a Pico with CircuitPython", next_step=error.next_step
                ) from error
            raise

    def flash(self) -> Hello:
        """Put the firmware there."""
        return flash(self._request.port)

    def jumpered(self) -> closing[Brickwall]:
        """Open the Brickwall."""
        return closing(Brickwall(SerialLink(the_port(self._request.port))))

    @contextmanager
    def paired(self) -> Iterator[tuple[Brickwall, Brickwall]]:
        """Open the Brickwall, and the second Pico, which must have the firmware, too."""
        assert self._request.generator_port is not None  # noqa: S101 (left out without one)
        with (
            self.jumpered() as brickwall,
            closing(Brickwall(SerialLink(checked(self._request.generator_port)))) as second,
        ):
            try:
                self.private.add(second.hello(patience_s=MEET_SECOND_S).unique_id)
            except BenchError as error:
                raise _step_error("not ready", error) from error
            yield brickwall, second

    @contextmanager
    def wired(self) -> Iterator[tuple[Brickwall, Count]]:
        """Open the Brickwall, and let the Racquet count; afterwards it is as it was."""
        with self.jumpered() as brickwall, self._racquet() as count:
            yield brickwall, count

    def _connect(self) -> SshTarget:
        assert self._request.target is not None  # noqa: S101 (such steps are left out without one)
        return connect(self._request.target)

    @contextmanager
    def _racquet(self) -> Iterator[Count]:
        if not self.reached:
            yield lambda: None
            return
        with self._connect() as target:
            leases.refuse_if_held(target, leases.holder_of(), playing=False)
            module = target.facts(config=False).module
            load = LOAD.replace("MODULE", module)
            told = target.run(load, what="loading the Racquet", root=True).split()
            try:
                yield lambda: _count(target)
            finally:
                if "loaded" not in told:
                    target.attempt(f"rmmod {module}", what="unloading the Racquet", root=True)

    def rights(self) -> None:
        """Log in, become root, and check that nobody else holds the target."""
        try:
            with self._connect() as target:
                target.run("true", what="becoming root", root=True)
                leases.refuse_if_held(target, leases.holder_of(), playing=False)
        except SshError as error:
            raise _step_error("unreachable", error) from error
        except RemoteError as error:
            raise _step_error("rights", error) from error

    def facts(self) -> snapshot.Snapshot:
        """Return the target's snapshot."""
        with self._connect() as target:
            return target.facts()

    def misses(self, *, with_balls: bool) -> Misses:
        """Let perf count on the board, as root: among balls, or without any."""
        try:
            with self._connect() as target:
                text = misses.script(with_balls=with_balls)
                return Misses.of(target.run(text, what="counting misses", root=True))
        except SshError as error:
            raise _step_error("unreachable", error) from error
        except BenchError as error:
            raise _step_error("no counters", error) from error

    def rally(self, load: str, *, umpire: bool = False) -> tuple[Bench, Plan]:
        """Return what plays a rally on the board; one that nobody manages is not loaded."""
        asked, target = self._request, self._request.target
        request = RallyRequest(
            bench="pi",
            target=target,
            port=asked.port,
            load=load if target else None,
            umpire=umpire or None,
            analyser=asked.analyser if umpire else None,
        )
        plan = plan_for(request, asked.served)
        return bench_for(plan, Access(asked.port, target)), plan


class _Emulation:
    """An emulated Pico with a scripted target on its wires, and the virtual bench.

    ``wires`` are arguments of the emulator in place of those of sound wires.
    """

    kind: Literal["physical", "emulated"] = "emulated"

    def __init__(self, request: CommissionRequest, wires: tuple[str, ...] = ()) -> None:
        self._request = request
        self._wires = wires
        self._kernel = (request.target or VIRTUAL).partition(":")[2] or "mainline"
        self.amount = request.amount or Amount(EMULATED_BALLS)
        self.reached = True
        self.counts = False  # QEMU's processor counts no misses
        self.has_second_pico = False
        self.private: set[str] = set()

    def find(self) -> _FoundPico:
        """Start the emulated Pico."""
        hello = self.flash()
        return _FoundPico(hello.micropython, hello.board, hello.unique_id)

    def flash(self) -> Hello:
        """Start it: its flash is made with the firmware."""
        with self.jumpered() as brickwall:
            return brickwall.hello()

    def jumpered(self) -> closing[Brickwall]:
        """Start it with jumpers."""
        return closing(jumpered_pico())

    def paired(self) -> Any:
        """Refuse: there is one emulated Pico. Raises UsageError."""
        raise UsageError("a virtual target has one Pico", next_step="name a board")

    @contextmanager
    def wired(self) -> Iterator[tuple[Brickwall, Count]]:
        """Start it with a target that answers and counts."""
        with tempfile.TemporaryDirectory(prefix="tennis-") as folder:
            log = Path(folder) / "pings"
            script = {"kind": "answer", "rise": RISE, "width": WIDTH, "log": str(log)}
            link = emulated.start(["--respond", json.dumps(script), *self._wires])
            with closing(Brickwall(link, patience=Patience(reconnect_s=0))) as brickwall:
                # the script makes the file; none is there before it began
                yield brickwall, lambda: len(log.read_text().splitlines()) if log.exists() else 0

    def rights(self) -> None:
        """Do nothing: the virtual target is this machine's own."""

    def facts(self) -> snapshot.Snapshot:
        """Boot the kernel, and ask it."""
        return facts_of(self._kernel)

    def misses(self, *, with_balls: bool) -> Misses:  # noqa: ARG002 (the protocol's)
        """Refuse: nothing counts there. Raises UsageError."""
        raise UsageError("a virtual target counts no misses", next_step="name a board")

    def rally(self, load: str, *, umpire: bool = False) -> tuple[Bench, Plan]:
        """Return the virtual bench with an emulated Pico."""
        request = RallyRequest(
            bench="virtual",
            kernel=self._kernel,
            instrument="pico",
            load=load,
            umpire=umpire or None,
        )
        plan = plan_for(request, self._request.served)
        return bench_for(plan), plan


def equipment_for(request: CommissionRequest) -> Equipment:
    """Return the equipment for a request. Raises UsageError for contradictory ports."""
    virtual = request.target is not None and request.target.partition(":")[0] == VIRTUAL
    if request.generator_port and virtual:
        raise UsageError(
            "--generator-port is that of a second Pico, and a virtual target has one Pico",
            next_step="leave it out, or name a board",
        )
    if request.generator_port and request.generator_port == request.port:
        raise UsageError(
            f"{plain(request.generator_port, 80)} is the Brickwall's own port",
            next_step="name the second Pico's port with --generator-port",
        )
    if request.generator_port and not request.port:
        raise UsageError(
            "two Picos are there, and either may be the Brickwall", next_step="name it with --port"
        )
    return _Emulation(request) if virtual else _Boards(request)


def _refuse_what_is_plugged_in() -> None:
    """Raise StepError, which names the devices, unless one Pico with MicroPython is plugged in."""
    found = picos()
    if len(found) > 1:
        names = ", ".join(port.device for port in found)
        raise StepError(
            "several",
            f"there are {len(found)} Picos ({names})",
            next_step="unplug the others, or name the Brickwall with --port",
        )
    if found:
        return
    if bootsel():
        raise StepError(
            "bootsel", "a Pico waits in BOOTSEL mode", next_step="put MicroPython onto it"
        )
    if any(port.circuitpython for port in ports()):
        raise StepError(
            "circuitpython", "a Pico with CircuitPython", next_step="put MicroPython onto it"
        )
    raise StepError(
        "none", "no Pico is found", next_step="use a cable that carries data, and another socket"
    )


def _count(target: SshTarget) -> int:
    """Return how many pings the Racquet has counted."""
    said = target.run(PINGS, what="counting pings").strip()
    if not re.fullmatch(r"\d{1,18}", said):
        raise BenchError(
            f"the Racquet counts {plain(said, 40)!a} pings",
            next_step="provision the target again, or build the Racquet there again",
        )
    return int(said)


def _step_error(failure: str, error: TennisError) -> StepError:
    return StepError(failure, error.message, next_step=error.next_step or "log in by hand")
