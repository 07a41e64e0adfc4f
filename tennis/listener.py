# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What goes on during long work: one line at a time, to whoever listens."""

import contextlib
from collections.abc import Callable, Iterator

Listener = Callable[[str], object]

_listeners: list[Listener] = []


def say(line: str) -> None:
    """Tell the newest listener; nothing happens where nobody listens."""
    if _listeners:
        _listeners[-1](line)


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear what is said inside the block; ``print`` is one."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
