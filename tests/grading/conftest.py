"""What several tests of the course need."""

import pytest

from tennis.grading import judged as grading
from tests.support.made_up_class import judge


@pytest.fixture
def quick_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark without checks: hand-ins are unpacked and read, points are made up."""
    monkeypatch.setattr(grading, "_judged", judge)
