# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Benches over weeks: what drifts is found, with its week; what is steady is called steady."""

import datetime
import json

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.rally.manifest import seal_of
from tennis.store import open_store
from tennis.store.drift import histories, named_twice
from tennis.store.opening import create
from tennis.store.store import About
from tests.support.synthetic import make_rally

START = datetime.datetime(2026, 9, 7, 9, tzinfo=datetime.UTC)  # a Monday


def run(*words):
    return CliRunner().invoke(cli, list(map(str, words)))


def put(store, played, bench, number, **about):
    """Put a rally into a store, as of a term with three a week; ``factor`` slows its answers."""
    random = np.random.default_rng([number, *bench.encode()])
    boot = np.exp(random.standard_normal() * 0.03) * about.pop("factor", 1.0)  # boots differ
    rise = (np.exp(random.standard_normal(1000) * 0.1) * 2000 * boot).astype(int)
    created = START + datetime.timedelta(days=7 * (number // 3) + number % 3)
    path = played / f"{bench}-{number}"
    kept = about.pop("store_as", bench)
    make_rally(path, balls=1000, rise=rise, created=created.isoformat(), seed=number, **about)
    (added,) = store.add(path, About(bench_name=kept))
    return added.id


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """Return a store of three benches, and a rally of it: where the second one begins to change."""
    folder = tmp_path_factory.mktemp("term")
    store = create(folder / "term")
    turning = None
    for number in range(36):
        put(store, folder, "steady", number)
        slower = 1.0 if number < 20 else 1.02 ** (number - 19)
        added = put(store, folder, "loose", number, factor=slower)
        turning = added if number == 20 else turning
        release = "6.12.0-synthetic" if number < 24 else "7.0.0-synthetic"
        factor = 1.0 if number < 24 else 1.3
        put(store, folder, "renewed", number, factor=factor, release=release)
    for number in range(4):
        put(store, folder, "new", number)
    return store.path, turning


def test_what_drifts_is_found_with_its_week_and_what_is_steady_is_not(term):
    path, _ = term
    done = run("store", "drift", path, "--json")
    assert done.exit_code == 1, done.output
    told = {(one["bench_name"], one["figure"]): one for one in json.loads(done.output)}
    drifted = {key for key, one in told.items() if one["drifted"]}
    assert {("loose", "median"), ("loose", "tail"), ("renewed", "median")} <= drifted
    assert not [key for key in drifted if key[0] in {"steady", "new"} or key[1] == "lost"]
    # 2 % more each rally from 2026-W43 on: by then some 37 %
    assert "drifts since 2026-W4" in told["loose", "median"]["sentence"]
    assert "release" not in told["loose", "median"]["sentence"]
    renewed = told["renewed", "median"]["sentence"]
    assert "release 6.12.0-synthetic -> 7.0.0-synthetic in 2026-W45" in renewed
    assert "drifts since 2026-W4" in renewed
    assert told["new", "median"]["sentence"] == "too few rallies: 4, it takes 13"
    usual = told["steady", "median"]["sentence"]
    assert usual == "steady" or usual.endswith("is usual again")


def test_the_change_is_as_large_as_it_was_made(term):
    path, _ = term
    store = open_store(path)
    for one in histories(store, store.catalogue()):
        if (one.bench, one.figure) == ("renewed", "median"):
            assert one.change == pytest.approx(1.3, rel=0.05)
        if (one.bench, one.figure) == ("steady", "median"):
            assert one.change == pytest.approx(1.0, rel=0.05)


def test_a_picture_of_those_that_drift_first(term, tmp_path):
    path, _ = term
    done = run("store", "drift", path, "--out", tmp_path / "drift.svg")
    assert done.exit_code == 1
    svg = (tmp_path / "drift.svg").read_text()
    assert "loose" in svg
    again = run("store", "drift", path, "--out", tmp_path / "drift.svg")
    assert again.exit_code != 0
    assert (tmp_path / "drift.svg").read_text() == svg  # not overwritten
    done = run("store", "drift", path, "--out", tmp_path / "drift.jpg")
    assert "neither .svg nor .png" in str(done.exception)
    few = run("store", "drift", path, "--where", "bench_name=new", "--out", tmp_path / "n.svg")
    assert (few.exit_code, "nothing is drawn" in few.output) == (0, True)


def test_lost_balls_are_a_figure_of_their_own(tmp_path):
    """A wire that begins to lose: no latency says so."""
    store = create(tmp_path / "term")
    for number in range(30):
        put(store, tmp_path, "b", number, strays=0 if number < 20 else 4 + number % 3)
    told = json.loads(run("store", "drift", tmp_path / "term", "--json").output)
    sentences = {one["figure"]: one["sentence"] for one in told}
    assert "of a million" in sentences["lost"]
    assert sentences["median"] == "steady"


def test_two_benches_of_one_name(tmp_path):
    store = create(tmp_path / "term")
    for number in range(4):
        serial = f"E66{number % 2}"
        put(store, tmp_path, f"s{number}", number, serial=serial, store_as="bench-1")
        put(store, tmp_path, f"t{number}", number, serial=f"E77{number // 2}", store_as="bench-2")
    assert named_twice(store.catalogue()) == ["bench-1"]  # the other one got a new Brickwall, once
    done = run("store", "drift", tmp_path / "term")
    assert "bench-1: two Brickwalls in turns" in done.output


def test_the_doctor_looks_at_a_bench(term):
    path, _ = term
    done = run("doctor", "--bench", "steady", "--store", path)
    assert done.exit_code == 0, done.output
    assert "36 rallies" in done.output
    done = run("doctor", "--bench", "loose", "--store", path)
    assert done.exit_code == 1
    assert "look at its wires" in done.output
    done = run("doctor", "--bench", "new", "--store", path)
    assert (done.exit_code, "often enough" in done.output) == (0, True)
    done = run("doctor", "--bench", "nobody", "--store", path)
    assert done.exit_code != 0
    assert "it has loose, new, renewed, steady" in str(done.exception) + done.output


def test_the_doctor_says_which_rallies_it_left_out(tmp_path):
    store = create(tmp_path / "term")
    for number in range(3):
        added = put(store, tmp_path, "bench-1", number)
    balls = store.place(added) / "balls.parquet"
    balls.write_bytes(balls.read_bytes()[:-1] + b"\0")
    done = run("doctor", "--bench", "bench-1", "--store", store.path)
    assert "tennis: left out: " in done.output
    assert added in done.output


@pytest.mark.parametrize(
    "words", [["--bench", "b"], ["--store", "."], ["--bench", "b", "--store", ".", "--port", "x"]]
)
def test_words_that_do_not_go_together(words):
    done = run("doctor", *words)
    assert done.exit_code != 0


def test_rallies_of_several_processors_are_of_another_kind(tmp_path):
    """Never one line, one chart with those of one processor."""
    store = create(tmp_path / "store")
    for number, processors in enumerate((None, 2)):
        rally = make_rally(tmp_path / f"r{number}", rise=np.full(1500, 1000 + number))
        manifest = json.loads((rally.path / "manifest.json").read_text())
        manifest["target"]["processors"] = processors
        manifest["seal"] = seal_of(manifest)
        (rally.path / "manifest.json").write_text(json.dumps(manifest))
        list(store.add(rally.path, About()))
    labels = {one.label for one in histories(store, store.catalogue())}
    assert len(labels) == 2
    assert sum("2 processors" in label for label in labels) == 1
    assert not any("None" in label for label in labels)
    told = run("store", "stats", store.path, "--where", "processors=2", "--json")
    (group,) = json.loads(told.output)
    assert (group["of"]["processors"], group["balls"]) == ("2", 1500)
