# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A Raspberry Pi 3 in QEMU boots what its firmware would load from a card, and has the Racquet.

Debian's real kernel with PREEMPT_RT, its tree of the board, the kit's overlay and ``tennis-boot``;
QEMU's model of the board's GPIO. No answer is timed: that model has no interrupts of edges.
"""

import subprocess
from pathlib import Path

import pytest

from tennis.bench.kernels import boards, catalogue
from tennis.bench.kernels.gpio_lines import RacquetLines, racquet_lines
from tennis.bench.targets import snapshot
from tennis.checkout import ROOT
from tests.support import pi_card, raspi
from tests.support.made_up_pi import STOCK, Target
from tests.support.pi_firmware import BOARDS, Firmware, Loaded

PINGS, REPLIES = 22, 23  # not the overlay's own
CONFIG = f"arm_64bit=1\n[all]\ndtoverlay=tennis-racquet,ping={PINGS},reply={REPLIES}\n"
COMMAND_LINE = "console=ttyS1,115200 isolcpus=managed_irq,domain,3\n"

pytestmark = pytest.mark.virtual


def provisioned(root: Path, kernel: catalogue.Kernel) -> Target:
    """Return a target with a kernel as its package installs it, and the overlay."""
    target = Target(root, STOCK)
    target.model("Raspberry Pi 3 Model B Rev 1.2")
    (root / f"boot/vmlinuz-{kernel.release}").symlink_to(kernel.image)
    initrd = root / f"boot/initrd.img-{kernel.release}"
    initrd.write_bytes(raspi.racquets_initramfs(kernel))
    (root / "lib/modules" / kernel.release).mkdir()
    trees = next(kernel.config.parents[1].rglob("broadcom/bcm2837-rpi-3-b.dtb")).parent
    (root / f"usr/lib/linux-image-{kernel.release}").symlink_to(trees.parent)
    (target.firmware / "config.txt").write_text(CONFIG)
    (target.firmware / "cmdline.txt").write_text(COMMAND_LINE)
    (target.firmware / "overlays").mkdir()
    out = target.firmware / "overlays/tennis-racquet.dtbo"
    source = ROOT / "target/overlays/tennis-racquet.dts"
    subprocess.run(["dtc", "-q", "-@", "-O", "dtb", "-o", out, source], check=True)
    return target


def started(target: Target, folder: Path) -> tuple[Loaded, str]:
    """Start what the firmware loads, and return it and what the machine said."""
    pi_card.write(folder / "card.img", target.firmware)
    card = pi_card.read(folder / "card.img")
    loaded = Firmware(BOARDS["Pi 3"], tryboot=True).start(card)
    tree, merged = folder / "tree.dtb", folder / "merged.dtb"
    tree.write_bytes(card[loaded.tree])
    ((name, parameters),) = loaded.overlays
    (folder / "overlay.dtbo").write_bytes(card[name])
    raspi.apply_overlay(tree, folder / "overlay.dtbo", parameters, merged)
    assert loaded.initramfs is not None
    said = raspi.boot(folder, loaded.kernel, loaded.initramfs, merged, loaded.command_line)
    return loaded, said


def told(said: str, mark: str) -> list[str]:
    """Return what is behind a mark on the console, without the mark."""
    lines = said.replace("\r", "").splitlines()
    return [line.removeprefix(mark) for line in lines if line.startswith(mark)]


def test_a_pi_3_boots_from_its_card_and_has_the_racquet(tmp_path):
    kernel = catalogue.find("rt")
    target = provisioned(tmp_path / "root", kernel)
    target.does(
        *("register", "mainline", f"mainline=linux-image-{STOCK},stock"),
        f"rt=linux-image-{kernel.release}",
    )
    target.does("once", "rt")
    loaded, said = started(target, tmp_path)
    seen = snapshot.read("\n".join(told(said, raspi.MARK)))
    assert (seen.line("model"), seen.line("release")) == ("Raspberry Pi 3 Model B", kernel.release)
    assert (seen.flavour, seen.line("isolated")) == ("rt", "3")
    assert seen.line("command_line") == loaded.command_line
    assert loaded.command_line.endswith(" panic=10")
    # probe: the driver of the board's GPIO controller gives the lines that config.txt names
    lines = {"ping": PINGS, "reply": REPLIES}
    assert racquet_lines(seen) == RacquetLines("pinctrl-bcm2835", lines)
    assert any(
        line.startswith("racquet racquet: interrupt ") for line in told(said, "tennis: log ")
    )
    # a Pi 3's interrupts stay on its first processor: the doctor says so of this one, too
    (finding,) = boards.check(seen)
    assert (finding.verdict, boards.fixed_interrupts(seen)) == ("bad", "Raspberry Pi 3 Model B")
