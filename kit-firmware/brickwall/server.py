# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Serves balls: two machines raise and lower the ping, and DMA feeds them words without Python.

A word is a ball, so words are credits: the machine serves as many balls as it was granted and then
waits. Words are granted in blocks. A DMA channel feeds a block; at its end a second one gives it
the next block's address, from a list that ends with 0. So nothing that Python does, or is late
with, can move a ball; it can only let the words run out, and then the next serve is late.
"""

# viper's types have no import
# ruff: noqa: F821
import balls
import gaps
import programs
import registers
from machine import Pin
from memory import aligned_words, zeros
from micropython import const
from rp2 import DMA, PIO, StateMachine
from uctypes import addressof

_PIO = const(0)
_SERVE_MACHINE = const(0)
_PULSE_MACHINE = const(1)
BLOCKS = balls.WORDS // balls.BLOCK_WORDS
# The list needs an end; and should every ball have a double, the stampers' rings hold them all.
BLOCKS_MAX = BLOCKS - 2
_LIST_BITS = const(5)  # 32 bytes: an address a block
_BLOCK_BYTES = 4 * balls.BLOCK_WORDS

# the closed loop's shortest gap: a word of 0 is no ball
CLOSED_GAP_MIN_TICKS = programs.SERVE_CLOSED_TICKS + 1
OPEN_PERIOD_MIN_TICKS = programs.SERVE_OPEN_TICKS + 1
PULSE_MIN_TICKS = programs.SYNCHRONISER_TICKS + programs.PULSE_TICKS

# what ``fill`` needs to know about the gaps
_SEED = const(0)
_WEYL = const(1)
_MULTIPLY_1 = const(2)
_MULTIPLY_2 = const(3)
_WORD_MIN = const(4)
_WORD_RANGE = const(5)


@micropython.viper
def fill(words: ptr32, at: int, begin: int, end: int, first: int, gap: ptr32):  # noqa: PLR0913, PLR0917
    """Write a block at ``at``: gaps.gap_ns in 32-bit integers, for the balls from ``first`` on.

    Only words ``begin`` to ``end`` (not included) of the block are balls.
    """
    words_range = gap[_WORD_RANGE]
    range_high = (words_range >> 16) & 0xFFFF
    range_low = words_range & 0xFFFF
    for n in range(int(balls.BLOCK_WORDS)):
        if n < begin or n >= end:
            words[at + n] = 0
            continue
        z = gap[_SEED] + (first + n + 1) * gap[_WEYL]
        z = (z ^ ((z >> 16) & 0xFFFF)) * gap[_MULTIPLY_1]
        z = (z ^ ((z >> 15) & 0x1FFFF)) * gap[_MULTIPLY_2]
        z = z ^ ((z >> 16) & 0xFFFF)
        # the upper half of a product of 64 bits
        high = (z >> 16) & 0xFFFF
        low = z & 0xFFFF
        cross_1 = high * range_low
        cross_2 = low * range_high
        carry = ((low * range_low >> 16) & 0xFFFF) + (cross_1 & 0xFFFF) + (cross_2 & 0xFFFF)
        product = high * range_high + ((cross_1 >> 16) & 0xFFFF) + ((cross_2 >> 16) & 0xFFFF)
        words[at + n] = gap[_WORD_MIN] + product + (carry >> 16)


class Server:
    """The ping, from ``start`` to ``stop``. The memory is taken once and for all."""

    def __init__(self):
        self.words = zeros(balls.WORDS)
        (self._list,) = aligned_words(BLOCKS)
        self._gap = zeros(6)
        self._ping = None
        self._program = None
        self._feed = self._next = None
        self._block = 0  # the next one to be granted
        self._freed = 0  # the next one to be freed

    def start(self, ping_pin, reply_pin, closed, pulse_ticks, timeout_ticks):
        """Make the machines ready; they wait for words."""
        self._program = programs.serve_closed if closed else programs.serve_open
        self._ping = ping = Pin(ping_pin)
        serve = StateMachine(_SERVE_MACHINE, self._program, set_base=ping, jmp_pin=Pin(reply_pin))
        if closed:
            serve.put(timeout_ticks // programs.TIMEOUT_PASS_TICKS)
            serve.exec("pull(block)")
            serve.exec("mov(isr, osr)")
            serve.exec("set(y, 0)")
        pulse = StateMachine(_PULSE_MACHINE, programs.pulse, set_base=ping, in_base=ping)
        seen = 0 if registers.bypassed(ping_pin) else programs.SYNCHRONISER_TICKS
        pulse.put(pulse_ticks - seen - programs.PULSE_TICKS)
        pulse.exec("pull(block)")
        pulse.exec("mov(y, osr)")

        for n in range(BLOCKS):
            self._list[n] = 0
        self._block = self._freed = 0
        self._feed = DMA()
        self._next = DMA()
        self._feed.config(
            read=0,
            write=serve,
            count=balls.BLOCK_WORDS,
            ctrl=self._feed.pack_ctrl(
                inc_write=False,
                chain_to=self._next.channel,
                treq_sel=registers.tx_request(_SERVE_MACHINE),
            ),
        )
        self._next.config(
            read=self._list,
            write=registers.read_and_start(self._feed),
            count=1,
            ctrl=self._next.pack_ctrl(inc_write=False, ring_sel=False, ring_size=_LIST_BITS),
        )
        pulse.active(1)
        serve.active(1)

    def plan(self, seed, gap_min_ticks, gap_max_ticks, own_ticks):
        """Set the gaps; ``own_ticks`` of them pass without a word."""
        self._gap[_SEED] = gaps.mix(seed)
        self._gap[_WEYL] = 0x9E3779B9
        self._gap[_MULTIPLY_1] = 0x7FEB352D
        self._gap[_MULTIPLY_2] = 0x846CA68B
        self._gap[_WORD_MIN] = gap_min_ticks - own_ticks
        self._gap[_WORD_RANGE] = gap_max_ticks - gap_min_ticks

    @micropython.native
    def grant(self, first, count, extra_ticks):
        """Let ``count`` balls from number ``first`` on be served; no multiple of 64 between them.

        Ball n's word is number n % 64 of its block, so what is no ball costs time only before the
        first and after the last one. ``extra_ticks`` are added to the first gap. At most BLOCKS_MAX
        blocks may be granted and not freed.
        """
        block = self._block
        at = block * balls.BLOCK_WORDS
        begin = first % balls.BLOCK_WORDS
        fill(self.words, at, begin, begin + count, first - begin, self._gap)
        if extra_ticks:
            self.words[at + begin] += extra_ticks
        self._list[block] = addressof(self.words) + block * _BLOCK_BYTES
        self._block = (block + 1) % BLOCKS
        # Where the channels had come to the list's end, the feed's read address is that end's 0.
        if self._feed.read == 0:
            self._next.config(read=addressof(self._list) + 4 * block, trigger=True)

    def free(self):
        """Take back the oldest block: its balls are decided."""
        self._list[self._freed] = 0
        self._freed = (self._freed + 1) % BLOCKS

    def stop(self):
        """Lower the ping and give back machines, channels and program memory; also half started."""
        for machine in (_SERVE_MACHINE, _PULSE_MACHINE):
            StateMachine(machine).active(0)
        if self._ping is not None:
            self._ping.init(Pin.OUT, value=0)
        # the one that starts the other first
        for channel in (self._next, self._feed):
            if channel is not None:
                registers.stop_dma(channel)
        self._next = self._feed = None
        for program in (self._program, programs.pulse):
            if program is not None and program[1 + _PIO] >= 0:
                PIO(_PIO).remove_program(program)
        self._program = None
