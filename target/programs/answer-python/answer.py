# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: GPL-2.0-only
"""Answers each ping in Python, through the kernel's GPIO character device, version 2.

The numbers are those of linux/gpio.h. It has what Debian's python3-minimal has, and finds both
lines by the names that a Raspberry Pi gives them.
"""

import fcntl
import gc
import os
import struct
import sys

PING, REPLY = "GPIO17", "GPIO27"
PRIORITY = 50  # of SCHED_FIFO, as the kernel's threads of interrupts have

# linux/gpio.h: the requests of version 2, and the flags of a line
CHIP_INFO = 0x8044B401
LINE_INFO = 0xC100B405
TAKE_LINE = 0xC250B407
SET_VALUES = 0xC010B40F
INPUT, OUTPUT, EDGE_RISING = 1 << 2, 1 << 3, 1 << 4
CHIP, LINE, REQUEST, EVENT = 68, 256, 592, 48  # bytes of each structure


def offset_of(chip: int, name: str) -> int | None:
    """Return where a line is on a chip; None: it has none of that name."""
    about = fcntl.ioctl(chip, CHIP_INFO, bytes(CHIP))
    for offset in range(struct.unpack_from("<I", about, 64)[0]):
        # struct gpio_v2_line_info: name[32], consumer[32], offset
        asked = bytearray(LINE)
        struct.pack_into("<I", asked, 64, offset)
        fcntl.ioctl(chip, LINE_INFO, asked)
        if asked[:32].rstrip(b"\0").decode() == name:
            return offset
    return None


def take(name: str, flags: int) -> int:
    """Take a line by its name, on whichever chip it is, and return its file descriptor."""
    for device in range(16):
        try:
            chip = os.open(f"/dev/gpiochip{device}", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        offset = offset_of(chip, name)
        if offset is not None:
            # struct gpio_v2_line_request: offsets[64], consumer[32], config (flags first), ...
            request = bytearray(REQUEST)
            struct.pack_into("<I", request, 0, offset)
            struct.pack_into("<32s", request, 256, b"answer.py")
            struct.pack_into("<Q", request, 288, flags)
            struct.pack_into("<I", request, 560, 1)  # a single line
            fcntl.ioctl(chip, TAKE_LINE, request)
            return int(struct.unpack_from("<i", request, 588)[0])
        os.close(chip)
    sys.exit(f"{name}: there is no such line")


def main() -> None:
    """Answer until somebody ends it."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    gc.freeze()
    gc.disable()  # no collection between a ping and its answer
    reply = take(REPLY, OUTPUT)
    ping = take(PING, INPUT | EDGE_RISING)
    print(f"waits for {PING}, answers on {REPLY}; Python {sys.version.split()[0]}", flush=True)
    # struct gpio_v2_line_values: bits, mask
    up, down = struct.pack("<QQ", 1, 1), struct.pack("<QQ", 0, 1)
    while True:
        os.read(ping, EVENT)
        fcntl.ioctl(reply, SET_VALUES, up)
        fcntl.ioctl(reply, SET_VALUES, down)


main()
