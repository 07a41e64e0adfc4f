# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A store's balls counted by a real Dask cluster: the same figures, whatever is cut where."""

import json
import subprocess

import numpy as np
import pyarrow as pa
import pytest

from tennis.errors import BenchError, TennisError, UsageError
from tennis.store import cluster
from tennis.store.cluster import chunks, count_there, counting_on, version
from tennis.store.folder import About, create
from tennis.store.question import counted, quantiles
from tests.play.test_cluster import one_cluster, scheduler, workers
from tests.support.synthetic import make_rally
from tests.support.terminal import TENNIS, run

__all__ = ["scheduler"]  # a fixture


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    made = create(folder / "term")
    for seed, kernel, tick_hz in (
        (1, "rt", 10**9), (2, "rt", 125_000_000), (3, "mainline", 10**9), (4, "rt", 150_000_000),
    ):  # fmt: skip
        about = {"kernel": kernel, "load": "stress", "tick_hz": tick_hz, "seed": seed}
        rally = make_rally(folder / f"r{seed}", balls=4000, misses=seed, **about)
        list(made.add(rally.path, About()))
    made.rebuild()
    return made


@one_cluster
def test_a_cluster_counts_the_same(store, scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CHUNK_BALLS", 4000)  # a task for each rally
    rows = store.catalogue()
    here = quantiles(store, rows, ["kernel"])
    with workers(scheduler, tmp_path, None, None), counting_on(scheduler) as count:
        assert quantiles(store, rows, ["kernel"], count) == here
        words = [TENNIS, "store", "stats", str(store.path), "--json"]
        told = [
            json.loads(subprocess.run([*words, *more], capture_output=True, check=True).stdout)
            for more in ([], ["--cluster", scheduler])
        ]
        assert told[0] == told[1]
        assert sum(group["balls"] for group in told[0]) == 16_000
        monkeypatch.setattr(cluster, "version", lambda: "another")
        with pytest.raises(TennisError, match="has another version of tennis"):
            quantiles(store, rows, ["kernel"], count)


@one_cluster
def test_a_cluster_without_workers_or_a_scheduler(store, scheduler, monkeypatch):
    with pytest.raises(UsageError, match="has no worker"), counting_on(scheduler):
        pass
    monkeypatch.setattr("tennis.cluster.CONNECT_S", 1)
    with (
        pytest.raises(BenchError, match="no Dask scheduler answers"),
        counting_on("tcp://127.0.0.1:9"),
    ):
        pass
    assert store.ids()


def test_every_rally_is_in_one_chunk(monkeypatch):
    monkeypatch.setattr(cluster, "CHUNK_BALLS", 100)
    for balls in ([], [5], [500, 1, 1], [60, 60, 60], [50, 50, 50], [100] * 7, [1] * 250):
        rows = pa.table({"balls": pa.array(balls, pa.int64()), "n": range(len(balls))})
        parts = list(chunks(rows))
        assert [n for part in parts for n in part["n"].to_pylist()] == list(range(len(balls)))
        assert all(len(p) == 1 or sum(p["balls"].to_pylist()) <= 100 for p in parts if len(p))


def test_a_worker_that_does_not_see_the_store(store, tmp_path):
    rows = store.catalogue()
    assert "nothing" in str(count_there(str(tmp_path / "nothing"), rows, version()))
    assert count_there(str(store.path), rows, "other") == "it has another version of tennis"
    rise, _ = count_there(str(store.path), rows, version())
    assert np.array_equal(rise["count"], counted(store, rows)[0]["count"])


def test_whatever_ends_a_worker_s_count_is_a_line(store, monkeypatch):
    """An exception that Dask cannot carry would leave the client waiting."""

    def endless(*_: object) -> None:
        endless()

    monkeypatch.setattr(cluster, "counted", endless)
    said = count_there(str(store.path), store.catalogue(), version())
    assert str(said).startswith("RecursionError: ")


def test_it_takes_a_cluster(store):
    done = run("store", "stats", store.path, "--cluster", "nonsense://x")
    assert done.exit_code != 0
    assert done.output.count("\n") == 1, done.output
