# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The Brickwall: balls a second of a Pico's own time, and what limits them.

The real firmware on an emulated Pico plays a closed loop against its own known-delay generator: the
reply rises 5 us after the ping and falls 5 us later. USB is held to full speed's 19 packets of
64 bytes a millisecond. Emulated time counts cycles, so the figures repeat and do not depend on
this machine.

MicroPython runs from flash, behind a cache of 16 kB. A miss takes 8 bytes over four lines of a
serial bus: with MicroPython's settings (half the clock; 8 cycles of address and mode, 4 to wait, 16
of data) 56 cycles, at clocks above 125 MHz from MicroPython 1.26 on 112 (a quarter). Each rate is
measured with both, with a faster and a slower flash, and with one that never misses.

Exits with 1 where the target is missed.
"""

import argparse
import struct
import sys
import time
from dataclasses import replace

from tennis import wire
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Play
from tennis.play.verify import jumpered_pico

TARGET_BALLS_A_S = 20_000
REPLY_NS = 5_000
# the last one asks for more than there can be
GAPS_NS = (39_000, 25_000, 2_000)
MISS_CYCLES = (56, 0, 30, 70, 112)
USB_BYTES_A_S = 19 * 64 * 1000
PLAY = Play(
    balls=0,
    seed=1,
    loop="closed",
    gap_min_ns=0,
    gap_max_ns=0,
    period_ns=0,
    pulse_ns=1_000,
    timeout_ns=1_000_000,
    settle_ns=1_000_000,
    give_up_ns=10_000_000_000,
)


def play(pico: Brickwall, gap_ns: int, balls: int) -> bool:
    """Play a rally, print what came of it, and say whether it was fast enough and whole."""
    began = time.perf_counter()
    tick_hz = pico.hello().tick_hz
    served = [0, 0]
    end, size = b"", 0
    for frame in pico.play(replace(PLAY, balls=balls, gap_min_ns=gap_ns, gap_max_ns=gap_ns)):
        if frame is None:
            continue
        kind, _, payload = frame
        size += wire.HEADER_SIZE + len(payload) + wire.CRC_SIZE
        if kind == wire.BALLS:
            first, last = payload[:8], payload[-wire.BALL_SIZE :][:8]
            served = [served[0] or int.from_bytes(first, "little"), int.from_bytes(last, "little")]
        elif kind == wire.END:
            end = payload
    reason, played, misses, strays, doubles, late, _ = struct.unpack(wire.END_FORMAT, end)
    seconds = (served[1] - served[0]) / tick_hz
    rate = (played - 1) / seconds
    asked = 1e9 / (2 * REPLY_NS + gap_ns)
    whole = (reason, played, misses + strays + doubles) == (0, balls, 0)
    print(
        f"gap {gap_ns / 1000:g} us: {rate:,.0f} balls a second of {asked:,.0f} asked for, "
        f"{late} late serves, {size / seconds / USB_BYTES_A_S:.0%} of the USB's bytes "
        f"(N = {played}, {seconds:.2f} s of the Pico's in {time.perf_counter() - began:.1f} s)"
        f"{'' if whole else ': NOT WHOLE'}"
    )
    return whole and rate >= min(asked * 0.999, TARGET_BALLS_A_S)


def measure(miss_cycles: int, balls: int) -> bool:
    """Measure with one flash; say whether the target was met."""
    print(f"a miss of the flash's cache takes {miss_cycles} cycles:")
    pico = jumpered_pico("--flash-miss", str(miss_cycles))
    try:
        reply_ticks = REPLY_NS * pico.hello().tick_hz // 1_000_000_000
        pico.command(
            "generate",
            pairs=1,
            seed=1,
            rise_min_ticks=reply_ticks,
            rise_max_ticks=reply_ticks,
            width_min_ticks=reply_ticks,
            width_max_ticks=reply_ticks,
            source="jumpers",
        )
        met = [play(pico, gap_ns, balls) for gap_ns in GAPS_NS]
        return met[0]
    finally:
        pico.close()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--balls", type=int, default=20_000, help="for each gap")
    balls = parser.parse_args().balls
    met = [measure(miss_cycles, balls) for miss_cycles in MISS_CYCLES]
    print(
        f"target: {TARGET_BALLS_A_S:,} balls a second, none lost, {MISS_CYCLES[0]} cycles a miss: "
        f"{'met' if met[0] else 'MISSED'}"
    )
    return int(not met[0])


if __name__ == "__main__":
    sys.exit(main())
