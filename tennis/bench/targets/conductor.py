# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The host's hold on ``target/play``: what it says is kept, and it is told that the host is there.

It undoes everything when it is told that the rally is over, and also when nobody tells it anything
any more. So whatever happens to the host or to the connection, the target becomes as it was.
"""

import contextlib
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import SSH_FAILED, SshTarget
from tennis.bench.targets.virtual.console import LIMIT_BYTES
from tennis.checkout import ROOT
from tennis.errors import BenchError
from tennis.rally.text import plain

SCRIPT = ROOT / "target" / "play"
ALIVE_EVERY_S = 10.0  # a packet each way so seldom does not show in what is measured
SILENT_S = 35.0  # the target gives the host up, and undoes everything
READY_S = 300.0  # a load's health check may take its time
UNDONE_S = 120.0
PLACE = "/var/tmp"  # noqa: S108 (on the target; each rally has a folder there, of a random name)
# the load's other end and its watch: both end when the pipe from this program does
PEER = '(sh -c "$1"; kill -TERM $$) & read -r _; kill -TERM 0'
AFTER = "tennis: after "  # a line of the snapshot behind the last ball


class Conductor:
    """``target/play`` on a target, from its start until all is undone.

    ``console``: where its words, and the kernel's, are appended; ``after``: where the snapshot
    behind the last ball goes.
    """

    def __init__(self, target: SshTarget, console: Path, after: Path) -> None:
        self.folder = f"{PLACE}/tennis-{secrets.token_hex(8)}"
        self.trouble = ""  # why the rally cannot go on, once it is so
        self._target = target
        self._console, self._after = console, after
        self._process: subprocess.Popen[bytes] | None = None
        self._facts: set[str] = set()
        self._words = threading.Condition()
        self._ended = False  # its output did
        self._over = False  # it was told so
        self._copied = False
        self._peer: subprocess.Popen[bytes] | None = None
        self._peer_folder: Path | None = None

    def copy(
        self, files: Mapping[str, bytes | Path], settings: Mapping[str, str | int | float]
    ) -> None:
        """Bring the files and the settings (variables of a shell) to the target."""
        self._copied = True
        lines = (f"{name}={shlex.quote(str(value))}\n" for name, value in settings.items())
        self._target.copy(
            {
                **files,
                "play": SCRIPT,
                "snapshot": snapshot.SCRIPT,
                "settings": "".join(lines).encode(),
            },
            self.folder,
        )

    def start(self, doing: str) -> None:
        """Start it, and return once the target is ready to play.

        Raises BenchError with the target's reason where it does not get ready; all is undone then.
        """
        self._process = self._target.start(f"exec bash {self.folder}/play", root=True)
        for loop in (self._listen, self._beat):
            threading.Thread(target=loop, daemon=True).start()
        if not self._await("ready", READY_S):
            self.close()
            raise BenchError(f"{self._target.host}: {self.trouble or f'{doing} took too long'}")

    def start_peer(self, folder: Path, command: str) -> None:
        """Run what the load needs at the other end of the network: here. It ends with the rally."""
        # nothing that lies there is run: it may have come with the rally
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._peer_folder = folder
        scp = folder / "bin" / "scp"
        scp.parent.mkdir()
        scp.write_text(self._target.scp_script(f"{self.folder}/"))
        scp.chmod(0o755)
        with (folder / "errors").open("wb") as errors:
            self._peer = subprocess.Popen(
                ["sh", "-c", PEER, "peer", f"PATH={shlex.quote(str(scp.parent))}:$PATH; {command}"],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                process_group=0,
            )

    def close(self) -> None:
        """Say that the rally is over, and wait until all is undone. Safe to call twice."""
        self._end_peer()
        process, self._process = self._process, None
        if process is None:
            self._remove_folder()
            return
        self._over = True
        with contextlib.suppress(OSError):
            if not self.trouble and process.stdin:
                process.stdin.write(b"over\n")
                process.stdin.flush()
        undone = self._await("undone", UNDONE_S)
        if not undone:
            self._append("tennis: error not_undone nobody heard from the target that all is undone")
        with contextlib.suppress(OSError):
            if process.stdin:
                process.stdin.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode != SSH_FAILED:
            self._remove_folder()

    def _remove_folder(self) -> None:
        """Remove what was copied where the target's side never began, so that nothing did that."""
        if self._copied and "undone" not in self._facts:
            with contextlib.suppress(BenchError):
                self._target.attempt(f"rm -rf {self.folder}")
        self._copied = False

    def _end_peer(self) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(peer.pid, signal.SIGTERM)
            peer.wait()
            if peer.stdin:
                peer.stdin.close()
        if self._peer_folder is not None:
            shutil.rmtree(self._peer_folder, ignore_errors=True)

    # --- what goes on meanwhile, in threads of their own ---

    def _beat(self) -> None:
        process = self._process
        assert process is not None  # noqa: S101 (it was just started)
        assert process.stdin is not None  # noqa: S101
        while not self._ended and not self._over:
            try:
                process.stdin.write(b"alive\n")
                process.stdin.flush()
            except OSError:
                return
            if self._peer is not None and self._peer.poll() is not None:
                words = f"the load's other end, on this host, ended: {self._peer_words()}"
                self._append(f"tennis: error load_died {words}")
                self._trouble(f"{words} (load_died)")
                return
            with self._words:
                self._words.wait_for(lambda: self._ended or self._over, ALIVE_EVERY_S)

    def _peer_words(self) -> str:
        """Return the last line that the load's other end said."""
        assert self._peer_folder is not None  # noqa: S101
        with (self._peer_folder / "errors").open("rb") as errors:
            lines = errors.read(1 << 16).decode(errors="replace").strip().splitlines()
        return plain(lines[-1], 200) if lines else "it did not say why"

    def _listen(self) -> None:
        process = self._process
        assert process is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        errors: list[bytes] = []
        reader = threading.Thread(target=_keep, args=(process.stderr, errors), daemon=True)
        reader.start()
        room = LIMIT_BYTES
        for raw in process.stdout:
            room -= len(raw)
            if room > 0:
                self._hear(raw.decode(errors="replace").rstrip("\r\n")[:4000])
        reader.join(5)
        process.wait()
        if "undone" not in self._facts or (not self._over and not self.trouble):
            said = b"".join(errors).decode(errors="replace").strip()
            if process.returncode == SSH_FAILED or not said:
                failure = str(self._target.failure("disconnected"))
            else:
                failure = f"{self._target.host}: {plain(said.splitlines()[-1], 200)}"
            self._append(f"tennis: error target_lost {failure}")
            self._trouble(f"{failure} (target_lost)")
        with self._words:
            self._ended = True
            self._words.notify_all()

    def _hear(self, line: str) -> None:
        if line == "tennis: alive":
            return
        if line.startswith(AFTER):
            self._append(line.removeprefix(AFTER), self._after)
            return
        self._append(line)
        if line.startswith("tennis: fact "):
            with self._words:
                self._facts.add(line.split(" ", 3)[2])
                self._words.notify_all()
        elif line.startswith("tennis: error "):
            code, _, words = line.removeprefix("tennis: error ").partition(" ")
            self._trouble(f"{plain(words)} ({plain(code, 40)})")

    def _trouble(self, words: str) -> None:
        self.trouble = self.trouble or words

    def _append(self, line: str, path: Path | None = None) -> None:
        with (path or self._console).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def _await(self, fact: str, timeout_s: float) -> bool:
        """Wait for a fact; tell whether it came before the end, or trouble where it is "ready"."""

        def heard() -> bool:
            return fact in self._facts or self._ended or (fact == "ready" and bool(self.trouble))

        deadline = time.monotonic() + timeout_s
        with self._words:
            while not heard() and time.monotonic() < deadline:
                self._words.wait(0.2)
        return fact in self._facts


def _keep(stream: IO[bytes], into: list[bytes]) -> None:
    """Keep the beginning of what a stream says, and read the rest."""
    while chunk := stream.read(4096):
        if len(into) < 16:
            into.append(chunk)
