"""What people install: built twice with the same bytes, and playing where there is no checkout."""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end, stand_in
from tests.support.shared import made_once
from tests.support.terminal import tennis

pytestmark = pytest.mark.xdist_group("dist")


def build(folder: Path) -> None:
    done = run_to_end([ROOT / "scripts/dist.sh", folder / "dist"])
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    return made_once(tmp_path_factory, "dist", build) / "dist"


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


class Installed:
    """A fresh environment with the wheel; what it depends on is that of this .venv."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        site = only(folder / "venv/lib", "python3*/site-packages")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
        own = ["--quiet", "--no-index", "--no-deps", "--no-compile"]
        environment = ["--python", folder / "venv/bin/python"]
        subprocess.run([*pip[:-1], *environment, "install", *own, wheel], check=True)
        # a folder that is named by a .pth has no .pth of its own: not the checkout's either
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def tennis(self, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_to_end(
            [self.folder / "venv/bin/tennis", *map(str, words)],
            cwd=self.folder,
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory, dist):
    return Installed(tmp_path_factory.mktemp("installed"), only(dist, "*.whl"))


@pytest.mark.more
def test_the_same_commit_gives_the_same_bytes(dist, tmp_path):
    (tmp_path / "dist.part/dist").mkdir(parents=True)  # as a kill leaves it
    (tmp_path / "dist.part/dist/old.whl").touch()
    build(tmp_path)
    for path in dist.iterdir():
        assert path.read_bytes() == (tmp_path / "dist" / path.name).read_bytes(), path.name
    sums = dict(
        reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines()
    )
    assert set(sums) == {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest


def test_an_existing_folder_is_not_written_to(dist):
    done = run_to_end([ROOT / "scripts/dist.sh", dist])
    assert (done.returncode, "exists" in done.stderr) == (2, True)


def test_a_build_that_was_killed_is_in_nobodys_way(dist, tmp_path):
    """Half a folder was left; the advice to remove it destroyed one that was being built."""
    (tmp_path / "dist.part/tree").mkdir(parents=True)
    with (ROOT / "scripts/dist.sh").open() as script:
        fcntl.flock(script, fcntl.LOCK_EX)
        done = run_to_end([ROOT / "scripts/dist.sh", tmp_path / "dist"])
    assert (done.returncode, done.stderr) == (
        2,
        "dist: another build of this checkout runs: wait for it\n",
    )
    assert (tmp_path / "dist.part/tree").is_dir()
    assert not list(dist.parent.glob("*.part"))


def test_no_answer_is_in_what_students_install(dist):
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        names = wheel.namelist()
    with tarfile.open(only(dist, "*.tar.gz")) as sdist:
        names += sdist.getnames()
    answers = ("solution.toml", "wrong.toml", "/exam/")
    assert [name for name in names if any(one in name for one in answers)] == []
    assert [n for n in names if "node_modules" in n or n.endswith(".pyc") or "/tests/" in n] == []
    for needed in ("target/racquet/racquet.c", "loads/stress/load.toml", "labs/course.toml"):
        assert f"tennis/tree/{needed}" in names


def test_the_list_of_parts_names_every_dependency_with_its_version(dist):
    parts = json.loads((dist / "sbom.cdx.json").read_text())
    assert parts["metadata"]["component"]["name"] == "tennis-rt"
    versions = {one["name"]: one["version"] for one in parts["components"]}
    assert {"click", "cramjam", "numpy", "pydantic-core"} <= set(versions)
    assert "pytest" not in versions
    pinned = dict(
        line.lower().replace("_", "-").split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    assert {name: pinned[name] for name in versions} == versions


def test_nothing_of_the_checkout_is_read(installed):
    done = installed.tennis("kernels", "--help", PYTHONVERBOSE="1")
    assert done.returncode == 0, done.stderr[-2000:]
    modules = [line for line in done.stderr.splitlines() if "tennis/cli" in line]
    assert modules
    assert [line for line in modules if str(ROOT / "tennis") in line] == []


def test_it_says_which_commit_it_is_of(installed):
    assert installed.tennis("--version").stdout == tennis("--version").stdout


@pytest.mark.virtual
def test_an_installed_tennis_plays_what_the_checkout_plays(installed):
    words = ("rally", "--load", "hog", "--balls", "60", "--seed", "7", "--out")
    done = installed.tennis(*words, installed.folder / "a")
    assert done.returncode == 0, done.stderr
    done = tennis("check", installed.folder / "a")
    assert done.returncode == 0, done.stderr
    assert "60 balls played again, every tick the same" in done.stdout


def test_a_lab_starts_and_a_firmware_is_there(installed):
    done = installed.tennis("lab", "start", "01", "--as", "Ada Lovelace")
    assert done.returncode == 0, done.stderr
    assert (installed.folder / "lab-01/notebook.md").exists()
    done = installed.tennis("lab", "start", "03", "--as", "Ada Lovelace")
    assert done.returncode == 0, done.stderr
    assert (installed.folder / "lab-03/racquet.c").exists()


def test_setup_names_what_is_missing_and_never_asks_for_root(installed, tmp_path):
    done = installed.tennis("setup", "--plan")
    assert done.returncode == 0, done.stderr
    assert "packages that are missing: none" in done.stdout
    answer = "case $4 in kmod|make) exit 1;; *) echo 'installed ';; esac"
    stand_in(tmp_path / "dpkg-query", answer)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = installed.tennis("setup", PATH=path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "2 packages are missing" in done.stderr
    assert "apt-get install --no-install-recommends make kmod" in done.stderr


def test_a_checkout_has_its_own_setup():
    done = tennis("setup")
    assert (done.returncode, "make setup" in done.stderr) == (2, True)


def test_a_namesake_is_refused(tmp_path_factory, dist):
    """PyPI's ``tennis`` scores matches; this stands for it, with the files that it has."""
    place = Installed(tmp_path_factory.mktemp("both"), only(dist, "*.whl"))
    site = only(place.folder / "venv/lib", "python3*/site-packages")
    (site / "tennis/__init__.py").write_text("class Match: ...\n")
    info = site / "tennis-0.1.7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tennis\nVersion: 0.1.7\n")
    (info / "RECORD").write_text("tennis/__init__.py,,\ntennis/match.py,,\n")
    done = place.tennis("--version")
    assert done.returncode == 1
    assert done.stderr.startswith("tennis: the package 'tennis', which scores matches")
    assert "pip uninstall tennis" in done.stderr


@pytest.mark.more
def test_a_fresh_environment_gets_all_that_playing_imports(dist, tmp_path):
    """With what the registry has, and no package of this .venv."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    pip = [tmp_path / "venv/bin/pip", "install", only(dist, "*.whl")]
    done = run_to_end(pip, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    pips = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
    site = only(tmp_path / "venv/lib", "python3*/site-packages")
    packages = (path for path in site.iterdir() if not path.name.startswith(pips))
    files = (file for path in packages for file in (path, *path.rglob("*")) if file.is_file())
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    (said,) = re.findall(r"brings (\d+) MB of Python", (ROOT / "docs/install.md").read_text())
    assert megabytes == pytest.approx(int(said), rel=0.05)
    assert megabytes < 200
    for words in (["--version"], ["match", "--help"], ["setup", "--plan"]):
        done = run_to_end([tmp_path / "venv/bin/tennis", *words], cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
    assert "packages that are missing: none" in done.stdout
