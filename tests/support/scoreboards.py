# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A scoreboard that runs, as a user starts it."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.patience import end_of
from tests.support.terminal import TENNIS


@contextlib.contextmanager
def running(place: Path, *words: str, port: int = 0) -> Iterator[str]:
    """Run ``tennis scoreboard`` (port 0: any that is free); yield the address that it prints."""
    with started(place, *words, port=port) as (address, process, _):
        yield address
        process.send_signal(signal.SIGINT)


@contextlib.contextmanager
def started(
    place: Path, *words: str, port: int = 0
) -> "Iterator[tuple[str, subprocess.Popen[str], Callable[[], list[str]]]]":
    """Yield address, process and what returns the lines of its stderr; the caller ends it."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [TENNIS, "scoreboard", str(place), "--port", str(port), *words],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

        def said() -> list[str]:
            size = os.fstat(errors.fileno()).st_size
            return os.pread(errors.fileno(), size, 0).decode().splitlines()

        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, (line, said())
            yield found[0], process, said
        except BaseException:
            process.kill()
            raise
        finally:
            end_of(process)
        assert "Traceback" not in "".join(said()), said()
        assert process.returncode == 0, (process.returncode, said())
