"""A rally survives what happens to it: kill -9, a full disk, Ctrl-C, a damaged journal."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tennis.bench.protocol import Session
from tennis.bench.sloth.bench import SlothBench
from tennis.kit.errors import BenchError, DiskFullError, RallyError
from tennis.play.check import check_rally
from tennis.play.progress import Progress
from tennis.play.rally import Watch, play, resume
from tennis.rally import open_rally
from tennis.rally.plan import Plan
from tests.support.kernel_trees import kernel_tree
from tests.support.patience import end_of, wait_until
from tests.support.plans import plan_of
from tests.support.shared import made_once
from tests.support.synthetic import make_rally
from tests.support.terminal import tennis
from tests.support.ticks import interrupt_ticks
from tests.support.virtual import played

pytestmark = pytest.mark.virtual

TENNIS = [str(Path(sys.executable).with_name("tennis"))]
BALLS = 1600
# a load, for what is looked at behind the last ball; a hog boots in a third of stress's time
PLAN = {"kernel": "rt", "load": "hog", "balls": BALLS, "seed": 3}
WORDS = ["--kernel", "rt", "--load", "hog", "--balls", str(BALLS), "--seed", "3"]
# what the player does with any target: SLOTH boots in no time. So many that it is seen at work.
QUICK_BALLS = 50_000
QUICK = {"kernel": "sloth", "balls": QUICK_BALLS, "seed": 3}
QUICK_WORDS = ["--kernel", "sloth", "--balls", str(QUICK_BALLS), "--seed", "3"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the rally that nobody disturbed."""
    made = made_once(tmp_path_factory, "rally", lambda folder: played(folder / "r", **PLAN))
    return open_rally(made / "r")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Return a rally of SLOTH's that nobody disturbed."""
    made = made_once(tmp_path_factory, "sloth", lambda folder: played(folder / "r", **QUICK))
    return open_rally(made / "r")


def begin(out: Path, size: int = 10_000, words: list[str] = WORDS) -> subprocess.Popen[str]:
    """Start a rally and wait until its journal has ``size`` bytes."""
    process = subprocess.Popen(
        [*TENNIS, "rally", *words, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = out.with_name(out.name + ".part") / "frames.bin"
    wait_until(lambda: journal.exists() and journal.stat().st_size >= size, process)
    return process


def killed(out: Path, words: list[str] = QUICK_WORDS) -> Path:
    """Kill a rally that was begun; return its folder."""
    with begin(out, words=words) as process:
        process.kill()
    return out.with_name(out.name + ".part")


def emulators(part: Path) -> list[int]:
    """Return the processes that have the folder on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(part).encode() in path.read_bytes() and b"qemu" in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.cases(more=["stress"])
@pytest.mark.parametrize("load", ["hog", "stress"])
def test_killed_twice_and_resumed_it_equals_the_undisturbed_one(tmp_path, request, load):
    out = tmp_path / "r"
    if load == "hog":
        whole = request.getfixturevalue("whole")
    else:
        whole = played(tmp_path / "whole", **{**PLAN, "load": load})
    part = killed(out, [load if word == "hog" else word for word in WORDS])
    kept = (part / "frames.bin").stat().st_size
    assert kept >= 10_000
    deadline = time.monotonic() + 120
    while emulators(part):  # no guest outlives its host
        assert time.monotonic() < deadline
        time.sleep(0.05)

    done = tennis("stats", out)
    assert done.returncode == 1
    assert "tennis resume" in done.stderr

    # the frame in flight: half of one at the end
    with (part / "frames.bin").open("ab") as journal:
        journal.write(b"TN\x01\x02\x00\x00")
    again = subprocess.Popen([*TENNIS, "resume", str(out)])
    wait_until(lambda: (part / "frames.bin").stat().st_size >= kept + 3_000, again)
    again.kill()
    again.wait()

    done = tennis("resume", out)
    assert done.returncode == 0, done.stderr
    assert open_rally(out).manifest.files == whole.manifest.files
    assert not part.exists()
    assert "sealed: there is nothing to resume" in tennis("resume", out).stderr


@pytest.mark.cases(more=["linux"])
@pytest.mark.parametrize("kernel", ["sloth", "linux"])
def test_ctrl_c_seals_what_there_is(tmp_path, request, kernel):
    out = tmp_path / "r"
    words, planned = (QUICK_WORDS, QUICK_BALLS) if kernel == "sloth" else (WORDS, BALLS)
    whole = request.getfixturevalue("quick" if kernel == "sloth" else "whole")
    process = begin(out, words=words)
    process.send_signal(signal.SIGINT)
    said, _ = end_of(process)
    assert process.returncode == 0
    assert "interrupted; sealed" in said
    rally = open_rally(out)
    assert (rally.manifest.ended, rally.manifest.suspect) == ("interrupted", False)
    assert 500 < rally.balls < planned
    first = interrupt_ticks(whole)[: rally.balls]
    assert interrupt_ticks(rally) == first
    checked = check_rally(out)
    assert checked.balls == rally.balls
    assert "what came after its last ball" in checked.not_compared[0]
    assert f"to continue: tennis resume {out}\n" in said

    done = tennis("resume", out)
    assert done.returncode == 0, done.stderr
    assert open_rally(out).manifest.files == whole.manifest.files
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_what_was_interrupted_needs_its_journal_to_go_on(tmp_path):
    out = make_rally(tmp_path / "r", balls=40, ended="interrupted", planned=50).path
    done = tennis("resume", out)
    assert done.returncode == 2
    assert "r.part is gone, which is needed to continue" in done.stderr


@pytest.mark.cases(more=["[12]"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_before_the_first_ball_nothing_is_left(tmp_path, number):
    out = tmp_path / "r"
    process = begin(out, size=1)  # the instrument's HELLO: the target boots
    process.send_signal(number)
    _, said = end_of(process)
    assert process.returncode == 1
    assert "interrupted before the first ball: nothing was kept" in said
    assert list(tmp_path.iterdir()) == []


def test_a_second_ctrl_c_ends_at_once(tmp_path, quick):
    out = tmp_path / "r"
    process = begin(out, words=QUICK_WORDS)
    # both wait for it while it is stopped: it cannot be quicker than the second one
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    _, said = end_of(process)
    assert process.returncode == 130
    assert f"tennis resume {out}" in said
    assert tennis("resume", out).returncode == 0
    assert open_rally(out).manifest.files == quick.manifest.files


def test_a_complete_journal_is_sealed_without_a_bench(tmp_path, quick, monkeypatch):
    """The disk was full when sealing: that needs what was recorded, and no kernel any more."""

    def no_space(*_: object) -> None:
        raise DiskFullError("no space is left")

    out = tmp_path / "r"
    with monkeypatch.context() as patch, pytest.raises(DiskFullError):
        patch.setattr("tennis.play.sealing.seal", no_space)
        played(out, **QUICK)
    assert (tmp_path / "r.part" / "frames.bin").stat().st_size > QUICK_BALLS * 16
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("PATH", "/nowhere")
    done = tennis("resume", out)
    assert done.returncode == 0, done.stderr
    rally = open_rally(out)
    assert rally.manifest.files == quick.manifest.files
    assert rally.manifest.target == quick.manifest.target
    assert rally.manifest.tool == quick.manifest.tool


def test_an_emulator_that_is_killed_makes_the_rally_suspect(tmp_path, quick):
    out = tmp_path / "r"
    process = begin(out, words=QUICK_WORDS)
    for number in emulators(tmp_path / "r.part"):
        os.kill(number, signal.SIGKILL)
    _, said = end_of(process)
    assert process.returncode == 1
    assert "the bench ended without a word (bench_ended); kept as suspect" in said
    rally = open_rally(out)
    assert rally.manifest.suspect
    assert interrupt_ticks(rally) == interrupt_ticks(quick)[: rally.balls]


def test_two_players_do_not_share_a_rally(tmp_path):
    out = tmp_path / "r"
    process = begin(out, words=QUICK_WORDS)
    process.send_signal(signal.SIGSTOP)  # beside other work it may be over before the others look
    try:
        done = tennis("resume", out)
        assert done.returncode == 1
        assert "is being played by another process" in done.stderr
        assert "tennis resume" in tennis("rally", "--out", out).stderr
    finally:
        process.kill()
        process.wait()


def test_a_bench_that_changed_is_not_resumed(tmp_path):
    out = tmp_path / "r"
    plan = killed(out) / "plan.json"
    content = json.loads(plan.read_text())
    content["versions"]["qemu"] = "6.0"
    plan.write_text(json.dumps(content))
    done = tennis("resume", out)
    assert done.returncode == 1
    assert "begun with qemu 6.0" in done.stderr
    assert (tmp_path / "r.part" / "frames.bin").exists()

    content["versions"] = {}
    plan.write_text("{}")
    done = tennis("resume", out)
    assert done.returncode == 1
    assert "plan.json is damaged or missing" in done.stderr
    assert "still holds the balls" in done.stderr


def test_a_tree_that_a_folder_names_is_not_built(tmp_path):
    """The rally is somebody else's, and so is the Makefile."""
    tree, ran = kernel_tree(tmp_path / "linux"), tmp_path / "ran"
    (tree / "Makefile").write_text(f"modules:\n\ttouch {ran}\n\tfalse\n")
    part = tmp_path / "r.part"
    part.mkdir()
    plan = plan_of().model_copy(update={"kernel": str(tree), "versions": {"tennis": "1"}})
    (part / "plan.json").write_text(plan.text)
    done = tennis("resume", tmp_path / "r")
    assert (done.returncode, ran.exists()) == (2, False)
    assert f"tennis resume {tmp_path / 'r'} --kernel {tree}`" in done.stderr
    done = tennis("resume", tmp_path / "r", "--kernel", tree)
    assert (done.returncode, ran.exists()) == (1, True)  # so that is what would have been run
    assert "building racquet.c" in done.stderr


def test_a_journal_that_is_not_repeated_is_kept(tmp_path):
    """Another seed in the plan: what is played is not what was played."""
    out = tmp_path / "r"
    part = killed(out)
    before = (part / "frames.bin").read_bytes()
    plan = part / "plan.json"
    content = json.loads(plan.read_text())
    content["protocol"]["seed"] = 4
    plan.write_text(json.dumps(content))
    done = tennis("resume", out)
    assert done.returncode == 1
    assert "does not repeat" in done.stderr
    assert before.startswith((part / "frames.bin").read_bytes())
    assert (part / "frames.bin").stat().st_size > len(before) - 2100


def test_a_file_that_may_not_grow_costs_nothing(tmp_path, quick):
    """What a full disk does to the journal, also where nothing may be mounted: half a frame."""
    out, limits = tmp_path / "r", resource.getrlimit(resource.RLIMIT_FSIZE)

    def quota(progress: Progress) -> None:
        if progress.balls >= 512 and resource.getrlimit(resource.RLIMIT_FSIZE) == limits:
            size = (tmp_path / "r.part" / "frames.bin").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))

    try:
        with pytest.raises(DiskFullError, match=r"tennis resume"):
            play(SlothBench(), plan_of(**QUICK), out, Watch(observe=quota))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not out.exists()
    rally = resume(SlothBench(), out, Watch())
    assert rally.manifest.files == quick.manifest.files


class Removing(SlothBench):
    """Somebody removes the folder just before the target is started, which may fail by it."""

    said = ""

    def start(self, plan: Plan, folder: Path) -> Session:
        shutil.rmtree(folder)
        if self.said:
            raise BenchError(self.said)
        return super().start(plan, folder)


def test_a_folder_that_somebody_removes_is_named_with_the_next_step(tmp_path):
    """The rally that loses it, and the one that is continued just then."""
    out, part = tmp_path / "r", tmp_path / "r.part"
    words = r"r\.part was removed while it was played: begin the rally again"

    def away(_: Progress) -> None:
        shutil.rmtree(part, ignore_errors=True)

    with pytest.raises(RallyError, match=words):
        play(SlothBench(), plan_of(**QUICK), out, Watch(observe=away))
    bench = Removing()
    for bench.said in ("", "QEMU could not open console.log"):
        killed(out)
        with pytest.raises(RallyError, match=words):
            resume(bench, out, Watch())
        assert list(tmp_path.iterdir()) == []
