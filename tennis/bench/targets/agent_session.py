"""The host's side of ``target/agent``: it keeps the agent's output and sends signs of life.

The agent undoes everything when the host ends the rally, and also when the host falls silent. So
the target is restored even if the host or the connection fails.
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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from tennis.bench.targets import snapshot
from tennis.bench.targets.console import LIMIT_BYTES
from tennis.bench.targets.ssh import SSH_FAILED, SshTarget
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError
from tennis.rally.text import plain

SCRIPT = ROOT / "target" / "agent"
PEER_END_S = 10.0
OVER_EVERY_S = 5.0  # the target may lose the word while it gets ready
POLL_S = 0.2
LINE_MAX = 4000  # bytes; more is another line
PLACE = "/var/tmp"  # noqa: S108 (on the target; each rally has a folder there, of a random name)
# the load's other end and its watch: both end when the pipe from this program does
PEER = '(sh -c "$1"; kill -TERM $$) & read -r _; kill -TERM 0'
AFTER = "tennis: after "  # a line of the snapshot behind the last ball


class AgentSession:
    """``target/agent`` on a target, from its start until all is undone.

    ``console``: the file to which its words, and the kernel's, are appended; ``after``: the file of
    the snapshot after the last ball.
    """

    def __init__(self, target: SshTarget, console: Path, after: Path) -> None:
        self.folder = f"{PLACE}/tennis-{secrets.token_hex(8)}"
        self.trouble = ""  # why the rally cannot go on, once it is so
        self.doing = "getting ready"  # until it can be played
        self.left: list[str] = []  # what the target could not undo
        self._target = target
        self._console, self._after = console, after
        self._process: subprocess.Popen[bytes] | None = None
        self._facts: set[str] = set()
        self._words = threading.Condition()
        self._ended = False  # its output did
        self._over = False  # it got the word to end
        self._copied = False
        self._worker: threading.Thread | None = None
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
                "agent": SCRIPT,
                "snapshot": snapshot.SCRIPT,
                "settings": "".join(lines).encode(),
            },
            self.folder,
        )

    def set_up(self, steps: Callable[[], None]) -> Iterator[None]:
        """Take some steps, start the target's side, and yield now and then until it can play.

        The steps are taken in a thread of their own, so that the caller can stop at any time
        (``close`` then undoes it). Raises what a step raised, and BenchError with the target's
        reason if it does not get ready.
        """
        failed: list[BaseException] = []

        def work() -> None:
            try:
                steps()
                self._process = self._target.start(f"exec bash {self.folder}/agent", root=True)
            except BaseException as error:  # is raised below
                failed.append(error)

        self._worker = threading.Thread(target=work, daemon=True)
        self._worker.start()
        while self._worker.is_alive():
            self._worker.join(POLL_S)
            yield
        if failed:
            raise failed[0]
        for loop in (self._listen, self._beat):
            threading.Thread(target=loop, daemon=True).start()
        deadline = time.monotonic() + self._target.patience.ready_s
        while not self._await("ready", POLL_S):
            if self._ended or self.trouble:
                break
            if time.monotonic() > deadline:
                self._trouble(
                    f"it was not ready after {self._target.patience.ready_s:g} s: {self.doing}"
                )
                break
            yield
        if "ready" not in self._facts:
            raise BenchError(f"{self._target.host}: {self.trouble or 'it ended without a word'}")
        self.doing = ""

    def start_peer(self, folder: Path, command: str) -> None:
        """Run what the load needs at the other end of the network: here. It ends with the rally."""
        # files that are there are never run: they may have come with the rally
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
                env=environment.for_programs(),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                process_group=0,
            )

    def close(self) -> None:
        """Say that the rally is over, and wait until all is undone. Safe to call twice."""
        self._end_peer()
        if self._worker is not None:
            self._target.aborted.set()  # there may be no end to what it copies
            self._worker.join()
            self._target.aborted.clear()
        process, self._process = self._process, None
        if process is None:
            self._remove_folder()
            return
        self._over = True
        deadline = time.monotonic() + self._target.patience.undone_s
        while not self._ended and time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):  # it may be closed already
                if process.stdin and self.trouble:
                    process.stdin.close()  # the end of the connection: it undoes all at once
                elif process.stdin:
                    process.stdin.write(b"over\n")
                    process.stdin.flush()
            if self._await("undone", OVER_EVERY_S):
                break
        if "undone" not in self._facts:
            message = "the target did not confirm that all is undone"
            self._append(f"tennis: error not_undone {message}")
            self.left.append(f"{message}: it undoes it by itself, unless it lost its power")
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
        """Remove the copied files if the agent never began, and so did not remove them itself."""
        if self._copied and "undone" not in self._facts:
            with contextlib.suppress(BenchError):
                self._target.attempt(f"rm -rf {self.folder}", timeout_s=20)
        self._copied = False

    def _end_peer(self) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(peer.pid, signal.SIGTERM)
            try:
                peer.wait(timeout=PEER_END_S)
            except subprocess.TimeoutExpired:  # a user's load may refuse to end
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(peer.pid, signal.SIGKILL)
                peer.wait()
            if peer.stdin:
                peer.stdin.close()
        if self._peer_folder is not None:
            shutil.rmtree(self._peer_folder, ignore_errors=True)

    def go(self) -> None:
        """Tell the target that its drill may begin."""
        self._tell(b"go\n")

    def count(self) -> Iterator[None]:
        """Let the target count the pings that came since it was ready; yield until it has.

        Raises BenchError if none came, or they came to another processor than they should.
        """
        self._tell(b"count\n")
        deadline = time.monotonic() + self._target.patience.ready_s
        while not self._await("counted", POLL_S):
            if self._ended or self.trouble or time.monotonic() > deadline:
                raise BenchError(
                    f"{self._target.host}: {self.trouble or 'it did not count the pings'}",
                    next_step="correct that, and play again",
                )
            yield

    def _tell(self, word: bytes) -> None:
        """Say a word to the target, which is ready."""
        process = self._process
        assert process is not None  # noqa: S101 (it is ready)
        assert process.stdin is not None  # noqa: S101
        with contextlib.suppress(OSError, ValueError):  # another check reports its end
            process.stdin.write(word)
            process.stdin.flush()

    def has_fact(self, fact: str) -> bool:
        """Tell whether the target reported a fact."""
        return fact in self._facts

    def complain(self, code: str, message: str) -> None:
        """Note a fault of the rally, once, as if the target reported it."""
        if not self.trouble:
            self._append(f"tennis: error {code} {message}")
            self._trouble(f"{message} ({code})")

    # --- work in threads of their own ---

    def _beat(self) -> None:
        process = self._process
        assert process is not None  # noqa: S101 (it was just started)
        assert process.stdin is not None  # noqa: S101
        while not self._ended and not self._over:
            try:
                process.stdin.write(b"alive\n")
                process.stdin.flush()
            except (OSError, ValueError):  # closed, here or there
                return
            if self._peer is not None and self._peer.poll() is not None:
                message = f"the load's other end, on this host, ended: {self._peer_words()}"
                self._append(f"tennis: error load_died {message}")
                self._trouble(f"{message} (load_died)")
                return
            with self._words:
                self._words.wait_for(
                    lambda: self._ended or self._over, self._target.patience.target_alive_every_s
                )

    def _peer_words(self) -> str:
        """Return the last line that the load's other end wrote."""
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
        # a target that talks without end leaves room for what its own side says
        room = {True: LIMIT_BYTES // 2, False: LIMIT_BYTES // 2}
        while raw := process.stdout.readline(LINE_MAX):
            own = raw.startswith(b"tennis: ")
            room[own] -= len(raw)
            if room[own] > 0:
                self._hear(raw.decode(errors="replace").rstrip("\r\n"))
        reader.join(5)
        process.wait()
        if "undone" not in self._facts or (not self._over and not self.trouble):
            errors_text = b"".join(errors).decode(errors="replace").strip()
            if process.returncode == SSH_FAILED or not errors_text:
                failure = str(self._target.failure("disconnected"))
            else:
                failure = f"{self._target.host}: {plain(errors_text.splitlines()[-1], 200)}"
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
        if line.startswith("tennis: doing "):
            self.doing = plain(line.removeprefix("tennis: doing "), 60)
        if line.startswith("tennis: fact "):
            with self._words:
                self._facts.add(line.split(" ", 3)[2])
                self._words.notify_all()
        elif line.startswith("tennis: error "):
            code, _, message = line.removeprefix("tennis: error ").partition(" ")
            if code == "not_undone":
                self.left.append(plain(message))
            self._trouble(f"{plain(message)} ({plain(code, 40)})")

    def _trouble(self, message: str) -> None:
        self.trouble = self.trouble or message

    def _append(self, line: str, path: Path | None = None) -> None:
        place = path or self._console
        try:
            with place.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:  # all must be undone all the same
            self._trouble(f"{place} cannot be written here ({error.strerror}): free some space")

    def _await(self, fact: str, timeout_s: float) -> bool:
        """Wait for a fact; tell whether it came before the end, or trouble before any ball."""

        def heard() -> bool:
            troubled = fact in {"ready", "counted"} and bool(self.trouble)
            return fact in self._facts or self._ended or troubled

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
