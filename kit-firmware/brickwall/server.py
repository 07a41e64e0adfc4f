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
BLOCKS_MAX = 5  # so many balls must fit into the rings of the stampers, and some edges besides
_LIST_BITS = const(5)  # 32 bytes: an address a block
_BLOCK_BYTES = 4 * balls.BLOCK_WORDS

# the closed loop's shortest gap: a word of 0 is no ball
CLOSED_GAP_MIN_TICKS = programs.SERVE_CLOSED_TICKS + 1
OPEN_PERIOD_MIN_TICKS = programs.SERVE_OPEN_TICKS + 1
PULSE_MIN_TICKS = programs.SYNCHRONISER_TICKS + programs.PULSE_TICKS

# what ``draw`` needs to know about the gaps
_FIRST = const(0)  # the first ball's number + 1
_WEYL = const(1)
_MULTIPLY_1 = const(2)
_MULTIPLY_2 = const(3)
_WORD_MIN = const(4)
_RANGE_LOW = const(5)  # the lower 16 bits of what the words range over
_RANGE_HIGH = const(6)
_SEED = const(7)
_GAP_WORDS = const(8)


@micropython.asm_thumb
def draw(r0, r1, r2):
    """Write gaps.gap_ns for some balls: to the address r0, r1 words; r2: what ``plan`` knows.

    Viper code takes several times as long.
    """
    ldr(r3, [r2, 0])  #       the counter: the seed + (the ball's number + 1) * Weyl's increment
    ldr(r5, [r2, 4])
    mul(r3, r5)
    ldr(r5, [r2, 28])
    add(r3, r3, r5)
    label(NEXT)
    mov(r4, r3)  #            mix: bits of the counter
    lsr(r5, r4, 16)
    eor(r4, r5)
    ldr(r5, [r2, 8])
    mul(r4, r5)
    lsr(r5, r4, 15)
    eor(r4, r5)
    ldr(r5, [r2, 12])
    mul(r4, r5)
    lsr(r5, r4, 16)
    eor(r4, r5)
    lsr(r6, r4, 16)  #        the upper half of bits * range: of 16 times 16 bits each
    lsl(r4, r4, 16)
    lsr(r4, r4, 16)
    ldr(r5, [r2, 20])
    mov(r7, r4)
    mul(r7, r5)  #            low * low
    lsr(r7, r7, 16)
    mul(r5, r6)
    add(r7, r7, r5)  #        + high * low: fits into 32 bits
    ldr(r5, [r2, 24])
    mul(r6, r5)  #            high * high
    mul(r4, r5)  #            low * high
    lsr(r5, r7, 16)
    add(r6, r6, r5)
    lsl(r7, r7, 16)
    lsr(r7, r7, 16)
    add(r4, r4, r7)
    lsr(r4, r4, 16)
    add(r6, r6, r4)
    ldr(r5, [r2, 16])
    add(r6, r6, r5)
    str(r6, [r0, 0])
    add(r0, 4)
    ldr(r5, [r2, 4])
    add(r3, r3, r5)
    sub(r1, 1)
    bne(NEXT)


@micropython.native
def fill(words, at, begin, end, first, gap):  # noqa: PLR0913, PLR0917
    """Write a block at ``at``: the words of the balls from ``first`` on.

    Only words ``begin`` to ``end`` (not included) of the block are balls, the others become 0.
    """
    for n in range(begin):
        words[at + n] = 0
    for n in range(end, balls.BLOCK_WORDS):
        words[at + n] = 0
    gap[_FIRST] = first + begin + 1
    draw(addressof(words) + 4 * (at + begin), end - begin, gap)


class Server:
    """The ping, from ``start`` to ``stop``. The memory is taken once and for all."""

    def __init__(self):
        self.words = zeros(balls.WORDS)
        (self._list,) = aligned_words(BLOCKS)
        self._gap = zeros(_GAP_WORDS)
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
            serve.exec("out(isr, 32)")
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
        words_range = gap_max_ticks - gap_min_ticks
        self._gap[_RANGE_LOW] = words_range & 0xFFFF
        self._gap[_RANGE_HIGH] = words_range >> 16

    @micropython.native
    def grant(self, first, count, extra_ticks):
        """Let ``count`` balls from number ``first`` on be served; none of them in another block.

        Ball n's word is number n % BLOCK_WORDS of its block, so what is no ball costs time only
        before the first and after the last one. ``extra_ticks`` are added to the first gap. At most
        BLOCKS_MAX blocks may be granted and not freed.
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

    @micropython.native
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
