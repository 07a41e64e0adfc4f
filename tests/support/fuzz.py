"""Damage what strangers may send: ``python -m tests.support.fuzz WHAT INPUTS SEED``.

A valid input is damaged at random places, and read as the commands read it. It may be refused with
a TennisError, or be read; anything else is a defect, which is printed with the number that repeats
it. So is more than MEMORY_KB of memory. The caller sets a limit of time.
"""

import base64
import contextlib
import gzip
import hashlib
import json
import random
import resource
import shutil
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from docs._extensions.tennis_commissioning import boards
from tennis.bench.instruments.arq import Receiver
from tennis.bench.kernels import requirements
from tennis.bench.targets import latency_settings, snapshot
from tennis.bench.targets.console import Console
from tennis.bench.virtual import elf
from tennis.course import load_lab, work
from tennis.course.notebook import notebook_box
from tennis.explain import stages
from tennis.grading import class_list, downloads, hand_in
from tennis.grading.downloads import sent
from tennis.kit import wire
from tennis.kit.errors import TennisError
from tennis.match.folder import MATCH, open_match
from tennis.match.plan import read_plan
from tennis.play.commissioning import record as commissioning
from tennis.play.commissioning.page import page
from tennis.rally import balls, instants, open_folder, open_rally, parquet, program
from tennis.rally.folder import BALLS, INSTANTS, JOURNAL, PLAN, STAGES
from tennis.rally.inside import read_inside
from tennis.rally.journal import Journal
from tennis.rally.manifest import Drill
from tennis.rally.manifest import Target as Target_
from tennis.rally.plan import Plan
from tennis.rally.record_file import seal_of
from tennis.rally.statistics.drill import spans_of
from tennis.rally.statistics.summary import summarize
from tennis.rally.witness import samples
from tennis.replicate import mechanisms
from tennis.replicate.mechanisms import Mechanism, Mechanisms
from tennis.report import instants_words
from tennis.report.umpire import Wires, open_capture
from tests.support.captures import ball, write
from tests.support.hand_ins import make_work, zipped
from tests.support.made_up_class import hand_in_of, packed
from tests.support.made_up_commissioning import made_up_record
from tests.support.made_up_journals import MadeUpRally, some_balls
from tests.support.quiet_board import seen
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill
from tests.support.synthetic_match import MatchMaker, bursts

MEMORY_KB = 1 << 20  # what docs/rally-folder.md promises
Run = Callable[[random.Random], None]  # damages its input, and reads it
PIECES = (
    *(b"\0" * 8, b"\xff" * 8, b"PK\5\6", b"PK\1\2", b"PAR1", b"nan"),
    b"-1",
    b"\x1b[2J",
    b"9" * 40,
)
NO_RALLIES = dict.fromkeys(("mainline-idle", "mainline-stress", "mainline-network"))
MATCH_PLAN = b"""title = "fuzzed"
seed = 7
balls = 2000
loop = "closed"
priorities = ["default", "chrt"]
[kernels.rt]
[kernels.mainline]
[loads.idle]
[loads.hog]
options = { hold_us = 200 }
"""


Target = Callable[[Path], Run]
TARGETS: dict[str, Target] = {}
SLOW: dict[str, int] = {}  # an input of these takes this many times as long as one of a file


def target(what: str, *, slow: int = 1) -> Callable[[Target], Target]:
    """Register what makes a valid input in a scratch folder, and returns what damages it."""

    def register(make: Target) -> Target:
        TARGETS[what], SLOW[what] = make, slow
        return make

    return register


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return data with some of it changed, removed, repeated or put in."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(out) + 1)
        size = min(rng.choice((1, 1, 2, 4, 8, 64, 500)), len(out) - at)
        match rng.randrange(6):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + size] = rng.randbytes(size)
            case 2:
                del out[at : at + size]
            case 3:
                out[at:at] = out[at : at + size]
            case 4:
                out[at:at] = rng.choice(PIECES)
            case 5 if rng.random() < 0.2:
                del out[at:]
    return bytes(out)


def files(path: Path, content: bytes, read: Callable[[], object]) -> Run:
    """Damage a file that stands alone, and read it."""

    def run(rng: random.Random) -> None:
        path.write_bytes(damaged(content, rng))
        read()

    return run


def any_of(paths: Iterable[Path], read: Callable[[], object]) -> Run:
    """Damage one of some files, and read them all; then it is what it was."""
    whole = {path: path.read_bytes() for path in sorted(paths)}

    def run(rng: random.Random) -> None:
        path = rng.choice(sorted(whole))
        path.write_bytes(damaged(whole[path], rng))
        try:
            read()
        finally:
            path.write_bytes(whole[path])

    return run


@target("sr")
def captures(scratch: Path) -> Run:
    """Damage a capture and read all of it."""
    events = [event for n in range(1, 8) for event in ball(500 * n, 20, 40)]
    path = write(scratch / "whole.sr", events, 4_500)
    data = path.read_bytes()
    target = scratch / "damaged.sr"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def run(rng: random.Random) -> None:
        if rng.random() < 0.5:
            # a whole zip file with a damaged member
            name = rng.choice(sorted(members))
            with zipfile.ZipFile(target, "w") as archive:
                for each, content in members.items():
                    archive.writestr(each, damaged(content, rng) if each == name else content)
        else:
            target.write_bytes(damaged(data, rng))
        for _ in open_capture(target, Wires()).edges():
            pass

    return run


@target("plan")
def plans(scratch: Path) -> Run:
    """Damage a plan and read it."""
    target = scratch / "plan.toml"
    return files(target, MATCH_PLAN, lambda: read_plan(target))


@target("answers")
def answers(scratch: Path) -> Run:
    """Damage a student's answers and read them."""
    lab = load_lab("04-under-load")
    path = make_work(scratch / "w", lab, "Ada", rallies=NO_RALLIES) / "answers.toml"
    return files(path, path.read_bytes(), lambda: work.read_answers(path))


@target("hand-in", slow=10)
def hand_ins(scratch: Path) -> Run:
    """Damage a zip file that was handed in and unpack it; nothing appears beside its folder."""
    lab = load_lab("04-under-load")
    made = make_work(scratch / "w", lab, "Ada", rallies={**NO_RALLIES, "mainline-idle": {}})
    archive = zipped(made, scratch / "whole.zip")
    whole = archive.read_bytes()
    place = scratch / "place"
    place.mkdir()

    def run(rng: random.Random) -> None:
        target = place / "in.zip"
        target.write_bytes(damaged(whole, rng))
        try:
            hand_in.unpack(target, place / "out")
        finally:
            assert {path.name for path in place.iterdir()} <= {"in.zip", "out"}
            assert not any(path.is_symlink() for path in place.rglob("*"))
            shutil.rmtree(place / "out", ignore_errors=True)

    return run


@target("class-list")
def class_lists(scratch: Path) -> Run:
    """Damage the list of a class, as each platform writes it; what is read makes tables."""
    own = "name,number,e-mail,moodle,canvas,login,section\nAda,1,a@b.c,101,12,ada,A\nBo,2,,,,,\n"
    moodle = (
        '"Identifier","Full name","ID number","Grade","Last modified (grade)"\n'
        '"Participant 101","Zoë, Müller","0471","7.5","-"\n'
    )
    canvas = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Lab (77)\n    Points Possible,,,,,10\n"
        '"Müller, Zoë",12,0471,zoe,"A, B",\n'
    )
    lists = [text.encode() for text in (own, moodle, canvas)]
    target = scratch / "class.csv"

    def run(rng: random.Random) -> None:
        target.write_bytes(damaged(rng.choice(lists), rng))
        listed = class_list.read(target)
        for student in listed.students:
            for key in class_list.IDENTIFIERS:
                assert not getattr(student, key).startswith(("=", "+", "-", "@"))
                assert getattr(student, key).isprintable()

    return run


@target("class-archive")
def class_archives(scratch: Path) -> Run:
    """Damage the archive of a class; nothing appears beside the folder that it is unpacked into."""
    folders = ("Ada_1_assignsubmission_file_", "Class/Zo\u00eb_2_assignsubmission_file", "__MACOSX")
    whole = packed({f"{folder}/lab.zip": hand_in_of("Ada") for folder in folders})
    place = scratch / "place"
    place.mkdir()
    target = place / "class.zip"

    def run(rng: random.Random) -> None:
        target.write_bytes(damaged(whole, rng))
        with downloads.opened(target) as root:
            for path in root.rglob("*"):
                assert not path.is_symlink()
                assert path.resolve().is_relative_to(root.resolve())
            for path in downloads.files(root):
                sent(downloads.label(path, root))
        assert {path.name for path in place.iterdir()} == {"class.zip"}

    return run


@target("frames")
def frames(_: Path) -> Run:
    """Damage what a Brickwall says and take it."""
    hello = json.dumps({"rally": "0a0b0c0d", "instrument": "brickwall"}).encode()
    said = wire.encode(wire.ANSWER, 1, b'{"ok": {}}') + wire.encode(wire.HELLO, 0, hello)
    for sequence in range(1, 6):
        said += wire.encode(wire.BALLS, sequence, bytes(wire.BALL_SIZE * 8))
    said += wire.encode(wire.EVENTS, 6, bytes(wire.EVENT_SIZE)) + wire.encode(
        wire.END, 7, bytes(32)
    )
    known = {wire.decode_one(said, 0)[:3]}  # type: ignore[index]
    at = 0
    while at < len(said):
        *frame, at = wire.decode_one(said, at)  # type: ignore[misc]
        known.add(tuple(frame))

    def run(rng: random.Random) -> None:
        data = damaged(said, rng)
        receiver = Receiver()
        receiver.begin("0a0b0c0d", 0, 1)
        taken = []
        while data:
            size = rng.randrange(1, 400)
            taken += receiver.feed(data[:size])
            data = data[size:]
        taken += receiver.quiet()
        assert all(tuple(frame) in known for frame in taken)
        assert [sequence for _, sequence, _ in taken] == list(range(len(taken)))

    return run


def folder_of(
    whole: Path, target: Path, read: Callable[[Path], object], only: tuple[str, ...] = ()
) -> Run:
    """Damage a file of a sealed folder, mend its hash and the seal, and read it.

    ``only``: these files; without, all of them.
    """
    content = {path.name: path.read_bytes() for path in whole.iterdir()}
    shutil.copytree(whole, target)

    def run(rng: random.Random) -> None:
        name = rng.choice(only or sorted(content))
        data = damaged(content[name], rng)
        manifest = content["manifest.json"]
        if name == "manifest.json":
            manifest = data
            with contextlib.suppress(ValueError, TypeError, RecursionError, AttributeError):
                # without its seal, so that the parts behind it are reached
                manifest = json.dumps({**json.loads(data), "seal": None}).encode()
        else:
            (target / name).write_bytes(data)
            said = json.loads(manifest)
            if name in said["files"]:
                said["files"][name] = hashlib.sha256(data).hexdigest()
            said["seal"] = seal_of(said)
            manifest = json.dumps(said).encode()
        (target / "manifest.json").write_bytes(manifest)
        try:
            read(target)
        finally:
            for back in {name, "manifest.json"}:
                (target / back).write_bytes(content[back])

    return run


@target("rally")
def rallies(scratch: Path) -> Run:
    """Damage a rally."""

    def read(path: Path) -> None:
        rally = open_rally(path)
        summarize(rally)
        for _ in rally.each_event():
            pass
        for _ in rally.batches():
            pass

    return folder_of(
        make_rally(scratch / "whole", balls=300, misses=3).path, scratch / "damaged", read
    )


@target("drill", slow=4)
def drills(scratch: Path) -> Run:
    """Damage a drill, also its target's own times."""
    drill = Drill(name="periodic", context="user", period_ns=1_000_000)
    steps = np.full(199, 1_000_000)
    whole = make_drill(scratch / "whole", drill, steps, np.full(200, 8_000)).path

    def read(path: Path) -> None:
        rally = open_folder(path)
        read_inside(rally)
        spans_of(rally)

    return folder_of(whole, scratch / "damaged", read)


@target("instants")
def recorded_instants(scratch: Path) -> Run:
    """Damage what a search for the worst instant played."""
    rally = make_rally(scratch / "whole", balls=50)
    about = instants.About(until="fall", drawn=20, low_ns=0, high_ns=9_000, step_ns=2)
    at = np.arange(0, 8_000, 200)
    rows = np.stack([at, 1_000 + at % 700, 1_500 + at % 900], axis=1)
    instants.write(rally, instants.Instants(about, rows))

    def read(path: Path) -> None:
        found = instants.read(open_rally(path))
        if found is not None:
            instants_words.sentences(found)

    return folder_of(rally.path, scratch / "damaged", read, (INSTANTS,))


@target("pages")
def pages_of_balls(scratch: Path) -> Run:
    """Damage what pages hold before it is packed: the codecs refuse what is damaged later."""
    rally = make_rally(scratch / "r", balls=300, misses=3)
    path, whole, page = rally.path / BALLS, next(rally.batches()), parquet._page

    def run(rng: random.Random) -> None:
        def worse(head: dict[int, Any], data: bytes, codec: str) -> tuple[bytes, int]:
            about = head[parquet.DATA]
            match rng.randrange(4):
                case 0:
                    data = damaged(data, rng)
                case 1:
                    number = rng.choice((-1, 0, 1, 2, 5, 8, 299, 301, 2**31 - 1))
                    about = {**about, rng.choice([*about]): number}
            return page({**head, parquet.DATA: about}, data, codec)

        with patch.object(parquet, "_page", worse):
            balls.write(path, whole, rally.tick_hz)
        balls.check(path, balls=300, tick_hz=rally.tick_hz)
        for _ in rally.batches():
            pass

    return run


@target("stages")
def recorded_stages(scratch: Path) -> Run:
    """Damage what was recorded of each ball's stages."""
    rally = make_rally(scratch / "whole", balls=50)
    row = (1, None, None, 3, 4, 5, 6, 7, 8, "interrupt", "f", 2, "racquet")
    stages.write(rally, [(ball, *row) for ball in range(50)])

    def read(path: Path) -> None:
        table = stages.read(open_rally(path))
        if table is not None:
            stages.stages(table)
            stages.causes(table, 10)

    return folder_of(rally.path, scratch / "damaged", read, (STAGES,))


@target("witness", slow=4)
def witnesses(scratch: Path) -> Run:
    """Damage the report of a witness inside the target."""
    first = (
        "cyclictest-9 [000] d..1. 5.1: hrtimer_start: hrtimer=1 function=hrtimer_wakeup "
        "expires=5000000000 softexpires=5000000000 mode=ABS|HARD was_armed=0"
    )
    lines = [first, *(f" 0: {number}: {7000 + number}" for number in range(90))]
    told = base64.encodebytes(gzip.compress("\n".join(lines).encode())).decode()
    ready = "tennis: fact ready_monotonic_ns 1000000000"
    console = f"{ready}\ntennis: witness begins\n{told}tennis: witness ends\n"
    whole = make_rally(
        scratch / "whole",
        balls=50,
        witness="cyclictest",
        console=console,
        events=[{"at_ns": 3_000_000_000, "what": "ready", "value": 0}],
    ).path
    return folder_of(
        whole, scratch / "damaged", lambda path: samples(open_rally(path)), ("console.log",)
    )


@target("begun")
def begun(scratch: Path) -> Run:
    """Damage a rally that is being played: its plan and its journal."""
    made = MadeUpRally(scratch / "r", planned=400)
    made.play(some_balls(300, 1))

    def read() -> None:
        Plan.read(made.part)
        with Journal(made.part, scratch / "r") as journal:
            for _ in journal.frames():
                pass

    return any_of((made.part / PLAN, made.part / JOURNAL), read)


@target("match", slow=10)
def matches(scratch: Path) -> Run:
    """Damage a match's record, and the mechanisms of its latest balls."""
    maker = MatchMaker(scratch / "match")
    for number in (1, 2):
        maker.rally("rt", "chrt", "idle", bursts(6000 + number, balls=300), repetition=number)
    maker.sealed()
    known = {"rt": Mechanism(rally="r", ball=1, ns=2, sentence="s")}
    Mechanisms(cells=known).write(maker.path)

    def read() -> None:
        Mechanisms.read(maker.path)
        match = open_match(maker.path)
        match.rallies()
        match.damaged()

    return any_of((maker.path / MATCH, maker.path / mechanisms.FILE), read)


@target("console")
def consoles(scratch: Path) -> Run:
    """Damage what a target's console says."""
    lines = (
        "[    1.0] tennis: fact release 6.12.1",
        "tennis: fact ready_monotonic_ns 12",
        "tennis: health stress 99 of 100",
        "tennis: task irq/23-racquet 50 FIFO",
        "[    2.0] WARNING: CPU: 0 PID: 1 at kernel/x.c:1",
    )
    path = scratch / "console.log"
    return files(path, "\n".join(lines).encode(), lambda: Console(path).report())


MORE_OF_A_BOARD = """= loading
 sig_enforce N
 lockdown none
 vermagic 6.12.0-rt SMP preempt_rt mod_unload aarch64
 layout 0x1234
= settings
 preempt full
 sched/features PLACE_LAG
 kernel/timer_migration 1
= programs
 irqbalance
= swaps
 /dev/zram0 partition 4 0 100
= zram
 zram0/backing_dev none
= governor
"""


@target("snapshot")
def snapshots(_: Path) -> Run:
    """Damage a target's snapshot: the kept part can be written and read again."""
    whole = seen("= governor\n", MORE_OF_A_BOARD)
    known = requirements.requirements("rt")

    def run(rng: random.Random) -> None:
        text = damaged(whole.text.encode(), rng).decode(errors="replace")
        told = snapshot.read(text)
        for finding in (*requirements.check(known, told), requirements.check_module(told)):
            assert "\n" not in finding.found
            assert "\x1b" not in finding.found
        list(latency_settings.changed(whole, told))
        settings = latency_settings.settings_of(told)
        target = make_target(settings)
        assert Target_.model_validate_json(target.model_dump_json()) == target

    return run


def make_target(settings: dict[str, str] | None) -> "Target_":
    """Return a manifest's target for a board with these settings."""
    return Target_(
        board="Pi", kernel="rt", release="6", version="1", config_sha256=None, command_line="",
        module="racquet", module_sha256=None, bottom_half="thread", priorities="chrt", tasks=[],
        kernel_settings=settings,
    )  # fmt: skip


TOML_OF_A_PROGRAM = b"""command = "./answer a"
sources = ["answer.c"]
packages = ["python3-minimal"]
environment = { A = "b" }
priority = 50
limits = { priority = 60, locked_mb = 8, processes = 4, start_s = 3 }
"""


def executable() -> bytes:
    """Return an ELF file for arm64 with a table of two functions, and no code."""
    names = b"\0main\0_start\0"
    symbols = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", name, 2, 0, 1, 0x400000 + name, 4) for name in (1, 6)
    )
    table = 64 + len(symbols) + len(names)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 2, 183, 1, 0x400000, 0, table, 0, 64, 56, 0, 64, 3, 0)
    sections = (
        (0,) * 10,
        (0, 2, 0, 0, 64, len(symbols), 2, 0, 0, 24),
        (0, 3, 0, 0, 64 + len(symbols), len(names), 0, 0, 0, 1),
    )
    return head + symbols + names + b"".join(struct.pack("<IIQQQQIIQQ", *one) for one in sections)


@target("program")
def programs_of_ones_own(scratch: Path) -> Run:
    """Damage what a student brings in the Racquet's place: program.toml, an executable."""
    whole, folder = executable(), scratch / "program"
    assert [one.name for one in elf.functions({"a": whole})] == ["main", "_start"]
    folder.mkdir()
    (folder / "answer.c").write_text("int main(void) { return 0; }\n")

    def run(rng: random.Random) -> None:
        content = damaged(whole, rng)
        for one in elf.functions({"a": content}):
            assert one.name.isprintable()
        (scratch / "answer").write_bytes(content)
        with contextlib.suppress(TennisError):
            program.read(scratch / "answer")
        (folder / "program.toml").write_bytes(damaged(TOML_OF_A_PROGRAM, rng))
        brought = program.read(folder)
        assert set(brought.files) <= {"answer.c", "program.toml"}

    return run


@target("commissioning")
def commissionings(scratch: Path) -> Run:
    """Damage a commissioning record that somebody sent, seal it again, and read and show it."""
    place = scratch / commissioning.RECORD
    whole = made_up_record().sealed_text()

    def run(rng: random.Random) -> None:
        data = damaged(whole, rng)
        with contextlib.suppress(ValueError, TypeError, RecursionError, AttributeError):
            # with a right seal, so that the parts behind it are reached
            content = {**json.loads(data), "seal": None}
            data = json.dumps({**content, "seal": seal_of(content)}).encode()
        place.write_bytes(data)
        record = commissioning.read_record(place)
        boards([("x", record)])
        page(record)

    return run


@target("box", slow=4)
def boxes(_: Path) -> Run:
    """Damage what a notebook leaves in its box."""
    told = json.dumps({"cells": 3, "error": "no"}).encode()
    book = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    def run(rng: random.Random) -> None:
        notebook_box._runner_result(damaged(told, rng))
        notebook_box._read_executed(damaged(book, rng))

    return run


def main(what: str, inputs: int, seed: int) -> None:
    """Try this many inputs; raise on the first defect."""
    refused = 0
    with tempfile.TemporaryDirectory(prefix="tennis-fuzz-") as scratch:
        run = TARGETS[what](Path(scratch))
        for number in range(seed, seed + inputs):
            try:
                run(random.Random(number))  # noqa: S311
            except TennisError as error:
                refused += 1
                assert "\n" not in str(error), f"{what} {number}: {error!r}"
            except BaseException:
                print(f"fuzz: {what}, input {number}", file=sys.stderr)
                raise
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            assert used < MEMORY_KB, f"{what} {number}: {used} kB of memory"
    print(f"{what}: {inputs} inputs, {refused} refused")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
