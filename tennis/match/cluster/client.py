"""Send the rallies of a match to a Dask cluster, and fetch the results.

Dask has the queue, the scheduler and the wires: it also handles a worker that dies. Our part is
that each rally arrives once, whole, and as declared: it comes through the store, is opened like a
stranger's folder, and some are played again on another worker.
"""

import hashlib
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tennis.bench.cache import needed_to_boot, recording_uses
from tennis.bench.registry import bench_for
from tennis.kit.checkout import cache_folder
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError, RallyError, TennisError, UsageError
from tennis.kit.log import log
from tennis.match.cluster import tasks
from tennis.match.cluster.place import Place
from tennis.match.cluster.tasks import ClusterSetting
from tennis.match.folder import another
from tennis.match.plan import ScheduledRally
from tennis.match.player import RallyOutcome, outcome_there
from tennis.play.check import check_rally
from tennis.play.rally import Stop
from tennis.rally import open_rally
from tennis.rally.folder import MANIFEST
from tennis.rally.in_play import part_path
from tennis.rally.manifest import BenchKind
from tennis.rally.opening import open_folder
from tennis.rally.sealing import set_aside
from tennis.rally.text import plain

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 20
SCHEMES = {"tcp", "tls", "ws", "wss"}
POLL_S = 0.5
AHEAD = 2  # tasks that wait at the scheduler, for each that is played
TRIES = 3  # of a rally that failed, each on another worker
PUT_ASIDE = "put-aside"
GO_ON = "the same command plays what is missing"


@dataclass(frozen=True)
class Cluster:
    """A cluster, the store of its rallies, and the share that is played twice."""

    address: str  # of a Dask scheduler
    store: str  # a folder that all machines see
    check_every: int = 50  # one rally in this many is played again by another worker; 0: none

    at_once = 1  # how many workers it has at the end, nobody knows before

    def check(self, kind: BenchKind) -> None:
        """Raise UsageError for boards."""
        if kind != "virtual":
            raise UsageError("--cluster needs the virtual bench: boards are on one machine")

    def play(
        self, scheduled: list[ScheduledRally], out: Path, stop: Stop
    ) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        """Play rallies into the folder ``out``; each is yielded when it is there."""
        yield from _seen_by_cluster(scheduled, out, stop, self)


def _check_address(address: str) -> None:
    """Raise UsageError unless it is a scheduler's: Dask would wait for it, and print a stack."""
    scheme, named, _ = address.partition("://")
    if named and scheme not in SCHEMES:
        raise UsageError(f"{plain(address, 80)} is not an address", next_step="use tcp://HOST:8786")


@contextmanager
def _connected(address: str) -> "Iterator[Client]":
    """Yield a client of the cluster whose scheduler is at ``address``.

    Raises UsageError for a malformed address; BenchError if none answers.
    """
    _check_address(address)
    from distributed import Client  # noqa: PLC0415 (only a cluster needs it)

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # one line reports what matters
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise BenchError(
            f"no Dask scheduler answers at {plain(address, 80)} "
            f"({plain(str(error) or type(error).__name__, 120)})",
            next_step="start one (docs/cluster.md), or check the address",
        ) from error
    with client:
        yield client


def _gone(why: object, next_step: str) -> BenchError:
    """Return the error for a scheduler that was there, and has gone."""
    return BenchError(
        f"the Dask scheduler is no more or was restarted ({plain(str(why), 120)}); nothing is lost",
        next_step=f"start it and its workers again; {next_step}",
    )


def _seen_by_cluster(
    scheduled: list[ScheduledRally], out: Path, stop: Stop, cluster: Cluster
) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
    """Let a cluster play rallies of the virtual bench; each is yielded when it is there.

    Ends early if ``stop`` says so: rallies in play are dropped, and the same command fetches those
    in the store. Raises UsageError if the rallies cannot be played elsewhere, BenchError if the
    cluster or the store cannot be reached, or has gone.
    """
    store = Place(cluster.store)
    _check_address(cluster.address)
    own = next(
        (p for p in scheduled if "/" in p.plan.kernel or p.plan.racquet or p.plan.program), None
    )
    if own is not None:
        raise UsageError(
            f"{own.name}: --cluster plays kernels that `tennis kernels` names, and no built trees",
            next_step="leave --cluster out, or leave that kernel out of the plan",
        )
    missing = []
    for planned in scheduled:
        there = outcome_there(planned, out / planned.name)
        if there is None and part_path(out / planned.name).exists():
            there = RallyOutcome(
                "begun on this machine: the same command without --cluster continues it", "unusable"
            )
        if there is None:
            missing.append(planned)
        else:
            yield planned, there
    if not missing:
        return
    store.check()
    with _connected(cluster.address) as client, client.as_current():
        yield from _Foreman(client, store, _setting(missing, cluster, store), out, stop).play(
            missing, cluster.check_every
        )


def _setting(missing: list[ScheduledRally], cluster: Cluster, store: Place) -> ClusterSetting:
    """Store the files that all rallies need, and a worker's requirements. Raises BenchError."""
    kinds = dict[str, ScheduledRally]()
    for planned in missing:
        kinds.setdefault(planned.plan.model_dump_json(exclude={"protocol", "versions"}), planned)
    with recording_uses() as used:
        for planned in kinds.values():
            bench_for(planned.plan).versions(planned.plan)
    log.info(f"storing what the workers need: {len(used)} folders")
    folders = []
    for kind, name in used:
        wanted = needed_to_boot if kind == "kernels" else bool
        folders.append((kind, name, store.put_folder(cache_folder() / kind / name, wanted)))
    return ClusterSetting(
        store=cluster.store, run=uuid.uuid4().hex, folders=folders, alike=tasks.describe()
    )


def _sample(names: list[str], every: int) -> set[str]:
    """Return which rallies are played twice: one of ``every``, at least one; the same each time."""
    if not every or not names:
        return set()
    by_hash = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
    return set(by_hash[: -(-len(names) // every)])


@dataclass
class _Job:
    """A worker's job; ``avoid``: workers that must not do it."""

    planned: ScheduledRally
    avoid: set[str] = field(default_factory=set)
    tries: int = 0
    allowed: set[str] = field(default_factory=set)  # workers that it was given to


class _Foreman:
    """Sees to it that each rally is played, taken home and, if it is one of those, compared."""

    def __init__(
        self, client: "Client", store: Place, setting: ClusterSetting, out: Path, stop: Stop
    ) -> None:
        self._client, self._store, self._setting = client, store, setting
        self._out, self._stop = out, stop
        self._waiting: list[_Job] = []
        self._planned: dict[str, ScheduledRally] = {}
        self._played_by: dict[str, str] = {}
        self._distrusted: set[str] = set()
        self._warned_of_none = False

    def play(
        self, missing: list[ScheduledRally], check_every: int
    ) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        """Yield each rally when it is there. Raises BenchError if the cluster has gone."""
        yield from self._play(missing)
        sampled = _sample([planned.name for planned in missing], check_every)
        doubtful = self._compare([p for p in missing if p.name in sampled and self._is_home(p)])
        for planned, seen in self._play(doubtful):
            log.info(f"{planned.name}: {seen.words}, on another worker")

    def _is_home(self, planned: ScheduledRally) -> bool:
        return planned.name in self._played_by and (self._out / planned.name).is_dir()

    def _play(self, planned: list[ScheduledRally]) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        """Let workers play rallies, and take them home."""
        for job, answer in self._answers(
            ClusterSetting.play, [_Job(p) for p in planned], with_plan=True
        ):
            worker = answer["worker"]
            seen = RallyOutcome(answer["said"], answer["state"], answer["trouble"])  # type: ignore[arg-type]
            if seen.state == "played":
                seen = self._take_home(job.planned, answer["manifest"], worker) or seen
            if seen.state == "failed" and job.tries < TRIES - 1 and not self._stop():
                log.info(
                    f"{job.planned.name}: {seen.words} ({worker}); once more, elsewhere if I can"
                )
                job.avoid.add(worker)
                job.tries += 1
                self._waiting.append(job)
                continue
            yield job.planned, seen

    def _take_home(self, planned: ScheduledRally, sha256: str, worker: str) -> RallyOutcome | None:
        """Fetch a rally and check it like a stranger's; return its failure, or None."""
        place, key = self._out / planned.name, self._setting.key(planned)
        self._store.get_rally(key, place)
        try:
            rally = open_folder(place) if planned.plan.drill else open_rally(place)
            wrong = another(rally, planned)
            if sha256_of(place / MANIFEST) != sha256:
                wrong = "its manifest is not the one that was stored"
        except RallyError as error:
            wrong = str(error)
        if not wrong:
            self._played_by[planned.name] = worker
            return None
        set_aside(place, place, PUT_ASIDE)
        self._store.remove_rally(key)
        return RallyOutcome(f"FAILED: what came is damaged: {plain(wrong, 200)}", "failed", wrong)

    def _compare(self, sampled: list[ScheduledRally]) -> list[ScheduledRally]:
        """Have other workers repeat rallies; return those that must be played again.

        If two workers differ, this machine plays the rally, too, and so finds the wrong one. That
        worker's rallies are put aside.
        """
        jobs = [_Job(planned, {self._played_by[planned.name]}) for planned in sampled]
        if sampled and len(self._workers()) < 2:
            log.info("one worker only: no rally was played twice")
            return []
        wrong: dict[str, str] = {}  # worker -> in which rally
        compared = 0
        for job, answer in self._answers(ClusterSetting.check, jobs, with_plan=False):
            name, checker = job.planned.name, answer["worker"]
            player = self._played_by[name]
            if answer.get("verdict") == "same":
                compared += 1
            elif answer.get("verdict") == "differs" and checker != player:
                wrong[self._arbitrate(name, player, checker)] = name
            else:
                why = answer.get("why", answer.get("said", ""))
                log.info(f"{name} was not compared: {plain(why, 200)}")
        if sampled:
            log.info(f"{compared} of {len(sampled)} rallies that were played twice are the same")
        return [one for worker, name in wrong.items() for one in self._put_aside(worker, name)]

    def _arbitrate(self, name: str, player: str, checker: str) -> str:
        """Return which of two workers is wrong about a rally."""
        try:
            check_rally(self._out / name)
        except TennisError:
            return player
        return checker

    def _put_aside(self, worker: str, example: str) -> Iterator[ScheduledRally]:
        """Stop trusting a worker, and its rallies."""
        self._distrusted.add(worker)
        names = [name for name, by in self._played_by.items() if by == worker]
        log.info(
            f"{worker} played other balls than others ({example}): {len(names)} of its rallies are "
            "put aside, and it gets no more"
        )
        for name in names:
            del self._played_by[name]
            planned = self._planned[name]
            set_aside(self._out / name, self._out / name, PUT_ASIDE)
            self._store.remove_rally(self._setting.key(planned))
            yield planned

    def _workers(self) -> dict[str, int]:
        """Return the workers that are trusted, and how many rallies each plays at once."""
        there: dict[str, int] = self._client.nthreads()
        return {worker: n for worker, n in there.items() if worker not in self._distrusted}

    def _answers(
        self, function: Callable[..., dict[str, str]], jobs: list[_Job], *, with_plan: bool
    ) -> Iterator[tuple[_Job, dict[str, str]]]:
        """Yield each job with its worker's answer, in the order in which they come.

        Jobs may be put into ``_waiting`` meanwhile. Ends if ``stop`` says so.
        """
        from distributed import Event  # noqa: PLC0415

        self._waiting = list(reversed(jobs))
        self._planned |= {job.planned.name: job.planned for job in jobs}
        running: dict[Any, _Job] = {}
        try:
            while self._waiting or running:
                if self._stop():
                    Event(f"tennis-end-{self._setting.run}", self._client).set()
                    self._client.cancel(list(running))
                    return
                self._hand_out(function, running, with_plan=with_plan)
                for future in self._come(running):
                    yield running.pop(future), self._answer_of(future)
        except (OSError, TimeoutError, CancelledError) as error:  # errors of broken connections
            raise _gone(error, GO_ON) from error

    def _hand_out(
        self, function: Callable[..., dict[str, str]], running: dict[Any, _Job], *, with_plan: bool
    ) -> None:
        """Give workers as much as keeps them busy; take back what waits for one that is gone."""
        workers = self._workers()
        for future, job in list(running.items()):
            if not job.allowed & set(workers):
                future.cancel()
                self._waiting.append(running.pop(future))
        if not workers and not self._warned_of_none:
            self._warned_of_none = True
            log.info(
                "no worker is there yet: start one with `dask worker ADDRESS` (docs/cluster.md)"
            )
        while self._waiting and len(running) < AHEAD * sum(workers.values()):
            job = self._waiting.pop()
            job.allowed = set(workers) - job.avoid or set(workers)
            planned = job.planned
            words = [planned.name, self._setting.key(planned)]
            words += [planned.model_dump_json()] if with_plan else []
            future = self._client.submit(
                function,
                self._setting,
                *words,
                key=f"tennis-{planned.name}-{uuid.uuid4().hex[:8]}",
                workers=sorted(job.allowed),
                pure=False,
            )
            running[future] = job

    @staticmethod
    def _come(running: dict[Any, _Job]) -> list[Any]:
        """Wait a moment; return the finished ones."""
        from distributed import wait  # noqa: PLC0415

        if not running:
            time.sleep(POLL_S)
            return []
        try:
            return list(wait(list(running), POLL_S, "FIRST_COMPLETED").done)
        except TimeoutError:
            return []

    @staticmethod
    def _answer_of(future: Any) -> dict[str, str]:
        """Return a worker's answer. Raises BenchError if the scheduler forgot the job."""
        if future.status in {"cancelled", "lost"}:
            raise _gone(f"it forgot {future.key}", GO_ON)
        error = future.exception()
        if error is None:
            return dict(future.result())
        why = plain(f"{type(error).__name__}: {error}", 300)
        return {"said": f"FAILED: {why}", "state": "failed", "trouble": why, "worker": ""}
