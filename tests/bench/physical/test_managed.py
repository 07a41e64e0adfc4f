# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Rallies on a target that is managed over SSH, and how all of it is undone.

A real OpenSSH server and real loads on this machine; the instrument is a fake, and so is what
would change the kernel (tests/support/mock_target.py), which the names of the tests say.
"""

import contextlib
import hashlib
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

from tennis import wire
from tennis.bench import loads
from tennis.bench.fleet import state
from tennis.bench.patience import Patience
from tennis.bench.physical import differences, managed
from tennis.bench.physical.managed import PiBench
from tennis.bench.targets import agent_session, snapshot
from tennis.checkout import ROOT
from tennis.errors import BenchError, DiskFullError, TennisError
from tennis.log import listening
from tennis.pages.rally import report
from tennis.play.doctor.target import examine_target
from tennis.play.progress import Progress
from tennis.play.rally import NothingPlayedError, Observer, Watch, play, resume
from tennis.rally import Rally, open_rally
from tennis.rally.folder import AFTER, CONSOLE, JOURNAL
from tennis.rally.journal import Journal
from tennis.rally.manifest import OnProcessor
from tests.support.emulated_pico import EmulatedPico, respond
from tests.support.fake_brickwall import FakeBrickwall
from tests.support.mock_target import MockTarget, running
from tests.support.plans import plan_of
from tests.support.processes import run_to_end, stand_in
from tests.support.sshd import HOST, Sshd
from tests.support.ticks import interrupt_ticks

TENNIS = str(Path(sys.executable).with_name("tennis"))
TENNIS_WITH_LOADS = (
    "import sys; from pathlib import Path\n"
    "from tennis.bench import loads; loads.FOLDER = Path(sys.argv.pop(1))\n"
    "from tennis.cli import main; main()"
)
MANY = 100_000  # balls of a rally that something ends


def _nothing(progress: Progress) -> None:
    """Look on."""


class Bench:
    """A mock target behind a real SSH server, a fake Brickwall, a load that can be told apart."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.target = MockTarget(folder)
        self.sshd = Sshd(folder, self.target.programs, self.target.environment)
        self.brickwall = FakeBrickwall()
        self.word = f"load-{uuid.uuid4().hex}"
        self.sleep = f"exec sh -c 'sleep 1000; : {self.word}'"  # a process that can be told apart
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

    assert "managed by tennis over SSH" in report([rally])

    log = bench.target.log
    assert "modprobe racquet bottom_half=tasklet" in log
    assert "rmmod racquet" in log
    fifo = [line for line in log if line.startswith("chrt -f -p 99")]
    other = [line for line in log if line.startswith("chrt -o -p 0")]
    assert [line.split()[-1] for line in fifo] == [line.split()[-1] for line in other]
    assert open_rally(rally.path).balls == 500


def test_a_map_of_priorities_is_set_and_undone(bench):
    rally = bench.play(priorities="ksoftirqd=42")
    bench.await_undone()
    assert rally.manifest.target.priorities == "ksoftirqd=42"
    log = bench.target.log
    assert any(line.startswith("chrt -f -p 42 ") for line in log)
    assert not any(line.startswith("chrt -f -p 99") for line in log)
    assert any(line.startswith("chrt -o -p 0") for line in log)


def test_pings_that_come_to_another_cpu_make_the_rally_suspect(bench):
    """A chained GPIO interrupt has no affinity of its own: priorities were set on CPU 0."""
    rally = bench.play(observe=at(100, lambda: bench.target.interrupts([2, 300])))
    bench.await_undone()
    assert faults(rally) == ["counted_elsewhere"]
    assert "came to CPU 1, and priorities were set on CPU 0" in rally.manifest.faults[0].message


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


@pytest.fixture
def process(bench, monkeypatch):
    """Stand in for racquet-user, which needs /dev/racquet: a real process, which can be pinned."""
    word = f"racquet-user-{uuid.uuid4().hex}"
    program = bench.folder / "racquet-user"
    program.write_text(f"#!/bin/bash\nexec -a {word} sleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setattr(managed.modules, "program", lambda *_: program)
    return word


def test_a_process_is_pinned_and_let_go(bench, process):
    """Mocked: the process, which answers nothing. Real: its CPU."""
    seen: list[object] = []
    look = at(100, lambda: seen.extend(os.sched_getaffinity(pid) for pid in running(process)))
    rally = bench.play(bottom_half="user", bottom_half_cpu=0, observe=look)
    bench.await_undone()
    assert seen == [{0}]
    assert (rally.manifest.target.bottom_half_cpu, faults(rally)) == (0, [])
    assert not running(process)


@pytest.mark.skipif(os.cpu_count() == 1, reason="a process can be moved to another CPU only")
def test_a_process_that_somebody_moves_makes_the_rally_suspect(bench, process):
    move = at(100, lambda: [os.sched_setaffinity(pid, {1}) for pid in running(process)])
    rally = bench.play(bottom_half="user", bottom_half_cpu=0, observe=move)
    assert faults(rally) == ["counted_elsewhere"]
    assert "pinned to CPU 0, and may run on CPU 1 now" in rally.manifest.faults[0].message


@pytest.mark.usefixtures("process")
def test_a_process_on_a_cpu_that_is_not_there_is_not_played(bench):
    with pytest.raises(BenchError, match=r"taskset: .*\(user_died\)"):
        bench.play(bottom_half="user", bottom_half_cpu=4000)
    bench.await_undone()


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


def test_an_isolated_processor_that_sees_no_ping_is_not_played(bench):
    """It was played in silence: the load kept off the processor, and so did the ping."""
    bench.target.isolate("1")
    bench.brickwall.pinged = lambda: bench.target.interrupts([12, 0])
    with pytest.raises(
        BenchError, match="CPU 1 is isolated, and pings came elsewhere: 12 to CPU 0"
    ):
        bench.play(priorities="default")
    assert "play" not in bench.brickwall.said
    bench.await_undone()
    # whoever wants that says so
    bench.target.interrupts([0, 0])
    rally = bench.play(interrupt_cpu=0, priorities="default")
    assert (rally.manifest.target.interrupt_cpu, faults(rally)) == (0, [])


def test_a_board_puts_the_ping_on_its_isolated_processor_by_itself(bench):
    """As provisioning writes it: then nobody says --interrupt-cpu, and the manifest does."""
    bench.target.isolate("1")
    bench.target.write("modprobe.d", "options racquet interrupt_cpu=1\n")
    bench.brickwall.pinged = lambda: bench.target.interrupts([0, 12])
    rally = bench.play(priorities="default")
    assert (rally.manifest.target.interrupt_cpu, faults(rally)) == (1, [])


def test_pings_that_leave_their_processor_make_the_rally_suspect(bench):
    bench.brickwall.pinged = lambda: bench.target.interrupts([0, 12])
    rally = bench.play(interrupt_cpu=1, observe=at(100, lambda: bench.target.interrupts([3, 600])))
    assert faults(rally) == ["counted_elsewhere"]
    assert "600 to CPU 1, 3 to CPU 0" in rally.manifest.faults[0].message
    assert [(one.processor, one.pings) for one in rally.manifest.counts.where] == [(0, 3), (1, 600)]


def test_pings_of_an_earlier_rally_do_not_hide_where_these_come(bench):
    bench.target.interrupts([90_000, 0])
    rally = bench.play(observe=at(100, lambda: bench.target.interrupts([90_000, 300])))
    assert faults(rally) == ["counted_elsewhere"]


def test_a_link_to_the_gpio_controller_is_recorded_and_judged(bench):
    """As a Pi 5's would: where it sleeps between balls, idle looks worse than load."""
    bench.target.put_gpio_behind_pcie("powersave")
    rally = bench.play()
    assert (rally.manifest.target.gpio_link, faults(rally)) == ("may sleep", [])
    assert any("PCIe link to the GPIO controller: may sleep" in line for line in bench.said)
    assert any("may sleep (policy powersave)" in str(event) for event in rally.events)
    wake = at(100, lambda: bench.target.put_gpio_behind_pcie("performance"))
    changed = bench.play("changed", observe=wake)
    assert faults(changed) == ["link_changed"]
    kept = bench.play("awake")
    assert (kept.manifest.target.gpio_link, faults(kept)) == ("awake", [])


def test_a_driver_whose_lock_sleeps_on_preempt_rt_is_not_played(bench, monkeypatch):
    found = bench.pi().target.facts()
    rt = {
        "config": ["CONFIG_PREEMPT_RT=y"],
        "release": ["6.18.3"],
        "gpio": ["gpiochip0: pinctrl-rp1:"],
    }
    told = snapshot.Snapshot({**found.facts, **rt, "rp1_driver": []}, found.text)
    monkeypatch.setattr("tennis.bench.targets.ssh.SshTarget.facts", lambda _: told)
    with pytest.raises(
        BenchError, match="driver pinctrl-rp1 takes a lock in the interrupt that sl"
    ):
        bench.play()
    assert bench.target.loaded == []


@pytest.mark.virtual
def test_an_emulated_pico_plays_with_a_mock_target(bench):
    """The real firmware as the instrument; its wires lead to a script, not to the target."""
    bench.load("idle-here", bench.sleep)
    with EmulatedPico(*respond("answer", rise=1000, width=5000)) as pico:
        plan = plan_of(
            bench="pi",
            port=pico.url,
            target=HOST,
            load="idle-here",
            balls=400,
            gap_min_us=100,
            gap_max_us=200,
            settle_s=0.01,
            timeout_ms=5,
        )
        rally = play(PiBench(HOST, pico.url), plan, bench.folder / "r", Watch())
    assert (rally.balls, rally.misses, faults(rally)) == (400, 0, [])
    assert set(interrupt_ticks(rally)) == {1000}
    assert rally.manifest.instrument.kind == "brickwall"
    assert rally.manifest.target.managed == "managed by tennis over SSH"
    bench.await_undone()


def says(name: str, text: str = "") -> Callable[[Bench], None]:
    return lambda bench: bench.target.write(name, text)


ANSWER = {"program": ROOT / "target/programs/answer.c"}
NEEDS_VIRTUAL = "with --program needs --bench virtual: on a"
ONE_CPU = "all of its pings come to processor 0: leave --interrupt"
# what is prepared and asked, and what is said before a Racquet is loaded, or behind it
EARLY: list[tuple[Callable[[Bench], object], dict[str, object], str]] = [
    (bool, {"load": "nothing"}, "no load 'nothing'"),
    (bool, {"load": "idle", "load_options": {"x": 1}}, "has no option x"),
    (bool, {"kernel": "mine"}, "--kernel mine with --target: use mainline, rt, evl, cobalt"),
    (bool, {"command_line": "rcu_nocbs=77"}, r"booted without rcu_nocbs=77: it has .*cmdline"),
    # nothing there would do it: a manifest would say what nobody did
    (bool, ANSWER | {"interrupt_cpu": 1}, f"--interrupt-cpu {NEEDS_VIRTUAL}"),
    (bool, ANSWER | {"bottom_half_cpu": 1}, f"--bottom-half-cpu {NEEDS_VIRTUAL}"),
    (says("device-tree/model", "Raspberry Pi 3 Model B Rev 1.2"), {"interrupt_cpu": 3}, ONE_CPU),
    (says("device-tree/model", "Raspberry Pi Zero 2 W Rev 1.0"), {"interrupt_cpu": 3}, ONE_CPU),
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
    (says("refuse"), {}, r"racquet: .*Exec format error .*module_did_not_load"),
    (says("no-lines"), {}, "racquet has no lines: put the overlay in"),
    (
        lambda bench: bench.target.interrupts([0] * 9 + [3]),  # this machine has no CPU 9
        {"priorities": "ksoftirqd=42"},
        "there is no thread ksoftirqd on this kernel",
    ),
]


@pytest.mark.parametrize(("prepare", "asked", "words"), EARLY + LATE)
def test_what_is_refused_leaves_a_mock_target_as_it_was(bench, prepare, asked, words):
    prepare(bench)
    with pytest.raises(TennisError, match=words):
        bench.play(**asked)
    bench.await_undone(was_loaded=(prepare, asked, words) in LATE)
    assert not (bench.folder / "r.part").exists()


def test_a_full_disk_leaves_nothing_on_a_mock_target(bench):
    """What was copied of the rally's folder before the disk was full is removed."""
    full = "echo 'tar: x: Cannot write: No space left on device' >&2; exit 2"
    bench.target.program("tar", f'echo "$*" > {bench.target.state}/tar\n/usr/bin/tar "$@"; {full}')
    with pytest.raises(BenchError, match="its disk is full: free some space there"):
        bench.play()
    assert agent_session.PLACE in (bench.target.state / "tar").read_text()
    assert bench.left == []
    assert not (bench.folder / "r.part").exists()


def test_a_rally_that_is_interrupted_is_undone_on_a_mock_target(bench):
    """Ctrl-C: the player asks the session to stop."""
    stop = []
    rally = bench.play(observe=at(300, lambda: stop.append(1)), stop=lambda: bool(stop), balls=MANY)
    assert (rally.manifest.ended, rally.manifest.suspect) == ("interrupted", False)
    assert rally.balls >= 300
    bench.await_undone()


def test_a_second_interrupt_is_undone_on_a_mock_target(bench):
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.play(observe=at(300, interrupt), balls=MANY)
    bench.await_undone()


def test_a_connection_that_is_cut_in_mid_rally_on_a_mock_target(bench):
    rally = bench.play(observe=at(300, bench.sshd.cut), balls=MANY)
    assert rally.manifest.ended == "fault"
    assert faults(rally)[0] == "target_lost"
    assert "connection was lost" in rally.manifest.faults[0].message
    assert 300 <= rally.balls < MANY
    bench.await_undone()


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


def test_an_interrupt_while_a_resumed_rally_is_set_up_keeps_the_rally_on_a_mock_target(bench):
    def lose() -> None:
        raise BenchError("made up")

    with pytest.raises(BenchError, match="made up; nothing is lost"):
        bench.play(observe=at(300, lose), balls=2000)
    bench.await_undone()
    with pytest.raises(NothingPlayedError, match="nothing is lost: continue with `tennis resume"):
        resume(bench.pi(), bench.folder / "r", Watch(stop=lambda: True))
    bench.await_undone()
    assert resume(bench.pi(), bench.folder / "r", Watch()).balls == 2000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_while_a_mock_target_is_set_up(bench, number):
    """The whole command, and what a terminal sends; or kill -9, after which nobody is left."""
    bench.load("slow", bench.sleep, "exec sleep 100")
    host = bench.command("slow", stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (bench.target.loaded and running(bench.word)):
        assert host.poll() is None, host.stderr.read()
        assert time.monotonic() < deadline, "it was never set up"
        time.sleep(0.1)
    began = time.monotonic()
    host.send_signal(number)
    _, said = host.communicate(timeout=60)
    bench.await_undone()
    assert time.monotonic() - began < 20
    if number == signal.SIGKILL:
        return
    assert "interrupted before the first ball: nothing was kept" in said.splitlines()[-1]
    assert host.returncode == 1


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


def test_a_load_that_does_not_start_on_a_mock_target(bench):
    bench.load("broken", "echo xload: cannot execute: Exec format error >&2; exit 126")
    words = r"xload: cannot execute: .*"
    try:
        # on a starved machine it dies when balls are played already
        rally = bench.play(load="broken")
    except BenchError as error:
        assert re.search(rf"before the first ball: {words}\(load_died\)", str(error))
    else:
        assert re.search(rf"during the rally: {words}", rally.manifest.faults[0].message)
        assert rally.manifest.suspect
    bench.await_undone()


@pytest.mark.parametrize(
    ("knows", "top_half"), [(True, "forced"), (True, "explicit"), (False, "forced")]
)
def test_a_threaded_top_half_on_a_mock_target(bench, knows, top_half):
    """An older module ignores the parameter: that must not pass for a rally."""
    modprobe = bench.target.programs / "modprobe"
    if not knows:
        ignored = bench.target.state / "sys" / "module" / "racquet" / "parameters" / "top_half"
        modprobe.write_text(f"{modprobe.read_text()}\nrm -f {ignored}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tennis.bench.flavours.check", lambda *_: None)
        if not knows:
            with pytest.raises(BenchError, match="knows no top_half: provision it again"):
                bench.play(top_half=top_half)
            return
        rally = bench.play(top_half=top_half)
    assert rally.manifest.target.top_half == top_half
    assert f"modprobe racquet bottom_half=tasklet top_half={top_half}" in bench.target.log


def test_a_disk_that_gets_full_in_mid_rally_on_a_mock_target(bench):
    """What cannot be written any more keeps nothing from being undone."""
    bench.load("writer", f"until [ -e {bench.folder}/flag ]; do sleep 0.2; done; exit 1")

    def fill() -> None:
        # the rally's folder takes nothing any more, not even a file of length 0
        for script in Path(agent_session.PLACE).glob("tennis-*/load/writer/start"):
            if str(bench.folder) in script.read_text():
                shutil.rmtree(script.parents[2])
        (bench.folder / "flag").touch()

    bench.target.program("df", "echo x 1 1 0 100% /")
    rally = bench.play(load="writer", observe=at(300, fill), balls=MANY)
    assert faults(rally)[0] == "load_died"
    assert "is full: free some space there" in rally.manifest.faults[0].message
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
def test_what_a_loss_of_power_left_of_the_login_that_copies_is_removed(tmp_path):
    """Who logs in copies the files, and is mostly not root; a third login's stay."""
    pi, student = 64001, 64002
    here, left, others = (tmp_path / f"tennis-{letter * 16}" for letter in "abc")
    for folder, owner in ((here, pi), (left, pi), (others, student)):
        folder.mkdir()
        os.utime(folder, (0, time.time() - 7200))
        os.chown(folder, owner, owner)
    os.utime(here)
    text = agent_session.SCRIPT.read_text()
    line = re.search(r"^find \"\$\{here%/\*\}\".*?[^\\]$", text, re.MULTILINE | re.DOTALL)
    assert line
    subprocess.run(["bash", "-uc", line[0]], env={**os.environ, "here": str(here)}, check=True)
    assert (here.exists(), left.exists(), others.exists()) == (True, False, True)


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


def test_where_a_load_reports_is_roots_before_the_load_starts_on_a_mock_target(bench):
    """Whoever made the file in the last moment would write the figures that root believes."""
    report = bench.target.report
    own = f"[ -f {report} ] && [ -O {report} ] && [ ! -L {report} ] || exit 1"
    bench.load("reports", f"{own}\n{bench.sleep}", "echo tennis: health pulse 60 1/s")
    assert faults(bench.play(load="reports")) == []
    bench.await_undone()
    assert not report.exists()


@pytest.mark.parametrize("made", ["a folder", "a link"])
def test_what_somebody_made_before_a_rally_on_a_mock_target_is_not_used(
    bench, tmp_path, made, monkeypatch
):
    """Root would run what lies there, and somebody else could change it meanwhile."""
    name = uuid.uuid4().hex[:16]
    place, aimed_at = Path(agent_session.PLACE) / f"tennis-{name}", tmp_path / "roots"
    aimed_at.mkdir()
    monkeypatch.setattr(agent_session.secrets, "token_hex", lambda _: name)
    place.mkdir() if made == "a folder" else place.symlink_to(aimed_at)
    try:
        with pytest.raises(BenchError, match="File exists"):
            bench.play()
        assert [*aimed_at.iterdir()] == []
    finally:
        shutil.rmtree(place, ignore_errors=True)
        place.unlink(missing_ok=True)


def test_a_place_of_the_witness_that_somebody_made_on_a_mock_target_is_not_used(bench, monkeypatch):
    """Root's witness would write through what lies there."""
    name = uuid.uuid4().hex[:16]
    place = Path("/dev/shm") / f"tennis-{name}"  # noqa: S108 where the witness keeps what it sees
    monkeypatch.setattr(agent_session.secrets, "token_hex", lambda _: name)
    packages = bench.target.programs / "dpkg-query"
    packages.write_text(packages.read_text() + "echo installed rt-tests\n")
    place.mkdir()
    try:
        with pytest.raises(BenchError, match="is there already: remove it"):
            bench.play(witness="cyclictest")
        assert [*place.iterdir()] == []
    finally:
        shutil.rmtree(place)


def test_words_without_end_are_not_kept_of_a_mock_target(bench, monkeypatch):
    monkeypatch.setattr(agent_session, "LIMIT_BYTES", 100_000)
    bench.load(
        "noisy",
        bench.sleep,
        "head -c 3000000 /dev/zero | tr '\\\\0' x; printf '\\\\033[2J\\\\n'",
    )
    rally = bench.play(load="noisy", balls=200)
    assert rally.balls == 200
    assert len(rally.console()) < 200_000


def test_a_build_for_the_flavour_that_runs_is_taken_on_a_mock_target(bench, monkeypatch):
    flavour = PiBench(HOST).target.facts().flavour
    more = f'programs = ["own"]\nflavours = ["{flavour}"]\ncommand = "own"\n'
    bench.load("tasks", "", f"kill -0 $(cat {bench.folder}/pid)", more)
    monkeypatch.setattr(managed, "INSTALLED", str(bench.folder / "installed"))
    place = bench.folder / "installed" / "tasks" / f"own.{flavour}"
    with pytest.raises(
        BenchError, match=rf"needs own\.{flavour}, .* on bench to {re.escape(str(place))}$"
    ):
        bench.play(load="tasks")

    place.parent.mkdir(parents=True)
    for name, path in (("there", place), ("here", loads.FOLDER / "tasks" / f"own.{flavour}")):
        text = f"echo $$ > {bench.folder}/pid\necho {name} > {bench.folder}/who"
        stand_in(path, f"{text}\n{bench.sleep}")
        rally = bench.play(name, load="tasks")
        assert faults(rally) == []
        assert (bench.folder / "who").read_text() == f"{name}\n"
        known = hashlib.sha256(path.read_bytes()).hexdigest()
        assert rally.manifest.tool.versions["load_builds"] == f"own.{flavour} {known}"
    bench.await_undone()


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


def test_a_load_that_stopped_loading_behind_the_last_ball_on_a_mock_target(bench):
    flag = bench.folder / "flag"
    bench.load("tired", "exec sleep 1000", f"[ ! -e {flag} ] || {{ echo it sleeps >&2; exit 1; }}")
    rally = bench.play(load="tired", observe=at(100, flag.touch))
    assert faults(rally) == ["load_died"], rally.manifest.faults
    assert "behind the last ball: it sleeps" in rally.manifest.faults[0].message
    assert rally.manifest.suspect
    assert rally.balls == 500


@pytest.mark.parametrize("end", [True, False], ids=["with END", "without"])
@pytest.mark.parametrize("lacks", ["fact over_s", "fact healthy"])
def test_what_a_killed_host_did_not_hear_behind_the_last_ball(bench, monkeypatch, end, lacks):
    """Nobody can look again, so the rally is suspect; with END: as Tennis once kept it."""

    def killed(*_: object) -> None:
        raise DiskFullError("no space is left")

    with monkeypatch.context() as patch, pytest.raises(DiskFullError):
        patch.setattr("tennis.play.sealing.seal", killed)
        bench.play()
    part = bench.folder / "r.part"
    console = (part / CONSOLE).read_text()
    (part / CONSOLE).write_text(console.partition(f"tennis: {lacks}")[0])
    if lacks == "fact over_s":
        (part / AFTER).unlink()
    if not end:
        journal = part / JOURNAL
        frames = list(Journal(part, bench.folder / "r").frames())
        assert frames[-1].kind == wire.END
        journal.write_bytes(journal.read_bytes()[: -frames[-1].size])
    rally = resume(bench.pi(), bench.folder / "r", Watch())
    assert (rally.balls, faults(rally), rally.manifest.suspect) == (500, ["not_closed"], True)
    assert "after the last ball: the load's health" in rally.manifest.faults[0].message


def test_a_load_with_another_end_on_a_mock_target(bench):
    """The host sends files to the target by scp: a real one, to the rally's own folder."""
    command = "echo zeroes > f; while scp -q f root@{target}:.; do sleep 0.1; done"
    bench.load(
        "net", "exec sleep 1000", "sleep 2; ls ../f >&2 || ls f >&2", f"host = '{command}'\n"
    )
    rally = bench.play(load="net")
    assert faults(rally) == []
    assert "from the network: echo zeroes" in rally.manifest.load.command
    assert not (rally.path.parent / "r.part").exists()


def test_a_load_whose_other_end_ends_on_a_mock_target(bench):
    bench.load("net", bench.sleep, more="host = 'sleep 3; echo no route >&2; exit 1'\n")
    rally = bench.play(load="net", balls=MANY)
    assert faults(rally) == ["load_died"]
    assert "other end, on this host, ended: no route" in rally.manifest.faults[0].message
    bench.await_undone()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("sys/module/module/parameters/sig_enforce", "Y\n", r"module\.sig_enforce is on"),
        ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n", "is locked down"),
    ],
)
def test_a_kernel_that_takes_no_module_of_ours_on_a_mock_target(bench, file, text, words):
    """Said before anything is brought there; a module that is signed may be taken."""
    bench.target.write(file, text)
    with pytest.raises(BenchError, match=words):
        bench.play()
    assert "modprobe racquet" not in " ".join(bench.target.log)
    bench.target.write("signer", "a key of the bench")
    assert not faults(bench.play("signed"))


def test_another_kernel_runs_on_a_mock_target(bench):
    runs = PiBench(HOST).target.facts().flavour
    other = "rt" if runs == "mainline" else "mainline"
    with pytest.raises(BenchError, match=rf"bench runs {runs} .* with `tennis benches boot bench"):
        bench.play(kernel=other)
    assert bench.play(kernel=runs).manifest.target.kernel == runs


def test_a_racquet_that_was_loaded_is_loaded_again_on_a_mock_target(bench):
    for name, value in (("bottom_half", "workqueue"), ("gpiochip", "(null)"), ("ping_line", "17")):
        bench.target.write(f"sys/module/racquet/parameters/{name}", f"{value}\n")
    bench.play(bottom_half="thread")
    log = [line for line in bench.target.log if "racquet" in line]
    assert log == [
        "rmmod racquet",
        "modprobe racquet bottom_half=thread",
        "rmmod racquet",
        "modprobe racquet bottom_half=workqueue ping_line=17",
    ]


def test_what_cannot_be_undone_is_said_on_a_mock_target(bench):
    rally = bench.play(observe=at(100, lambda: bench.target.write("in-use")))
    assert faults(rally) == ["not_undone"]
    assert "racquet is still loaded: rmmod: ERROR: Module racquet is in use" in (
        rally.manifest.faults[0].message
    )
    (bench.target.state / "in-use").unlink()


@pytest.mark.parametrize(
    "policy",
    [
        ["-o", "-p", "0"],
        ["-b", "-p", "0"],
        ["-i", "-p", "0"],
        ["-r", "-p", "7"],
        ["-d", "-T", "1000000", "-D", "5000000", "-P", "10000000", "-p", "0"],
    ],
    ids=["other", "batch", "idle", "rr", "deadline"],
)
def test_any_policy_is_given_back_on_a_mock_target(bench, policy):
    """Mocked: the interrupt's thread, by a process with its name; real: chrt, for this process."""
    name = ["sh", "-c", "printf irq/9-racquet > /proc/$$/comm; read -r forever"]
    with subprocess.Popen(name, stdin=subprocess.PIPE) as thread:
        subprocess.run(["chrt", *policy, str(thread.pid)], check=True)
        before = scheduling_of(thread.pid)
        chrt = bench.target.programs / "chrt"
        chrt.write_text(
            f'#!/bin/sh\ncase " $* " in *" {thread.pid} "*) exec /usr/bin/chrt "$@" ;; esac\n'
            f"{chrt.read_text()}"
        )
        seen: list[str] = []
        rally = bench.play(
            bottom_half="thread",
            observe=at(100, lambda: seen.append(scheduling_of(thread.pid))),
        )
        bench.await_undone()
        assert scheduling_of(thread.pid) == before
        thread.kill()
    assert faults(rally) == []
    assert "SCHED_FIFO" in seen[0]


def scheduling_of(pid: int) -> str:
    said = subprocess.check_output(["chrt", "-p", str(pid)], text=True)
    return said.replace(f"pid {pid}'s", "")


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


def test_throttling_during_the_rally_makes_it_suspect_on_a_mock_target(bench):
    rally = bench.play(
        observe=at(100, lambda: bench.target.write("throttled", "throttled=0x50000\n"))
    )
    assert faults(rally) == ["throttled"]
    assert "throttled, under-voltage" in rally.manifest.faults[0].message
    assert (rally.manifest.ended, rally.manifest.suspect) == ("complete", True)


def test_an_unsound_target_and_its_kernels_words_are_said_and_kept_on_a_mock_target(bench):
    bench.target.write("throttled", "throttled=0x1\n")
    bench.target.write("dmesg", "[  12.345678] BUG: made up\n[  13.000000] hello\n")
    rally = bench.play()
    assert faults(rally) == []  # it was so from beginning to end
    assert bench.said_of("unsound: power and heat (firmware): now: under")
    assert "power and heat (firmware): now: under-voltage" in report([rally])
    assert any(event.get("text") == "BUG: made up" for event in rally.events)
    assert "hello" in rally.console()
    bench.target.write("throttled", "throttled=0x50000\n")  # before the rally: a note
    rally = bench.play("before")
    assert faults(rally) == []
    assert any("since boot: under-voltage" in str(event) for event in rally.events)


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
    assert "preempt full" in report([open_rally(rally.path)])

    def change() -> None:
        bench.target.write("sys/kernel/debug/sched/preempt", "none (voluntary) full lazy\n")

    other = bench.play("changed", observe=at(100, change))
    assert [fault.message for fault in other.manifest.faults] == [
        "somebody changed preempt, from full to voluntary"
    ]


def test_the_doctor_looks_at_a_mock_target(bench):
    found = {finding.what: finding for finding in examine_target(HOST)}
    assert found["Racquet"].verdict == "good"
    assert found["kernel"].found.startswith(os.uname().release)
    bench.target.write("vermagic", "5.4.0 SMP")
    bench.target.write("throttled", "throttled=0x1")
    found = {finding.what: finding for finding in examine_target(HOST)}
    assert found["Racquet"].verdict == found["power and heat (firmware)"].verdict == "bad"
    assert bench.target.loaded == []


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
