"""Drills on the virtual bench: what the target believed, held against what happened."""

import base64
import gzip
import hashlib
import json
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tennis.explain.replayed import explain
from tennis.kit.errors import RallyError
from tennis.rally import Rally, open_folder
from tennis.rally.folder import CONSOLE
from tennis.rally.in_play import part_path
from tennis.rally.inside import HEADER, MARK, read_inside
from tennis.rally.manifest import Manifest
from tennis.rally.record_file import seal_of
from tennis.rally.statistics.drill import spans_of, summarize_drill
from tests.support.patience import wait_until
from tests.support.shared import made_once
from tests.support.terminal import TENNIS, run

pytestmark = [pytest.mark.virtual]

REPETITIONS = 400


def span_of(rally: Rally, number: int, name: str) -> int:
    """Return what the instrument saw of a repetition: since the one before it, or how long."""
    both = spans_of(rally)
    if name == "periodic":
        return int(both.intervals[1][number - 1])
    return int(both.durations[1][number])


def words(name: str, context: str, **more: str | float) -> list[str]:
    asked = {
        "context": context,
        "period-us": 50,
        "repetitions": REPETITIONS,
        "seed": 7,
        **{key.replace("_", "-"): value for key, value in more.items()},
    }
    options = [text for key, value in asked.items() for text in (f"--{key}", str(value))]
    return ["drill", name, *options]


def play(out: Path, name: str, context: str, **more: str | float):
    done = run(*words(name, context, **more), "--out", out)
    assert done.exit_code == 0, done.output
    return open_folder(out)


@pytest.fixture(scope="module")
def periodic(tmp_path_factory) -> Path:
    """Return a drill whose clock and line agree to some instructions."""

    def make(folder: Path) -> None:
        play(folder / "drill", "periodic", "hrtimer", kernel="rt")

    return made_once(tmp_path_factory, "drill", make) / "drill"


DRILLS = """
periodic user-rt rt, periodic kernel mainline, response kernel rt,
switch user mainline, switch kernel rt, semaphore user-rt rt, mailbox user-rt mainline,
mailbox kernel rt, priority user mainline, priority kernel rt, allocate user-rt rt,
allocate kernel mainline, vmalloc kernel rt
"""


@pytest.mark.cases(
    more=[
        "response*",
        "switch*",
        "mailbox*",
        "priority*",
        "allocate-kernel*",
        "vmalloc*",
        "periodic*",
        "semaphore-user*",
    ]
)
@pytest.mark.parametrize(
    ("name", "context", "kernel"), [drill.split() for drill in DRILLS.split(",")]
)
def test_both_sides_tell_the_same(tmp_path, name, context, kernel):
    _both_sides_agree(play(tmp_path / "d", name, context, kernel=kernel), name)


def _both_sides_agree(drill: Rally, name: str) -> None:
    """Nobody shares a clock; what is between two stamps is code that is counted beside."""
    summary = summarize_drill(drill)
    assert summary.repetitions == REPETITIONS
    assert summary.page_faults == 0
    assert not summary.suspect
    # intervals need no code between the stamps: the ends of the drill are apart by the same
    assert summary.interval_ns is not None
    total_ns = summary.interval_ns.difference.mean * (REPETITIONS - 1)
    assert abs(total_ns) < 15_000
    # of durations the line's edges lie around the clock's readings, or within
    apart = summary.duration_ns.difference.median
    if name == "periodic":
        assert -summary.line_ns - 3 * summary.clock_ns < apart < 0
    elif name == "response":
        assert abs(apart) < summary.clock_ns
    else:
        assert 0 < apart < summary.line_ns + 3 * summary.clock_ns
    assert 0 < summary.loop_ns < summary.clock_ns < summary.line_ns


@pytest.mark.cases(more=["*-kernel"])
@pytest.mark.parametrize(
    ("name", "context"),
    [("periodic", "hrtimer"), ("periodic", "kernel"), ("switch", "kernel"), ("priority", "kernel")],
)
def test_a_hog_is_in_the_latest_repetition(tmp_path, name, context):
    """The known answer: interrupts are off for 100 us, and the thread at work then is as late.

    171 and 3,700 have no common factor: in 3,700 repetitions the holds begin at each point of the
    period, 1 us apart, so some begin inside a repetition of 3 us, whatever the phase of the boot.
    With 171.3 us they leave out up to 20 us.
    """
    rally = play(tmp_path / "d", name, context, load="hog", period_us=171, repetitions=4_000)
    summary = summarize_drill(rally)
    # of repetitions one behind the other, few meet a hold; of periods, each hold makes one late
    explained = explain(rally, worst=3 if name == "periodic" else 1)
    assert explained.story.noun == "repetition"
    for story in explained.stories:
        assert "hog_fire [hog]" in story.sentence
        # every nanosecond is accounted for, from both sides of the same window
        assert sum(share.ns for share in story.shares()) == story.waited
        began_ns = 171_000 if name == "periodic" else 0
        assert story.waited == span_of(rally, story.ball, name) - began_ns
    if (
        name != "periodic"
    ):  # a thread that sleeps meanwhile is late with the next; this one was at work
        assert 60_000 < summary.duration_ns.inside.max < 125_000
        assert 60_000 < summary.duration_ns.outside.max < 125_000
        return
    assert summary.interval_ns is not None
    for side in (summary.interval_ns.inside, summary.interval_ns.outside):
        assert 85_000 < side.deviation < 112_000
    late = np.abs(spans_of(rally).intervals[1] - 171_000) > 10_000
    # each late one makes an interval too long, and the next one too short
    assert late.mean() / 2 == pytest.approx(90 / 3700, rel=0.35)


def test_killed_and_gone_on_with(periodic, tmp_path):
    out = tmp_path / "d"
    asked = [*words("periodic", "hrtimer", kernel="rt"), "--out", str(out)]
    process = subprocess.Popen([TENNIS, *asked], stdout=subprocess.DEVNULL)
    journal = part_path(out) / "frames.bin"
    wait_until(lambda: journal.exists() and journal.stat().st_size > 0, process, limit_s=600)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = run("resume", out)
    assert done.exit_code == 0, done.output
    assert open_folder(out).manifest.files == open_folder(periodic).manifest.files


def sealed_again(folder: Path, console: bytes):
    """Return the drill with another console, and a manifest that fits it."""
    (folder / CONSOLE).write_bytes(console)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][CONSOLE] = hashlib.sha256(console).hexdigest()
    manifest["seal"] = seal_of(manifest)
    (folder / "manifest.json").write_bytes(Manifest.model_validate(manifest).sealed_text())
    return open_folder(folder)


def told(raw: bytes) -> bytes:
    """Return a console's lines as the target tells them."""
    packed = base64.b64encode(gzip.compress(raw))
    lines = [MARK + packed[start : start + 76] for start in range(0, len(packed), 76)]
    fact = b"tennis: fact inside_sha256 " + hashlib.sha256(raw).hexdigest().encode()
    return b"\n".join([fact, *lines, b""])


HEAD = (1, REPETITIONS, 0, 0, 0, 1, 1, 1, 0)


def test_a_drill_that_poses_as_a_rally_is_refused(periodic, tmp_path):
    copy = tmp_path / "d"
    shutil.copytree(periodic, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["drill"]
    manifest["seal"] = seal_of(manifest)
    (copy / "manifest.json").write_text(json.dumps(manifest))
    page = tmp_path / "page.html"
    for command in (["stats", copy], ["report", copy, "--out", page]):
        done = run(*command)
        assert (done.exit_code, "is needed with a loop that listens" in done.output) == (1, True), (
            done.output
        )


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "not whole"),
        (HEADER.pack(*HEAD), "400 repetitions are announced, and not there"),
        (HEADER.pack(2, *HEAD[1:]) + bytes(8 * REPETITIONS), "of version 2, this tennis reads 1"),
        (HEADER.pack(1, 3, *HEAD[2:]) + bytes(24), "counted 3, and the instrument saw 400"),
        (bytes(100_000_000), "are not whole"),
    ],
    ids=["empty", "short", "newer", "fewer", "bomb"],
)
def test_damaged_times_are_refused(periodic, tmp_path, raw, said):
    copy = tmp_path / "d"
    shutil.copytree(periodic, copy)
    with pytest.raises(RallyError, match=said):
        read_inside(sealed_again(copy, told(raw)))


def test_a_replay_finds_times_that_the_target_never_told(periodic, tmp_path):
    """A forger who seals a folder again can write times that fit: here a tenth of each."""
    copy = tmp_path / "d"
    shutil.copytree(periodic, copy)
    before = (copy / CONSOLE).read_bytes()
    lines = before.splitlines(keepends=True)
    raw = gzip.decompress(base64.b64decode(b"".join(x[len(MARK) :] for x in lines if MARK in x)))
    times = np.frombuffer(raw, "<u4", offset=HEADER.size) // 10
    forged = told(raw[: HEADER.size] + times.astype("<u4").tobytes())
    kept = [x for x in lines if MARK not in x and b"fact inside_sha256" not in x]
    rally = sealed_again(copy, b"".join(kept) + forged)
    assert read_inside(rally).duration_ns.max() == times[1::2].max()
    done = run("check", copy)
    assert done.exit_code == 1
    assert "does not repeat: its console.log differs from byte" in done.output


@pytest.mark.more
def test_the_brickwall_listens_as_well(tmp_path):
    """A second opinion: the real firmware on an emulated Pico, of the same target."""
    out = tmp_path / "d"
    asked = words("periodic", "kernel", repetitions=300, period_us=200)
    done = run(*asked, "--instrument", "pico", "--out", out)
    assert done.exit_code == 0, done.output
    rally = open_folder(out)
    assert rally.manifest.instrument.kind == "brickwall"
    assert rally.tick_hz == 125_000_000
    inside, outside = spans_of(rally).intervals
    # a tick of 8 ns at each end, and the target's clock has steps of 16
    assert np.abs(outside - inside).max() <= 40
    assert summarize_drill(rally).page_faults == 0
