# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A bucket as the place where machines leave rallies for each other: a real S3 server, by moto."""

import http.client
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tennis.errors import BenchError, RallyError, UsageError
from tennis.play.cluster.client import Cluster
from tennis.play.match import play_match
from tennis.rally import open_rally
from tennis.store.place import Place
from tests.play.test_cluster import files, match, one_cluster, scheduler, virtual, workers
from tests.support.small_match import silent
from tests.support.synthetic import make_rally

__all__ = ["scheduler"]  # a fixture


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """Run a server that speaks S3; return its address."""
    program = str(Path(sys.executable).with_name("moto_server"))
    log = tmp_path_factory.mktemp("s3") / "log"  # a line for each request: a pipe would be full
    with log.open("w") as said:
        server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", "0"], stdout=said, stderr=said)
    while (found := re.search(r"http://127.0.0.1:\d+", log.read_text())) is None:
        assert server.poll() is None, log.read_text()
        time.sleep(0.05)
    yield found[0]
    server.terminate()
    server.wait()


@pytest.fixture
def bucket(endpoint, monkeypatch, request):
    """Return the URL of a place in a fresh bucket; the environment leads to it."""
    name = f"term-{abs(hash(request.node.name))}"
    for key, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(key, value)
    made = http.client.HTTPConnection(urlsplit(endpoint).netloc)
    made.request("PUT", f"/{name}")
    assert made.getresponse().status == 200
    return f"s3://{name}/tennis"


def test_a_rally_goes_in_and_comes_back(bucket, tmp_path):
    rally = make_rally(tmp_path / "r", balls=500)
    store = Place(bucket)
    store.check()
    assert not store.has_rally("rallies/r")
    store.put(rally.path / "balls.parquet", "rallies/r/balls.parquet")
    assert not store.has_rally("rallies/r")  # a worker was killed in the middle of an upload
    store.put_rally(rally.path, "rallies/r")
    assert Place(bucket).has_rally("rallies/r")
    Place(bucket).get_rally("rallies/r", tmp_path / "back")
    assert open_rally(tmp_path / "back").manifest.files == rally.manifest.files
    names = [
        sorted(path.name for path in folder.iterdir()) for folder in (tmp_path / "back", rally.path)
    ]
    assert names[0] == names[1]
    store.remove_rally("rallies/r")
    assert not store.has_rally("rallies/r")


def test_a_folder_comes_back_by_its_hash(bucket, tmp_path):
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "Image").write_bytes(os.urandom(300_000))
    (folder / "link").symlink_to("Image")
    store = Place(bucket)
    key = store.put_folder(folder)
    assert store.put_folder(folder) == key
    (tmp_path / "back").mkdir()
    store.get_folder(key, tmp_path / "back")
    assert (tmp_path / "back" / "Image").read_bytes() == (folder / "Image").read_bytes()
    assert (tmp_path / "back" / "link").is_symlink()
    (tmp_path / "other").write_bytes(b"no archive")
    store.put(tmp_path / "other", f"folders/{key}")
    with pytest.raises(RallyError, match="is damaged"):
        store.get_folder(key, tmp_path / "again")


def test_a_bucket_that_is_not_there_or_is_not_ones_own(bucket, endpoint, monkeypatch):
    monkeypatch.setattr("tennis.store.place.WAIT_S", 0.01)
    with pytest.raises(BenchError, match=r"cannot write to s3://nobodys/tennis .*nothing is lost"):
        Place("s3://nobodys/tennis").check()
    with pytest.raises(UsageError, match="s3://: a bucket is missing"):
        Place("s3://")
    assert endpoint
    assert bucket


@virtual
@one_cluster
def test_a_match_through_a_bucket_is_the_serial_one(bucket, scheduler, tmp_path):
    with workers(scheduler, tmp_path, None, None):
        cluster = Cluster(scheduler, bucket, check_every=2)
        outcome = play_match(match(2), tmp_path / "m", silent, lambda: False, cluster)
    assert (len(outcome.played), outcome.bad) == (2, {})
    play_match(match(2), tmp_path / "serial", silent, lambda: False)
    assert files(tmp_path / "m") == files(tmp_path / "serial")
    assert len(files(tmp_path / "m")) == 2
