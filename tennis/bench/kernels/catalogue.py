"""The kernels of the virtual bench: Debian's by name, or a folder with a built arm64 tree."""

import json
import re
import shutil
import tomllib
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from tennis.bench import configuration
from tennis.bench.cache import kept, once
from tennis.bench.configuration import Flavour
from tennis.bench.debian import Package, Suite, host_architecture
from tennis.bench.kernels.kernel import Kernel
from tennis.kit.checkout import ROOT, cache_folder
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import log

CATALOGUE = ROOT / "target" / "kernels" / "debian.toml"
OLDEST = (5, 10)  # GPIO character device v2, which racquet-ready uses

# what a tree was built with; its .config may have been edited since
BUILT_CONFIG = "include/config/auto.conf"


@cache  # asked for each rally of a match
def catalogue() -> dict[str, dict[str, str]]:
    """Return the named kernels with their suites and packages."""
    return tomllib.loads(CATALOGUE.read_text())


def _folder_name(name: str) -> str:
    return f"{name}-{host_architecture()}"


def is_fetched(name: str) -> bool:
    """Tell whether a named kernel is in the cache."""
    return (cache_folder() / "kernels" / _folder_name(name) / "kernel.json").is_file()


def fetch(name: str, *, again: bool = False) -> Kernel:
    """Fetch a named kernel's image, headers and build tools; nothing happens if it is there.

    ``again`` looks for a newer version.
    """
    entry = catalogue().get(name)
    if entry is None:
        raise UsageError(_unknown(name))

    def build(folder: Path) -> None:
        log.info(f"{name}: looking in Debian's {entry['suite']}")
        arm64 = Suite(entry["suite"], "arm64")
        arm64.update()
        image = _dependency(arm64, entry["image"], r"linux-image-\d\S*")
        headers = _dependency(arm64, entry["headers"], r"linux-headers-\d\S*")
        wanted = [headers]
        common = re.findall(r"linux-headers-\d[^\s,]*common[^\s,]*", headers.depends)
        wanted += map(arm64.package, common)
        kbuild_name = _kbuild(headers)
        release = image.name.removeprefix("linux-image-")
        if not release.startswith(entry.get("release", "")):
            raise BenchError(
                f"Debian's {entry['suite']} has {release} now, which is no {name}",
                next_step="give a built tree of that kernel instead (--kernel DIR)",
            )
        # newer suites split the image: the meta package's own dependencies hold the files
        images = [image]
        pieces = re.findall(rf"linux-[a-z]+-{re.escape(release)}(?![^\s,])", image.depends)
        images += map(arm64.package, pieces)
        native = Suite(entry["suite"], host_architecture())
        if native.architecture != arm64.architecture:
            native.update()
        tools = [native.package(kbuild_name), native.package("libc6")]
        total = sum(p.size for p in [*images, *wanted, *tools])
        log.info(f"{name}: fetching {release}, {total / 1e6:.0f} MB")
        arm64.unpack(images, folder / "image")
        arm64.unpack(wanted, folder / "headers")
        native.unpack(tools[:1], folder / "headers")
        native.unpack(tools[1:], folder / "libc")
        _mend_headers(folder, release)
        record = {
            "release": release,
            "origin": f"{image.name} {image.version}",
            "packages": [asdict(p) for p in [*images, *wanted, *tools]],
        }
        (folder / "kernel.json").write_text(json.dumps(record, indent=2))

    once("kernels", _folder_name(name), build, again=again)
    return _cached(name)


def find(name_or_folder: str) -> Kernel:
    """Return the kernel that ``--kernel`` names.

    Raises UsageError for an unknown name or a folder that is no built arm64 kernel tree.
    """
    if name_or_folder in catalogue():
        return _cached(name_or_folder)
    folder = Path(name_or_folder)
    if not name_or_folder or not is_folder(folder):
        raise UsageError(_unknown(name_or_folder))
    return _tree(folder.resolve())


def refuse_unknown(name_or_folder: str, others: Iterable[str]) -> None:
    """Raise UsageError unless it is a name or a folder; ``others`` are names of benches' own."""
    if name_or_folder not in catalogue() and not is_folder(Path(name_or_folder)):
        raise UsageError(_unknown(name_or_folder, others))


def flavour_of(name_or_folder: str) -> Flavour:
    """Return the flavour of the kernel that ``--kernel`` names, without a check that it is one.

    That of a named kernel that is not here yet, or of a folder without a configuration, is
    mainline.
    """
    if name_or_folder in catalogue():
        return _cached(name_or_folder).flavour if is_fetched(name_or_folder) else "mainline"
    config = Path(name_or_folder, BUILT_CONFIG)
    if not name_or_folder or not _is_file(config):
        return "mainline"
    return configuration.flavour_of(configuration.read_config(config.read_text(errors="replace")))


def is_folder(path: Path) -> bool:
    """Tell whether there is a folder, also for a name that cannot be one."""
    try:
        return path.is_dir()
    except OSError:  # too long a name
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long a name
        return False


def _unknown(name: str, others: Iterable[str] = ()) -> str:
    names = ", ".join([*catalogue(), *others])
    return f"no kernel {name!r}: use {names}, or the folder of a built arm64 kernel tree"


def _dependency(suite: Suite, meta: str, pattern: str) -> Package:
    depends = suite.package(meta).depends
    match = re.search(rf"(?:^|[\s,])({pattern}?)(?=[\s,]|$)", depends)
    if not match:
        raise BenchError(f"{meta} in {suite.name} names no kernel (it depends on {depends!r})")
    return suite.package(match.group(1))


def _kbuild(headers: Package) -> str:
    match = re.search(r"linux-kbuild-[^\s,]+", headers.depends)
    if not match:
        raise BenchError(f"{headers.name} names no linux-kbuild")
    return match.group(0)


def _mend_headers(folder: Path, release: str) -> None:
    """Make unpacked headers work in their folder, and on an older host.

    The build tools (modpost, fixdep) may want a newer C library than the host's: each gets a
    wrapper that starts it with the C library of its own suite.
    """
    build = folder / "headers" / "usr" / "src" / f"linux-headers-{release}"
    makefile = build / "Makefile"
    # the cache's folder is renamed after this, so make computes the path when it runs
    here = "$(dir $(abspath $(firstword $(MAKEFILE_LIST))))"
    text = makefile.read_text().replace("KBUILD_OUTPUT=", "KBUILD_OUTPUT:=")
    makefile.write_text(text.replace("/usr/src/", f"{here}../"))
    for link in [p for p in build.iterdir() if p.is_symlink()]:
        if str(link.readlink()).startswith("/usr/"):
            link.unlink()
    tools = next((folder / "headers" / "usr" / "lib").glob("linux-kbuild-*"))
    for name in ("scripts", "tools"):
        link = build / name
        if (tools / name).is_dir() and not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(Path("../../lib") / tools.name / name)
    loaders = (folder / "libc").rglob("ld-linux-*.so.*")
    # the link in /lib64 may be absolute, and is then the one of the host
    loader = next(path for path in loaders if not path.is_symlink())
    library = next((folder / "libc").rglob("libc.so.6")).parent
    for program in sorted(tools.rglob("*")):
        if program.is_symlink() or not program.is_file() or not program.stat().st_mode & 0o100:
            continue
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        real = program.with_name(program.name + ".elf")
        program.rename(real)
        # Debian's modpost only picks the one for the target's byte order and word size, by way of
        # /proc/self/exe, which is the loader here
        chosen = program.with_name(program.name + ".real-lsb-64")
        if chosen.exists() or chosen.with_name(chosen.name + ".elf").exists():
            real = chosen.with_name(chosen.name + ".elf")
        up = "/".join([".."] * len(program.parent.relative_to(folder).parts))
        program.write_text(
            "#!/bin/sh\n"
            "# the suite's own C library: the host's may be too old for this program\n"
            'here=$(dirname "$(readlink -f "$0")")\n'
            f'exec "$here/{up}/{loader.relative_to(folder)}" '
            f'--library-path "$here/{up}/{library.relative_to(folder)}" "$here/{real.name}" "$@"\n'
        )
        program.chmod(0o755)


def _cached(name: str) -> Kernel:
    fetched = f"tennis kernels fetch {name}"
    folder = kept("kernels", _folder_name(name), f"the kernel {name} is", fetched)
    try:
        record = json.loads((folder / "kernel.json").read_text())
        release = record["release"]
        # newer packages keep both beside the modules
        boot, modules = folder / "image/boot", folder / "image/usr/lib/modules" / release
        image = next(filter(Path.is_file, (boot / f"vmlinuz-{release}", modules / "vmlinuz")))
        config = next(filter(Path.is_file, (boot / f"config-{release}", modules / "config")))
    except (OSError, ValueError, KeyError, StopIteration) as error:
        raise BenchError(
            f"the cached kernel {name} is broken",
            next_step=f"run 'tennis kernels fetch --again {name}'",
        ) from error
    build = folder / "headers" / "usr" / "src" / f"linux-headers-{release}"
    return Kernel(name, release, record["origin"], image, build, config)


def _tree(folder: Path) -> Kernel:
    """Return a built arm64 kernel tree. Raises UsageError with the reason if it is not one."""

    def refuse(why: str) -> UsageError:
        return UsageError(f"{folder} is not a built arm64 kernel tree: {why}")

    image = folder / "arch" / "arm64" / "boot" / "Image"
    for path, why in (
        (folder / "Makefile", "it has no Makefile"),
        (folder / ".config", "it has no .config; run 'make ARCH=arm64 defconfig' there"),
        (
            folder / "include/config/auto.conf",
            "it is not built; run 'make ARCH=arm64 Image modules'",
        ),
        (folder / "include/generated/utsrelease.h", "it is not built"),
        (folder / "Module.symvers", "it has no Module.symvers; run 'make ARCH=arm64 modules'"),
        (image, "it has no arch/arm64/boot/Image; run 'make ARCH=arm64 Image'"),
    ):
        if not path.is_file():
            raise refuse(why)
    if not image.stat().st_size:
        raise refuse("its arch/arm64/boot/Image is empty; run 'make ARCH=arm64 Image'")
    from tennis.bench.kernels.requirements import virtual_needs  # noqa: PLC0415 (it loads pydantic

    # the configuration of the build, not a .config that was edited since
    options = configuration.read_config((folder / BUILT_CONFIG).read_text(errors="replace"))
    missing = [
        f"{name} ({option.reason})"
        for name, option in virtual_needs().required.items()
        if not option.suits(options.get(name, "n"))
    ]
    if missing:
        raise refuse(f"it was built without {', '.join(missing)}; docs/kernels.md leads to one")
    header = (folder / "include/generated/utsrelease.h").read_text(errors="replace")
    match = re.search(r'UTS_RELEASE\s+"((\d+)\.(\d+)[^"]*)"', header)
    if not match:
        raise refuse("include/generated/utsrelease.h names no release")
    release = match.group(1)
    if (int(match.group(2)), int(match.group(3))) < OLDEST:
        raise UsageError(f"{folder} holds Linux {release}: 5.10 or newer is needed")
    name = f"{configuration.flavour_of(options)}-{release}"
    return Kernel(name, release, f"a built tree, {name}", image, folder, folder / BUILT_CONFIG)


def free_space_mb() -> int:
    """Return the free space of the cache folder's disk in MB."""
    home = cache_folder()
    while not home.exists():
        home = home.parent
    return shutil.disk_usage(home).free // 2**20
