"""A ball's story on several processors: who held the lock, which interrupt woke whom, who moved."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tennis.explain import stages
from tennis.explain.replayed import explain
from tennis.explain.segments import Names
from tennis.explain.telling import tell
from tennis.explain.timeline import timeline_svg
from tennis.rally.phases import GIVES, GOT, MOVES, SENDS, SLEEPING, TAKES, USER, WAKES, WANTS
from tests.support.phases import made_phase, named, thread_of
from tests.support.virtual import played

COLUMNS = [one.name for one in (*stages.FIELDS, *stages.SEVERAL)]

FUNCTIONS = named(
    "el1h_64_irq", "racquet_top_half[racquet]", "want_it", "queued_spin_lock_slowpath", "hold_it",
    "cpu_do_idle", "irq_thread", "__irq_wake_thread", "try_to_wake_up", "gic_ipi_send_mask",
    "ipi_handler", "set_task_cpu", "load_balance", "rt_spin_lock", "rtlock_slowlock_locked",
)  # fmt: skip
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
    row = dict(zip(COLUMNS, stages.row(story), strict=True))
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
    row = dict(zip(COLUMNS, stages.row(story), strict=True))
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
    row = dict(zip(COLUMNS, stages.row(story), strict=True))
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
