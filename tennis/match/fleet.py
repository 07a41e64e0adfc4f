"""Play a match on several benches at once: each takes the next rally when it has played one.

So benches meet kernels in turns, and a warm afternoon does not meet one kernel only. A rally that
fails is tried on another bench; a bench on which two rallies in a row fail is put aside.
"""

import contextlib
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tennis.bench.fleet.inventory import read_inventory
from tennis.bench.physical.managed import PiBench
from tennis.bench.protocol import Bench
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.kit.log import log
from tennis.match.plan import ScheduledRally
from tennis.match.player import Player, RallyOutcome, outcome_there
from tennis.play.rally import Stop, unobserved
from tennis.rally import part_path
from tennis.rally.manifest import BenchKind
from tennis.rally.plan import Plan
from tennis.rally.text import plain

ALL = "all"  # in place of a target's name in a plan; Ansible's word: no host is called that
PORT = "tennis_port"  # of the inventory: the port of this machine that a bench's Brickwall is on
STRIKES = 2  # rallies in a row that fail on a bench before it is put aside
TRIES = 3  # of a rally, each on another bench


@dataclass
class _FleetBench:
    """A bench of a fleet; ``target`` and ``port`` go into the plans that it plays."""

    name: str
    bench: Bench
    target: str | None = None
    port: str | None = None
    strikes: int = 0

    def own(self, planned: ScheduledRally) -> ScheduledRally:
        """Return a rally as this bench plays it."""
        if self.target is None:
            return planned
        plan = planned.plan.model_copy(update={"target": self.target, "port": self.port})
        return planned.model_copy(update={"plan": plan})


@dataclass
class _Job:
    planned: ScheduledRally
    bench: str | None = None  # the only one that can continue it
    avoid: set[str] = field(default_factory=set)


def _fleet_of(names: str) -> list[_FleetBench]:
    """Return benches of the inventory: ``all``, or names with commas between them.

    Raises UsageError for a name that it does not have, or a bench without a port.
    """
    fleet = read_inventory()
    listed = fleet.targets if names == ALL else [fleet.find(name) for name in names.split(",")]
    found, ports = [], dict[str, str]()
    for bench in listed:
        port = plain(str(bench.variables.get(PORT) or ""), 200)
        if not port:
            raise UsageError(
                f"{bench.name} has no {PORT} in the inventory",
                next_step="say there at which port of this machine its Brickwall is",
            )
        if port in ports:
            raise UsageError(f"{bench.name} and {ports[port]} have one {PORT}: {port}")
        ports[port] = bench.name
        found.append(_FleetBench(bench.name, PiBench(bench.name, port), bench.name, port))
    if len({bench.name for bench in found}) < len(found):
        raise UsageError(f"--targets {plain(names, 80)} names a bench twice")
    return found


@dataclass(frozen=True)
class FleetCrew:
    """The benches of a fleet: a match's crew on boards."""

    benches: Sequence[_FleetBench]

    @classmethod
    def of(cls, names: str) -> "FleetCrew":
        """Return the crew of ``_fleet_of``. Raises UsageError."""
        return cls(_fleet_of(names))

    @property
    def at_once(self) -> int:
        """Return how many rallies are played at the same time."""
        return len(self.benches)

    def check(self, kind: BenchKind) -> None:
        """Take any bench."""

    def play(
        self, scheduled: list[ScheduledRally], out: Path, stop: Stop
    ) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        """Play rallies into the folder ``out``; each is yielded when it is there."""
        yield from _seen_by_fleet(self.benches, scheduled, out, stop)


def _seen_by_fleet(
    benches: Sequence[_FleetBench], scheduled: list[ScheduledRally], out: Path, stop: Stop
) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
    """Play rallies on all benches at once; each is yielded when it is there.

    Ends early if ``stop`` says so: rallies in play are sealed first. Raises BenchError if no bench
    is left, DiskFullError if the disk is full.
    """
    yield from _Fleet(benches, out, stop).play(scheduled)


class _Fleet:
    def __init__(self, benches: Sequence[_FleetBench], out: Path, stop: Stop) -> None:
        self._out, self._stop = out, stop
        self._free = {bench.name: bench for bench in benches}
        self._all = dict(self._free)
        self._came: queue.Queue[tuple[_FleetBench, _Job, RallyOutcome | BaseException]] = (
            queue.Queue()
        )
        self._ending = threading.Event()
        self._playing: dict[str, threading.Thread] = {}

    def play(
        self, scheduled: list[ScheduledRally]
    ) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        waiting = []
        for planned in scheduled:
            there = outcome_there(planned, self._out / planned.name)
            if there is None:
                waiting.append(_Job(planned, self._begun_by(planned)))
            else:
                yield planned, there
        try:
            while waiting or self._playing:
                if not self._stop():
                    yield from self._hand_out(waiting)
                elif not self._playing:
                    return
                try:
                    bench, job, seen = self._came.get(timeout=0.2)
                except queue.Empty:
                    continue
                self._playing.pop(bench.name).join()
                if isinstance(seen, BaseException):
                    raise seen
                self._judge(bench, seen)
                if seen.state == "failed" and self._elsewhere(job, bench):
                    log.info(
                        f"{job.planned.name}: {seen.words} ({bench.name}); once more, elsewhere"
                    )
                    waiting.append(job)
                    continue
                yield (
                    job.planned,
                    RallyOutcome(f"{seen.words} ({bench.name})", seen.state, seen.trouble),
                )
        finally:
            self._ending.set()
            for thread in self._playing.values():
                thread.join()

    def _begun_by(self, planned: ScheduledRally) -> str | None:
        """Return the bench that began a rally: only that one can continue it."""
        part = part_path(self._out / planned.name)
        if not os.path.lexists(part):
            return None
        with contextlib.suppress(RallyError):
            return Plan.read(part).target
        return None

    def _hand_out(self, waiting: list[_Job]) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        """Give each free bench the first rally that it may play."""
        for bench in list(self._free.values()):
            fits = (
                job
                for job in waiting
                if bench.name not in job.avoid and job.bench in {None, bench.target}
            )
            if (job := next(fits, None)) is None:
                continue
            waiting.remove(job)
            del self._free[bench.name]
            thread = threading.Thread(target=self._play, args=(bench, job), daemon=True)
            self._playing[bench.name] = thread
            thread.start()
        if self._playing:
            return
        if not self._all:
            raise BenchError(
                f"no bench is left for {len(waiting)} rallies; nothing is lost",
                next_step="repair one, then use the same command",
            )
        for job in waiting:  # nobody who is here may play it
            by = f"begun on {plain(job.bench or '', 80)}, which is not among the benches"
            why = by if job.bench else "every bench that is left has failed at it"
            yield job.planned, RallyOutcome(f"FAILED: {why}", "failed", why)
        waiting.clear()

    def _play(self, bench: _FleetBench, job: _Job) -> None:
        player = Player(bench.bench, self._out, lambda: self._stop() or self._ending.is_set())
        seen: RallyOutcome | BaseException
        try:
            seen = player.play(bench.own(job.planned), unobserved())
        except BaseException as error:  # the one who waits raises it
            seen = error
        self._came.put((bench, job, seen))

    def _judge(self, bench: _FleetBench, outcome: RallyOutcome) -> None:
        """Take a bench back, or put it aside."""
        bench.strikes = bench.strikes + 1 if outcome.state == "failed" else 0
        if bench.strikes < STRIKES:
            self._free[bench.name] = bench
            return
        del self._all[bench.name]
        log.info(
            f"{bench.name} is put aside: {STRIKES} rallies in a row failed there; "
            f"`tennis doctor --target {bench.name}` looks at it"
        )

    def _elsewhere(self, job: _Job, bench: _FleetBench) -> bool:
        """Tell whether a rally that failed may be tried on another bench."""
        job.avoid.add(bench.name)
        return (
            job.bench is None
            and not os.path.lexists(part_path(self._out / job.planned.name))
            and len(job.avoid) < TRIES
            and bool(set(self._all) - job.avoid)
            and not self._stop()
        )
