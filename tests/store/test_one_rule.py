# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A figure of a store comes from bytes whose hash was checked, within bounds; from nothing else."""

import contextlib
import json
import os
import sqlite3
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.errors import RallyError, TennisError, UsageError
from tennis.rally.disk import open_regular
from tennis.store import memory as remembering
from tennis.store import open_store, question
from tennis.store.memory import Memory
from tennis.store.opening import create
from tennis.store.question import ask, chosen, quantiles
from tennis.store.store import About, Store
from tests.support.synthetic import make_rally


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Let each test be a machine that has read nothing yet."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def store(tmp_path) -> Store:
    made = create(tmp_path / "term")
    for seed in (1, 2):
        list(made.add(make_rally(tmp_path / f"r{seed}", balls=900, seed=seed).path, About()))
    return made


ASKED = {
    "list": ["list"],
    "stats": ["stats"],
    "query": ["query", "SELECT max(rise_ns) FROM balls"],
    "export": ["export", "--out", "rows.csv"],
}


def answered(store: Store, command: str, monkeypatch) -> str:
    """Return what a command says of a store; '' where it refuses, in one line."""
    monkeypatch.chdir(store.path.parent)
    words = ASKED[command]
    done = CliRunner().invoke(cli, ["store", words[0], str(store.path), *words[1:]])
    if done.exception:
        assert isinstance(done.exception, TennisError), done.exception
        assert "\n" not in str(done.exception)
        assert done.stdout == ""
        return ""
    return done.output


@pytest.mark.parametrize("command", ASKED)
@pytest.mark.parametrize("known", [False, True])
def test_another_manifest_gives_no_figure(store, command, known, monkeypatch):
    monkeypatch.setattr(remembering, "SETTLED_NS", -(10**18))  # also what is known at once
    assert not known or answered(store, "stats", monkeypatch)
    file = store.place(store.ids()[0]) / "manifest.json"
    times = file.stat()
    file.write_bytes(file.read_bytes().replace(b'"balls": 900', b'"balls": 999'))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert answered(store, command, monkeypatch) == ""


@pytest.mark.parametrize("command", ["stats", "query"])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("damage", ["half", "other"])
def test_other_balls_give_no_figure(store, command, known, damage, monkeypatch):
    monkeypatch.setattr(remembering, "SETTLED_NS", -(10**18))
    assert not known or answered(store, command, monkeypatch)
    file = store.place(store.ids()[0]) / "balls.parquet"
    times, balls = file.stat(), pq.read_table(file)
    if damage == "half":
        pq.write_table(balls.slice(0, 450), file)
    else:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert answered(store, command, monkeypatch) == ""


def test_a_catalogue_of_an_earlier_version_is_not_read(store, monkeypatch):
    before = answered(store, "stats", monkeypatch)
    rows = store.catalogue()
    lies = rows.set_column(6, "kernel", pa.array(["xenomai"] * 2))
    pq.write_table(lies, store.path / "catalogue.parquet")
    assert answered(store, "stats", monkeypatch) == before
    assert open_store(store.path).catalogue().equals(rows)


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("kind", ["fifo", "device", "link", "folder"])
@pytest.mark.parametrize("what", ["rallies/{}/manifest.json", "rallies/{}/balls.parquet",
                                  "about/{}.json", "store.json"])  # fmt: skip
def test_only_regular_files_are_opened(store, what, kind, tmp_path, monkeypatch):
    file = store.path / what.format(store.ids()[0])
    same = file.read_bytes()
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    else:
        (tmp_path / "same").write_bytes(same)
        file.symlink_to(tmp_path / "same")
        if what == "store.json":  # a link to a store's own file is one
            return
    said = answered(store, "stats", monkeypatch)
    if what == "about/{}.json":  # a note: the rally that it is on is left out
        assert f"left out: {file} cannot be read: remove it" in said
        assert " 900 " in said
    else:
        assert said == ""


@pytest.mark.usefixtures("in_time")
def test_what_becomes_a_fifo_meanwhile_is_not_waited_for(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"x")
    status = file.stat()
    file.unlink()
    os.mkfifo(file)
    monkeypatch.setattr(type(file), "stat", lambda *_, **__: status)
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(file)


def test_a_hash_is_kept_until_its_file_changes(tmp_path, monkeypatch):
    file, limit = tmp_path / "file", 1 << 20
    file.write_bytes(b"one")
    os.utime(file, (0, 0))  # a time that somebody set says nothing
    fresh = Memory(tmp_path / "known")
    one, stamp = fresh.sha256(file, limit)
    fresh.keep()
    assert kept(tmp_path / "known", "SELECT * FROM hashes") == []  # it may change without a time
    monkeypatch.setattr(remembering, "SETTLED_NS", -(10**18))
    assert fresh.sha256(file, limit) == (one, stamp)
    fresh.keep()
    monkeypatch.undo()
    kept(tmp_path / "known", "UPDATE hashes SET sha256 = 'as it was kept'")
    again = Memory(tmp_path / "known")
    assert again.sha256(file, limit) == ("as it was kept", stamp)  # it is not read
    time.sleep(0.02)  # a file system's clock goes in steps of some milliseconds
    file.write_bytes(b"two")
    os.utime(file, (0, 0))
    two, _ = again.sha256(file, limit)
    assert two != one
    assert again.content(file, limit) == (two, b"two")
    with pytest.raises(RallyError, match="has 3 bytes, at most 2 are read"):
        again.sha256(file, 2)


def kept(known: Path, sql: str) -> list[tuple[str, ...]]:
    """Ask the file in which hashes are kept, or change it."""
    with contextlib.closing(sqlite3.connect(known)) as database, database:
        return database.execute(sql).fetchall()


def test_what_cannot_be_remembered_is_read_again(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "known").write_bytes(b"no database at all" * 100)
    (tmp_path / "folder").mkdir()
    (tmp_path / "no-folder").write_bytes(b"")
    for place in (tmp_path / "known", tmp_path / "folder", tmp_path / "no-folder" / "known"):
        known = Memory(place)
        assert known.sha256(tmp_path / "file", 9) == known.sha256(tmp_path / "file", 9)
        known.learn("a", "b", "c")
        assert known.fact("a", "b") == "c"
        known.keep()


def test_a_second_look_reads_no_manifest(store, monkeypatch):
    monkeypatch.setattr(remembering, "SETTLED_NS", -(10**18))
    rows = store.catalogue()
    monkeypatch.setattr(Memory, "content", lambda *_: pytest.fail("it is read again"))
    assert open_store(store.path).catalogue().equals(rows)


@pytest.mark.parametrize("name", ["term[1]", "a*b?", "kernel=rt", "it's", "{a,b}", "back\\slash"])
def test_a_store_s_name_is_a_name(store, name):
    expected = ask(store, "SELECT id, count(*) FROM balls GROUP BY id ORDER BY id")
    moved = open_store(store.path.rename(store.path.with_name(name)))
    assert len(quantiles(moved, chosen(moved, {}), ["kernel"])) == 1
    assert ask(moved, "SELECT id, count(*) FROM balls GROUP BY id ORDER BY id").equals(expected)


@pytest.mark.parametrize(
    ("sql", "seconds", "words"),
    [
        ("SELECT count(*) FROM range(9999999) a, range(9999999) b", 2, "not answered within 2 s"),
        ("SELECT length(string_agg(repeat('x', 9999999))) FROM range(9999)", 99, "within 300 MB"),
        ("SELECT list(range) FROM range(1000000000)", 99, "within 300 MB"),
        ("SELECT count(*) FROM (SELECT DISTINCT range FROM range(99999999))", 99, "within 300 MB"),
        ("SELECT repeat('x', 99999) FROM range(99999999)", 99, "larger than 128 MB|within 300 MB"),
        (f"SELECT {'(' * 50_000}1{')' * 50_000}", 99, "not answered"),
    ],
)  # fmt: skip
def test_a_question_ends(store, sql, seconds, words, monkeypatch):
    """Within its time and its memory, whatever is asked; nothing is left on the disk."""
    monkeypatch.chdir(store.path)
    before = sorted(store.path.rglob("*"))
    with pytest.raises(UsageError, match=words) as error:
        ask(store, sql, seconds=seconds, memory_mb=300)
    assert "\n" not in str(error.value)
    assert sorted(store.path.rglob("*")) == before


def test_a_question_takes_no_more_than_this_process_s_share(store, monkeypatch):
    """In a control group with less, the kernel would end any process of it."""
    threads = "SELECT value FROM duckdb_settings() WHERE name = 'threads'"
    monkeypatch.setattr(question, "free_memory_bytes", lambda: 300 << 20)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert ask(store, threads).to_pylist() == [{"value": "1"}]
    finally:
        os.sched_setaffinity(0, allowed)
    with pytest.raises(UsageError, match="within 300 MB"):
        ask(store, "SELECT list(range) FROM range(1000000000)", memory_mb=2000)


def test_a_question_s_limits_are_options(store):
    for sql, *words, said in (
        ("SELECT count(*) FROM range(9999999) a, range(9999999)", "--seconds", "1", "within 1 s"),
        ("SELECT list(range) FROM range(999999999)", "--memory-mb", "200", "within 200 MB"),
        ("SELECT [1, 2] AS x", "--format", "csv", "use --format json"),
    ):
        done = CliRunner().invoke(cli, ["store", "query", str(store.path), sql, *words])
        assert isinstance(done.exception, UsageError), done.exception
        assert said in str(done.exception)
        assert words[0] in str(done.exception)


def test_an_answer_in_json_is_json(store):
    """NaN and Infinity are no JSON: a strict reader would stop there."""
    sql = "SELECT 'nan'::DOUBLE AS no, ['inf'::DOUBLE, 1.5] AS several, 2 AS two"
    done = CliRunner().invoke(cli, ["store", "query", str(store.path), sql, "--format", "json"])
    (row,) = json.loads(done.stdout, parse_constant=pytest.fail)
    assert row == {"no": None, "several": [None, 1.5], "two": 2}
