"""A Raspberry Pi's card as a file: a partition table, its boot partition (FAT32), and a root."""

import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.support.processes import run_to_end

SECTOR = 512
BOOT_START, BOOT_SECTORS = 16384, 512 << 11  # as on a card of Raspberry Pi OS
ROOT_SECTORS = 8 << 11
FAT32_LBA, LINUX = 0x0C, 0x83


def write(image: Path, boot: Path) -> None:
    """Make a card whose boot partition has what is in the folder ``boot``.

    FAT has neither links nor names that differ in case only: such a folder is refused.
    """
    assert [path for path in boot.rglob("*") if path.is_symlink()] == []
    names = [str(path.relative_to(boot)).lower() for path in boot.rglob("*")]
    assert len(set(names)) == len(names), "two names differ in case only"
    size = BOOT_START + BOOT_SECTORS + ROOT_SECTORS
    table = _entry(FAT32_LBA, BOOT_START, BOOT_SECTORS)
    table += _entry(LINUX, BOOT_START + BOOT_SECTORS, ROOT_SECTORS)
    with image.open("wb") as file:
        file.write(bytes(446) + table.ljust(64, b"\0") + b"\x55\xaa")
        file.truncate(size * SECTOR)
    place = f"{image}@@{BOOT_START * SECTOR}"
    _mtools("mformat", "-F", "-T", str(BOOT_SECTORS), "-i", place, "::")
    _mtools("mcopy", "-s", "-i", place, *sorted(boot.iterdir()), "::")


@dataclass(frozen=True)
class BootPartition:
    """The files of a boot partition; names ignore upper and lower case, as on FAT."""

    files: dict[str, bytes]

    def __contains__(self, name: str) -> bool:
        return _key(name) in self.files

    def __getitem__(self, name: str) -> bytes:
        return self.files[_key(name)]


def read(image: Path) -> BootPartition:
    """Return the first FAT partition of a card, found by its partition table."""
    with image.open("rb") as file:
        head = file.read(SECTOR)
    assert head[510:] == b"\x55\xaa", "no partition table"
    entries = [head[446 + 16 * n : 462 + 16 * n] for n in range(4)]
    start = next(struct.unpack_from("<I", e, 8)[0] for e in entries if e[4] == FAT32_LBA)
    with tempfile.TemporaryDirectory() as folder:
        place = f"{image}@@{start * SECTOR}"
        _mtools("mcopy", "-s", "-n", "-i", place, "::", folder)
        paths = [path for path in Path(folder).rglob("*") if path.is_file()]
        files = {_key(str(path.relative_to(folder))): path.read_bytes() for path in paths}
    return BootPartition(files)


def _key(name: str) -> str:
    return str(PurePosixPath("/", name)).lower()


def _entry(kind: int, start: int, sectors: int) -> bytes:
    """Return an entry of the partition table, without cylinders and heads."""
    return struct.pack("<B3sB3sII", 0, b"\xfe\xff\xff", kind, b"\xfe\xff\xff", start, sectors)


def _mtools(program: str, *words: object) -> None:
    # it would refuse sizes that do not fit a disk's heads
    environment = {"PATH": "/usr/bin:/bin", "MTOOLS_SKIP_CHECK": "1"}
    done = run_to_end([program, *map(str, words)], env=environment)
    assert done.returncode == 0, done.stderr
