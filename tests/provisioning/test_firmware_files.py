"""Which file is the command line, for all who write it; compared with the firmware's own reading.

The kit's reader and the tests' firmware (tests/support/pi_firmware.py) are two readings of one
documentation, written apart: where the first one is sure, both find the same file.
"""

from pathlib import Path

import pytest

from tennis.bench.fleet.firmware_files import BEGIN, END, Unclear, command_line
from tests.support.pi_card import BootPartition
from tests.support.pi_firmware import BOARDS, Firmware

MODELS = {
    "Pi 3": "Raspberry Pi 3 Model B Rev 1.2",
    "Zero 2": "Raspberry Pi Zero 2 W Rev 1.0",
    "Pi 4": "Raspberry Pi 4 Model B Rev 1.5",
    "Pi 5": "Raspberry Pi 5 Model B Rev 1.0",
}
FILES = ("cmdline.txt", "other.txt", "third.txt", "debian/cmdline.txt", "debian/other.txt", "o")
BLOCK = f"{BEGIN}\n[all]\nos_prefix=tennis/6.12/\nkernel=vmlinuz\ncmdline=cmdline.txt\n{END}\n"
CONFIGURATIONS: dict[str, tuple[str, dict[str, str]]] = {  # the file; None: unclear
    "": ("cmdline.txt", {}),
    "cmdline=other.txt": ("other.txt", {}),
    "cmdline other.txt\r": ("other.txt", {}),
    "#cmdline=other.txt": ("cmdline.txt", {}),
    "cmdline=other.txt\ncmdline=third.txt": ("third.txt", {}),
    "include user.txt": ("other.txt", {"user.txt": "cmdline=other.txt\n"}),
    "include absent.txt": ("cmdline.txt", {}),
    "include user.txt\ncmdline=third.txt": ("third.txt", {"user.txt": "cmdline=other.txt"}),
    "include a.txt": ("third.txt", {"a.txt": "include b.txt", "b.txt": "cmdline=third.txt"}),
    "[none]\ncmdline=other.txt": ("cmdline.txt", {}),
    "[none]\ncmdline=third.txt\n[all]\ncmdline=other.txt": ("other.txt", {}),
    "[none]\ninclude user.txt": ("cmdline.txt", {"user.txt": "cmdline=other.txt"}),
    # its lines stand in the line's place, and its filters go on behind it
    "include ends.txt\ncmdline=third.txt": ("other.txt", {"ends.txt": "cmdline=other.txt\n[none]"}),
    "[tryboot]\ncmdline=other.txt": ("cmdline.txt", {}),
    # what is behind the 98th character is ignored
    f"{' ' * 89}cmdline=other.txt": ("o", {}),
    f"{'[none]':99}\n[all]\ncmdline=other.txt": ("other.txt", {}),
    "cmdline=/other.txt": ("other.txt", {}),
    "os_prefix=debian/": ("debian/cmdline.txt", {"debian/kernel8.img": "", "debian/TREE": ""}),
    "os_prefix=debian/\ncmdline=other.txt": ("other.txt", {"debian/kernel8.img": ""}),
    "upstream_kernel=1\nos_prefix=debian/\nkernel=k": (
        "debian/cmdline.txt",
        {"debian/k": "", "debian/TREE": "", "k": ""},
    ),
    f"cmdline=other.txt\n{BLOCK}": ("other.txt", {"tennis/6.12/vmlinuz": ""}),
}
UNCLEAR: dict[str, dict[str, str]] = {
    "[EDID=DEL-1]\ncmdline=other.txt": {},
    # whether that file is read, and what it leaves behind, depends on the pin
    "[gpio4=1]\ninclude user.txt": {"user.txt": "[all]\ncmdline=other.txt\n[none]"},
    "[gpio4=1]\ninclude all.txt\ncmdline=other.txt": {"all.txt": "[all]\n"},
    "[ALL]\ncmdline=other.txt": {},
    "cmdline = other.txt": {},
    "cmdline other.txt =": {},
    "cmdline=../other.txt": {},
    "cmdline=": {},
    "include user.txt": {"user.txt": "include user.txt"},
    f"{'#' * 70000}": {},
}
TREES = ("bcm2710-rpi-3-b", "bcm2710-rpi-zero-2-w", "bcm2711-rpi-4-b", "bcm2712-rpi-5-b")


def lay_out(boot: Path, config: str, files: dict[str, str]) -> None:
    """Make a boot partition in which each file that may be the command line has its own name."""
    every = {name: f"words of {name}\nbelow" for name in FILES} | {"config.txt": config}
    every |= {"kernel8.img": "", **{f"{tree}.dtb": "" for tree in TREES}}
    for name, text in files.items():
        trees = [name.replace("TREE", f"{tree}.dtb") for tree in TREES]
        every |= dict.fromkeys(trees if "TREE" in name else [name], text)
    for name, text in every.items():
        (boot / name).parent.mkdir(parents=True, exist_ok=True)
        (boot / name).write_bytes(text.encode())


def firmware_reads(boot: Path, board: str, config: str) -> str:
    """Return the command line with which the board's own kernel starts."""
    files = {f"/{path.relative_to(boot)}".lower(): path for path in boot.rglob("*")}
    content = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
    content["/config.txt"] = f"{config.partition(BEGIN)[0]}\n[all]\narm_64bit=1\n".encode()
    return Firmware(BOARDS[board]).start(BootPartition(content)).command_line


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda text: repr(text[:40]))
def test_the_file_is_the_one_that_the_firmware_takes(config, tmp_path):
    name, files = CONFIGURATIONS[config]
    lay_out(tmp_path, config, files)
    assert command_line(tmp_path) == name
    for board, model in MODELS.items():
        assert command_line(tmp_path, model) == name
        assert firmware_reads(tmp_path, board, config) == f"words of {name}"


@pytest.mark.parametrize("config", UNCLEAR, ids=lambda text: repr(text[:40]))
def test_what_only_the_board_can_tell_is_refused(config, tmp_path):
    lay_out(tmp_path, config, UNCLEAR[config])
    for model in ("", *MODELS.values()):
        with pytest.raises(Unclear):
            command_line(tmp_path, model)
