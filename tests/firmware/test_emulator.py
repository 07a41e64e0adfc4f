# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The emulated Pico: its own tests, and real MicroPython on it."""

import json
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from tennis.bench.instruments import emulated, micropython
from tennis.bench.instruments.lockstep import LockstepLink
from tennis.kit.errors import BenchError
from tests.support.processes import run_to_end

pytestmark = pytest.mark.slow


def test_its_own_tests_pass():
    emulated.check()
    result = run_to_end(["node", "--test"], cwd=emulated.FOLDER)
    assert result.returncode == 0, result.stdout + result.stderr


# --- real MicroPython, in lockstep


@pytest.fixture(scope="module")
def interpreter() -> Path:
    return micropython.firmware()


class Repl:
    """The raw REPL of a board without files, over a lockstep link."""

    def __init__(
        self, interpreter: Path, *arguments: str, descriptors: tuple[int, ...] = ()
    ) -> None:
        from_host, to_pico = os.pipe()
        from_pico, to_host = os.pipe()
        command = ["node", "main.mjs", "--firmware", interpreter, *arguments]
        self.process = subprocess.Popen(
            [*map(str, command), "lockstep", f"{from_host},{to_host}"],
            pass_fds=[from_host, to_host, *descriptors],
            cwd=emulated.FOLDER,
        )
        os.close(from_host)
        os.close(to_host)
        self.link = LockstepLink(to_pico, from_pico, emulated.CLOCK_HZ, ended=self.process.wait)
        self.said = b""
        self.until(b">>> ")
        self.link.write(b"\x01")
        self.until(b"exit\r\n>")

    def until(self, ending: bytes) -> bytes:
        said = b""
        while not said.endswith(ending):
            chunk = self.link.read(20)
            assert chunk, said
            said += chunk
        self.said += said
        return said

    def run(self, code: str) -> str:
        self.link.write(textwrap.dedent(code).encode() + b"\x04")
        return self.result()

    def result(self) -> str:
        said, error = self.until(b"\x04>")[2:-2].split(b"\x04")
        assert not error, error.decode()
        return said.decode().replace("\r\n", "\n").strip()

    def __enter__(self) -> "Repl":
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()


def test_what_is_not_emulated_says_so(interpreter):
    with Repl(interpreter) as repl:
        repl.link.write(b"import _thread; _thread.start_new_thread(print, (1,))\x04")
        with pytest.raises(BenchError, match="core 1"):
            repl.until(b"\x04>")


@pytest.mark.parametrize("mhz", [125, 250])
def test_the_clock_can_be_set(interpreter, mhz):
    with Repl(interpreter) as repl:
        said = repl.run(
            f"""
            import machine, time
            machine.freq({mhz}_000_000)
            start = time.ticks_us()
            time.sleep_ms(50)
            print(machine.freq(), time.ticks_diff(time.ticks_us(), start))
            """
        )
        hertz, slept_us = map(int, said.split())
        assert hertz == mhz * 1_000_000
        assert 50_000 <= slept_us < 50_200


RALLY = """
import rp2, time
from machine import Pin

@rp2.asm_pio(set_init=rp2.PIO.OUT_LOW)
def serve():
    pull(block)
    set(pins, 1)
    set(x, 31)
    label("up")
    jmp(x_dec, "up")
    set(pins, 0)

@rp2.asm_pio()
def measure():
    wait(1, pin, 0)
    mov(x, invert(null))
    label("low")
    jmp(pin, "rose")
    jmp(x_dec, "low")
    label("rose")
    mov(isr, invert(x))
    push(block)
    label("high")
    jmp(pin, "still")
    jmp("fell")
    label("still")
    jmp(x_dec, "high")
    label("fell")
    wait(0, pin, 0)

Pin(3, Pin.IN, Pin.PULL_DOWN)
server = rp2.StateMachine(0, serve, set_base=Pin(2))
clock = rp2.StateMachine(1, measure, in_base=Pin(2), jmp_pin=Pin(3))
clock.active(1)
server.active(1)
for ball in range(20):
    server.put(0)
    print(clock.get())
    time.sleep_ms(1)
"""


def test_a_scripted_target_answers_after_the_cycles_it_says(interpreter, tmp_path):
    log = tmp_path / "delays"
    script = {"kind": "random", "seed": 5, "rise": [50, 5000], "width": [10, 900], "log": str(log)}
    with Repl(interpreter, "--respond", json.dumps(script)) as repl:
        passes = [int(line) for line in repl.run(RALLY).split()]
    delays = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    assert len(delays) == len(passes) == 20
    # the wait sees the rise, one cycle later comes the first look, a look every second cycle
    for count, (rise, fall) in zip(passes, delays, strict=True):
        assert 2 * count + 2 - rise in {0, 1}
        assert 10 <= fall - rise < 900


# --- the link: this test is QEMU

READY, REPLY, REACHED, END = 1, 2, 3, 4
GO, QUIT = 1, 2
