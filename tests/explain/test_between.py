# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A ball's story on several processors: who held the lock, which interrupt woke whom, who moved."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.cli.explain import _print
from tennis.explain import stages
from tennis.explain.between import Interrupt
from tennis.explain.page import NUMBERS, PAGE, TIMELINE, write
from tennis.explain.replayed import explain
from tennis.explain.segments import Names
from tennis.explain.telling import tell
from tennis.explain.timeline import timeline_svg
from tennis.rally import open_rally
from tennis.rally.phases import (
    GIVES,
    GOT,
    MOVES,
    SENDS,
    SLEEPING,
    TAKES,
    USER,
    WAKES,
    WANTS,
    Symbol,
)
from tests.support.phases import made_phase, thread_of
from tests.support.virtual import played, table

FUNCTIONS = [
    Symbol(0x1000, "el1h_64_irq"),
    Symbol(0x2000, "racquet_top_half", "racquet"),
    Symbol(0x3000, "want_it"),
    Symbol(0x4000, "queued_spin_lock_slowpath"),
    Symbol(0x5000, "hold_it"),
    Symbol(0x6000, "cpu_do_idle"),
    Symbol(0x7000, "irq_thread"),
    Symbol(0x8000, "__irq_wake_thread"),
    Symbol(0x9000, "try_to_wake_up"),
    Symbol(0xA000, "gic_ipi_send_mask"),
    Symbol(0xB000, "ipi_handler"),
    Symbol(0xC000, "set_task_cpu"),
    Symbol(0xD000, "load_balance"),
    Symbol(0xE000, "rt_spin_lock"),
    Symbol(0xF000, "rtlock_slowlock_locked"),
]
IRQ, RACQUET, WANT, SPIN, HOLD, IDLE, THREAD, WAKE, TRY, SEND, IPI, SET, BALANCE = range(13)
RT_LOCK, RT_SLOW = 13, 14
NAMES = Names(FUNCTIONS)
LOCK, OTHER_LOCK, OTHER_SH = 0xFFFF0000, 0xFFFF1000, 0xFFFF3000
TASK, SH, STRESS = map(thread_of, ("irq/9-racquet", "sh", "stress"))
NUMBER, KIND = 3, 1 << 32  # of the interrupt in the kernel, and what it is for


def a_spin():
    """Return both phases of two processors: 1 wants the lock of 0, and gets the ping."""
    waits = [(-1, 0), (0, WANT), (1, SPIN), (0, IRQ), (3, RACQUET), (0, IDLE)]
    wants = [
        (100, WANTS, 2, OTHER_LOCK, SH, ""),
        (200, GOT, 2, OTHER_LOCK, SH, ""),
        (1000, WANTS, 2, LOCK, SH, ""),
        (5000, GOT, 1, LOCK, SH, ""),
    ]
    holds = [(-1, 0), (0, HOLD), (0, USER)]
    gives = [(150, GIVES, 1, OTHER_LOCK, 0, ""), (4900, GIVES, 1, LOCK, 0, "")]
    return [
        made_phase(0, holds, [(1, 1, 4950), (2, 0, 1050)], ["dd"], events=gives),
        made_phase(
            0,
            waits,
            [(1, 1, 1000), (2, 1, 4000), (3, 1, 600), (4, 1, 400)],
            ["sh"],
            processor=1,
            events=wants,
        ),
        made_phase(1, holds, [(2, 0, 500)], ["dd"]),
        made_phase(1, waits, [(4, 1, 100), (3, 0, 300), (4, 0, 100)], ["sh"], processor=1),
    ]


def test_who_held_the_lock_that_the_pings_processor_wanted():
    story = tell(3, 1000, (6000, 6500), a_spin(), NAMES, home=1)
    assert story.sentence == (
        "Ball 3 waited 6.50 µs: interrupts were off for 5.00 µs on processor 1; sh waited 4.00 µs "
        "for a lock of want_it that processor 0 (dd) held, most of it in hold_it."
    )
    assert story.cause.function == "hold_it"
    assert story.cause.ns == 3900  # from when it was wanted until it was given
    assert [(one.at, one.processor, one.event.holder) for one in story.between()] == [
        (100, 1, 0),
        (1000, 1, 0),
    ]
    # each processor's time is all of the wait
    for parts in story.processors:
        assert sum(sum(part.weights.values()) for part in parts) == story.waited


def test_a_lock_that_the_processor_held_itself_blames_nobody_else():
    phases = a_spin()
    alone = [replace(phase, processor=0) for phase in phases[1::2]]
    story = tell(3, 1000, (6000, 6500), alone, NAMES)
    assert "held" not in story.sentence
    assert "interrupts were off for 5.00 µs in " in story.sentence
    assert (story.lanes, story.between()) == ((), [])
    # somebody else's lock was given, and not the one that was waited for longest
    phases[0].events["what"] = OTHER_LOCK
    story = tell(3, 1000, (6000, 6500), phases, NAMES, home=1)
    assert "held" not in story.sentence
    assert str(story.between()[1].event) == (
        "sh waited 4.00 µs for a lock of want_it, and its holder is not known"
    )


def a_queue():
    """Return both phases of three processors: 0, then 1 hold the lock that 2 wants."""
    nodes = [(-1, 0), (0, HOLD), (0, WANT), (2, SPIN), (0, IRQ), (4, RACQUET)]
    third = [(1500, WANTS, 3, LOCK, SH, "sh"), (6000, GOT, 2, LOCK, SH, "sh")]
    second = [(1000, WANTS, 3, LOCK, OTHER_SH, "sh"), (3000, GOT, 2, LOCK, OTHER_SH, "sh")]
    lanes = [
        ("dd", thread_of("dd"), [(1, 1, 7000)], [(2900, GIVES, 1, LOCK, 0, "")]),
        (
            "sh",
            OTHER_SH,
            [(2, 1, 1000), (3, 1, 2000), (1, 1, 4000)],
            [*second, (5900, GIVES, 1, LOCK, 0, "")],
        ),
        ("sh", SH, [(2, 1, 1500), (3, 1, 4500), (4, 1, 500), (5, 1, 500)], third),
    ]
    after = [(1, 0, 500)], [(1, 0, 500)], [(5, 0, 500)]
    return [
        *(
            made_phase(0, nodes, ran, [task], threads=[thread], processor=number, events=events)
            for number, (task, thread, ran, events) in enumerate(lanes)
        ),
        *(made_phase(1, nodes, ran, ["sh"], processor=n) for n, ran in enumerate(after)),
    ]


def test_of_several_holders_the_longest_is_named_and_not_the_last_or_who_queued_too():
    phases = a_queue()
    story = tell(3, 1000, (7000, 7500), phases, NAMES, home=2)
    held = "processor 1 (sh) longest, for 3.00 µs, most of it in hold_it"
    assert story.sentence.endswith(
        f"; sh waited 4.50 µs for a lock of want_it that 2 tasks held in turn, {held}."
    )
    assert (story.cause.function, story.cause.ns) == ("hold_it", 2900)
    # two tasks of one name wait: each for as long as it did
    waits = [(one.at, one.event.waiter, one.event.ns) for one in story.between()]
    assert waits == [(1000, 1, 2000), (1500, 2, 4500)]
    # the first held it for longer: it is named, although another one gave it last
    for phase, at in ((phases[0], 4900), (phases[1], 5900)):
        phase.events["at"][-1] = 1000 + at
    assert "processor 0 (dd) longest, for 3.40 µs, most of it in hold_it" in (
        tell(3, 1000, (7000, 7500), phases, NAMES, home=2).sentence
    )


def test_a_task_that_slept_for_a_lock_before_the_ping_is_named_and_not_who_runs_there():
    wants = (0, WANTS, 0, LOCK, TASK | SLEEPING, "irq/9-racquet")
    lanes = [
        made_phase(0, [(-1, 0), (0, HOLD)], [(1, 0, 500)], ["dd"], events=[wants]),
        made_phase(
            0,
            [(-1, 0), (0, HOLD)],
            [(1, 0, 500)],
            ["sh"],
            processor=1,
            events=[(300, GIVES, 1, LOCK, 0, ""), (400, GOT, 1, LOCK, TASK | SLEEPING, "")],
        ),
    ]
    (waited,) = tell(3, 1000, (None, None), lanes, NAMES).between()
    assert str(waited.event) == (
        "irq/9-racquet waited 400 ns for a lock that processor 1 (sh) held, most of it in hold_it"
    )


def test_a_thread_that_sleeps_until_another_processor_gives_the_lock():
    """As on PREEMPT_RT: processor 1 idles meanwhile, and its own tasks are not to blame."""
    nodes = [(-1, 0), (0, IDLE), (0, IRQ), (2, WAKE), (-1, 1), (4, THREAD), (5, WANT)]
    nodes += [(6, RT_LOCK), (7, RT_SLOW), (5, RACQUET)]
    wants = [
        (at, kind, node, LOCK, TASK | SLEEPING, "irq/9-racquet")
        for at, kind, node in ((500, WANTS, 8), (4500, GOT, 7))
    ]
    ran = [(1, 1, 100), (3, 1, 200), (5, 0, 200), (8, 0, 100)]
    ran += [(1, 0, 3800), (8, 0, 100), (9, 0, 500)]
    holds = made_phase(
        *(0, [(-1, 0), (0, HOLD)], [(1, 0, 5000)], ["dd"]), events=[(4300, GIVES, 1, LOCK, 0, "")]
    )
    tasks = ["swapper/1", "irq/9-racquet"]
    lanes = [holds, made_phase(0, nodes, ran, tasks, processor=1, events=wants)]
    story = tell(3, 1000, (5000, None), lanes, NAMES, home=1)
    assert (
        "irq/9-racquet waited 4.00 µs for a lock of want_it that processor 0 (dd) held, most of it "
        "in hold_it, on processor 1."
    ) in story.sentence
    assert dict(story.moments)["the thread has the lock"] == 4400
    row = dict(zip(stages.SEVERAL.names, stages.row(story), strict=True))
    assert (row["held_ns"], row["held_by"]) == (4000, "dd on processor 0")


def a_thread_elsewhere():
    """Return phase 0: processor 0 takes the interrupt, and its thread is woken on processor 1."""
    takes = [(-1, 0), (0, USER), (0, IRQ), (2, WAKE), (3, TRY), (4, SEND), (4, SET)]
    woken = [
        (700, WAKES, 4, TASK, 0, "irq/9-racquet"),
        (750, MOVES, 6, TASK, 1, "irq/9-racquet"),
        (800, SENDS, 5, NUMBER | KIND, 0b10, ""),
    ]
    runs = [(-1, 0), (0, IDLE), (0, IRQ), (2, IPI), (-1, 1), (4, THREAD), (5, RACQUET)]
    return [
        made_phase(0, takes, [(1, 0, 500), (3, 1, 500), (1, 0, 4000)], ["dd"], events=woken),
        made_phase(
            0,
            runs,
            [(1, 1, 900), (3, 1, 1100), (5, 0, 2500), (6, 0, 500)],
            ["swapper/1", "irq/9-racquet"],
            processor=1,
            events=[(1000, TAKES, 3, NUMBER, 0, "")],
        ),
    ]


def test_which_interrupt_woke_whom_and_who_moved_it():
    story = tell(3, 1000, (5000, None), a_thread_elsewhere(), NAMES)
    assert dict(story.moments)["interrupt taken"] == 500
    assert dict(story.moments)["its thread is woken"] == 500
    assert dict(story.moments)["its thread runs"] == 2000
    assert dict(story.moments)["top half begins"] == 4500
    woke = "200 ns before to wake irq/9-racquet, in try_to_wake_up"
    assert [(one.at, one.processor, str(one.event)) for one in story.between()] == [
        (750, 0, "moved irq/9-racquet to processor 1, in try_to_wake_up"),
        (1000, 1, f"took an interrupt that processor 0 (dd) had sent {woke}"),
    ]
    # the ball's way: processor 0 until it wakes the thread, then processor 1
    (way,) = story.parts
    assert (way.woken_by, way.processor, int(way.length.sum())) == (0, 1, 5000)
    assert [way.task(int(node)) for node in way.node] == [
        *("dd", "dd", "swapper/1", "swapper/1", "irq/9-racquet", "irq/9-racquet")
    ]
    row = dict(zip(stages.SEVERAL.names, stages.row(story), strict=True))
    assert (row["taken_on"], row["top_half_on"], row["bottom_half_on"]) == (0, 1, None)
    assert (row["sent_ns"], row["sent_by"]) == (1000, "dd on processor 0")
    assert (row["moved_ns"], row["moved_by"]) == (750, "try_to_wake_up on processor 0")


def test_what_an_interrupt_interrupts_has_no_part_in_the_answer():
    """Others of the same name are woken and moved by processor 1, and sleep for its lock."""
    takes = [(-1, 0), (0, USER), (0, IRQ), (2, RACQUET)]
    wakes = [(-1, 0), (0, IRQ), (1, WAKE), (2, TRY)]
    events = [
        (300, WAKES, 3, STRESS, 0, "stress"),
        (320, MOVES, 3, STRESS, 0, "stress"),
        (340, SENDS, 3, NUMBER | KIND, 0b01, ""),
        (480, GIVES, 3, LOCK, 0, ""),
    ]
    took = [
        (50, WANTS, 1, LOCK, STRESS | SLEEPING, "stress"),
        (400, TAKES, 2, NUMBER, 0, ""),
        (490, GOT, 1, LOCK, STRESS | SLEEPING, "stress"),
    ]
    phases = [
        made_phase(0, takes, [(1, 0, 500), (2, 1, 400), (3, 1, 100)], ["stress"], events=took),
        made_phase(0, wakes, [(3, 1, 1000)], ["stress"], processor=1, events=events),
        made_phase(1, takes, [(2, 0, 100), (3, 0, 100)], ["stress"]),
        made_phase(1, wakes, [(3, 1, 200)], ["stress"], processor=1),
    ]
    story = tell(3, 1000, (1000, 1200), phases, NAMES)
    assert (story.taken, story.masked_ns) == (500, 0)
    row = dict(zip(stages.SEVERAL.names, stages.row(story), strict=True))
    assert (row["taken_on"], row["top_half_on"], row["bottom_half_on"]) == (0, 0, 0)
    assert any("waited 440 ns for a lock" in str(one.event) for one in story.between())
    assert (row["held_ns"], row["held_by"]) == (0, None)
    assert [row[name] for name in ("sent_ns", "sent_by", "moved_ns", "moved_by")] == [None] * 4


def test_what_an_interrupt_is_for():
    phases = a_thread_elsewhere()
    phases[0].events["kind"][0] = MOVES  # nobody is woken
    for kind, words in ((0, " to reschedule"), (1, " to call a function"), (3, "")):
        phases[0].events["what"][2] = kind << 32 | NUMBER
        (one,) = (o for o in tell(3, 1000, (5000, None), phases, NAMES).between() if o.at == 1000)
        assert f"had sent 200 ns before{words}, in try_to_wake_up" in str(one.event)


def test_each_of_two_senders_of_an_interrupt_is_named():
    """A GICv2 has one for each sender, and gives that of the lowest processor first."""
    sends = [[(200, SENDS, 1, NUMBER, 0b10, "")], [], [(100, SENDS, 1, NUMBER, 0b10, "")]]
    sends[1] = [(at, TAKES, 1, NUMBER, 0, "") for at in (300, 400, 500)]
    lanes = [
        made_phase(
            *(0, [(-1, 0), (0, USER)], [(1, 0, 600)], ["dd"]), processor=processor, events=events
        )
        for processor, events in enumerate(sends)
    ]
    found = [one.event for one in tell(3, 1000, (None, None), lanes, NAMES).between()]
    assert [(one.sender, one.sent, one.taken) for one in found] == [(0, 200, 300), (2, 100, 400)]


def test_the_balancer_that_moves_a_task_is_named():
    nodes = [(-1, 0), (0, USER), (0, BALANCE), (2, SET)]
    event = (20, MOVES, 3, STRESS, 1, "stress")
    lanes = [
        made_phase(0, nodes, [(1, 0, 100)], ["dd"], events=[event]),
        made_phase(0, nodes, [(1, 0, 100)], ["sh"], processor=1),
    ]
    (moved,) = tell(3, 1000, (None, None), lanes, NAMES).between()
    assert str(moved.event) == "moved stress to processor 1, in load_balance"


def test_two_lanes_are_drawn_and_what_is_between_them():
    story = tell(3, 1000, (5000, None), a_thread_elsewhere(), NAMES)
    tree = ElementTree.fromstring(timeline_svg(story, "t", "n"))  # noqa: S314
    words = [text.strip() for text in tree.itertext() if text.strip()]
    assert words.index("processor 0") < words.index("processor 1")
    assert any("moved irq/9-racquet to processor 1" in text for text in words)
    assert any("had sent 200 ns before" in text for text in words)
    alone = [replace(a_thread_elsewhere()[1], processor=0)]
    one = tell(3, 1000, (5000, None), alone, NAMES)
    assert "processor 0" not in timeline_svg(one, "t", "n")


HOLD_US, PERIOD_US = 150, 1000


@pytest.mark.more
@pytest.mark.virtual
def test_a_lock_that_is_fought_over_and_an_interrupt_that_wakes(tmp_path, capsys):
    """Known: processor 0 holds the lock for 150 of 1000 us, and processor 1 waits for it.

    The ping comes to processor 1, which is isolated: the process that answers runs on processor 0.
    """
    rally = played(
        tmp_path / "r",
        load="contention",
        load_options={"hold_us": HOLD_US, "period_us": PERIOD_US},
        bottom_half="user",
        processors=2,
        interrupt_cpu=1,
        command_line="isolcpus=1",
        balls=60,
        seed=3,
        settle_s=0.1,
    )
    assert (rally.misses, rally.manifest.suspect) == (0, False)
    assert rally.manifest.load.health[0].end > 900  # waits a second
    where = [(one.pings, one.replies) for one in rally.manifest.counts.where]
    assert where == [(0, 60), (60, 0)]
    # served at any time of a hold: nearly as long as that, never longer by more than the way
    assert 1000 * HOLD_US / 2 < rally.interrupt.values[-1] < 1000 * HOLD_US + 5000
    explanation = explain(rally, over_ns=1, about="interrupt")  # all of them, in one replay
    _the_holder_is_named(explanation, tmp_path / "why", capsys)
    free = min(explanation.stories, key=lambda story: story.rise)
    _the_interrupt_is_found(free)
    _stages_agree(rally, explanation)


def _the_holder_is_named(explanation, out, capsys):
    """In the sentence, in the terminal, in the numbers and on the page."""
    story = max(explanation.stories, key=lambda story: story.rise)
    waits, held = (
        "swapper/1 waited ",
        "for a lock of contention_wait [contention] that processor 0 ",
    )
    assert f" on processor 1; {waits}" in story.sentence
    assert held in story.sentence
    assert "contention" in f"{story.cause.function} {story.cause.callers}"
    # the innermost function with nine tenths of the wait for the lock, which is most of the answer
    assert 0.85 * story.rise < story.cause.ns < story.rise
    only = replace(explanation, stories=[story])
    _print(only, None)
    said = " ".join(capsys.readouterr().out.split())
    assert f"processor 1: {waits}" in said.partition("Between processors while ball")[2]
    write(only, out)
    (ball,) = json.loads((out / NUMBERS).read_text())["explained"]
    between = [one["what"] for one in ball["processors"]["between"] if one["processor"] == 1]
    assert any(one.startswith(waits) and held in one for one in between)
    lanes = [sum(one["ns"] for one in lane) for lane in ball["processors"]["ran"]]
    assert lanes == [ball["waited_ns"]] * 2  # of both, every nanosecond is accounted for
    assert "Between processors" in (out / PAGE).read_text()
    ElementTree.parse(out / TIMELINE)  # noqa: S314


def _stages_agree(rally, explanation):
    """Every ball has its row; the lock's holder is in those that were served while it was held.

    The rows are of the same replay: tests/explain/test_stages.py has one of its own.
    """
    stories = sorted(explanation.stories, key=lambda story: story.ball)
    stages.write(rally, [stages.row(story) for story in stories])
    done = CliRunner().invoke(cli, ["explain", "stages", str(rally.path), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    # the timer's interrupt takes the lock over whatever runs there: nothing, or who answers
    first, *others = (one["by"] for one in told["locks_held"])
    assert first == "swapper/0 on processor 0"
    assert set(others) <= {"racquet-user on processor 0"}
    found = stages.read(open_rally(rally.path))
    balls = table(rally)
    for ours, theirs in (("rise_ns", "rise_ticks"), ("fall_ns", "fall_ticks")):
        assert found.column(ours).to_pylist() == balls.column(theirs).to_pylist()
    assert set(found.column("taken_on").to_pylist()) == {1}
    assert set(found.column("bottom_half_on").to_pylist()) == {0}
    late = [rise > 10_000 for rise in balls.column("rise_ticks").to_pylist()]
    assert 2 <= sum(late) <= 20  # 150 of 1000 us
    held = found.column("held_by").to_pylist()
    assert all(by for by, is_late in zip(held, late, strict=True) if is_late)


def _the_interrupt_is_found(story):
    """Processor 1 wakes the process on processor 0, and says so with an interrupt."""
    sent = [one.event for one in story.between() if isinstance(one.event, Interrupt)]
    (woke,) = [one for one in sent if one.wakes]
    assert (woke.sender, woke.taker, woke.wakes) == (1, 0, "racquet-user")
    assert woke.number == 1  # to call a function: sched_ttwu_pending
    assert 0 < woke.taken - woke.sent < 3000  # processor 0 sleeps, and must be woken
    assert story.parts[1].processor == 0
    assert story.answerer == "racquet-user"


@pytest.mark.more
@pytest.mark.virtual
def test_a_replay_with_both_processors_busy_is_the_rally(tmp_path):
    """Turns all the time: one that the profiler ended early would make other balls."""
    rally = played(tmp_path / "r", kernel="rt", load="stress", processors=2, balls=20)
    explanation = explain(rally, over_ns=1)
    assert explanation.replayed == 20
    # QEMU counted where pings were taken, and knows nothing of the profile
    assert [one.pings for one in rally.manifest.counts.where] == [20, 0]
    assert {story.parts[0].woken_by for story in explanation.stories} == {0}
    for story in explanation.stories:
        for parts in story.processors:
            assert sum(sum(part.weights.values()) for part in parts) == story.waited
