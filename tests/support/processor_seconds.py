# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What each test costs in processor seconds, its programs with it: also right on a busy machine."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support import terminal

KEY = "processor_s"
SHOWN = 30
LEAST_S = 10.0
FILE = "TENNIS_PROCESSOR_SECONDS"  # the environment's name of a file that gets all tests' seconds


def spent_s() -> float:
    """Return the processor seconds of this process and of the programs that it waited for."""
    return sum(os.times()[:4]) + terminal.spent_s()


class ProcessorSeconds:
    """Add each phase's processor seconds to its report; list the most expensive tests at the end.

    A program that outlives the phase that started it counts in the phase that waits for it.
    """

    def __init__(self) -> None:
        """Begin to count."""
        self.before_s = spent_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item):  # type: ignore[no-untyped-def]
        """Note what was spent since the last report."""
        del item
        report = yield
        now_s = spent_s()
        report.processor_s = now_s - self.before_s  # an attribute that xdist carries over
        self.before_s = now_s
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the tests that cost the most, and the sum of all."""
        spent: dict[str, float] = defaultdict(float)
        for reports in terminalreporter.stats.values():
            for report in reports:
                if hasattr(report, KEY):
                    spent[report.nodeid] += getattr(report, KEY)
        if not spent:
            return
        dear = sorted(spent.items(), key=lambda test: -test[1])
        terminalreporter.section(f"processor seconds: {sum(spent.values()):,.0f} in all")
        for nodeid, seconds in dear[:SHOWN]:
            if seconds >= LEAST_S:
                terminalreporter.line(f"{seconds:7.1f}  {nodeid}")
        if FILE in os.environ:
            lines = (f"{seconds:.2f}\t{nodeid}\n" for nodeid, seconds in dear)
            Path(os.environ[FILE]).write_text("".join(lines))
