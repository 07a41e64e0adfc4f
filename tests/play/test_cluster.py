"""A match on a real Dask cluster: workers that are killed, that lie, a store that is not there."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, RallyError
from tennis.kit.log import listening
from tennis.match.cluster.client import Cluster, _sample
from tennis.match.cluster.place import Place
from tennis.match.playing import Match
from tennis.rally import open_rally
from tests.support.small_match import silent, small_match
from tests.support.synthetic import make_rally

virtual = pytest.mark.virtual
one_cluster = pytest.mark.xdist_group("cluster")
DASK = str(Path(sys.executable).with_name("dask"))
DISHONEST = ROOT / "tests" / "support" / "dishonest_worker.py"
CONNECT_S = 60
match = partial(small_match, "mainline")


@pytest.fixture
def scheduler() -> Iterator[str]:
    """Return the address of a scheduler without workers."""
    from distributed import LocalCluster

    cluster = LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=":0")
    yield cluster.scheduler_address
    cluster.close()


@contextlib.contextmanager
def workers(address: str, folder: Path, *preloads: Path | None) -> Iterator[list[subprocess.Popen]]:
    """Start a worker for each entry, as people do; a Path is loaded into it first."""
    from distributed import Client

    started = []
    for number, preload in enumerate(preloads):
        place = folder / f"worker-{number}"
        place.mkdir()
        words = [DASK, "worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
        words += ["--local-directory", str(place), "--name", f"w{number}"]
        words += ["--preload", str(preload)] if preload else []
        with (folder / f"worker-{number}.log").open("w") as log:
            started.append(
                subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True, cwd=place)
            )
    try:
        with Client(address, timeout=CONNECT_S, set_as_default=False) as client:
            client.wait_for_workers(len(preloads), timeout=CONNECT_S)
        yield started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def play(
    address: str, out: Path, wanted: Match, heard: Callable[[str], None], check_every: int = 0
):
    with listening(heard):
        cluster = Cluster(address, str(out.with_name("store")), check_every)
        return wanted.play(out, silent, lambda: False, cluster)


def files(folder: Path) -> dict[str, dict[str, str]]:
    """Return the hashes of the files of each rally."""
    return {
        path.parent.name: open_rally(path.parent).manifest.files
        for path in folder.glob("*/manifest.json")
    }


@pytest.mark.more
@virtual
@one_cluster
def test_a_worker_is_killed_and_the_match_is_the_serial_one(scheduler, tmp_path):
    """kill -9 in the middle: each rally is there once, whole, with the bytes of a serial match."""
    said: list[str] = []
    with workers(scheduler, tmp_path, None, None) as (first, _):

        def heard(line: str) -> None:
            said.append(line)
            if line.startswith("1/5"):
                os.killpg(first.pid, signal.SIGKILL)

        outcome = play(scheduler, tmp_path / "m", match(5), heard, check_every=5)
        assert len(outcome.played) == 5
        assert not outcome.bad
        assert not outcome.interrupted
        assert any("one worker only: no rally was played twice" in line for line in said)
        # the same command has nothing left to do, and needs no cluster for it
        again = play("tcp://127.0.0.1:1", tmp_path / "m", match(5), said.append)
        assert len(again.kept) == 5
        # the next one who asks for the same rallies finds them
        shutil.rmtree(tmp_path / "m")
        found = play(scheduler, tmp_path / "m", match(5), said.append)
        assert len(found.played) == 5
        assert said[-1].endswith("it was in the store")
    match(5).play(tmp_path / "serial", silent, lambda: False)
    assert files(tmp_path / "m") == files(tmp_path / "serial")
    assert len(files(tmp_path / "m")) == 5


@pytest.mark.release
@virtual
@one_cluster
def test_a_worker_that_plays_other_balls_is_named(scheduler, tmp_path):
    """Its seals are good ones; another worker finds the fault, and this machine decides."""
    said: list[str] = []
    with workers(scheduler, tmp_path, None, DISHONEST):
        outcome = play(scheduler, tmp_path / "m", match(4), said.append, check_every=1)
    assert not outcome.bad
    (line,) = (line for line in said if "played other balls than others" in line)
    aside = list((tmp_path / "m").glob("*.put-aside-1"))
    assert 1 <= len(aside) <= 4
    assert f"{len(aside)} of its rallies are put aside" in line
    assert line.startswith("tcp://127.0.0.1:")
    match(4).play(tmp_path / "serial", silent, lambda: False)
    there = {name: f for name, f in files(tmp_path / "m").items() if "put-aside" not in name}
    assert there == files(tmp_path / "serial")


@pytest.mark.release
@virtual
@one_cluster
def test_a_scheduler_that_is_killed(scheduler, tmp_path):
    """kill -9 of the scheduler: one line, nothing is lost; the match goes on with another one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [DASK, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    own = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    said: list[str] = []

    def heard(line: str) -> None:
        said.append(line)
        if line.startswith("1/4"):
            own.kill()

    with (
        workers(f"tcp://127.0.0.1:{port}", tmp_path, None),
        pytest.raises(BenchError, match=r"scheduler is no more .*nothing is lost") as error,
    ):
        play(f"tcp://127.0.0.1:{port}", tmp_path / "m", match(4), heard)
    own.wait()
    assert "\n" not in str(error.value)
    more = tmp_path / "more"
    more.mkdir()
    with workers(scheduler, more, None):
        outcome = play(scheduler, tmp_path / "m", match(4), said.append)
    assert not outcome.bad
    assert len(files(tmp_path / "m")) == 4


@virtual
@one_cluster
def test_a_worker_of_another_version_plays_nothing(scheduler, tmp_path):
    """Its checkout differs: the rally fails there, and says in what."""
    preload = tmp_path / "other.py"
    preload.write_text(
        "from tennis.match.cluster import tasks\ntasks._checkout = lambda: 'other'\n"
    )
    said: list[str] = []
    with workers(scheduler, tmp_path, preload):
        outcome = play(scheduler, tmp_path / "m", match(1), said.append)
    (why,) = outcome.bad.values()
    assert "this machine has checkout other instead of" in why


def test_which_rallies_are_played_twice():
    names = [f"rally-{number}" for number in range(101)]
    assert len(_sample(names, 50)) == 3
    assert _sample(names, 50) == _sample(names[::-1], 50)
    assert _sample(names[:7], 50) <= set(names)
    assert len(_sample(names[:7], 50)) == 1
    assert _sample(names, 0) == set()


def test_a_rally_in_the_store_is_whole_or_not_there(tmp_path):
    store = Place(str(tmp_path / "store"))
    rally = make_rally(tmp_path / "r")
    store.put_rally(rally.path, "rallies/r")
    (tmp_path / "store/rallies/r/balls.parquet.1.part").write_text("killed while writing")
    store.get_rally("rallies/r", tmp_path / "back")
    assert open_rally(tmp_path / "back").manifest == rally.manifest
    (tmp_path / "store/rallies/r/manifest.json").unlink()
    assert not store.has_rally("rallies/r")
    store.remove_rally("rallies/r")
    assert not (tmp_path / "store/rallies/r").exists()


def test_a_folder_comes_back_as_it_was_or_not_at_all(tmp_path):
    store = Place(str(tmp_path / "store"))
    source = tmp_path / "f"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "a").write_text("a")
    (source / "b").symlink_to("deep/a")
    (source / "deep" / "a").chmod(0o755)
    key = store.put_folder(source)
    os.utime(source / "deep" / "a", (1, 1))
    assert store.put_folder(source) == key  # when it was made does not matter
    store.get_folder(key, tmp_path / "back")
    assert (tmp_path / "back/b").read_text() == "a"
    assert os.access(tmp_path / "back/deep/a", os.X_OK)
    stored = tmp_path / "store/folders" / key
    stored.write_bytes(stored.read_bytes()[:-1] + b"x")
    with pytest.raises(RallyError, match="is damaged"):
        store.get_folder(key, tmp_path / "bad")
