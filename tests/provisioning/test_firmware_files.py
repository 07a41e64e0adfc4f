"""Which file is the command line, for all who write it; compared with the firmware's own reading.

The kit's reader and the tests' firmware (tests/support/pi_firmware.py) are two readings of one
documentation, written apart: where the first one is sure, both find the same file.
"""

import re
from pathlib import Path

import pytest
import yaml

from tennis.bench.fleet.firmware_files import BEGIN, END, Unclear, command_line
from tennis.kit.checkout import ROOT
from tests.support.pi_card import BootPartition
from tests.support.pi_firmware import BOARDS, MODELS, Firmware, Loaded

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
    # as an editor of Windows leaves it; an old Mac's line does not end; Latin-1 in a comment
    f"cmdline=other.txt\n{BLOCK}".replace("\n", "\r\n"): ("other.txt", {"tennis/6.12/vmlinuz": ""}),
    "# one line\rcmdline=other.txt\rgpu_mem=64": ("cmdline.txt", {}),
    "# Gr\udcf6\udcdfe\ncmdline=other.txt": ("other.txt", {}),
    "\ufeff# a mark\ncmdline=other.txt": ("other.txt", {}),
    # parameters of an overlay, and settings of other names
    "dtoverlay=x\ndtparam=cmdline=other.txt": ("cmdline.txt", {}),
    "dtoverlay=x,cmdline=other.txt\ndtoverlay=": ("cmdline.txt", {}),
    "CMDLINE=third.txt\ncmdline2=third.txt": ("cmdline.txt", {}),
    "[pi4]\ncmdline=third.txt\n[all]\ncmdline=other.txt": ("other.txt", {}),
}
TREES = [board.tree for board in BOARDS.values()]
OF_ONE: dict[str, set[str]] = {  # for these boards other.txt
    "[cm4]\ncmdline=other.txt\n[pi400]\ncmdline=other.txt": set(),
    # of one kind the last filter counts, kinds add up
    "[pi3]\n[cm5]\ncmdline=other.txt\n[tryboot]\n[pi4]\ncmdline=other.txt": set(),
    "[pi4]\ncmdline=other.txt": {"Pi 4"},
    "[pi3]\n[pi4]\ncmdline=other.txt": {"Pi 4"},
    "[pi0]\ncmdline=other.txt\n[pi02]\ncmdline=other.txt": {"Zero 2"},
    "[pi3]\ncmdline=other.txt\n[pi5]\ncmdline=other.txt\n[none]\ncmdline=o": {"Pi 3", "Pi 5"},
    "[pi5]\ninclude user.txt": {"Pi 5"},
}
UNCLEAR: dict[str, dict[str, str]] = {
    "[EDID=DEL-1]\ncmdline=other.txt": {},
    # whether that file is read, and what it leaves behind, depends on the pin
    "[gpio4=1]\ninclude user.txt": {"user.txt": "[all]\ncmdline=other.txt\n[none]"},
    "[gpio4=1]\ninclude all.txt\ncmdline=other.txt": {"all.txt": "[all]\n"},
    "[ALL]\ncmdline=other.txt": {},
    "cmdline = other.txt": {},
    "\ufeffcmdline=other.txt": {},
    "\ufeff[pi4]\ncmdline=other.txt": {},
    "cmdline other.txt =": {},
    "cmdline=../other.txt": {},
    "cmdline=": {},
    "include user.txt": {"user.txt": "include user.txt"},
    f"{'#' * 70000}": {},
}


def lay_out(boot: Path, config: str, files: dict[str, str]) -> None:
    """Make a boot partition in which each file that may be the command line has its own name."""
    every = {name: f"words of {name}\nbelow" for name in FILES} | {"config.txt": config}
    every |= {"kernel8.img": "", **dict.fromkeys(TREES, "")}
    for name, text in files.items():
        trees = [name.replace("TREE", tree) for tree in TREES]
        every |= dict.fromkeys(trees if "TREE" in name else [name], text)
    for name, text in every.items():
        (boot / name).parent.mkdir(parents=True, exist_ok=True)
        (boot / name).write_bytes(text.encode(errors="surrogateescape"))


def firmware_reads(boot: Path, board: str, config: str) -> Loaded:
    """Return what the board's own kernel starts with."""
    files = {f"/{path.relative_to(boot)}".lower(): path for path in boot.rglob("*")}
    content = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
    text = f"{config.partition(BEGIN)[0]}\n[all]\narm_64bit=1\n"
    content["/config.txt"] = text.encode(errors="surrogateescape")
    return Firmware(BOARDS[board]).start(BootPartition(content))


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda text: repr(text[:40]))
def test_the_file_is_the_one_that_the_firmware_takes(config, tmp_path):
    name, files = CONFIGURATIONS[config]
    lay_out(tmp_path, config, files)
    assert command_line(tmp_path) == name
    for board, model in MODELS.items():
        assert command_line(tmp_path, model) == name
        assert firmware_reads(tmp_path, board, config).command_line == f"words of {name}"


@pytest.mark.parametrize("config", OF_ONE, ids=repr)
def test_a_filter_chooses_the_file_for_some_boards(config, tmp_path):
    lay_out(tmp_path, config, {"user.txt": "cmdline=other.txt"})
    for board, model in MODELS.items():
        name = "other.txt" if board in OF_ONE[config] else "cmdline.txt"
        assert command_line(tmp_path, model) == name
        assert firmware_reads(tmp_path, board, config).command_line == f"words of {name}"
    with pytest.raises(Unclear):
        command_line(tmp_path)


ABOVE = [  # what may stand above the Racquet's lines
    *("", "dtoverlay=user", "dtoverlay=user\r\ndtparam=a=1\r\n", "dtoverlay=user,b\n\n"),
    *("[none]\n", "[pi4]\ndtoverlay=user\n", "[pi5]\ninclude user.txt", "# no end"),
    *("[all]\ndtoverlay=user\n[tryboot]", "dtoverlay=user\ndtoverlay=\ndtparam=i2c=on\n[cm4]\n"),
]


@pytest.mark.parametrize("above", ABOVE, ids=repr)
def test_the_racquets_lines_take_no_parameters_and_give_none(above, tmp_path):
    """Whatever is above them, and a parameter below them that somebody adds later."""
    overlay = (ROOT / "ansible/roles/racquet/tasks/overlay.yml").read_text()
    (block,) = [task["ansible.builtin.blockinfile"]["block"] for task in yaml.safe_load(overlay)
                if "ansible.builtin.blockinfile" in task]  # fmt: skip
    ours = re.sub(r"\{\{ (\w+) \}\}", r"\1", block)
    files = dict.fromkeys(("overlays/user.dtbo", "overlays/racquet_overlay.dtbo"), "")
    files["user.txt"] = "dtoverlay=user\ndtparam=c\n[none]\n"
    lay_out(tmp_path, above, files)
    for board in BOARDS:
        before = firmware_reads(tmp_path, board, above).overlays
        config = above.removesuffix("\n") + f"\n# begin\n{ours}# end\ndtparam=late\n"
        racquet = "overlays/racquet_overlay.dtbo"
        parameters = ("ping=racquet_ping_line", "reply=racquet_reply_line")
        after = firmware_reads(tmp_path, board, config).overlays
        assert after == (*before, (racquet, parameters))


@pytest.mark.parametrize("config", UNCLEAR, ids=lambda text: repr(text[:40]))
def test_what_only_the_board_can_tell_is_refused(config, tmp_path):
    lay_out(tmp_path, config, UNCLEAR[config])
    for model in ("", *MODELS.values()):
        with pytest.raises(Unclear):
            command_line(tmp_path, model)
