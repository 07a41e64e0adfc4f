"""Kernels that are built for targets: what decides them, what is refused, and one that plays."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from tennis.bench.kernels import packages
from tennis.bench.kernels.debugging import _linux_source
from tennis.bench.kernels.requirements import fragment
from tennis.kit.errors import BenchError
from tests.support.small_kernel import SMALL
from tests.support.virtual import played


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tree(tmp_path):
    """A folder that looks like the source of Linux, in a repository."""
    folder = tmp_path / "linux"
    (folder / "arch/arm64").mkdir(parents=True)
    (folder / "Kconfig").write_text("mainmenu\n")
    (folder / "arch/arm64/Kconfig").write_text("config ARM64\n")
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    git(folder, "tag", "v1")
    return folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "tag.gpgsign=false"]
    return subprocess.check_output(["git", "-C", folder, *who, *words], text=True).strip()


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.usefixtures("cache")
def test_a_ref_is_fetched_once_and_a_moved_branch_again(tree, heard):
    first = packages.source_of(f"file://{tree}#main")
    assert (first.folder / "Kconfig").read_text() == "mainmenu\n"
    assert not (first.folder / ".git").exists()
    assert packages.source_of(f"file://{tree}#v1").key == first.key
    assert len(heard) == 1
    (tree / "Kconfig").write_text("another\n")
    moved = commit(tree)
    assert packages.source_of(f"file://{tree}#main").key == moved != first.key
    assert len(heard) == 2
    assert packages.source_of(f"file://{tree}#v1").key == first.key
    git(tree, "tag", "-a", "-m", "x", "v2")  # which is an object of its own
    assert packages.source_of(f"file://{tree}#v2").key == moved


@pytest.mark.usefixtures("cache")
def test_an_archive_is_its_bytes(tree, tmp_path):
    archive = tmp_path / "linux.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tree, "linux-1.0")
    first = packages.source_of(str(archive))
    assert (first.folder / "Kconfig").exists()
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tree, "linux-1.1")
    assert packages.source_of(str(archive)).key != first.key


@pytest.mark.release
@pytest.mark.virtual
@pytest.mark.xdist_group("kernel-from-source")
@pytest.mark.parametrize(("flavour", "base"), [("mainline", "defconfig"), ("rt", "allnoconfig")])
def test_the_source_of_debian_takes_what_a_flavour_wants(flavour, base, tmp_path):
    """Kconfig drops an option without a word where another one is missing."""
    source = packages.tarball_source(_linux_source())
    wanted = f"{SMALL.read_text()}\n{fragment(flavour)}"
    packages._configure(flavour, source, base, wanted, tmp_path)
    taken = (tmp_path / ".config").read_text()
    assert ("CONFIG_PREEMPT_RT=y\n" in taken) == (flavour == "rt")
    with pytest.raises(BenchError, match="the configuration is not one of"):
        refused = wanted.replace("CONFIG_MODULES=y", "CONFIG_MODULES=n")
        packages._configure(flavour, source, "allnoconfig", refused, tmp_path)


@pytest.fixture(scope="module")
def built():
    """Debian's linux-source with a small configuration, as the kernel role builds it."""
    source = packages.tarball_source(_linux_source())
    return packages.package("rt", source, "allnoconfig", [SMALL])


@pytest.mark.release
@pytest.mark.virtual
@pytest.mark.xdist_group("kernel-from-source")
def test_a_kernel_from_source_plays_on_the_virtual_bench(built, tmp_path):
    assert "-tennis-rt-" in built.release
    rally = played(tmp_path / "r", kernel=str(built.build), load="idle", balls=500)
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (500, 0, False)
    assert rally.manifest.target.release == built.release


@pytest.mark.release
@pytest.mark.virtual
@pytest.mark.xdist_group("kernel-from-source")
def test_its_package_is_one(built):
    fields = subprocess.check_output(["dpkg-deb", "-f", built.deb], text=True)
    assert f"Package: linux-image-{built.release}\n" in fields
    assert "Architecture: arm64\n" in fields
    files = subprocess.check_output(["dpkg-deb", "-c", built.deb], text=True)
    assert f"./boot/vmlinuz-{built.release}\n" in files
    assert "root/root" in files
    said = subprocess.check_output(["modinfo", "-F", "vermagic", built.racquet], text=True)
    assert said.split()[0] == built.release
