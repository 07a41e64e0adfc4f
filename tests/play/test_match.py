"""Matches on the virtual bench: whatever happens to one, nothing is lost and the rest is played."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tennis.match.folder import open_match
from tennis.rally import open_rally
from tennis.rally.plan import Plan
from tests.support import terminal
from tests.support.patience import end_of, wait_until
from tests.support.shared import made_once

pytestmark = pytest.mark.virtual

TENNIS = [str(Path(sys.executable).with_name("tennis"))]
# what a match does with any target: SLOTH boots in no time. So many balls that it is seen at work.
BALLS = 50_000
PLAN = f"""
title = "A small match"
balls = {BALLS}
kernels = ["sloth"]
loads = ["idle"]
repetitions = 4
"""
NAMES = [f"sloth-idle-native-task{boot}" for boot in ("", "-r2", "-r3", "-r4")]
LINUX = """
balls = 300
kernels = ["mainline", "rt"]
loads = ["idle", "stress"]
"""
LINUX_NAMES = [
    f"{kernel}-{load}-default-tasklet"
    for kernel in ("mainline", "rt")
    for load in ("idle", "stress")
]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


def tennis(*words: str | Path) -> subprocess.CompletedProcess[str]:
    if words[0] == "match":  # one after the other, so that it is known what is played when
        words = (*words, "--workers", "1")
    return terminal.tennis(*words)


def begin(path: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*TENNIS, "match", str(path), "--out", str(out), "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(place: Path, process: subprocess.Popen[str], size: int = 0) -> None:
    wait_until(
        lambda: place.exists() and (not size or place.stat().st_size >= size), process, limit_s=600
    )


def hashes(out: Path, names: list[str] = NAMES) -> dict[str, dict[str, str]]:
    return {name: open_rally(out / name).manifest.files for name in names}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the match that nobody disturbed."""

    def make(folder: Path) -> None:
        (folder / "plan.toml").write_text(PLAN)
        done = tennis("match", folder / "plan.toml", "--out", folder / "m")
        assert done.returncode == 0, done.stderr
        assert f"4/4 {NAMES[3]}: played, {BALLS} balls, 0 missed" in done.stdout

    return made_once(tmp_path_factory, "match", make) / "m"


def test_the_folder_and_its_page(whole):
    assert sorted(path.name for path in whole.iterdir()) == sorted(
        [".lock", "match.json", "report.html", *NAMES]
    )
    record = json.loads((whole / "match.json").read_text())
    assert [one["name"] for one in record["fixtures"]] == NAMES
    assert record["fixtures"][0]["plan"]["versions"]["qemu"]
    seeds = {open_rally(whole / name).manifest.protocol.seed for name in NAMES}
    assert len(seeds) == 4
    assert (whole / "report.html").read_text().count("Virtual bench: virtual time") >= 3


@pytest.mark.slow
def test_the_thesis_main_result(tmp_path, path):
    """Under stress mainline's worst case explodes and PREEMPT_RT's does not."""
    plan = 'balls = 1000\nsettle_s = 0.1\nkernels = ["mainline", "rt"]\nloads = ["stress"]\n'
    path.write_text(plan)
    done = tennis("match", path, "--out", tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert "has 1000 balls, less than a cycle of stress (5 s): 5,084 would do" in done.stdout
    page = (tmp_path / "m/report.html").read_text()
    assert "less than a cycle of stress" in page
    assert page.count("Virtual bench: virtual time, 2 ns per instruction") >= 3
    mainline, rt = (
        open_rally(tmp_path / f"m/{kernel}-stress-default-tasklet") for kernel in ("mainline", "rt")
    )
    assert mainline.interrupt.values[-1] > 20 * rt.interrupt.values[-1]
    # and without priorities its bottom half is no better than mainline's
    assert rt.scheduling.values[-1] > 100 * rt.interrupt.values[-1]
    assert mainline.manifest.load.command == (
        "stress --cpu 4 --io 4 --vm 4 --vm-bytes 16M --hdd 4 --hdd-bytes 64M"
    )


@pytest.mark.cases(more=["linux"])
@pytest.mark.parametrize("kernels", ["sloth", "linux"])
def test_killed_interrupted_and_gone_on_with(tmp_path, path, request, kernels):
    """kill -9 in the second rally, Ctrl-C in a later sitting: the balls are undisturbed ones."""
    out, names, balls = tmp_path / "m", NAMES, BALLS
    if kernels == "sloth":
        whole = request.getfixturevalue("whole")
    else:
        path.write_text(LINUX)
        whole, names, balls = tmp_path / "whole", LINUX_NAMES, 300
        assert tennis("match", path, "--out", whole).returncode == 0
    process = begin(path, out)
    wait_for(out / f"{names[1]}.part" / "frames.bin", process, size=2000)
    process.kill()
    process.communicate()
    kept = (out / names[0] / "manifest.json").read_bytes()
    assert open_match(out).trouble(names[1]) == "is begun"
    if kernels == "linux":  # nothing was published about SLOTH
        assert "is begun" in tennis("replicate", out, "--json").stdout
        assert "c1  " in tennis("match", path, "--out", whole).stdout

    process = begin(path, out)
    wait_for(out / f"{names[3]}.part" / "frames.bin", process, size=2000)
    process.send_signal(signal.SIGINT)
    said, errors = end_of(process)
    assert process.returncode == 1
    assert "the same command plays the rest" in errors
    assert f"1/4 {names[0]}: kept, {balls} balls" in said
    assert f"4/4 {names[3]}: interrupted; sealed" in said
    sealed = open_rally(out / names[3])
    assert sealed.manifest.ended == "interrupted"
    assert (out / f"{names[3]}.part/frames.bin").exists()

    done = tennis("match", path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"4/4 {names[3]}: played, {balls} balls" in done.stdout
    assert hashes(out, names) == hashes(whole, names)
    assert (out / names[0] / "manifest.json").read_bytes() == kept
    assert not list(out.glob("*.part"))
    assert not list(out.glob("*.interrupted-*"))

    again = tennis("match", path, "--out", out)
    assert again.returncode == 0
    assert again.stdout.count(f"kept, {balls} balls") == 4
    hushed = tennis("--quiet", "match", path, "--out", out)
    assert hushed.returncode == 0
    assert f"kept, {balls} balls" not in hushed.stdout


def test_a_folder_that_leads_elsewhere(tmp_path, path, whole):
    """What is there was put there by somebody: another kernel to play on, links to follow."""
    out = tmp_path / "m"
    shutil.copytree(whole, out)
    mine = tmp_path / "mine"
    mine.write_text("my thesis")
    (out / ".lock").unlink()
    (out / ".lock").symlink_to(mine)
    done = tennis("match", path, "--out", out)
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    (out / ".lock").unlink()

    plans = [
        Plan(**one["plan"]) for one in json.loads((out / "match.json").read_text())["fixtures"]
    ]
    for name in NAMES[:2]:
        shutil.rmtree(out / name)
        (out / f"{name}.part").mkdir()
    (out / f"{NAMES[0]}.part" / "frames.bin").symlink_to(mine)
    (out / f"{NAMES[1]}.part" / "frames.bin").write_bytes(b"balls")
    foreign = plans[1].model_copy(update={"kernel": "/home/student/linux"})
    (out / f"{NAMES[1]}.part" / "plan.json").write_text(foreign.text)
    done = tennis("match", path, "--out", out)
    assert done.returncode == 1
    assert f"1/4 {NAMES[0]}: FAILED: {out / NAMES[0]}.part/frames.bin is a link" in done.stdout
    assert (
        f"2/4 {NAMES[1]}: FAILED: {out / NAMES[1]}.part is the beginning of another" in done.stdout
    )
    assert mine.read_text() == "my thesis"


def test_a_damaged_rally_is_kept_and_said(tmp_path, path, whole):
    out = tmp_path / "m"
    subprocess.run(["cp", "-r", whole, out], check=True)
    balls = out / NAMES[2] / "balls.parquet"
    balls.write_bytes(balls.read_bytes()[:-1])
    done = tennis("match", path, "--out", out)
    assert done.returncode == 1
    assert f"3/4 {NAMES[2]}: kept, but it cannot be used" in done.stdout
    assert f"1 of 4 rallies are not sound, the first {NAMES[2]}" in done.stderr
    assert "The report, table by table" in done.stdout
