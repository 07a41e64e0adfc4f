"""The search for the worst instant, on a made-up machine of which every instant is known."""

import numpy as np
import pytest

from tennis.explain.worst_instant import BOOTS, begin, drawn, search
from tennis.rally import instants as storage
from tennis.rally.agreement import apart
from tennis.rally.coverage import Played
from tennis.rally.instants import About, Instants
from tennis.report.instants_words import of_shots, sentences
from tests.support.synthetic import make_rally

SEEDS = range(1, 9)
STEP_NS = 2
ANSWER_NS = 100


class Machine:
    """Answers behind the time in which it keeps interrupts off, and counts."""

    def __init__(self, seed):
        draw = np.random.default_rng(seed)
        on_and_off = 2 * draw.integers(1, 90, (260, 2))
        # of each nanosecond, how long interrupts are still off
        off = [np.concatenate([np.zeros(on), np.arange(off, 0, -1)]) for on, off in on_and_off]
        self.latency = np.concatenate(off).astype(np.int64) + ANSWER_NS
        self.time = (5_000, 5_000 + self.latency.size, STEP_NS)
        self.boots, self.asked = [], set()

    @property
    def every(self):
        """Return the latency of each instant: of each instruction one."""
        return self.latency[::STEP_NS]

    def play(self, instants):
        assert list(instants) == sorted(set(instants))
        assert not self.asked & set(instants)
        self.boots.append(len(instants))
        self.asked |= set(instants)
        return [int(self.latency[at - self.time[0]]) for at in instants]


def searched(machine, shots, seed=1):
    played = begin(machine.time, shots, seed, machine.play)
    for now in search(played, shots, machine.play):
        played = now
    return played


def test_drawn_instants_are_one_in_each_part_with_both_ends():
    at = drawn(1000, 21_000, 2, 100, 7)
    assert at[0] == 1000
    assert at[-1] == 20_998
    assert len(at) in {101, 102}
    assert ((at - 1000) % 2 == 0).all()
    assert set((at - 1000) // 200) == set(range(100))
    assert drawn(1000, 21_000, 2, 100, 8).tolist() != at.tolist()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shots", [100, 400])
def test_what_is_said_of_instants_that_were_not_played_is_true(seed, shots):
    machine = Machine(seed)
    found = searched(machine, shots)
    true = int(machine.every.max())
    assert sum(machine.boots) == found.at.size <= shots
    assert len(machine.boots) <= BOOTS
    assert found.overtaken_ns == 0
    assert true <= (found.open_ns() or found.worst_ns)
    assert np.mean(machine.every > found.worst_ns) <= found.open_share()
    # for each played instant: all up to the next one
    may_be = found.may_be()
    at = (found.at - machine.time[0]) // STEP_NS
    for begins, ends, most in zip(at[:-1], at[1:], may_be.tolist(), strict=True):
        if ends > begins + 1:
            assert machine.every[begins + 1 : ends].max() <= most


@pytest.mark.parametrize("seed", SEEDS)
def test_with_enough_shots_the_worst_instant_is_found_and_nothing_is_open(seed):
    machine = Machine(seed)
    found = searched(machine, 2000)
    assert found.worst_ns == machine.every.max()
    assert (found.open_ns(), found.open_share()) == (None, 0)
    assert found.at.size < len(machine.every) / 5
    said = sentences(instants(found))
    assert "no other instant of this time is later" in said[-1]


def instants(found, until="rise"):
    about = About(
        until=until, drawn=found.drawn, low_ns=found.low_ns, high_ns=found.high_ns, step_ns=2
    )
    return Instants(about, np.stack([found.at, found.latency, found.latency + 100], axis=1))


def test_an_answer_that_overtook_another_counts_for_all():
    """The ping at 100 was answered at 1,100, that at 200 at 900: any may be 200 ns later."""
    at, latency = np.array([0, 100, 200, 300]), np.array([1000, 1000, 700, 600])
    found = Played(at, latency, 4, 0, 302, 2)
    assert found.overtaken_ns == 200
    assert found.may_be().tolist() == [1298, 998, 898]
    assert found.open_ns() == 1298
    # of the first part those before 300 ns behind its end; the others are closed
    assert found.open_share() == pytest.approx(98 / 302)
    assert "overtook that of an earlier ping by 200 ns" in sentences(instants(found))[-1]


def test_neighbours_that_are_an_instruction_apart_hide_nothing():
    found = Played(np.array([0, 2, 4]), np.array([100, 900, 100]), 3, 0, 6, 2)
    assert found.may_be().tolist() == [0, 0]
    assert found.open_ns() is None


def test_ends_that_were_not_drawn_are_played():
    machine = Machine(3)
    low, high, _ = machine.time
    at = np.arange(low + 400, high - 400, 2000)
    played = Played(at, np.array(machine.play(at.tolist())), at.size, *machine.time)
    assert played.ends_left().tolist() == [low, high - 2 - (high - low) % 2]
    (after,) = search(played, 1, machine.play)
    assert after.ends_left().size == 0


def test_the_share_that_is_later_is_the_rule_of_three():
    found = Played(np.array([0, 2]), np.array([5, 5]), 1000, 0, 4, 2)
    assert found.later_share == pytest.approx(3 / 1000, rel=0.01)


def test_what_was_played_is_kept_and_read_again(tmp_path):
    rally = make_rally(tmp_path / "r")
    machine = Machine(2)
    found = instants(searched(machine, 100), "fall")
    assert storage.read(rally) is None
    storage.write(rally, found)
    again = storage.read(rally)
    assert again.about == found.about
    assert again.rows.tolist() == found.rows.tolist()
    assert again.played().worst_ns == found.rows[:, 2].max()


def test_how_many_balls_meet_the_latest_shots(tmp_path):
    """Ten of a thousand: Clopper and Pearson have 0.480 % to 1.831 %."""
    rise = [1000] * 990 + [9501] * 9 + [10_000]
    rally = make_rally(tmp_path / "r", rise=rise, schedule=range(1, 1001))
    _, interrupt, scheduling = of_shots(rally)
    assert "Within 5 % of the latest interrupt latency (10.0 µs): 10 shots of 1,000" in interrupt
    assert "so 0.48 % to 1.8 % of the time (95 %)" in interrupt
    assert interrupt.endswith("a rally needs 163 to 622 balls at random instants.")
    assert "51 shots of 1,000" in scheduling
    assert len(of_shots(make_rally(tmp_path / "m", balls=9, misses=1))) == 1


SAID = "[    0.000000] Command line: {}\n[    1.000250] ready\n[    {}] a line\n"


@pytest.mark.parametrize(
    ("text", "rise", "said"),
    [
        (SAID.format("b", "1.700000"), [5, 6, 7], "Nothing tells the runs apart: 3 of 3 shots"),
        (SAID.format("b", "1.600000"), [5, 6, 7], "By their consoles the runs differ from 1.60 s"),
        (SAID.format("b", "1.700000"), [5, 6, 8], "By a shot the runs differ from"),
    ],
)
def test_from_when_on_two_runs_are_apart(tmp_path, text, rise, said):
    """A line that says a setting is no difference; one that came at another time is."""
    before = make_rally(
        tmp_path / "b", rise=[5, 6, 7], schedule=[9] * 3, console=SAID.format("a", "1.700000")
    )
    after = make_rally(tmp_path / "a", rise=rise, schedule=[9] * 3, console=text)
    found = apart(before, after)
    assert found.words.startswith(said)
    assert found.same == sum(one == other for one, other in zip(rise, [5, 6, 7], strict=True))
    first_ns, *_ = next(before.batches(["served_ns"]))["served_ns"].tolist()
    assert (found.first_ns, found.shots) == (first_ns, 3)
    none = "no instant is the same" in found.words
    assert none == bool(found.at_ns and found.at_ns <= first_ns)
    assert (found.at_ns == 1_600_000_000) == found.by_console
