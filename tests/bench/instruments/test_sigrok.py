"""Driving sigrok-cli: its pattern generator for real, and words of devices that are not here."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tennis.bench.instruments import sigrok
from tennis.bench.instruments.acquisition import capturing, wait
from tennis.kit.errors import UsageError
from tennis.play.capture import _needed_s, watching
from tennis.report.umpire import open_capture
from tests.support.captures import sigrok as run_sigrok
from tests.support.plans import plan_of
from tests.support.processes import run_to_end, stand_in

TENNIS = [sys.executable, "-c", "from tennis.cli import main; main()"]


@pytest.fixture
def path_of(tmp_path, monkeypatch):
    """Put a program in sigrok-cli's place: for devices that are not here."""

    def put(text):
        stand_in(tmp_path / "sigrok-cli", text)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


def test_a_capture_of_the_pattern_generator_is_whole(tmp_path):
    """Real samples of libsigrok's demo driver, through the pipe, into a session that it reads."""
    out = tmp_path / "demo.sr"
    chosen = sigrok.Settings.asked("demo", rate_hz=1_000_000, ping="D1", reply="D6")
    with capturing(chosen, out) as capture:
        time.sleep(0.3)
    assert not capture.trouble
    assert capture.samples > 100_000
    opened = open_capture(out)
    edges = sum(batch.ticks.size for batch in opened.edges())
    assert opened.end_ticks == capture.samples
    assert edges > 1000
    # the demo's pattern repeats each 64 samples; sigrok's own reading of it is the same
    text = run_sigrok("-i", out, "-O", "vcd")
    assert sum(line.count("!") + line.count('"') for line in text.splitlines()[9:]) - 2 == edges


def test_a_capture_for_so_long_has_that_length(tmp_path):
    chosen = sigrok.Settings.asked("demo", rate_hz=1_000_000, seconds=0.25)
    with capturing(chosen, tmp_path / "demo.sr") as capture:
        wait(capture)
    assert capture.samples == 250_000
    assert not capture.trouble


DIES = """case $* in
*"--samples 1000") head -c 1000 /dev/zero ;;
*) head -c 5000000 /dev/zero; echo "usb gone" >&2; exit 1 ;;
esac"""


@pytest.mark.parametrize("seconds", [None, 10.0])
def test_an_analyser_that_is_unplugged_leaves_what_it_saw(tmp_path, path_of, seconds):
    chosen = sigrok.Settings.asked("demo", rate_hz=1_000_000, seconds=seconds)
    path_of(DIES)
    out = tmp_path / "half.sr"
    with capturing(chosen, out) as capture:
        while capture.running:
            time.sleep(0.01)
    assert "stopped by itself (usb gone)" in capture.trouble
    opened = open_capture(out)
    assert list(opened.edges()) == []
    assert opened.end_ticks == capture.samples == 5_000_000


def test_a_rally_on_a_physical_bench_is_watched(tmp_path):
    """The demo driver stands for an analyser: the capture begins and ends with the rally."""
    plan = plan_of(bench="pi", umpire=True, analyser="demo", balls=100)
    assert 3 < _needed_s(plan) < 10
    with watching(plan, tmp_path) as trouble:
        time.sleep(0.2)
    assert trouble == []
    assert open_capture(tmp_path / "capture.sr").tick_hz == 24_000_000
    nobody = plan_of(bench="pi", balls=100)
    with watching(nobody, tmp_path / "nowhere"):
        pass
    with pytest.raises(UsageError, match="--analyser needs --bench pi"):
        plan_of(bench="virtual", umpire=True, analyser="demo")


def test_ctrl_c_ends_a_capture_and_keeps_it(tmp_path):
    out = tmp_path / "wires.sr"
    command = [*TENNIS, "umpire", "capture", "--analyser", "demo", "--rate-mhz", "2"]
    with subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert "capturing with Demo device" in process.stderr.readline()
        deadline = time.monotonic() + 30
        while not (out.exists() and out.stat().st_size > 300) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "samples" in said
    opened = open_capture(out)
    assert sum(batch.ticks.size for batch in opened.edges()) > 1000


@pytest.mark.more
@pytest.mark.virtual
def test_a_rally_on_the_virtual_bench_carries_its_capture(tmp_path):
    """Real kernel, real Racquet: sigrok and the check find the balls that were played."""
    rally = tmp_path / "watched"
    played = [*TENNIS, "rally", "--umpire", "--balls", "400", "--load", "stress", "--out", rally]
    subprocess.run(played, check=True, capture_output=True)
    manifest = json.loads((rally / "manifest.json").read_text())
    assert "capture.sr" in manifest["files"]
    assert '"umpire"' in (rally / "events.jsonl").read_text()
    done = run_to_end([*TENNIS, "umpire", "check", rally, "--json"])
    found = json.loads(done.stdout)
    assert (found["verdict"], found["balls"], found["unmatched"]) == ("pass", 400, 0), found
    assert any("made from the rally itself" in note for note in found["notes"])
    # the same seed, the same bytes
    again = tmp_path / "again"
    subprocess.run([*played[:-1], again], check=True, capture_output=True)
    assert (rally / "capture.sr").read_bytes() == (again / "capture.sr").read_bytes()
