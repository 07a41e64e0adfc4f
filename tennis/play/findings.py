# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a doctor says: one line each, with what to do about it."""

from dataclasses import dataclass
from typing import Literal

Mark = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's; ``bad`` means that a rally cannot be played there."""

    verdict: Mark
    what: str
    found: str
    advice: str = ""
