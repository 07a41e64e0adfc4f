"""Rallies through a line on which things happen: the real firmware on an emulated Pico."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tennis.bench.physical.wired import WiredBench
from tennis.play.progress import Progress
from tennis.play.rally import Watch, play
from tennis.rally import Rally
from tests.support.emulated_pico import EmulatedPico, Line, Mangle, respond
from tests.support.plans import plan_of
from tests.support.terminal import tennis
from tests.support.ticks import interrupt_ticks, scheduling_ticks

pytestmark = pytest.mark.virtual

ANSWER = respond("answer", rise=1000, width=5000)
PLAN = {"gap_min_us": 100, "gap_max_us": 200, "settle_s": 0.01, "timeout_ms": 5}


def rally(url: str, out: Path, observe=lambda _: None, **asked) -> Rally:
    plan = plan_of(bench="pi", port=url, **{**PLAN, **asked})
    return play(WiredBench(url), plan, out, Watch(observe))


def delays(rally: Rally) -> list[list[int]]:
    """Return (rise, width) of each ball."""
    pairs = zip(interrupt_ticks(rally), scheduling_ticks(rally), strict=True)
    return [list(pair) for pair in pairs]


def noise(seed: int, every: int) -> Mangle:
    """Return what flips, drops and repeats bytes, about one of ``every``."""
    rng = random.Random(seed)  # noqa: S311 (the same each time)

    def mangle(data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            luck = rng.random() * every
            if luck >= 1:
                out.append(byte)
            elif luck < 0.4:
                out.append(byte ^ 1 << rng.randrange(8))
            elif luck < 0.7:
                out += bytes([byte]) * 2
        return bytes(out)

    return mangle


def test_noise_is_repaired_and_every_ball_is_the_one_that_was_played(tmp_path):
    log = tmp_path / "delays"
    script = respond("random", seed=5, rise=[2, 4000], width=[3, 9000], log=str(log))
    with (
        EmulatedPico(*script) as pico,
        Line(pico.url, to_host=noise(1, 4000), to_instrument=noise(2, 400)) as line,
    ):
        played = rally(line.url, tmp_path / "r", balls=3000)
    known = [[int(word) for word in text.split()] for text in log.read_text().splitlines()]
    assert delays(played) == [[rise, fall - rise] for rise, fall in known]
    manifest = played.manifest
    assert (manifest.ended, manifest.faults, manifest.suspect) == ("complete", [], False)
    assert manifest.line is not None
    assert manifest.line.broken > 5
    assert manifest.line.resends > 5
    assert manifest.line.restarts == manifest.line.reconnects == 0


def test_a_cable_that_is_pulled_and_put_back(tmp_path):
    with EmulatedPico(*ANSWER) as pico, Line(pico.url) as line:
        pulled = threading.Event()

        def pull(progress: Progress) -> None:
            if progress.balls > 500 and not pulled.is_set():
                pulled.set()
                line.unplug()
                threading.Timer(2, line.plug_in).start()
            if not progress.balls % 7 and "waiting up to" in progress.doing:
                said.add(progress.doing)

        said: set[str] = set()
        played = rally(line.url, tmp_path / "r", pull, balls=5000)
    assert played.balls == 5000
    assert delays(played) == [[1000, 5000]] * 5000
    manifest = played.manifest
    assert (manifest.ended, manifest.suspect) == ("complete", False)
    assert manifest.line.reconnects >= 1
    assert {event["what"] for event in played.events} >= {"line_lost", "line_back"}


@pytest.mark.more
def test_an_instrument_that_loses_its_power(tmp_path):
    with EmulatedPico(*ANSWER) as pico, Line(pico.url) as line:
        off = threading.Event()

        def cut(progress: Progress) -> None:
            if progress.balls > 500 and not off.is_set():
                off.set()
                pico.power_off()
                threading.Timer(1, pico.power_on).start()

        played = rally(line.url, tmp_path / "r", cut, balls=3000)
    assert delays(played) == [[1000, 5000]] * 3000
    manifest = played.manifest
    assert [fault.code for fault in manifest.faults] == ["instrument_restarted"]
    assert (manifest.ended, manifest.suspect) == ("complete", True)
    assert manifest.line.restarts == 1
    served = [ns for batch in played.batches(["served_ns"]) for ns in batch["served_ns"].tolist()]
    assert served == sorted(set(served))


@pytest.mark.more
def test_a_port_has_one_user():
    """On a real port: a terminal that is open already."""
    near, far = os.openpty()
    name = os.ttyname(far)
    with Path(name).open("rb"):
        program = (
            f"import serial; p = serial.Serial({name!r}, exclusive=True); print(1, flush=True)"
        )
        first = subprocess.Popen(
            [sys.executable, "-c", f"{program}; input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        first.stdout.readline()
        done = tennis("doctor", "--port", name)
        first.kill()
        first.wait()
    os.close(near)
    os.close(far)
    assert done.returncode == 1
    assert "is used by another program" in done.stdout
    assert "ModemManager" in done.stdout
