"""A small board in QEMU that is reached over SSH: a Debian kernel, bash, kmod, sshd, in memory.

It boots in seconds, so that a managed rally meets a real kernel: modules, priorities, interrupts.
It has no package manager: ``dpkg-query`` is a stand-in that finds everything installed.
"""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.debian import Suite
from tennis.bench.kernels import catalogue, modules
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.qemu import device_tree
from tennis.bench.qemu import plugins as instrument
from tennis.bench.virtual import drivers, initramfs
from tennis.kit.checkout import ROOT

HOST = "small-board"
SUITE = "trixie"
LIBRARIES = "usr/lib/aarch64-linux-gnu"
PROGRAMS = {
    "bash": ["usr/bin/bash"],
    "kmod": ["usr/bin/kmod"],
    "tar": ["usr/bin/tar"],
    "util-linux": [
        f"usr/bin/{name}" for name in ("dmesg", "flock", "prlimit", "setpriv", "setsid")
    ],
    "libacl1": [f"{LIBRARIES}/libacl.so.1"],
    "libcap-ng0": [f"{LIBRARIES}/libcap-ng.so.0"],
    "libkmod2": [f"{LIBRARIES}/libkmod.so.2"],
    "libsmartcols1": [f"{LIBRARIES}/libsmartcols.so.1"],
    "liblzma5": [f"{LIBRARIES}/liblzma.so.5"],
    "libtinfo6": [f"{LIBRARIES}/libtinfo.so.6"],
}
INIT = """#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
ln -s /proc/self/fd /dev/fd # where bash gives a command what another one says
mkdir -p /dev/shm /run/lock /run/sshd /var/tmp /var/empty /root /sbin
for name in modprobe rmmod modinfo depmod; do rm -f /bin/$name; ln -s kmod /usr/bin/$name; done
for driver in /tennis/drivers/*.ko; do insmod $driver; done
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -e /sys/class/net/eth0 ] && break; sleep 0.2; done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
/usr/bin/depmod # BusyBox would take its own
chmod 755 / /root /etc /run /run/sshd
chmod 600 /etc/ssh/host
exec /usr/sbin/sshd -D -e
"""
CONFIG = """HostKey /etc/ssh/host
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
UsePAM no
SetEnv PATH=/usr/sbin:/usr/bin:/sbin:/bin
Subsystem sftp /usr/lib/openssh/sftp-server
"""


def _programs() -> Path:
    def build(folder: Path) -> None:
        suite = Suite(SUITE, "arm64")
        suite.update()
        suite.unpack([suite.package(name) for name in PROGRAMS], folder / "packages")
        for file in (file for files in PROGRAMS.values() for file in files):
            place = folder / "root" / file.replace(LIBRARIES, "lib")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / "packages" / file, place)
        shutil.rmtree(folder / "packages")

    return once("userland", f"board-{digest(repr(PROGRAMS), SUITE)}", build) / "root"


class SmallBoard:
    """The board; ``config`` is the client's configuration for the host ``small-board``."""

    def __init__(self, folder: Path, kernel: str = "mainline") -> None:
        self.console = folder / "board.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for name in ("host", "user"):
            key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]
            subprocess.run([*key, folder / name], check=True)
        known = folder / "known_hosts"
        known.write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
        self.config = folder / "ssh_config"
        self.config.write_text(
            f"Host {HOST}\n HostName 127.0.0.1\n Port {port}\n User root\n"
            f" IdentityFile {folder / 'user'}\n IdentitiesOnly yes\n IdentityAgent none\n"
            f" UserKnownHostsFile {known}\n"
        )
        self._process = self._start(folder, catalogue.find(kernel), port)

    def _start(self, folder: Path, kernel: Kernel, port: int) -> "subprocess.Popen[bytes]":
        image = initramfs.pack(_files(folder, kernel), ["openssh-server", "stress", "rt-tests"])
        command = [
            *(str(instrument.find_qemu().path), "-M", "virt,gic-version=2", "-cpu", "cortex-a57"),
            *("-smp", "2", "-m", "1024", "-nodefaults", "-display", "none", "-monitor", "none"),
            *("-serial", f"file:{self.console}", "-kernel", str(kernel.image)),
            *("-initrd", f"/proc/self/fd/{image}"),
            *("-append", "console=ttyAMA0 net.ifnames=0 panic=-1"),
            *("-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"),
            *("-device", "virtio-net-pci,netdev=net,romfile="),
        ]
        tree = folder / "board.dtb"
        device_tree.dump(command, tree)
        device_tree.name_lines(tree, ["GPIO17", "GPIO27"])
        command += ["-dtb", str(tree)]
        with (folder / "qemu.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[image],
                start_new_session=True,
            )
        os.close(image)
        return process

    def close(self) -> None:
        """Pull the plug."""
        self._process.kill()
        self._process.wait()


def _files(folder: Path, kernel: Kernel) -> dict[str, bytes | Path]:
    programs = _programs()
    racquet = modules.kernel_module(ROOT / "target" / "racquet" / "racquet.c", kernel)
    options = b"options racquet gpiochip=9030000.pl061 ping_line=0 reply_line=1\n"
    files: dict[str, bytes | Path] = {
        str(path.relative_to(programs)): path for path in programs.rglob("*") if path.is_file()
    }
    for number, (name, module) in enumerate(drivers.network(kernel).items()):
        files[f"tennis/drivers/{number:02}-{name}.ko"] = module
    return {
        **files,
        "init": INIT.encode(),
        f"lib/modules/{kernel.release}/extra/racquet.ko": racquet,
        f"usr/local/lib/tennis/drills/{kernel.release}/periodic.ko": modules.kernel_module(
            ROOT / "target" / "drills" / "periodic.c", kernel
        ),
        f"boot/config-{kernel.release}": kernel.config,
        "etc/modprobe.d/racquet.conf": options,
        "etc/ssh/sshd_config": CONFIG.encode(),
        "etc/ssh/host": folder / "host",
        "etc/ssh/authorized_keys": folder / "user.pub",
        "etc/passwd": b"root:*:0:0:root:/root:/bin/sh\nsshd:*:100:100::/run/sshd:/bin/false\n",
        "etc/group": b"root:*:0:\nsshd:*:100:\n",
        "usr/bin/dpkg-query": b'#!/bin/sh\nshift 2\nfor name; do echo "installed $name"; done\n',
    }
