# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: GPL-2.0-only
"""Its mistake: Python's garbage collector is on. It keeps samples of each ball, which are objects.

Each few thousand new objects Python looks through the young ones for cycles, now and then through
all, and the next answer waits for it. Otherwise it is answer-python-gpiod.
"""

import os
from pathlib import Path

import gpiod
from gpiod.line import Direction, Edge, Value

PING, REPLY = "GPIO17", "GPIO27"
PRIORITY = 50  # of SCHED_FIFO, as the kernel's threads of interrupts have
SAMPLES = 200  # of a ball
BALLS = 500  # whose samples are kept


def chip_with(name: str) -> str:
    """Return the path of the chip that has a line of this name."""
    for path in sorted(Path("/dev").glob("gpiochip*")):
        with gpiod.Chip(str(path)) as chip:
            lines = range(chip.get_info().num_lines)
            if any(chip.get_line_info(offset).name == name for offset in lines):
                return str(path)
    raise SystemExit(f"{name}: there is no such line")


def main() -> None:
    """Answer until somebody ends it."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    lines = gpiod.request_lines(
        chip_with(PING),
        consumer="answer.py",
        config={
            PING: gpiod.LineSettings(direction=Direction.INPUT, edge_detection=Edge.RISING),
            REPLY: gpiod.LineSettings(direction=Direction.OUTPUT),
        },
    )
    print(f"waits for {PING}, answers on {REPLY}; gpiod {gpiod.__version__}", flush=True)
    kept: list[list[list[int]]] = [[] for _ in range(BALLS)]
    ball = 0
    while True:
        lines.read_edge_events(1)
        kept[ball % BALLS] = [[ball, sample] for sample in range(SAMPLES)]
        lines.set_value(REPLY, Value.ACTIVE)
        lines.set_value(REPLY, Value.INACTIVE)
        ball += 1


main()
