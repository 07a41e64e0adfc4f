# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The known-delay generator: answers each ping after a delay that is known to the cycle.

It is what the instrument is verified with: ball i is answered after ``rise[i % pairs]`` ticks, for
``width[i % pairs]`` ticks, and whoever knows the seed knows them. It may run on the Pico that
measures, in a state machine of its own, or on a second one.
"""

# the assembler's names exist only while it runs; % as in the other files
# ruff: noqa: F821, D103, UP031
import gaps
import registers
import wires
from machine import Pin
from memory import aligned_words
from rp2 import DMA, PIO, StateMachine, asm_pio

MACHINE = 2  # of PIO 0; 0 and 1 are the server's
PAIRS_MAX = 512
RISE_MIN_TICKS = 2
WIDTH_MIN_TICKS = 2
# a rise at once needs an instruction more until its fall
WIDTH_MIN_AT_ONCE_TICKS = 3
# so many transfers may a DMA channel do: the upper bits mean something else on an RP2350
TRANSFERS = (1 << 28) - 1024


# From the cycle in which the ping's pad rises to that in which the answer's does: wait, the delay,
# set: rise; the same for the width. An edge on a wire comes at any moment of a cycle, so it passes
# the pad's synchroniser: SYNCHRONISER_TICKS more. Only inside of the chip that is bypassed: ping
# and generator have the same clock there.
@asm_pio(
    set_init=PIO.OUT_LOW,
    autopull=True,
    pull_thresh=32,
    out_shiftdir=PIO.SHIFT_RIGHT,
)
def answer():
    wrap_target()
    out(x, 32)  #                 0: 1 cycle: rise - 2
    out(y, 32)  #                 1: 1 cycle: width - 2, width - 3 after a rise at once
    jmp(x_dec, "later")  #        2: 1 cycle
    wait(1, pin, 0)  #            3: the ping's cycle
    set(pins, 1)  #               4: 1 cycle: rise of 2
    jmp("width")  #               5: 1 cycle
    label("later")
    wait(1, pin, 0)  #            6: the ping's cycle
    label("delay")
    jmp(x_dec, "delay")  #        7: rise - 2 cycles
    set(pins, 1)  #               8: 1 cycle
    label("width")
    jmp(y_dec, "width")  #        9: width - 1 cycles
    set(pins, 0)  #              10: 1 cycle
    wait(0, pin, 0)  #           11: until the ping ends
    wrap()


PARAMETERS = (
    "pairs",
    "seed",
    "rise_min_ticks",
    "rise_max_ticks",
    "width_min_ticks",
    "width_max_ticks",
)


def check(pairs, _seed, rise_min_ticks, rise_max_ticks, width_min_ticks, width_max_ticks):
    """Raise ValueError where there can be no such generator."""
    if not 0 < pairs <= PAIRS_MAX or pairs & (pairs - 1):
        raise ValueError("pairs is a power of two up to %d" % PAIRS_MAX)
    if not RISE_MIN_TICKS <= rise_min_ticks <= rise_max_ticks < 1 << 32:
        raise ValueError("a rise has %d ticks at least, and its maximum no less" % RISE_MIN_TICKS)
    shortest = WIDTH_MIN_AT_ONCE_TICKS if rise_min_ticks == RISE_MIN_TICKS else WIDTH_MIN_TICKS
    if not shortest <= width_min_ticks <= width_max_ticks < 1 << 32:
        raise ValueError("a width has %d ticks at least, and no more than its maximum" % shortest)


def delays(pairs, seed, rise_min_ticks, rise_max_ticks, width_min_ticks, width_max_ticks):  # noqa: PLR0913, PLR0917
    """Yield the (rise, width) of each pair, in ticks."""
    for pair in range(pairs):
        yield (
            gaps.gap_ns(seed, 2 * pair, rise_min_ticks, rise_max_ticks),
            gaps.gap_ns(seed, 2 * pair + 1, width_min_ticks, width_max_ticks),
        )


def words(pair):
    """Return the two words that the program takes for a (rise, width)."""
    rise, width = pair
    at_once = rise == RISE_MIN_TICKS
    return rise - RISE_MIN_TICKS, width - (WIDTH_MIN_AT_ONCE_TICKS if at_once else WIDTH_MIN_TICKS)


def table():
    """Return memory for the most pairs that there can be: taken once, while there is much."""
    (memory,) = aligned_words(2 * PAIRS_MAX)
    return memory


class Generator:
    """The generator at work, until ``stop``."""

    def __init__(self, listen, answer_pin, memory, given, bypass):
        """Answer pings on ``listen`` on ``answer_pin``; ``given`` as PARAMETERS, checked.

        ``bypass``: without the synchroniser of ``listen``.
        """
        self.listen = listen
        self.answer_pin = answer_pin
        for number, pair in enumerate(delays(*given)):
            memory[2 * number], memory[2 * number + 1] = words(pair)
        wires.make_input(listen)
        self._machine = StateMachine(MACHINE, answer, set_base=Pin(answer_pin), in_base=Pin(listen))
        registers.bypass_synchroniser(listen, bypass)
        self._dma = DMA()
        self._dma.config(
            read=memory,
            write=self._machine,
            count=TRANSFERS,
            ctrl=self._dma.pack_ctrl(
                inc_write=False,
                ring_sel=False,
                ring_size=_log2(8 * given[0]),
                treq_sel=registers.tx_request(MACHINE),
            ),
            trigger=True,
        )
        self._machine.active(1)

    def stop(self):
        """Stop answering and give everything back."""
        self._machine.active(0)
        registers.stop_dma(self._dma)
        registers.bypass_synchroniser(self.listen, False)
        PIO(0).remove_program(answer)
        # somebody else may answer on that wire next
        wires.make_input(self.answer_pin)


def _log2(size):
    return len(bin(size)) - 3
