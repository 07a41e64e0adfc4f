"""The box itself: what can be written there, what comes out, and why it ended.

Each test runs as root, if the tests do, and as an ordinary user: a box is made differently.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tennis.bench import box, box_group
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError

ORDINARY = 4321  # nobody's number
LIMIT_S = 60.0


def run(code: str, limit_s: float = LIMIT_S, **readable: Path) -> box.Ended:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "answers").write_text("42")
        return box.run(
            ["/usr/bin/python3", "-c", f"import os, sys, time\n{code}"],
            Path(folder),
            ["told", "more"],
            {Path("/") / name: path for name, path in readable.items()},
            {},
            limit_s,
        )


def be_ordinary() -> None:
    os.setgroups([])
    os.setresgid(ORDINARY, ORDINARY, ORDINARY)
    os.setresuid(ORDINARY, ORDINARY, ORDINARY)


def run_as_ordinary(code: str, limit_s: float = LIMIT_S, **readable: Path) -> box.Ended:
    with ProcessPoolExecutor(1, get_context("fork"), be_ordinary) as pool:
        return pool.submit(run, code, limit_s, **readable).result()


@pytest.fixture(params=["root", "ordinary"])
def boxed(request):
    if os.geteuid() == 0:
        return {"root": run, "ordinary": run_as_ordinary}[request.param]
    if request.param == "root":
        pytest.skip("only root makes a box as root does")
    return run


def test_all_that_can_be_written_has_one_size(boxed):
    """Not only the places that somebody thought of: the kernel lists all mounts."""
    ended = boxed("open('/out/told', 'w').write(open('/proc/self/mountinfo').read())")
    assert ended.why == ""
    sizes = {}
    for line in ended.files["told"].decode().splitlines():
        # number, parent, device, root, place, options, - , kind, source, options of the whole
        words, _, rest = line.partition(" - ")
        _, _, device, _, place, options = words.split()[:6]
        kind, _, whole = rest.split()
        nodes = place in {f"/dev/{n}" for n in ("null", "zero", "full", "random", "urandom", "tty")}
        if "ro" in options.split(",") or nodes or kind in {"proc", "devpts"}:  # hold no data
            continue
        assert kind == "tmpfs", line
        sizes[device] = dict(word.partition("=")[::2] for word in whole.split(","))
    (size,) = sizes.values()  # one for all of them
    assert size["size"] == f"{box.ROOM_BYTES >> 10}k"
    assert size["nr_inodes"] == str(box.ROOM_FILES)


def test_nothing_else_can_be_written(boxed):
    ended = boxed(
        "for folder, _, _ in os.walk('/'):\n"
        "    if not folder.startswith(('/proc', '/dev/pts')) and os.access(folder, os.W_OK):\n"
        "        print(folder, file=sys.stderr)\n"
    )
    places = {"/out", "/home", "/home/s", "/home/s/work", "/tmp", "/dev/shm"}  # noqa: S108
    assert set(ended.words.split()) == places


def test_who_fills_every_place_hurts_nobody(boxed, monkeypatch):
    monkeypatch.setattr(box, "ROOM_BYTES", 8 << 20)
    ended = boxed(
        "wrote = 0\n"
        "for place in ('/dev/shm', '/tmp', '/out', '/home/s'):\n"
        "    for number in range(20):\n"
        "        try:\n"
        "            wrote += open(f'{place}/{number}', 'wb', 0).write(bytes(1 << 20))\n"
        "        except OSError:\n"
        "            break\n"
        "print(wrote, file=sys.stderr)\n"
    )
    assert ended.code == 0
    assert 7 << 20 <= int(ended.words) <= 8 << 20


def test_who_makes_files_without_end_hurts_nobody(boxed):
    ended = boxed(f"for number in range({box.ROOM_FILES}): open(f'/tmp/{{number}}', 'w')")
    assert "No space left on device" in ended.why


def test_memory_is_counted_of_all_processes_together(boxed, monkeypatch):
    monkeypatch.setattr(box, "MEMORY_BYTES", 256 << 20)
    ended = boxed(
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        kept = b'x' * (40 << 20)\n"
        "        time.sleep(60)\n"
        "time.sleep(60)"
    )
    assert ended.limit.startswith("it took more than ")
    assert ended.code is None


def test_memory_that_belongs_to_no_process_is_refused(boxed):
    ended = boxed(
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "for call in (lambda: libc.shmget(0, 4096, 0o1600), lambda: libc.msgget(0, 0o1600),\n"
        "             lambda: libc.semget(0, 1, 0o1600), lambda: libc.memfd_create(b'x', 0)):\n"
        "    print(call(), ctypes.get_errno(), file=sys.stderr)\n"
    )
    assert ended.words.split("\n") == [*["-1 38"] * 4, ""]


def test_there_are_no_name_spaces_inside(boxed):
    ended = boxed("os.execvp('unshare', ['unshare', '-Ur', 'true'])")
    assert ended.code == 1
    assert "unshare failed" in ended.why


def test_nothing_that_a_program_says_is_the_hosts_fault_or_a_limit(boxed):
    for words in (
        "bwrap: Creating new namespace failed",
        "unshare: unshare failed",
        "mount: denied",
        '{"over": 1}',
    ):
        told = f"print({words!r}, file=sys.stderr, flush=True); print({words!r}); sys.exit(1)"
        ended = boxed(told)
        assert (ended.code, ended.limit, ended.why) == (1, "", words)
    for code in (124, 125, 126, 127, 137, 152):
        ended = boxed(f"sys.exit({code})")
        assert (ended.code, ended.limit, ended.why) == (code, "", f"exit code {code}")
    assert boxed("os.kill(os.getpid(), 11)").code == 128 + 11


def test_only_files_that_are_asked_for_come_out(boxed, tmp_path):
    ended = boxed("for name in ('told', 'else'): open(f'/out/{name}', 'w').write(name)")
    assert ended.files == {"told": b"told"}
    secret = tmp_path / "secret"
    secret.write_text("the grader's")
    ended = boxed(f"os.symlink({str(secret)!r}, '/out/told'); os.mkfifo('/out/more')")
    assert (ended.why, ended.files) == ("", {})
    ended = boxed("os.mkdir('/out/told'); open('/out/more', 'w'); os.chmod('/out', 0o777)")
    assert ended.files == {"more": b""}


def test_what_comes_out_has_a_limit(boxed):
    half = (box.OUT_BYTES >> 1) + 1
    ended = boxed(
        "for name in ('told', 'more'):\n"
        f"    with open(f'/out/{{name}}', 'w') as file: file.truncate({half})"
    )
    assert ended.limit == "it wrote more than 64 MB that come out"
    assert ended.files == {}


def test_nothing_writes_on_after_the_program_ended(boxed):
    ended = boxed(
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    while True: open('/out/told', 'w').write(str(time.time()))\n"
        "time.sleep(1)"
    )
    assert ended.why == ""
    assert float(ended.files["told"] or time.time()) <= time.time()


@pytest.mark.parametrize(
    "code", ["while True: pass", "import signal\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(60)"]
)
def test_what_does_not_end_is_ended(boxed, code):
    began = time.monotonic()
    ended = boxed(code, 1.0)
    assert (ended.code, ended.limit) == (None, "it did not end within 1 s")
    assert time.monotonic() - began < 20


@pytest.mark.slow
def test_a_grader_that_is_killed_leaves_no_box():
    code = f"import sys; sys.path[:0] = {[str(ROOT)]!r}; from tests.bench.test_box import run; "
    code += "run('time.sleep(300)')"
    grader = subprocess.Popen([sys.executable, "-c", code])

    seen = when_there("time.sleep(300)", grader.pid)
    deadline = time.monotonic() + 60
    os.kill(grader.pid, signal.SIGKILL)
    grader.wait()
    while (left := {n for n in seen if Path("/proc", n).exists()}) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == set()


def when_there(code: str, above: int) -> set[str]:
    """Return the processes of a box that runs a code, and was made below a process."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = set()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_text().split("\0")
                if str(above) in _ancestors(process):
                    found |= {process.name} if code in "".join(words[-2:]) else set()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(code)


def _ancestors(process: Path) -> list[str]:
    found = []
    while process.name not in {"0", "1"}:
        status = (process / "status").read_text()
        parent = status.partition("PPid:\t")[2].partition("\n")[0]
        found.append(parent)
        process = process.with_name(parent)
    return found


# of this process alone: each worker of a test run does the same at the same moment
_NAME = f"tennis-test-{os.getpid()}"
HAS = [box_group._controller_folder(name, _NAME, box_group.PROC) for name in ("cpu", "memory")]
for created in dict.fromkeys(filter(None, HAS)):
    created.rmdir()


@pytest.mark.skipif(os.geteuid() != 0 or None in HAS, reason="no control group can be made here")
def test_a_box_has_a_small_part_of_the_processors_and_an_end_of_memory():
    """Of the kernel itself: the box's first process stands in a group of its own."""
    names = ("cpu.weight", "cpu.shares", "memory.max", "memory.limit_in_bytes")
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(run, "time.sleep(5)")
        limits: set[str] = set()
        while not limits and not ended.done():
            time.sleep(0.05)
            with contextlib.suppress(FileNotFoundError):  # it is being made, or is gone
                folders = groups_of_this_process()
                if len(folders) == len(set(HAS)):
                    files = [folder / name for folder in folders for name in names]
                    limits = {file.read_text().strip() for file in files if file.exists()}
        assert ended.result().why == ""
    most = box.MEMORY_BYTES + box.ROOM_BYTES + box.SLACK_BYTES
    assert str(most) in limits
    assert limits & {str(box_group.WEIGHT), str(box_group.SHARES)}
    assert not any(folder.exists() for folder in folders)


def groups_of_this_process() -> set[Path]:
    """Return the groups with processes of this one's box: other workers have boxes, too."""
    found = set()
    for folder in {path for own in HAS if own for path in own.parent.glob("tennis-box-*")}:
        with contextlib.suppress(OSError):
            inside = (folder / "cgroup.procs").read_text().split()
            above = {parent for number in inside for parent in _ancestors(Path("/proc", number))}
            found |= {folder} if len(inside) > 1 and str(os.getpid()) in above else set()
    return found


@pytest.mark.skipif(os.geteuid() != 0 or None in HAS, reason="no control group can be made here")
def test_memory_that_is_taken_at_once_is_the_hand_ins_fault_and_not_the_machines(monkeypatch):
    """Quicker than it is counted: the kernel ends it, in its own group."""
    monkeypatch.setattr(box, "POLL_S", 60.0)
    monkeypatch.setattr(box, "MEMORY_BYTES", 1 << 27)
    monkeypatch.setattr(box, "ROOM_BYTES", 1 << 24)
    ended = run("kept = b'x' * (1 << 29); time.sleep(50)")
    assert ended.limit == "it took more than 0 GB of memory"


def test_what_failed_while_the_kernel_ended_processes_is_not_the_boxs_fault(tmp_path, monkeypatch):
    """The kernel's count is made up: no test fills this machine's memory."""
    counts = iter([3, 4, 4, 4])
    monkeypatch.setattr(box, "oom_kills", lambda: next(counts))
    words = (["/bin/sh", "-c", "exit 1"], tmp_path, [], {}, {}, 20.0)
    with pytest.raises(BenchError, match=r"ran out of memory meanwhile.*grade fewer"):
        box.run(*words)
    assert box.run(*words).code == 1
