"""Edges become the same balls all at once as one by one, however they are cut into batches."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tennis.rally.captures.edges import Edges
from tennis.report.umpire.agreement.balls import NONE, Balls, Decoder

TIMEOUT = 50


class OneByOne:
    """The instrument's own steps (target/virtual/instrument.c), an edge at a time."""

    def __init__(self):
        self.balls, self.strays, self.doubles = [], 0, 0
        self.open = None  # [served, rise]
        self.counted_up = self.last_complete = False

    def close(self, fall=NONE):
        self.balls.append((*self.open, fall))
        self.last_complete = fall != NONE
        self.open = None

    def edge(self, tick, code):
        if self.open and tick - self.open[0] > TIMEOUT:
            self.close()
        if code == 0:
            return
        if code == 2:
            if self.open:
                self.close()
            self.open = [tick, NONE]
        elif self.open and self.open[1] == NONE and code == 3:
            self.open[1] = tick - self.open[0]
            self.counted_up = False
        elif self.open and self.open[1] != NONE and code == 1:
            self.close(tick - self.open[0])
        else:
            up = code == 3
            if up or not self.counted_up:
                if up and self.last_complete and not self.open:
                    self.doubles += 1
                else:
                    self.strays += 1
            self.counted_up = up


steps = st.lists(
    st.tuples(st.sampled_from(["whole", "p", "r"]), st.sampled_from([0, 1, 3, 20, 49, 51, 90])),
    max_size=60,
)


def edges_of(plan):
    level = [False, False]
    ticks, codes, tick = [], [], 5
    for kind, gap in plan:
        tick += gap
        if kind == "whole":
            if level == [False, False]:
                ticks += [tick, tick + 1, tick + 2, tick + 9]
                codes += [2, 0, 3, 1]
                tick += 9
        else:
            wire = "pr".index(kind)
            level[wire] = not level[wire]
            ticks.append(tick)
            codes.append(2 * level[wire] + wire)
    order = np.lexsort((codes, ticks)) if ticks else []
    return np.array(ticks, np.int64)[order], np.array(codes, np.uint8)[order]


@settings(max_examples=300)
@given(steps, st.lists(st.integers(0, 200), max_size=6))
def test_all_at_once_is_as_one_by_one(plan, cuts):
    ticks, codes = edges_of(plan)
    slow = OneByOne()
    for tick, code in zip(ticks.tolist(), codes.tolist(), strict=True):
        slow.edge(tick, code)
    end = int(ticks[-1]) + 1000 if ticks.size else 0
    if slow.open:
        slow.close()
    quick = Decoder(TIMEOUT)
    bounds = [0, *sorted(min(cut, ticks.size) for cut in cuts), ticks.size]
    parts = [quick.add(Edges(ticks[a:b], codes[a:b])) for a, b in itertools.pairwise(bounds)]
    found = Balls.joined([*parts, quick.finish(end)])
    assert (
        list(zip(found.served.tolist(), found.rise.tolist(), found.fall.tolist(), strict=True))
        == slow.balls
    )
    assert (quick.strays.count, quick.doubles.count) == (slow.strays, slow.doubles)


def test_a_ball_that_is_under_way_at_the_end_is_none():
    decoder = Decoder(TIMEOUT)
    decoder.add(Edges(np.array([10, 11, 14], np.int64), np.array([2, 0, 3], np.uint8)))
    assert len(decoder.finish(30)) == 0
