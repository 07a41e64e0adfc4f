"""QEMU's Raspberry Pis, started with what the firmware would load from a card.

QEMU is handed kernel, initramfs, tree and command line: it has no firmware of a Pi. Its models of
the GPIO controllers (hw/gpio/bcm2835_gpio.c and, from QEMU 9.0 on, bcm2838_gpio.c) have functions
and levels of outputs; they have no inputs and no interrupts of edges.
"""

import os
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.kernels import modules
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.qemu import plugins
from tennis.bench.targets import snapshot
from tennis.bench.virtual import initramfs
from tennis.kit.checkout import ROOT
from tests.support.pi_firmware import Loaded

MARK, DONE = "tennis: snapshot ", "tennis: done"
PATIENCE_S = 600
APART = 3  # the processor to which the Racquet is asked to move the ping


@dataclass(frozen=True)
class Pi:
    """A board that QEMU has: its machine, what its tree says it is, its tree, its GPIO driver.

    ``absent``: nodes of the tree where QEMU has nothing, and the kernel would panic.
    """

    machine: str
    model: str
    tree: str
    driver: str
    absent: tuple[str, ...] = ()


PIS = {
    "Pi 3": Pi("raspi3b", "Raspberry Pi 3 Model B", "bcm2837-rpi-3-b.dtb", "pinctrl-bcm2835"),
    "Pi 4": Pi(
        *("raspi4b", "Raspberry Pi 4 Model B", "bcm2711-rpi-4-b.dtb", "pinctrl-bcm2711"),
        # clocks, interrupts and I2C of HDMI: not in QEMU 10.0
        ("clock@7ef00000", "interrupt-controller@7ef00100", "i2c@7ef04500", "i2c@7ef09500"),
    ),
}
INIT = f"""#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug
dmesg -n 4
for place in interrupt_cpu={APART} ""; do
  insmod /tennis/racquet.ko top_half=explicit $place && echo "tennis: placed $place" && break
done
dmesg | grep 'racquet racquet' | sed 's/^.*\\] /tennis: log /'
sh /tennis/snapshot no-config | sed 's/^/{MARK}/'
echo "{DONE}"
sleep 1000
"""


def racquets_initramfs(kernel: Kernel) -> bytes:
    """Return an initramfs that loads the Racquet, says what the target is, and waits."""
    racquet = modules.kernel_module(ROOT / "target/racquet/racquet.c", kernel)
    files: dict[str, bytes | Path] = {
        "init": INIT.encode(),
        "tennis/racquet.ko": racquet,
        "tennis/snapshot": snapshot.script(),
    }
    image = initramfs.pack(files)
    with os.fdopen(image, "rb") as file:
        file.seek(0)
        return file.read()


def apply_overlay(tree: Path, overlay: Path, parameters: tuple[str, ...], out: Path) -> None:
    """Apply an overlay with parameters as the firmware does: ``NAME=NUMBER`` sets a cell.

    In the form that Raspberry Pi's documentation of overlays gives (device-tree.adoc): a phandle,
    then "PROPERTY:OFFSET" in bytes.
    """
    changed = out.with_suffix(".dtbo")
    changed.write_bytes(overlay.read_bytes())
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        raw = _bytes(overlay, "/__overrides__", name)
        (phandle,) = struct.unpack_from(">I", raw)
        prop, _, offset = raw[4:].rstrip(b"\0").decode().partition(":")
        node = _node(overlay, phandle)
        cells = _run("fdtget", "-t", "u", changed, node, prop).split()
        cells[int(offset) // 4] = value
        _run("fdtput", "-t", "u", changed, node, prop, *cells)
    _run("fdtoverlay", "-i", tree, "-o", out, changed)


def _bytes(tree: Path, node: str, prop: str) -> bytes:
    return bytes(int(word, 16) for word in _run("fdtget", "-t", "bx", tree, node, prop).split())


def _node(overlay: Path, phandle: int, node: str = "/") -> str:
    """Return the node of an overlay with a phandle; "" if it is missing."""
    if "phandle" in _run("fdtget", "-p", overlay, node).split():
        found = _run("fdtget", "-t", "u", overlay, node, "phandle")
        if int(found) == phandle:
            return node
    for child in _run("fdtget", "-l", overlay, node).split():
        if found := _node(overlay, phandle, f"{node.rstrip('/')}/{child}"):
            return found
    return ""


def is_known(pi: Pi) -> bool:
    """Tell whether this QEMU has the board."""
    known = _run(plugins.find_qemu().path, "-M", "help")
    return any(line.split()[:1] == [pi.machine] for line in known.splitlines())


def boot(folder: Path, pi: Pi, loaded: Loaded, tree: Path) -> str:
    """Start the machine, and return what it wrote to its console until it was done.

    ``tree``: that of ``loaded`` with its overlays.
    """
    console = folder / "console.log"
    assert loaded.initramfs is not None
    for node in pi.absent:
        _run("fdtput", "-t", "s", tree, f"/soc/{node}", "status", "disabled")
    (folder / "kernel").write_bytes(loaded.kernel)
    (folder / "initrd").write_bytes(loaded.initramfs)
    command = [
        *(str(plugins.find_qemu().path), "-M", pi.machine, "-display", "none", "-monitor", "none"),
        *("-kernel", str(folder / "kernel"), "-initrd", str(folder / "initrd")),
        *("-dtb", str(tree), "-append", loaded.command_line),
        # the header's UART is the mini one: the first is for Bluetooth
        *("-serial", "null", "-serial", f"file:{console}"),
    ]
    with (folder / "qemu.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and process.poll() is None:
            said = console.read_text(errors="replace") if console.exists() else ""
            if DONE in said:
                return said
            time.sleep(0.5)
    finally:
        process.kill()
        process.wait()
    raise AssertionError((folder / "qemu.log").read_text() + said[-3000:])


def _run(*words: object) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
