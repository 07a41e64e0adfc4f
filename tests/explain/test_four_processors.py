# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A lock that goes from processor to processor: what four of them did while a ball waited."""

import json
import shutil
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from tennis.bench import loads
from tennis.cli import cli
from tennis.explain import stages
from tennis.explain.between import Interrupt, LockHeld
from tennis.explain.explanation import Explanation
from tennis.explain.page import NUMBERS, TIMELINE, write
from tennis.explain.replayed import explain
from tennis.explain.story import Story
from tennis.kit.checkout import ROOT
from tennis.kit.units import format_ns
from tennis.rally import Rally, open_rally
from tests.support.virtual import played

BALLS = 40
LATE_NS = 20_000  # the lock was held when the ping came
HELD_NS = (10_000, 100_000, 20_000)  # by processors 0 (after it asked the last), 1 and 2
OWN_NS = 7000  # from when processor 3 has it: it holds it for 5 us, and answers
SLACK_NS = 4000  # an interrupt on its way, the lock on its way from one to the next


@pytest.fixture
def rally(tmp_path, monkeypatch) -> Rally:
    """Return a rally on processor 3, which wants the lock when the others have had it."""
    own = tmp_path / "loads"
    shutil.copytree(loads.FOLDER, own)
    shutil.copytree(ROOT / "tests" / "support" / "loads" / "queue", own / "queue")
    monkeypatch.setattr(loads, "FOLDER", own)
    return played(
        tmp_path / "r",
        load="queue",
        bottom_half="user",
        processors=4,
        interrupt_cpu=3,
        command_line="isolcpus=1-3",
        balls=BALLS,
        seed=5,
        settle_s=0.1,
    )


@pytest.mark.more
@pytest.mark.virtual
def test_each_of_four_processors_has_its_part(rally, tmp_path):
    where = [(one.pings, one.replies) for one in rally.manifest.counts.where]
    assert where == [(0, BALLS), (0, 0), (0, 0), (BALLS, 0)]
    explanation = explain(rally, over_ns=1, about="interrupt")  # all of them, in one replay
    late = [story for story in explanation.stories if story.rise > LATE_NS]
    assert 3 <= len(late) <= 10  # 135 of 1000 us
    for story in late:
        _holders_are_named(story)
    _every_lane_is_told(max(late, key=lambda story: story.rise), explanation, tmp_path / "why")
    for story in explanation.stories:
        _the_process_is_woken_on_processor_0(story)
    _stages_say_the_same(rally, explanation)


def _held_ns(story: Story) -> list[int]:
    """Return how long each had the lock while the ball waited: the rest of its time, known."""
    left, found = story.rise - OWN_NS, []
    for ns in reversed(HELD_NS):
        found.insert(0, min(left, ns))
        left -= found[0]
    return found


def _longest(story: Story) -> set[int]:
    """Return who had the lock longest; of nearly equal times both."""
    held = _held_ns(story)
    return {processor for processor in range(3) if held[processor] > max(held) - SLACK_NS}


def _its_waits(story: Story) -> Iterator[LockHeld]:
    events = (one.event for one in story.between())
    return (event for event in events if isinstance(event, LockHeld) and event.waiter == 3)


def _holders_are_named(story: Story) -> None:
    """The longest of those that had it, for as long as it did, and with what it was at."""
    held = _held_ns(story)
    wait = max(_its_waits(story), key=lambda one: one.ns)
    assert wait.holder in _longest(story)
    assert wait.owner == f"swapper/{wait.holder}"
    assert abs(wait.held_ns - held[wait.holder]) < SLACK_NS
    certain = sum(ns > SLACK_NS for ns in held)
    assert certain <= wait.holders <= sum(ns > 0 for ns in held) + 1
    in_turn = f"that {wait.holders} tasks held in turn, " if wait.holders > 1 else "that "
    said = f"swapper/3 waited {format_ns(wait.ns)} for a lock of queue_wait [queue] {in_turn}"
    assert f"; {said}processor {wait.holder} (swapper/{wait.holder}) " in story.sentence
    assert "most of it in queue_hold [queue]" in story.sentence
    assert story.cause.ns > 0.9 * wait.held_ns - SLACK_NS


def _every_lane_is_told(story: Story, explanation: Explanation, out) -> None:
    """Who waited and who held it in which lane: each accounts for all of the time."""
    write(explanation, out)
    told = json.loads((out / NUMBERS).read_text())["explained"]
    (ball,) = (one for one in told if one["ball"] == story.ball)
    lanes = ball["processors"]["ran"]
    assert [sum(one["ns"] for one in lane) for lane in lanes] == [ball["waited_ns"]] * 4
    for processor, parts in enumerate(story.processors):
        assert {part.processor for part in parts} == {processor}
    drawn = (out / TIMELINE).read_text()
    assert [f"processor {n}" in drawn for n in range(5)] == [True] * 4 + [False]


def _the_process_is_woken_on_processor_0(story: Story) -> None:
    sent = [one.event for one in story.between() if isinstance(one.event, Interrupt)]
    (woke,) = [one for one in sent if one.wakes]
    assert (woke.sender, woke.taker, woke.wakes) == (3, 0, "racquet-user")


def _stages_say_the_same(rally: Rally, explanation: Explanation) -> None:
    stories = sorted(explanation.stories, key=lambda story: story.ball)
    stages.write(rally, [stages.row(story) for story in stories])
    done = CliRunner().invoke(cli, ["explain", "stages", str(rally.path), "--json"])
    assert done.exit_code == 0, done.output
    found = stages.read(open_rally(rally.path))
    assert set(found.column("taken_on").to_pylist()) == {3}
    assert set(found.column("bottom_half_on").to_pylist()) == {0}
    sent = set(found.column("sent_by").to_pylist())
    assert {who.partition(" on ")[2] for who in sent} == {"processor 3"}
    for story, by in zip(stories, found.column("held_by").to_pylist(), strict=True):
        if story.rise > LATE_NS:
            assert by in {f"swapper/{one} on processor {one}" for one in _longest(story)}
