# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Check that sigrok is installed: the umpire needs it."""

from collections.abc import Iterator

from tennis.bench.findings import Finding
from tennis.bench.instruments import sigrok
from tennis.play.doctor.host import looked, mild


def examine_analyser() -> Iterator[Finding]:
    """Yield what there is to say about sigrok."""
    yield mild(looked("sigrok-cli", sigrok.version))
