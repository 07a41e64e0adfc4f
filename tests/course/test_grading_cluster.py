# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A class is marked by a real Dask cluster: marks are those of one machine, whatever happens."""

import json
import os
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

from tennis.course import grading, load_lab
from tennis.course.grading_cluster import CHECKS, Unlike, judge_there, judging_on
from tennis.course.work import seed_of
from tennis.errors import BenchError
from tennis.listener import listening
from tests.play.test_cluster import DASK, one_cluster, scheduler, virtual, workers
from tests.support.hand_ins import make_work, zipped
from tests.support.terminal import TENNIS, run

__all__ = ["scheduler"]  # a fixture

LAB = load_lab("01-first-serve")


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory) -> Path:
    """Four hand-ins: one is right, one has a wrong answer, one a PDF, one is no zip file."""
    folder = tmp_path_factory.mktemp("class")
    here = folder / "handed-in"
    here.mkdir()
    for name, answers in (("ada", {}), ("bob", {"edges": 9160}), ("cleo", {"bound": None})):
        work = make_work(folder / name, LAB, name, answers=answers)
        if name == "cleo":
            (work / "notebook.pdf").write_bytes(b"%PDF-1.7 of cleo")
        zipped(work, here / f"{name}.zip")
    (here / "d\xe4n \N{SNOWMAN}.zip").write_bytes(b"no zip file")
    return here


def results(out: Path) -> dict[str, dict]:
    """Return what is kept of each hand-in, but for how long it took."""
    found = {}
    for path in sorted((out / grading.RESULTS).glob("*.json")):
        graded = grading.Graded.model_validate_json(path.read_bytes())
        report = graded.report
        if report is not None:
            timeless = [one.model_copy(update={"seconds": 0}) for one in report.results]
            report = report.model_copy(update={"results": timeless})
        found[path.name] = graded.model_copy(update={"report": report}).model_dump()
    return found


def on_cluster(address: str, handed_in: Path, out: Path, *, replays: bool = False, **more):
    stop = more.pop("stop", lambda: False)
    with judging_on(address, LAB, replays=replays, stop=stop) as (judge, slots):
        return grading.grade(
            grading.files(handed_in),
            LAB,
            out,
            replays=replays,
            workers=slots,
            judge=judge,
            stop=stop,
            **more,
        )


@one_cluster
def test_a_worker_is_killed_and_the_marks_are_those_of_one_machine(scheduler, handed_in, tmp_path):
    with workers(scheduler, tmp_path, None, None) as (first, _):

        def observe(done: int, *_: object) -> None:
            if done == 1:
                os.killpg(first.pid, signal.SIGKILL)

        there = on_cluster(scheduler, handed_in, tmp_path / "there", observe=observe)
        words = [TENNIS, "grade", str(handed_in), "--lab", "01", "--no-replay"]
        more = ["--out", str(tmp_path / "typed"), "--cluster", scheduler]
        told = subprocess.run([*words, *more], capture_output=True, text=True, check=True)
    assert "4 hand-ins, 1 that could not be marked" in told.stdout
    grading.grade(
        grading.files(handed_in), LAB, tmp_path / "here", replays=False, workers=lambda: 2
    )
    assert [bool(one.refused) for one in there] == [False, False, False, True]
    assert results(tmp_path / "there") == results(tmp_path / "here") == results(tmp_path / "typed")
    assert len(results(tmp_path / "here")) == 4
    (pdf,) = (tmp_path / "there" / grading.PDFS).iterdir()
    assert pdf.read_bytes() == b"%PDF-1.7 of cleo"


@virtual
@one_cluster
def test_rallies_are_played_again_by_a_worker(scheduler, tmp_path):
    """A rally that was played is as it was; one that is made up cannot be."""
    (tmp_path / "one").mkdir()
    work = make_work(tmp_path / "ada", LAB, "ada", rallies={"mainline-idle": None})
    (work / "notebook.md").write_text("nothing to run")
    words = ["rally", "--balls", LAB.rallies[0].balls, "--seed", seed_of(LAB, "ada"), "--quiet"]
    assert not run(*words, "--out", work / "mainline-idle").exit_code
    zipped(work, tmp_path / "one" / "ada.zip")
    with workers(scheduler, tmp_path, None):
        (there,) = on_cluster(scheduler, tmp_path / "one", tmp_path / "there", replays=True)
    assert there.report is not None
    found = {one.check: one for one in there.report.results}
    assert found["check_honest[mainline-idle]"].verdict == "pass"
    assert found["check_honest[rt-idle]"].verdict == "inconclusive"
    assert found["check_honest[rt-idle]"].message.startswith("rt-idle was played with the instr")


@one_cluster
def test_a_worker_that_is_another_marks_nothing(scheduler, handed_in, tmp_path):
    preload = tmp_path / "other.py"
    preload.write_text("from tennis.play.cluster import tasks\ntasks._checkout = lambda: 'other'\n")
    with (
        workers(scheduler, tmp_path, preload),
        pytest.raises(BenchError, match=r"worker tcp://\S+ has checkout other instead of") as error,
    ):
        on_cluster(scheduler, handed_in, tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not results(tmp_path / "out")


def test_other_solutions_are_another(monkeypatch):
    monkeypatch.setattr("distributed.get_worker", lambda: type("W", (), {"address": "tcp://w"}))
    alike = {CHECKS: grading.checks_sha256(LAB, replays=True)}
    said = judge_there(b"x.zip", b"", LAB.slug, alike, replays=False)
    assert said == Unlike("tcp://w", "other checks and solutions")
    judged = judge_there(b"x.zip", b"", LAB.slug, alike, replays=True)
    assert not isinstance(judged, Unlike)
    assert "x.zip is no whole zip file" in judged.refused


@one_cluster
def test_a_hand_in_that_ends_every_worker_does_not_end_the_class(scheduler, handed_in, tmp_path):
    """What no worker could mark is said, and marked by the next run."""
    preload = tmp_path / "ends.py"
    preload.write_text(
        "import os\nfrom tennis.course import grading_cluster as there\n"
        "from tennis.course.grading import judged\n"
        "def ends(path, lab, **more):\n"
        "    if path.name == 'ada.zip':\n"
        "        raise OSError('no room')\n"
        "    return os._exit(1) if path.name == 'bob.zip' else judged(path, lab, **more)\n"
        "there.judged = ends\n"
    )
    with workers(scheduler, tmp_path, preload, preload, preload, preload, preload):
        found = on_cluster(scheduler, handed_in, tmp_path / "out")
    ada, bob, cleo, dan = found
    assert "could not mark it (OSError: no room)" in ada.refused
    assert "no worker could mark it (KilledWorker" in bob.refused
    assert not cleo.refused
    assert "no whole zip file" in dan.refused
    assert len(results(tmp_path / "out")) == 2


@one_cluster
def test_a_scheduler_that_is_killed_loses_no_marks(handed_in, tmp_path):
    address = tmp_path / "address.json"
    words = [DASK, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    own = subprocess.Popen(
        [*words, "--scheduler-file", str(address)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not address.is_file() or not address.read_text():
            time.sleep(0.1)
        place = json.loads(address.read_text())["address"]
        with (
            workers(place, tmp_path, None),
            pytest.raises(BenchError, match=r"scheduler is no more .*nothing is lost"),
        ):
            on_cluster(place, handed_in, tmp_path / "out", observe=lambda *_: own.kill())
    finally:
        own.kill()
        own.wait()
    assert results(tmp_path / "out")


@one_cluster
def test_told_to_stop_without_a_worker(scheduler, handed_in, tmp_path):
    said: list[str] = []
    with listening(said.append), pytest.raises(KeyboardInterrupt):
        on_cluster(scheduler, handed_in, tmp_path / "out", stop=lambda: bool(said))
    assert said == ["no worker is there yet: start one with `dask worker ADDRESS`"]


def test_no_scheduler(handed_in, monkeypatch):
    done = run("grade", handed_in, "--lab", "01", "--cluster", "nonsense://x")
    assert done.exit_code == 2
    assert done.output == "tennis: nonsense://x is no address: use tcp://HOST:8786\n"
    done = run("grade", handed_in, "--lab", "01", "--cluster", "tcp://x", "--workers", "2")
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    monkeypatch.setattr("tennis.cluster.CONNECT_S", 1)
    with pytest.raises(BenchError, match="no Dask scheduler answers"):
        on_cluster("tcp://127.0.0.1:1", handed_in, handed_in.with_name("out"))
    assert not handed_in.with_name("out").exists()


def test_a_hostile_file_is_refused_here(tmp_path, scheduler):
    (tmp_path / "link.zip").symlink_to("/etc/passwd")
    with judging_on(scheduler, LAB, replays=False, stop=lambda: False) as (judge, _):
        assert "is no file of at most" in judge(tmp_path / "link.zip").refused
    assert not zipfile.is_zipfile(tmp_path / "link.zip")
