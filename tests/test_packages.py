# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Packages of other people's: they add benches, commands, loads; broken ones break nothing else."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tennis import entries
from tennis.bench.virtual.parts import INSTRUMENTS, instrument_of
from tennis.checkout import ROOT
from tennis.cli.settings import _help
from tennis.grading.judged import Graded
from tennis.rally import open_folder, open_rally
from tennis.rally.drills import KnownDrill, read_about
from tennis.rally.manifest import Drill
from tennis.rally.settings import SETTINGS
from tennis.stats.balls import latencies_ns
from tennis.stats.drill import summarize_drill
from tests.support.packages import block, install, install_drill
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill
from tests.support.terminal import TENNIS

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
from tennis.stats import summarize
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


def tennis(site: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command as in an environment where the packages of ``site`` are installed."""
    return run_to_end(
        [sys.executable, TENNIS, *words],
        env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "100"},
        cwd=site,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder in which the page's package is installed."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads(block("A package of your own", "toml"))["project"]
    bench, latest = block("A new bench", "python"), block("A new command", "python")
    drawn = block("A new picture", "python")
    files = {"bench": bench, "latest": latest, "neighbours": drawn}
    install(folder, project["name"], project["entry-points"], **files)
    put_lab(folder / "tennis_constant" / "long_story")
    return folder


def test_the_pages_package_is_a_small_one():
    """A bench and a command, with all that pip needs."""
    blocks = [block("A new bench", "python"), block("A new command", "python")]
    every = "".join([*blocks, block("A package of your own", "toml")])
    assert len(every.splitlines()) <= 70


@pytest.mark.slow
def test_pip_installs_the_pages_package(tmp_path):
    source, there = tmp_path / "source", tmp_path / "site"
    package = source / "tennis_constant"
    package.mkdir(parents=True)
    (source / "pyproject.toml").write_text(block("A package of your own", "toml"))
    (package / "__init__.py").touch()
    (package / "bench.py").write_text(block("A new bench", "python"))
    (package / "latest.py").write_text(block("A new command", "python"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    done = run_to_end([*pip, "--no-build-isolation", "--no-index", "--target", there, source])
    assert done.returncode == 0, done.stderr
    rally = tmp_path / "r"
    words = ("rally", "--kernel", "constant", "--balls", "20", "--out", rally)
    assert tennis(there, *words).returncode == 0
    assert tennis(there, "latest", rally).stdout == "1.00 µs\n"


def put_lab(folder: Path) -> None:
    """Write the lab of the teachers' page, with an empty __init__.py."""
    folder.mkdir(parents=True)
    page = (ROOT / "docs" / "teachers.md").read_text()
    found = re.findall(
        r"`labs/14-long-story/(\S+)`.*?^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    for name, text in {"__init__.py": "", "handout.md": "# Tell me\n", **dict(found)}.items():
        (folder / name).write_text(text)
    (folder / "notebook.md").write_text(NOTEBOOK)


def test_the_pages_package_plays_and_reads(site, tmp_path):
    rally = tmp_path / "r"
    done = tennis(site, "rally", "--kernel", "constant", "--balls", "300", "--out", rally)
    assert (done.returncode, "300 balls" in done.stdout) == (0, True), done.stderr
    assert "1.00 µs" in tennis(site, "stats", rally).stdout
    latest = tennis(site, "latest", rally)
    assert (latest.returncode, latest.stdout) == (0, "1.00 µs\n"), latest.stderr
    text = tennis(site, "--help").stdout
    assert re.search(r"Read:\n(?:  .*\n)*  latest +Print the latest interrupt latency", text)


def test_the_pages_package_draws(site, tmp_path):
    played = make_rally(tmp_path / "r", balls=300, misses=3)
    rally = played.path
    for words in ((), ("--kind", "neighbours", "--format", "png")):
        done = tennis(site, "plot", rally, *words)
        assert (done.returncode, done.stderr) == (0, "")
    drawn = ["distribution.svg", "histogram.svg", "neighbours.png", "neighbours.svg", "series.svg"]
    assert sorted(path.name for path in (tmp_path / "r-plots").iterdir()) == drawn
    assert "Neighbours" in (tmp_path / "r-plots" / "neighbours.svg").read_text()
    assert "series, coverage, neighbours;" in " ".join(
        tennis(site, "plot", "--help").stdout.split()
    )
    done = tennis(site, "plot", rally, rally, "--kind", "neighbours")
    assert "no picture of several rallies: use overview, histogram, distribution" in done.stderr
    protocol = played.manifest.protocol.model_copy(update={"loop": "shots"})
    shots = make_rally(tmp_path / "s", balls=300, protocol=protocol).path
    for folder, kind in ((shots, "neighbours"), (rally, "coverage")):
        done = tennis(site, "plot", folder, "--kind", kind)
        assert (done.returncode, f"{kind}: there is none of {folder}" in done.stderr) == (2, True)


def test_a_picture_that_fails_takes_no_other_with_it(tmp_path):
    source = """
from pathlib import Path
def falls(rally):
    raise ValueError("no paint")
def path(rally):
    return Path("picture.svg")
"""
    names = {"falls": "daub.art:falls", "gone": "daub.art:gone", "path": "daub.art:path"}
    names["histogram"] = "daub.art:path"  # the kit has one of this name
    install(tmp_path / "site", "daub", {"tennis.plots.rally": names}, art=source)
    rally = make_rally(tmp_path / "r", balls=30).path
    done = tennis(tmp_path / "site", "plot", rally)
    assert (done.returncode, len(done.stdout.split())) == (0, 3)
    assert len(done.stderr.splitlines()) == 4
    for said in (
        "the picture histogram of the package daub is not drawn: tennis has one of this name",
        "the picture falls of the package daub failed (ValueError: no paint)",
        "the picture gone of the package daub is broken (AttributeError",
        "the picture path of the package daub returned no tennis.plots.Picture, but PosixPath",
    ):
        assert said in done.stderr
    done = tennis(tmp_path / "site", "plot", rally, "--kind", "falls", "--out", tmp_path / "p")
    assert (done.returncode, "no paint" in done.stderr) == (1, True)
    assert not (tmp_path / "p").exists()
    loaded = "import sys; from tennis.cli.plot import plot; print('matplotlib' in sys.modules)"
    assert run_to_end([sys.executable, "-c", loaded]).stdout == "False\n"


def test_the_pages_package_has_a_lab(site, tmp_path):
    listed = tennis(site, "lab", "list").stdout
    assert re.search(
        r"^14 +A long story: .* \(package tennis-constant\) +45 +5$", listed, re.MULTILINE
    )
    work = tmp_path / "work"
    done = tennis(site, "lab", "start", "14", "--as", "zoe", "--out", work)
    assert (done.returncode, done.stderr) == (0, "")
    names = ["README.md", "answers.toml", "handout.md", "notebook.md"]
    assert sorted(path.name for path in work.iterdir()) == names
    assert "to do and why: `handout.md`" in (work / "README.md").read_text()
    done = tennis(site, "lab", "check", "14", "--in", work)
    assert done.returncode == 1
    assert "rally user: it is not there" in done.stdout
    assert re.search(r"(?m)^median +no", done.stdout)


def test_the_pages_lab_is_marked(site, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    run_to_end([sys.executable, "-c", HAND_IN], env=environment, cwd=tmp_path, check=True)
    done = tennis(site, "grade", tmp_path / "in", "--lab", "14")
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (tmp_path / "in-marks" / "results").iterdir()
    graded = Graded.model_validate_json(file.read_bytes())
    verdicts = {one.check: (one.verdict, one.message) for one in graded.report.results}
    for check in ("check_median", "check_rally[user]", "check_honest[user]", "check_notebook"):
        assert verdicts[check][0] == "pass", verdicts[check]
    assert {mark.question: mark.points for mark in graded.report.marks} == {
        "median": 2,
        "why": None,
    }


def test_labs_that_cannot_be_taken(tmp_path):
    site = tmp_path / "site"
    for package, slug in (("one", "14-long-story"), ("other", "14-other"), ("thief", "04-x")):
        install(site, package, {"tennis.labs": {slug: f"{package}.story"}})
        put_lab(site / package / "story")
    install(site, "half", {"tennis.labs": {"15-half": "half"}})
    install(site, "wrong", {"tennis.labs": {"wrong": "wrong.story"}})
    put_lab(site / "wrong" / "story")
    done = tennis(site, "lab", "list")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["tennis", "tennis"]
    assert "the lab 15-half of the package half has no lab.toml in " in done.stderr
    assert "the lab wrong of the package wrong is left out: " in done.stderr
    for named in ("14", "14-other"):
        done = tennis(site, "lab", "start", named, "--as", "zoe")
        (line,) = done.stderr.splitlines()
        assert done.returncode == 2
        assert "14-long-story of the package one, 14-other of the package other" in line
    done = tennis(site, "lab", "start", "04", "--as", "zoe")
    assert "04-under-load of the package tennis, 04-x of the package thief" in done.stderr
    assert tennis(site, "lab", "start", "01", "--as", "zoe").returncode == 0
    done = tennis(site, "lab", "start", "15", "--as", "zoe")
    assert "there is no lab 15 (the lab 15-half of the package half has no lab.toml" in done.stderr


def test_a_bench_has_a_word_of_its_own(site, tmp_path):
    there = tmp_path / "site"
    source = block("A new bench", "python").replace('"virtual"', '"wind-tunnel"')
    points = {"tennis.benches": {"tunnel": "tunnel.bench:ConstantBench"}}
    install(there, "tunnel", points, bench=source)
    rally = tmp_path / "r"
    words = ("--bench", "wind-tunnel", "--kernel", "constant", "--balls", "20", "--out", rally)
    done = tennis(there, "rally", *words)
    assert done.returncode == 0, done.stderr
    # people without such a bench read it, and only there is it played
    assert open_rally(rally).manifest.bench == "wind-tunnel"
    assert "Bench: wind-tunnel" in tennis(site, "stats", rally).stdout
    assert tennis(site, "report", rally, "--out", tmp_path / "r.html").returncode == 0
    assert "20 balls played again, every tick the same" in tennis(there, "check", rally).stdout
    said = "played on the bench wind-tunnel, which is not here: install the package that it was"
    assert said in tennis(site, "check", rally).stderr
    away = tennis(site, "rally", *words[:-1], tmp_path / "again")
    assert (away.returncode, len(away.stderr.splitlines())) == (2, 1)
    assert "'wind-tunnel' is not one of 'virtual', 'pi'" in away.stderr


def test_a_match_is_played_on_a_bench_with_a_word_of_its_own(site, tmp_path):
    there = tmp_path / "site"
    source = block("A new bench", "python").replace('"virtual"', '"wind-tunnel"')
    points = {"tennis.benches": {"tunnel": "tunnel.bench:ConstantBench"}}
    install(there, "tunnel", points, bench=source.replace('kind="wind-tunnel"', 'kind="virtual"'))
    plan = tmp_path / "gusts.toml"
    plan.write_text('bench = "wind-tunnel"\nkernels = ["constant"]\nloads = ["idle"]\nballs = 20\n')
    done = tennis(there, "match", plan, "--out", tmp_path / "m")
    assert done.returncode == 0, done.stderr
    played = open_rally(tmp_path / "m" / "constant-idle-default-thread")
    assert played.manifest.bench == "wind-tunnel"
    assert "wind-tunnel bench" in (tmp_path / "m" / "report.html").read_text()
    # what a package's bench does with time nobody knows here: it is shuffled, as on a board
    assert '"order": "shuffled"' in (tmp_path / "m" / "match.json").read_text()
    # it is read where no such bench is, and refused where it would have to be played
    assert tennis(site, "replicate", tmp_path / "m").returncode == 0
    away = tennis(site, "match", plan, "--out", tmp_path / "away")
    assert (away.returncode, len(away.stderr.splitlines())) == (2, 1)
    assert "bench: 'wind-tunnel' is not one of 'virtual', 'pi'" in away.stderr
    # a bench that neither boots its target nor repeats plays no match
    old = there / "tunnel" / "bench.py"
    old.write_text(old.read_text().replace("    kernels =", "    repeats = False\n    kernels ="))
    blown = tennis(there, "match", plan, "--out", tmp_path / "blown")
    assert "constant: a match needs a target that tennis can boot" in blown.stderr


def test_a_package_brings_a_load(tmp_path):
    site = tmp_path / "site"
    install(site, "spin", {"tennis.loads": {"spin": "spin"}})
    for name, text in (("toml", block("A new load", "toml")), ("sh", block("A new load", "sh"))):
        file = site / "spin" / {"toml": "load.toml", "sh": "health"}[name]
        file.write_text(text)
    program = (
        "from tennis.bench import loads; print(*loads.names()); print(loads.find('spin').folder)"
    )
    done = run_to_end(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(site)}, check=True
    )
    names, folder = done.stdout.splitlines()
    assert "spin" in names.split()
    assert Path(folder) == site / "spin"


@pytest.fixture
def with_drill(tmp_path):
    """Return a folder in which a package with the page's drill is installed, and its source."""
    site = tmp_path / "site"
    return site, install_drill(site)


def made_up_drill(out, **versions):
    """Seal a made-up rally of the page's drill."""
    drill = Drill(name="yield", context="user", period_ns=1_000_000)
    took = np.full(20, 3000)
    return make_drill(out, drill, np.full(19, 1_000_000), took, versions=versions).path


def test_a_packages_drill_is_known_by_name(with_drill, tmp_path):
    site, source = with_drill
    text = tennis(site, "drill", "--help").stdout
    assert re.search(
        r"^    yield      give the processor away, and nobody wants it$", text, re.MULTILINE
    )
    done = tennis(site, "drill", "yield", "--context", "hrtimer", "--out", "d")
    assert "the drill yield cannot be done there: use user or user-rt or kernel" in done.stderr
    source.unlink()
    done = tennis(site, "drill", "yield", "--out", tmp_path / "d")
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "tennis: the drill yield of the package tennis-yield: there is no yield.c"
    )
    assert (done.returncode, (tmp_path / "d").exists()) == (1, False)


def test_a_drill_is_read_in_the_words_that_it_had_when_it_was_played(with_drill, tmp_path):
    site, _ = with_drill
    told = read_about(site / "tennis_yield" / "drills.toml", "yield")
    version = KnownDrill("yield", "tennis-yield", site, told).version
    rally = made_up_drill(tmp_path / "d", **version)
    plain = "Nobody here says more of this drill"
    shown = tennis(site, "stats", rally).stdout
    assert ("giving away took" in shown, plain in shown) == (True, False)
    # where it is not installed, was another package's, or says something else today
    other = made_up_drill(tmp_path / "other", drill=version["drill"].replace("yield", "resign"))
    others = made_up_drill(tmp_path / "none")
    for place, folder in ((tmp_path, rally), (site, other), (site, others)):
        done = tennis(place, "stats", folder)
        assert (done.returncode, "a repetition took" in done.stdout) == (0, True), done.stderr
        assert plain in " ".join(done.stdout.split())
    for words in (["plot", rally, "--out", "p"], ["report", rally, "--out", "r.html"]):
        assert tennis(tmp_path, *words).returncode == 0
    assert "size_bytes" not in tennis(tmp_path, "export", rally).stdout


@pytest.mark.virtual
def test_a_packages_drill_is_played(with_drill, tmp_path):
    site, source = with_drill
    for context in ("user", "kernel"):
        out = tmp_path / context
        words = ("--context", context, "--repetitions", "50", "--out", out)
        done = tennis(site, "drill", "yield", *words)
        assert done.returncode == 0, done.stderr
        summary = summarize_drill(open_folder(out))
        assert (summary.repetitions, summary.suspect, summary.failures) == (50, False, 0)
        assert 0 < summary.duration_ns.inside.median < summary.duration_ns.outside.median
    done = tennis(tmp_path, "check", tmp_path / "user")
    assert "the drill yield, and no package here has that: install the package tennis-yield" in (
        done.stderr
    )
    # a package that was changed: nothing of the old one is taken from the cache
    source.write_text(source.read_text().replace("give_away();", "give_away(), give_away();"))
    done = tennis(site, "check", tmp_path / "user")
    assert (done.returncode, "racquet_sha256 was " in done.stderr) == (1, True), done.stderr


def test_a_package_names_a_kernel(tmp_path):
    site = tmp_path / "site"
    source = """
OLD = {"about": "Debian's oldest", "suite": "bookworm", "image": "i", "headers": "h"}
HALF = {"about": "nothing else"}
"""
    points = {"tennis.kernels": {"old": "museum.kernels:OLD", "half": "museum.kernels:HALF"}}
    install(site, "museum", points, kernels=source)
    done = tennis(site, "kernels")
    assert re.search(r"^old +not fetched +Debian's oldest *$", done.stdout, flags=re.MULTILINE)
    assert "half" not in done.stdout
    done = tennis(site, "rally", "--kernel", "old", "--out", tmp_path / "r")
    assert "the kernel old is not here yet: run 'tennis kernels fetch old'" in done.stderr
    said = "the kernel half of the package museum does not say about, suite, image, headers"
    assert said in done.stderr


def test_what_a_package_has_checked(tmp_path):
    site = tmp_path / "site"
    source = """
from tennis.bench.findings import Finding
def look():
    yield Finding("good", "weather", "dry")
def fails():
    raise ValueError("no barometer")
    yield
"""
    points = {
        "tennis.doctor": {"weather": "outdoor.checks:look", "air": "outdoor.checks:fails"},
        "tennis.plots.rally": {"clouds": "outdoor.checks:gone"},
    }
    install(site, "outdoor", points, checks=source)
    program = """
from tennis.play.doctor import host
host._examine_virtual = lambda: iter(())
for finding in host.examine():
    print(finding.verdict, finding.what, finding.found)
"""
    done = run_to_end(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(site)}, check=True
    )
    assert "good weather dry" in done.stdout
    assert "note outdoor the check air of the package outdoor failed: no barometer" in done.stdout
    assert "note outdoor the picture clouds of the package outdoor is broken (" in done.stdout


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('half installed')", "is broken (RuntimeError: half installed)"),
        ("import not_to_be_found", "needs the Python module not_to_be_found"),
        ("oops = 1", "is no command of click's"),
        ("def oops(:", "is broken (SyntaxError"),
    ],
)
def test_a_broken_package_is_named_and_breaks_nothing(tmp_path, source, said):
    site = tmp_path / "site"
    points = {
        "tennis.commands": {"oops": "broken.oops:oops"},
        "tennis.benches": {"b": "broken.oops:b"},
    }
    install(site, "broken", points, oops=source)
    done = tennis(site, "--help")
    assert done.returncode == 0
    assert "Serve balls to a target" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("tennis: the command oops of the package broken ")
    assert said in line
    done = tennis(site, "oops")
    assert (done.returncode, said in done.stderr) == (1, True)
    rally = make_rally(tmp_path / "r", rise=np.array([1000, 2000]))
    assert tennis(site, "stats", rally.path).returncode == 0


def test_doctor_names_each_broken_entry_of_a_package(site, tmp_path):
    there = tmp_path / "site"
    points = {
        "tennis.benches": {"b": "crack.bench:Bench", "half": "crack.parts:Half"},
        "tennis.commands.read": {"c": "crack.parts:Half"},
        "tennis.drills": {"d": "crack", "Big": "crack"},
        "tennis.instruments": {"i": "crack.parts"},
        "tennis.kernels": {"k": "crack.parts:Half"},
        "tennis.labs": {"15-l": "crack"},
        "tennis.loads": {"l": "crack"},
        "tennis.plots.rally": {"p": "crack.parts:gone"},
        "tennis.beneath": {"u": "crack.parts:gone"},
    }
    half = block("A new bench", "python").replace("def answers", "def replies")
    half = half.replace("ConstantBench", "Half")
    install(there, "crack", points, bench="import nothing_there", parts=half)
    for file in ("drills.toml", "lab.toml", "load.toml"):
        (there / "crack" / file).write_text('oops = 1\ntitle = "T"\n[d]\ntitle = 1\n')
    program = "from tennis.play.doctor.packages import examine_packages as look\n"
    program += "for one in look(): print(one.verdict, one.what, one.found, '->', one.advice)"
    found = {}
    for place in (site, there):
        environment = {**os.environ, "PYTHONPATH": str(place)}
        done = run_to_end([sys.executable, "-c", program], env=environment, check=True)
        assert done.stderr == ""
        found[place] = done.stdout.splitlines()
    assert found[site] == []
    assert len(found[there]) == sum(map(len, points.values()))
    for kind, why in {
        "bench b": "needs the Python module nothing_there, which is not installed -> ",
        "bench half": "is broken (it has no answers) -> repair the package crack, or remove it",
        "command c": "is no command of click's",
        "drill d": "drills.toml is not right: d.title: ",
        "drill Big": "cannot be called so",
        "instrument i": "is broken (it has no plugin, versions, describe, session)",
        "kernel k": "does not say about, suite, image, headers",
        "lab 15-l": "lab.toml: ",
        "load l": "load.toml is not right: ",
        "picture p": "is broken (AttributeError: ",
        "system u": "is broken (AttributeError: ",
    }.items():
        (line,) = (one for one in found[there] if f"the {kind} of the package crack" in one)
        assert line.startswith(f"note crack the {kind} of the package crack")
        assert why in line


def test_one_kernel_of_two_packages(tmp_path):
    there = tmp_path / "site"
    bench = block("A new bench", "python")
    for name in ("one", "other"):
        points = {"tennis.benches": {"constant": f"{name}.bench:ConstantBench"}}
        install(there, name, points, bench=bench)
    done = tennis(there, "rally", "--kernel", "constant", "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "the kernel constant is that of several benches, of one and other" in done.stderr
    assert not (tmp_path / "r").exists()
    # the kit's own kernels are nobody else's either
    stolen = tmp_path / "stolen"
    points = {"tennis.benches": {"thief": "thief.bench:ConstantBench"}}
    install(stolen, "thief", points, bench=bench.replace('"constant"', '"sloth"'))
    done = tennis(stolen, "rally", "--kernel", "sloth", "--out", tmp_path / "r")
    assert "of tennis and thief" in done.stderr


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


def test_entry_points_that_are_none(tmp_path):
    site = tmp_path / "site"
    install(site, "odd", {})
    (site / "odd-1.dist-info" / "entry_points.txt").write_text(
        "tennis\n[tennis.commands]\n= = =\n["
    )
    done = tennis(site, "--help")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "odd-1.dist-info/entry_points.txt cannot be read" in line


def test_the_kits_own_entries_exist():
    for group in entries.groups("tennis"):
        for entry in entries.entries(group):
            if entry.package == entries.OWN:
                assert entry.load()


def test_an_instrument_is_named_and_may_be_broken(monkeypatch):
    every = entries.entries
    half = entries.Entry(INSTRUMENTS, "half", "tests.support.terminal", "half-made")
    added = {INSTRUMENTS: (half,)}
    monkeypatch.setattr(entries, "entries", lambda group: (*every(group), *added.get(group, ())))
    assert "Packages add half. [default: builtin" in _help(SETTINGS["instrument"])
    said = "the instrument half of the package half-made is broken (it has no plugin, versions, "
    with pytest.raises(entries.EntryError, match=re.escape(said)):
        instrument_of("half")


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
    # who has no such instrument reads the rally; only what plays it again needs it
    assert run_to_end([TENNIS, "stats", tmp_path / "whole-us"]).returncode == 0
    for command in ("check", "explain"):
        away = run_to_end([TENNIS, command, tmp_path / "whole-us"])
        assert (away.returncode, len(away.stderr.splitlines())) == (2, 1)
        assert "the instrument whole-us, which no package here brings" in away.stderr
