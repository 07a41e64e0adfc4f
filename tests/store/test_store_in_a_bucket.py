# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A term's store in a bucket: a real S3 server, by moto; the answers of a folder's store."""

import http.client
import json
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest

from tennis.checkout import cache_folder
from tennis.errors import BenchError, RallyError, UsageError
from tennis.store import open_store
from tennis.store.drift import histories
from tennis.store.opening import create
from tennis.store.place import Place
from tennis.store.question import ask, quantiles
from tennis.store.store import About
from tests.play.test_bucket import bucket, endpoint
from tests.support.synthetic import make_rally
from tests.support.terminal import run

__all__ = ["bucket", "endpoint"]  # fixtures


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Let each test be a machine that has fetched nothing yet."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    for seed, kernel in ((1, "rt"), (2, "rt"), (3, "mainline")):
        make_rally(folder / f"r{seed}", balls=2000, misses=seed, kernel=kernel, seed=seed)
    return folder


def another_machine() -> None:
    """Forget what was fetched."""
    shutil.rmtree(cache_folder() / "stores")


def here() -> set[str]:
    """Return the files of rallies that are on this machine."""
    return {path.name for path in cache_folder().glob("stores/*/rallies/*/*")}


def put(url: str, key: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(data)
    Place(url).put(tmp_path / "content", key)


def test_its_answers_are_those_of_a_folder(bucket, played, tmp_path):
    stores = [create(bucket), create(tmp_path / "term")]
    for store in stores:
        added = list(store.add(played, About(bench_name="bench-3", student="k7")))
        assert [one.words for one in added] == [one.words for one in added if one.id]
    another_machine()
    stores = [open_store(bucket), open_store(tmp_path / "term")]
    rows = [store.catalogue() for store in stores]
    assert rows[0].equals(rows[1])
    assert rows[0]["bench_name"].to_pylist() == ["bench-3"] * 3
    assert here() == {"manifest.json"}  # what the catalogue is made of, and nothing else
    answers = [quantiles(store, store.catalogue(), ["kernel"]) for store in stores]
    assert answers[0] == answers[1]
    assert answers[0][1].balls == 4000
    assert here() == {"manifest.json", "balls.parquet"}
    sql = "SELECT id, count(*), max(rise_ns), avg(width_ns) FROM balls GROUP BY id ORDER BY id"
    assert ask(stores[0], sql).equals(ask(stores[1], sql))
    charts = [list(histories(store, store.catalogue())) for store in stores]
    assert [one.points for one in charts[0]] == [one.points for one in charts[1]]
    assert "events.jsonl" in here()
    assert [said for _, said in stores[0].verify()] == [""] * 3


def test_the_commands(bucket, played, tmp_path):
    assert run("store", "list", bucket).output.startswith(
        f"tennis: {bucket} is not a store: make one"
    )
    done = run("store", "add", bucket, played / "r1", "--bench-name", "bench-3")
    assert (done.exit_code, f"{bucket}: 1 rally added, 1 there" in done.output) == (0, True)
    assert "there already" in run("store", "add", bucket, played / "r1").output
    assert f"{bucket}: 2 rallies added, 3 there" in run("store", "add", bucket, played).output
    assert "3 rallies, 6,000 balls" in run("store", "list", bucket).output
    assert "bench-3" in run("store", "list", bucket, "--where", "kernel=rt").output
    told = run("store", "query", bucket, "SELECT count(*) AS n FROM balls", "--format", "json")
    assert json.loads(told.output[told.output.index("[") :]) == [{"n": 6000}]
    assert "3 rallies, all of them whole" in run("store", "verify", bucket).output
    out = tmp_path / "rows.csv"
    assert not run("store", "export", bucket, "--out", out).exit_code
    assert len(out.read_text().splitlines()) == 4
    done = run("doctor", "--bench", "bench-3", "--store", bucket)
    assert "1 rally, and no kind of them" in done.output, done.output
    another_machine()
    told = run("store", "stats", bucket, "--by", "")
    assert f"tennis: {bucket}: fetching 3 rallies\n" in told.output


def test_what_is_damaged_there_gives_no_figure(bucket, played, tmp_path):
    """Somebody altered balls in the bucket: no wrong number, but a line; verify names it."""
    store = create(bucket)
    (added,) = store.add(played / "r1", About())
    another_machine()
    balls = pq.read_table(played / "r1" / "balls.parquet")
    pq.write_table(balls.slice(0, 100), tmp_path / "fewer")
    put(bucket, f"rallies/{added.id}/balls.parquet", (tmp_path / "fewer").read_bytes(), tmp_path)
    store = open_store(bucket)
    with pytest.raises(RallyError, match=rf"{bucket}/rallies/{added.id}/balls.parquet is damaged"):
        quantiles(store, store.catalogue(), [])
    assert "balls.parquet" not in here()
    ((name, wrong),) = store.verify()
    assert name == added.id
    assert wrong.startswith(f"{bucket}/rallies/{added.id}")
    said = []
    assert not [one for one in histories(store, store.catalogue(), said.append) if one.points]
    place = f"{bucket}/rallies/{added.id}/balls.parquet"
    assert said == [f"left out: {place} is damaged: `tennis store verify` looks at all"]
    # another rally under its name
    manifest = (played / "r2" / "manifest.json").read_bytes()
    put(bucket, f"rallies/{added.id}/manifest.json", manifest, tmp_path)
    another_machine()
    store = open_store(bucket)
    with pytest.raises(RallyError, match=r"manifest.json is damaged"):
        quantiles(store, store.catalogue(), [])


def test_half_a_rally_is_none_and_what_was_said_is_what_is_there(bucket, played, tmp_path):
    store = create(bucket)
    list(store.add(played, About(student="k7")))
    names = store.ids()
    # somebody was killed in the middle of an upload; somebody else left other things there
    put(bucket, f"rallies/{'a' * 16}/balls.parquet", b"half", tmp_path)
    put(bucket, "rallies/../escape/manifest.json", b"{}", tmp_path)
    put(bucket, "rallies/NOT-AN-ID/manifest.json", b"{}", tmp_path)
    assert open_store(bucket).ids() == names
    Place(bucket).remove_rally(f"rallies/{names[0]}")
    another_machine()
    rows = open_store(bucket).catalogue()
    assert rows["id"].to_pylist() == names[1:]
    assert rows["student"].to_pylist() == ["k7"] * 2
    put(bucket, f"about/{names[1]}.json", b'{"student": "other"}', tmp_path)
    assert open_store(bucket).catalogue()["student"].to_pylist() == ["other", "k7"]
    Place(bucket)._fs.rm_file(Place(bucket).where(f"about/{names[2]}.json"))
    assert open_store(bucket).catalogue()["student"].to_pylist() == ["other", None]
    # what was fetched, and then altered here
    manifest = open_store(bucket).place(names[1]) / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    with pytest.raises(RallyError, match=r"is damaged.*it is fetched again"):
        open_store(bucket).catalogue()


def test_whoever_may_only_read_gets_an_answer(bucket, played, tmp_path, monkeypatch):
    store = create(bucket)
    list(store.add(played, About()))
    another_machine()

    def refuse(self: Place, *_: object) -> None:
        raise BenchError(f"cannot write to {self.url} (PermissionError: access denied)")

    monkeypatch.setattr(Place, "put", refuse)
    assert len(open_store(bucket).catalogue()) == 3
    with pytest.raises(BenchError, match="access denied"):
        list(open_store(bucket).add(make_rally(tmp_path / "new", balls=9).path, About()))
    assert len(open_store(bucket).ids()) == 3


def test_two_machines_add_at_once(bucket, played):
    first, second = create(bucket), create(bucket)
    list(first.add(played / "r1", About()))
    list(second.add(played / "r2", About()))
    list(second.add(played / "r1", About(student="other")))  # is there already
    another_machine()
    rows = open_store(bucket).catalogue()
    assert rows["balls"].to_pylist() == [2000] * 2
    assert rows["student"].to_pylist().count("other") == 0


def test_what_is_no_store(bucket, endpoint, tmp_path, monkeypatch):
    monkeypatch.setattr("tennis.store.place.WAIT_S", 0.01)
    put(bucket, "some/thing", b"else", tmp_path)
    with pytest.raises(UsageError, match="exists and is not a store"):
        create(bucket)
    with pytest.raises(RallyError, match="is not a store"):
        open_store(f"{bucket}/nothing")
    put(bucket, "newer/store.json", b'{"schema_version": 99}', tmp_path)
    with pytest.raises(RallyError, match="is of a newer tennis"):
        open_store(f"{bucket}/newer")
    with pytest.raises(BenchError, match=r"cannot write to s3://nobodys/term .*nothing is lost"):
        create("s3://nobodys/term")
    made = http.client.HTTPConnection(urlsplit(endpoint).netloc)
    made.close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(BenchError, match=r"cannot look into s3://term/x ") as error:
        open_store("s3://term/x")
    assert "\n" not in str(error.value)
    for url in ("s3://", "s3:///x"):
        with pytest.raises(UsageError, match="a bucket is missing"):
            open_store(url)
