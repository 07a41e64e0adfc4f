"""A whole Debian system for arm64 in QEMU, for the playbooks: as a Pi before it is a bench.

UEFI firmware and GRUB start it from its own disk, so that a reboot starts the kernel that the
playbooks installed.
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

from tennis.bench.commands import run
from tennis.bench.qemu import plugins as instrument
from tennis.bench.targets.ssh import SshTarget
from tennis.kit import wire
from tests.support.virtual_pi_image import USER, image

NAME = "virtual-pi"
FIRMWARE = Path("/usr/share/AAVMF")


@dataclass(frozen=True)
class Balls:
    """The virtual instrument's counts."""

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
                **{"ready_timeout": 14_400_000_000_000, "give_up": 30_000_000_000},
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
