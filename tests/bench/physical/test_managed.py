"""Rallies on a target that is managed over SSH, and how all of it is undone.

A real OpenSSH server and real loads on this machine; the instrument is a fake, and so is what
would change the kernel (tests/support/mock_target.py), which the names of the tests say.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tennis.bench import loads
from tennis.bench.fleet import state
from tennis.bench.patience import Patience
from tennis.bench.physical import differences
from tennis.bench.physical.managed import PiBench
from tennis.bench.targets import agent_session, snapshot
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, TennisError
from tennis.kit.log import listening
from tennis.play.progress import Progress
from tennis.play.rally import NothingPlayedError, Observer, Watch, play, resume
from tennis.rally import Rally, open_rally
from tennis.rally.manifest import OnProcessor
from tennis.report.pages.rally import _report
from tests.support.fake_brickwall import FakeBrickwall
from tests.support.mock_target import MockTarget, running
from tests.support.plans import plan_of
from tests.support.processes import run_to_end, stand_in
from tests.support.sshd import HOST, Sshd

pytestmark = pytest.mark.slow

TENNIS_WITH_LOADS = (
    "import sys; from pathlib import Path\n"
    "from tennis.bench import loads; loads.FOLDER = Path(sys.argv.pop(1))\n"
    "from tennis.cli import main; main()"
)
MANY = 100_000  # balls of a rally that something ends


def _nothing(progress: Progress) -> None:
    """Look on."""


class Bench:
    """A mock target behind a real SSH server, a fake Brickwall, a load that can be recognised."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.target = MockTarget(folder)
        self.sshd = Sshd(folder, self.target.programs, self.target.environment)
        self.brickwall = FakeBrickwall()
        self.word = f"load-{uuid.uuid4().hex}"
        self.sleep = f"exec sh -c 'sleep 1000; : {self.word}'"  # a process that can be recognised
        self.said: list[str] = []
        self.patience = Patience(target_alive_every_s=0.2)
        monkeypatch.setenv("TENNIS_SSH_CONFIG", str(self.sshd.config))
        monkeypatch.setattr(loads, "FOLDER", folder / "loads")
        shutil.copytree(loads.ROOT / "loads" / "idle", folder / "loads" / "idle")
        for name in ("start", "health"):
            shutil.copy(loads.ROOT / "loads" / name, folder / "loads" / name)
        self.load("busy", self.sleep, "echo tennis: health pulse 60 1/s")

    def load(self, name: str, start: str, health: str = "", more: str = "") -> None:
        folder = self.folder / "loads" / name
        folder.mkdir()
        text = f'title = "{name}"\nabout = "x"\nsource = "test"\ncycle_us = 0\n{more}'
        (folder / "load.toml").write_text(text)
        for script, content in (("start", start), ("health", health)):
            if content:
                stand_in(folder / script, content)

    def play(self, name: str = "r", *, observe: Observer = _nothing, **asked: object) -> Rally:
        stop = asked.pop("stop", lambda: False)
        options = {"load": "busy", "balls": 500, "priorities": "chrt", **asked}
        if options["balls"] == MANY:
            self.brickwall.balls_a_second = 2000
        plan = plan_of(bench="pi", port=self.brickwall.port, target=HOST, **options)
        return play(self.pi(), plan, self.folder / name, Watch(observe, stop))

    def command(self, load: str, balls: int = 1000, **popen: Any) -> subprocess.Popen[str]:
        """Start the whole command, which plays to the folder ``r``."""
        words = ["rally", "--bench", "pi", "--target", HOST, "--port", self.brickwall.port]
        words += ["--load", load, "--balls", str(balls), "--out", str(self.folder / "r")]
        command = [sys.executable, "-c", TENNIS_WITH_LOADS, str(loads.FOLDER), *words]
        return subprocess.Popen(command, **popen)

    def pi(self) -> PiBench:
        """Return the bench under test, with this mock's patience."""
        return PiBench(HOST, self.brickwall.port, patience=self.patience)

    def said_of(self, words: str) -> list[str]:
        return [line for line in self.said if words in line]

    def await_undone(self, timeout_s: float = 60, *, was_loaded: bool = True) -> None:
        """Wait until the target is as it was: no module, no load, no folder.

        Where nothing was loaded, nothing would show.
        """
        assert was_loaded == any(line.startswith("modprobe racquet") for line in self.target.log)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and (
            self.target.loaded or running(self.word) or self.left
        ):
            time.sleep(0.1)
        assert (self.target.loaded, running(self.word), self.left) == ([], [], [])

    @property
    def left(self) -> list[str]:
        """Return the folders of this bench's rallies that are left on the target."""
        found = []
        for path in Path(agent_session.PLACE).glob("tennis-*/load/*/start"):
            with contextlib.suppress(OSError):
                if self.word in path.read_text():
                    found.append(str(path))
        return found

    def close(self) -> None:
        self.sshd.close()
        self.brickwall.close()


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "data"))
    made = Bench(tmp_path, monkeypatch)
    with listening(made.said.append):
        yield made
    made.close()


def faults(rally: Rally) -> list[str]:
    return [fault.code for fault in rally.manifest.faults]


def at(balls: int, do: Callable[[], object]) -> Observer:
    """Return an observer that does something once, when so many balls were played."""
    done = []

    def observe(progress: Progress) -> None:
        if progress.balls >= balls and not done:
            done.append(do())

    return observe


def test_a_rally_on_a_mock_target(bench):
    seen: dict[str, object] = {}

    def look(progress: Progress) -> None:
        if progress.balls and not seen:
            seen.update(modules=bench.target.loaded, load=len(running(bench.word)))

    rally = bench.play(observe=look)
    assert seen == {"modules": ["racquet"], "load": seen["load"]}
    assert seen["load"]
    bench.await_undone()

    manifest = rally.manifest
    assert (rally.balls, manifest.ended, manifest.faults) == (500, "complete", [])
    assert manifest.target.managed == "managed by tennis over SSH"
    assert manifest.target.release == os.uname().release
    assert manifest.target.module == "racquet"
    assert len(manifest.target.module_sha256) == 64
    assert manifest.target.priorities == "chrt"
    assert [(h.name, h.start, h.end) for h in manifest.load.health] == [("pulse", 60, 60)]
    assert {"target-before.txt", "target-after.txt", "console.log"} <= manifest.files.keys()
    before = snapshot.read(rally.file("target-before.txt").read_text())
    assert before.line("release") == os.uname().release
    assert before.config
    assert not snapshot.read(rally.file("target-after.txt").read_text()).config
    what = [event["what"] for event in rally.events]
    assert {"racquet", "unsound", "load_health"} <= set(what)
    assert any(line.startswith("unsound: ") for line in bench.said)  # this machine is no bench

    assert "managed by tennis over SSH" in _report([rally])

    log = bench.target.log
    assert "modprobe racquet bottom_half=tasklet" in log
    assert "rmmod racquet" in log
    fifo = [line for line in log if line.startswith("chrt -f -p 99")]
    other = [line for line in log if line.startswith("chrt -o -p 0")]
    assert [line.split()[-1] for line in fifo] == [line.split()[-1] for line in other]
    assert open_rally(rally.path).balls == 500


def test_interrupt_and_load_are_pinned_and_let_go(bench):
    """Real: the load's CPUs. Mocked: the interrupt's, which the Racquet moves when it is loaded."""
    seen: list[object] = []
    bench.brickwall.pinged = lambda: bench.target.interrupts([0, 12])

    def look() -> None:
        bench.target.interrupts([0, 612])
        seen.append({tuple(os.sched_getaffinity(pid)) for pid in running(bench.word)})

    rally = bench.play(interrupt_cpu=1, load_cpus="0", observe=at(100, look))
    bench.await_undone()
    assert seen == [{(0,)}]
    assert "modprobe racquet bottom_half=tasklet interrupt_cpu=1" in bench.target.log
    manifest = rally.manifest
    assert (manifest.target.interrupt_cpu, manifest.load.cpus, manifest.faults) == (1, "0", [])
    # with the 12 before the first ball; who gave the replies, and who was at work, nobody counts
    assert manifest.counts.where == [OnProcessor(processor=1, pings=612, replies=None, busy=None)]


@pytest.mark.parametrize(
    ("pings", "words"),
    [
        ([12, 0], r"put its interrupt on CPU 1, and pings came elsewhere: 12 to CPU 0;"),
        ([1, 11], r"pings came elsewhere: 11 to CPU 1, 1 to CPU 0;"),
        ([0, 0], r"no ping came to the Racquet.*check the ping wire.*\(no_ping\)"),
    ],
)
def test_pings_that_do_not_come_where_they_should_are_seen_before_the_first_ball(
    bench, pings, words
):
    """The counts of an earlier rally on the right processor prove nothing."""
    bench.target.interrupts([0, 90_000])
    bench.brickwall.pinged = lambda: bench.target.interrupts([pings[0], 90_000 + pings[1]])
    with pytest.raises(BenchError, match=words):
        bench.play(interrupt_cpu=1)
    assert "play" not in bench.brickwall.said
    bench.await_undone()
    assert not (bench.folder / "r.part").exists()


def says(name: str, text: str = "") -> Callable[[Bench], None]:
    return lambda bench: bench.target.write(name, text)


ANSWER = {"program": ROOT / "target/programs/answer.c"}
NEEDS_VIRTUAL = "with --program needs --bench virtual: on a"
ONE_CPU = "all of its pings come to processor 0: leave --interrupt"
# what is prepared and asked, and what is said before a Racquet is loaded, or behind it
EARLY: list[tuple[Callable[[Bench], object], dict[str, object], str]] = [
    (bool, {"kernel": "mine"}, "--kernel mine with --target: use mainline, rt, evl, cobalt"),
    (bool, {"command_line": "rcu_nocbs=77"}, r"booted without rcu_nocbs=77: it has .*cmdline"),
    # nothing there would do it: a manifest would say what nobody did
    (bool, ANSWER | {"interrupt_cpu": 1}, f"--interrupt-cpu {NEEDS_VIRTUAL}"),
    (says("device-tree/model", "Raspberry Pi 3 Model B Rev 1.2"), {"interrupt_cpu": 3}, ONE_CPU),
    (says("no-module"), {}, "there is no racquet for the kernel"),
    (says("vermagic", "5.4.0 SMP"), {}, r"built for the kernel 5\.4\.0, not for .* that runs"),
    # it would look for the lock elsewhere, and give the bench away meanwhile
    (says("tennis-bench", "RALLY = run/lock/tennis-rally\n"), {}, "run tennis benches restore"),
    (
        lambda bench: bench.load("big", "exec sleep 1000", more='packages = ["sh", "stress"]'),
        {"load": "big"},
        r"lacks what the load big needs: .*apt-get install stress",
    ),
    (lambda bench: bench.sshd.stop(), {}, "nobody answers on its SSH port"),
]
LATE: list[tuple[Callable[[Bench], object], dict[str, object], str]] = [
    (bool, {"load_cpus": "4000"}, r"before the first ball: taskset: .*\(load_died\)"),
    (
        lambda bench: bench.load("lazy", bench.sleep, "echo nothing moves >&2; exit 1"),
        {"load": "lazy"},
        r"before the first ball: nothing moves \(load_died\)",
    ),
    (says("no-lines"), {}, "racquet has no lines: put the overlay in"),
]


@pytest.mark.parametrize(("prepare", "asked", "words"), EARLY + LATE)
def test_what_is_refused_leaves_a_mock_target_as_it_was(bench, prepare, asked, words):
    prepare(bench)
    with pytest.raises(TennisError, match=words):
        bench.play(**asked)
    bench.await_undone(was_loaded=(prepare, asked, words) in LATE)
    assert not (bench.folder / "r.part").exists()


def test_a_network_that_is_silent_in_mid_rally_on_a_mock_target(bench):
    """Nothing says that the line is dead: both sides find out by themselves."""
    bench.patience = Patience(
        alive_every_s=1, alive_times=2, target_alive_every_s=0.2, target_silent_s=3
    )
    rally = bench.play(observe=at(300, lambda: bench.sshd.cut(signal.SIGSTOP)), balls=MANY)
    assert faults(rally)[0] == "target_lost"
    bench.await_undone()
    bench.sshd.cut()  # a stopped process does not end otherwise


@pytest.fixture
def a_task(tmp_path):
    """Let a task be found that has a priority: a container shows none of the kernel's threads."""
    program = tmp_path / "racquet"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "1000"]) as task:
        yield
        task.kill()


@pytest.mark.usefixtures("a_task")
@pytest.mark.parametrize(
    ("doing", "hangs"),
    [
        ("copying to bench", "tar"),
        ("checking that the load loads", "health"),
        ("starting the load", ""),
        ("setting priorities", "chrt"),
    ],
)
def test_an_interrupt_while_a_mock_target_is_set_up(bench, doing, hangs):
    """The first one: it stops at once, and everything so far is undone."""
    bench.load("slow", bench.sleep, "exec sleep 100" if hangs == "health" else "")
    if hangs == "tar":
        bench.target.program("tar", "exec sleep 100")
    if hangs == "chrt":
        chrt = bench.target.programs / "chrt"
        chrt.write_text(f"#!/bin/sh\nsleep 1\n{chrt.read_text()}")
    asked: list[float] = []
    seen = []

    def observe(progress: Progress) -> None:
        seen.append(progress.doing)
        if progress.doing == doing and not asked:
            asked.append(time.monotonic())

    with pytest.raises(NothingPlayedError, match="interrupted before the first ball"):
        bench.play(load="slow", observe=observe, stop=lambda: bool(asked), balls=MANY)
    assert time.monotonic() - asked[0] < 15
    assert not (bench.folder / "r.part").exists()
    bench.await_undone(was_loaded=hangs in {"health", "chrt"})
    assert bench.said_of("not undone") == []


def test_a_pico_that_is_unplugged_on_a_mock_target(bench):
    bench.patience = Patience(target_alive_every_s=0.2, reconnect_s=2.0)
    with pytest.raises(
        BenchError, match=r"did not come back in 2 s; nothing is lost: continue with"
    ):
        bench.play(observe=at(300, bench.brickwall.unplug), balls=4000)
    bench.await_undone()
    bench.brickwall.plug_in()
    assert resume(bench.pi(), bench.folder / "r", Watch()).balls == 4000
    bench.await_undone()


def test_a_target_that_is_rebooted_in_mid_rally_on_a_mock_target(bench):
    """As systemd does it: it says that it is stopping, and ends all sessions with SIGTERM."""
    bench.target.program("systemctl", "echo stopping\nexit 1")

    def stop() -> None:
        (script,) = bench.left
        for pid in running(f"bash {Path(script).parents[2]}/agent"):
            # not ssh, which has these words, too
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"bash"):
                os.kill(pid, signal.SIGTERM)

    rally = bench.play(observe=at(300, stop), balls=MANY)
    assert faults(rally) == ["target_stops"]
    assert "reboots the target, or switches it off" in rally.manifest.faults[0].message
    bench.await_undone()


def test_what_a_loss_of_power_left_behind_is_removed_on_a_mock_target(bench):
    old = Path(agent_session.PLACE) / f"tennis-{uuid.uuid4().hex[:16]}"
    fresh = Path(agent_session.PLACE) / f"tennis-{uuid.uuid4().hex[:16]}"
    try:
        for folder in (old, fresh):
            folder.mkdir()
        os.utime(old, (0, time.time() - 7200))
        bench.play()
        assert not old.exists()
        assert fresh.exists()  # another host may be copying into it
    finally:
        for folder in (old, fresh):
            shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes what another login made")
def test_what_another_login_left_on_a_mock_target_is_neither_removed_nor_followed(bench, tmp_path):
    """Folders that look like those of rallies; a link where a load reports."""
    nobody = 65534
    folder, link = (Path(agent_session.PLACE) / f"tennis-{uuid.uuid4().hex[:16]}" for _ in range(2))
    kept, aimed_at = folder / "kept", tmp_path / "roots"
    report = bench.target.report
    try:
        folder.mkdir()
        kept.touch()
        aimed_at.touch()
        link.symlink_to(aimed_at)
        report.symlink_to(aimed_at)
        for path in (folder, kept, link, report):
            os.chown(path, nobody, nobody, follow_symlinks=False)
            os.utime(path, (0, time.time() - 7200), follow_symlinks=False)
        assert faults(bench.play()) == []
        assert kept.exists()
        assert link.is_symlink()
        assert aimed_at.exists()
        assert not report.is_symlink()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        link.unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["ksoftirqd/0", "irq/55-racquet", "drill"])
def test_a_program_that_calls_itself_a_thread_of_the_kernel_is_none(name):
    """A student's would get a real-time priority from root, above all else of the target."""
    pretend = ["sh", "-c", f"printf {name} > /proc/$$/comm; echo; read -r forever"]
    text = agent_session.SCRIPT.read_text()
    functions = re.search(r"^pids_named\(\).*?^}$", text, re.MULTILINE | re.DOTALL)
    setting = re.search(r"^kernel_thread=.*$", text, re.MULTILINE)
    assert functions
    script = f"set -u\n{setting[0] if setting else ''}\n{functions[0]}\npids_named '{name}'"
    with subprocess.Popen(pretend, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        found = [
            run_to_end(
                ["bash", "-c", script], env={**os.environ, "TENNIS_KERNEL_THREAD": mask}, check=True
            ).stdout.split()
            for mask in ("", "-1")
        ]
        program.kill()
    assert str(program.pid) not in found[0]
    assert str(program.pid) in found[1]


def test_a_host_that_is_killed_leaves_nothing_on_a_mock_target(bench, tmp_path):
    """kill -9: nobody is left to say anything. The rally goes on later."""
    bench.load("both", bench.sleep, more=f"host = 'sleep 1000; : {bench.word}'\n")
    bench.brickwall.balls_a_second = 500
    host = bench.command("both", balls=4000)
    journal = tmp_path / "r.part" / "frames.bin"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (journal.exists() and journal.stat().st_size > 5000):
        time.sleep(0.1)
    assert bench.target.loaded == ["racquet"]
    host.kill()
    host.wait()
    bench.await_undone()
    bench.brickwall.balls_a_second = 1e9
    # the folder of the load's other end is left: what somebody puts there is not run
    planted = tmp_path / "r.part" / "peer" / "bin" / "sleep"
    stand_in(planted, f"touch {tmp_path / 'ran'}\nexec /bin/sleep $1")
    rally = resume(bench.pi(), tmp_path / "r", Watch())
    assert (rally.balls, rally.manifest.ended) == (4000, "complete")
    assert not (tmp_path / "ran").exists()
    bench.await_undone()


def test_a_load_that_dies_in_mid_rally_on_a_mock_target(bench):
    def kill() -> None:
        for pid in running(bench.word):
            os.kill(pid, signal.SIGKILL)

    rally = bench.play(observe=at(300, kill), balls=MANY)
    assert (rally.manifest.ended, faults(rally)) == ("fault", ["load_died"]), rally.manifest.faults
    assert "during the rally" in rally.manifest.faults[0].message
    bench.await_undone()


def test_a_load_with_another_end_on_a_mock_target(bench):
    """The host sends files to the target by scp: a real one, to the rally's own folder."""
    command = "echo zeroes > f; while scp -q f root@{target}:.; do sleep 0.1; done"
    arrives = "for n in $(seq 60); do ls ../f >&2 || ls f >&2 && exit; sleep 1; done; exit 1"
    bench.load("net", "exec sleep 1000", arrives, f"host = '{command}'\n")
    rally = bench.play(load="net")
    assert faults(rally) == []
    assert "from the network: echo zeroes" in rally.manifest.load.command
    assert not (rally.path.parent / "r.part").exists()


def test_two_rallies_at_once_on_a_mock_target(bench):
    def another() -> None:
        second = Bench.__new__(Bench)
        second.__dict__.update(bench.__dict__)
        second.brickwall = FakeBrickwall()
        try:
            with pytest.raises(BenchError, match=r"another rally is being played .*\(busy\)"):
                second.play("second")
        finally:
            second.brickwall.close()

    rally = bench.play(observe=at(100, another), balls=4000)
    assert (rally.balls, faults(rally)) == (4000, [])
    bench.await_undone()
    lock = Path(bench.target.environment["TENNIS_LOCK"])  # nobody else may open it, and so take it
    assert lock.stat().st_mode & 0o777 == 0o600
    assert lock.parent.stat().st_mode & 0o777 == 0o711


BEFORE = "= governor\n cpu0/x performance\n= tracer\n nop\n= throttled\n throttled=0x20000\n= end\n"


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", []),
        ("performance", "schedutil", ["governor_changed"]),
        ("0x20000", "0x30000", ["throttled"]),
        ("0x20000", "0x20001", ["throttled"]),
        ("0x20000", "0x20002", ["throttled"]),  # again
        ("0x20000", "0x20000", []),  # it was so before
        ("nop", "function", ["tracer_changed"]),
    ],
)
def test_what_changed_during_a_rally_is_a_fault(old, new, codes):
    before, after = snapshot.read(BEFORE), snapshot.read(BEFORE.replace(old, new))
    assert [fault.code for fault in differences.changes(before, after)] == codes
    assert list(differences.changes(before, None)) == []


def test_a_running_kernels_settings_are_recorded_on_a_mock_target(bench):
    """The active model of PREEMPT_DYNAMIC, changed through debugfs, stood nowhere."""
    bench.target.write("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n")
    rally = bench.play()
    assert not faults(rally)
    assert rally.manifest.target.kernel_settings["preempt"] == "full"
    assert rally.manifest.target.kernel_settings["kernel/timer_migration"] in {"0", "1"}
    assert "preempt full" in _report([open_rally(rally.path)])


def test_somebody_who_was_faster_gets_the_mock_target(bench, monkeypatch):
    """Leased between the first look and the rally: seen before the first ball, and all is undone.

    A stand-in for tennis-bench, which must answer otherwise just then.
    """
    keeper = bench.folder / "tennis-bench"
    lease = '{"holder":"red","since":1,"expires":4000000000}'
    stand_in(
        keeper,
        f"lease=null\n[ ! -d {bench.target.state}/sys/module/racquet ] || "
        f"lease='{lease}'\n"
        'echo "{\\"release\\":\\"x\\",\\"now\\":$(date +%s),\\"lease\\":$lease}"',
    )
    monkeypatch.setattr(state, "PROGRAM", str(keeper))
    with pytest.raises(BenchError, match="bench is held by red for"):
        bench.play()
    assert "modprobe racquet bottom_half=tasklet" in bench.target.log
    bench.await_undone()
    assert not (bench.folder / "r.part").exists()
