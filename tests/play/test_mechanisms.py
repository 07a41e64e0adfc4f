"""What made the latest balls of a match late: which are asked about, what is kept and shown.

Mocked: the explanation itself, which plays a rally again (tests/explain has real ones).
"""

from types import SimpleNamespace

import numpy as np
import pytest

from tennis.kit.errors import BenchError
from tennis.match.folder import MatchFolder, open_match
from tennis.replicate import finding_mechanisms as mechanisms
from tennis.replicate.verdicts import Replication
from tests.support.synthetic_match import MatchMaker, bursts

SAID = "The interrupt latency of ball 7 was 1 ms: interrupts were off <b>in grab</b>."


@pytest.fixture
def maker(tmp_path, monkeypatch):
    monkeypatch.setattr(MatchFolder, "bench", "virtual")
    made = MatchMaker(tmp_path / "match")
    late = bursts(6000)
    late[1234] = 70_000
    made.cell("mainline", "default", "idle", bursts(5000))
    made.cell("rt", "chrt", "idle", bursts(6000), boots=9)
    made.rally("rt", "chrt", "idle", late, np.full(3000, 900), repetition=10)
    made.sealed()
    return made


def asked_of(monkeypatch, fails=()):
    """Return the balls that are asked about, as they are asked."""
    asked = []

    def explain(rally, *, ball, about, kernel, watch):  # noqa: ARG001
        asked.append((rally.path.name, ball, about, kernel))
        if about in fails:
            raise BenchError("it does not repeat")
        return SimpleNamespace(story=SimpleNamespace(sentence=SAID))

    monkeypatch.setattr(mechanisms, "explain", explain)
    return asked


def find(path, kernels=()):
    return mechanisms.find_mechanisms(
        Replication(open_match(path)), dict(kernels), lambda: False, workers=2
    )


def test_the_latest_ball_of_all_boots_is_asked_about_once(maker, monkeypatch):
    asked = asked_of(monkeypatch)
    found = find(maker.path, {"rt": "../tree"})
    rt = [one for one in asked if one[0].startswith("rt-")]
    assert rt == [("rt-idle-chrt-tasklet-forced-r10", 1234, "interrupt", "../tree")]
    assert found.cells["rt/chrt/forced/idle/interrupt"].ns == 70_000
    assert len(asked) == len(found.cells) > 1
    before = len(asked)
    find(maker.path)
    assert len(asked) == before  # known already
