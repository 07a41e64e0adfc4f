# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A store: rallies go in whole, questions get exact answers and nothing else, folders are right."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tennis.checkout import ROOT
from tennis.cli import cli
from tennis.errors import BenchError, RallyError, UsageError
from tennis.rally import balls, open_rally
from tennis.rally.folder import BALLS
from tennis.rally.manifest import Drill, Fault
from tennis.store import open_store
from tennis.store import store as storing
from tennis.store.drift import histories
from tennis.store.opening import create
from tennis.store.question import LEVELS, ask, chosen, quantiles
from tennis.store.store import About
from tests.support.forging import reseal
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill


def run(*words):
    return CliRunner().invoke(cli, ["store", *map(str, words)])


@pytest.fixture
def rallies(tmp_path):
    """Three rallies of two kernels; one has misses."""
    made = {}
    for name, kernel, seed, tick_hz, misses in (
        ("a", "mainline", 1, 1_000_000_000, 0),
        ("b", "rt", 2, 125_000_000, 7),
        ("c", "rt", 3, 150_000_000, 0),
    ):
        about = {"kernel": kernel, "load": "stress", "seed": seed, "tick_hz": tick_hz}
        made[name] = make_rally(tmp_path / "played" / name, balls=5000, misses=misses, **about)
    return made


@pytest.fixture
def store(rallies, tmp_path):  # noqa: ARG001 (they are added)
    done = run("add", tmp_path / "term", tmp_path / "played", "--bench-name", "bench-3")
    assert done.exit_code == 0, done.output
    assert "3 rallies added, 3 there" in done.output
    return open_store(tmp_path / "term")


def test_what_is_added_is_whole_and_stays_as_it_was(store, rallies, tmp_path):
    rows = store.catalogue().to_pylist()
    assert {row["kernel"] for row in rows} == {"mainline", "rt"}
    assert {row["bench_name"] for row in rows} == {"bench-3"}
    assert sum(row["balls"] for row in rows) == sum(r.balls for r in rallies.values())
    for row in rows:
        copied = open_rally(store.place(row["id"]))
        assert copied.manifest in [rally.manifest for rally in rallies.values()]
    again = run("add", tmp_path / "term", tmp_path / "played" / "a", "--student", "other")
    assert "there already" in again.output
    assert store.catalogue().to_pylist() == rows


@pytest.mark.usefixtures("rallies")
def test_a_damaged_rally_is_refused_and_the_others_are_added(tmp_path):
    balls = tmp_path / "played" / "b" / "balls.parquet"
    balls.write_bytes(balls.read_bytes()[:-9] + b"x" * 9)
    done = run("add", tmp_path / "term", tmp_path / "played")
    assert done.exit_code == 1
    assert "refused: " in done.output
    assert "2 rallies added, 2 there" in done.output


@pytest.mark.parametrize("by", [[], ["kernel"], ["kernel", "load", "week"]])
def test_quantiles_are_those_of_all_balls_sorted(store, by):
    """Against a sort of all balls, by hand; a quantile is a latency that some ball had."""
    rows = store.catalogue()
    groups = quantiles(store, rows, by)
    assert sum(group.balls for group in groups) == sum(rows["balls"].to_pylist())
    for group in groups:
        alike = [r for r in rows.to_pylist() if all(r[k] == v for k, v in group.of.items())]
        assert group.rallies == len(alike)
        rise, width = [], []
        for row in alike:
            table = pq.read_table(store.place(row["id"]) / "balls.parquet")
            up, down = (
                np.array(table[name].to_pylist(), float) * 1e9 / row["tick_hz"]
                for name in ("rise_ticks", "fall_ticks")
            )
            # a missed ball is later than all others
            rise += list(np.nan_to_num(up, nan=np.inf))
            width += list(np.nan_to_num(down - up, nan=np.inf))
        for values, told, most in (
            (rise, group.interrupt_ns, group.interrupt_max_ns),
            (width, group.scheduling_ns, group.scheduling_max_ns),
        ):
            ordered = np.sort(values)
            for level in LEVELS:
                # in whole numbers: 0.999 x 5000 is no whole number of floats
                rank = -(-round(level * 10_000) * ordered.size // 10_000)
                assert told[level] == pytest.approx(ordered[rank - 1])
            assert most == pytest.approx(ordered[-1])


def test_what_is_among_missed_balls_is_said_so(tmp_path):
    rise = np.full(3000, 1200)
    made = [("slow", 1000.0, 60), ("fast", 2000.0, 30), ("whole", 1000.0, 0)]
    for name, rate_hz, misses in made:
        make_rally(
            tmp_path / "played" / name, rise=rise, schedule=rise, misses=misses, rate_hz=rate_hz,
            kernel="mainline" if misses else "rt",
        )  # fmt: skip
    run("add", tmp_path / "term", tmp_path / "played")
    mainline, rt = json.loads(run("stats", tmp_path / "term", "--by", "kernel", "--json").output)
    assert (mainline["misses"], mainline["later_than_ns"]) == (90, 499_996)
    assert mainline["interrupt_ns"] == {"0.5": 1200, "0.99": None, "0.999": None, "0.9999": None}
    assert mainline["interrupt_max_ns"] is mainline["scheduling_max_ns"] is None
    assert (rt["later_than_ns"], rt["interrupt_max_ns"]) == (None, 1200)
    lines = run("stats", tmp_path / "term", "--by", "kernel").output.splitlines()
    # the next ball of the fast one comes after half a millisecond
    assert "1.20 µs" + 4 * "  > 500 µs" in lines[1]
    assert lines[2].split()[-4:] == ["missed"] * 4


def test_suspect_rallies_and_drills_count_for_nothing(store, tmp_path):
    before = quantiles(store, store.catalogue(), ["kernel"])
    fault = Fault(code="overrun", message="the instrument lost balls")
    make_rally(tmp_path / "more" / "s", kernel="rt", seed=9, faults=[fault])
    beat = Drill(name="periodic", context="user-rt", period_ns=1_000_000)
    make_drill(tmp_path / "more" / "d", beat, np.full(99, 1_000_000), np.full(100, 900))
    done = run("add", store.path, tmp_path / "more")
    assert "2 rallies added, 5 there" in done.output
    assert quantiles(store, store.catalogue(), ["kernel"]) == before
    assert "1 suspect rally left out" in run("stats", store.path).output


def test_a_boot_counts_once_whatever_was_altered_in_its_copies(store, tmp_path):
    """Served later, or answered later, with another seed each: the same boot nine times more."""
    (before,) = quantiles(store, store.catalogue(), [])
    drawn = np.random.default_rng(5).integers(900, 4_000, 5000)
    first = make_rally(tmp_path / "more" / "0", kernel="rt", load="stress", seed=4, rise=drawn)
    assert run("add", store.path, first.path).exit_code == 0
    (alone,) = quantiles(store, store.catalogue(), [])
    assert (alone.rallies, alone.copies) == (before.rallies + 1, 0)
    for number in range(1, 10):
        place = tmp_path / "more" / f"{number}"
        shutil.copytree(first.path, place)
        kept = pq.read_table(place / BALLS)
        served, rise, fall = (kept[name].to_numpy() for name in kept.column_names[1:])
        later = number % 2 * 50
        columns = [served + number, (rise + later).astype("u4"), (fall + later).astype("u4")]
        made = pa.table([kept.column(0), *map(pa.array, columns)], schema=kept.schema)
        balls.write(place / BALLS, made, first.tick_hz)
        created = f"2099-01-0{number}T00:00:00+00:00"
        reseal(place, protocol__seed=first.manifest.protocol.seed + number, created=created)
    done = run("add", store.path, tmp_path / "more")
    assert "9 rallies added, 13 there" in done.output
    (after,) = quantiles(store, store.catalogue(), [])
    assert after == replace(alone, copies=9)
    said = "9 rallies left out: the balls are those of another rally, and a boot counts once"
    assert said in run("stats", store.path).output
    charts = {(one.bench, len(one.points)) for one in histories(store, store.catalogue())}
    assert charts == {("bench-3", 1), ("bench-3", 2), (first.manifest.bench, 1)}


def test_a_question_in_sql(store, rallies):
    found = ask(store, "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM balls").to_pylist()
    assert found == [{"n": sum(r.balls for r in rallies.values()), "ids": 3}]
    found = ask(
        store, "SELECT kernel, max(rise_ns) AS worst FROM balls JOIN rallies USING (id) GROUP BY 1"
    ).to_pylist()
    for row in found:
        ticks = [
            rally.interrupt.values.max() * 1e9 / rally.tick_hz
            for rally in rallies.values()
            if rally.manifest.target.kernel == row["kernel"]
        ]
        assert row["worst"] == pytest.approx(max(ticks))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/proc/self/environ')",
        "COPY rallies TO '{out}/x.csv'",
        "ATTACH '{out}/x.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SELECT * FROM read_text('{store}/rallies/{id}/manifest.json')",  # nobody hashed it
        "SELECT 1 AS same, 2 AS same",
        "SELECT * FROM read_parquet('https://127.0.0.1:1/x.parquet')",
        "COPY rallies TO '{store}/rallies/x.csv'",
        "SELECT 1 FROM nowhere",
        "SELECT 'unfinished",
        "",
    ],
)
def test_a_question_reads_the_store_and_nothing_else(store, tmp_path, sql):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as error:
        ask(store, sql.format(out=tmp_path, store=store.path, id=store.ids()[0]))
    assert "\n" not in str(error.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_of_the_same_name_above_loses_no_ball(store):
    """A ball's rally is in its file's path: the last folder counts, whatever is above the store."""
    place = store.path.with_name("rallies") / "2024"
    place.mkdir(parents=True)
    moved = store.path.rename(place / "term")
    balls = ask(open_store(moved), "SELECT count(*) AS n FROM balls")["n"].to_pylist()
    assert balls == [sum(open_store(moved).catalogue()["balls"].to_pylist())]


def test_a_store_of_drills_has_no_balls(tmp_path):
    store = create(tmp_path / "drills")
    beat = Drill(name="periodic", context="user-rt", period_ns=1_000_000)
    make_drill(tmp_path / "d", beat, np.full(99, 1_000_000), np.full(100, 900))
    list(store.add(tmp_path / "d", About()))
    found = ask(store, "SELECT id, ball, served_ns, rise_ns, fall_ns, width_ns FROM balls")
    assert len(found) == 0


def test_verify_names_what_is_damaged(store):
    assert run("verify", store.path).exit_code == 0
    balls = store.place(store.ids()[1]) / "balls.parquet"
    balls.write_bytes(balls.read_bytes()[:-1] + b"\0")
    done = run("verify", store.path)
    assert done.exit_code == 1
    assert store.ids()[1] in done.output
    assert "1 rally of 3 damaged" in done.output
    store.place(store.ids()[0]).rename(store.place("0" * 16))
    assert "its name is another rally's" in run("verify", store.path).output


def test_a_strange_file_beside_rallies_stops_nobody(store):
    """One bad note, a copy that somebody made: the others' figures are what they were."""
    first, second, third = store.ids()
    (store.path / "about" / f"{second}.json").write_text("{")
    shutil.copytree(store.place(first), store.place(f"{first} (copy)"))
    (store.path / "rallies" / "README").write_text("of the term")
    rows = store.catalogue()
    assert rows["id"].to_pylist() == [first, third]
    done = run("stats", store.path, "--by", "")
    assert (done.exit_code, "10,000" in done.output) == (0, True), done.output
    assert f"left out: {store.path}/about/{second}.json cannot be read" in done.output
    assert f"left out: {store.place(first)} (copy): no rally of this store" in done.output


def test_several_add_the_same_rallies_at_once(rallies, tmp_path):  # noqa: ARG001 (they are added)
    """All of them end well, and each rally is there once, whole."""
    words = ["store", "add", str(tmp_path / "term"), str(tmp_path / "played")]
    program = "from tennis.cli import main; main()"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, *words, "--student", f"s{n}"],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for n in range(4)
    ]  # fmt: skip
    said = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4, said
    assert sum(text.count("there already") for text in said) == 3 * 3, said
    found = open_store(tmp_path / "term")
    assert [wrong for _, wrong in found.verify()] == [""] * 3
    assert not list(found.path.glob("rallies/.*"))


def test_a_store_that_another_process_has_begun_is_made_whole(tmp_path):
    """Two make one at once, or the first one was killed; what is somebody's stays as it is."""
    for folder in ("rallies", "about"):
        (tmp_path / "term" / folder).mkdir(parents=True)
    (tmp_path / "term/.store.json.4711").write_text("{")
    assert create(tmp_path / "term").ids() == []
    (tmp_path / "theirs/rallies").mkdir(parents=True)
    (tmp_path / "theirs/rallies/mine").touch()
    with pytest.raises(UsageError, match="theirs exists and is not a store"):
        create(tmp_path / "theirs")


def test_another_process_that_copies_is_waited_for(store, rallies, tmp_path, monkeypatch):
    name = store.ids()[0]
    shutil.rmtree(store.place(name))
    part = store.place(f".{name}.part")
    part.mkdir()
    held = os.open(part, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    monkeypatch.setattr(storing, "COPY_S", 0.3)
    with pytest.raises(BenchError, match="another process has copied"):
        list(store.add(tmp_path / "played", About()))
    os.close(held)
    assert [one.words for one in store.add(tmp_path / "played", About())].count(
        "there already"
    ) == 2
    assert sorted(store.ids()) == sorted(set(store.ids()) | {name})
    assert len(store.ids()) == len(rallies)


def test_killed_while_a_rally_was_copied(store, tmp_path):
    """What is left is no rally, and the next add goes on."""
    name = store.ids()[0]
    store.place(name).rename(store.place(f".{name}.part"))
    assert name not in store.ids()
    assert run("add", store.path, tmp_path / "played").exit_code == 0
    assert len(store.ids()) == 3
    assert not store.place(f".{name}.part").exists()


def test_what_is_no_store(tmp_path):
    with pytest.raises(RallyError, match="is not a store"):
        open_store(tmp_path)
    (tmp_path / "x").write_text("x")
    with pytest.raises(UsageError, match="exists and is not a store"):
        create(tmp_path)
    newer = create(tmp_path / "s")
    (newer.path / "store.json").write_text('{"schema_version": 2}')
    with pytest.raises(RallyError, match=r"of a newer tennis \(schema 2"):
        open_store(newer.path)
    empty = create(tmp_path / "empty")
    with pytest.raises(UsageError, match="holds no rally"):
        list(empty.add(tmp_path / "s", About()))
    assert quantiles(empty, empty.catalogue(), ["kernel"]) == []
    assert ask(empty, "SELECT count(*) AS n FROM balls").to_pylist() == [{"n": 0}]


@pytest.mark.parametrize("words", [["--where", "color=red"], ["--where", "kernel"]])
def test_what_cannot_be_chosen_by(store, words):
    done = run("list", store.path, *words)
    assert isinstance(done.exception, UsageError)


def test_what_a_rally_says_is_no_formula_in_a_spreadsheet(tmp_path):
    live = '=HYPERLINK("http://example.org";"x")'
    make_rally(tmp_path / "played" / "a", balls=100, kernel=live)
    assert run("add", tmp_path / "term", tmp_path / "played").exit_code == 0
    asked = run("query", tmp_path / "term", "SELECT kernel, kernel AS \"=1\" FROM rallies",
                "--format", "csv").output  # fmt: skip
    assert run("export", tmp_path / "term", "--out", tmp_path / "rallies.csv").exit_code == 0
    exported = (tmp_path / "rallies.csv").read_text()
    harmless = f"'{live.replace(';', ',')}".replace('"', '""')
    for text in (asked, exported):
        assert f'"{harmless}"' in text
        assert '"=' not in text.replace(f'"{harmless}"', "")


def test_lists_and_exports(store, tmp_path):
    done = run("list", store.path, "--where", "kernel=rt", "--json")
    assert [row["kernel"] for row in json.loads(done.output)] == ["rt", "rt"]
    assert len(chosen(store, {"kernel": "rt", "bench_name": "bench-3"})) == 2
    assert len(chosen(store, {"student": "nobody"})) == 0
    for kind in ("csv", "parquet"):
        out = tmp_path / f"rallies.{kind}"
        assert run("export", store.path, "--out", out).exit_code == 0
        assert isinstance(run("export", store.path, "--out", out).exception, UsageError)
    assert pq.read_table(tmp_path / "rallies.parquet").equals(store.catalogue())
    lines = run("list", store.path).output.splitlines()
    assert "…" not in "".join(lines)
    assert store.ids()[0] in lines[1]
    told = run("stats", store.path).output
    assert "…" not in told
    assert len(told.splitlines()) == 1 + 2 * 2


@pytest.mark.usefixtures("rallies")
def test_names_that_are_hostile(tmp_path):
    evil = "\x1b[2J'); DROP VIEW balls; --"
    run("add", tmp_path / "term", tmp_path / "played", "--bench-name", evil)
    store = open_store(tmp_path / "term")
    assert len(chosen(store, {"bench_name": evil})) == 3
    assert "\x1b" not in run("list", store.path).output
    assert "\x1b" not in run("stats", store.path, "--by", "bench_name").output
