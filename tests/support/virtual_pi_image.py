"""The recipe of a Debian system for arm64 that starts from its own disk, by UEFI and GRUB.

Any change to this file makes another image. It has a default password, as a careless image would.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tennis.bench.cache import digest, once
from tennis.bench.commands import run
from tennis.bench.debian import host_architecture, mirror

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
# QEMU translates code again that moved to another address: nothing moves here. To start a program
# takes a third of the time then. Without nokaslr, the kernel also separates its page tables.
COMMAND_LINE = "console=ttyAMA0 net.ifnames=0 norandmaps nokaslr"

# as Debian's own GRUB for arm64 looks for it on the EFI system partition
FIRST_GRUB_CONFIGURATION = f"""search.fs_uuid {ROOT_UUID} root
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
    "/usr/bin/systemd-hwdb": "/usr/bin/true",
}
DIVERT = "dpkg-divert --quiet --local --rename"

# runs before the kernel is unpacked; $1 is the new system
BEFORE = f"""set -eu
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/lib/python3.13" "$1/usr/bin"
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
touch /etc/.updated /var/.updated
printf 'virtio_pci\\nvirtio_blk\\next4\\n' >> /etc/initramfs-tools/modules
update-initramfs -c -k all
cp /usr/share/grub/default/grub /etc/default/grub
sed -i -e 's/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=1/' \
    -e 's/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="{COMMAND_LINE}"/' \
    -e 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT=""/' /etc/default/grub
mkdir -p /boot/grub /boot/efi
release=$(ls /lib/modules)
cat > /boot/grub/grub.cfg <<END
linux /boot/vmlinuz-$release root=UUID={ROOT_UUID} ro {COMMAND_LINE}
initrd /boot/initrd.img-$release
boot
END
"""


def image() -> Path:
    """Return the folder with ``disk.img`` and the SSH key ``key``; built once (six minutes)."""
    return once("virtual-pi", f"{SUITE}-{digest(Path(__file__))}", _build)


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
            # mounts and processes of its own: nothing of them is left if it is stopped, or we are
            *("unshare", "--mount-proc", "--pid", "--fork", "--kill-child"),
            *("mmdebstrap", "--quiet", "--mode=root", "--architectures=arm64", "--variant=minbase"),
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
    with disk.open(
        "r+b"
    ) as file:  # mformat writes a partition table there, which grub-probe believes
        file.seek(ESP_START * 512 + 446)
        file.write(bytes(64))
    for name in ("EFI", "EFI/BOOT", "EFI/debian"):
        run(["mmd", "-i", esp, f"::{name}"], what="a folder for GRUB")
    grub = root / "usr/lib/grub/arm64-efi/monolithic/grubaa64.efi"
    first = folder / "grub.cfg"
    first.write_text(FIRST_GRUB_CONFIGURATION)
    run(["mcopy", "-i", esp, grub, "::EFI/BOOT/BOOTAA64.EFI"], what="GRUB")
    run(["mcopy", "-i", esp, first, "::EFI/debian/grub.cfg"], what="GRUB's configuration")
    first.unlink()
    offset = ROOT_START * 512
    run(
        [
            *("mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-U", ROOT_UUID, "-d", root),
            *("-E", f"offset={offset},lazy_itable_init=0", disk, f"{root_sectors // 2}k"),
        ],
        what="the root file system",
    )
