"""Statistics against numpy's and scipy's, and intervals against simulation."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from tennis.rally import Tally
from tennis.rally.manifest import Fault
from tennis.rally.statistics import quantile_ranks, summarize
from tennis.rally.statistics.balls import edges_ns, latencies_ns
from tennis.rally.statistics.intervals import exceedance_bound_95, quantile_rank
from tennis.rally.statistics.summary import QUANTILES, STATISTICS, latency
from tests.support.synthetic import make_rally, saying
from tests.support.ticks import interrupt_ticks, scheduling_ticks

GHZ = 1_000_000_000


@given(st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**32 - 1)), min_size=1))
def test_against_numpy(ticks):
    values = np.array(ticks, np.int64)
    found = latency(Tally.of(values), GHZ)
    assert found.n == values.size
    assert found.min == values.min()
    assert found.max == values.max()
    assert found.jitter == values.max() - values.min()
    for name, p in QUANTILES.items():
        expected = np.sort(values)[quantile_rank(values.size, p) - 1]
        assert getattr(found, name) == expected
        assert getattr(found, name) in ticks
        # numpy multiplies floats: the same but for the rounding of n * p
        near = np.quantile(values, [float(p), float(p) - 1e-12], method="inverted_cdf")
        assert expected in near
    assert found.qd == found.q3 - found.q1
    assert found.mean == pytest.approx(float(values.mean()), rel=1e-12)
    if values.size > 1:
        exact = np.array(ticks, object)
        squares = sum((len(ticks) * x - sum(ticks)) ** 2 for x in exact)
        variance = Fraction(squares, len(ticks) ** 2 * (len(ticks) - 1))
        assert found.sd == pytest.approx(float(variance) ** 0.5, rel=1e-12)
    else:
        assert found.sd is None


@given(st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**32 - 1))), st.integers(1, 40))
def test_missed_balls_are_later_than_all_others(ticks, missed):
    every = np.sort(np.array([*ticks, *[np.inf] * missed]))
    answers = Tally.of(np.array(ticks, np.int64))
    found = latency(Tally(answers.values, answers.counts, missed), GHZ, later_than_ns=10**9)
    assert (found.n, found.missed) == (len(ticks), missed)
    assert (found.ns("min"), found.ns("max")) == (every[0], np.inf)
    for name, p in QUANTILES.items():
        assert found.ns(name) == every[quantile_rank(every.size, p) - 1]
        ranks = quantile_ranks(every.size, p)
        ends = None if ranks is None else tuple(every[rank - 1] for rank in ranks)
        given_ends = found.ci[name] and tuple(np.inf if e is None else e for e in found.ci[name])
        assert given_ends == ends
        assert (found.said(name) == "> 1.00 s") == (found.ns(name) == np.inf)
    assert found.mean is found.sd is found.jitter is found.exceedance_bound_95 is None
    assert found.said("mean") == "unknown"


def test_an_open_loop_does_not_hide_what_it_missed(tmp_path):
    # 240 of 6,000 balls: one answer in 25 did not come within its period
    rise = np.full(6000, 1200)
    rise[::60] = 7470
    rally = make_rally(tmp_path / "open", rise=rise, schedule=rise, misses=240, rate_hz=1000.0)
    found = summarize(rally)
    interrupt, scheduling = found.interrupt_ns, found.scheduling_ns
    assert (interrupt.median, interrupt.p99, interrupt.p999, interrupt.max) == (1200, *[None] * 3)
    assert interrupt.latest == 7470
    assert (interrupt.said("p99"), interrupt.said("max")) == ("> 1.00 ms", "> 1.00 ms")
    assert interrupt.said_interval("p99") == "> 1.00 ms"
    # their replies did not rise: how long after that they fell nobody knows
    assert (scheduling.said("p99"), scheduling.later_than_ns) == ("missed", None)
    said = " ".join(found.claims())
    assert "240 of 6000 balls had no answer in time (1.00 ms, one period)" in said
    assert "after a missed one" in said
    assert "assume that balls are independent" in said


def test_one_end_of_an_interval_among_the_missed():
    found = latency(
        Tally(np.array([1200, 7470]), np.array([950, 35]), missed=15), GHZ, later_than_ns=999_998
    )
    assert found.ci["p99"] == (7470, None)
    assert found.said_interval("p99") == "7.47 µs .. > 1.00 ms"
    assert found.said_interval("median", "to") == "1.20 to 1.20 µs"


def test_how_long_a_missed_ball_was_waited_for(tmp_path):
    made = {
        "closed": {"timeout_ns": 100_000_000},
        "open": {"rate_hz": 3000.0},
        "impatient": {"rate_hz": 1000.0, "timeout_ns": 50_000},
        "pico": {"rate_hz": 3000.0, "tick_hz": 125_000_000},
    }
    found = {
        name: make_rally(tmp_path / name, balls=9, misses=1, **about).manifest.given_up_ns
        for name, about in made.items()
    }
    # a few ticks less: an instrument may see its own next ping a tick early, and rounds down
    assert found == {"closed": 99_999_996, "open": 333_329, "impatient": 49_996, "pico": 333_296}
    late = make_rally(tmp_path / "late", balls=9, misses=1, rate_hz=1000.0)
    # the ball after a late one comes sooner than a period
    assert saying(late, counts={"late_serves": 1}).manifest.given_up_ns is None


def test_a_reply_that_rose_and_did_not_fall(tmp_path):
    rise, width = np.array([1000, 3000, 2000]), np.array([5000, 5000, 5000])
    rally = make_rally(tmp_path / "a", rise=rise, schedule=width, rate_hz=1000.0)
    # as a reader has it whose second ball rose only
    fell = Tally(np.array([5000]), np.array([2]), missed=1)
    found = summarize(replace(saying(rally, counts={"misses": 1}), scheduling=fell))
    assert (found.interrupt_ns.max, found.interrupt_ns.missed) == (3000, 0)
    assert found.scheduling_ns.missed == 1
    # a period, less the time until the latest rise
    assert found.scheduling_ns.later_than_ns == 999_996 - 3000


def test_each_ball_is_in_nanoseconds_whatever_the_clock(tmp_path):
    """A miss is later than all others, and has no edge."""
    rise, width = np.array([10, 20, 30]), np.array([5, 6, 7])
    rally = make_rally(tmp_path / "a", rise=rise, schedule=width, misses=1, tick_hz=125_000_000)
    assert latencies_ns(rally, "interrupt").tolist() == [np.inf, 160, 240]
    assert latencies_ns(rally, "scheduling").tolist() == [np.inf, 48, 56]
    _, up, down = edges_ns(rally)
    assert (up[1:].tolist(), down[1:].tolist()) == ([160, 240], [208, 296])
    assert np.isnan([up[0], down[0]]).all()


def test_sums_stay_exact_where_int64_would_overflow():
    counts = np.array([2**31, 2**31 - 1], np.int64)
    found = latency(Tally(np.array([0, 2**32 - 1]), counts), GHZ)
    n, top = 2**32 - 1, 2**32 - 1
    total = top * (2**31 - 1)
    assert found.mean == total / n
    exact = Fraction(top * total * n - total * total, n * (n - 1))
    assert found.sd == pytest.approx(float(exact) ** 0.5, rel=1e-15)


def test_no_ball_one_ball_and_ties():
    none = latency(Tally.of(np.zeros(0, np.uint32)), GHZ)
    assert none.n == 0
    assert all(getattr(none, name) is None for name in STATISTICS)
    assert none.exceedance_bound_95 is None
    assert set(none.ci.values()) == {None}
    one = latency(Tally.of(np.array([7])), GHZ)
    assert (one.min, one.median, one.max, one.jitter, one.sd) == (7, 7, 7, 0, None)
    assert set(one.ci.values()) == {None}
    ties = latency(Tally.of(np.full(100, 7)), GHZ)
    assert (ties.q1, ties.q3, ties.sd, ties.qd) == (7, 7, 0.0, 0)
    assert ties.ci["median"] == (7, 7)
    assert ties.ci["p99"] is None
    # and ticks become nanoseconds
    some = latency(Tally.of(np.array([1, 2, 3, 4])), 125_000_000)
    assert (some.min, some.median, some.max, some.mean) == (8, 16, 32, 20.0)
    assert some.sd == pytest.approx(8 * np.std([1, 2, 3, 4], ddof=1))


@pytest.mark.parametrize("n", [1, 5, 6, 7, 20, 100, 371, 5_000, 10_000_000])
@pytest.mark.parametrize("p", list(QUANTILES.values()))
def test_intervals_are_the_narrowest_that_hold(n, p):
    binomial = reference.binom(n, float(p))
    ranks = quantile_ranks(n, p)
    if ranks is None:
        # either end would have to lie beyond the observations
        assert binomial.cdf(0) > 0.025 or binomial.sf(n - 1) > 0.025
        return
    low, high = ranks
    assert 1 <= low <= quantile_rank(n, p) <= high <= n
    assert binomial.cdf(low - 1) <= 0.025 < binomial.cdf(low) + 1e-12
    assert binomial.sf(high - 1) <= 0.025 + 1e-12
    assert binomial.sf(high - 2) > 0.025


@pytest.mark.parametrize("discrete", [False, True])
def test_intervals_enclose_as_often_as_they_say(discrete):
    random = np.random.default_rng(7)
    n, rounds = 400, 4_000
    draws = random.exponential(1000, (rounds, n))
    if discrete:
        draws = np.floor(draws / 200)
    draws.sort(axis=1)
    for p in (Fraction(1, 4), Fraction(1, 2), Fraction(99, 100)):
        truth = -1000 * np.log(1 - float(p))
        if discrete:
            truth = np.floor(truth / 200)
        ranks = quantile_ranks(n, p)
        if ranks is None:
            continue
        inside = (draws[:, ranks[0] - 1] <= truth) & (truth <= draws[:, ranks[1] - 1])
        assert inside.mean() > 0.94


def test_rule_of_three():
    assert exceedance_bound_95(0) is None
    assert exceedance_bound_95(2) == 1.0
    assert exceedance_bound_95(3_000) == 0.001
    # the exact bound is a little below
    assert 1 - 0.05 ** (1 / 3_000) < 0.001


def test_summary_of_a_rally(tmp_path):
    rally = make_rally(tmp_path / "a", balls=1_000, misses=4, strays=2, doubles=1)
    found = json.loads(json.dumps(summarize(rally).as_json()))
    assert found["balls"] == 1_000
    assert (found["misses"], found["strays"], found["doubles"]) == (4, 2, 1)
    assert found["suspect"] is False
    for key, ticks in (
        ("interrupt_ns", interrupt_ticks(rally)),
        ("scheduling_ns", scheduling_ticks(rally)),
    ):
        assert found[key]["n"] == 996
        assert set(STATISTICS) <= set(found[key])
        assert found[key]["latest"] == max(ticks)
        assert found[key]["missed"] == 4
        assert found[key]["max"] is None
        assert found[key]["among_missed"] == ["p999", "max", "mean", "sd", "jitter"]
        # a miss is later than any maximum: no bound
        assert found[key]["exceedance_bound_95"] is None
        assert list(found[key]["ci"]) == ["q1", "median", "q3", "p99", "p999"]
        low, high = found[key]["ci"]["median"]
        assert low <= found[key]["median"] <= high
    said = " ".join(summarize(rally).claims())
    assert "4 of 1000 balls had no answer in time (100 ms, the timeout)" in said
    assert "3/N" not in said
    assert "synthetic data" in said


def test_a_rally_without_misses_states_its_bound(tmp_path):
    found = summarize(make_rally(tmp_path / "a", balls=1_000, misses=0))
    assert found.interrupt_ns.exceedance_bound_95 == 3 / 1_000
    assert (
        "With N = 1000 answers and none later than the maximum: at 95 % confidence fewer than "
        "3/N = 0.3 % of all answers are later (if balls are independent)." in found.claims()
    )


@pytest.mark.parametrize(("balls", "said"), [(1, False), (29, False), (30, True)])
def test_few_balls_bound_nothing(tmp_path, balls, said):
    found = summarize(make_rally(tmp_path / "a", balls=balls))
    assert ("3/N" in " ".join(found.claims())) == said


def test_unfinished_and_suspect_rallies_say_so_and_make_no_claim(tmp_path):
    fault = Fault(code="guest_panic", message="the kernel panicked")
    broken = summarize(make_rally(tmp_path / "b", balls=50, planned=90, faults=[fault]))
    assert "Ended by a fault: 50 of 90 planned balls." in broken.claims()
    assert broken.suspect
    assert broken.interrupt_ns.exceedance_bound_95 is None
    said = " ".join(broken.claims())
    assert "no worst-case claim may be made" in said
    assert "guest_panic" in said
    assert "3/N" not in said
    assert not summarize(make_rally(tmp_path / "c", balls=5)).unfinished


def test_every_ball_missed(tmp_path):
    found = summarize(make_rally(tmp_path / "a", balls=5, misses=5))
    assert found.interrupt_ns.n == 0
    assert found.interrupt_ns.said("min") == found.interrupt_ns.said("max") == "> 100 ms"
    assert "no latency" in " ".join(found.claims())
