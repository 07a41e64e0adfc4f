# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Answers each ping late, as it logs before it answers; times itself as planted.c does."""

import fcntl
import io
import logging
import os
import struct
import time

TAKE_LINE, SET_VALUES = 0xC250B407, 0xC010B40F  # linux/gpio.h
INPUT, OUTPUT, EDGE_RISING = 1 << 2, 1 << 3, 1 << 4
EVENT = 48  # bytes; the first eight are the kernel's time of the ping


def take(offset: int, flags: int) -> int:
    """Take a line of the bench by its number."""
    chip = os.open("/dev/gpiochip0", os.O_RDWR)
    request = bytearray(592)
    struct.pack_into("<I", request, 0, offset)
    struct.pack_into("<Q", request, 288, flags)
    struct.pack_into("<I", request, 560, 1)
    fcntl.ioctl(chip, TAKE_LINE, request)
    return int(struct.unpack_from("<i", request, 588)[0])


def note(number: int) -> None:
    """Log some lines, into memory."""
    for line in range(20):
        logging.warning("ball %d, line %d", number, line)


def main() -> None:
    """Answer until somebody ends it."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    logging.basicConfig(stream=io.StringIO())
    reply, ping = take(1, OUTPUT), take(0, INPUT | EDGE_RISING)
    up, down = struct.pack("<QQ", 1, 1), struct.pack("<QQ", 0, 1)
    latest = number = 0
    while True:
        began = struct.unpack_from("<Q", os.read(ping, EVENT))[0]
        ran = time.monotonic_ns()
        note(number)
        answered = time.monotonic_ns()
        fcntl.ioctl(reply, SET_VALUES, up)
        fcntl.ioctl(reply, SET_VALUES, down)
        number += 1
        if answered - began > latest:
            latest = answered - began
            print(f"ran {ran - began} took {answered - ran}", flush=True)


main()
