"""The virtual target's root file system: a few Debian programs, the modules, one init script."""

import json
import os
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tennis.bench.cache import digest, kept, once
from tennis.bench.debian import Suite
from tennis.bench.kernels.program_packages import PROGRAMS, suite
from tennis.kit.digests import sha256_of, sha256_of_folder
from tennis.kit.errors import TennisError
from tennis.kit.log import log

Files = dict[str, list[str]]  # package -> files of it


@dataclass(frozen=True)
class Link:
    """A symbolic link in the target, to a place there."""

    to: str


@cache
def _table() -> dict[str, Files]:
    """Return the needed files, by the package that a load names; the base has the name ""."""
    content = tomllib.loads(PROGRAMS.read_text())
    return {"": content["base"], **content["load"]}


def _packages_of_load(load_packages: Iterable[str]) -> Files:
    """Return the files of a load with these packages; the base is a part of it."""
    base = _table()[""]
    needed = {package: list(files) for package, files in base.items()}
    for name in load_packages:
        if name not in _table() and name not in base:
            raise TennisError(f"{PROGRAMS.name} lacks the package {name}, which a load names")
        for package, files in _table().get(name, {}).items():
            needed[package] = list(dict.fromkeys([*needed.get(package, []), *files]))
    return needed


def _place(package: str, file: str) -> str:
    """Return the path in the target."""
    if "/lib/aarch64-linux-gnu/" in f"/{file}":
        return f"lib/{Path(file).name}"
    return f"bin/{Path(file).name}" if package in _table()[""] else file


def _key() -> str:
    return f"{suite()}-{digest(PROGRAMS)}"


def fetch(*, again: bool = False) -> None:
    """Fetch the programs of the target for all loads; nothing happens if they are there."""
    name = suite()

    def build(folder: Path) -> None:
        log.info(f"programs of the virtual target: looking in Debian's {name}")
        debian = Suite(name, "arm64")
        debian.update()
        needed = _packages_of_load(_table().keys() - {""})
        packages = debian.packages(sorted(needed))
        debian.unpack(packages, folder / "packages")
        for package, files in needed.items():
            for file in files:
                place = folder / "root" / _place(package, file)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / "packages" / file, place)
        shutil.rmtree(folder / "packages")
        (folder / "packages.json").write_text(json.dumps([asdict(p) for p in packages], indent=2))

    once("userland", _key(), build, again=again)


def _userland() -> Path:
    return kept("userland", _key(), "the virtual target's programs are", "tennis kernels fetch")


def package_versions(load_packages: Iterable[str] = ()) -> dict[str, str]:
    """Return package -> version of the target's programs."""
    packages = json.loads((_userland() / "packages.json").read_text())
    needed = _packages_of_load(load_packages)
    return {
        package["name"]: package["version"] for package in packages if package["name"] in needed
    }


def programs(load_packages: Iterable[str] = ()) -> dict[str, Path]:
    """Return the programs and libraries of a target: path there -> file here."""
    root = _userland() / "root"
    return {
        place: root / place
        for package, parts in _packages_of_load(load_packages).items()
        for place in (_place(package, part) for part in parts)
    }


def sha256_of_places(files: Mapping[str, Path | Link]) -> str:
    """Return the SHA-256 of files at their places on the target."""
    return sha256_of_folder(
        {
            place: (file.to if isinstance(file, Link) else sha256_of(file)).encode()
            for place, file in files.items()
        }
    )


def pack(files: Mapping[str, bytes | Path | Link], load_packages: Iterable[str] = ()) -> int:
    """Pack the initramfs: the programs and ``files`` (path in the target -> content).

    ``load_packages``: what the load needs besides the programs of every target. Everything is
    executable. Same input, same bytes. Returns the descriptor of a file in memory, so that no disk
    fills and nothing is left behind; the caller closes it.
    """
    content: dict[str, bytes | Path | Link] = {**programs(load_packages)}
    content.update({name.lstrip("/"): data for name, data in files.items()})
    folders = {str(parent) for name in content for parent in Path(name).parents}
    image = os.memfd_create("initramfs")
    with os.fdopen(os.dup(image), "wb") as archive:
        names = sorted({*content, *folders, "proc", "sys", "dev", "tmp"} - {"."})
        for number, name in enumerate(names, 1):
            data = content.get(name)
            if data is None:
                archive.write(_entry(number, name, 0o40755))
            elif isinstance(data, Link):
                archive.write(_entry(number, name, 0o120777, data.to.encode()))
            else:
                whole = data.read_bytes() if isinstance(data, Path) else data
                archive.write(_entry(number, name, 0o100755, whole))
        archive.write(_entry(0, "TRAILER!!!", 0))
    return image


def _entry(number: int, name: str, mode: int, data: bytes = b"") -> bytes:
    """Return an entry of a cpio archive in the "newc" form, which the kernel unpacks.

    Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst. Owner and date
    are 0.
    """
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
