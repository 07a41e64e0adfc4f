# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Disturb commands in 200 ways: what is lost, and what they say (make faults).

    python scripts/faults.py table [FILE.md [WORKERS]]   all, as docs/evidence/faults.md has them
    python scripts/faults.py pairs SECONDS SEED          two commands and a deed at random

Rallies are SLOTH's, which boots in no time. Each fault has a folder of its own with a copy of the
cache. Behind it the same command is given once more, or `tennis resume`: nothing is lost if what
is there then equals what nobody disturbed, and if a file that was only read is as it was. A line
that calls the fault a defect of Tennis, a traceback, a failure without a line, and a file that
stays behind also count as lost.
"""

import argparse
import contextlib
import ctypes
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TENNIS = str(ROOT / ".venv/bin/tennis")
PAGE = ROOT / "docs/evidence/faults.md"
SECURITY = ROOT / "SECURITY.md"
SENTENCE = re.compile(r"^`make faults` tried .*?\n\n", re.MULTILINE | re.DOTALL)
BALLS = 10_000
NO_END = 999  # in place of an exit code
LIMIT_S = 300.0  # of the wall, for a command that would never end
CLONE_NEWNS, MS_REC_PRIVATE = 0x20000, 0x44000
MATCH = """title = "Faults"
seed = 1
balls = 2000
repetitions = 3
loads = ["idle"]
[kernels.sloth]
"""
# the clock jumps by SHIFT_S seconds once AFTER_S have passed
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
static int (*real)(clockid_t, struct timespec *);
int clock_gettime(clockid_t which, struct timespec *now)
{
	static time_t began;
	struct timespec since;
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int failed = real(which, now);
	if (which == CLOCK_REALTIME && !real(CLOCK_MONOTONIC, &since)) {
		if (!began)
			began = since.tv_sec;
		if (since.tv_sec - began >= atoi(getenv("TENNIS_AFTER_S")))
			now->tv_sec += atoi(getenv("TENNIS_SHIFT_S"));
	}
	return failed;
}
"""

RALLY = ("rally", "--kernel", "sloth", "--balls", str(BALLS), "--seed", "3", "--out", "r")
READERS = {
    "stats": ("stats", "given"),
    "export": ("export", "given"),
    "report": ("report", "given", "--out", "page.html"),
    "check": ("check", "given"),
    "plot": ("plot", "given", "--kind", "histogram", "--out", "pictures"),
}
PLAYERS = {
    "rally": RALLY,
    "resume": ("resume", "r"),
    "match": ("match", "plan.toml", "--out", "m"),
    "compare": ("compare", "sloth", "sloth-m0", "--balls", "500", "--boots", "2", "--no-explain",
                "--out", "c"),
}  # fmt: skip
COMMANDS = PLAYERS | READERS


@dataclass
class Place:
    """A folder in which a command is disturbed, with a cache of its own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """Where the command is given."""
        return self.folder / "work"


@dataclass(frozen=True)
class Fault:
    """What is done to a command, and when."""

    command: str
    what: str
    when: str
    at: float | None = None  # as a part of the time that the command takes; None: from its begin
    prepare: Callable[[Place], None] | None = None  # before it begins
    within: Callable[[], None] | None = None  # in its process, before it is executed
    do: "Callable[[Place, subprocess.Popen[bytes]], None] | None" = None
    output: str = ""  # a file in the place of its standard output
    gone: bool = False  # somebody took away what was there: nothing can be kept


def digest(folder: Path) -> dict[str, str]:
    """Return the hash of each file that must be the same: of balls, and of what was only read."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (path.name == "balls.parquet" or "given/" in str(path))
        if ".part/" not in str(path)
    }


def kill(number: int, *, group: bool = False) -> Callable[..., None]:
    """Send a signal."""

    def do(_: Place, process: "subprocess.Popen[bytes]") -> None:
        (os.killpg if group else os.kill)(process.pid, number)

    return do


def paused(_: Place, process: "subprocess.Popen[bytes]") -> None:
    """Stop all processes of a command for two seconds."""
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGCONT)


def limit(which: int, value: int) -> Callable[[], None]:
    """Set a limit as `ulimit` does."""
    return lambda: resource.setrlimit(which, (value, value))


def mounted(kind: str, target: str, options: str) -> Callable[[], None]:
    """Put a small or unchangeable file system over a folder, for this process alone (as root)."""

    def within() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        here = str(Path(target).absolute()).encode()
        bad = libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC_PRIVATE, None)
        if not bad and kind == "ro":
            bad = libc.mount(here, here, None, 0x1000, None)  # MS_BIND
            bad = bad or libc.mount(None, here, None, 0x1021, None)  # MS_REMOUNT, MS_RDONLY, too
        elif not bad:
            bad = libc.mount(b"none", here, b"tmpfs", 0, options.encode())
        if bad:
            raise OSError(ctypes.get_errno(), "mount")
        os.chdir(Path.cwd())  # into what was mounted there

    return within


def removed(*names: str) -> Callable[..., None]:
    """Remove folders or files of the place."""

    def do(place: Place, *_: object) -> None:
        for name in names:
            path = place.folder / name
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)

    return do


def no_tmpdir(place: Place) -> None:
    """Name a folder for temporary files that is not there."""
    place.environment["TMPDIR"] = f"{place.folder}/nowhere"


def clock(after_s: int, shift_s: int) -> Callable[[Place], None]:
    """Let the clock jump."""

    def prepare(place: Place) -> None:
        library = place.folder.parent / "clock.so"
        variables = {"LD_PRELOAD": str(library), "TENNIS_AFTER_S": str(after_s)}
        place.environment |= variables | {"TENNIS_SHIFT_S": str(shift_s)}

    return prepare


def dated(seconds: int) -> Callable[..., None]:
    """Give all files a time in the past or the future, as a copy or another machine does."""

    def do(place: Place, *_: object) -> None:
        for path in place.folder.rglob("*"):
            with contextlib.suppress(OSError):
                os.utime(path, (time.time() + seconds,) * 2)

    return do


def written(name: str) -> Callable[..., None]:
    """Write a file where a folder of the command's is, or comes to be."""

    def do(place: Place, *_: object) -> None:
        removed(name)(place)
        (place.folder / name).write_text("somebody else's\n")

    return do


TIMES = {
    "rally": (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95),
    "resume": (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95),
    "match": (0.4, 0.8),
    "compare": (0.6,),
    **dict.fromkeys(READERS, (0.6,)),
}
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
LIMITS: dict[str, Callable[[], None]] = {
    "its address space has 300 MB": limit(resource.RLIMIT_AS, 300 << 20),
    "6 files may be open": limit(resource.RLIMIT_NOFILE, 6),
    "14 files may be open": limit(resource.RLIMIT_NOFILE, 14),
    "a file may have 20 kB": limit(resource.RLIMIT_FSIZE, 20_000),
    "TMPDIR has 16 kB": mounted("tmpfs", "../tmp", "size=16k"),
}
CHANGES: dict[str, Callable[..., None]] = {
    "all files are of 1970": dated(-int(time.time())),
    "the cache is removed": removed("cache"),
}
BEGIN = "from its begin"


def faults() -> Iterator[Fault]:
    """Yield the 200 faults."""
    for command, times in TIMES.items():
        for at in times:
            for name in SIGNALS:
                yield Fault(command, name, later(at), at, do=kill(signal.Signals[name]))
    for command in PLAYERS:
        for at in (0.3, 0.7) if command in {"rally", "resume"} else (0.5,):
            for name in ("SIGTERM", "SIGKILL"):
                do = kill(signal.Signals[name], group=True)
                yield Fault(command, f"{name} to the group", later(at), at, do=do)
            yield Fault(command, "stopped for 2 s", later(at), at, do=paused)
    for command in COMMANDS:
        for what, do in CHANGES.items():
            if (command, what) != ("compare", "all files are of 1970"):
                yield Fault(command, what, later(0.5), 0.5, do=do)
        yield Fault(command, "the clock goes back by a day", "after 1 s", prepare=clock(1, -86400))
        if command == "compare":
            continue
        for what, within in LIMITS.items():
            yield Fault(command, what, BEGIN, within=within)
        yield Fault(command, "TMPDIR is not there", BEGIN, prepare=no_tmpdir)
        yield Fault(command, "standard output is full", BEGIN, output="/dev/full")
        if command in READERS:
            continue
        yield Fault(command, "the folder cannot be written", BEGIN, within=mounted("ro", ".", ""))
        yield Fault(command, "the clock goes on by a year", "after 2 s", prepare=clock(2, 31536000))
        made = "work/m" if command == "match" else "work/r.part"
        yield Fault(command, "what it makes is removed", later(0.6), 0.6, do=removed(made),
                    gone=True)  # fmt: skip
        yield Fault(command, "a file takes the place of what it makes", later(0.6), 0.6,
                    do=written(made), gone=True)  # fmt: skip


def later(at: float) -> str:
    """Say when a fault comes."""
    return f"after {at:.0%} of its time"


class Trial:
    """Faults, tried one after the other or some at once."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.took_s: dict[str, float] = {}
        self.whole: dict[str, dict[str, str]] = {}
        self.printed: dict[str, bytes] = {}
        (home / "clock.c").write_text(CLOCK)
        build = f"gcc -shared -fPIC -o {home}/clock.so {home}/clock.c -ldl"
        subprocess.run(build.split(), check=True)
        self.given = home / "given"
        first = self.place("first")
        self.run(first, (*RALLY[:-1], self.given), check=True)
        self.half = home / "half.part"
        for command in COMMANDS:
            place = self.place(f"undisturbed-{command}")
            begun = time.monotonic()
            done = self.run(place, COMMANDS[command], check=True)
            self.took_s[command] = time.monotonic() - begun
            self.whole[command] = digest(place.work)
            self.printed[command] = done[1]
            if command == "rally":
                self._begin_half()

    def _begin_half(self) -> None:
        """Make what `tennis resume` continues: the half of a rally."""
        place = self.place("half")
        with self.begin(place, RALLY) as process:
            journal = place.work / "r.part/frames.bin"
            until = time.monotonic() + LIMIT_S
            while not (journal.exists() and journal.stat().st_size > BALLS * 6):
                if time.monotonic() > until:
                    raise SystemExit("faults: the rally to be resumed was over before its half")
                time.sleep(0.002)
            os.kill(process.pid, signal.SIGKILL)
        shutil.copytree(place.work / "r.part", self.half)

    def place(self, name: str, command: str = "") -> Place:
        """Make a place for a command."""
        folder = self.home / name
        for one in ("work", "tmp", "cache"):
            (folder / one).mkdir(parents=True)
        # what is built and fetched is the same for all: files of the cache are never written to
        source = Path(os.environ.get("TENNIS_CACHE", Path.home() / ".cache/tennis"))
        for kind in ("instruments", "sloth", "matplotlib"):
            if (source / kind).is_dir():
                shutil.copytree(
                    source / kind,
                    folder / "cache" / kind,
                    symlinks=True,
                    ignore=shutil.ignore_patterns(".*"),
                )
        place = Place(folder, {"TMPDIR": str(folder / "tmp"), "HOME": str(folder)})
        place.environment |= {"TENNIS_CACHE": str(folder / "cache"), "PATH": os.environ["PATH"]}
        # a file that may not grow would damage what Python compiles of this checkout
        place.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        (place.work / "plan.toml").write_text(MATCH)
        if command in READERS or name.removeprefix("undisturbed-") in READERS:
            shutil.copytree(self.given, place.work / "given")
        if command == "resume" or name == "undisturbed-resume":
            shutil.copytree(self.half, place.work / "r.part")
        return place

    @contextlib.contextmanager
    def begin(
        self, place: Place, words: Sequence[object], fault: Fault | None = None
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """Start a command in a group of its own; end all of it behind the block."""
        output = (fault and fault.output) or place.folder / "out"
        with Path(output).open("wb") as out, (place.folder / "err").open("wb") as err:
            process = subprocess.Popen(
                [TENNIS, *map(str, words)],
                cwd=place.work,
                env=place.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=fault.within if fault else None,  # noqa: PLW1509
            )
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def run(
        self,
        place: Place,
        words: Sequence[object],
        fault: Fault | None = None,
        *,
        check: bool = False,
    ) -> tuple[int, bytes, str]:
        """Give a command, disturb it, and return its exit code and what both streams got."""
        with self.begin(place, words, fault) as process:
            if fault and fault.do and fault.at is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(self.took_s[fault.command] * fault.at)
                with contextlib.suppress(ProcessLookupError):  # it was quicker this time
                    fault.do(place, process)
            try:
                code = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                code = NO_END
        said = (place.folder / "err").read_text(errors="replace").strip()
        if words[0] == "compare" and code == 1:  # it says that something is later
            code = 0
        if check and code:
            raise SystemExit(f"faults: {' '.join(map(str, words))}: {said}")
        out = place.folder / "out"
        return code, out.read_bytes() if out.exists() else b"", said

    def trial(self, number: int, fault: Fault) -> tuple[str, str, int]:
        """Try a fault; return what is lost, the words, and the exit code."""
        place = self.place(f"{number:04}", fault.command)
        if fault.prepare:
            fault.prepare(place)
        code, _, said = self.run(place, COMMANDS[fault.command], fault)
        line = next((one for one in reversed(said.splitlines()) if one.strip()), "")
        trouble = {
            "called a defect": "defect" in said or "Traceback" in said,
            "no end": code == NO_END,
            "no word": code > 0 and not line,
        }
        lost = [word for word, there in trouble.items() if there]
        (place.folder / "err").rename(place.folder / "said")
        after = self.place(f"{number:04}-after")  # a cache and a folder for temporary files
        place.environment = after.environment
        lost += self._mended(place, fault)
        shutil.rmtree(after.folder)
        if not lost:
            shutil.rmtree(place.folder)
        return ", ".join(lost) or "nothing", line, code

    def _mended(self, place: Place, fault: Fault) -> list[str]:
        """Go on as the command says; return what is not as if nobody had disturbed it."""
        if fault.gone:  # that which somebody else put there is theirs to remove
            removed("work/r.part", "work/r", "work/m", "work/c", "work/m.part", "work/c.part")(
                place
            )
        before = (place.work / "r.part/frames.bin", place.work / "r")
        words: Sequence[object] = COMMANDS[fault.command]
        if fault.command in {"rally", "resume"}:
            words = ("resume", "r") if any(path.exists() for path in before) else RALLY
        if fault.command in READERS:
            removed("work/page.html", "work/pictures")(place)
        code, out, said = self.run(place, words)
        if code and "there is nothing to resume" not in said:
            if words[0] not in {"match", "compare"} or "defect" in said:
                return [f"afterwards: {said.splitlines()[-1] if said else code}"]
            code, out, said = self.run(place, words)
        lost = []
        if digest(place.work) != self.whole[fault.command]:
            lost.append("balls")
        if fault.command in {"stats", "export"} and out != self.printed[fault.command]:
            lost.append("what is printed")
        known = {"plan.toml", "given", "page.html", "pictures", "r", "r.part", "m", "c"}
        if left := sorted({path.name for path in place.work.iterdir()} - known):
            lost.append(f"left behind: {left}")
        return lost


Row = tuple[str, str, int]  # what is lost, the command's last line, its exit code


def table(page: Path, workers: int) -> int:
    """Try all faults, some at once, until Ctrl-C; write the page and a sentence of SECURITY.md."""
    begun = datetime.now(UTC)
    every = list(faults())
    rows: dict[int, Row] = {}
    with tempfile.TemporaryDirectory(prefix="tennis-faults-") as home:
        trial = Trial(Path(home))
        with ThreadPoolExecutor(workers) as pool:
            # a part of them is of all kinds
            order = sorted(range(len(every)), key=lambda number: number * 37 % len(every))
            tried = {pool.submit(trial.trial, number, every[number]): number for number in order}
            try:
                for done in as_completed(tried):
                    number = tried[done]
                    fault, rows[number] = every[number], done.result()
                    print(number + 1, fault.command, fault.what, fault.when, *rows[number],
                          sep=" | ", flush=True)  # fmt: skip
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
    return write(page, begun, rows)


def write(page: Path, begun: datetime, rows: dict[int, "Row"]) -> int:
    """Write what was tried; ``rows``: what came of each fault, by its number from 0."""
    every = list(faults())
    bad = sum(lost != "nothing" for lost, _, _ in rows.values())
    version = subprocess.run([TENNIS, "--version"], capture_output=True, text=True, check=True)
    of_all = "" if len(rows) == len(every) else f" of its {len(every)}"
    result = "nothing was lost" if not bad else f"{bad} of them lost something"
    sentence = (
        f"`make faults` tried {len(rows)}{of_all} faults on {begun:%Y-%m-%d} with"
        f" {version.stdout.partition('+')[0]}: {result}."
    )
    cells = [
        ("", "command", "what", "when", "lost", "words"),
        ("--:", *["---"] * 5),
        *(
            (i + 1, f"`{every[i].command}`", every[i].what, every[i].when, lost, shown(line, code))
            for i, (lost, line, code) in sorted(rows.items())
        ),
    ]
    lines = [f"| {' | '.join(map(str, row))} |" for row in cells]
    page.write_text(f"{HEAD}{sentence}\n\n" + "\n".join(lines) + "\n")
    if page == PAGE:
        there = f"{sentence} [The table](docs/evidence/faults.md) has what each command said.\n\n"
        SECURITY.write_text(SENTENCE.sub(lambda _: there, SECURITY.read_text(), count=1))
    print(sentence)
    return bool(bad)


def shown(line: str, code: int) -> str:
    """Return a command's last line for a table: without places, which differ each time."""
    if code < 0:
        return f"(ended by {signal.Signals(-code).name})"
    if not code:
        return "(exit code 0)"
    line = re.sub(r"/\S*tennis-faults-[^/\s]+/[^/\s]+", "", line).replace("|", "\\|")
    return f"`{line[:200]}`"


HEAD = """# What was done to commands, and what they lost

This page is for people who ask what happens to their work if something goes wrong meanwhile.
`make faults` disturbs commands in the ways below. The target is SLOTH, which boots in no time.
Behind each fault the script gives the same command again, or `tennis resume`, and compares with
what nobody disturbed: each ball, and each byte that is printed. A line that calls the fault a
defect of Tennis counts as lost, and so do a failure without a word and a file that stays behind.

*Words* are the last line of the command. Times are parts of what it takes undisturbed.

"""


def pairs(seconds: float, seed: int) -> int:
    """Give two commands at once and do one thing to one of them, from seed on; print each seed."""
    until, bad = time.monotonic() + seconds, 0
    deeds: dict[str, Callable[..., None]] = {
        "SIGKILL": kill(signal.SIGKILL),
        "SIGTERM": kill(signal.SIGTERM, group=True),
        "SIGINT": kill(signal.SIGINT),
        "the cache is removed": removed("cache"),
        "TMPDIR is emptied": removed("tmp"),
        "all files are of 1970": dated(-int(time.time())),
        "all files are of next year": dated(31_536_000),
        "stopped for 2 s": paused,
    }
    beside = {
        **READERS,
        "rally": RALLY,
        "resume": ("resume", "r"),
        "stats r": ("stats", "r"),
        "stats r.part": ("stats", "r.part"),
        "export r.part": ("export", "r.part"),
        "kernels": ("kernels",),
        "check r": ("check", "r"),
    }
    with tempfile.TemporaryDirectory(prefix="tennis-faults-") as home:
        trial = Trial(Path(home))
        while time.monotonic() < until:
            chance = random.Random(seed)  # noqa: S311
            name, deed = chance.choice(sorted(COMMANDS)), chance.choice(sorted(deeds))
            other, at = chance.choice(sorted(beside)), chance.random()
            moved = clock(chance.randrange(4), chance.choice((-86400, -3, 3, 86400)))

            def do(
                place: Place,
                process: "subprocess.Popen[bytes]",
                words: Sequence[str] = beside[other],
                deed: Callable[..., None] = deeds[deed],
            ) -> None:
                second = Place(place.folder / "second", place.environment)
                second.folder.mkdir()
                (second.folder / "work").symlink_to(place.work)
                with trial.begin(second, words) as running:
                    time.sleep(0.3)
                    deed(place, process)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        running.wait(LIMIT_S)
                said = (second.folder / "err").read_text(errors="replace")
                if "defect" in said or "Traceback" in said:
                    raise AssertionError(f"{words}: {said}")

            fault = Fault(
                name, deed, "", at, do=do, prepare=moved if chance.random() < 0.3 else None
            )
            try:
                lost, line, _ = trial.trial(seed, fault)
            except AssertionError as error:
                lost, line = "called a defect", str(error)
            bad += lost != "nothing"
            print(seed, name, other, deed, f"{at:.2f}", lost, line, sep=" | ", flush=True)
            seed += 1
    return bool(bad)


def main() -> int:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["table", "pairs"])
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    if asked.what == "table":
        workers = int(asked.words[1]) if asked.words[1:] else os.cpu_count() or 1
        return table(Path(asked.words[0]) if asked.words else PAGE, workers)
    return pairs(float(asked.words[0]), int(asked.words[1]))


if __name__ == "__main__":
    sys.exit(main())
