# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""`tennis explain`, asked for by a page: one at a time, and ended with the server."""

import re
import signal
import time
from pathlib import Path

import pytest

from tennis.scoreboard.explaining import Explaining
from tests.support.synthetic import make_rally


@pytest.fixture
def explaining():
    made = Explaining()
    yield made
    made.close()


def ended(explaining, asked):
    while (answer := explaining.answer_to(asked)).state == "running":
        time.sleep(0.1)
    return answer


def test_one_at_a_time_and_a_failure_is_a_line(explaining, tmp_path):
    """These rallies are made up: they cannot be played again, and that is said."""
    first, second = ((make_rally(tmp_path / n, balls=50).path, "seal", 7) for n in ("-a", "b"))
    assert explaining.answer_to(first) is None
    assert explaining.ask(first).state == "running"
    assert explaining.ask(first).state == "running"  # somebody else asks the same
    refused = explaining.ask(second)
    assert (refused.state, refused.text) == (
        "refused",
        "Ball 7 of -a is being explained: ask again then.",
    )
    answer = ended(explaining, first)
    assert answer.state == "failed"
    assert answer.text.startswith("tennis: ")
    assert "-a" in answer.text
    assert "\n" not in answer.text
    assert explaining.ask(second).state == "running"
    assert explaining.answer_to(first) == answer
    assert ended(explaining, second).state == "failed"
    assert explaining.ask(second).state == "running"  # what failed may be tried again


def test_the_server_ends_what_runs(tmp_path):
    explaining = Explaining()
    explaining.ask((make_rally(tmp_path / "a", balls=50).path, "seal", 7))
    process = explaining._run.process
    caught = 1 << (signal.SIGTERM - 1)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        if int(re.search(r"SigCgt:\s+(\w+)", status)[1], 16) & caught:
            break
    assert process.poll() is None
    explaining.close()
    # as at Ctrl-C: a process that SIGTERM itself ends leaves its QEMU behind
    assert process.returncode not in {None, -signal.SIGTERM, -signal.SIGKILL}
    explaining.close()
