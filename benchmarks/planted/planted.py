"""Answers each ping late, as it logs before it answers; times itself as planted.c does.

usage: planted.py CAUSE
"""

import fcntl
import io
import logging
import os
import struct
import sys
import threading
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


def note_one(number: int) -> None:
    """Log one line."""
    logging.warning("ball %d: %s", number, "x" * 2000)


def count(number: int) -> int:
    """Compute for some time."""
    total = 0
    for one in range(900):
        total += one ^ number
    return total


def slow_pipe() -> io.TextIOWrapper:
    """Return a pipe of one page, which a child empties slowly."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    if not os.fork():
        while True:
            time.sleep(0.006)
            os.read(ends[0], 4096)
    return os.fdopen(ends[1], "w")


def keep(handler: logging.Handler) -> None:
    """Have a handler's lock nearly always, as a second thread does that logs into a slow place."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    while True:
        with handler.lock:
            time.sleep(0.0005)
        time.sleep(0.0001)


def main() -> None:
    """Answer until somebody ends it."""
    cause = sys.argv[1]
    before_answer = {"logging": note, "python-code": count}.get(cause, note_one)
    handler = logging.StreamHandler(slow_pipe() if cause == "logging-pipe" else io.StringIO())
    logging.basicConfig(handlers=[handler])
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    if cause == "logging-lock":
        threading.Thread(target=keep, args=(handler,)).start()
    reply, ping = take(1, OUTPUT), take(0, INPUT | EDGE_RISING)
    up, down = struct.pack("<QQ", 1, 1), struct.pack("<QQ", 0, 1)
    latest = number = 0
    while True:
        began = struct.unpack_from("<Q", os.read(ping, EVENT))[0]
        ran = time.monotonic_ns()
        before_answer(number)
        answered = time.monotonic_ns()
        fcntl.ioctl(reply, SET_VALUES, up)
        fcntl.ioctl(reply, SET_VALUES, down)
        number += 1
        if answered - began > latest:
            latest = answered - began
            print(f"ran {ran - began} took {answered - ran}", flush=True)


main()
