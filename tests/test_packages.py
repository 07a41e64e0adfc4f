"""Other packages add benches, commands, loads, instruments and labs; broken ones break nothing."""

import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from tennis.grading.judged import Graded
from tennis.kit import entries
from tennis.kit.checkout import ROOT
from tennis.kit.entries import Entry, EntryError
from tennis.rally import open_rally
from tennis.rally.statistics.balls import latencies_ns
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally
from tests.support.terminal import TENNIS

PAGE = (ROOT / "docs" / "how-it-is-built.md").read_text()
NOTEBOOK = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  name: python3
  display_name: Python 3
---

```{code-cell} ipython3
from tennis.course import load_lab
from tennis.course.notebooks import rallies

lab = load_lab("14-long-story")
assert rallies(lab)[0].balls == lab.parameters["balls"]
assert sorted(path.name for path in lab.folder.iterdir()) == ["lab.toml"]
```
"""
# a hand-in whose numbers are right, and what the marker would play
HAND_IN = """
from pathlib import Path
from tennis.course import work
from tennis.rally import open_rally
from tennis.rally.statistics import summarize
from tests.support.hand_ins import make_work, played_by_marker, zipped

lab = work.find_lab("14")
folder = make_work(Path("made"), lab, "zoe", answers={"median": 1})
right_us = summarize(open_rally(folder / "user")).scheduling_ns.median / 1000
answers = folder / "answers.toml"
answers.write_text(answers.read_text().replace("median = 1", f"median = {right_us}"))
Path("in").mkdir()
zipped(folder, Path("in/zoe.zip"))
Path("in-marks").mkdir()
played_by_marker(Path("in-marks/played"), lab, "zoe", Path("again"))
"""


def block(heading: str, language: str) -> str:
    """Return the first block of a language behind a heading of docs/how-it-is-built.md."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    assert found
    return found[1]


def install(site: Path, name: str, points: dict[str, dict[str, str]], **files: str) -> None:
    """Put a package where pip would: its modules, and its entry points."""
    package = site / name.replace("-", "_")
    package.mkdir(parents=True)
    for file, text in {"__init__": "", **files}.items():
        (package / f"{file}.py").write_text(text)
    about = site / f"{package.name}-1.dist-info"
    about.mkdir()
    lines = [
        line
        for group, named in points.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in named.items()), "")
    ]
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (about / "entry_points.txt").write_text("\n".join(lines))


def tennis(site: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command as in an environment where the packages of ``site`` are installed."""
    return run_to_end(
        [sys.executable, TENNIS, *words],
        env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "100"},
        cwd=site,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder into which pip installed the page's package."""
    source, there = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    package, lab = source / "tennis_constant", source / "tennis_constant" / "long_story"
    lab.mkdir(parents=True)
    (source / "pyproject.toml").write_text(block("A package of your own", "toml"))
    (package / "bench.py").write_text(block("A new bench", "python"))
    (package / "latest.py").write_text(block("A new command", "python"))
    teachers = (ROOT / "docs" / "teachers.md").read_text()
    found = re.findall(
        r"`labs/14-long-story/(\S+)`.*?^```\w+\n(.*?)^```$", teachers, re.MULTILINE | re.DOTALL
    )
    for name, text in {"handout.md": "# Tell me\n", **dict(found), "notebook.md": NOTEBOOK}.items():
        (lab / name).write_text(text)
    for folder in (package, lab):
        (folder / "__init__.py").touch()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    run_to_end([*pip, "--no-build-isolation", "--no-index", "--target", there, source], check=True)
    return there


@pytest.mark.slow
def test_a_package_brings_a_bench_and_a_command(site, tmp_path):
    rally = tmp_path / "r"
    words = ("--balls", "300", "--out", rally)
    done = tennis(site, "rally", "--kernel", "constant", *words)
    assert (done.returncode, "300 balls" in done.stdout) == (0, True), done.stderr
    latest = tennis(site, "latest", rally)
    assert (latest.returncode, latest.stdout) == (0, "1.00 µs\n"), latest.stderr
    text = tennis(site, "--help").stdout
    assert re.search(r"Read:\n(?:  .*\n)*  latest +Print the latest interrupt latency", text)
    # people without the package read it
    assert run_to_end([TENNIS, "stats", rally]).returncode == 0


def test_a_bench_has_a_word_of_its_own(tmp_path):
    site = tmp_path / "site"
    source = block("A new bench", "python").replace('"virtual"', '"wind-tunnel"')
    install(site, "tunnel", {"tennis.benches": {"t": "tunnel.bench:ConstantBench"}}, bench=source)
    rally = tmp_path / "r"
    words = ("--bench", "wind-tunnel", "--kernel", "constant", "--balls", "20", "--out", rally)
    done = tennis(site, "rally", *words)
    assert done.returncode == 0, done.stderr
    assert open_rally(rally).manifest.bench == "wind-tunnel"
    assert "20 balls played again, every tick the same" in tennis(site, "check", rally).stdout
    plan = tmp_path / "gusts.toml"
    plan.write_text('bench = "wind-tunnel"\nkernels = ["constant"]\nloads = ["idle"]\nballs = 20\n')
    done = tennis(site, "match", plan, "--out", tmp_path / "m")
    assert done.returncode == 0, done.stderr
    said = "played on the bench wind-tunnel, which is not here: install the package that it was"
    assert said in run_to_end([TENNIS, "check", rally]).stderr
    away = run_to_end([TENNIS, "rally", *words[:-1], tmp_path / "again"])
    assert (away.returncode, len(away.stderr.splitlines())) == (2, 1)
    assert "'wind-tunnel' is not one of 'virtual', 'pi'" in away.stderr


def test_a_package_brings_a_load(tmp_path):
    site = tmp_path / "site"
    install(site, "spin", {"tennis.loads": {"spin": "spin"}})
    (site / "spin" / "load.toml").write_text(block("A new load", "toml"))
    (site / "spin" / "health").write_text(block("A new load", "sh"))
    program = (
        "from tennis.bench import loads; print(*loads.names()); print(loads.find('spin').folder)"
    )
    done = run_to_end(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(site)}, check=True
    )
    names, folder = done.stdout.splitlines()
    assert "spin" in names.split()
    assert Path(folder) == site / "spin"


@pytest.mark.slow
def test_a_package_has_a_lab(site, tmp_path):
    listed = tennis(site, "lab").stdout
    assert re.search(
        r"^14 +A long story: .* \(package tennis-constant\) +45 +5$", listed, re.MULTILINE
    )
    work = tmp_path / "work"
    done = tennis(site, "lab", "start", "14", "--as", "zoe", "--out", work)
    assert (done.returncode, done.stderr) == (0, "")
    names = ["README.md", "answers.toml", "handout.md", "notebook.md"]
    assert sorted(path.name for path in work.iterdir()) == names
    done = tennis(site, "lab", "check", "14", "--in", work)
    assert done.returncode == 1
    assert "rally user: it is not there" in done.stdout


@pytest.mark.slow
def test_a_packages_lab_is_marked(site, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    run_to_end([sys.executable, "-c", HAND_IN], env=environment, cwd=tmp_path, check=True)
    done = tennis(site, "grade", tmp_path / "in", "--lab", "14")
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (tmp_path / "in-marks" / "results").iterdir()
    graded = Graded.model_validate_json(file.read_bytes())
    verdicts = {one.check: (one.verdict, one.message) for one in graded.report.results}
    for check in ("check_median", "check_rally[user]", "check_honest[user]", "check_notebook"):
        assert verdicts[check][0] == "pass", verdicts[check]


@pytest.mark.more
@pytest.mark.virtual
def test_a_package_brings_an_instrument(tmp_path):
    site = tmp_path / "site"
    points = {"tennis.instruments": {"whole-us": "whole_us.instrument"}}
    install(site, "whole-us", points, instrument=block("A package of your own", "python"))
    played = {}
    for name in ("builtin", "whole-us"):
        words = ("--instrument", name, "--kernel", "rt", "--balls", "20", "--seed", "4")
        done = tennis(site, "rally", *words, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
        played[name] = open_rally(tmp_path / name)
    exact, coarse = played["builtin"], played["whole-us"]
    assert coarse.manifest.instrument.kind == "whole-us"
    rise_ns, whole_ns = (latencies_ns(rally, "interrupt") for rally in (exact, coarse))
    assert (rise_ns % 1000).any()
    assert (rise_ns // 1000 * 1000 == whole_ns).all()
    done = tennis(site, "check", tmp_path / "whole-us")
    assert done.returncode == 0, done.stderr
    # people without such an instrument read the rally; only what plays it again needs it
    assert run_to_end([TENNIS, "stats", tmp_path / "whole-us"]).returncode == 0
    away = run_to_end([TENNIS, "check", tmp_path / "whole-us"])
    assert (away.returncode, len(away.stderr.splitlines())) == (2, 1)
    assert "the instrument whole-us, which no package here brings" in away.stderr


@pytest.mark.cases(more=["raise *", "import sys*", "import not*"])
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('half installed')", "is broken (RuntimeError: half installed)"),
        ("import sys; sys.exit('no licence')", "is broken (SystemExit: no licence)"),
        ("raise type('Own', (BaseException,), {})('odd')", "is broken (Own: odd)"),
        ("import not_to_be_found", "needs the Python module not_to_be_found"),
        ("import os; os._exit(0)", "is broken (its import ends the process, with exit code 0)"),
        ("oops = b = load = lab = whole = 1", ""),
    ],
)
def test_a_broken_package_is_named_and_breaks_nothing(tmp_path, source, said):
    site = tmp_path / "site"
    points = {
        "tennis.commands": {"oops": "broken.oops:oops"},
        "tennis.benches": {"b": "broken.oops:b"},
        "tennis.loads": {"load": "broken.oops:load"},
        "tennis.labs": {"15-lab": "broken.oops:lab"},
        "tennis.instruments": {"whole": "broken.oops:whole"},
    }
    install(site, "broken", points, oops=source)
    done = tennis(site, "--help")
    assert (done.returncode, "Serve balls to a target" in done.stdout) == (0, True)
    (line,) = done.stderr.splitlines()
    assert line.startswith("tennis: the command oops of the package broken ")
    assert said in line
    done = tennis(site, "oops")
    assert (done.returncode, "the command oops of the package broken" in done.stderr) == (1, True)
    rally = make_rally(tmp_path / "r", balls=30).path
    for words in (("stats", rally), ("rally", "--help"), ("lab",)):
        assert tennis(site, *words).returncode == 0
    for option in ("--load", "--instrument"):
        name = "load" if option == "--load" else "whole"
        done = tennis(site, "rally", option, name, "--out", tmp_path / "no")
        assert f"the {option[2:]} {name} of the package broken" in done.stderr
    program = "from tennis.play.doctor import host\nhost._examine_virtual = lambda: iter(())\n"
    program += "for one in host.examine(): print(one.verdict, one.what, one.found)"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    found = run_to_end([sys.executable, "-c", program], env=environment, check=True).stdout
    assert found.count("note broken the ") == (5 if said else 0)


@pytest.mark.parametrize("listed", [b"# caf\xe9\n[tennis.benches]\nb=c", b"[tennis.benches]\nb\n"])
def test_a_list_of_entries_that_cannot_be_read_breaks_nothing(tmp_path, listed):
    """Every command ended with a traceback, and pydantic, which reads such lists, too."""
    site = tmp_path / "site"
    install(site, "broken", {"tennis.benches": {}})
    (site / "broken-1.dist-info/entry_points.txt").write_bytes(listed)
    rally = make_rally(tmp_path / "r", balls=30).path
    for words in (("--help",), ("stats", rally), ("rally", "--help")):
        done = tennis(site, *words)
        assert (done.returncode, done.stderr) == (0, ""), words
    program = "from tennis.kit.entries import entries; entries('tennis')[0].load()"
    done = run_to_end([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(site)})
    assert "the list entry_points.txt of the package broken cannot be read (" in done.stderr


@pytest.mark.parametrize(
    ("source", "said"),
    [  # the first one hangs wherever it is imported, the second one only here
        ("threading.Event().wait()", "did not end within 0.5 s"),
        ("if os.getpid() == OF_TEST: threading.Event().wait()", "did not end within 0.5 s"),
        ("import ctypes; ctypes.string_at(0)", "ends the process, with exit code -11"),
        ("os.execv('/bin/true', ['true'])", "ends the process, with exit code 0"),
        ("raise KeyboardInterrupt", "is broken (KeyboardInterrupt: )"),
        ("raise GeneratorExit", "is broken (GeneratorExit: )"),
        ("raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})", "is broken (E)"),
        ("f = lambda: f()\nf()", "(RecursionError"),
        ("import signal; signal.signal(signal.SIGTERM, print)", "(ValueError: signal only works"),
        ("b = 1", ""),
    ],
)
def test_what_an_import_does_stays_with_it(tmp_path, monkeypatch, capfd, source, said):
    """It prints, moves, starts a thread without end, and then ends in one of many ways."""
    changes = """
import os, sys, threading, warnings
print("of print"); os.write(1, b"of write\\n"); os.system("echo of a program")
sys.stdout = None
os.chdir("/"); os.umask(0o777); warnings.simplefilter("error")
threading.Thread(target=threading.Event().wait).start()
"""
    site, name = tmp_path / "site", f"noisy{abs(hash(source))}"
    changes += f"OF_TEST = {os.getpid()}\n"
    install(site, name, {}, oops=changes + source)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(entries, "IMPORT_S", 0.5)
    before = (Path.cwd(), sys.stdout, list(warnings.filters))
    entry = Entry("tennis.benches", "b", f"{name}.oops:b", name)
    if said:
        with pytest.raises(EntryError, match=re.escape(said)):
            entry.load()
    else:
        assert entry.load() == 1
    assert (Path.cwd(), sys.stdout, list(warnings.filters)) == before
    (tmp_path / "new").touch()
    assert (tmp_path / "new").stat().st_mode & 0o600 == 0o600
    tried = source.startswith("threading") or "ends the process" in said  # by another one
    wrote = capfd.readouterr()
    told = [] if tried else ["of a program", "of print", "of write"]
    assert (wrote.out, sorted(wrote.err.splitlines())) == ("", told)
    left = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    assert all(thread.daemon for thread in left)  # the command ends


def test_a_command_that_fails_is_not_called_a_defect_of_tennis(tmp_path):
    site = tmp_path / "site"
    source = """
import click
@click.command()
def fall():
    "Fall."
    raise ValueError("no net")
"""
    install(site, "circus", {"tennis.commands": {"fall": "circus.fall:fall"}}, fall=source)
    done = tennis(site, "fall")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("tennis: the command fall of the package circus failed: ValueError")
    assert line.endswith("repair the package circus, or remove it")


def test_what_is_optional_is_asked_for_when_it_is_needed(tmp_path):
    """Without them everything else works, and a line says what to install."""
    for name in ("serial", "mpremote", "littlefs", "distributed"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})")
    rally = make_rally(tmp_path / "r", balls=30).path
    plan = ROOT / "plans" / "quick.toml"
    report = tmp_path / "r.html"
    for words in (
        ("--help",),
        ("stats", rally),
        ("plot", rally),
        ("report", rally, "--out", report),
        ("rally", "--help"),
        ("match", plan, "--list"),
        ("benches", "--help"),
        ("doctor", "--help"),
    ):
        done = tennis(tmp_path, *words)
        assert (done.returncode, done.stderr) == (0, ""), words
    store = ("--store", str(tmp_path))
    for words, module, how in (
        (("brickwall", "verify"), "serial", ""),
        (("rally", "--bench", "pi", "--out", "x"), "serial", ""),
        (("doctor", "--port", "/dev/nowhere"), "serial", ""),
        (("match", plan, "--cluster", "tcp://h:1", *store, "--out", "m"), "distributed",
         " --cluster"),
    ):  # fmt: skip
        done = tennis(tmp_path, *words)
        assert done.returncode in {1, 2}, words
        (line,) = done.stderr.splitlines()
        assert f"needs the Python module {module}, which is not installed" in line
        assert line.endswith(f"run 'scripts/setup.sh{how}'")
