"""Play rallies of a match in several processes: one virtual bench keeps one core busy.

The bytes of a rally do not depend on the machine's other work, so any number gives the same match.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.scratch import held
from tennis.match.plan import ScheduledRally
from tennis.match.player import Player, RallyOutcome
from tennis.play.rally import Stop, unobserved
from tennis.rally.manifest import BenchKind

POLL_S = 0.2  # how often the wish to stop is looked for
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# after kill -9, the interpreter's own cleaner would warn about semaphores
TRACKER = "ignore:resource_tracker:UserWarning"

_stop_requested: Event | None = None  # of a worker
_left_alone = threading.Event()
_kept = ExitStack()


@dataclass(frozen=True)
class Workers:
    """Several processes of this machine: a match's crew on the virtual bench."""

    at_once: int

    def check(self, kind: BenchKind) -> None:
        """Raise UsageError for boards: each has one wire to its Pico."""
        if kind != "virtual":
            raise UsageError("--workers needs the virtual bench: a board plays one rally")

    def play(
        self, scheduled: list[ScheduledRally], out: Path, stop: Stop
    ) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
        """Play rallies into the folder ``out``; each is yielded when it is there."""
        yield from seen_by_workers([(planned, out) for planned in scheduled], stop, self.at_once)


def seen_by_workers(
    scheduled: Sequence[tuple[ScheduledRally, Path]], stop: Stop, count: int
) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
    """Play rallies, each into a folder, in ``count`` processes; each is yielded when it is there.

    Ends early if ``stop`` says so: rallies that are being played are sealed first. Raises
    DiskFullError, and BenchError if a process was ended from outside.
    """
    sys.warnoptions.append(TRACKER)  # it is started with these
    # a new interpreter each: nothing of this process's threads and files is inherited
    context = multiprocessing.get_context("spawn")
    with _held():  # semaphores have a process of their own
        stop_event = context.Event()
    waiting = list(reversed(scheduled))
    with ProcessPoolExecutor(
        count, context, initializer=_begin, initargs=(stop_event, os.getpid())
    ) as pool:
        playing: dict[Future[RallyOutcome], ScheduledRally] = {}
        try:
            while waiting or playing:
                while waiting and len(playing) < count and not stop():
                    planned, out = waiting.pop()
                    with _held():
                        playing[pool.submit(_play_one, planned, out)] = planned
                done, _ = wait(playing, POLL_S, FIRST_COMPLETED)
                for future in done:
                    yield playing.pop(future), future.result()
                if stop():
                    stop_event.set()
                    waiting.clear()
        except BrokenProcessPool as error:
            raise BenchError(
                "a process that played was ended from outside, as the kernel does for want of "
                "memory; rallies that are whole are kept",
                next_step="use the same command again, perhaps with fewer --workers",
            ) from error
        finally:
            stop_event.set()


@contextmanager
def _held() -> Iterator[None]:
    """Hold back signals for the length of a block, also in a process that is started in it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(stop_event: Event, parent: int) -> None:
    """Prepare a worker: a signal to the group is for its parent, which tells by ``stop_event``."""
    global _stop_requested  # noqa: PLW0603 (an initializer has no other place)
    _stop_requested = stop_event
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which QEMU would inherit
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    with suppress(OSError):  # its parent's folder is its own, if that is killed
        _kept.enter_context(held(Path(tempfile.gettempdir())))
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """End a worker whose parent was killed: after the rally that it plays is sealed."""
    while os.getppid() == parent:
        time.sleep(POLL_S)
    _left_alone.set()
    while _playing.locked():
        time.sleep(POLL_S)
    os._exit(1)


_playing = threading.Lock()


def _play_one(planned: ScheduledRally, out: Path) -> RallyOutcome:
    with _playing:
        return Player(bench_for(planned.plan), out, _stop).play(planned, unobserved())


def _stop() -> bool:
    return _left_alone.is_set() or (_stop_requested is not None and _stop_requested.is_set())
