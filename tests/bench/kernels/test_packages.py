# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Kernels that are built for targets: what decides them, what is refused, and one that plays."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from tennis.bench.kernels import packages
from tennis.bench.kernels.debugging import linux_source
from tennis.bench.kernels.requirements import fragment
from tennis.errors import BenchError, UsageError
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


def test_a_folder_that_changes_is_another_source(tree):
    first = packages.source_of(str(tree))
    (tree / "arch/arm64/new.c").write_text("int x;\n")
    assert packages.source_of(str(tree)).key != first.key
    (tree / ".config").write_text("")
    with pytest.raises(UsageError, match="make mrproper"):
        packages.source_of(str(tree))
    with pytest.raises(UsageError, match="not a source of Linux"):
        packages.tree_source(tree.parent)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("url", "ref", "reason"),
    [("--upload-pack=x", "main", "begin with a dash"), ("URL", "none", "no branch or tag 'none'")],
)
def test_what_git_must_not_get(tree, url, ref, reason):
    with pytest.raises(UsageError, match=reason):
        packages.git_source(url.replace("URL", f"file://{tree}"), ref)


def test_a_source_that_is_none():
    for text, reason in (("nowhere", "neither"), ("https://a.example/linux", "names no commit")):
        with pytest.raises(UsageError, match=reason):
            packages.source_of(text)


@pytest.mark.usefixtures("cache")
def test_a_password_in_an_address_is_not_said():
    with pytest.raises(BenchError) as failed:
        packages.git_source("https://me:secret@localhost:1/linux", "main")
    assert "secret" not in str(failed.value)
    assert "https://localhost:1/linux" in str(failed.value)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("flavour", "base", "fragments", "reason"),
    [
        ("xenomai", "defconfig", [], "no flavour 'xenomai': they are mainline, rt, evl, cobalt"),
        ("rt", "clean", [], "neither a configuration of Linux nor a file"),
        ("rt", "defconfig", [Path("none.config")], "no such file of a configuration"),
    ],
)
def test_what_cannot_be_built_is_refused(tree, flavour, base, fragments, reason):
    with pytest.raises(UsageError, match=reason):
        packages.package(flavour, packages.tree_source(tree), base, fragments)


@pytest.mark.usefixtures("cache")
def test_a_build_that_fails_keeps_its_tree_and_the_next_goes_on_there(tree, monkeypatch):
    """Tens of minutes of compiling were thrown away. No kernel is built here: `make` is made up."""
    source = packages.tree_source(tree)
    sound = "\n".join(line for line in packages.fragment("rt").splitlines())
    disk_full = BenchError("building rt failed", next_step="see what it says")
    said = {"Image": disk_full}

    def deb(folder: Path) -> None:
        (folder / "linux-image-x.deb").touch()

    def make(_source, place: Path, *words: str, what: str) -> str:
        assert what
        if words[0] == "defconfig":
            (place / ".config").write_text(sound)
        if words[0] == "Image":
            (place / "vmlinux.o").write_text("compiled for a while")
            (place / "include/config").mkdir(parents=True, exist_ok=True)
            (place / "include/config/kernel.release").write_text("6.12.0-tennis-rt-1\n")
        if words[0] in said:
            raise said[words[0]]
        return ""

    monkeypatch.setattr(packages, "make", make)
    monkeypatch.setattr(packages, "check_tools", lambda: None)
    monkeypatch.setattr(packages, "_pack", lambda _source, _tree, folder, *_: deb(folder))
    monkeypatch.setattr(packages.modules, "kernel_module", lambda *_: Path("racquet.ko"))
    with pytest.raises(
        BenchError, match=r"building rt failed.*are kept in .*the same command continues"
    ):
        packages.package("rt", source, "defconfig", [])
    (kept,) = (packages.cache_folder() / "kernel-builds").iterdir()
    assert (kept / "vmlinux.o").read_text() == "compiled for a while"
    said.clear()
    (kept / "there-already").touch()
    built = packages.package("rt", source, "defconfig", [])
    assert built.build.name == "build"
    assert (built.build / "there-already").exists()
    assert not kept.exists()


def test_device_trees_keep_their_symbols(tree, monkeypatch):
    """Without them the overlay does not apply (tests/target/test_overlays.py)."""
    asked = []
    monkeypatch.setattr(packages, "run", lambda words, what: asked.append([*words, what]))
    packages.make(packages.tree_source(tree), tree, "Image", "dtbs", what="building")
    ((*words, _),) = asked
    assert words[-3:] == ["DTC_FLAGS=-@", "Image", "dtbs"]


@pytest.mark.virtual
@pytest.mark.xdist_group("kernel-from-source")
@pytest.mark.parametrize(("flavour", "base"), [("mainline", "defconfig"), ("rt", "allnoconfig")])
def test_the_source_of_debian_takes_what_a_flavour_wants(flavour, base, tmp_path):
    """Kconfig drops an option without a word where another one is missing."""
    source = packages.tarball_source(linux_source())
    wanted = f"{SMALL.read_text()}\n{fragment(flavour)}"
    packages.configure(flavour, source, base, wanted, tmp_path)
    taken = (tmp_path / ".config").read_text()
    assert ("CONFIG_PREEMPT_RT=y\n" in taken) == (flavour == "rt")
    with pytest.raises(BenchError, match="the configuration is not one of"):
        refused = wanted.replace("CONFIG_MODULES=y", "CONFIG_MODULES=n")
        packages.configure(flavour, source, "allnoconfig", refused, tmp_path)


@pytest.fixture(scope="module")
def built():
    """Debian's linux-source with a small configuration, as the kernel role builds it."""
    source = packages.tarball_source(linux_source())
    return packages.package("rt", source, "allnoconfig", [SMALL])


@pytest.mark.virtual
@pytest.mark.xdist_group("kernel-from-source")
def test_a_kernel_from_source_plays_on_the_virtual_bench(built, tmp_path):
    assert "-tennis-rt-" in built.release
    rally = played(tmp_path / "r", kernel=str(built.build), load="idle", balls=500)
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (500, 0, False)
    assert rally.manifest.target.release == built.release


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
