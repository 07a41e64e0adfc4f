# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Mark a class on the machines of a Dask cluster: each hand-in goes to a worker, its marks return.

A worker's machine is made ready as a grader's own is, and has the same checkout and solutions: its
own kernels and its own boxes. What is sent is the zip file, and it stays in memory there and in a
folder that is removed.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tennis.cluster import connected, gone
from tennis.course.grading import Judged, checks_sha256, judged
from tennis.course.hand_in import ZIP_MAX
from tennis.course.labs import Lab
from tennis.course.work import find_lab
from tennis.errors import BenchError
from tennis.listener import say
from tennis.play.cluster.tasks import describe, unlike
from tennis.rally.text import plain

if TYPE_CHECKING:
    from distributed import Client

LOOK_S = 0.5
GO_ON = "the same command marks what is missing"
CHECKS = "checks and solutions"


@dataclass(frozen=True)
class Unlike:
    """A worker that is no grader of this class, and why."""

    worker: str
    why: str


def judge_there(
    name: bytes, content: bytes, slug: str, alike: dict[str, str], *, replays: bool
) -> Judged | Unlike:
    """Check one hand-in on a worker. ``alike``: what must be the same there."""
    from distributed import get_worker  # noqa: PLC0415 (only a cluster needs it)

    lab = find_lab(slug)
    wanted = dict(alike)
    checks = wanted.pop(CHECKS)
    why = unlike(wanted)
    if not why and checks_sha256(lab, replays=replays) != checks:
        why = f"other {CHECKS}"
    if why:
        return Unlike(get_worker().address, why)
    try:
        with tempfile.TemporaryDirectory(prefix="tennis-grade-") as scratch:
            path = Path(scratch) / os.fsdecode(name)
            path.write_bytes(content)
            return judged(path, lab, replays=replays)
    except Exception as error:  # the disk is full there; Dask loses some errors on their way
        why = plain(f"{type(error).__name__}: {error}", 200)
        return Judged(f"the worker {get_worker().address} could not mark it ({why})", final=False)


@contextmanager
def judging_on(
    address: str, lab: Lab, *, replays: bool, stop: Callable[[], bool]
) -> Iterator[tuple[Callable[[Path], Judged], Callable[[], int]]]:
    """Yield what checks a hand-in on the cluster at ``address``, and how many it takes at once.

    Raises UsageError for what is no address, BenchError where no scheduler answers. The judge
    raises BenchError where the scheduler is no more or a worker is not like this machine.
    """
    alike = {**describe(), CHECKS: checks_sha256(lab, replays=replays)}
    with connected(address) as client:
        warnings.filterwarnings("ignore", message="Sending large graph")  # a hand-in is one
        ask = partial(judge_there, slug=lab.slug, alike=alike, replays=replays)
        told = False

        def slots() -> int:
            nonlocal told
            try:
                count: int = sum(client.nthreads().values())
            except (OSError, TimeoutError, CancelledError) as error:
                raise gone(error, GO_ON) from error
            if not count and not told:
                told = True
                say("no worker is there yet: start one with `dask worker ADDRESS`")
            return count

        def judge(path: Path) -> Judged:
            if path.is_symlink() or not path.is_file() or path.stat().st_size > ZIP_MAX:
                return judged(path, lab, replays=replays)  # it is refused here
            try:
                return _judged_there(client, ask, path, stop)
            except (OSError, TimeoutError, CancelledError) as error:  # what Dask says of wires
                raise gone(error, GO_ON) from error

        yield judge, slots


def _judged_there(
    client: "Client",
    ask: Callable[[bytes, bytes], Judged | Unlike],
    path: Path,
    stop: Callable[[], bool],
) -> Judged:
    future = client.submit(ask, os.fsencode(path.name), path.read_bytes(), pure=False)
    while True:
        try:
            error = future.exception(timeout=LOOK_S)
            break
        except TimeoutError:
            if stop() and not client.nthreads():  # no worker has it
                future.cancel()
                raise KeyboardInterrupt from None
    if future.status in {"cancelled", "lost"}:
        raise gone(f"it forgot {plain(path.name, 60)}", GO_ON)
    if error is not None:  # of Dask: whatever a hand-in does, it is judged
        why = plain(f"{type(error).__name__}: {error}", 200)
        return Judged(f"no worker could mark it ({why})", final=False)
    found: Judged | Unlike = future.result()
    if isinstance(found, Unlike):
        raise BenchError(
            f"the worker {found.worker} has {found.why}",
            next_step=f"give it the same checkout, or end it; {GO_ON}",
        )
    return found
