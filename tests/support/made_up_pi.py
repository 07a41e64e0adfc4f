"""A folder that ``tennis-boot`` takes for the root of a Pi, and what it is asked there."""

import os
import subprocess
import sys
from pathlib import Path

from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end, stand_in

PROGRAM = ROOT / "ansible/roles/kernel/files/tennis_boot.py"
KEEPER = ROOT / "ansible/roles/base/files/tennis_bench.py"
READER = ROOT / "ansible/roles/base/files/tennis-firmware"
STOCK, RT, EVL = "6.12.47+rpt-rpi-v8", "6.12.47-tennis-rt-12345678", "6.6.0-tennis-evl-12345678"
CONFIG = "# as it came\narm_64bit=1\n\n[pi4]\narm_boost=1\n"


class Target:
    """A folder that the program takes for the root of a Pi."""

    def __init__(self, root: Path, running: str) -> None:
        self.root, self.running = root, running
        self.firmware = root / "boot/firmware"
        self.firmware.mkdir(parents=True)
        (self.firmware / "config.txt").write_text(CONFIG)
        (self.firmware / "cmdline.txt").write_text("console=tty1 root=PARTUUID=1-2 panic=0 quiet\n")
        (root / "proc/sys/kernel/random").mkdir(parents=True)
        (root / "proc/sys/kernel/random/boot_id").write_text("b007\n")
        (root / "etc").mkdir()
        (root / "dev").mkdir()
        (root / "dev/vcio").touch()
        self.keeper = root / "usr/local/sbin/tennis-bench"
        self.keeper.parent.mkdir(parents=True)
        self.keeper.symlink_to(KEEPER)
        self.keeper.with_name("tennis-firmware").symlink_to(READER)
        self.holder, self.login = "red", ""  # who asks, and through which login
        self.tools = root / "bin"
        self.tools.mkdir()
        for release in (STOCK, RT, EVL):
            self.install(release)
        self.model("Raspberry Pi 4 Model B Rev 1.5")
        self.tool("uname", "echo nobody calls this")
        self.tool("systemctl", "exit 3")  # no upgrades are being installed
        self.tool("systemd-run", f'echo "$@" >> {root}/reboots')

    def install(self, release: str) -> None:
        (self.root / "boot" / f"vmlinuz-{release}").write_text(f"kernel {release}")
        (self.root / "lib/modules" / release).mkdir(parents=True)
        trees = self.root / f"usr/lib/linux-image-{release}"
        (trees / "broadcom").mkdir(parents=True)
        (trees / "broadcom/bcm2711-rpi-4-b.dtb").write_text(f"tree {release}")
        (trees / "overlays").mkdir()
        (trees / "overlays/README").write_text("overlays")

    def model(self, text: str) -> None:
        (self.root / "proc/device-tree").mkdir(exist_ok=True)
        (self.root / "proc/device-tree/model").write_bytes(text.encode() + b"\0")

    def tool(self, name: str, line: str) -> None:
        stand_in(self.tools / name, line)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        if words[:1] in {("once",), ("keep",), ("reboot",)}:
            words = (*words, self.holder)
        # os.uname is the machine's own: let it say what this target runs
        patch = (
            f"import os, sys, tennis_boot; u = os.uname(); r = {self.running!r}; "
            "os.uname = lambda: os.uname_result((u[0], u[1], r, u[3], u[4])); "
            "tennis_boot.program(sys.argv[1:])"
        )
        return run_to_end(
            [sys.executable, "-c", patch, *words],
            env={
                **os.environ,
                "PYTHONPATH": str(PROGRAM.parent),
                "TENNIS_ROOT": str(self.root),
                "PATH": f"{self.tools}:{os.environ['PATH']}",
                "SUDO_USER": self.login or "root",
            },
        )

    def does(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refuses(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 1, done.stdout
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        return done.stderr

    def register(self) -> str:
        return self.does(
            *("register", "mainline", f"mainline=linux-image-{STOCK},stock"),
            *(f"rt=linux-image-{RT}", f"evl=linux-image-{EVL}"),
        )
