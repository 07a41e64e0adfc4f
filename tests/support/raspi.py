# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""QEMU's Raspberry Pi 3, started with what the firmware would load from a card.

QEMU is handed kernel, initramfs, tree and command line: it has no firmware of a Pi. Its model of
the GPIO controller (hw/gpio/bcm2835_gpio.c, QEMU 7.2) has functions and levels of outputs; it has
no inputs, no pulls, and no interrupts of edges.
"""

import os
import struct
import subprocess
import time
from pathlib import Path

from tennis.bench.kernels import catalogue, modules
from tennis.bench.qemu import plugins
from tennis.bench.targets import snapshot
from tennis.bench.virtual import initramfs
from tennis.checkout import ROOT

MACHINE = "raspi3b"
MARK, DONE = "tennis: snapshot ", "tennis: done"
PATIENCE_S = 600
INIT = f"""#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug
dmesg -n 4
insmod /tennis/racquet.ko top_half=explicit || echo "tennis: no racquet"
dmesg | grep 'racquet racquet' | sed 's/^.*\\] /tennis: log /'
sh /tennis/snapshot no-config | sed 's/^/{MARK}/'
echo "{DONE}"
sleep 1000
"""


def racquets_initramfs(kernel: catalogue.Kernel) -> bytes:
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
    """Return the node of an overlay with a phandle; "" if there is none."""
    if "phandle" in _run("fdtget", "-p", overlay, node).split():
        found = _run("fdtget", "-t", "u", overlay, node, "phandle")
        if int(found) == phandle:
            return node
    for child in _run("fdtget", "-l", overlay, node).split():
        if found := _node(overlay, phandle, f"{node.rstrip('/')}/{child}"):
            return found
    return ""


def boot(folder: Path, kernel: bytes, ramdisk: bytes, tree: Path, command_line: str) -> str:
    """Start the machine, and return what it wrote to its console until it was done."""
    console = folder / "console.log"
    (folder / "kernel").write_bytes(kernel)
    (folder / "initrd").write_bytes(ramdisk)
    command = [
        *(str(plugins.find_qemu().path), "-M", MACHINE, "-display", "none", "-monitor", "none"),
        *("-kernel", str(folder / "kernel"), "-initrd", str(folder / "initrd")),
        *("-dtb", str(tree), "-append", command_line),
        # the header's UART is the mini one: the first belongs to Bluetooth
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
