"""Balls from frames to a table, and the counting of ticks."""

import struct
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tennis.kit import wire
from tennis.kit.errors import RallyError
from tennis.kit.units import ticks_to_ns
from tennis.rally import balls, rows, tally
from tennis.rally.columns import Column, Table
from tennis.rally.tally import Counter, Tally
from tennis.rally.text import plain
from tests.support.tables import arrow_of

NONE = wire.NONE_TICKS


def payload(*records):
    return b"".join(struct.pack(wire.BALL, *record) for record in records)


def table_from_frames(payloads, tick_hz):
    return arrow_of(balls.batches_from_frames(payloads, tick_hz), tick_hz)


def test_frames_become_columns():
    found = table_from_frames(
        [payload((100, 5, 9), (200, NONE, NONE)), payload((300, 7, NONE))], 125_000_000
    )
    assert found.to_pydict() == {
        "ball": [0, 1, 2],
        "served_ns": [800, 1600, 2400],
        "rise_ticks": [5, None, 7],
        "fall_ticks": [9, None, None],
    }
    assert found.schema.metadata == {b"tick_hz": b"125000000"}
    assert table_from_frames([], 10**9).num_rows == 0
    assert list(balls.batches_from_frames([b""], 10**9)) == []


def test_many_frames_come_in_batches():
    each = balls.BATCH_ROWS * 2 // 5
    frames = (payload((i, 1, 2)) * each for i in range(9))
    found = list(balls.batches_from_frames(frames, 10**9))
    assert [len(batch) for batch in found] == [3 * each] * 3
    assert [batch["ball"].values[0] for batch in found] == [0, 3 * each, 6 * each]


@pytest.mark.parametrize(
    ("frame", "word"),
    [
        (b"x" * 17, "whole number"),
        (payload((0, 9, 5)), "before it rose"),
        (payload((2**63, 1, 2)), "clock"),
    ],
)
def test_frames_that_cannot_be(frame, word):
    with pytest.raises(RallyError, match=word):
        table_from_frames([frame], 18_432_000)


def test_served_does_not_overflow_within_a_day():
    hz = 18_432_000
    served = hz * 86_400
    found = table_from_frames([payload((served, 1, 2))], hz)
    assert found["served_ns"][0].as_py() == 86_400 * 10**9 == ticks_to_ns(served, hz)


ticks = st.lists(
    st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1), st.integers(16_380, 16_390))
)


@given(st.lists(ticks, max_size=6), st.lists(ticks, max_size=6))
def test_counting_in_parts_is_counting(first, second):
    counters = Counter(), Counter()
    for counter, batches in zip(counters, (first, second), strict=True):
        for batch in batches:
            counter.add(np.array(batch, np.uint32))
    counters[0].merge([counters[1]])
    found = counters[0].tally()
    every = np.array([tick for batch in (*first, *second) for tick in batch], np.int64)
    values, counts = np.unique(every, return_counts=True)
    assert found.values.tolist() == values.tolist()
    assert found.counts.tolist() == counts.tolist()
    assert found.n == every.size


def test_what_several_rallies_missed_adds_up():
    some, others = replace(Tally.of(np.array([3, 5, 5])), missed=2), Tally.of(np.array([5]))
    nothing = replace(Tally.of(np.zeros(0, np.int64)), missed=4)
    joined = Tally.joined([some, nothing, others])
    assert (joined.values.tolist(), joined.counts.tolist()) == ([3, 5], [1, 3])
    assert (joined.missed, joined.balls) == (6, 10)
    assert Tally.joined([nothing, nothing]).balls == 8


def test_counting_settles(monkeypatch):
    monkeypatch.setattr(tally, "TAIL_SIZE", 100)
    monkeypatch.setattr(tally, "AT_ONCE", 128)
    random = np.random.default_rng(1)
    counter, every = Counter(), []
    for _ in range(60):
        batch = random.integers(0, 2**22, 300, dtype=np.uint32)
        counter.add(batch)
        every.append(batch)
    values, counts = np.unique(np.concatenate(every), return_counts=True)
    found = counter.tally()
    assert found.values.tolist() == values.tolist()
    assert found.counts.tolist() == counts.tolist()


def test_plain_text_cannot_move_the_cursor():
    assert plain("a\x1b[31m\nb\u202ec\x00") == "a [31m b c"
    assert len(plain("x" * 1000, 50)) == 50


def test_a_rally_of_misses_is_counted_as_quickly_as_any(tmp_path):
    """All-null columns take no bytes: a rally of them must not cost more than its balls."""
    size, took = 1 << 20, {}
    number = np.arange(size)
    for name, missed in {"none": False, "every other": number % 2 == 0, "all": True}.items():
        path, null = tmp_path / name, np.zeros(size, np.bool_) | missed
        ticks = [Column(number.astype(np.uint32) % 999 + more, null) for more in (0, 7)]
        served = [Column(number.astype(np.uint32)), Column(number * 2000)]
        table = Table(dict(zip(balls.COLUMNS, [*served, *ticks], strict=True)))
        written = balls.write(path, table, 10**9)
        begins = balls.check(path, balls=size, tick_hz=10**9)
        rules = rows.BallRules(10**9, timeout_ns=2000)
        began_s = time.process_time()
        counted = rows.count(path, range(len(begins) - 1), begins, rules)
        took[name] = time.process_time() - began_s
        assert counted.misses == written.misses == np.count_nonzero(null)
        assert counted.interrupt.tally().n == counted.scheduling.tally().n == np.sum(~null)
    # a set of indices, which numpy builds, took fifty times as long
    assert max(took.values()) < 8 * took["none"] + 0.2
