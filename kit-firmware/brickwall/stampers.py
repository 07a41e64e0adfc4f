# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Four machines that give every edge of both wires a time on one clock, and where they leave it."""

import balls
import programs
import registers
from machine import Pin
from memory import WORD_BYTES, aligned_words, zeros
from micropython import const
from rp2 import DMA, PIO, StateMachine

# A transfer count has 28 bits on an RP2350. What is left of it says how much was stored.
TRANSFERS = const((1 << 28) - 1)
_PIO = const(1)
_FIRST_MACHINE = const(4)
_RING_BITS = const(13)  # 8 KiB
# So much of a ring may be in use. The rest is for edges that come while it is being read.
_RING_USED_MAX = balls.RING_WORDS - 256

FIFO_OVERRUN = 1
RING_OVERRUN = 2


@micropython.viper
def _look(counts: ptr32, first: int, pushed: ptr32):
    """Note how many words two machines have pushed so far."""
    for n in range(2):
        count = ptr32(counts[first + n])
        pushed[n] = TRANSFERS - count[0]


class Wire:
    """The edges of one wire."""

    def __init__(self, ring_a, ring_b):
        self.state = zeros(balls.WIRE_WORDS)
        self.edges = zeros(balls.EDGES)
        self.rings = (ring_a, ring_b)
        self.pushed = zeros(2)

    def forget(self):
        """Begin anew."""
        for n in range(balls.WIRE_WORDS):
            self.state[n] = 0

    def overrun(self):
        """Say whether a ring is so full that it may have been overwritten."""
        state, pushed = self.state, self.pushed
        return (
            pushed[0] - state[0] > _RING_USED_MAX
            or pushed[1] - state[1] > _RING_USED_MAX
            or pushed[0] == TRANSFERS
            or pushed[1] == TRANSFERS
        )


class Stampers:
    """Both wires, from ``start`` to ``stop``. The memory is taken once and for all."""

    def __init__(self):
        rings = aligned_words(balls.RING_WORDS, 4)
        self.ping = Wire(rings[0], rings[1])
        self.reply = Wire(rings[2], rings[3])
        self._counts = zeros(4)
        self._channels = []

    def start(self, ping_pin, reply_pin):
        """Begin to stamp, all machines in the same cycle."""
        self.ping.forget()
        self.reply.forget()
        rings = self.ping.rings + self.reply.rings
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
                write=rings[n],
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
        registers.forget_stalls(registers.PIO1)
        registers.start_all(registers.PIO1)

    def pair(self):
        """Make edges of what was pushed. Returns the wire (0 ping, 1 reply) of a runt, or None.

        What the ping wire had first is sure: no earlier reply can still come. What it has after
        the reply wire was looked at comes before any later reply.
        """
        ping, reply = self.ping, self.reply
        for part in range(3):
            wire = reply if part == 1 else ping
            _look(self._counts, 2 if part == 1 else 0, wire.pushed)
            if balls.pair_edges(wire.state, *wire.rings, wire.edges, wire.pushed):
                return int(part == 1)
            if part == 0:
                ping.state[balls.SURE] = ping.state[2]
        return None

    def overrun(self):
        """Return which overrun happened, if any, else 0."""
        if registers.stalled(registers.PIO1):
            return FIFO_OVERRUN
        if self.ping.overrun() or self.reply.overrun():
            return RING_OVERRUN
        return 0

    def look(self):
        """Note what was pushed until now, without taking it."""
        _look(self._counts, 0, self.ping.pushed)
        _look(self._counts, 2, self.reply.pushed)

    def stop(self):
        """Stop and give back machines, channels and program memory; also half started."""
        registers.stop_all(registers.PIO1)
        while self._channels:
            registers.stop_dma(self._channels.pop())
        if programs.stamp[1 + _PIO] >= 0:
            PIO(_PIO).remove_program(programs.stamp)
