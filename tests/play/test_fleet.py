"""A match on several benches: each rally is there once, whatever becomes of a bench.

The benches here are virtual ones in one process, as no test has several boards, and play SLOTH,
which boots in no time: who plays what, and what happens when one fails, is the same. What only
boards show is on the physical check-list.
"""

import threading
from functools import partial

import pytest

from tennis.bench.sloth.bench import SlothBench
from tennis.kit.errors import BenchError
from tennis.kit.log import listening
from tennis.match.fleet import FleetCrew, _FleetBench, _seen_by_fleet
from tennis.rally import open_rally, part_path
from tests.support.small_match import silent, small_match

# all on one worker: they share a match
pytestmark = pytest.mark.xdist_group("fleet")
virtual = pytest.mark.virtual
match = partial(small_match, "sloth")


class Board(SlothBench):
    """A bench that counts, and that fails on request."""

    def __init__(self, fails=lambda _: False, gate=None):
        super().__init__()
        self.played, self._fails, self._gate = [], fails, gate

    def start(self, plan, folder):
        self.played.append(folder.name.removesuffix(".part"))
        if self._gate is not None:
            self._gate.wait(timeout=300)
        if self._fails(len(self.played)):
            raise BenchError("its power is off")
        return super().start(plan, folder)


def crew(**boards):
    return FleetCrew(fleet(**boards))


def fleet(**boards):
    return [_FleetBench(name, board) for name, board in boards.items()]


def hashes(out):
    return {
        path.parent.name: open_rally(path.parent).manifest.files
        for path in out.glob("*/manifest.json")
    }


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    out = tmp_path_factory.mktemp("serial") / "m"
    match(4).play(out, silent, lambda: False)
    return hashes(out)


@virtual
def test_two_benches_share_a_match(tmp_path, serial):
    both = threading.Barrier(2)  # the first rally of each waits for the other's: both play at once
    first, second = Board(gate=both), Board(gate=both)
    outcome = match(4).play(tmp_path / "m", silent, lambda: False, crew(a=first, b=second))
    assert len(outcome.played) == 4
    assert outcome.bad == {}
    assert hashes(tmp_path / "m") == serial
    assert sorted(first.played + second.played) == sorted(serial)
    assert first.played
    assert second.played
    again = match(4).play(tmp_path / "m", silent, lambda: False, crew(a=first))
    assert len(again.kept) == 4


@virtual
def test_a_bench_that_fails_is_put_aside(tmp_path, serial):
    said = []
    bad, good = Board(fails=lambda _: True), Board()
    with listening(said.append):
        outcome = match(4).play(tmp_path / "m", silent, lambda: False, crew(a=bad, b=good))
    assert outcome.bad == {}
    assert hashes(tmp_path / "m") == serial
    assert len(bad.played) == 2
    assert [line for line in said if "a is put aside: 2 rallies in a row failed there" in line]
    assert [line for line in said if "its power is off (a); once more, elsewhere" in line]


@virtual
def test_what_a_bench_began_waits_for_that_bench(tmp_path):
    """A rally on a board goes on where it was begun, and nowhere else."""
    wanted, out = match(2), tmp_path / "m"
    out.mkdir()
    name = wanted.scheduled[0].name
    part_path(out / name).mkdir()
    begun = wanted.scheduled[0].plan.model_copy(update={"target": "a"})
    (part_path(out / name) / "plan.json").write_text(begun.text)
    seen = {
        planned.name: became.words
        for planned, became in _seen_by_fleet(
            fleet(b=Board()), wanted.scheduled, out, lambda: False
        )
    }
    assert "begun on a, which is not among the benches" in seen[name]
    assert seen[wanted.scheduled[1].name].startswith("played, 40 balls")
