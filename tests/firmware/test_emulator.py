# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The emulated Pico: its own tests, and real MicroPython on it."""

import json
import os
import struct
import subprocess
import textwrap
import threading
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


def test_micropython_finds_a_pico(interpreter):
    with Repl(interpreter, "--unique-id", "0123456789abcdef") as repl:
        assert repl.run("import machine; print(machine.unique_id().hex())") == "0123456789abcdef"
        assert "RP2040" in repl.run("import sys; print(sys.implementation._machine)")
        repl.run("with open('/kept', 'w') as f: f.write('x' * 5000)")
        assert repl.run("import os; print(os.stat('/kept')[6])") == "5000"
        assert repl.run("import math; print(math.sin(1), 1e100 * 3, 7 ** 50)") == (
            f"{0.841471:.6g} inf {7**50}"
        )


def test_files_survive_resets(interpreter):
    with Repl(interpreter) as repl:
        repl.run("with open('/kept', 'w') as f: f.write('kept')")
        repl.link.write(b"\x04")
        repl.until(b"soft reboot\r\nraw REPL; CTRL-B to exit\r\n>")
        assert repl.run("print(open('/kept').read())") == "kept"
        repl.link.write(b"import machine; machine.reset()\x04")
        repl.until(b">>> ")
        repl.link.write(b"\x01")
        repl.until(b"exit\r\n>")
        assert repl.run("print(open('/kept').read())") == "kept"


def test_wires_pulls_and_pin_interrupts(interpreter):
    with Repl(interpreter, "--connect", "2-6,7-3") as repl:
        said = repl.run(
            """
            from machine import Pin, PWM
            import time
            listen, ping = Pin(6, Pin.IN), Pin(2, Pin.OUT, value=1)
            print(listen(), end=" ")
            ping(0)
            print(listen(), end=" ")
            ping = Pin(2, Pin.IN)
            for pull in (Pin.PULL_UP, Pin.PULL_DOWN):
                listen = Pin(6, Pin.IN, pull)
                print(ping(), end=" ")
            edges = 0
            def count(pin):
                global edges
                edges += 1
            Pin(3, Pin.IN).irq(count, Pin.IRQ_RISING, hard=True)
            answer = PWM(Pin(7), freq=2000, duty_u16=32768)
            time.sleep_ms(10)
            answer.deinit()
            print(19 <= edges <= 21)
            """
        )
        assert said == "1 0 1 0 True"


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


def test_dma_follows_a_list_of_blocks_and_fills_a_ring(interpreter):
    with Repl(interpreter, "--connect", "2-6") as repl:
        said = repl.run(
            """
            import array, rp2, uctypes, time
            from machine import Pin, mem32

            @rp2.asm_pio(autopush=True, autopull=True, push_thresh=32, pull_thresh=32)
            def echo():
                out(x, 32)
                in_(x, 32)

            machine = rp2.StateMachine(0, echo)
            blocks = [array.array("I", range(100 * b, 100 * b + 5 + b)) for b in range(4)]
            todo = array.array("I")
            for block in blocks:
                todo.extend(array.array("I", [len(block), uctypes.addressof(block)]))
            todo.extend(array.array("I", [0, 0]))
            space = bytearray(256)
            ring = (uctypes.addressof(space) + 127) & ~127

            feed, control, drain = rp2.DMA(), rp2.DMA(), rp2.DMA()
            drain.config(
                read=0x50200020, write=ring, count=1000, trigger=True,
                ctrl=drain.pack_ctrl(inc_read=False, ring_size=7, ring_sel=True, treq_sel=4),
            )
            feed.config(
                write=0x50200010, count=0,
                ctrl=feed.pack_ctrl(inc_write=False, treq_sel=0, chain_to=control.channel),
            )
            control.config(
                read=todo, write=0x50000038 + 0x40 * feed.channel, count=2,
                ctrl=control.pack_ctrl(ring_size=3, ring_sel=True),
            )
            machine.active(1)
            control.active(1)
            time.sleep_ms(1)
            print(drain.count, drain.write - ring, feed.active(), control.active())
            print([mem32[ring + 4 * i] for i in range(26)])
            """
        )
        counts, words = said.split("\n")
        assert counts == "974 104 False False"
        assert json.loads(words) == [100 * b + i for b in range(4) for i in range(5 + b)]


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


def test_the_same_input_gives_the_same_bytes_and_cycles(interpreter):
    def once() -> tuple[bytes, int]:
        with Repl(interpreter, "--respond", '{"kind":"answer","rise":1001,"width":300}') as repl:
            repl.run(RALLY)
            assert repl.link.read(0.25) == b""
            return repl.said, repl.link.cycle

    assert once() == once()


# --- the link: this test is QEMU

MESSAGE = struct.Struct("<QII")
READY, REPLY, REACHED, END = 1, 2, 3, 4
GO, QUIT = 1, 2


class Target(threading.Thread):
    """A guest in virtual time: answers every ping after ``delays_ns``, for ``WIDTH_NS``."""

    WIDTH_NS = 800
    READY_NS = 1_500_000_003

    def __init__(self, delays_ns: list[int], *, held: bool = False, balls: int = 0) -> None:
        super().__init__(daemon=True)
        self.pico_reads, self._write_fd = os.pipe()
        self._read_fd, self.pico_writes = os.pipe()
        self._delays_ns, self._held = delays_ns, held
        self._balls = balls  # ends after so many; 0: never
        self.pings: list[tuple[int, int]] = []
        self._level = 0
        self._edges: list[tuple[int, int]] = []

    def _tell(self, now: int, kind: int, value: int = 0) -> int:
        """Return the horizon."""
        os.write(self._write_fd, MESSAGE.pack(now, kind, value))
        said = os.read(self._read_fd, MESSAGE.size)
        horizon, kind, level = MESSAGE.unpack(said) if said else (0, QUIT, 0)
        if kind == QUIT:
            return -1
        assert horizon >= now
        if level != self._level:
            self._level = level
            self.pings.append((now, level))
            if level and self._delays_ns:
                up = now + self._delays_ns.pop(0)
                self._edges += [(up, 1), (up + self.WIDTH_NS, 0)]
        return horizon

    def run(self) -> None:
        now = self.READY_NS
        horizon = self._tell(now, READY)
        if self._held:
            horizon = self._tell(now, REPLY, 1)
        while horizon >= 0:
            if self._balls and sum(level for _, level in self.pings) == self._balls:
                os.write(self._write_fd, MESSAGE.pack(now, END, 2))
                return
            if self._edges and self._edges[0][0] <= horizon:
                now, level = self._edges.pop(0)
                horizon = self._tell(now, REPLY, level)
            else:
                now = horizon
                horizon = self._tell(now, REACHED)


def linked(interpreter: Path, target: Target) -> Repl:
    descriptors = (target.pico_reads, target.pico_writes)
    repl = Repl(interpreter, "--link", ",".join(map(str, descriptors)), descriptors=descriptors)
    os.close(target.pico_reads)
    os.close(target.pico_writes)
    target.start()
    return repl


def test_a_linked_target_shares_the_time(interpreter):
    delays_ns = [600 + 8 * 37 * ball for ball in range(20)]
    target = Target(delays_ns.copy())
    with linked(interpreter, target) as repl:
        assert repl.run("print(1)") == "1"  # before READY the Pico runs alone
        repl.link.at_ready(RALLY.encode() + b"\x04")
        passes = [int(line) for line in repl.result().split()]
        assert not repl.link.notes
    target.join(10)
    rises = [now for now, level in target.pings if level]
    falls = [now for now, level in target.pings if not level]
    assert len(passes) == len(rises) == len(falls) == 20
    # all on the grid of cycles that began at READY
    assert all((now - Target.READY_NS) % 8 == 0 for now in rises + falls)
    # set(x, 31), 32 jumps, set(pins, 0): 34 cycles
    assert {fall - rise for rise, fall in zip(rises, falls, strict=True)} == {34 * 8}
    for count, delay_ns in zip(passes, delays_ns, strict=True):
        assert 2 * count + 2 - delay_ns // 8 in {0, 1}
