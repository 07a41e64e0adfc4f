# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Driving sigrok-cli: its pattern generator for real, and words of devices that are not here."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tennis.bench.instruments import acquisition, sigrok, sigrok_decoder
from tennis.bench.instruments.acquisition import capturing, wait
from tennis.errors import BenchError, UsageError
from tennis.play.capture import needed_s, warnings, watching
from tennis.umpire import open_capture
from tests.support.captures import sigrok as run_sigrok
from tests.support.plans import plan_of
from tests.support.processes import run_to_end, stand_in

TENNIS = [sys.executable, "-c", "from tennis.cli import main; main()"]
# what sigrok-cli 0.7.2 prints for devices, as its source has it; no such device was here
SCAN = """The following devices were found:
demo - Demo device with 13 channels: D0 D1 D2 D3 D4 D5 D6 D7 A0 A1 A2 A3 A4
fx2lafw:conn=1.7 - Saleae Logic with 8 channels: D0 D1 D2 D3 D4 D5 D6 D7
rigol-ds:conn=usbtmc/dev - Rigol DS1054Z 00.04 with 4 channels: CH1 CH2 CH3 CH4
x-meter - Some Meter with 1 channel: P1
"""
SHOW = """Driver functions:
    Logic analyzer
fx2lafw:conn=1.7 - Saleae Logic with 8 channels: D0 D1 D2 D3 D4 D5 D6 D7
Supported configuration options:
    continuous: on, off
    limit_samples: 0 (current)
    samplerate - supported samplerates:
      20 kHz
      500 kHz
      1 MHz (current)
      12 MHz
      16 MHz
      24 MHz
    captureratio: 0 (current)
"""


def test_words_of_a_scan_and_of_a_device_and_what_is_chosen():
    found = sigrok.parse_scan(SCAN)
    specs = [analyser.spec for analyser in found]
    assert specs == ["demo", "fx2lafw:conn=1.7", "rigol-ds:conn=usbtmc/dev"]
    assert found[0].demo
    assert found[1].channels == tuple(f"D{n}" for n in range(8))
    analyser = sigrok.parse_show(found[1], SHOW)
    assert analyser.rates_hz == (20_000, 500_000, 1_000_000, 12_000_000, 16_000_000, 24_000_000)
    assert analyser.continuous
    assert analyser.rate(24_000_000) == 24_000_000
    assert analyser.rate(15_000_000) == 12_000_000
    assert analyser.rate(1) == 20_000
    with_range = replace(analyser, rates_hz=(1000, 5_000_000), any_rate=True)
    assert with_range.rate(24_000_000) == 5_000_000


def test_what_cannot_cover_a_rally_is_warned_of():
    analyser = sigrok.parse_show(sigrok.parse_scan(SCAN)[1], SHOW)
    good = sigrok.Settings(analyser, 24_000_000, "D0", "D1")
    assert good.warnings(1000, 60) == []
    assert "too slow for a ping of 1 µs" in replace(good, rate_hz=1_000_000).warnings(1000, 60)[0]
    memory = replace(good, analyser=replace(analyser, continuous=False))
    assert "memory of its own" in memory.warnings(1000, 60)[0]
    assert "will not be covered" in replace(good, seconds=30.0).warnings(1000, 60)[0]
    assert "more samples than" in good.warnings(1000, 100_000)[0]


def test_one_that_could_stream_and_does_not_has_a_memory():
    """So libsigrok's drivers of DSLogic and Kingst LA2016 tell it; it got --continuous."""
    off = SHOW.replace("continuous: on, off", "continuous: on, off (current)").replace(
        "    limit_samples: 0 (current)", "    Maximum number of samples: 16777216"
    )
    analyser = sigrok.parse_show(sigrok.parse_scan(SCAN)[1], off)
    assert (analyser.continuous, analyser.samples_max) == (False, 16_777_216)
    on = SHOW.replace("continuous: on, off", "continuous: on (current), off")
    assert sigrok.parse_show(analyser, on).continuous
    # what covers the rally and sees the ping
    assert analyser.covering(1000, 0.5).rate(sigrok.USUAL_HZ) == 24_000_000
    assert analyser.covering(1000, 1.2).rate(sigrok.USUAL_HZ) == 12_000_000
    with pytest.raises(
        UsageError, match=r"holds 16777216 samples: at the 2 MHz .* takes 60 s: use"
    ):
        analyser.covering(1000, 60)
    ranged = replace(analyser, rates_hz=(1000, 100_000_000), any_rate=True)
    assert ranged.covering(1000, 5).rate(sigrok.USUAL_HZ) == 3_355_443
    with pytest.raises(UsageError, match="use fewer --balls, a longer --pulse-us"):
        ranged.covering(1000, 60)
    unknown = replace(analyser, samples_max=None)
    assert unknown.covering(1000, 60) == unknown


@pytest.fixture
def path_of(tmp_path, monkeypatch):
    """Put a program in sigrok-cli's place: for devices that are not here."""

    def put(text):
        stand_in(tmp_path / "sigrok-cli", text)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


def test_the_only_analyser_is_chosen_and_of_several_one_must_be_named(path_of):
    path_of(f"case $* in *--show*) cat <<'X'\n{SHOW}X\n;; *) cat <<'X'\n{SCAN}X\n;; esac")
    with pytest.raises(UsageError, match="several analysers"):
        sigrok.settings()
    one = "\n".join(line for line in SCAN.splitlines() if "rigol" not in line)
    path_of(f"case $* in *--show*) cat <<'X'\n{SHOW}X\n;; *) cat <<'X'\n{one}\nX\n;; esac")
    chosen = sigrok.settings()
    assert (chosen.analyser.spec, chosen.rate_hz) == ("fx2lafw:conn=1.7", 24_000_000)
    assert (chosen.ping, chosen.reply) == ("D0", "D1")
    for asked, words in (
        ({"rate_hz": 10_000_000}, "cannot sample at 10 MHz"),
        ({"ping": "D9"}, "no channel 'D9'"),
        ({"ping": "D1", "reply": "D1"}, "cannot be both"),
    ):
        with pytest.raises(UsageError, match=words):
            sigrok.settings(**asked)


def test_no_program_and_no_analyser_are_told(path_of, monkeypatch):
    path_of("echo nothing found")
    with pytest.raises(BenchError, match="finds no logic analyser: plug one in"):
        sigrok.settings()
    path_of("echo broken >&2; exit 1")
    with pytest.raises(BenchError, match="broken"):
        sigrok.version()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BenchError, match="apt-get install sigrok-cli"):
        sigrok.version()


def test_a_capture_of_the_pattern_generator_is_whole(tmp_path):
    """Real samples of libsigrok's demo driver, through the pipe, into a session that it reads."""
    out = tmp_path / "demo.sr"
    chosen = sigrok.settings("demo", rate_hz=1_000_000, ping="D1", reply="D6")
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
    chosen = sigrok.settings("demo", rate_hz=1_000_000, seconds=0.25)
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
    chosen = sigrok.settings("demo", rate_hz=1_000_000, seconds=seconds)
    path_of(DIES)
    out = tmp_path / "half.sr"
    with capturing(chosen, out) as capture:
        while capture.running:
            time.sleep(0.01)
    assert "stopped by itself (usb gone)" in capture.trouble
    opened = open_capture(out)
    assert list(opened.edges()) == []
    assert opened.end_ticks == capture.samples == 5_000_000


def test_one_that_gives_no_sample_is_told_and_leaves_nothing(tmp_path, path_of):
    chosen = sigrok.settings("demo", rate_hz=1_000_000)
    path_of("echo no permission >&2; exit 1")
    with (
        pytest.raises(BenchError, match="no permission"),
        capturing(chosen, tmp_path / "none.sr"),
    ):
        pass
    assert not (tmp_path / "none.sr").exists()


def test_a_rally_on_a_physical_bench_is_watched(tmp_path):
    """The demo driver stands for an analyser: the capture begins and ends with the rally."""
    plan = plan_of(bench="pi", umpire=True, analyser="demo", balls=100)
    assert warnings(plan) == []
    assert 3 < needed_s(plan) < 10
    with watching(plan, tmp_path) as trouble:
        time.sleep(0.2)
    assert trouble == []
    assert open_capture(tmp_path / "capture.sr").tick_hz == 24_000_000
    nobody = plan_of(bench="pi", balls=100)
    with watching(nobody, tmp_path / "nowhere"):
        pass
    with pytest.raises(UsageError, match="needs --umpire"):
        plan_of(bench="virtual", umpire=True, analyser="demo")


MEMORY = """echo "$*" >> {log}
case $* in
*--show*) printf '%s\\n' 'continuous: on, off (current)' 'samplerate - all:' '  1 MHz' ;;
*--scan*) echo "buffer - Some Analyser with 2 channels: D0 D1" ;;
*"--samples 1000") head -c 1000 /dev/zero ;;
*--samples*) sleep 3; head -c "${{*##*--samples }}" /dev/zero ;;
*) exit 1 ;;
esac"""


def test_an_analyser_that_cannot_stream_samples_for_the_rallys_length(
    tmp_path, path_of, monkeypatch
):
    """A stand-in: nothing comes before its memory is full, which is after the rally's end."""
    log = tmp_path / "log"
    path_of(MEMORY.format(log=log))
    monkeypatch.setattr(acquisition, "FIRST_SAMPLES_S", 0.1)
    asked = {"bench": "pi", "umpire": True, "analyser": "buffer", "pulse_us": 10}
    plan = plan_of(**asked, balls=10)
    assert "does not say how large that is" in warnings(plan)[0]
    with watching(plan, tmp_path) as trouble:
        pass
    assert trouble == []
    samples = round(needed_s(plan) * 1_000_000)
    last = log.read_text().splitlines()[-1]
    assert last.endswith(f"--samples {samples}")
    assert "--continuous" not in log.read_text()
    assert open_capture(tmp_path / "capture.sr").samples == samples
    # a managed target gets ready in a time of its own
    with pytest.raises(UsageError, match=r"cannot stream: its memory would be full before pi-1 is"):
        warnings(plan_of(**asked, target="pi-1"))
    # and by hand somebody must say how long
    with pytest.raises(UsageError, match="say how long to sample: use --seconds"):
        sigrok.settings("buffer")


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


def test_the_decoder_is_installed_for_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("SIGROKDECODE_DIR", raising=False)
    folder = sigrok_decoder.install()
    assert folder == tmp_path / "libsigrokdecode/decoders/tennis"
    assert {path.name for path in folder.iterdir()} >= {"__init__.py", "pd.py"}
    assert sigrok_decoder.install() == folder  # again
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)
    with pytest.raises(Exception, match="is not a folder"):
        sigrok_decoder.install()


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
