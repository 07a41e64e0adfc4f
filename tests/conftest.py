# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What all tests share."""

import os
import signal
from collections.abc import Iterator

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what boots kernels last, so that quick failures come quickly; the longest of it first."""

    def turn(item: pytest.Item) -> int:
        marks = [item.get_closest_marker(name) for name in ("provision", "virtual")]
        return 1 if marks[0] else 2 if marks[1] else 0

    items.sort(key=turn)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run where xdist would not keep together what shares a machine."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        for item in session.items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                pytest.exit("this pytest and this pytest-xdist know no groups together", 3)


@pytest.fixture
def in_time() -> Iterator[None]:
    """Let a test fail that waits for ever."""

    def late(*_: object) -> None:
        pytest.fail("this waited for half a minute, and would have gone on")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
