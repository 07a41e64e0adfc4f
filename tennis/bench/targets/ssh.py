"""A target that is reached over SSH: run commands on it, copy files to it, wait until it is up.

The client is OpenSSH's ``ssh``, so names, users, ports and keys are those of ``~/.ssh/config`` (or
of the file that TENNIS_SSH_CONFIG names). It never prompts: keys only, host keys must be known. All
commands to a target share one connection. This module stores neither input nor output; only an
error quotes the target's last lines.
"""

import contextlib
import io
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.patience import USUAL, Patience
from tennis.bench.targets import snapshot
from tennis.kit import environment
from tennis.kit.checkout import SETUP
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.scratch import owned
from tennis.rally.text import plain

SHARED_S = 20  # so long does the connection wait for the next command: none is left behind
OUTPUT_MAX = 1 << 24  # bytes that a command may say
POLL_S = 1.0
SOCKETS = f"tennis-ssh-{os.geteuid()}-"
SSH_FAILED = 255  # ssh's own exit code, if not the command's


class SshError(BenchError):
    """The connection failed: unreachable, a host key, a login, or it was lost."""


class StoppedError(SshError):
    """Somebody stopped waiting for a target."""


class RemoteError(BenchError):
    """A command failed on the target; ``code`` is its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class _TooMuchError(Exception):
    """A command's output is over its limit."""


@dataclass(frozen=True)
class CommandResult:
    """The end of a command on the target."""

    code: int
    output: str
    errors: str


class SshTarget:
    """A host, as ``ssh`` knows it; ``options`` are more ``-o`` options, as in ``Port=2222``.

    Safe to keep for long: each command opens the shared connection again if it is gone. While
    ``aborted`` is set, a command that runs ends at once, and none is begun: both raise SshError.
    """

    def __init__(
        self, host: str, options: Sequence[str] = (), *, patience: Patience = USUAL
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:%@\[\]-]{0,254}", host):
            raise UsageError(
                f"--target {host!a}", next_step="name a host as for ssh, NAME or USER@NAME"
            )
        if not shutil.which("ssh"):
            raise BenchError("ssh is not installed", next_step=f"run '{SETUP}' (openssh-client)")
        self.host = host
        self.patience = patience
        self.aborted = threading.Event()
        self._options = list(options)
        self._folder: Path | None = None  # of the shared connection's socket

    def __enter__(self) -> "SshTarget":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection up. Safe to call twice; it may be used again afterwards."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired, BenchError):
            self._ssh(["-O", "exit"], [], timeout_s=5)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    # --- commands ---

    def run(
        self,
        command: str,
        *,
        what: str,
        root: bool = False,
        stdin: bytes | Path = b"",
        timeout_s: float = 60,
    ) -> str:
        """Run a line of shell on the target and return its output; ``what`` names it in errors.

        ``root``: as root, through sudo if the login is not root. ``stdin`` is what it reads. Raises
        SshError if the target cannot be reached, RemoteError if the command failed.
        """
        done = self.attempt(command, root=root, stdin=stdin, timeout_s=timeout_s, what=what)
        if done.code:
            raise RemoteError(f"{what} on {self.host}: {why(done)}", done.code)
        return done.output

    def attempt(  # noqa: PLR0913 (all of them named)
        self,
        command: str,
        *,
        what: str = "a command",
        root: bool = False,
        stdin: bytes | Path = b"",
        timeout_s: float = 60,
        limit: int = OUTPUT_MAX,
    ) -> CommandResult:
        """Run a line of shell on the target and return how it ended.

        Raises SshError, also if it prints more than ``limit`` bytes.
        """
        try:
            done = self._ssh(
                [], [_shell(command, root=root)], stdin=stdin, timeout_s=timeout_s, limit=limit
            )
        except _TooMuchError:
            raise SshError(
                f"{self.host}: {what} printed more than {limit >> 10} kB, which is not sensible",
                next_step="log in and see what answers there",
            ) from None
        except subprocess.TimeoutExpired:
            raise SshError(
                f"{self.host}: {what} did not end within {timeout_s:g} s: "
                "log in and see what it waits for"
            ) from None
        if done.code == SSH_FAILED:
            raise self.failure(done.errors)
        return done

    def start(self, command: str, *, root: bool = False) -> "subprocess.Popen[bytes]":
        """Start a line of shell whose three streams are pipes; when stdin closes, it must end.

        The caller ends it. Its exit code is 255 if the connection was lost: ``failure`` of its
        stderr then gives the reason.
        """
        return subprocess.Popen(
            [*self._words([]), _shell(command, root=root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment.for_programs(),
            start_new_session=True,  # Ctrl-C is for the host
        )

    def failure(self, errors: str) -> SshError:
        """Return the error that explains this message of a failed ssh."""
        if meaning := _meaning_of_ssh(self.host, errors):
            return SshError(f"{self.host}: {meaning}")
        lines = [line for line in errors.splitlines() if line.strip()]
        if not lines:
            return self.failure("disconnected")
        last = plain(lines[-1].strip(), 200)
        return SshError(f"{self.host}: ssh failed ({last})", next_step=f"try `ssh {self.host}`")

    def facts(self, *, config: bool = True) -> snapshot.Snapshot:
        """Return the target's snapshot. Raises SshError, RemoteError, BenchError."""
        output = self.run(
            f"sh -s -- {'' if config else 'no-config'}",
            what="taking a snapshot",
            root=True,
            stdin=snapshot.script(),
        )
        return snapshot.read(output)

    # --- files ---

    def copy(
        self,
        files: Mapping[str, bytes | Path],
        folder: str,
        *,
        root: bool = False,
        timeout_s: float = 600,
    ) -> None:
        """Copy files into a folder of the target, which is made if it is missing.

        ``files``: name below ``folder`` -> content, or a file, or a folder with all that is in it.
        Modes are kept; bytes are executable. Raises SshError, RemoteError.
        """
        with tempfile.NamedTemporaryFile(prefix="tennis-", suffix=".tar") as archive:
            with tarfile.open(fileobj=archive, mode="w") as tar:
                for name, content in sorted(files.items()):
                    if isinstance(content, Path):
                        tar.add(content, name, filter=_plain_owner)
                        continue
                    entry = tarfile.TarInfo(name)
                    entry.size, entry.mode = len(content), 0o755
                    tar.addfile(entry, io.BytesIO(content))
            archive.flush()
            place = shlex.quote(folder)
            self.run(
                # anybody may write to the parent: an existing folder is somebody else's
                f"mkdir {place} && tar -x -f - -C {place} --no-same-owner",
                what=f"copying to {folder}",
                root=root,
                stdin=Path(archive.name),
                timeout_s=timeout_s,
            )

    def scp_script(self, folder: str) -> str:
        """Return a script that replaces ``scp`` in a load's command: it sends to ``folder``.

        A load knows the target's address only; user, port and key are those of this target.
        """
        options = " ".join(map(shlex.quote, self._words([], shared=False)[1:-2]))
        place = shlex.quote(f"{self.host}:{folder}")
        return (
            "#!/bin/sh\n"
            f"for word; do shift; case $word in *:*) word={place} ;; esac; "
            'set -- "$@" "$word"; done\n'
            f'exec {shutil.which("scp") or "scp"} {options} "$@"\n'
        )

    def address(self) -> str:
        """Return the target's name or address on the network. Raises SshError."""
        known = self._address()
        return known[0] if known else self.host.rpartition("@")[2]

    # --- waiting ---

    def boot_id(self) -> str:
        """Return what names this boot of the target. Raises SshError, RemoteError."""
        return self.run("cat /proc/sys/kernel/random/boot_id", what="reading the boot id").strip()

    def wait_until_up(
        self,
        timeout_s: float = 180,
        *,
        after_boot: str | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Return when the target takes commands; ``after_boot``: those of a later boot than this.

        Raises SshError after ``timeout_s``, with the last error; at once if waiting cannot help (an
        unknown name or host key, a refused login). Raises StoppedError soon after ``stop`` says so.
        """
        deadline = time.monotonic() + timeout_s
        address = self._address()
        last = SshError(f"{self.host}: it did not come back")
        while (left_s := deadline - time.monotonic()) > 0:
            if stop():
                raise StoppedError(f"{self.host}: nobody waits for it any more")
            if address is None or _banner(*address, min(self.patience.banner_s, left_s)):
                try:
                    if self.boot_id() != after_boot:
                        return
                    last = SshError(f"{self.host}: it did not reboot")
                    self.close()  # the connection from before the reboot must not be asked again
                except SshError as error:
                    if re.search("no such host|host key|your key|many keys", str(error)):
                        raise
                    last = error
            else:
                last = self.failure("no banner: timed out")
            time.sleep(POLL_S)
        raise SshError(f"{last} (waited {timeout_s:g} s)")

    def _address(self) -> tuple[str, int] | None:
        """Return the address of its SSH port; None if only ssh finds the way (a jump host)."""
        done = self._ssh(["-G"], [], timeout_s=self.patience.connect_s, shared=False)
        if done.code:
            raise self.failure(done.errors)
        known = dict(line.split(" ", 1) for line in done.output.splitlines() if " " in line)
        if {"proxyjump", "proxycommand"} & known.keys():
            return None
        return known.get("hostname", self.host), int(known.get("port", "22"))

    # --- ssh itself ---

    def _words(self, first: Sequence[str], *, shared: bool = True) -> list[str]:
        config = os.environ.get("TENNIS_SSH_CONFIG")
        options = [
            "BatchMode=yes",
            f"ConnectTimeout={self.patience.connect_s}",
            f"ServerAliveInterval={self.patience.alive_every_s}",
            f"ServerAliveCountMax={self.patience.alive_times}",
            "ForwardAgent=no",
            "ForwardX11=no",
            "RequestTTY=no",
            "LogLevel=ERROR",
        ]
        if shared:
            if self._folder is None:
                # a short path: the name of a socket has at most 107 bytes
                stack = ExitStack()
                self._folder = stack.enter_context(owned(Path("/tmp"), SOCKETS, SOCKETS))  # noqa: S108
                weakref.finalize(self, stack.close)
            options += [
                "ControlMaster=auto",
                f"ControlPath={self._folder}/%C",
                f"ControlPersist={SHARED_S}",
            ]
        command = ["ssh", *(["-F", config] if config else []), *first]
        for option in [*options, *self._options]:
            command += ["-o", option]
        return [*command, "--", self.host]

    def _ssh(  # noqa: PLR0913
        self,
        first: Sequence[str],
        command: Sequence[str],
        *,
        stdin: bytes | Path = b"",
        timeout_s: float,
        shared: bool = True,
        limit: int = OUTPUT_MAX,
    ) -> CommandResult:
        """Run ssh. Raises subprocess.TimeoutExpired, _TooMuchError, SshError when aborted."""
        deadline = time.monotonic() + timeout_s
        # files, not pipes: the shared connection's process keeps what it was started with
        with (
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
            tempfile.TemporaryFile() if isinstance(stdin, bytes) else stdin.open("rb") as source,
        ):
            if isinstance(stdin, bytes):
                source.write(stdin)
                source.seek(0)
            process = subprocess.Popen(
                [*self._words(first, shared=shared), *command],
                stdin=source.fileno(),
                stdout=output,
                stderr=errors,
                env=environment.for_programs(),
                start_new_session=True,  # Ctrl-C is for the host
            )
            try:
                while process.poll() is None:
                    if self.aborted.is_set():
                        raise SshError(f"{self.host}: stopped")
                    if any(os.fstat(file.fileno()).st_size > limit for file in (output, errors)):
                        raise _TooMuchError
                    if time.monotonic() > deadline:
                        raise subprocess.TimeoutExpired(process.args, timeout_s)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(POLL_S)
            finally:
                process.kill()
                process.wait()
            outputs = []
            for file in (output, errors):
                file.seek(0)
                outputs.append(file.read(limit + 1))
            if any(len(piece) > limit for piece in outputs):
                raise _TooMuchError
        return CommandResult(
            process.returncode, *(piece.decode(errors="replace") for piece in outputs)
        )


def as_root(command: Sequence[str]) -> str:
    """Return a shell's line that starts a program as root, itself: sudo may allow nothing else."""
    line = shlex.join(command)
    return f'if [ "$(id -u)" = 0 ]; then exec {line}; else exec sudo -n {line}; fi'


def _shell(command: str, *, root: bool = False) -> str:
    """Return a line for any login shell: it starts ``sh``, as root if asked."""
    words = ["sh", "-c", command]
    return shlex.join(["sh", "-c", as_root(words)] if root else words)


def why(result: CommandResult) -> str:
    """Say why a command failed, from its errors."""
    if meaning := _meaning_on_target(result.errors):
        return meaning
    lines = [line.strip() for line in result.errors.splitlines() if line.strip()]
    reason = plain(" | ".join(lines[-3:]), 300) if lines else "it did not say why"
    return f"failed ({result.code}): {reason}"


def _plain_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _banner(host: str, port: int, timeout_s: float) -> bool:
    """Tell whether an SSH server says its name.

    A port that accepts is not enough: QEMU's user network accepts for a guest that still boots.
    """
    try:
        with socket.create_connection((host, port), timeout_s) as line:
            ready, _, _ = select.select([line], [], [], timeout_s)
            return bool(ready) and line.recv(4) == b"SSH-"
    except OSError:
        return False


# ssh's message -> its meaning, and what to do; the first match counts
_OF_SSH = [
    ("Could not resolve hostname", "no such host: check the name, the inventory, ~/.ssh/config"),
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed: if you set it up again, run `ssh-keygen -R HOST`, `ssh HOST`",
    ),
    (
        "Host key verification failed|host key is known",
        "its host key is unknown here: run `ssh HOST` once and compare the fingerprint",
    ),
    (
        "Permission denied",
        "it does not accept your key: give it with `ssh-copy-id HOST`, and load it into the agent",
    ),
    ("Too many authentication failures", "too many keys are offered: name one in ~/.ssh/config"),
    ("Connection refused", "nobody answers on its SSH port: is it still booting, is sshd enabled?"),
    (
        "timed out|No route to host|Network is unreachable|Host is down",
        "unreachable: is it switched on, and in this network?",
    ),
    (
        "closed by|reset by|Broken pipe|not responding|disconnect|mux_client",
        "the connection was lost: is it switched on, does its network hold?",
    ),
]
# a message of a target's shell or programs -> its meaning
_OF_TARGET = [
    (
        r"sudo: a (?:password|terminal) is required|sudo: a password",
        "sudo asks for a password there: allow it without one (the bench role of ansible/ does)",
    ),
    (
        r"sudo: .*not found|is not in the sudoers|may not run sudo",
        "there is no sudo for this user there: log in as root, or install and allow it",
    ),
    ("No space left on device|Disk quota exceeded", "its disk is full: free some space there"),
    ("Read-only file system", "its disk is read-only: look at its SD card (dmesg)"),
]


def _meaning_of_ssh(host: str, errors: str) -> str | None:
    """Return the meaning of ssh's errors about a host; None if unknown."""
    for pattern, meaning in _OF_SSH:
        if re.search(pattern, errors, re.IGNORECASE):
            return meaning.replace("HOST", host)
    return None


def _meaning_on_target(errors: str) -> str | None:
    """Return the meaning of a command's errors on a target; None if unknown."""
    for pattern, meaning in _OF_TARGET:
        if re.search(pattern, errors):
            return meaning
    return None
