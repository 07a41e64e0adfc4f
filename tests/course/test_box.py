"""Notebooks that students hand in run in a box; what is hostile in them ends there."""

import contextlib
import json
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tennis.bench import box, box_filter
from tennis.course import load_lab
from tennis.course.checking.running import run_checks
from tennis.course.labs import FOLDERS
from tennis.course.notebook.notebook_box import run_notebook
from tennis.kit.checkout import ROOT
from tests.support.hand_ins import make_work

pytestmark = pytest.mark.slow

LAB = load_lab("04-under-load")
NO_RALLIES = {asked.name: None for asked in LAB.rallies}
HEAD = (ROOT / "notebooks/04-under-load.md").read_text().partition("# 4.")[0]


def notebook(folder: Path, code: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "notebook.md").write_text(f"{HEAD}# A\n\n```{{code-cell}} ipython3\n{code}\n```\n")
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    return make_work(tmp_path_factory.mktemp("box") / "w", LAB, "zoe")


def test_the_labs_own_notebook_runs(done):
    ran = run_notebook(done)
    assert ran.error == ""
    assert ran.cells > 10


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("\n# divide\n1 / 0", "cell 2 of 2 (# divide): ZeroDivisionError: division by zero"),
        # it never gets the number that Jupyter gives to a cell that was executed
        ("import os; os._exit(3)", "cell 2 of 2 (import os; os._exit(3)): DeadKernelError"),
    ],
)
def test_a_cell_that_fails_is_named_with_its_first_line(tmp_path, code, error):
    assert run_notebook(notebook(tmp_path / "w", code)).error.startswith(error)


OPEN_ALL = f"""
from pathlib import Path
from tennis.rally import open_rally
from tennis.rally.statistics import summarize
folder = Path({str(ROOT / "labs/06-out-of-band/recorded")!r})
for path in sorted(one for one in folder.iterdir() if one.is_dir()):
    print(path.name, summarize(open_rally(path)).interrupt_ns.said("max"))
"""


def test_recorded_rallies_open_in_the_box(tmp_path):
    """They lie beside the lab, which the box did not show."""
    ran = run_notebook(notebook(tmp_path / "w", OPEN_ALL))
    assert ran.error == ""
    assert "evl-in-band-stress 56.0 " in str(ran.executed)


def test_a_packages_solution_is_not_in_the_box(tmp_path, monkeypatch):
    """Where pip puts packages, a notebook may read: of a lab there, only what all know."""
    with tempfile.TemporaryDirectory(dir=sys.prefix) as packages:
        Path(packages).chmod(0o755)
        folder = Path(packages) / "story"
        shutil.copytree(ROOT / "labs/06-out-of-band", folder)
        assert (folder / "solution.toml").is_file()
        monkeypatch.setenv(FOLDERS, json.dumps([("14-story", str(folder), "story")]))
        code = (
            "from pathlib import Path\nfrom tennis.course import load_lab\n"
            "from tennis.course.lab_files import figures_us\nlab = load_lab('14-story')\n"
            "print(sorted(path.name for path in lab.folder.iterdir()))\n"
            "print(figures_us(lab, 'evl-stress', 'interrupt'))"
        )
        ran = run_notebook(notebook(tmp_path / "w", code))
    assert ran.error == ""
    assert "['lab.toml', 'recorded']" in str(ran.executed)


# each thing alone, and why it fails
DENIED = {
    f"open({str(ROOT / 'labs/04-under-load/solution.toml')!r})": "FileNotFoundError",
    f"os.listdir({str(ROOT / 'tests')!r})": "FileNotFoundError",
    "open('/etc/passwd')": "FileNotFoundError",
    f"open({str(ROOT / 'tennis/extra.py')!r}, 'w')": "OSError",
}
TRIES = """
import os
found = []
for code in {}:
    try:
        found.append(str(eval(code)))
    except OSError as error:
        found.append(type(error).__name__)
raise SystemError(f"{{found}} {{max(int(p) for p in os.listdir('/proc') if p.isdigit())}}")
"""


def test_what_is_hostile_ends_in_the_box(tmp_path):
    """Answers, tests, files of this machine, writing to what is read; a box has few processes."""
    ran = run_notebook(notebook(tmp_path / "w", TRIES.format(list(DENIED))))
    found, processes = re.search(r"SystemError: (\[.*\]) (\d+)", ran.error).groups()
    assert found == str([*DENIED.values()])
    assert int(processes) < 100  # its own, in a name space of its own
    if os.geteuid() == 0:  # the box's processes belong to a user of their own
        user = box.USER + os.getpid() % box.USERS
        for status in Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it just ended
                text = status.read_text()
                # what has ended waits for this machine's first process to be taken away
                assert f"Uid:\t{user}\t" not in text or "State:\tZ" in text, text


def test_no_name_of_an_error_moves_the_cursor(tmp_path):
    ran = run_notebook(notebook(tmp_path / "w", "raise ValueError('\\x1b[2Jgone')"))
    assert re.search(r"ValueError: [^\x1b]*gone", ran.error), ran.error


# each call with arguments of its own kind: the box's first process, a descriptor of it
CALLS = f"""
import ctypes, errno, os
libc, took = ctypes.CDLL(None, use_errno=True), []
pid_1 = os.pidfd_open(1)
for name, number in {box_filter.CALLS[platform.machine()]!r}.items():
    words = {{"pidfd_getfd": (pid_1, 2, 0), "ptrace": (16, 1, 0, 0)}}.get(name, (0, 0, 0, 0, 0, 0))
    ctypes.set_errno(0)
    if libc.syscall(number, *words) != -1 or ctypes.get_errno() != errno.ENOSYS:
        took.append(name)
took += os.listdir("/proc/1")
for place in ("/proc/1/mem", "/proc/1/task/1/mem", "/proc/1/fd/2"):
    try:
        took.append(open(place, "r+b").name)
    except FileNotFoundError:
        pass
raise SystemError(f"it took {{took}}")
"""


def test_no_process_of_the_box_reaches_its_first_one(tmp_path):
    """That one says how the box ended: not by its memory, its descriptors, or as a debugger."""
    ran = run_notebook(notebook(tmp_path / "w", CALLS))
    assert "SystemError: it took []" in ran.error


def test_there_is_no_network(tmp_path):
    """Somebody listens on this machine; nobody comes."""
    came = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def listen() -> None:
            try:
                server.accept()
                came.set()
            except OSError:
                pass

        threading.Thread(target=listen, daemon=True).start()
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
        ran = run_notebook(notebook(tmp_path / "w", code), limit_s=30)
    assert "ConnectionRefusedError" in ran.error
    assert not came.is_set()


def test_what_the_box_says_is_shown_and_never_judged(tmp_path):
    """A notebook can write the runner's result itself: no points hang on it."""
    made = make_work(tmp_path / "w", LAB, "zoe", rallies=NO_RALLIES)  # nothing to be played
    forged = '{\\"cells\\": 3}'
    forges = f'import os\nopen("/out/result.json", "w").write("{forged}")\nos._exit(0)'
    for code in (forges, "1 / 0"):
        notebook(made, code)
        report = run_checks(made, blind=False, plays=tmp_path / "played")
        found = {result.check: result for result in report.results}
        assert found["check_notebook"].question is None
        assert found["check_answered[thesis]"].verdict == "pass"
    assert found["check_notebook"].verdict == "fail"
    assert "cell 2 of 2 (1 / 0): ZeroDivisionError" in found["check_notebook"].message
    found = {one.check: one.verdict for one in run_checks(made, blind=True).results}
    assert found["check_notebook"] == "not run"
    link = (
        f'import os\nos.symlink("{ROOT}/tennis/__init__.py", "/out/result.json")\nwhile True: pass'
    )
    assert "did not end" in run_notebook(notebook(tmp_path / "l", link), limit_s=8).error
