"""Kernels for physical targets: cross-built once on this machine into Debian packages.

Its name has a key of all that determines the result: source, configuration, compiler. The release
that ``uname -r`` shows ends in that key, so two builds are never confused, and both can be
installed on a target. The build tree is kept, without its object files: modules are built against
it later, and ``tennis rally --kernel`` plays on it on the virtual bench.
"""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.bench.configuration import Flavour, read_config
from tennis.bench.kernels import modules
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.kernels.requirements import check_config, fragment, requirements
from tennis.kit.checkout import ROOT, cache_folder
from tennis.kit.errors import BenchError, TennisError, UsageError
from tennis.kit.log import log
from tennis.kit.share import processors

PREFIX = modules.PREFIX
RECIPE = 1  # another number builds everything again
NEEDED_MB = 4000  # of a small configuration; a distribution's takes five times as much
VERSION_LENGTH = 8  # of the key, in the release
TOOLS = ("make", "flex", "bison", "bc", f"{PREFIX}gcc", "dpkg-deb", "depmod")
# a build that records time, place and user gives other bytes every time
QUIET = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "tennis",
    "KBUILD_BUILD_HOST": "tennis",
    "KBUILD_BUILD_VERSION": "1",
}

POSTINST = """#!/bin/sh
# what a kernel's package does everywhere: initramfs, boot loader, DKMS
set -e
depmod {release}
case $1 in
configure)
    mkdir -p /etc/kernel/{stage}.d
    DEB_MAINT_PARAMS="$*" run-parts --report --exit-on-error --arg={release} \\
        --arg=/boot/vmlinuz-{release} /etc/kernel/{stage}.d
    ;;
esac
"""
POSTRM = """#!/bin/sh
set -e
[ ! -d /etc/kernel/postrm.d ] || DEB_MAINT_PARAMS="$*" run-parts --report \\
    --exit-on-error --arg={release} --arg=/boot/vmlinuz-{release} /etc/kernel/postrm.d
"""


@dataclass(frozen=True)
class _Source:
    """The source of a kernel: a commit of a repository, an archive, or a folder."""

    folder: Path
    key: str  # changes when the source does
    origin: str  # for people


@dataclass(frozen=True)
class _Built:
    """A package, the kernel that is in it, and the Racquet for that kernel."""

    release: str
    deb: Path
    build: Path  # for `tennis rally --kernel`
    racquet: Path
    origin: str


def source_of(text: str) -> _Source:
    """Return what FOLDER, ARCHIVE or REPOSITORY#COMMIT holds. Raises BenchError, UsageError."""
    path = Path(text)
    if path.is_dir():
        return _tree_source(path)
    url, _, ref = text.rpartition("#")
    if url and not path.is_file():
        return _git_source(url, ref)
    if "://" in text:
        raise UsageError(
            f"{_without_password(text)} names no commit",
            next_step="add a branch, a tag or a commit: REPOSITORY#v6.12",
        )
    return tarball_source(path)


def _git_source(url: str, ref: str) -> _Source:
    """Fetch one commit of a repository, once. Raises BenchError, UsageError."""
    if url.startswith("-") or ref.startswith("-"):
        raise UsageError(f"{url} {ref}: a repository and a ref do not begin with a dash")
    commit = ref
    if not re.fullmatch(r"[0-9a-f]{40}", ref):
        references = _git(
            url, ["git", "ls-remote", "--", url, ref, f"{ref}^{{}}"], f"asking for {ref}"
        )
        commits = re.findall(r"^([0-9a-f]{40})\t", references, re.MULTILINE)
        if not commits:
            raise UsageError(f"{_without_password(url)} has no branch or tag {ref!a}")
        commit = commits[-1]  # of an annotated tag: the commit that it names

    def build(folder: Path) -> None:
        log.info(f"fetching {ref} ({commit[:12]}) of {_without_password(url)}")
        tree = folder / "source"
        run(["git", "init", "-q", tree], what="making a repository")
        arguments = ["fetch", "-q", "--depth", "1", "--", url, commit]
        _git(url, ["git", "-C", str(tree), *arguments], f"fetching {commit[:12]}")
        run(["git", "-C", tree, "checkout", "-q", "FETCH_HEAD"], what="checking it out")
        shutil.rmtree(tree / ".git")

    folder = once("kernel-sources", commit, build) / "source"
    return _Source(_a_tree(folder), commit, f"{_without_password(url)} {ref}")


def tarball_source(path: Path) -> _Source:
    """Unpack an archive, once. Raises BenchError, UsageError."""
    if not path.is_file():
        raise UsageError(f"{path} is neither a folder nor an archive")
    key = digest(path)

    def build(folder: Path) -> None:
        log.info(f"unpacking {path.name}")
        tree = folder / "source"
        tree.mkdir()
        command: list[str | Path] = [
            "tar",
            "-C",
            tree,
            "--strip-components=1",
            "--no-same-owner",
            "-xf",
            path,
        ]
        run(command, what=f"unpacking {path.name}")

    return _Source(_a_tree(once("kernel-sources", key, build) / "source"), key, path.name)


def _tree_source(folder: Path) -> _Source:
    """Take a folder as it is; it must be clean (``make mrproper``). Raises UsageError."""
    tree = _a_tree(folder.resolve())
    if (tree / ".config").exists():
        raise UsageError(
            f"{tree} is built in", next_step="run 'make mrproper' there, and keep its .config"
        )
    states = []
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
            stat = path.stat()
            states.append(f"{path.relative_to(tree)} {stat.st_size} {stat.st_mtime_ns}")
    return _Source(tree, digest("\n".join(states)), str(folder))


def _a_tree(folder: Path) -> Path:
    if not (folder / "Kconfig").is_file() or not (folder / "arch" / "arm64").is_dir():
        raise UsageError(f"{folder} is not a source of Linux: it has no Kconfig or no arch/arm64")
    return folder


def _git(url: str, command: Sequence[str], what: str) -> str:
    """Run git; remove the password from the address that its error messages name."""
    try:
        return run(command, what=what)
    except BenchError as error:
        message = str(error).replace(url, _without_password(url))
        raise BenchError(re.sub(r"//[^/@\s]*@", "//", message)) from None


def _without_password(url: str) -> str:
    """Return an address without the user and password before its @."""
    return re.sub(r"//[^/@]*@", "//", url)


def package(flavour: str, source: _Source, base: str, fragments: Sequence[Path]) -> _Built:
    """Build a kernel's package, or return the one that was built from the same things.

    ``base``: ``defconfig``, another name of arch/arm64/configs, ``allnoconfig``, or a file. Upon it
    come ``fragments`` in their order, and then what the flavour's requirements say. Raises
    UsageError, and BenchError if a program is missing, an option was not taken or the compiler
    failed.
    """
    if flavour not in get_args(Flavour):
        raise UsageError(f"no flavour {flavour!a}: they are {', '.join(get_args(Flavour))}")
    check_tools()
    for path in fragments:
        if not path.is_file():
            raise UsageError(f"{path}: no such file of a configuration")
    wanted = "\n".join([*(path.read_text() for path in fragments), fragment(flavour)])
    base_file = Path(base)
    is_target = re.fullmatch(r"([a-z0-9_]+_)?defconfig|all(no|yes|mod)config", base) is not None
    if not is_target and not base_file.is_file():
        raise UsageError(f"{base}: neither a configuration of Linux nor a file")
    key = digest(
        *(str(RECIPE), flavour, source.key, modules.compiler_version(), wanted),
        base if is_target else base_file,
    )

    def build(folder: Path) -> None:
        with _kept_tree(f"{flavour}-{key}") as tree:
            local = f'CONFIG_LOCALVERSION="-tennis-{flavour}-{key[:VERSION_LENGTH]}"'
            options = f"{wanted}\n{local}\n# CONFIG_LOCALVERSION_AUTO is not set"
            _configure(flavour, source, base if is_target else base_file, options, tree)
            log.info(f"{flavour}: building {source.origin} (tens of minutes)")
            targets = ["Image", "modules"]
            if "CONFIG_ARCH_BCM2835=y" in (tree / ".config").read_text():
                targets.append("dtbs")
            make(source, tree, *targets, what=f"building {flavour}")
            release = (tree / "include/config/kernel.release").read_text().strip()
            _pack(source, tree, folder, release, key)
        clean(tree)
        tree.rename(folder / "build")
        record = {"release": release, "origin": source.origin, "flavour": flavour}
        (folder / "package.json").write_text(json.dumps(record, indent=2))

    folder = once("kernel-packages", f"{flavour}-{key}", build)
    record = json.loads((folder / "package.json").read_text())
    tree = folder / "build"
    image = tree / "arch/arm64/boot/Image"
    # not by kernels.find: this one need not suit the virtual machine
    kernel = Kernel(flavour, record["release"], record["origin"], image, tree, tree / ".config")
    name = "racquet" if flavour in {"mainline", "rt"} else f"racquet_{flavour}"
    module = modules.kernel_module(ROOT / "target" / "racquet" / f"{name}.c", kernel)
    deb = next(folder.glob("linux-image-*.deb"))
    return _Built(record["release"], deb, folder / "build", module, record["origin"])


@contextmanager
def _kept_tree(name: str) -> Iterator[Path]:
    """Return the folder of a kernel's build: apart from the complete ones, as it may fail.

    After a failure the object files stay there to be examined, and the next try continues with
    them: the name holds source, configuration and compiler. Raises BenchError, which names the
    folder.
    """
    tree = cache_folder() / "kernel-builds" / name
    if not tree.is_dir():
        tree.parent.mkdir(parents=True, exist_ok=True)
        free_mb = shutil.disk_usage(tree.parent).free // 2**20
        if free_mb < NEEDED_MB:
            raise BenchError(
                f"{cache_folder()} has {free_mb} MB free, a kernel needs {NEEDED_MB} MB at least",
                next_step="free some, or set TENNIS_CACHE",
            )
        tree.mkdir()
    try:
        yield tree
    except TennisError as error:
        raise BenchError(
            f"{error}; the built files are kept in {tree}",
            next_step="correct the cause, and the same command continues there; or remove it",
        ) from error


def check_tools() -> None:
    """Raise BenchError if a program is missing that builds kernels."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise BenchError(
            f"{', '.join(missing)} missing", next_step="run 'scripts/setup.sh --provision'"
        )


def make(source: _Source, tree: Path, *words: str, what: str) -> str:
    """Run make in a source of Linux, for arm64, with its output in ``tree``."""
    return run(
        [
            *("nice", "make", "-C", source.folder, f"O={tree}", "ARCH=arm64"),
            *(f"CROSS_COMPILE={PREFIX}", f"-j{processors()}", "-s"),
            *(f"{name}={value}" for name, value in QUIET.items()),
            "DTC_FLAGS=-@",  # device trees keep their symbols, which an overlay names
            *words,
        ],
        what=what,
    )


def clean(tree: Path) -> None:
    """Remove what building a module against the tree does not take."""
    for path in tree.rglob("*.o"):
        if "scripts" not in path.parts:
            path.unlink()
    for name in ("vmlinux", "vmlinux.unstripped", ".tmp_vmlinux1", ".tmp_vmlinux2"):
        (tree / name).unlink(missing_ok=True)


def check_taken(tree: Path, fragment: Path) -> None:
    """Raise BenchError if Kconfig dropped an option without a word."""
    taken = read_config((tree / ".config").read_text())
    wanted = read_config(fragment.read_text())
    lost = [name for name, value in wanted.items() if taken.get(name) != value]
    if lost:
        raise BenchError(f"{fragment.name}: Linux did not take {', '.join(lost)}")


def _configure(flavour: str, source: _Source, base: str | Path, options: str, tree: Path) -> None:
    """Write .config: the base and the wanted options; check that they were accepted."""
    config = tree / ".config"
    if isinstance(base, str):
        make(source, tree, base, what=f"the configuration {base}")
    else:
        shutil.copy(base, config)
    with config.open("a") as file:
        file.write(f"\n{options}\n")
    make(source, tree, "olddefconfig", what="settling the configuration")
    taken = read_config(config.read_text())
    bad = [f for f in check_config(requirements(flavour), taken) if f.verdict == "bad"]
    if bad:
        raise BenchError(
            f"the configuration is not one of {flavour}: "
            + "; ".join(f"{finding.what} ({finding.found})" for finding in bad[:5])
        )


def _pack(source: _Source, tree: Path, folder: Path, release: str, key: str) -> None:
    """Write the Debian package of a build; the same bytes from the same build."""
    stage = folder / "stage"
    boot = stage / "boot"
    boot.mkdir(parents=True)
    shutil.copy(tree / "arch/arm64/boot/Image", boot / f"vmlinuz-{release}")
    shutil.copy(tree / ".config", boot / f"config-{release}")
    shutil.copy(tree / "System.map", boot / f"System.map-{release}")
    make(
        source,
        tree,
        "modules_install",
        f"INSTALL_MOD_PATH={stage / 'usr'}",
        "INSTALL_MOD_STRIP=1",
        "DEPMOD=true",  # the package's own script does it, on the target
        what="installing the modules",
    )
    home = stage / "usr" / "lib" / "modules" / release
    home.mkdir(parents=True, exist_ok=True)
    for link in ("build", "source"):
        (home / link).unlink(missing_ok=True)
    if (tree / "arch/arm64/boot/dts/broadcom").is_dir():
        place = stage / "usr" / "lib" / f"linux-image-{release}"
        make(source, tree, "dtbs_install", f"INSTALL_DTBS_PATH={place}", what="device trees")
    size_kb = sum(p.stat().st_size for p in stage.rglob("*") if p.is_file()) // 1024
    control = stage / "DEBIAN"
    control.mkdir()
    name = f"linux-image-{release}"
    version = f"{release.partition('-')[0]}-1+{key[:VERSION_LENGTH]}"
    (control / "control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: arm64\nSection: kernel\n"
        f"Priority: optional\nMaintainer: Tennis <tennis@localhost>\nInstalled-Size: {size_kb}\n"
        f"Depends: kmod\nDescription: Linux {release}, built by tennis kernels package\n"
    )
    for script, text in (
        ("postinst", POSTINST.format(release=release, stage="postinst")),
        ("postrm", POSTRM.format(release=release)),
    ):
        (control / script).write_text(text)
        (control / script).chmod(0o755)
    deb = folder / f"{name}_{version}_arm64.deb"
    run(
        [
            *("env", "SOURCE_DATE_EPOCH=1767225600"),
            *("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", stage, deb),
        ],
        what=f"packing {name}",
    )
    shutil.rmtree(stage)
