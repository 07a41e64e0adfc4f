"""What a Pi's firmware loads from the card that ``tennis-boot`` and the roles have written.

The card is laid out like a real one: partition table, FAT, Raspberry Pi OS' own configuration. The
roles and ``tennis-boot`` write it; the firmware's reading is played from its documentation.
tests/target/test_boot.py looks at the lines; this test at what comes of them.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tennis.bench.fleet.inventory import program
from tennis.kit.checkout import ROOT
from tests.support import pi_card
from tests.support.made_up_pi import EVL, RT, STOCK, Target
from tests.support.pi_firmware import BOARDS, MODELS, Firmware, Loaded, NothingStarts
from tests.support.processes import run_to_end

# as Raspberry Pi OS has it, 2025, without the comments
CONFIG = """dtparam=audio=on
camera_auto_detect=1
display_auto_detect=1
auto_initramfs=1
dtoverlay=vc4-kms-v3d
max_framebuffers=2
disable_fw_kms_setup=1
arm_64bit=1
disable_overscan=1
arm_boost=1

[cm4]
otg_mode=1

[cm5]
dtoverlay=dwc2,dr_mode=host

[all]
"""
COMMAND_LINE = "console=serial0,115200 console=tty1 root=PARTUUID=4e639091-02 rootwait\n"
STOCK_2712 = STOCK.replace("v8", "2712")
RPI_TREES = tuple(board.tree.removesuffix(".dtb") for board in BOARDS.values())
# Raspberry Pi's tree has kernel.org's names, too
UPSTREAM_TREES = tuple(board.upstream_tree.removesuffix(".dtb") for board in BOARDS.values())
RACQUET = ("ping=17", "reply=27")


def lay_out(boot: Path) -> None:
    """Make the boot partition of Raspberry Pi OS."""
    shutil.rmtree(boot, ignore_errors=True)
    (boot / "overlays").mkdir(parents=True)
    for name, text in {
        "config.txt": CONFIG,
        "cmdline.txt": COMMAND_LINE,
        "kernel8.img": f"kernel {STOCK}",
        "kernel_2712.img": f"kernel {STOCK_2712}",
        "initramfs8": f"initrd {STOCK}",
        "initramfs_2712": f"initrd {STOCK_2712}",
        "overlays/README": "overlays",
        "overlays/vc4-kms-v3d.dtbo": "display",
        **{f"{name}.dtb": "tree" for name in RPI_TREES},
    }.items():
        (boot / name).write_text(text)


def play_roles(boot: Path, folder: Path) -> None:
    """Let the roles' own tasks write the boot partition: the command line, the overlay.

    They write to /boot/firmware, which is this folder for them alone. What is before the first of
    these tasks would set this machine up.
    """
    roles = [
        {"ansible.builtin.import_role": {"name": "tuning"}},
        {"ansible.builtin.import_role": {"name": "racquet", "tasks_from": "overlay.yml"}},
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": roles}
    playbook = folder / "card.yml"
    playbook.write_text(yaml.safe_dump([play]))
    settings = {"racquet_source": str(ROOT / "target/racquet"), "tuning_isolated_cpus": "3"}
    words = [program("ansible-playbook"), playbook, "-e", json.dumps(settings)]
    first = "Ask which file the Raspberry Pi's firmware takes the command line from"
    words += ["--start-at-task", first]
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
    mount = 'mount --bind "$1" /boot && shift && exec "$@"'
    done = run_to_end(
        [*unshare, "sh", "-c", mount, "sh", boot.parent, *words],
        cwd=ROOT / "ansible",
        env={**os.environ, "ANSIBLE_INTERPRETER_PYTHON": "auto_silent"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed=0" in done.stdout
    assert b"dtoverlay=tennis-racquet" in (boot / "config.txt").read_bytes()


@pytest.fixture(scope="module")
def provisioned(tmp_path_factory) -> Path:
    """Return a boot partition that the roles have written; to be copied."""
    folder = tmp_path_factory.mktemp("roles")
    boot = folder / "boot/firmware"
    lay_out(boot)
    play_roles(boot, folder)
    return boot


@dataclass
class Pi:
    """A board with its card and its firmware; nothing of it runs but ``tennis-boot``."""

    target: Target
    firmware: Firmware
    image: Path

    def reset(self) -> Loaded:
        """Let the firmware read the card; what it loads is the kernel that runs then."""
        pi_card.write(self.image, self.target.firmware)
        loaded = self.firmware.start(pi_card.read(self.image))
        self.target.running = loaded.kernel.decode().removeprefix("kernel ")
        return loaded

    def reboot(self) -> Loaded:
        """Reboot as ``tennis-boot`` asks for it."""
        self.target.does("reboot")
        asked = (self.target.root / "reboots").read_text().splitlines()[-1]
        self.firmware.tryboot = asked.endswith("systemctl reboot --reboot-argument=0 tryboot")
        assert self.firmware.tryboot or asked.endswith("systemctl reboot")
        return self.reset()


def kernel_of(target: Target, release: str, trees: tuple[str, ...], *, own_overlays: bool) -> None:
    """Install a kernel's files as its package does."""
    home = target.root / f"usr/lib/linux-image-{release}"
    shutil.rmtree(home, ignore_errors=True)
    (home / "broadcom").mkdir(parents=True)
    for name in trees:
        (home / f"broadcom/{name}.dtb").write_text(f"tree {release}")
    if own_overlays:
        (home / "overlays").mkdir()
        (home / "overlays/README").write_text("overlays")
        (home / "overlays/vc4-kms-v3d.dtbo").write_text(f"display {release}")
    (target.root / f"boot/initrd.img-{release}").write_text(f"initrd {release}")


def make(tmp_path: Path, boot: Path, board: str, trees: tuple[str, ...], *, own: bool) -> Pi:
    target = Target(tmp_path / "root", STOCK)
    shutil.rmtree(target.firmware)
    shutil.copytree(boot, target.firmware)
    target.model(MODELS[board])
    for release in (RT, EVL):
        kernel_of(target, release, trees, own_overlays=own)
    return Pi(target, Firmware(BOARDS[board]), tmp_path / "card.img")


def is_flavour(loaded: Loaded, release: str, board: str, *, own: bool) -> None:
    """Check that everything that was loaded is of one kernel; ``own``: of Raspberry Pi's tree."""
    assert loaded.kernel == f"kernel {release}".encode()
    assert loaded.initramfs == f"initrd {release}".encode()
    assert loaded.prefix == f"tennis/{release}/"
    tree = BOARDS[board].tree if own else BOARDS[board].upstream_tree
    assert loaded.tree == loaded.prefix + tree
    home = f"{loaded.prefix}overlays" if own else "overlays"
    assert loaded.overlays == (
        (f"{home}/vc4-kms-v3d.dtbo", ()),
        (f"{home}/tennis-racquet.dtbo", RACQUET),
    )
    assert loaded.missing_overlays == ()
    assert loaded.command_line == (
        "console=serial0,115200 console=tty1 root=PARTUUID=4e639091-02 rootwait "
        "isolcpus=managed_irq,domain,3 panic=10"
    )


def is_stock(loaded: Loaded, board: str) -> None:
    """Check that Raspberry Pi OS boots as it does without this kit, but for the Racquet's lines."""
    release = STOCK_2712 if board == "Pi 5" else STOCK
    assert loaded.configuration == "config.txt"
    assert (loaded.kernel, loaded.initramfs) == (
        f"kernel {release}".encode(),
        f"initrd {release}".encode(),
    )
    assert (loaded.prefix, loaded.missing_overlays) == ("", ())
    assert ("overlays/tennis-racquet.dtbo", RACQUET) in loaded.overlays
    assert "panic=" not in loaded.command_line


KERNELS = {
    "raspberrypi": (RPI_TREES + UPSTREAM_TREES[:2], True),
    "kernel.org": (UPSTREAM_TREES, False),
}


@pytest.mark.cases(more=["Pi 3-raspberrypi", "Zero 2-*", "Pi 4-kernel.org", "Pi 5-kernel.org"])
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("board", BOARDS)
def test_each_flavour_is_what_the_firmware_loads(board, kernels, provisioned, tmp_path):
    """A trial that hangs, the fall back, a trial that comes up, and every boot from then on."""
    trees, own = KERNELS[kernels]
    pi = make(tmp_path, provisioned, board, trees, own=own)
    is_stock(pi.reset(), board)
    flavours = [f"rt=linux-image-{RT}"]
    flavours += [f"evl=linux-image-{EVL}"] if board != "Pi 5" else []  # refused there
    pi.target.does("register", "mainline", f"mainline=linux-image-{STOCK},stock", *flavours)
    for flavour in flavours:
        name, _, package = flavour.partition("=")
        release = package.removeprefix("linux-image-")
        pi.target.does("once", name)
        trial = pi.reboot()
        assert trial.configuration == "tryboot.txt"
        is_flavour(trial, release, board, own=own)
        # it hangs, and the watchdog or somebody resets it: once more, the default
        is_stock(pi.reset(), board)
        is_stock(pi.reset(), board)
        pi.target.does("once", name)
        is_flavour(pi.reboot(), release, board, own=own)
        pi.target.does("keep", name)
        for loaded in (pi.reset(), pi.reboot(), pi.reset()):
            assert loaded.configuration == "config.txt"
            is_flavour(loaded, release, board, own=own)
        pi.target.does("keep", "mainline")
        is_stock(pi.reboot(), board)


def test_a_kernel_without_the_boards_tree_falls_back_by_itself(provisioned, tmp_path):
    """The firmware ignores the folder, and starts what it finds beside: never half of each."""
    pi = make(tmp_path, provisioned, "Pi 3", ("bcm2711-rpi-4-b",), own=True)
    pi.target.register()
    pi.target.does("once", "rt")
    with pytest.raises(NothingStarts, match="no kernel"):  # there is no "vmlinuz" beside
        pi.reboot()
    is_stock(pi.reset(), "Pi 3")


def test_a_card_whose_trials_are_partitions_gets_none(provisioned, tmp_path):
    """Its firmware would read config.txt: the old kernel, as if the new one had not come up."""
    pi = make(tmp_path, provisioned, "Pi 4", RPI_TREES, own=True)
    (pi.target.firmware / "autoboot.txt").write_text("[all]\ntryboot_a_b=1\nboot_partition=1\n")
    pi.target.register()
    assert "tryboot_a_b=1" in pi.target.refuses("once", "rt")
    pi.firmware.tryboot = True
    is_stock(pi.reset(), "Pi 4")


def test_what_a_card_says_of_its_own_kernel_is_not_said_of_ours(provisioned, tmp_path):
    """Debian's card asks for kernel.org's trees; Raspberry Pi's kernel has both."""
    trees, own = KERNELS["raspberrypi"]
    pi = make(tmp_path, provisioned, "Pi 3", trees, own=own)
    config = pi.target.firmware / "config.txt"
    config.write_text("upstream_kernel=1\nos_prefix=debian/\ncmdline=debian.txt\n" + CONFIG)
    (pi.target.firmware / "debian.txt").write_text(COMMAND_LINE)
    pi.target.register()
    pi.target.does("once", "rt")
    loaded = pi.reboot()
    assert loaded.tree == f"tennis/{RT}/bcm2710-rpi-3-b.dtb"
    assert loaded.command_line.endswith(" panic=10")
    assert "upstream" not in [name for name, _ in loaded.overlays] + [*loaded.missing_overlays]


def test_lines_that_an_editor_of_windows_saved_are_not_written_twice(provisioned, tmp_path):
    boot = tmp_path / "boot/firmware"
    shutil.copytree(provisioned, boot)
    config = boot / "config.txt"
    config.write_bytes(b"# Gr\xf6\xdfe\n%b" % config.read_bytes().replace(b"\n", b"\r\n"))
    play_roles(boot, tmp_path)
    assert config.read_bytes().count(b"dtoverlay=tennis-racquet,ping=17,reply=27") == 1


def test_a_default_that_is_not_the_stock_kernel_gets_the_racquets_overlay(tmp_path):
    """In the order of the playbook: the kernel is registered before the overlay is there."""
    boot = tmp_path / "boot/firmware"
    lay_out(boot)
    # the image's own is read by nobody: a file that is included names another command line
    (boot / "user.txt").write_text("cmdline=own.txt\n")
    (boot / "own.txt").write_text(COMMAND_LINE.replace("rootwait", "rootwait own=1"))
    with (boot / "config.txt").open("a") as config:
        # what follows must not depend on what was before
        config.write("include user.txt\n[none]\n")
    pi = make(tmp_path, boot, "Pi 4", RPI_TREES, own=True)
    pi.target.running = RT
    pi.target.does("register", "rt", f"rt=linux-image-{RT}")
    assert pi.reset().prefix == f"tennis/{RT}/"
    play_roles(pi.target.firmware, tmp_path)
    loaded = pi.reboot()
    assert loaded.prefix == f"tennis/{RT}/"
    assert loaded.missing_overlays == ()
    assert (f"tennis/{RT}/overlays/tennis-racquet.dtbo", RACQUET) in loaded.overlays
    assert (boot / "cmdline.txt").read_text() == COMMAND_LINE
    # the playbook registers again, after the role tuning; what is added later is the board's
    pi.target.does("register", "rt", f"rt=linux-image-{RT}")
    with (pi.target.firmware / "config.txt").open("a") as config:
        config.write("dtparam=audio=on\n")
    loaded = pi.reset()
    assert loaded.command_line.endswith(" rootwait own=1 isolcpus=managed_irq,domain,3 panic=10")
    assert (f"tennis/{RT}/overlays/tennis-racquet.dtbo", RACQUET) in loaded.overlays
