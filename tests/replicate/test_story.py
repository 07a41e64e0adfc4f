# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The story of a match: numbers of all boots together, and the verdicts' own words."""

import io

import numpy as np
import pytest
from rich.console import Console

from tennis.cli.story import print_story
from tennis.pages.match import match_report
from tennis.replicate.story import cells, story
from tennis.replicate.verdicts import Replication
from tests.support.synthetic_match import MatchMaker, bursts

BALLS = 3000


@pytest.fixture
def maker(tmp_path):
    return MatchMaker(tmp_path / "match")


def play(maker, late_rt=None, *, boots=10):
    """Mainline grows a hundredfold under stress, rt hardly; one rt answer may be later."""
    maker.cell("mainline", "default", "idle", bursts(3_000, BALLS), boots=boots)
    maker.cell("mainline", "default", "stress", bursts(900_000, BALLS), boots=boots)
    maker.cell("rt", "chrt", "idle", bursts(9_000, BALLS), boots=boots)
    rise = bursts(12_000, BALLS)
    if late_rt:
        rise[BALLS // 3] = late_rt
    maker.cell("rt", "chrt", "stress", rise, boots=boots)
    return Replication(maker.sealed())


def text_of(told, path):
    console = Console(file=io.StringIO(), width=80)
    print_story(console, told, path)
    return console.file.getvalue()


def test_the_story_says_what_the_verdicts_say(maker):
    replicated = play(maker)
    told = story(replicated)
    assert [(line.load, line.balls, line.boots) for line in told.lines] == [
        ("idle", 30_000, 10),
        ("idle", 30_000, 10),
        ("stress", 30_000, 10),
        ("stress", 30_000, 10),
    ]
    assert [line.late for line in told.lines] == [3_000, 9_000, 900_000, 12_000]
    assert [line.published_us for line in told.lines] == [51, 98, 17_194, 268]
    idle, stress, growth = told.sentences
    assert idle.text.startswith("Idle, mainline answers earlier: 3 times here")
    assert stress.text.startswith("Under stress, PREEMPT_RT answers earlier: 75 times here")
    ours = [claim for claim in replicated.claims if claim.source == "knutsson-2008"]
    verdict = {claim.id: claim.verdict for claim in ours}
    assert growth.verdict == verdict["c2"]
    assert stress.verdict == verdict["ranking-stress-interrupt-mainline-rt-chrt"] == "confirmed"
    said = text_of(told, maker.path)
    assert max(map(len, said.splitlines())) <= 80
    assert "CONFIRMED" in said


def test_a_driver_that_asks_for_its_thread_stands_beside_it(maker):
    tasklets = bursts(2_500_000, BALLS)
    maker.cell("rt", "chrt", "stress", bursts(16_000, BALLS), tasklets, top="explicit")
    told = story(play(maker))
    assert [line.kernel for line in told.lines[3:]] == [
        "PREEMPT_RT, forced",
        "PREEMPT_RT, explicit",
    ]
    assert (told.lines[4].late, told.lines[4].published_us) == (16_000, None)
    assert "(request_threaded_irq) answers under stress: 1 in 1,000 after 16.0 µs" in (
        told.sentences[3].text
    )
    # the picture's right half has its tasklet, which is late
    assert "runs in ksoftirqd, among ordinary processes: the latest 2.50 ms later" in (
        told.sentences[3].text
    )
    assert not told.sentences[3].verdict
    assert max(map(len, text_of(told, maker.path).splitlines())) <= 80


def test_a_latest_answer_far_from_all_others_is_a_surprise(maker):
    told = story(play(maker, late_rt=1_500_000))
    (surprise,) = [one for one in told.sentences if one.explain]
    assert surprise.text.startswith(
        "Surprise: PREEMPT_RT's latest answer under stress came after 1.50 ms (thesis 268 µs)"
    )
    assert f"tennis explain {maker.path / surprise.explain}" in text_of(told, maker.path)
    assert (maker.path / surprise.explain / "balls.parquet").exists()
    page = match_report(Replication(maker.sealed()))
    assert surprise.explain in page
    assert str(maker.path) not in page


def test_few_balls_tell_no_level(maker):
    for kernel, priorities in (("mainline", "default"), ("rt", "chrt")):
        for load in ("idle", "stress"):
            maker.cell(kernel, priorities, load, np.full(200, 1500), boots=2)
    told = story(Replication(maker.sealed()))
    assert [line.late for line in told.lines] == [None] * 4
    assert {one.verdict for one in told.sentences} == {"inconclusive"}
    assert "too few balls" in told.sentences[0].text


def test_no_story_without_both_kernels(maker):
    maker.cell("mainline", "default", "idle", bursts(3_000, BALLS), boots=2)
    replicated = Replication(maker.sealed())
    assert story(replicated) is None
    assert [one.balls for one in cells(replicated)] == [2 * BALLS]
    assert "What was found" in match_report(replicated)


def test_missed_balls_are_later_than_all_that_came(maker):
    """A tenth of mainline's under stress: the 99 % and the latest are among them."""
    for kernel, priorities in (("mainline", "default"), ("rt", "chrt")):
        maker.cell(kernel, priorities, "idle", bursts(3_000, BALLS), boots=1)
        misses = BALLS // 10 if kernel == "mainline" else 0
        maker.cell(kernel, priorities, "stress", bursts(9_000, BALLS), boots=1, misses=misses)
    replicated = Replication(maker.sealed())
    told = story(replicated)
    mainline = next(
        line for line in told.lines if (line.load, line.kernel) == ("stress", "mainline")
    )
    assert (mainline.late, mainline.misses) == (np.inf, 300)
    shown = text_of(told, maker.path)
    assert "> 100 ms, 300 missed" in shown
    assert "inf" not in shown
    page = match_report(replicated)
    assert "&gt; 100 ms, 300 missed" in page
    assert "<strong>&gt; 100 ms</strong>" in page
    assert "here &gt; 100 ms (300 missed)" in page  # beside the thesis' maxima, in words
