"""Where pings were taken: what the instrument or the target counted, and what is made of it."""

import collections
import struct
from types import SimpleNamespace

import pytest

from tennis.kit import wire
from tennis.kit.checkout import ROOT
from tennis.kit.errors import RallyError
from tennis.play import sealing
from tennis.rally.journal import Journal
from tennis.rally.manifest import OnProcessor
from tennis.rally.statistics.summary import summarize
from tests.support.made_up_journals import MadeUpRally, some_balls
from tests.support.plans import plan_of
from tests.support.synthetic import make_rally

ANSWER = ROOT / "target/programs/answer.c"

STRAY = next(number for number, name in wire.EVENT_NAMES.items() if name == "stray")


def on(processor, pings, replies=None):
    return OnProcessor(processor=processor, pings=pings, replies=replies, busy=None)


def test_a_frame_has_a_record_for_each_processor():
    payload = struct.pack("<6I", 1, 2, 3, 4, 5, 6)
    first, second = sealing._places_of(payload)
    assert (first.processor, first.pings, first.replies, first.busy) == (0, 1, 2, 3)
    assert (second.processor, second.pings, second.replies, second.busy) == (1, 4, 5, 6)
    with pytest.raises(RallyError, match="13 bytes, not a whole number of processors"):
        sealing._places_of(payload[:13])


@pytest.mark.parametrize(
    ("told", "kept"), [([60, 38], True), ([100, 12], True), ([60, 37], False), ([], False)]
)
def test_a_part_of_a_targets_counts_is_none(told, kept):
    """A rally that went on after a break names only the parts that came to their end."""
    counts = [on(processor, pings) for processor, pings in enumerate(told)]
    totals = sealing._Totals(100, 2, 0, collections.Counter(), [])
    assert sealing._where_pings_came(SimpleNamespace(where=counts), totals) == (
        counts if kept else []
    )


def test_pings_elsewhere_are_a_fault_where_a_place_was_asked_for():
    asked = plan_of(processors=4, interrupt_cpu=1)
    (fault,) = sealing._counted_elsewhere(asked, [on(0, 7), on(1, 90), on(2, 0), on(3, 3)])
    assert fault.code == "counted_elsewhere"
    assert fault.message.endswith("taken elsewhere: 7 on processor 0, 3 on processor 3")
    assert not list(sealing._counted_elsewhere(asked, [on(0, 0), on(1, 100)]))
    assert not list(sealing._counted_elsewhere(asked, []))
    assert not list(sealing._counted_elsewhere(plan_of(processors=4), [on(0, 7), on(1, 90)]))


def test_replies_elsewhere_are_one_where_the_process_was_pinned():
    """A board counts no replies: nothing is supposed of them."""
    asked = plan_of(processors=2, bottom_half="user", bottom_half_cpu=0)
    (fault,) = sealing._counted_elsewhere(asked, [on(0, 0, 98), on(1, 100, 2)])
    assert fault.code == "counted_elsewhere"
    assert fault.message == (
        "--bottom-half-cpu 0, and replies were given elsewhere: 2 on processor 1"
    )
    assert not list(sealing._counted_elsewhere(asked, [on(0, 0, 100), on(1, 100, 0)]))
    assert not list(sealing._counted_elsewhere(asked, [on(1, 100)]))


def test_only_the_target_knows_where_a_program_was_interrupted():
    """The instrument sees where the line was raised, and that is where the program ran."""
    asked = plan_of(program=ANSWER, processors=2, bottom_half_cpu=1)
    seen = [on(0, 1, 1), on(1, 99, 99)]
    totals = sealing._Totals(100, 0, 0, collections.Counter(), seen)
    told = SimpleNamespace(where=[on(0, 100), on(1, 0)])
    assert sealing._where(asked, told, totals) == [on(0, 100, 1), on(1, 0, 99)]
    for nothing in ([], [on(0, 99)]):  # a program that looks at the line by itself
        found = sealing._where(asked, SimpleNamespace(where=nothing), totals)
        assert found == [on(0, None, 1), on(1, None, 99)]
    racquet = plan_of(processors=2)
    assert sealing._where(racquet, told, totals) == seen
    (fault,) = sealing._raised_elsewhere(asked, seen)
    assert fault.code == "counted_elsewhere"
    assert fault.message == (
        "--bottom-half-cpu 1, and the line was raised elsewhere: 1 on processor 0"
    )
    assert not list(sealing._raised_elsewhere(asked, [on(0, 0, 5), on(1, 100, 95)]))
    assert not list(sealing._raised_elsewhere(plan_of(program=ANSWER, processors=2), seen))


@pytest.mark.parametrize(("missed", "faults"), [(3, 0), (2, 1)])
def test_a_program_may_answer_too_late_and_not_once_more(missed, faults):
    seen = SimpleNamespace(noted={"stray": 2, "double": 1}, misses=missed)
    assert len(list(sealing._unasked(plan_of(program=ANSWER), seen))) == faults


def test_what_nobody_counted_is_not_said(tmp_path):
    rally = make_rally(tmp_path / "r", balls=7, where=[on(1, None, 7)])
    assert "Counted on each processor: 1 gave 7 replies." in summarize(rally).claims()


@pytest.mark.parametrize(
    ("falls_at", "said"),
    [(1_500, "was up before the first ball"), (4_000, "edges came, but no answer in time")],
)
def test_a_reply_line_that_is_up_at_rest_is_named(tmp_path, falls_at, said):
    """A longer time-out cannot help: the line falls between a ping and its rise, and not after."""
    made = MadeUpRally(tmp_path / "r")
    made.add(wire.EVENTS, struct.pack(wire.EVENT, falls_at, STRAY, 0))
    balls = some_balls(3, 1, first=0)
    balls["served"] += 1_000
    balls["rise"], balls["fall"] = 1_000, wire.NONE_TICKS
    made.play(balls)
    with Journal(made.part, tmp_path / "r") as journal:
        totals = sealing._totals(journal)
    fault = sealing._no_answer(plan_of(), SimpleNamespace(advice={}), totals)
    assert said in fault.message
