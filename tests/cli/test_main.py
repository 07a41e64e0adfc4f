"""The program itself: outputs that are full or closed, and unfinished rallies of others."""

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tennis.kit import wire
from tennis.rally.disk import write_whole
from tests.support.plans import plan_of
from tests.support.processes import run_to_end
from tests.support.terminal import TENNIS, tennis

pytestmark = pytest.mark.slow


def program(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the program itself: what it makes of the streams that it is given."""
    settings = {"capture_output": True, "text": True, "timeout": 60, **options}
    return subprocess.run([TENNIS, *map(str, words)], check=False, **settings)


WITHOUT = """
import sys
import time
from tennis.cli import main
missing = sys.argv.pop(1)
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "words", "stage"),
    [
        ("pytest", ["grade", "in", "--lab", "01", "--no-replay"], "--lab"),
        ("jupyterlab", ["lab", "open", "01", "--in", "work"], "--lab"),
        (
            "dask",
            ["match", "plan.toml", "--cluster", "tcp://127.0.0.1:9", "--store", "s"],
            "--cluster",
        ),
        ("serial", ["brickwall", "verify", "--port", "/dev/null"], "setup.sh"),
    ],
)
def test_a_stage_that_is_missing_is_named(tmp_path, module, words, stage):
    """`tennis grade` after `make setup` alone was a defect of tennis."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x.zip").write_bytes(b"")
    (tmp_path / "plan.toml").write_text('kernels = ["sloth"]\nloads = ["idle"]\nballs = 300\n')
    assert tennis("lab", "start", "01", "--as", "Zoe", "--out", tmp_path / "work").returncode == 0
    done = run_to_end([sys.executable, "-c", WITHOUT, module, *words], cwd=tmp_path)
    assert "defect" not in done.stderr
    assert stage in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_kernels_and_no_qemu_here(tmp_path, monkeypatch):
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nowhere")
    done = tennis("rally", "--out", tmp_path / "r")
    assert done.returncode == 1
    assert "tennis kernels fetch mainline" in done.stderr
    done = tennis("doctor")
    assert done.returncode == 1
    assert "qemu-system-aarch64 is not installed" in done.stdout
    assert "run 'make setup'" in done.stdout


def test_an_unfinished_rally_that_somebody_made_up(tmp_path):
    part = tmp_path / "r.part"
    part.mkdir()
    os.mkfifo(part / "plan.json")
    done = tennis("resume", tmp_path / "r")
    assert done.returncode == 1
    assert "plan.json is a link or something else" in done.stderr
    (part / "plan.json").unlink()
    (part / "plan.json").write_text('{"schema_version": 3}')
    assert "newer tennis" in tennis("resume", tmp_path / "r").stderr
    for text in ("[]", "{", "\x00", "{}"):
        (part / "plan.json").write_text(text)
        done = tennis("resume", tmp_path / "r")
        assert done.returncode == 1
        assert "the rally never began" in done.stderr


@pytest.mark.parametrize("name", ["frames.bin", "console.log", "target-before.txt"])
@pytest.mark.parametrize("put", ["link", "dangling link", "fifo", "folder"])
@pytest.mark.usefixtures("in_time")
def test_an_unfinished_rally_that_leads_elsewhere(tmp_path, name, put, typed):
    """Going on would append to the file behind the link, or cut it, or wait for ever."""
    part = tmp_path / "r.part"
    part.mkdir()
    plan = plan_of().model_copy(update={"versions": {"kernel": "another"}})
    (part / "plan.json").write_text(plan.model_dump_json())
    mine = tmp_path / "mine"
    if put == "link":
        mine.write_text("my thesis")
    {
        "link": lambda: (part / name).symlink_to(mine),
        "dangling link": lambda: (part / name).symlink_to(mine),
        "fifo": lambda: os.mkfifo(part / name),
        "folder": (part / name).mkdir,
    }[put]()
    code, _, said = typed("resume", tmp_path / "r")
    assert code == 1
    assert f"{part / name} is a link or something else that tennis does not put" in said
    assert len(said.splitlines()) == 1
    assert mine.exists() == (put == "link")
    assert put != "link" or mine.read_text() == "my thesis"


def test_an_unfinished_rally_that_is_a_link(tmp_path):
    other = tmp_path / "other.part"
    other.mkdir()
    (other / "frames.bin").write_bytes(b"balls")
    (tmp_path / "r.part").symlink_to(other)
    done = tennis("resume", tmp_path / "r")
    assert done.returncode == 1
    assert "r.part is a link" in done.stderr
    assert (other / "frames.bin").read_bytes() == b"balls"


def test_an_unfinished_rally_that_lacks_its_versions(tmp_path):
    """Played to its end, but nothing says on what: nothing is sealed."""
    part = tmp_path / "r.part"
    part.mkdir()
    (part / "plan.json").write_text(plan_of().model_dump_json())
    (part / "frames.bin").write_bytes(
        wire.encode(wire.END, 0, struct.pack(wire.END_FORMAT, *[0] * 7))
    )
    done = tennis("resume", tmp_path / "r")
    assert done.returncode == 1
    assert "r.part was not written by tennis" in done.stderr
    assert (part / "frames.bin").stat().st_size


def test_a_leftover_link_is_not_written_through(tmp_path):
    """Somebody may have put a link at the place where a page is written first."""
    mine = tmp_path / "mine"
    mine.write_text("my thesis")
    page = tmp_path / "page.html"
    (tmp_path / f".page.html.{os.getpid()}").symlink_to(mine)
    write_whole(page, b"page")
    assert (mine.read_text(), page.read_bytes()) == ("my thesis", b"page")


@pytest.mark.parametrize("damaged", ["tennis.cli", "tennis.cli.stats"])
def test_a_compiled_file_without_an_end_is_named(tmp_path, monkeypatch, damaged):
    """Python 3.11 leaves one if a disk is full: each command ended with a traceback for good."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))
    script = f"import sys, {damaged}, importlib.util; print({damaged}.__spec__.cached)"
    cached = Path(run_to_end([sys.executable, "-c", script], check=True).stdout.strip())
    assert cached.is_relative_to(tmp_path)
    cached.write_bytes(cached.read_bytes()[:200])
    done = run_to_end([TENNIS, "stats", "nothing"])
    line = done.stderr.splitlines()[-1]  # click takes an EOFError for Ctrl-D, with an empty line
    assert "a file that Python compiled is cut off" in line
    assert done.returncode == 1


@pytest.mark.parametrize("error", ["MemoryError", "SystemError", "ImportError", "RuntimeError"])
def test_a_limit_of_memory_is_no_defect(error):
    """Libraries and Python itself have other words for it: a report ended as a defect."""
    script = f"""
import resource
from tennis import cli
resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))
print(*cli._line_and_code({error}("odd")))
"""
    said = run_to_end([sys.executable, "-c", script], check=True).stdout
    assert "there is not enough memory for this: look for a limit (ulimit -v)" in said


def test_an_interruption_is_not_lost_in_a_librarys_call():
    """SIGTERM while pydantic compiled a pattern printed a traceback, and the rally was played."""
    script = """
import os, signal, sys, time
from tennis import cli
class Deaf:
    def __del__(self): os.kill(os.getpid(), signal.SIGTERM); time.sleep(1)
cli.cli.main = lambda **_: (Deaf() and 0) or time.sleep(60)
cli.main()
"""
    begun = time.monotonic()
    done = run_to_end([sys.executable, "-c", script])
    assert (done.returncode, done.stderr) == (130, "tennis: stopped\n")
    assert time.monotonic() - begun < 50


def test_an_interruption_while_it_begins_is_one_line():
    """Pair 4087 of make faults' kind: a traceback of click's import."""
    script = """
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "click": raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
from tennis.start import main
main()
"""
    done = run_to_end([sys.executable, "-c", script])
    assert (done.returncode, done.stderr) == (130, "tennis: stopped\n")
