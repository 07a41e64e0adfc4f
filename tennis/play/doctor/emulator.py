# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Check that the emulated Pico runs: --instrument pico and `tennis brickwall verify` need it."""

import importlib.util
from collections.abc import Iterator

from tennis.bench.findings import Finding
from tennis.bench.instruments import emulated
from tennis.play.doctor.host import looked, mild


def examine_emulator() -> Iterator[Finding]:
    """Yield what there is to say about the emulated Pico; nothing if its extra is not installed."""
    if importlib.util.find_spec("littlefs"):
        yield mild(looked("emulated Pico", emulated.check))
