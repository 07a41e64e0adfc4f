"""A box for students' hand-ins: bubblewrap, without network, with a limit on every total.

The box holds the system's programs and libraries, what the caller lets it read, and a copy of the
hand-in. It holds nothing of the grader, other students or the solutions.

All writable places are in one folder in memory, of a fixed size. Only files whose names the caller
knows come out. They are read after the last process of the box has ended, so nothing can change
them meanwhile.

The reason why the box ended is found outside: in bubblewrap's status descriptor, which nothing in
the box can reach, or in the limit that ended it. The program's output decides nothing.

A box has a control group if this machine can make one: it limits the share of the processors' time
and the memory. Without one, this program counts the box's memory several times a second. Neither
counts the kernel's memory for open sockets and pipes: the numbers of processes and open files limit
that, and a box ends when the machine has little memory left.
"""

import contextlib
import json
import os
import selectors
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tennis.bench import box_filter, box_group
from tennis.bench.programs import how_to_get
from tennis.kit.errors import BenchError
from tennis.kit.share import PROC, free_memory_bytes
from tennis.rally.text import plain

HOME = Path("/home/s")
WORK = HOME / "work"  # the copy of the hand-in, always at the same path
OUT = Path("/out")  # what the caller wants is written there
USER, USERS = 30_000, 30_000  # the owner of a box' processes if root starts it
ROOM_BYTES = 512 << 20  # of all files that are written in the box
ROOM_FILES = 20_000
OUT_BYTES = 64 << 20  # of all files that come out
MEMORY_BYTES = 3 << 30  # of all processes together, besides its files
ADDRESSES_BYTES = 3 << 30  # of each process: asking for more at once fails
SLACK_BYTES = 256 << 20  # besides, for the kernel's own data of the box
TOO_MUCH = "it took more than {} GB of memory"
LEFT_BYTES = 256 << 20  # of the machine's memory
FILE_BYTES = 64 << 20
PROCESSES = 256
WORDS_MAX = 1 << 16  # bytes kept of the beginning of standard error, and of its end
POLL_S = 0.2
OWN_STATUS = PROC / "self/status"
FILTERED = 2  # this process' calls to the kernel are: SECCOMP_MODE_FILTER
GONE_S = 60.0  # the kernel ends what a box leaves behind, as quickly as it can
# Runs outside of the box, invisible to its processes. It makes the folder in memory, in a mount
# namespace of its own; starts the box; and then waits, so that the results can be read there. A box
# that root starts runs as another user, who may not read everything that root may: the sources are
# mounted in places that this user can reach.
HOLD = """
echo 1000 > /proc/self/oom_score_adj # short of memory, the kernel ends this first
room=$1 options=$2 rules=$3 folder=$4 owner=$5
shift 5
while [ "$1" != -- ]; do echo $$ > "$1" || exit; shift; done # into the control group
shift
while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done
shift
mount -t tmpfs -o "$options" tmpfs "$room" || exit
mkdir -p "$room/tmp" "$room/shm" "$room/out" "$room/home/s/work" || exit
cp -r "$folder/." "$room/home/s/work" || exit
[ -z "$owner" ] || chown -R -h "$owner" "$room" || exit
"$@" 3>&1 4< "$rules" > /dev/null < /dev/null
echo '{"over": true}'
read -r _
"""


@dataclass(frozen=True)
class Ended:
    """The end of a box.

    ``code``: the program's exit code, 128 + N after signal N; None if a limit ended the box, which
    ``limit`` names. ``words``: standard error. ``files``: the requested files that came out.
    """

    code: int | None
    limit: str
    words: str
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def why(self) -> str:
        """Say why it ended; empty if the program succeeded."""
        if self.limit or self.code == 0:
            return self.limit
        said = self.words.strip().splitlines()[-1:]
        return plain(said[0], 200) if said else f"exit code {self.code}"


def run(  # noqa: PLR0913, PLR0917 (what a box is made of)
    command: Sequence[str],
    folder: Path,
    results: Sequence[str],
    readable: Mapping[Path, Path],
    environment: Mapping[str, str],
    limit_s: float,
) -> Ended:
    """Run a command in a box, in a copy of ``folder``, for ``limit_s`` at most.

    ``results``: names of regular files in ``/out`` that come out. ``readable``: path in the box ->
    file or folder here. Raises BenchError if no box can be made, which is not the command's fault.
    """
    if shutil.which("bwrap") is None:
        raise BenchError(
            "what others wrote is built and run in a box, and that needs bubblewrap",
            next_step=how_to_get("bwrap"),
        )
    with tempfile.TemporaryDirectory(prefix="tennis-box-") as scratch:
        Path(scratch).chmod(0o755)
        room = Path(scratch) / "room"
        room.mkdir()
        sources, mounted = _reachable(readable, Path(scratch))
        rules = Path(scratch) / "rules"
        rules.write_bytes(box_filter.program())
        root = os.geteuid() == 0
        user = str(USER + os.getpid() % USERS)
        options = f"size={ROOM_BYTES},nr_inodes={ROOM_FILES},mode=755,nosuid,nodev"
        words = ["unshare", "--mount", *([] if root else ["--user", "--map-root-user"])]
        # who waits for the box may be killed: then it ends, too
        words += ["setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", HOLD, "hold"]
        words += [str(room), options, str(rules), str(folder)]
        words += [f"{user}:{user}" if root else ""]
        after = [*mounted, "--"]
        if root:
            after += ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
        after += [*_box(sources, room, environment), *_limits(), *command]

        def words_in(group: box_group.Group) -> list[str]:
            return [*group.words, *words, *map(str, group.entries), "--", *after]

        killed_before = oom_kills()
        # files written in the box use memory, too; a process that allocates slowly gets its error
        # first
        with (
            box_group.memory_group(MEMORY_BYTES + ROOM_BYTES + SLACK_BYTES) as group,
            _Held(words_in(group), group.environment) as held,
        ):
            held.wait(limit_s)
            if group.ended and not held.limit:
                held.limit = TOO_MUCH.format(MEMORY_BYTES >> 30)
            elif (held.code or held.limit) and oom_kills() > killed_before:
                raise BenchError(
                    "this machine ran out of memory meanwhile, and its kernel ended processes",
                    next_step="grade fewer hand-ins at once (--workers), or use a larger machine",
                )
            if held.code is None and not held.limit:
                said = held.words.strip().splitlines()[:1] or ["it was ended from outside"]
                raise BenchError(
                    f"hand-ins cannot run in a box here ({plain(said[0], 200)})",
                    next_step="run the grader where unprivileged user namespaces are allowed",
                )
            files: dict[str, bytes] = {}
            if not held.limit:
                out = Path(f"/proc/{held.process.pid}/root{room}{OUT}")
                left = OUT_BYTES
                for name in results:
                    content = _read_result(out / name, left)
                    if content is None:
                        continue
                    left -= len(content)
                    if left < 0:
                        held.limit = f"it wrote more than {OUT_BYTES >> 20} MB that come out"
                        files.clear()
                        break
                    files[name] = content
    code = None if held.limit else held.code
    return Ended(code, held.limit, held.words, files)


class _Held:
    """A running box, and the process that holds its folder in memory until the results are read."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.code: int | None = None
        self.limit = ""
        self._first = self._last = b""
        self._status = b""
        self._over = False
        self._name_space = 0  # of its processes: the number by which the kernel knows it
        self._ends: int | None = None  # a descriptor that is readable once its last process is gone
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
            start_new_session=True,
        )

    def __enter__(self) -> "_Held":
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        if self._ends is not None:
            os.close(self._ends)

    @property
    def words(self) -> str:
        """Return the beginning and the end of standard error."""
        return (self._first + self._last).decode(errors="replace")

    def wait(self, limit_s: float) -> None:
        """Wait until the box is gone: ``code`` or ``limit`` says why. Raises BenchError."""
        assert self.process.stdout is not None  # noqa: S101
        assert self.process.stderr is not None  # noqa: S101
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ, self._hear_status)
            ready.register(self.process.stderr, selectors.EVENT_READ, self._hear_words)
            looked = time.monotonic()
            while not self._over and not self.limit:
                for key, _ in ready.select(POLL_S):
                    if not (content := os.read(key.fd, 1 << 16)):
                        ready.unregister(key.fileobj)
                    key.data(content)
                now = time.monotonic()
                if self._over:
                    break
                if now > deadline:
                    self.limit = f"it did not end within {limit_s:g} s"
                elif now >= looked + POLL_S:
                    looked = now
                    self._watch_memory()
        if self.limit:
            self._kill()
        self._wait_until_gone()
        # the last words: no process is left that could write more
        os.set_blocking(self.process.stderr.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while content := os.read(self.process.stderr.fileno(), 1 << 16):
                self._hear_words(content)

    def _hear_status(self, content: bytes) -> None:
        """Take a piece of what bubblewrap and the holder report about the box."""
        self._over |= not content
        *lines, self._status = (self._status + content).split(b"\n")
        for line in lines:
            told = json.loads(line)
            self._over |= "over" in told
            self.code = told.get("exit-code", self.code)
            if "child-pid" in told:
                self._name_space = told["pid-namespace"]
                with contextlib.suppress(ProcessLookupError):  # it is gone already
                    self._ends = os.pidfd_open(told["child-pid"])

    def _hear_words(self, content: bytes) -> None:
        free = WORDS_MAX - len(self._first)
        self._first += content[:free]
        self._last = (self._last + content[free:])[-WORDS_MAX:]

    def _watch_memory(self) -> None:
        if self._name_space and _memory(self._name_space) > MEMORY_BYTES:
            self.limit = TOO_MUCH.format(MEMORY_BYTES >> 30)
        elif (free := free_memory_bytes()) is not None and free < LEFT_BYTES:
            raise BenchError(
                f"less than {LEFT_BYTES >> 20} MB of memory are left on this machine: a box was "
                "ended",
                next_step="grade fewer hand-ins at once (--workers), or use a larger machine",
            )

    def _kill(self) -> None:
        """End the holder, bubblewrap and so the box: it ends with the one that started it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _wait_until_gone(self) -> None:
        if self._ends is not None:
            with selectors.DefaultSelector() as ready:
                ready.register(self._ends, selectors.EVENT_READ)
                ready.select(GONE_S)


def _read_result(path: Path, limit: int) -> bytes | None:
    """Return a regular file of the box, up to a byte more than the limit; None for no such."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return None
        with open(number, "rb", closefd=False) as file:
            return file.read(limit + 1)
    finally:
        os.close(number)


def _memory(name_space: int) -> int:
    """Return how many bytes of memory the processes of a name space have."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 (numbers, several times a second)
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}/ns/pid").st_ino == name_space:  # noqa: PTH116
                found.append(Path("/proc") / name)
    pages = 0
    for process in found:
        with contextlib.suppress(OSError):
            pages += int((process / "statm").read_text().split()[1])
    total = pages * os.sysconf("SC_PAGE_SIZE")
    if total <= MEMORY_BYTES:
        return total
    # what several of them share was counted for each: ask again, which takes longer
    total = 0
    for process in found:
        with contextlib.suppress(OSError):
            lines = (process / "smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def oom_kills(proc: Path = PROC) -> int:
    """Return how many processes the kernel has killed for lack of memory; 0 if it does not say.

    It counts for the whole machine: a program that failed while it grew may have failed for that
    reason.
    """
    with contextlib.suppress(OSError):
        lines = (proc / "vmstat").read_text(encoding="ascii").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
    return 0


def _reachable(
    readable: Mapping[Path, Path], scratch: Path
) -> tuple[dict[Path, Path], Sequence[str]]:
    """Return the sources as the box's user reaches them, and the pairs to mount before.

    Only root can read root's home: files there are mounted elsewhere, for the box alone.
    """
    if os.geteuid() != 0:
        return dict(readable), []
    found: dict[Path, Path] = {}
    pairs: list[str] = []
    for number, (place, source) in enumerate(readable.items()):
        found[place] = scratch / str(number)
        if source.is_dir():
            found[place].mkdir()
        else:
            found[place].touch()
        pairs += [str(source), str(found[place])]
    return found, pairs


def _limits() -> list[str]:
    """Return the command that limits processes; in the box, where it counts only the box's own."""
    return [
        *("prlimit", f"--as={ADDRESSES_BYTES}", f"--fsize={FILE_BYTES}", f"--nproc={PROCESSES}"),
        *("--nofile=256", "--core=0", "--msgqueue=0", "--"),
    ]


def _hostname() -> list[str]:
    """Return what gives a box a name of its own, which is not the machine's.

    In a container a filter may let nobody name anything; there the name is the container's.
    """
    with contextlib.suppress(OSError):
        status = OWN_STATUS.read_text(encoding="ascii", errors="replace")
        if f"\nSeccomp:\t{FILTERED}\n" in status:
            return []
    return ["--hostname", "box"]


def _box(readable: Mapping[Path, Path], room: Path, environment: Mapping[str, str]) -> list[str]:
    """Return bubblewrap's part of the command."""
    words = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns"]
    words += ["--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", *_hostname()]
    words += ["--new-session", "--die-with-parent", "--json-status-fd", "3", "--seccomp", "4"]
    words += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
    # of the first process, which says how the box ended, nothing can be opened: its memory, say
    words += ["--tmpfs", "/proc/1", "--remount-ro", "/proc/1"]
    for name in ("bin", "sbin", "lib", "lib64"):
        link = Path("/") / name
        if link.is_symlink():
            words += ["--symlink", str(link.readlink()), str(link)]
        elif link.is_dir():
            words += ["--ro-bind", str(link), str(link)]
    for name, place in (("tmp", "/tmp"), ("shm", "/dev/shm"), ("home", "/home"), ("out", OUT)):  # noqa: S108 (the box's own)
        words += ["--bind", str(room / name), str(place)]
    for path, source in readable.items():
        words += ["--ro-bind", str(source), str(path)]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--clearenv"]  # bubblewrap's own tmpfs
    usual = {"HOME": str(HOME), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    for name, value in {**usual, **environment}.items():
        words += ["--setenv", name, value]
    return [*words, "--chdir", str(WORK)]
