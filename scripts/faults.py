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
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TENNIS = str(ROOT / ".venv/bin/tennis")
PAGE, SECURITY = ROOT / "docs/evidence/faults.md", ROOT / "SECURITY.md"
SENTENCE = re.compile(r"^`make faults` tried .*?\n\n", re.MULTILINE | re.DOTALL)
BALLS = 10_000
NO_END = 999  # in place of an exit code
LIMIT_S = 900.0  # of the wall, for a command that would never end: of a busy machine, too
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
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *now)
{
	static time_t began;
	struct timespec since;
	int failed = syscall(SYS_clock_gettime, which, now);
	if (which == CLOCK_REALTIME && !syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &since)) {
		if (!began)
			began = since.tv_sec;
		if (since.tv_sec - began >= atoi(getenv("TENNIS_AFTER_S")))
			now->tv_sec += atoi(getenv("TENNIS_SHIFT_S"));
	}
	return failed;
}
"""

RALLY = ("rally", "--kernel", "sloth", "--balls", str(BALLS), "--seed", "3", "--out", "r")
READERS: dict[str, Sequence[str]] = {
    "stats": ("stats", "given"),
    "export": ("export", "given"),
    "report": ("report", "given", "--out", "page.html"),
    "check": ("check", "given"),
    "plot": ("plot", "given", "--kind", "histogram", "--out", "pictures"),
}
COMPARE = ("compare", "sloth", "sloth-m0", "--balls", "500", "--boots", "2", "--no-explain")
PLAYERS: dict[str, Sequence[str]] = {
    "rally": RALLY,
    "resume": ("resume", "r"),
    "match": ("match", "plan.toml", "--out", "m"),
    "compare": (*COMPARE, "--out", "c"),
}
COMMANDS = PLAYERS | READERS
OFTEN = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95)
TIMES = {"rally": OFTEN, "resume": OFTEN, "match": (0.4, 0.8)}

# what a shell does in a fault's folder; the command is process $PID, in a group of its own
GROUP = {
    "SIGTERM to the group": "kill -TERM -$PID",
    "SIGKILL to the group": "kill -KILL -$PID",
    "stopped for 2 s": "kill -STOP -$PID; sleep 2; kill -CONT -$PID",
}
CHANGES = {
    "all files are of 1970": "find . -exec touch -chd @0 {} +",
    "the cache is removed": "rm -rf cache",
}
# what a shell does in place of the command, and then becomes it
LIMITS = {
    "its address space has 300 MB": "ulimit -v 307200",
    "6 files may be open": "ulimit -n 6",
    "14 files may be open": "ulimit -n 14",
    "a file may have 20 kB": "ulimit -f 40",
    "TMPDIR has 16 kB": "mount -t tmpfs -o size=16k none $TMPDIR",
    "TMPDIR is not there": "export TMPDIR=/nowhere",
    "standard output is full": "exec > /dev/full",
}
UNWRITABLE = "mount --bind . . && mount -o remount,bind,ro . && cd $PWD"


@dataclass(frozen=True)
class Fault:
    """What is done to a command, and when."""

    command: str
    what: str
    at: float | str = "from its begin"  # a part of the time that the command takes, or words
    do: str = ""  # at that time
    begin: str = ""  # before it is executed, in its process
    gone: bool = False  # somebody took away what was there: nothing can be kept
    beside: Sequence[str] = ()  # a second command, begun just before the deed

    @property
    def when(self) -> str:
        """Say when it comes."""
        return self.at if isinstance(self.at, str) else f"after {self.at:.0%} of its time"


def clock(after_s: int, shift_s: int) -> str:
    """Let the clock jump."""
    variables = f"TENNIS_AFTER_S={after_s} TENNIS_SHIFT_S={shift_s}"
    return f"export LD_PRELOAD=$HOME/../clock.so {variables}"


def faults() -> Iterator[Fault]:
    """Yield the 200 faults."""
    for command in COMMANDS:
        for at in TIMES.get(command, (0.6,)):
            for name in ("INT", "TERM", "HUP", "KILL"):
                yield Fault(command, f"SIG{name}", at, f"kill -{name} $PID")
    for command in PLAYERS:
        for at in (0.3, 0.7) if command in {"rally", "resume"} else (0.5,):
            for what, do in GROUP.items():
                yield Fault(command, what, at, do)
    for command in COMMANDS:
        for what, do in CHANGES.items():
            if (command, what) != ("compare", "all files are of 1970"):
                yield Fault(command, what, 0.5, do)
        yield Fault(command, "the clock goes back by a day", "after 1 s", begin=clock(1, -86400))
        if command == "compare":
            continue
        for what, begin in LIMITS.items():
            yield Fault(command, what, begin=begin)
        if command in READERS:
            continue
        yield Fault(command, "the folder cannot be written", begin=UNWRITABLE)
        yield Fault(command, "the clock goes on by a year", "after 2 s", begin=clock(2, 31536000))
        made = "work/m" if command == "match" else "work/r.part"
        yield Fault(command, "what it makes is removed", 0.6, f"rm -rf {made}", gone=True)
        do = f"rm -rf {made}; echo another file > {made}"
        yield Fault(command, "a file takes the place of what it makes", 0.6, do, gone=True)


def digest(folder: Path) -> dict[str, str]:
    """Return the hash of each file that must be the same: of balls, and of what was only read."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (path.name == "balls.parquet" or "given/" in str(path))
        if ".part/" not in str(path)
    }


def is_defect(said: str) -> bool:
    """Tell whether a command calls what happened a defect of Tennis."""
    return "defect" in said or "Traceback" in said


class Trial:
    """Faults, tried one after the other or some at once."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.took_s: dict[str, float] = {}
        self.whole: dict[str, tuple[dict[str, str], bytes]] = {}  # files, and what is printed
        (home / "clock.c").write_text(CLOCK)
        build = f"gcc -shared -fPIC -o {home}/clock.so {home}/clock.c"
        subprocess.run(build.split(), check=True)
        self.given, self.half = home / "given", home / "half.part"
        self.run(self.place("first"), (*RALLY[:-1], str(self.given)), check=True)
        for command, words in COMMANDS.items():
            place = self.place(f"undisturbed-{command}", command)
            begun = time.monotonic()
            printed = self.run(place, words, check=True)[1]
            self.took_s[command] = time.monotonic() - begun
            self.whole[command] = digest(place / "work"), printed
            if command == "rally":
                self._begin_half()

    def _begin_half(self) -> None:
        """Make what `tennis resume` continues: the half of a rally."""
        place = self.place("half")
        journal = place / "work/r.part/frames.bin"
        with self.begin(place, RALLY) as process:
            until = time.monotonic() + LIMIT_S
            while not (journal.exists() and journal.stat().st_size > BALLS * 6):
                if time.monotonic() > until:
                    raise SystemExit("faults: the rally to be resumed was over before its half")
                time.sleep(0.002)
            process.kill()
        shutil.copytree(journal.parent, self.half)

    def place(self, name: str, command: str = "") -> Path:
        """Make a folder for a command, with a cache and a folder for temporary files."""
        folder = self.home / name
        (folder / "work").mkdir(parents=True)
        self._furnish(folder)
        (folder / "work/plan.toml").write_text(MATCH)
        if command in READERS:
            shutil.copytree(self.given, folder / "work/given")
        if command == "resume":
            shutil.copytree(self.half, folder / "work/r.part")
        return folder

    def _furnish(self, folder: Path) -> None:
        """Give a folder a new cache, with what is built and fetched: that is never written to."""
        remove(folder, "cache", "tmp")
        (folder / "tmp").mkdir()
        source = Path(os.environ.get("TENNIS_CACHE", Path.home() / ".cache/tennis"))
        hidden = shutil.ignore_patterns(".*")
        for kind in ("instruments", "sloth", "matplotlib"):
            if (source / kind).is_dir():
                copy = folder / "cache" / kind
                shutil.copytree(source / kind, copy, symlinks=True, ignore=hidden)

    @contextlib.contextmanager
    def begin(
        self, place: Path, words: Sequence[str], before: str = "true", out: str = "out"
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """Start a command in a group of its own; end all of it behind the block."""
        own = {"TMPDIR": "tmp", "HOME": "", "TENNIS_CACHE": "cache"}
        environment = {name: str(place / folder) for name, folder in own.items()}
        # a file that may not grow would damage what Python compiles of this checkout
        environment |= {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        alone = ["unshare", "--mount"] if "mount" in before else []
        shell = [*alone, "sh", "-c", f'{before} && exec "$@"', "sh", TENNIS, *words]
        with (place / out).open("wb") as output, (place / f"{out}.err").open("wb") as errors:
            process = subprocess.Popen(
                shell, cwd=place / "work", env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=errors, start_new_session=True,
            )  # fmt: skip
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def run(
        self, place: Path, words: Sequence[str], fault: Fault | None = None, *, check: bool = False
    ) -> tuple[int, bytes, str]:
        """Give a command, disturb it, and return its exit code and what both streams got."""
        with self.begin(place, words, (fault and fault.begin) or "true") as process:
            if fault and not isinstance(fault.at, str):
                try:
                    process.wait(self.took_s[fault.command] * fault.at)
                except subprocess.TimeoutExpired:  # else it was quicker this time
                    self._disturb(place, process, fault)
            try:
                code = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                code = NO_END
        said = (place / "out.err").read_text(errors="replace").strip()
        if words[0] == "compare" and code == 1:  # it says that something is later
            code = 0
        if check and code:
            raise SystemExit(f"faults: {' '.join(words)}: {said}")
        return code, (place / "out").read_bytes(), said

    def _disturb(self, place: Path, process: "subprocess.Popen[bytes]", fault: Fault) -> None:
        """Do what a fault does, beside its second command if it has one."""
        second = self.begin(place, fault.beside, out="second") if fault.beside else None
        with second or contextlib.nullcontext() as beside:
            time.sleep(0.3 if beside else 0)
            shell = ["sh", "-c", fault.do]
            environment = {**os.environ, "PID": str(process.pid)}
            subprocess.run(
                shell, cwd=place, env=environment, stderr=subprocess.DEVNULL, check=False
            )
            if beside:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    beside.wait(LIMIT_S)

    def trial(self, name: str, fault: Fault) -> "Row":
        """Try a fault in a folder of that name."""
        place = self.place(name, fault.command)
        code, _, said = self.run(place, COMMANDS[fault.command], fault)
        line = next((one for one in reversed(said.splitlines()) if one.strip()), "")
        second = place / "second.err"
        if fault.beside and second.exists() and is_defect(words := second.read_text()):
            said, line = words, f"{fault.beside}: {words}"
        trouble = {
            "called a defect": is_defect(said),
            "no end": code == NO_END,
            "no word": code > 0 and not line,
            "nothing made": code == 0
            and fault.command in PLAYERS
            and not [*(place / "work").glob("[rmc]")],
        }
        lost = [word for word, there in trouble.items() if there]
        (place / "out.err").rename(place / "said")
        self._furnish(place)
        lost += self._mended(place, fault)
        if not lost:
            shutil.rmtree(place)
        return ", ".join(lost) or "nothing", line, code

    def _mended(self, place: Path, fault: Fault) -> list[str]:
        """Go on as the command says; return what is not as if nobody had disturbed it."""
        work = place / "work"
        if fault.gone:  # that which somebody else put there is theirs to remove
            remove(work, "r.part", "r", "m", "c", "m.part", "c.part")
        words = COMMANDS[fault.command]
        if fault.command in {"rally", "resume"}:
            is_there = (work / "r.part/frames.bin").exists() or (work / "r").exists()
            words = ("resume", "r") if is_there else RALLY
        if fault.command in READERS:
            remove(work, "page.html", "pictures")
        code, out, said = self.run(place, words)
        if code and "there is nothing to resume" not in said:
            if words[0] not in {"match", "compare"} or "defect" in said:
                return [f"afterwards: {said.splitlines()[-1] if said else code}"]
            code, out, said = self.run(place, words)
        lost = []
        files, printed = self.whole[fault.command]
        more = files | self.whole["rally"][0]  # of a second command
        if not files.items() <= digest(work).items() <= more.items():
            lost.append("balls")
        if fault.command in {"stats", "export"} and out != printed:
            lost.append("what is printed")
        known = {"plan.toml", "given", "page.html", "pictures", "r", "r.part", "m", "c"}
        if left := sorted({path.name for path in work.iterdir()} - known):
            lost.append(f"left behind: {left}")
        return lost


def remove(folder: Path, *names: str) -> None:
    """Remove folders or files of a folder."""
    subprocess.run(["rm", "-rf", *names], cwd=folder, check=True)


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
            tried = {pool.submit(trial.trial, f"{at:04}", every[at]): at for at in order}
            try:
                for done in as_completed(tried):
                    number = tried[done]
                    fault, rows[number] = every[number], done.result()
                    print(number + 1, fault.command, fault.what, fault.when, *rows[number],
                          sep=" | ", flush=True)  # fmt: skip
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
    return write(page, begun, rows)


def write(page: Path, begun: datetime, rows: dict[int, Row]) -> int:
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
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for i, (lost, line, code) in sorted(rows.items()):
        fault = every[i]
        when, part = (fault.at, "") if isinstance(fault.at, str) else ("at", f" {fault.at:.0%}")
        of = groups.setdefault((fault.what, when, lost, shown(line, code)), {})
        of[fault.command] = of.get(fault.command, f"`{fault.command}`") + part
    cells = [("what", "when, to which command", "lost", "words"), ("---",) * 4]
    cells += [
        (what, f"{when} {', '.join(of.values())}", lost, said)
        for (what, when, lost, said), of in sorted(groups.items())
    ]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    head = PAGE.read_text().partition("`make faults` tried ")[0]
    page.write_text(f"{head}{sentence}\n\n" + "\n".join(lines) + "\n")
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
    line = re.sub(r"/\S*tennis-faults-[^/\s]+/\d+|/\.tennis-\d+-\w+", "", line)
    line = line.replace("|", "\\|")
    return f"`` {line[:200]} ``" if "`" in line else f"`{line[:200]}`"


def pairs(seconds: float, seed: int) -> int:
    """Give two commands at once and do one thing to one of them, from seed on; print each seed."""
    until, bad = time.monotonic() + seconds, 0
    deeds = {
        **CHANGES,
        **GROUP,
        "SIGKILL": "kill -KILL $PID",
        "SIGINT": "kill -INT $PID",
        "TMPDIR is emptied": "rm -rf tmp",
        "all files are of next year": "find . -exec touch -chd '1 year' {} +",
    }
    beside = [*READERS.values(), RALLY, ("resume", "r"), ("stats", "r"), ("stats", "r.part"),
              ("export", "r.part"), ("kernels",), ("check", "r")]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="tennis-faults-") as home:
        trial = Trial(Path(home))
        while time.monotonic() < until:
            chance = random.Random(seed)  # noqa: S311
            name, deed = chance.choice(sorted(COMMANDS)), chance.choice(sorted(deeds))
            other, at = chance.choice(beside), chance.random()
            moved = clock(chance.randrange(4), chance.choice((-86400, -3, 3, 86400)))
            begin = moved if chance.random() < 0.3 else ""
            fault = Fault(name, deed, at, deeds[deed], begin, beside=other)
            lost, line, _ = trial.trial(f"pair-{seed}", fault)
            bad += lost != "nothing"
            print(seed, name, *other, deed, f"{at:.2f}", lost, line, sep=" | ", flush=True)
            seed += 1
    return bool(bad)


def main() -> int:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["table", "pairs"])
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # else a child of nohup, or of a shell's &,
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignores what is sent to it
    if asked.what == "table":
        workers = int(asked.words[1]) if asked.words[1:] else os.cpu_count() or 1
        return table(Path(asked.words[0]) if asked.words else PAGE, workers)
    return pairs(float(asked.words[0]), int(asked.words[1]))


if __name__ == "__main__":
    sys.exit(main())
