# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Count the tests that compare with nothing here: Debian has another kernel or QEMU by now.

Such a test sees no moved byte, so the run's last lines say how many there were, and why.
"""

from collections import Counter
from typing import NoReturn

import pytest

WORDS = "not comparable: "


def skip(reason: str) -> NoReturn:
    """Skip a test whose recorded digests are of other versions; ``reason`` says which."""
    pytest.skip(WORDS + reason.rpartition(WORDS)[2])


def reasons(reports: list[pytest.TestReport]) -> Counter[str]:
    """Return why skipped tests had nothing to compare with, and how many for each reason."""
    said = (report.longrepr for report in reports)
    words = (one[2].removeprefix("Skipped: ") for one in said if isinstance(one, tuple))
    return Counter(one.removeprefix(WORDS) for one in words if one.startswith(WORDS))


class NotComparable:
    """A plugin of pytest: its lines follow the list of processor seconds."""

    @staticmethod
    def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
        """Say it also with -q, where skips are a letter."""
        found = reasons(terminalreporter.stats.get("skipped", []))
        if found:
            terminalreporter.section(f"not comparable: {found.total()}; a moved byte is not seen")
        for reason, count in found.most_common():
            terminalreporter.write_line(f"{count:6}  {reason}")
