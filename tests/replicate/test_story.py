"""The story of a match: numbers of all boots together, and the verdicts' own words."""

import io

import numpy as np
import pytest
from rich.console import Console

from tennis.cli.story import print_story
from tennis.replicate.match_page import _match_report
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
    assert [round(line.late) for line in told.lines] == [3_000, 9_000, 900_000, 12_000]
    assert [line.published_us for line in told.lines] == [51, 98, 17_194, 268]
    idle, stress, growth = told.sentences
    assert idle.text == (
        "Idle, mainline answers earlier, says the thesis: 1.92 times, by the latest answers. Here "
        "PREEMPT_RT answers 3 (3 to 3) times as late, judged by 1 in 1,000 and rarer, "
        "of all balls."
    )
    assert stress.text.startswith("Under stress, PREEMPT_RT answers earlier, says the thesis: 64.2")
    assert "Here mainline answers 75 (75 to 75) times as late" in stress.text
    ours = [claim for claim in replicated.claims if claim.source == "knutsson-2008"]
    verdict = {claim.id: claim.verdict for claim in ours}
    assert growth.verdict == verdict["c2"]
    assert stress.verdict == verdict["ranking-stress-interrupt-mainline-rt-chrt"] == "confirmed"
    said = text_of(told, maker.path)
    assert max(map(len, said.splitlines())) <= 80
    assert "CONFIRMED" in said


def test_what_the_latest_answers_show_comes_first_if_it_differs(maker):
    """By 1 in 1,000 PREEMPT_RT is earlier, as the thesis says of the latest; by those it is not."""
    maker.cell("mainline", "default", "idle", bursts(3_000, BALLS))
    maker.cell("rt", "chrt", "idle", bursts(9_000, BALLS))
    maker.cell("mainline", "default", "stress", bursts(1_200_000, BALLS))
    late = bursts(700_000, BALLS)
    late[1000] = 2_660_000
    maker.cell("rt", "chrt", "stress", late)
    replicated = Replication(maker.sealed())
    _, stress, *_ = story(replicated).sentences
    assert stress.text == (
        "Under stress, the latest answers here do not show what the thesis says about them: "
        "mainline's is 0.451 times PREEMPT_RT's, in the thesis 64.2 times. But mainline answers "
        "1.71 (0.451 to 1.71) times as late, judged by 1 in 1,000 and rarer, of all balls."
    )
    claim = replicated.claim("knutsson-2008", "ranking-stress-interrupt-mainline-rt-chrt")
    if claim.verdict == "confirmed":
        assert claim.sentence.startswith("confirmed by 1 in 1,000, not by the latest balls")
        assert claim.why.startswith(
            "by the latest balls, which are what was published, it does not hold: 0.451 times "
            "here, 64.2 there"
        )
    said = " ".join(text_of(story(replicated), maker.path).split())
    assert f"of all balls. {claim.verdict.upper()} {claim.beside_verdict}".strip() in said
    assert "do not show what the thesis says about them" in _match_report(replicated)


def test_one_number_everywhere(maker):
    """Four boots of ten are later: of all balls 1 in 1,000 is theirs, of the median boot not."""
    for number in range(1, 11):
        late = bursts(900_000 if number <= 4 else 500_000 + number, BALLS)
        maker.rally("mainline", "default", "stress", late, repetition=number)
    maker.cell("mainline", "default", "idle", bursts(3_000, BALLS))
    maker.cell("rt", "chrt", "idle", bursts(9_000, BALLS))
    maker.cell("rt", "chrt", "stress", bursts(12_000, BALLS))
    replicated = Replication(maker.sealed())
    told = story(replicated)
    mainline = told.lines[2]
    claim = replicated.claim("knutsson-2008", "ranking-stress-interrupt-mainline-rt-chrt")
    levels = {level.one_in: level.level for level in claim.parts[0].sides[0].levels}
    assert mainline.late == levels[1000] == pytest.approx(500_009, abs=1)
    assert mainline.format_level(mainline.late) == "500 µs"
    assert f"mainline answers {claim.parts[0].ratio} times as late" in told.sentences[1].text
    page = _match_report(replicated)
    assert "<strong>500 µs</strong>" in page
    assert f"mainline answers {claim.parts[0].ratio} times as late" in page


def test_a_driver_that_asks_for_its_thread_stands_beside_it(maker):
    tasklets = bursts(2_500_000, BALLS)
    maker.cell("rt", "chrt", "stress", bursts(16_000, BALLS), tasklets, top="explicit")
    told = story(play(maker))
    assert [line.kernel for line in told.lines[3:]] == [
        "PREEMPT_RT, forced",
        "PREEMPT_RT, explicit",
    ]
    assert (round(told.lines[4].late), told.lines[4].published_us) == (16_000, None)
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
    page = _match_report(Replication(maker.sealed()))
    assert surprise.explain in page


def test_few_balls_tell_no_level(maker):
    for kernel, priorities in (("mainline", "default"), ("rt", "chrt")):
        for load in ("idle", "stress"):
            maker.cell(kernel, priorities, load, np.full(200, 1500), boots=2)
    told = story(Replication(maker.sealed()))
    assert [line.late for line in told.lines] == [None] * 4
    assert {one.verdict for one in told.sentences} == {"inconclusive"}
    assert "Too few balls" in told.sentences[0].text


def test_no_story_without_both_kernels(maker):
    maker.cell("mainline", "default", "idle", bursts(3_000, BALLS), boots=2)
    replicated = Replication(maker.sealed())
    assert story(replicated) is None
    assert [one.balls for one in cells(replicated)] == [2 * BALLS]
    assert "What was found" in _match_report(replicated)


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
    page = _match_report(replicated)
    assert "&gt; 100 ms, 300 missed" in page
    assert "<strong>&gt; 100 ms</strong>" in page
    assert "here &gt; 100 ms (300 missed)" in page  # beside the thesis' maxima, in words
