# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Four machines that give every edge of both wires a time on one clock, and where they leave it."""

import balls
import micropython
import programs
import registers
from machine import Pin
from memory import aligned_words, zeros
from micropython import const
from rp2 import DMA, PIO, StateMachine
from uctypes import addressof

# A transfer count has 28 bits on an RP2350. What is left of it says how much was stored.
TRANSFERS = const((1 << 28) - 1)
_PIO = const(1)
_FIRST_MACHINE = const(4)
_RING_BITS = const(13)  # 8 KiB


class Wire:
    """The edges of one wire."""

    def __init__(self, ring_a, ring_b):
        self.state = zeros(balls.WIRE_WORDS)
        self.edges = zeros(balls.EDGES)
        self.rings = (ring_a, ring_b)

    def job(self, pushed, which):
        """Return what ``balls.pair_same`` needs for this wire and its counts in ``pushed``."""
        job = zeros(balls.JOB_WORDS)
        job[balls.JOB_WIRE] = addressof(self.state)
        job[balls.JOB_RING_A], job[balls.JOB_RING_B] = map(addressof, self.rings)
        job[balls.JOB_EDGES] = addressof(self.edges)
        job[balls.JOB_PUSHED] = addressof(pushed) + 4 * which
        return job

    def forget(self):
        """Begin anew."""
        for n in range(balls.WIRE_WORDS):
            self.state[n] = 0


class Stampers:
    """Both wires, from ``start`` to ``stop``. The memory is taken once and for all."""

    def __init__(self):
        rings = aligned_words(balls.RING_WORDS, 4)
        self.rings = tuple(rings)  # of both wires
        self.ping = Wire(rings[0], rings[1])
        self.reply = Wire(rings[2], rings[3])
        self.pushed = zeros(balls.PUSHED_WORDS)
        self._counts = zeros(5)
        self._channels = []

    def start(self, ping_pin, reply_pin):
        """Begin to stamp, all machines in the same cycle."""
        self.ping.forget()
        self.reply.forget()
        pins = (ping_pin, ping_pin, reply_pin, reply_pin)
        for n in range(4):
            machine = StateMachine(_FIRST_MACHINE + n, programs.stamp, jmp_pin=Pin(pins[n]))
            offset = programs.stamp[1 + _PIO]
            machine.exec("mov(x, invert(null))")
            # a jump is its address
            start = programs.STAMP_START_LATER if n % 2 else programs.STAMP_START
            machine.exec(offset + start)
            channel = DMA()
            self._channels.append(channel)
            channel.config(
                read=machine,
                write=self.rings[n],
                count=TRANSFERS,
                ctrl=channel.pack_ctrl(
                    inc_read=False,
                    ring_sel=True,
                    ring_size=_RING_BITS,
                    treq_sel=registers.rx_request(_FIRST_MACHINE + n),
                    high_pri=True,
                ),
                trigger=True,
            )
            self._counts[n] = registers.transfer_count(channel)
        self._counts[4] = registers.stalls(registers.PIO1)
        registers.forget_stalls(registers.PIO1)
        registers.start_all(registers.PIO1)

    @micropython.native
    def look(self):
        """Note what was pushed until now. Returns which overrun happened, if any, else 0."""
        return balls.look(self.pushed, self._counts, TRANSFERS, self.ping.state, self.reply.state)

    def stop(self):
        """Stop and give back machines, channels and program memory; also half started."""
        registers.stop_all(registers.PIO1)
        while self._channels:
            registers.stop_dma(self._channels.pop())
        if programs.stamp[1 + _PIO] >= 0:
            PIO(_PIO).remove_program(programs.stamp)
