# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Damage what strangers may send: ``python -m tests.support.fuzz WHAT INPUTS SEED``.

A valid input is damaged at random places, and read as the commands read it. It may be refused with
a TennisError, or be read; anything else is a defect, which is printed with the number that repeats
it. So is more than MEMORY_KB of memory. The caller sets a limit of time.
"""

import contextlib
import json
import random
import resource
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tennis import wire
from tennis.bench.instruments.arq import Receiver
from tennis.course import hand_in, load_lab, work
from tennis.errors import TennisError
from tennis.match.plan import read_plan
from tennis.rally import folder, open_rally
from tennis.rally.manifest import seal_of
from tennis.stats.summary import summarize
from tennis.umpire import Wires, open_capture
from tests.support.captures import ball, sigrok, write
from tests.support.hand_ins import make_work, zipped
from tests.support.synthetic import make_rally

MEMORY_KB = 1 << 20  # what docs/rally-folder.md promises
PIECES = (
    b"\0" * 8,
    b"\xff" * 8,
    b"PK\5\6",
    b"PK\1\2",
    b"PAR1",
    b"nan",
    b"-1",
    b"\x1b[2J",
    b"9" * 40,
)
NO_RALLIES = dict.fromkeys(("mainline-idle", "mainline-stress", "mainline-network"))
PLAN = b"""title = "fuzzed"
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


def rallies(scratch: Path) -> Callable[[random.Random], None]:
    """Damage a file of a rally's folder, mend its hash, and open it."""
    made = make_rally(scratch / "whole", balls=300, misses=3)
    whole = {path.name: path.read_bytes() for path in made.path.iterdir()}
    target = scratch / "damaged"
    shutil.copytree(made.path, target)

    def run(rng: random.Random) -> None:
        name = rng.choice(["balls.parquet", "balls.parquet", "events.jsonl", "manifest.json"])
        data = damaged(whole[name], rng)
        manifest = whole["manifest.json"]
        if name != "manifest.json":
            said = json.loads(manifest)
            (target / name).write_bytes(data)
            said["files"][name] = folder._sha256(target / name)
            said["seal"] = seal_of(said)
            manifest = json.dumps(said).encode()
        else:
            manifest = data
            with contextlib.suppress(ValueError, TypeError, RecursionError, AttributeError):
                # without its seal, so that what lies behind it is looked at
                manifest = json.dumps({**json.loads(data), "seal": None}).encode()
        (target / "manifest.json").write_bytes(manifest)
        try:
            rally = open_rally(target)
            summarize(rally)
            for _ in rally.each_event():
                pass
            for _ in rally.batches():
                pass
        finally:
            for back in {name, "manifest.json"}:
                (target / back).write_bytes(whole[back])

    return run


def captures(scratch: Path, suffix: str) -> Callable[[random.Random], None]:
    """Damage a capture and read all of it."""
    events = [event for n in range(1, 8) for event in ball(500 * n, 20, 40)]
    path = write(scratch / "whole.sr", events, 4_500)
    if suffix != "sr":
        out = scratch / f"whole.{suffix}"
        sigrok("-i", path, "-O", suffix, "-o", out)
        path = out
    data = path.read_bytes()
    target = scratch / f"damaged.{suffix}"
    with zipfile.ZipFile(path) if suffix == "sr" else scratch_archive() as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def run(rng: random.Random) -> None:
        if members and rng.random() < 0.5:
            # a whole zip file with a damaged member
            name = rng.choice(sorted(members))
            with zipfile.ZipFile(target, "w") as archive:
                for each, content in members.items():
                    archive.writestr(each, damaged(content, rng) if each == name else content)
        else:
            target.write_bytes(damaged(data, rng))
        capture = open_capture(target, Wires())
        for _ in capture.edges():
            pass

    return run


class scratch_archive:  # noqa: N801
    """No archive."""

    def __enter__(self) -> "scratch_archive":
        return self

    def __exit__(self, *_: object) -> None: ...

    def namelist(self) -> list[str]:
        return []

    def read(self, name: str) -> bytes:
        raise KeyError(name)


def plans(scratch: Path) -> Callable[[random.Random], None]:
    """Damage a plan and read it."""
    target = scratch / "plan.toml"

    def run(rng: random.Random) -> None:
        target.write_bytes(damaged(PLAN, rng))
        read_plan(target)

    return run


def answers(scratch: Path) -> Callable[[random.Random], None]:
    """Damage a student's answers and read them."""
    lab = load_lab("04-under-load")
    whole = (make_work(scratch / "w", lab, "Ada", rallies=NO_RALLIES) / "answers.toml").read_bytes()
    target = scratch / "answers.toml"

    def run(rng: random.Random) -> None:
        target.write_bytes(damaged(whole, rng))
        work.read_answers(target)

    return run


def hand_ins(scratch: Path) -> Callable[[random.Random], None]:
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


def frames(_: Path) -> Callable[[random.Random], None]:
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


TARGETS: dict[str, Callable[[Path], Callable[[random.Random], None]]] = {
    "rally": rallies,
    "sr": lambda scratch: captures(scratch, "sr"),
    "vcd": lambda scratch: captures(scratch, "vcd"),
    "csv": lambda scratch: captures(scratch, "csv"),
    "plan": plans,
    "answers": answers,
    "hand-in": hand_ins,
    "frames": frames,
}


def main(what: str, inputs: int, seed: int) -> None:
    """Try so many inputs; raise on the first defect."""
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
