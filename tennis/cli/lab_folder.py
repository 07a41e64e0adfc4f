# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a command does besides where it plays in a student's folder of a lab."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tennis.cli.words import warn


@contextlib.contextmanager
def prediction_sealed(out: Path | None) -> Iterator[None]:
    """Seal the prediction of the lab in whose folder ``out`` is played; elsewhere do nothing."""
    if out is None or not (out.parent / "answers.toml").is_file():
        yield
        return
    from tennis.course.predictions import sealing

    with sealing(out, warn):
        yield
