"""A real OpenSSH server on this machine, with keys of its own, in place of a target's."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

HOST = "bench"  # as the client's configuration calls it


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _key(path: Path) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path], check=True
    )


class Sshd:
    """``sshd`` on a port of its own; ``config`` is the client's configuration file.

    ``first``: a folder that stands first in the sessions' PATH, with stand-ins for what this
    machine must not run (modprobe and such); ``environment``: what else they get.
    """

    def __init__(
        self, folder: Path, first: Path | None = None, environment: Mapping[str, object] = {}
    ) -> None:
        self.folder = folder
        self.port = _free_port()
        self._first = first
        self._environment = environment
        for name in ("host", "user"):
            _key(folder / name)
        shutil.copy(folder / "user.pub", folder / "authorized_keys")
        self.config = folder / "ssh_config"
        self.known_hosts = folder / "known_hosts"
        self.know()
        self.configure()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def know(self, host_key: str | None = None) -> None:
        """Write the known hosts: this one with its key, or with another, or (empty) not at all."""
        key = (self.folder / "host.pub").read_text() if host_key is None else host_key
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {key}" if key else "")

    def configure(self, **options: object) -> None:
        """Write the client's configuration; ``options`` replace its lines."""
        lines = {
            "HostName": "127.0.0.1",
            "Port": self.port,
            "User": getpass.getuser(),
            "IdentityFile": self.folder / "user",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": self.known_hosts,
            "GlobalKnownHostsFile": "/dev/null",
            **options,
        }
        text = "\n".join(f"  {name} {value}" for name, value in lines.items())
        self.config.write_text(f"Host {HOST}\n{text}\n")

    def start(self) -> None:
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # sshd's own demand
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        home = self.folder / "home"  # without what the user's own shell starts with
        home.mkdir(exist_ok=True)
        environment = {
            "PATH": f"{self._first}:{path}" if self._first else path,
            "HOME": str(home),
            **self._environment,
        }
        settings = self.folder / "sshd_config"
        settings.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.folder / 'host'}\n"
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}\nStrictModes no\n"
            "UsePAM no\nSubsystem sftp internal-sftp\nPidFile none\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"SetEnv {' '.join(f'{name}={value}' for name, value in environment.items())}\n"
        )
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        assert sshd, "no sshd: run 'make setup' for the tests (openssh-server)"
        with (self.folder / "sshd.log").open("ab") as log:
            self._process = subprocess.Popen([sshd, "-D", "-e", "-f", settings], stderr=log)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "sshd.log").read_text())

    def _sessions(self) -> list[int]:
        """Return the server's processes of the sessions that are open, theirs and nobody else's."""
        assert self._process
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                name, _, rest = stat.read_text().partition("(")[2].rpartition(") ")
                if name.startswith("sshd"):
                    parents[int(stat.parent.name)] = int(rest.split()[1])
        found = {self._process.pid}
        for _ in range(4):  # a session is a process, its helper a child of that
            found |= {pid for pid, parent in parents.items() if parent in found}
        return sorted(found - {self._process.pid}, reverse=True)

    def cut(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End all sessions as a target does that loses its power; SIGSTOP: as a lost network."""
        for pid in self._sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)

    def stop(self) -> None:
        """End the server; sessions stay."""
        if self._process:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        if self._process:
            self.cut()
        self.stop()
