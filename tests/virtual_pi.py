# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A whole Debian system for arm64 in QEMU, for the playbooks: what a Pi is before it is a bench.

UEFI firmware and GRUB start it from its own disk, so that a reboot starts whatever kernel the
playbooks installed. It has a default password, as a careless image would.
"""

import contextlib
import os
import select
import shutil
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tennis import wire
from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.bench.instruments import virtual as instrument
from tennis.bench.targets.ssh import SshTarget
from tennis.bench.targets.virtual.debian import host_architecture, mirror

NAME = "virtual-pi"
SUITE = "trixie"
USER, DEFAULT_PASSWORD = "pi", "raspberry"
PACKAGES = (
    *("systemd", "systemd-sysv", "systemd-timesyncd", "udev", "dbus", "openssh-server", "sudo"),
    *("python3", "python3-apt", "kmod", "iproute2", "netbase", "procps"),
    *("initramfs-tools", "zstd", "linux-image-arm64", "grub-efi-arm64", "unattended-upgrades"),
    # what the roles would install, too: a compiler takes minutes to install in an emulated machine
    *("dkms", "gcc", "make", "linux-headers-arm64"),
)
ESP_START, ESP_SECTORS = 2048, 131072  # of 512 bytes
ROOT_START = ESP_START + ESP_SECTORS
DISK_BYTES = 5 << 30
ROOT_UUID = "7e221500-0000-4000-8000-000000000001"
FIRMWARE = Path("/usr/share/AAVMF")

# as Debian's own GRUB for arm64 looks for it on the EFI system partition
GRUB_STUB = f"""search.fs_uuid {ROOT_UUID} root
set prefix=($root)/boot/grub
configfile $prefix/grub.cfg
"""

# What QEMU's virt machine has no use for: depmod reads every module, which takes long in emulation.
KEPT_MODULES = """path-exclude=/usr/lib/modules/*/kernel/drivers/*
path-exclude=/usr/lib/modules/*/kernel/sound/*
path-exclude=/usr/lib/modules/*/kernel/net/*
path-include=/usr/lib/modules/*/kernel/drivers/virtio/*
path-include=/usr/lib/modules/*/kernel/drivers/block/virtio_blk*
path-include=/usr/lib/modules/*/kernel/drivers/net/virtio_net*
path-include=/usr/lib/modules/*/kernel/drivers/net/net_failover*
path-include=/usr/lib/modules/*/kernel/net/core/failover*
"""

# What packages run when they are installed, and what takes minutes in emulation: depmod and the
# initramfs wait until the end, and Python's bytecode until somebody needs it.
PUT_OFF = {
    "/usr/sbin/depmod": "/usr/bin/true",
    "/usr/sbin/update-initramfs": "/usr/bin/true",
    "/usr/bin/py3compile": "/usr/bin/true",
    "/usr/lib/python3.13/py_compile.py": "/dev/null",
}
DIVERT = "dpkg-divert --quiet --local --rename"

# runs before the kernel is unpacked; $1 is the new system
BEFORE = f"""set -eu
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/lib/python3.13"
printf 'MODULES=list\\nCOMPRESSLEVEL=1\\n' > "$1/etc/initramfs-tools/conf.d/virtual-pi"
cat > "$1/etc/dpkg/dpkg.cfg.d/virtual-pi" <<END
{KEPT_MODULES}END
""" + "".join(
    f'chroot "$1" {DIVERT} --add {path}\nln -s {instead} "$1{path}"\n'
    for path, instead in PUT_OFF.items()
)

# runs after everything is installed: this machine's depmod needs no emulation
AFTER = (
    "set -eu\n"
    + "".join(f'rm "$1{path}"\nchroot "$1" {DIVERT} --remove {path}\n' for path in PUT_OFF)
    + 'depmod --basedir "$1" "$(ls "$1/usr/lib/modules")"\n'
)

# runs in the new system; qemu-user-static executes its programs
SET_UP = f"""set -eu
useradd --create-home --shell /bin/bash --groups sudo {USER}
echo '{USER}:{DEFAULT_PASSWORD}' | chpasswd
echo '{USER} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/010_pi-nopasswd
chmod 440 /etc/sudoers.d/010_pi-nopasswd
install -d -m 700 -o {USER} -g {USER} /home/{USER}/.ssh
install -m 600 -o {USER} -g {USER} /tmp/key.pub /home/{USER}/.ssh/authorized_keys
rm /tmp/key.pub
printf '[Match]\\nName=e*\\n[Network]\\nDHCP=ipv4\\nLinkLocalAddressing=no\\nIPv6AcceptRA=no\\n' \
    > /etc/systemd/network/10-wired.network
systemctl -q enable systemd-networkd
systemctl -q disable apt-daily.timer apt-daily-upgrade.timer
echo virtual-pi > /etc/hostname
printf '127.0.0.1 localhost\\n127.0.1.1 virtual-pi\\n' > /etc/hosts
echo 'nameserver 10.0.2.3' > /etc/resolv.conf
printf 'UUID={ROOT_UUID} / ext4 noatime,errors=remount-ro 0 1\\n' > /etc/fstab
: > /etc/machine-id
printf 'virtio_pci\\nvirtio_blk\\next4\\n' >> /etc/initramfs-tools/modules
update-initramfs -c -k all
cp /usr/share/grub/default/grub /etc/default/grub
sed -i -e 's/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=1/' \
    -e 's/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="console=ttyAMA0 net.ifnames=0"/' \
    -e 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT=""/' /etc/default/grub
mkdir -p /boot/grub /boot/efi
release=$(ls /lib/modules)
cat > /boot/grub/grub.cfg <<END
linux /boot/vmlinuz-$release root=UUID={ROOT_UUID} ro console=ttyAMA0 net.ifnames=0
initrd /boot/initrd.img-$release
boot
END
"""


def image() -> Path:
    """Return the folder with ``disk.img`` and the SSH key ``key``; built once (six minutes)."""
    key = digest(SUITE, *PACKAGES, BEFORE, AFTER, SET_UP, GRUB_STUB, str(DISK_BYTES))
    return once("virtual-pi", f"{SUITE}-{key}", _build)


def _build(folder: Path) -> None:
    _need_binfmt()
    key = folder / "key"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key], what="a key")
    root = folder / "root"
    set_up, before, after = folder / "set-up", folder / "before", folder / "after"
    set_up.write_text(SET_UP)
    before.write_text(BEFORE)
    after.write_text(AFTER)
    site = mirror()
    run(
        [
            # mounts of its own: nothing of them is left if it is stopped
            *(
                "unshare",
                "--mount",
                "mmdebstrap",
                "--quiet",
                "--mode=root",
                "--architectures=arm64",
                "--variant=minbase",
            ),
            f"--include={','.join(PACKAGES)}",
            *('--aptopt=Acquire::Languages "none"', '--aptopt=Apt::Install-Recommends "false"'),
            "--dpkgopt=force-unsafe-io",
            *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")),
            f'--essential-hook=sh -s "$1" < {before}',
            f'--customize-hook=sh -s "$1" < {after}',
            f"--customize-hook=copy-in {key}.pub /tmp",
            f'--customize-hook=chroot "$1" sh -s < {set_up}',
            SUITE,
            str(root),
            f"deb {site} {SUITE} main",
            f"deb {site} {SUITE}-updates main",
        ],
        what="building the virtual Pi's file system",
    )
    os.utime(root / "var/lib/apt/lists", (0, 0))  # they are empty: apt must not think them fresh
    disk = folder / "disk.img"
    _write_disk(root, disk, folder)
    shutil.rmtree(root)
    for path in (set_up, before, after):
        path.unlink()


def _need_binfmt() -> None:
    """Let this machine execute programs for arm64 (in containers nobody has mounted it yet)."""
    if host_architecture() == "arm64":
        return
    home = Path("/proc/sys/fs/binfmt_misc")
    if not (home / "register").exists():
        run(["mount", "-t", "binfmt_misc", "binfmt_misc", home], what="mounting binfmt_misc")
    if not (home / "qemu-aarch64").exists():
        run(["update-binfmts", "--enable", "qemu-aarch64"], what="enabling qemu-aarch64")


def _write_disk(root: Path, disk: Path, folder: Path) -> None:
    """Write a GPT disk with an EFI system partition and the root; no loop device is needed."""
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)
    table = (
        f"label: gpt\nstart={ESP_START}, size={ESP_SECTORS}, type=U\nstart={ROOT_START}, type=L\n"
    )
    subprocess.run(["sfdisk", "-q", disk], input=table, text=True, check=True)
    last = subprocess.check_output(["sfdisk", "-q", "-o", "End", "-l", disk], text=True).split()[-1]
    root_sectors = int(last) + 1 - ROOT_START
    esp = f"{disk}@@{ESP_START * 512}"
    run(["mformat", "-i", esp, "-T", str(ESP_SECTORS), "::"], what="the EFI system partition")
    for name in ("EFI", "EFI/BOOT", "EFI/debian"):
        run(["mmd", "-i", esp, f"::{name}"], what="a folder for GRUB")
    grub = root / "usr/lib/grub/arm64-efi/monolithic/grubaa64.efi"
    stub = folder / "grub.cfg"
    stub.write_text(GRUB_STUB)
    run(["mcopy", "-i", esp, grub, "::EFI/BOOT/BOOTAA64.EFI"], what="GRUB")
    run(["mcopy", "-i", esp, stub, "::EFI/debian/grub.cfg"], what="GRUB's configuration")
    stub.unlink()
    offset = ROOT_START * 512
    run(
        [
            *("mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-U", ROOT_UUID, "-d", root),
            *("-E", f"offset={offset},lazy_itable_init=0", disk, f"{root_sectors // 2}k"),
        ],
        what="the root file system",
    )


@dataclass(frozen=True)
class Balls:
    """What the virtual instrument saw."""

    balls: int
    misses: int
    strays: int


class VirtualPi:
    """A system that runs; ``folder`` holds its disk, what it changed on it, and its console."""

    def __init__(self, folder: Path, *, balls: int = 0) -> None:
        self.folder, self.image = folder, image()
        self.console = folder / "console.log"
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = -1
        self._balls = balls
        folder.mkdir(parents=True, exist_ok=True)
        disk = folder / "disk.qcow2"
        if not disk.exists():
            base = self.image / "disk.img"
            run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", base, "-F", "raw", disk], what="")
            shutil.copy(FIRMWARE / "AAVMF_VARS.fd", folder / "variables.fd")
        (folder / "ssh_config").write_text(
            f"Host {NAME}\n HostName 127.0.0.1\n Port {self.port}\n User {USER}\n"
            f" IdentityFile {self.image / 'key'}\n IdentitiesOnly yes\n"
            f" StrictHostKeyChecking accept-new\n UserKnownHostsFile {folder / 'known_hosts'}\n"
        )

    def start(self) -> None:
        """Switch the power on."""
        found = instrument.find_qemu()
        self._reader, writer = os.pipe()
        command = [
            *(str(found.path), "-M", "virt,gic-version=2,acpi=off", "-cpu", "cortex-a57"),
            *("-smp", "2", "-m", "1024", "-nodefaults", "-display", "none", "-monitor", "none"),
            *("-serial", f"file:{self.console}"),
            *("-drive", f"if=pflash,format=raw,readonly=on,file={FIRMWARE / 'AAVMF_CODE.fd'}"),
            *("-drive", f"if=pflash,format=raw,file={self.folder / 'variables.fd'}"),
            *("-drive", f"if=none,id=disk,file={self.folder / 'disk.qcow2'},cache=unsafe"),
            *("-device", "virtio-blk-pci,drive=disk"),
            *("-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{self.port}-:22"),
            *("-device", "virtio-net-pci,netdev=net,romfile="),
        ]
        if self._balls:
            settings = {
                **{"fd": writer, "balls": self._balls, "seed": 1, "period": 0},
                # times of the host: the machine runs in them, and is slow
                **{"gap_min": 1_000_000, "gap_max": 3_000_000, "timeout": 2_000_000_000},
                **{"ready_timeout": 3_600_000_000_000, "give_up": 30_000_000_000},
            }
            words = [f"{name}={value}" for name, value in settings.items()]
            command += ["-plugin", ",".join([str(instrument.build(found)), *words])]
        with (self.folder / "qemu.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[writer],
                start_new_session=True,
            )
        os.close(writer)

    def stop(self) -> None:
        """Pull the plug."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1

    def target(self) -> SshTarget:
        """Return the way to log in; the caller has set TENNIS_SSH_CONFIG to ``ssh_config``."""
        return SshTarget(NAME)

    def played(self, timeout_s: float) -> Balls:
        """Wait until the instrument has seen all its balls."""
        decoder, deadline = wire.Decoder(), time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self._reader], [], [], 1)
            data = os.read(self._reader, 1 << 16) if ready else None
            for kind, _, payload in decoder.feed(data or b""):
                if kind == wire.END:
                    end = struct.unpack(wire.END_FORMAT, payload)
                    return Balls(end[1], end[2], end[3])
            assert data != b"", "QEMU ended without the end of the rally"
        raise AssertionError(f"no end of the rally within {timeout_s} s")

    def log(self) -> str:
        """Return the console's last lines."""
        with contextlib.suppress(OSError):
            return self.console.read_text(errors="replace")[-3000:]
        return ""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
