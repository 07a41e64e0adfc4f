# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The worst instant by search: proposals against shots whose answers are known here."""

from dataclasses import replace

import pyarrow as pa

from tennis.explain.sections.figures import LONGEST, LONGEST_KEPT
from tennis.play.sections import Shot
from tennis.play.worst_search import BESIDE, FIRST, search
from tests.support.made_up_sections import made_up_sections


def sections_of(latencies_ns):
    """Return sections whose longest are predicted so; one every microsecond."""
    rows = [
        {
            "at_ns": 1000 * (n + 1),
            "latency_ns": latency_ns,
            "masked_from_ns": 0,
            "masked_until_ns": 0,
            "way": "behind a section" if n % 2 else "at once",
            **dict.fromkeys(("where", "began_in", "ended_in", "began_task", "ended_task"), ""),
        }
        for n, latency_ns in enumerate(latencies_ns)
    ]
    made = made_up_sections()
    about = made.about.model_copy(update={"low_ns": 0, "high_ns": 1000 * (len(rows) + 2)})
    return replace(made, about=about, longest=pa.Table.from_pylist(rows, LONGEST))


class Target:
    """Answers as predicted, but for some instants."""

    def __init__(self, measured=(), beside=100):
        self.measured, self.beside, self.boots = dict(measured), beside, []

    def play(self, instants):
        self.boots.append([at_ns for at_ns, _ in instants])
        assert self.boots[-1] == sorted(set(self.boots[-1]))
        return [Shot(at, ns, self.measured.get(at, ns or self.beside)) for at, ns in instants]


FALLING = [10_000 - 10 * n for n in range(200)]


def test_an_exact_model_takes_the_first_proposals_and_what_is_beside_the_worst():
    target = Target()
    found = search(sections_of(FALLING), target.play)
    assert (found.worst.at_ns, found.worst.measured_ns, found.open_ns) == (1000, 10_000, None)
    assert [len(boot) for boot in target.boots] == [FIRST, 2 * BESIDE]
    assert [(one.way, one.shots, one.exact) for one in found.ways] == [
        ("at once", FIRST // 2, FIRST // 2),
        ("behind a section", FIRST // 2, FIRST // 2),
    ]


def test_what_may_be_later_is_played_too():
    """The first ones come earlier than predicted: one that is predicted earlier is the worst."""
    late = 1000 * 100
    target = Target({**{1000 * (n + 1): 8_000 for n in range(FIRST)}, late: 9_500})
    found = search(sections_of(FALLING), target.play)
    assert (found.worst.at_ns, found.worst.measured_ns) == (late, 9_500)
    assert found.worst.predicted_ns == FALLING[99]
    assert found.open_ns is None
    assert {one.way: (one.earliest_ns, one.latest_ns) for one in found.ways} == {
        "at once": (8_000 - FALLING[0], 0),
        "behind a section": (8_000 - FALLING[1], 9_500 - FALLING[99]),
    }


def test_as_far_off_as_a_ball_was():
    """Each ball of a thread was within 100 ns, so ten proposals more are played; no more."""
    made = sections_of(FALLING)
    about = made.about.model_copy(update={"thread": "x", "nearly_all_within_ns": 700})
    target = Target()
    search(replace(made, about=about), target.play)
    assert len(target.boots[1]) == 70 - FIRST + 2 * BESIDE


def test_an_instant_beside_the_worst_is_found():
    """The section began an instruction earlier than the model says."""
    found = search(sections_of(FALLING), Target({1000 - 2: 10_002}).play)
    assert (found.worst.at_ns, found.worst.measured_ns) == (1000 - 2, 10_002)
    assert found.worst.later_ns is None


def test_what_is_not_kept_may_be_as_late():
    """The table is full, and each row came early: those that are not in it may be later."""
    latencies = [5_000] * LONGEST_KEPT
    early = {1000 * (n + 1): 4_000 for n in range(LONGEST_KEPT)}
    found = search(sections_of(latencies), Target(early).play)
    assert found.open_ns == 5_000
    assert len(found.shots) > 900
    found = search(sections_of(latencies[:-1]), Target(early).play)
    assert found.worst.measured_ns == 4_000
