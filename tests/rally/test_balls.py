"""Balls from frames to a table, and the counting of ticks."""

import struct
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tennis.kit import wire
from tennis.kit.errors import RallyError
from tennis.kit.units import ticks_to_ns
from tennis.rally import balls, rows, tally
from tennis.rally.tally import Counter, Tally
from tennis.rally.text import plain

NONE = wire.NONE_TICKS


def payload(*records):
    return b"".join(struct.pack(wire.BALL, *record) for record in records)


def table_from_frames(payloads, tick_hz):
    batches = balls.batches_from_frames(payloads, tick_hz)
    return pa.Table.from_batches(batches, balls.schema(tick_hz))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_columns_are_those_of_pyarrow(size):
    """Built from buffers, and read from them: a slice begins in the middle of a byte of flags."""
    values = np.arange(size, dtype=np.uint32) * 3
    for missing in (values % 2 == 1, values < 0, values >= 0):
        theirs = pa.array(values, mask=missing)
        ours = balls._column_of(values, missing)
        ours.validate(full=True)
        assert ours.equals(theirs)
        assert ours.null_count == missing.sum()
        for part in (ours, ours.slice(3), ours.slice(5, 11)):
            expected = [NONE if one is None else one for one in part.to_pylist()]
            assert rows.filled(part, NONE).tolist() == expected
    served = balls._column_of(values.astype(np.int64))
    assert rows.filled(served.slice(1), -1).tolist() == values[1:].tolist()


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
    assert [batch.num_rows for batch in found] == [3 * each] * 3
    assert [batch["ball"][0].as_py() for batch in found] == [0, 3 * each, 6 * each]


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
    monkeypatch.setattr(tally, "GATHERED", 1000)
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
        ticks = [pa.array(number.astype(np.uint32) % 999 + more, mask=null) for more in (0, 7)]
        served = [pa.array(number.astype(np.uint32)), pa.array(number * 2000)]
        table = pa.Table.from_arrays([*served, *ticks], schema=balls.schema(10**9))
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
