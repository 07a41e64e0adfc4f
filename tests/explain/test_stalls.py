"""Waits for memory are parts of a ball's wait: by cause, by function, and without their cost."""

import json
import re

import numpy as np
import pytest

from tennis.explain.causes import came_or_went, waited_sentence, waits_of
from tennis.explain.flame import flame
from tennis.explain.replayed import explain
from tennis.explain.segments import Names
from tennis.explain.stalls import CAUSES, CODE, COSTS, DATA, DEVICE, PAGES, stalled_ns
from tennis.explain.telling import tell
from tennis.explain.timeline import timeline_svg
from tennis.explain.without_cost import without
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, UsageError
from tennis.rally import open_rally
from tests.support.phases import made_phase, named
from tests.support.shared import made_once
from tests.support.synthetic import make_rally
from tests.support.terminal import tennis
from tests.support.virtual import played

FUNCTIONS = named(
    "vectors", "el1h_64_irq", "racquet_top_half[racquet]", "__schedule",
)  # fmt: skip
VECTORS, IRQ, RACQUET, SCHEDULE = range(4)
NODES = [(-1, 0), (0, SCHEDULE), (0, IRQ), (2, RACQUET)]
MEMORY, THIRD, GPIO = 3, 2, 0
REST = 1 << 31  # of a stall that began in the phase before


def cold(*stalls, schedule_ns=1000):
    """Return a ball that rose after 1,210 ns; stalls: at, cause, where, node, ns."""
    first = [(at, cause << 4 | where, node, ns) for at, cause, where, node, ns in stalls]
    phases = [
        made_phase(0, NODES, [(1, 1, schedule_ns), (2, 1, 200), (3, 1, 10)], ["dd"], stalls=first),
        made_phase(1, NODES, [(3, 1, 20)], ["dd"], stalls=[(0, REST | DEVICE << 4 | GPIO, 3, 8)]),
    ]
    rise = schedule_ns + 210
    return tell(3, 1000, (rise, rise + 20), phases, Names(FUNCTIONS))


def test_a_sentence_says_what_came_from_where_and_in_which_function():
    story = cold(
        (0, CODE, MEMORY, 1, 100), (200, CODE, MEMORY, 1, 100), (1000, CODE, MEMORY, 2, 100),
        (1100, PAGES, THIRD, 2, 30), (1205, DEVICE, GPIO, 3, 5),
    )  # fmt: skip
    assert story.sentence.endswith(
        " 343 ns of it went to memory and registers: 3 lines of code came from memory (300 ns), "
        "most in __schedule."
    )
    assert [(one.words, one.ns, one.function) for one in story.stalls()] == [
        ("3 lines of code came from memory", 300, "__schedule"),
        ("1 page walk whose entry came from the third cache", 30, "el1h_64_irq"),
        ("1 access to the GPIO controller", 13, "racquet_top_half [racquet]"),
    ]
    assert stalled_ns(story.parts, COSTS["registers"]) == 13
    assert stalled_ns(story.parts) == 343


def test_there_are_as_many_causes_as_the_model_numbers():
    """Else shots without a cost leave another one out."""
    text = (ROOT / "target" / "virtual" / "memory.c").read_text()
    names = re.search(r"enum cause { (.*), CAUSES }", text)[1].split(", ")
    assert names == ["CODE", "DATA", "STORES", "PAGES", "DEVICE", "CYCLES"]
    assert len(names) == CAUSES


def test_a_wait_without_stalls_says_nothing_of_them():
    story = cold_without()
    assert "memory" not in story.sentence
    assert not story.stalls()
    assert "stalls" not in story.as_json()


def test_stalls_longer_than_the_time_where_they_were_are_an_error():
    with pytest.raises(BenchError, match="waited longer for memory than the whole function took"):
        cold((0, DATA, MEMORY, 1, 101), schedule_ns=100)


def test_pictures_show_stalls():
    story = cold((100, CODE, MEMORY, 1, 400))
    svg = timeline_svg(story, "", "")
    assert "waits for memory" in svg
    root = flame([story])
    of_task = root.children["interrupt latency"].children["task dd"]
    found = of_task.children["__schedule"].children["lines of code from memory"]
    assert found.ns == 400
    assert of_task.children["__schedule"].ns == 1000  # they are a part of it
    assert "waits for memory" not in timeline_svg(cold_without(), "", "")


def cold_without():
    first = made_phase(0, NODES, [(1, 1, 100), (2, 1, 20), (3, 1, 10)], ["dd"])
    return tell(3, 1000, (130, None), [first], Names(FUNCTIONS))


def test_a_cost_of_a_rally_without_a_profile_is_refused(tmp_path):
    rally = make_rally(tmp_path / "warm", balls=10)
    with pytest.raises(UsageError, match="was played without a memory profile"):
        without(rally, ["memory"])


def test_a_comparison_names_lines_that_came():
    def balls(lines):
        return [cold(*((10 * at, CODE, MEMORY, 1, 8) for at in range(lines))) for _ in range(5)]

    (found,) = waits_of([balls(3), balls(15)], "usual ball")
    assert came_or_went(found) == "came"
    assert waited_sentence(found) == (
        "12 more lines of code from memory a usual ball, 96 ns, most in __schedule (3 before, "
        "15 after)"
    )
    (found,) = waits_of([balls(15), balls(3)], "usual ball")
    assert came_or_went(found) == "went"
    assert waited_sentence(found).startswith("12 fewer lines of code from memory")
    assert waits_of([balls(3), balls(3)], "usual ball") == []
    assert waits_of([balls(3), [cold_without()]], "usual ball") == []  # played without a profile


@pytest.fixture(scope="module")
def cold_rally(tmp_path_factory):
    """Return an idle rally with caches: its first balls meet cold code."""
    made = made_once(
        tmp_path_factory,
        "cold",
        lambda folder: played(folder / "cold", memory="cortex-a72", balls=12, bottom_half="thread"),
    )
    return open_rally(made / "cold")


@pytest.mark.virtual
def test_instructions_and_stalls_are_the_whole_wait(cold_rally):
    explanation = explain(cold_rally, worst=12)
    assert len(explanation.stories) == 12
    for story in explanation.stories:
        assert sum(part.ns for part in story.parts) == story.fall
        for part in story.parts:
            stalled = np.bincount(
                part.phase.stalls["node"], part.phase.stalls["ns"], len(part.node_ns)
            ).astype(np.int64)
            # what is left of each function is whole instructions
            assert ((part.node_ns - stalled) % 2 == 0).all()
            assert (part.node_ns >= stalled).all()
        assert story.stalls()
    first = next(story for story in explanation.stories if story.ball == 0)
    later = next(story for story in explanation.stories if story.ball == 9)
    came = {story.ball: stalled_ns(story.parts, COSTS["memory"]) for story in (first, later)}
    assert came[0] > 3 * came[9]  # its code is cold
    # stalls are most of why the first one came later
    longer = first.fall - later.fall
    assert longer > 0
    more = stalled_ns(first.parts) - stalled_ns(later.parts)
    assert 0.5 * longer < more < longer


@pytest.mark.more
@pytest.mark.virtual
def test_a_cost_of_zero_takes_its_stalls_away(cold_rally):
    story, found = without(cold_rally, [c for c in COSTS if c != "cycles"], ball=0)  # no clock
    for one in found:
        assert one.was == (story.rise, story.fall)
        assert one.stalls_ns > 0
        # an idle ball meets hardly any other work
        assert one.share_ns == pytest.approx(one.stalls_ns, rel=0.2), one
    said = json.loads(
        tennis("explain", "without", cold_rally.path, "tlb", "--ball", 0, "--json").stdout
    )
    assert said["without"][0]["share_ns"] == found[1].share_ns
