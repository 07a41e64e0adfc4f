# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What no level shows: rare late balls, misses and suspect boots on one side, and what mixes."""

from collections import Counter

import numpy as np
import pytest

from tennis.comparison.before_after import (
    Pair,
    Suspects,
    judge,
)
from tennis.comparison.boots import Boot
from tennis.comparison.rare import latest_balls, likely, unseen
from tennis.comparison.sides import Side
from tennis.comparison.words import in_boots, verdict
from tennis.comparison.words import unseen as unseen_words
from tests.support.mixtures import Kind, gate, latencies, random_kinds, stress

USUAL = (Kind(1, 1400, spread=0.01),)


def side(kinds, boots=16, balls=3000, seed=1):
    random = np.random.default_rng([54, seed])
    return Side([Boot.of(latencies(random, balls, kinds)) for _ in range(boots)], range(boots))


def planted(values, boots=16, balls=3000):
    """Return boots that have these balls (ns), one after the other, each boot its own."""
    made = []
    for number in range(boots):
        found = np.full(balls, 1400.0)
        late = values[number] if number < len(values) else []
        found[: len(late)] = late
        made.append(Boot.of(found))
    return Side(made, range(boots))


def judged(before, after, **how):
    return judge([Pair("", "interrupt", before, after)], **how)


@pytest.mark.parametrize("late", [np.inf, 2e6])
def test_one_ball_of_each_boot_is_worse(late):
    """A miss in 8 of 8 boots after and in none before was no worse, and so was 2 ms in 16."""
    none, each = (planted(late, balls=4999) for late in ([], [[late]] * 16))
    found = judged(none, each)
    assert {one.change for one in found.statements} == {"equal"}
    assert found.verdict == "worse"
    (told,) = found.boots
    assert (told.before, told.after, told.change) == (0, 16, "more")
    assert "0 of 16 before, 16 of 16 after" in verdict(found)
    assert judged(each, none).verdict == "no worse"
    assert {one.change for one in judged(each, each).boots} <= {"no more"}


@pytest.mark.parametrize("late", [np.inf, 2e6])
def test_what_one_side_alone_has_is_at_least_undecided(late):
    found = judged(planted([]), planted([[late], [late]]))
    assert found.verdict == "undecided"
    assert "0 of 16 before, 2 of 16 after" in verdict(found)
    assert judged(planted([]), planted([[late]])).verdict == "undecided"
    assert judged(planted([[late]]), planted([[late]])).verdict == "no worse"


def test_suspect_boots_are_counted():
    """6 of 16 boots oopsed after the change, and the exit code was 0."""
    sides = planted([]), planted([], boots=10)
    suspects = [Suspects("", 0, 6, 16, 16)]
    found = judged(*sides, suspects=suspects)
    assert found.verdict == "undecided"
    assert in_boots(found.boots[-1]) == "boots that are suspect: 0 of 16 before, 6 of 16 after"
    assert judged(*sides, suspects=[Suspects("", 0, 14, 16, 16)]).verdict == "worse"
    assert judged(*sides, suspects=[Suspects("", 6, 0, 16, 16)]).verdict == "no worse"


def test_more_misses_in_boots_that_all_have_some():
    few, many = planted([[np.inf] * 3] * 16), planted([[np.inf] * 9] * 16)
    assert [one.change for one in judged(few, many).boots] == ["more"]
    assert [one.change for one in judged(many, few).boots] == ["fewer"]


def looks(before, after, number):
    """Judge two mixtures as `tennis compare` does, one latency of 3,000 balls."""
    makers = [
        lambda random, balls, _, kinds=kinds: latencies(random, balls, kinds)
        for kinds in (before, after)
    ]
    return gate(*makers, 3000, number, latencies=["interrupt"])[0]


def test_a_ball_in_5000_is_never_no_worse():
    """It was no worse in 92 %: no level shows it, and most boots do not have it."""
    rare = (*USUAL, Kind(1 / 5000, 200_000))
    said = Counter(looks(USUAL, rare, number).verdict for number in range(20))
    assert not said["no worse"]
    assert said["worse"] >= 18
    said = Counter(looks(rare, rare, number).verdict for number in range(20))
    assert said["worse"] <= 1


def test_no_worse_says_what_it_could_not_have_seen():
    found = judged(side(USUAL), side(USUAL, seed=2))
    assert found.verdict == "no worse"
    assert found.unseen == pytest.approx((48_000 / 3, 6), rel=0.05)
    assert "fewer than 1 in 16,022 balls" in unseen_words(found)
    # a disturbance that is a little more frequent is met
    balls, boots = unseen(48_000, 16)
    assert (1 - 1 / balls) ** 48_000 <= 0.0501
    assert (1 - 1 / boots) ** 16 == pytest.approx(0.05)


def test_chance_gives_a_side_all_that_have_it_as_often_as_is_said():
    random = np.random.default_rng(1)
    drawn = [random.permutation(20)[:4] for _ in range(4000)]
    assert np.mean([(some < 10).all() for some in drawn]) == pytest.approx(
        likely(4, 10, 0, 10), abs=0.01
    )


def test_the_gap_that_shows_most_is_told():
    """Both sides have a rare kind; after has another one beside it."""
    before = planted([[90_000]] * 8)
    after = planted([[90_000]] * 8 + [[9_000_000]] * 8)
    middle, counts, said = latest_balls(before.boots, after.boots, margin=0.1, tail=0.05)
    assert 90_000 < middle < 9_000_000
    assert (counts, said) == ((0, 8), "more")


def test_each_kind_of_two_is_compared():
    """Half of all balls became 80 % later, and the median was that of the other half."""
    before = side((Kind(1, 4000, spread=0.01), Kind(0.5, 1000, spread=0.01)))
    after = side((Kind(1, 4000, spread=0.01), Kind(0.5, 1800, spread=0.01)), seed=2)
    found = judged(before, after)
    assert found.verdict == "worse"
    assert judged(after, before).verdict == "no worse"


@pytest.mark.parametrize("share", [0.15, 0.3, 0.85])
def test_a_part_of_the_balls_that_became_later_is_found(share):
    """Wherever in the curve it is: levels below the median are statements, too."""
    before = side((Kind(1, 4000, spread=0.01), Kind(share, 1000, spread=0.01)))
    after = side((Kind(1, 4000, spread=0.01), Kind(share, 1300, spread=0.01)), seed=2)
    assert judged(before, after).verdict == "worse"


def test_all_boots_that_stand_apart_are_named():
    """Two of 32 boots had 5 % of their balls a hundredfold later, and no word of it."""
    found = planted([[140_000.0] * 150] * 2, boots=32)
    assert found.odd(100) == [0, 1]
    assert planted([[140_000.0] * 150] * 9, boots=32).odd(100) == []
    assert judged(planted([], boots=32), found).verdict == "undecided"


def test_random_mixtures_keep_what_must_hold():
    """Mirror, copies, one boot more: later never becomes earlier, nor more fewer."""
    turned = {"later": "earlier", "earlier": "later"}
    mirrored = {**turned, "more": "fewer", "fewer": "more"}
    for number in range(10):
        random = np.random.default_rng([56, number])
        kinds = random_kinds(random), random_kinds(random)
        made = [[Boot.of(latencies(random, 3000, one)) for _ in range(13)] for one in kinds]
        one, other = (Side(some[:12], range(12)) for some in made)
        found, mirror = judged(one, other), judged(other, one)
        for here, there in zip(found.statements, mirror.statements, strict=True):
            if here.change in turned or there.change in turned:
                assert there.change == mirrored[here.change], (number, here.one_in)
        decided = [
            {boot.quantity: boot.change for boot in some.boots if boot.change in mirrored}
            for some in (found, mirror)
        ]
        for name in decided[0].keys() & decided[1].keys():  # of several gaps, the worst is told
            assert decided[0][name] == mirrored[decided[1][name]], number
        more = judged(*(Side(some, range(13)) for some in made))
        copied = judged(*(Side([*some[:12], *some[:12]], range(24)) for some in made))
        for again in (more, copied):
            for here, there in zip(found.statements, again.statements, strict=True):
                assert turned.get(here.change, "") != there.change, (number, here.one_in)


def test_it_says_how_many_pairs_say_that_nothing_changed():
    """Under stress 32 pairs of 6,000 balls never do, and an hour was spent to find that out."""
    found, pairs = gate(stress, stress, 6000, 1, most=20)
    assert (found.verdict, pairs) == ("undecided", 20)
    assert 150 < pairs * found.more_boots < 1000
    assert judged(planted([]), planted([])).more_boots == 1
