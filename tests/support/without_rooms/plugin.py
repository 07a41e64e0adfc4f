# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Leave out the tests that need a room, and say how many: for scripts/core-tests.sh."""

from collections import Counter
from collections.abc import Generator

import pytest

# what Python says of a room that is not there, and what a command says of it
WORDS = ("is a room's", "needs a part of Tennis that is not here")
left_out: Counter[str] = Counter()


def _needs_a_room(report: pytest.CollectReport | pytest.TestReport) -> bool:
    said = [report.longreprtext, *(text for _, text in report.sections)]
    return report.failed and any(words in text for text in said for words in WORDS)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if _needs_a_room(report):
        report.outcome, report.longrepr, report.result = "passed", None, []
        left_out[collector.nodeid] = 0
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if _needs_a_room(report):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, "needs a room")
        left_out[item.nodeid.partition("::")[0]] += 1
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("left out: they need a room")
    for file, tests in sorted(left_out.items()):
        terminalreporter.line(f"{file}: {tests or 'all'}")
