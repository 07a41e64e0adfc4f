"""Findings about a bench: one line each, with what to do about it."""

from dataclasses import dataclass
from typing import Literal

Mark = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's; ``bad`` means that no sound rally can be played there."""

    verdict: Mark
    what: str
    found: str
    advice: str = ""

    @property
    def words(self) -> str:
        """Return the finding in one line."""
        return f"{self.what}: {self.found}" + (f" -> {self.advice}" if self.advice else "")
