"""A Raspberry Pi in QEMU boots what its firmware would load from a card, and has the Racquet.

Debian's real kernel with PREEMPT_RT, its tree of the board, the kit's overlay and ``tennis-boot``;
QEMU's model of the board's GPIO. No answer is timed: that model has no interrupts of edges.
"""

import subprocess
from pathlib import Path

import pytest

from tennis.bench.kernels import boards, catalogue
from tennis.bench.kernels.gpio_lines import _RacquetLines, racquet_lines
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.qemu.plugins import find_qemu
from tennis.bench.targets import snapshot
from tennis.kit.checkout import ROOT
from tests.support import pi_card, raspi
from tests.support.made_up_pi import STOCK, Target
from tests.support.pi_firmware import BOARDS, Firmware, Loaded

PINGS, REPLIES = 22, 23  # not the overlay's own
CONFIG = f"arm_64bit=1\n[all]\ndtoverlay=tennis-racquet,ping={PINGS},reply={REPLIES}\n"
COMMAND_LINE = "console=ttyS1,115200 isolcpus=managed_irq,domain,3\n"

pytestmark = pytest.mark.virtual


def provisioned(root: Path, pi: raspi.Pi, kernel: Kernel) -> Target:
    """Return a target with a kernel as its package installs it, and the overlay."""
    target = Target(root, STOCK)
    target.model(pi.model)
    (root / f"boot/vmlinuz-{kernel.release}").symlink_to(kernel.image)
    initrd = root / f"boot/initrd.img-{kernel.release}"
    initrd.write_bytes(raspi.racquets_initramfs(kernel))
    (root / "lib/modules" / kernel.release).mkdir()
    trees = next(kernel.config.parents[1].rglob(f"broadcom/{pi.tree}")).parent
    (root / f"usr/lib/linux-image-{kernel.release}").symlink_to(trees.parent)
    (target.firmware / "config.txt").write_text(CONFIG)
    (target.firmware / "cmdline.txt").write_text(COMMAND_LINE)
    (target.firmware / "overlays").mkdir()
    out = target.firmware / "overlays/tennis-racquet.dtbo"
    source = ROOT / "target/overlays/tennis-racquet.dts"
    subprocess.run(["dtc", "-q", "-@", "-O", "dtb", "-o", out, source], check=True)
    return target


def started(target: Target, name: str, folder: Path) -> tuple[Loaded, str]:
    """Start what the firmware loads, and return it and the machine's output."""
    pi_card.write(folder / "card.img", target.firmware)
    card = pi_card.read(folder / "card.img")
    loaded = Firmware(BOARDS[name], tryboot=True).start(card)
    tree, merged = folder / "tree.dtb", folder / "merged.dtb"
    tree.write_bytes(card[loaded.tree])
    ((overlay, parameters),) = loaded.overlays
    (folder / "overlay.dtbo").write_bytes(card[overlay])
    raspi.apply_overlay(tree, folder / "overlay.dtbo", parameters, merged)
    return loaded, raspi.boot(folder, raspi.PIS[name], loaded, merged)


def told(said: str, mark: str) -> list[str]:
    """Return what is behind a mark on the console, without the mark."""
    lines = said.replace("\r", "").splitlines()
    return [line.removeprefix(mark) for line in lines if line.startswith(mark)]


@pytest.mark.more
@pytest.mark.parametrize("name", raspi.PIS)
def test_a_pi_boots_from_its_card_and_has_the_racquet(name, tmp_path):
    pi = raspi.PIS[name]
    if not raspi.is_known(pi):
        pytest.skip(f"QEMU {find_qemu().version} has no {pi.machine}: 9.0 or newer has it")
    kernel = catalogue.find("rt")
    target = provisioned(tmp_path / "root", pi, kernel)
    target.does(
        *("register", "mainline", f"mainline=linux-image-{STOCK},stock"),
        f"rt=linux-image-{kernel.release}",
    )
    target.does("once", "rt")
    loaded, said = started(target, name, tmp_path)
    seen = snapshot.read("\n".join(told(said, raspi.MARK)))
    assert (seen.line("model"), seen.line("release")) == (pi.model, kernel.release)
    assert (seen.flavour, seen.line("isolated")) == ("rt", "3")
    assert seen.line("command_line") == loaded.command_line
    assert loaded.command_line.endswith(" panic=10")
    # probe: the driver of the board's GPIO controller gives the lines that config.txt names
    lines = {"ping": PINGS, "reply": REPLIES}
    assert racquet_lines(seen) == _RacquetLines(pi.driver, lines)
    log = told(said, "tennis: log ")
    assert any(line.startswith("racquet racquet: interrupt ") for line in log)
    # a Pi 3's interrupts stay on its first processor: the doctor says so of this one, too
    placed = told(said, "tennis: placed ")
    stays = [line for line in log if "stays where it is" in line]
    (finding,) = boards.check(seen)
    if boards.fixed_interrupts(seen):
        assert (placed, bool(stays), finding.verdict) == ([""], True, "bad")
    else:
        assert (placed, stays, finding.verdict) == ([f"interrupt_cpu={raspi.APART}"], [], "note")
