"""Several rallies at once: the same match, which can be stopped, killed, and continued."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tennis.kit.log import listening
from tennis.match.workers import Workers
from tennis.rally import open_rally
from tests.support.mock_target import running
from tests.support.patience import _processor_s, wait_until
from tests.support.small_match import silent, small_match

pytestmark = pytest.mark.virtual

TENNIS = str(Path(sys.executable).with_name("tennis"))
NAME = "sloth-idle-native-task"  # it boots in no time
LIMIT_S = 300.0  # of processor time: 3,000 balls of an idle target take a tenth
match = partial(small_match, "sloth")


def test_workers_play_the_same_match_and_go_on_with_it(tmp_path):
    """Stopped after the first rally, continued, and extended by a boot."""
    said: list[str] = []
    with listening(said.append):
        outcome = match(3).play(tmp_path / "two", silent, lambda: len(said) > 0, Workers(2))
    assert outcome.interrupted
    assert len(outcome.played) >= 1
    with listening(said.append):
        outcome = match(3).play(tmp_path / "two", silent, lambda: False, Workers(2))
    assert not outcome.interrupted
    assert not outcome.bad
    assert len(outcome.kept) + len(outcome.played) == 3
    outcome = match(4).play(tmp_path / "two", silent, lambda: False, Workers(2))
    assert outcome.played == [f"{NAME}-r4"]
    match(2).play(tmp_path / "one", silent, lambda: False)
    for name in (NAME, f"{NAME}-r2"):
        one, two = (open_rally(tmp_path / where / name) for where in ("one", "two"))
        assert one.manifest.files == two.manifest.files
    # the boots are different ones
    first, second = (open_rally(tmp_path / "one" / name) for name in (NAME, f"{NAME}-r2"))
    assert first.manifest.files != second.manifest.files


def begun(tmp_path, **how):
    """Return a match that plays in a group of its own, its words and its folder."""
    (tmp_path / "plan.toml").write_text(
        'kernels = ["sloth"]\nloads = ["idle"]\nballs = 3000\nrepetitions = 3\n'
    )
    out = tmp_path / "m"
    words = [TENNIS, "match", "plan.toml", "--out", str(out), "--workers", "2"]
    process = subprocess.Popen(words, cwd=tmp_path, start_new_session=True, text=True, **how)
    wait_until((out / f"{NAME}.part" / "frames.bin").exists, process)
    return process, words, out


@pytest.mark.more
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_group_is_an_interruption(tmp_path, number):
    """`timeout`, systemd, Slurm and runners send it to all processes of a job at once."""
    process, words, _ = begun(tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.killpg(process.pid, number)
    said, wrong = process.communicate()
    assert wrong == "tennis: interrupted; nothing is lost: the same command plays the rest\n"
    assert "FAILED" not in said
    assert subprocess.run(words, cwd=tmp_path, check=False, capture_output=True).returncode == 0


@pytest.mark.more
def test_workers_of_a_match_that_was_killed_end(tmp_path):
    """kill -9 of the match alone: its workers seal what they play and end; nothing is lost."""
    process, words, out = begun(tmp_path, stderr=subprocess.PIPE)
    os.kill(process.pid, signal.SIGKILL)
    assert "semaphore" not in process.communicate()[1]
    while workers := running(str(out)):
        assert all(_processor_s(pid) < LIMIT_S for pid in workers), "it plays without an end"
        time.sleep(0.2)
    again = subprocess.run([*words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    for name in (NAME, f"{NAME}-r2", f"{NAME}-r3"):
        rally = open_rally(out / name)
        assert (rally.balls, rally.manifest.ended) == (3000, "complete")
