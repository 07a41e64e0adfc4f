# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A scoreboard that runs, as a user starts it."""

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support.patience import end_of
from tests.support.terminal import TENNIS


@contextlib.contextmanager
def running(place: Path, *words: str, port: int = 0) -> Iterator[str]:
    """Run ``tennis scoreboard`` (port 0: any that is free); yield the address that it prints."""
    process = subprocess.Popen(
        [TENNIS, "scoreboard", str(place), "--port", str(port), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.communicate()[1]
        yield found[0]
        assert process.poll() is None, process.communicate()
    finally:
        process.send_signal(signal.SIGINT)
        _, said = end_of(process)
    assert "Traceback" not in said, said
    assert process.returncode in {0, 130}, (process.returncode, said)
