# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The programs of the programmable I/O: what is exact to the cycle happens here.

Times are in ticks, cycles of the system clock; all machines run at full speed. A pin that a
program sets in cycle c has its new level from cycle c + 1 on; a program sees a pad's level
``SYNCHRONISER_TICKS`` later, because two flip-flops keep metastable levels out. Both wires pass
the same ones, so they cancel in every difference of two stamps.
"""

# the assembler's names exist only while it runs
# ruff: noqa: F821, D103
from rp2 import PIO, asm_pio

SYNCHRONISER_TICKS = 2

# --- stamp: a clock of two cycles a count, which pushes its count at every edge ---
# The machine counts down from 0xffffffff and never stops. Every way through it takes two cycles
# from one look at the pin to the next; the way past an edge counts nothing. So edge number k (from
# 0) with the count x was seen at cycle 2 * (0xffffffff - x + k) since the start, modulo 2^33. A
# second machine starts one cycle later: together they look every cycle.
STAMP_START = 3  # the instruction at which the first machine starts
STAMP_START_LATER = 8  # and the second


@asm_pio(
    autopush=True,
    push_thresh=32,
    in_shiftdir=PIO.SHIFT_LEFT,
    fifo_join=PIO.JOIN_RX,
)
def stamp():
    label("rose")  # an edge: 1 cycle here, 1 for the jump
    in_(x, 32)  #                 0: 1 cycle: autopush
    wrap_target()
    label("high")
    jmp(pin, "still_high")  #     1: 1 cycle: looks
    in_(x, 32)  #                 2: 1 cycle: fell
    label("low")
    jmp(pin, "rose")  #           3: 1 cycle: looks
    jmp(x_dec, "low")  #          4: 1 cycle
    jmp(pin, "rose")  #           5: 1 cycle: looks; here only when the count wrapped
    jmp(x_dec, "low")  #          6: 1 cycle: the count is 0xffffffff: jumps
    label("still_high")
    jmp(x_dec, "high")  #         7: 1 cycle: goes there also when the count wrapped
    wrap()
    jmp("low")  #                 8: 1 cycle: the second machine's late start


# --- serve_closed: a ball, then its answer, then a gap, then the next ball ---
# A word is a gap in cycles beyond SERVE_CLOSED_TICKS; 0 is no ball. ISR: the timeout in passes of
# TIMEOUT_PASS_TICKS.
#
# The stampers drop a pulse of one cycle, so it must not end the wait here: a level counts when two
# looks in a row saw it. An answer of three cycles is never missed. After one of two cycles the next
# ball may be late; it is never served while the stampers still wait for an answer.
#
# From the pad's fall to the next rise: 2 or 3 cycles until a look sees it (synchroniser, a look
# every second cycle), 2 looks, out, jmp, mov: 3, the gap's word + 1, set: 1.
SERVE_CLOSED_TICKS = SYNCHRONISER_TICKS + 7
# The other ways to the next ball, past the timeout, are built to take as long: from the rise of the
# ping to the next rise are timeout + word + SERVE_CLOSED_TICKS.
TIMEOUT_PASS_TICKS = 2


@asm_pio(
    set_init=PIO.OUT_LOW,
    autopull=True,
    pull_thresh=32,
    out_shiftdir=PIO.SHIFT_RIGHT,
)
def serve_closed():
    label("still_high")
    jmp(y_dec, "high")  #         0: 1 cycle: the program's start with y = 0: goes on to "next"
    wrap_target()
    label("next")
    out(x, 32)  #                 1: 1 cycle, or until there is a word
    jmp(not_x, "next")  #         2: 1 cycle
    mov(y, isr)  #                3: 1 cycle
    label("gap")
    jmp(x_dec, "gap")  #          4: word + 1 cycles
    set(pins, 1)  #               5: 1 cycle: served
    label("held")
    jmp(pin, "wait")  #           6: 1 cycle: the reply is up before it may be: until it falls
    label("low")
    jmp(pin, "rising")  #         7: 1 cycle: looks
    label("count")
    jmp(y_dec, "low")  #          8: 1 cycle
    jmp("next")  #                9: 1 cycle: timed out
    label("rising")
    jmp(pin, "still_high")  #    10: 1 cycle: looks again: rose
    jmp("count")  #              11: 1 cycle: a pulse of one cycle was nothing
    label("wait")
    jmp(y_dec, "held")  #        12: 1 cycle
    jmp("next")[1]  #            13: 2 cycles: timed out
    label("high")
    jmp(pin, "still_high")  #    14: 1 cycle: looks
    jmp(pin, "still_high")  #    15: 1 cycle: looks again
    wrap()  #                         fell


# --- serve_open: balls on a fixed grid, whether answered or not ---
# A word is a period in cycles beyond SERVE_OPEN_TICKS; 0 is no ball.
SERVE_OPEN_TICKS = 5


@asm_pio(set_init=PIO.OUT_LOW)
def serve_open():
    wrap_target()
    label("next")
    pull(block)  #                0: 1 cycle, or until there is a word
    mov(x, osr)  #                1: 1 cycle
    jmp(not_x, "next")  #         2: 1 cycle
    label("gap")
    jmp(x_dec, "gap")  #          3: word + 1 cycles
    set(pins, 1)  #               4: 1 cycle: served
    wrap()


# --- pulse: lowers the ping again ---
# Y: the pulse in cycles beyond PULSE_TICKS and the ping pad's synchroniser. The same pad is set by
# two machines: the last one to set it wins.
PULSE_TICKS = 4


@asm_pio(set_init=PIO.OUT_LOW)
def pulse():
    wrap_target()
    wait(1, pin, 0)  #            0: until a cycle sees the rise
    mov(x, y)  #                  1: 1 cycle
    label("up")
    jmp(x_dec, "up")  #           2: word + 1 cycles
    set(pins, 0)[3]  #            3: 4 cycles: the pad is seen low again
    wrap()


# after a pulse the pulse machine needs this long until it can see the next ping
PULSE_AGAIN_TICKS = SYNCHRONISER_TICKS + 6
