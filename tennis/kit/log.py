"""The logger ``tennis``: long work reports its progress there, a line of INFO for each step."""

import contextlib
import logging
from collections.abc import Callable, Iterator

Listener = Callable[[str], object]

log = logging.getLogger("tennis")
log.setLevel(logging.INFO)
log.addHandler(logging.NullHandler())


class _Lines(logging.Handler):
    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self.listener = listener

    def emit(self, record: logging.LogRecord) -> None:
        self.listener(record.getMessage())


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Give the lines of a block to this function alone; ``print`` is one."""
    before = log.handlers, log.propagate
    log.handlers, log.propagate = [_Lines(listener)], False
    try:
        yield
    finally:
        log.handlers, log.propagate = before
