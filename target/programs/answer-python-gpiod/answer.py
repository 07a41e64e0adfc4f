# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: GPL-2.0-only
"""Answers each ping in Python, with libgpiod's own module (version 2).

It finds both lines by the names that a Raspberry Pi gives them.
"""

import gc
import os
from pathlib import Path

import gpiod
from gpiod.line import Direction, Edge, Value

PING, REPLY = "GPIO17", "GPIO27"
PRIORITY = 50  # of SCHED_FIFO, as the kernel's threads of interrupts have


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
    gc.freeze()
    gc.disable()  # no collection between a ping and its answer
    lines = gpiod.request_lines(
        chip_with(PING),
        consumer="answer.py",
        config={
            PING: gpiod.LineSettings(direction=Direction.INPUT, edge_detection=Edge.RISING),
            REPLY: gpiod.LineSettings(direction=Direction.OUTPUT),
        },
    )
    print(f"waits for {PING}, answers on {REPLY}; gpiod {gpiod.__version__}", flush=True)
    while True:
        lines.read_edge_events(1)
        lines.set_value(REPLY, Value.ACTIVE)
        lines.set_value(REPLY, Value.INACTIVE)


main()
