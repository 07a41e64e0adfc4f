"""The explanation of a ball that a program answered: what it waited for, by its own functions."""

import re
import subprocess
from dataclasses import replace

import pytest

from tennis.bench.kernels import own_program
from tennis.bench.virtual import elf
from tennis.explain.causes import common_kind
from tennis.explain.code_picture import code_svg
from tennis.explain.flame import causes
from tennis.explain.segments import Names, Segments
from tennis.explain.telling import tell
from tennis.kit.checkout import ROOT
from tennis.rally.phases import (
    ASKS,
    CALLS,
    FIRES,
    GARBAGE,
    PROGRAM,
    RETURNS,
    UNNAMED_OF_PYTHON,
    USER,
    VDSO,
    WAKES,
    Symbol,
)
from tennis.rally.program import read
from tests.support.phases import made_phase, named, thread_of

FUNCTIONS = named(
    "main[program]", "set[program]", "el1h_64_irq", "edge_irq_handler", "edge_irq_thread",
    "cpu_do_idle", "__arm64_sys_ioctl", "do_mem_abort", "rt_spin_lock", "__rmqueue_pcplist",
    "__arm64_sys_futex", "work_on_it", "_PyEval_EvalFrameDefault[program]", f"{GARBAGE}[program]",
    "PyEval_RestoreThread[program]", "futex_lock_pi", "__arm64_sys_clock_nanosleep",
    "__arm64_sys_read", "__switch_to", f"{UNNAMED_OF_PYTHON}[program]", "preempt_schedule_irq",
    "__arm64_sys_write", "__schedule", "schedule_rtlock", "debounce_irq_handler",
    "gpio_set_open_drain_value_commit",
)  # fmt: skip
MAIN, SET, IRQ, EDGE, THREAD, IDLE, IOCTL, FAULT, LOCK, PAGES, FUTEX, WORK = range(12)
PYTHONS, COLLECTOR, RESTORES, LENDS, NANOSLEEP, READ, SWITCH, UNNAMED = range(12, 20)
PREEMPT, WRITE, SCHEDULE, SLOW, DEBOUNCE, DRAIN = range(20, 26)
TASKS = ["swapper/0", "irq/18-answer", "answer", "stress", "helper", "second"]
PRIORITIES = {"irq/18-answer": 50, "answer": 50, "helper": 0}
OWN = ("answer", "helper", "second")
POLICIES = {("irq/18-answer", 50): "FIFO", ("answer", 50): "FIFO"}
SWAPPER, LINE, ANSWER, STRESS, HELPER = range(5)
# each task, and where it is: parents before children
NODES = [
    (-1, SWAPPER), (-1, LINE), (-1, ANSWER), (-1, STRESS),
    (0, IDLE), (0, IRQ), (5, EDGE), (1, THREAD),
    (2, USER), (8, MAIN), (9, SET), (2, IOCTL),
    (2, FAULT), (12, LOCK), (3, PAGES), (2, FUTEX),
    (3, IRQ), (16, EDGE), (3, USER), (9, WORK),
    (-1, HELPER), (20, USER), (21, WORK), (8, PYTHONS),
    (23, COLLECTOR), (23, RESTORES), (15, LENDS),
    (2, NANOSLEEP), (2, READ), (12, SWITCH), (8, UNNAMED), (8, COLLECTOR),
    (12, IRQ), (32, PREEMPT), (33, SCHEDULE), (2, WRITE), (35, PREEMPT), (36, SCHEDULE),
    (-1, SWAPPER + 5), (38, USER), (39, WORK), (2, READ), (41, LOCK), (42, SLOW), (43, SCHEDULE),
    (5, DEBOUNCE), (11, DRAIN),
]  # fmt: skip
IDLES, TAKEN, HANDLED, THREADED, IN_MAIN, IN_SET, RAISES = 4, 5, 6, 7, 9, 10, 11
FAULTS, WAITS, HOLDS, LOCKS, ELSEWHERE, WORKS = 12, 13, 14, 15, 18, 19
HELPS, INTERPRETS, COLLECTS, RESTORED, LENT, SLEEPS, READS, SWITCHED, TRAVERSES, COLLECTED = range(
    22, 32
)
TAKEN_IN_FAULT, TAKEN_IN_WRITE = 34, 37
HELPS_TOO, BLOCKED, DEBOUNCED, DRAINED = 40, 44, 45, 46
FALLS = [(RAISES, 0, 800), (IN_MAIN, 0, 20), (IN_SET, 0, 80), (RAISES, 0, 2000)]


def tell_of(*lanes, events=((), ()), nodes=NODES, symbols=FUNCTIONS, pcs=None, **more):
    """Return the story of a ball: what ran until the rise on each processor, and what happened.

    ``pcs``: addresses in user space, by segment. ``more``: of all phases, or of the names.
    """
    allowed, priorities = more.pop("allowed", 0), more.pop("priorities", PRIORITIES)
    phases = [
        made_phase(
            number, nodes, FALLS if number else ran, TASKS, priorities=priorities, of_program=OWN,
            allowed=allowed, processor=processor, events=() if number else events[processor],
        )
        for number in range(2)
        for processor, ran in enumerate(lanes)
    ]  # fmt: skip
    for segment, pc in (pcs or {}).items():
        phases[0].segments["pc"][segment] = pc
    rise = sum(ns for _, _, ns in lanes[0])
    names = more.pop("names", None) or Names(symbols, POLICIES, of_program=True, **more)
    return tell(3, 1000, (rise, rise + 2900), phases, names)


def story(*until_the_rise, **more):
    return tell_of(until_the_rise, **more)


WAY = [(IDLES, 0, 200), (TAKEN, 1, 800), (HANDLED, 1, 400), (THREADED, 0, 9000)]
CAME = [*WAY, (IN_MAIN, 0, 100)]


def test_its_moments_are_those_of_a_program():
    told = story(*WAY, (IN_MAIN, 0, 100), (RAISES, 0, 2000))
    assert told.moments == [
        ("ping rises", 0),
        ("interrupt taken", 200),
        ("its line's thread runs", 1400),
        ("the program runs", 10_400),
        ("reply rises", 12_500),
        ("the program runs again", 13_300),
        ("reply falls", 15_400),
    ]
    assert "half" not in told.sentence
    assert "Racquet" not in told.sentence


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        # a page, for which the kernel wants a lock that an ordinary process holds
        (
            [*WAY, (IN_MAIN, 0, 100), (FAULTS, 0, 50), (WAITS, 0, 50), (HOLDS, 0, 1_000_000)],
            (
                "answer (FIFO 50) ran after 10.4 µs, and waited 1.00 ms for a page of its memory, "
                "touched in main; most of the time the processor was in __rmqueue_pcplist"
            ),
        ),
        # the processor was taken from it there, and it waited for no page
        (
            [*CAME, (FAULTS, 0, 50), (TAKEN_IN_FAULT, 1, 50), (ELSEWHERE, 0, 1_000_000)],
            (
                "answer (FIFO 50) ran after 10.4 µs, and lost the processor for 1.00 ms within a "
                "page fault; most of the time the processor was in user space of stress"
            ),
        ),
        (
            [*CAME, (TAKEN_IN_WRITE, 0, 50), (ELSEWHERE, 0, 1_000_000)],
            "and lost the processor for 1.00 ms within its system call write; most of the time",
        ),
        # its own lock
        (
            [*WAY, (IN_MAIN, 0, 100), (LOCKS, 0, 50), (ELSEWHERE, 0, 1_000_000), (IN_MAIN, 0, 9)],
            (
                "and waited 1.00 ms for a lock of its own without priority inheritance (futex), "
                "called in main; most of the time the processor was in user space of stress"
            ),
        ),
        # its owner gets the processor at last, and gives it back
        (
            [*CAME, (LOCKS, 0, 50), (ELSEWHERE, 0, 1_000_000), (HELPS, 0, 200), (IN_MAIN, 0, 9)],
            (
                "for a lock of its own without priority inheritance (futex), which another thread "
                "of it had, helper (no real-time priority), to whom nobody lent a "
                "priority; wanted in main; most"
            ),
        ),
        # it worked, too, and not only waited
        (
            [*CAME, (WORKS, 0, 300_000), (LOCKS, 0, 50), (ELSEWHERE, 0, 700_000)],
            (
                "and waited 700 µs for a lock of its own without priority inheritance (futex), "
                "called in work_on_it < main; 300 µs were the program's own code in answer: "
                "work_on_it; in all it answered 1.00 ms later; most of the time the processor was"
            ),
        ),
        # it waited twice: for the processor, and when it ran
        (
            [*WAY, (ELSEWHERE, 0, 300_000), (IN_MAIN, 0, 100), (WORKS, 0, 200_000)],
            (
                "did not get to its own code for 309 µs after its line's thread had the ping; most "
                "of the time the processor was in user space of stress; then it answered 200 µs "
                "later: 200 µs of the program's own code in answer: work_on_it, most in work_on_it"
            ),
        ),
        # CPython
        (
            [*WAY, (RESTORED, 0, 9), (LOCKS, 0, 50), (HELPS, 0, 200_000), (INTERPRETS, 0, 9)],
            "for the lock of Python's interpreter without priority inheritance (futex), which",
        ),
        (
            [*WAY, (INTERPRETS, 0, 9_000), (COLLECTS, 0, 300_000), (RAISES, 0, 2000)],
            "300 µs of the program's own code in answer: garbage collection, most in",
        ),
        # pages that it fills
        (
            [*WAY, (IN_MAIN, 0, 100), (FAULTS, 0, 300_000), (IN_MAIN, 0, 100), (RAISES, 0, 2000)],
            "302 µs later: 300 µs of page fault of answer, touched in main, most in do_mem_abort",
        ),
        # what it computes itself
        (
            [*WAY, (WORKS, 0, 300_000), (RAISES, 0, 2000)],
            (
                "300 µs of the program's own code in answer: work_on_it, most in work_on_it < main "
                "(its own code, in answer)"
            ),
        ),
        # nobody gave it a priority
        (
            [*WAY, (ELSEWHERE, 0, 10_000_000), (IN_MAIN, 0, 100), (RAISES, 0, 2000)],
            (
                "answer (FIFO 50) did not get to its own code for 10.0 ms after its line's thread "
                "had the ping; most of the time the processor was in user space of stress"
            ),
        ),
        # it slept when the ping came, or was still at the ball before
        (
            [*WAY, (ELSEWHERE, 0, 200_000), (SLEEPS, 0, 900), (IN_MAIN, 0, 100), (RAISES, 0, 2000)],
            (
                "answer (FIFO 50) slept when the ping came (system call clock_nanosleep, "
                "called in main), and did not get to "
                "its own code for 210 µs after its line's thread had the ping; most"
            ),
        ),
        (
            [
                *WAY,
                (ELSEWHERE, 0, 199_900),
                (SWITCHED, 0, 100),  # still on the stack of who ran before
                (READS, 0, 900),
                (IN_MAIN, 0, 100),
                (RAISES, 0, 2000),
            ],
            "answer (FIFO 50) did not get to its own code for 210 µs",
        ),
        # nor the line's thread
        (
            [*WAY[:3], (ELSEWHERE, 0, 50_000), *WAY[3:], (IN_MAIN, 0, 100), (RAISES, 0, 2000)],
            "the line's thread irq/18-answer (FIFO 50) did not run for 50.4 µs; most of the time",
        ),
        # another task's code at the same address is not the program's
        ([*WAY, (ELSEWHERE, 0, 500)], "its way was not recorded whole; most"),
    ],
)
def test_the_sentence_names_what_it_waited_for(phase, said):
    rose = [*phase, (IN_MAIN, 0, 100), (RAISES, 0, 100)]
    told = story(*(phase if "its way" in said else rose))
    assert said in told.sentence, told.sentence


def test_each_of_three_processors_has_its_part():
    """The interrupt on 0 wakes the line's thread on 1, and that wakes the program on 2."""
    whole, woken, called = 100_000, 2000, 12_000
    rest = (ELSEWHERE, 0, whole - 200 - 800 - 1000)
    lanes = [
        (
            [(ELSEWHERE, 0, 200), (TAKEN, 1, 800), (HANDLED, 1, 1000), rest],
            [(woken, HANDLED, LINE)],
        ),
        (
            [(IDLES, 0, 3000), (THREADED, 0, 9500), (IDLES, 0, whole - 12_500)],
            [(called, THREADED, ANSWER)],
        ),
        ([(ELSEWHERE, 0, 95_000), (IN_MAIN, 0, 3000), (RAISES, 0, 2000)], []),
    ]
    phases = [
        made_phase(
            0,
            NODES,
            segments,
            TASKS,
            priorities=PRIORITIES,
            of_program=["answer"],
            processor=number,
            events=[
                (at, WAKES, node, thread_of(TASKS[whom]), 0, TASKS[whom])
                for at, node, whom in wakes
            ],
        )
        for number, (segments, wakes) in enumerate(lanes)
    ]
    falls = [
        made_phase(1, NODES, FALLS, TASKS, of_program=OWN, processor=number) for number in range(3)
    ]
    names = Names(FUNCTIONS, POLICIES, of_program=True)
    told = tell(3, 1000, (whole, whole + 2900), [*phases, *falls], names)
    assert told.moments[:5] == [
        ("ping rises", 0),
        ("interrupt taken", 200),
        ("its line's thread runs", 3000),
        ("the program runs", 95_000),
        ("reply rises", whole),
    ]
    assert (
        "answer (FIFO 50) on processor 2 did not get to its own code for 92.0 µs" in told.sentence
    )
    assert "the processor was in user space of stress" in told.sentence
    assert (told.parts[0].woken_by, told.parts[0].processor) == (0, 2)


def three_of_one_name(*, ran_before, policies):
    """Return the story of a ball that a thread without a priority answered, and two like it not."""
    tasks = ["irq/18-answer", "answer", "answer", "answer"]
    nodes = [(-1, 0), (0, THREAD), (-1, 1), (2, USER), (3, MAIN), (-1, 2), (5, USER)]
    nodes += [(2, FUTEX), (6, WORK), (2, IOCTL), (-1, 3), (10, USER)]
    ran = [(1, 0, 900), *ran_before, (4, 0, 100), (9, 0, 2000)]
    phases = [
        made_phase(n, nodes, what, tasks, threads=[16, 32, 48, 64], of_program=["answer"])
        for n, what in enumerate((ran, [(9, 0, 800), (4, 0, 80), (9, 0, 2000)]))
    ]
    for phase in phases:
        phase.priorities[:] = [50, 0, 80, 0]
    rise = sum(ns for _, _, ns in ran)
    names = Names(FUNCTIONS, policies, of_program=True)
    return tell(3, 1000, (rise, rise + 2880), phases, names)


def test_each_thread_of_one_name_has_its_own_priority_and_its_own_turn():
    """The one that answers has none, and waits for another one that has 80: that is the cause."""
    policies = {("irq/18-answer", 50): "FIFO", ("answer", 80): "FIFO"}
    told = three_of_one_name(ran_before=[(6, 0, 2_930_000)], policies=policies)
    assert (
        "answer (no real-time priority) did not get to its own code for 2.93 ms after its line's"
    ) in told.sentence
    assert told.sentence.endswith("(its own code, in answer), at FIFO 80.")
    assert told.top_half == 900 + 2_930_000  # and not when the other one ran
    told = three_of_one_name(
        ran_before=[(4, 0, 100), (7, 0, 50), (6, 0, 800_000)], policies=policies
    )
    assert "answer (no real-time priority) ran after 900 ns, and waited 800 µs for a lock" in (
        told.sentence
    )
    assert "which another thread of it had, answer (FIFO 80), to whom" in told.sentence


def test_above_its_lines_thread_a_program_waits_for_that_thread():
    """It takes the processor from who wakes it, and then needs the lock which that one has."""
    ran = [*WAY, (BLOCKED, 0, 9000), (THREADED, 0, 3000), (BLOCKED, 0, 900), (IN_MAIN, 0, 9)]
    above = {**PRIORITIES, "answer": 80}
    told = story(*ran, (RAISES, 0, 100), priorities=above)
    ((_, count, ns),) = causes([told])
    assert (count, ns) == (1, told.rise)  # and not what one task took of it
    assert (
        "answer (real-time priority 80) has a higher priority than its line's thread irq/18-answer "
        "(FIFO 50): woken by it, it took the processor from it, and then had to wait for a lock "
        "that the thread still held (__arm64_sys_read); that took 21.9 µs"
    ) in told.sentence
    assert told.kind == "a priority above its line's thread, of __arm64_sys_read"
    assert "higher priority" not in story(*ran, (RAISES, 0, 100)).sentence
    without = [*WAY, (BLOCKED, 0, 9000), (ELSEWHERE, 0, 3000), (BLOCKED, 0, 900), (IN_MAIN, 0, 9)]
    told = story(*without, (RAISES, 0, 100), priorities=above)
    assert "higher priority" not in told.sentence


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        ([(TAKEN, 1, 800), (DEBOUNCED, 1, 90)], "did not answer: it asked for a debounced line"),
        ([*CAME, (DRAINED, 0, 90)], "did not answer: its reply line is an open drain"),
        (CAME, "did not answer; most of the time"),
        ([(IDLES, 1, 90_000)], "did not answer; most of the time"),  # asleep, not deaf
        ([(TAKEN, 1, 90_000)], "interrupts were off for 90.0 µs in"),
        (
            [*WAY[:3], (WORKS, 0, 900_000)],
            "did not answer: answer polls: it waits in no call, has the processor all the time",
        ),
        ([*WAY, (WORKS, 0, 900_000)], "did not answer; most of the time"),
        ([*WAY[:3], (ELSEWHERE, 0, 900_000)], "did not answer; most of the time"),
    ],
)
def test_a_missed_ball_says_what_kept_the_reply(ran, said):
    phase = made_phase(0, NODES, [*ran, (IDLES, 0, 9000)], TASKS, of_program=OWN)
    told = tell(3, 1000, (None, None), [phase], Names(FUNCTIONS, POLICIES, of_program=True))
    assert said in told.sentence


def test_what_most_balls_wait_for_is_said_if_most_do():
    trap = replace(story(*CAME, (RAISES, 0, 2000)), kind="trap", latency="interrupt")
    other = replace(trap, kind="page")
    assert common_kind([trap] * 3 + [other], "interrupt") == "trap"
    assert common_kind([trap] * 2 + [other] * 2, "interrupt") == ""
    assert common_kind([trap] * 3, "scheduling") == common_kind([], "whole") == ""


ROOT_OF_ANSWER = 2
OBJECTS = [(0x500000, 0x500030, "ledger")]
FUTEX_CALL, SLEEP_CALL = 98 << 32, 115 << 32


@pytest.mark.parametrize(
    ("user", "kernel", "result", "said", "kind"),
    [
        (
            "pthread_cond_timedwait",
            "__arm64_sys_futex",
            2**64 - 110,
            "condition (futex ledger), which nobody gave it within its time (ETIMEDOUT), called",
            "condition ledger, in pthread_cond_timedwait < main, timed out",
        ),
        (
            "__new_sem_wait_slow",
            "__arm64_sys_futex",
            0,
            "waited 90.0 µs for the semaphore (futex ledger), called in __new_sem_wait_slow < main",
            "semaphore ledger, in __new_sem_wait_slow < main",
        ),
        (
            "write",
            "__arm64_sys_write pipe_write",
            0,
            "its system call write, on a pipe that was full, called in write < main; most of",
            "system call write, on a pipe that was full, called in write < main",
        ),
    ],
)
def test_what_a_program_waits_for_is_named_in_full(user, kernel, result, said, kind):
    symbols = [*FUNCTIONS, Symbol(0xFE00, user, PROGRAM)]
    symbols += [Symbol(0xFE10 + n, name) for n, name in enumerate(kernel.split())]
    calls, begins = len(NODES), len(FUNCTIONS) + 1
    nodes = [*NODES, (9, len(FUNCTIONS)), (ROOT_OF_ANSWER, begins)]
    nodes += [(calls + 1, begins + 1)] if " " in kernel else []
    begun = sum(ns for _, _, ns in CAME) + 10
    number = FUTEX_CALL if "futex" in kernel else 1 << 32
    events = [
        (begun, CALLS, calls, 0x500010, number | 137, ""),
        (begun + 90_050, RETURNS, calls, result, number | 137, ""),
    ]
    ran = [*CAME, (calls, 0, 10), (len(nodes) - 1, 0, 50), (HELPS, 0, 90_000), (IN_MAIN, 0, 9)]
    ran += [(RAISES, 0, 9)]
    told = tell_of(ran, events=[events], nodes=nodes, symbols=symbols, objects=OBJECTS)
    assert said in told.sentence, told.sentence
    assert told.kind == kind


def test_a_signal_handler_is_named_and_a_place_replaces_functions():
    """The kernel lets a handler return to the vDSO; its caller there is what it interrupted."""
    symbols = [*FUNCTIONS, Symbol(0xFE00, VDSO, PROGRAM), Symbol(0xFE10, "on_alarm", PROGRAM)]
    nodes = [*NODES, (9, len(FUNCTIONS)), (len(NODES), len(FUNCTIONS) + 1)]
    ran = [*CAME, (len(nodes) - 1, 0, 90_000), (RAISES, 0, 9)]
    pcs, places = dict.fromkeys(range(len(ran)), 0x400100), {0x400100: "on_alarm (answer.c:12)"}
    told = tell_of(ran, nodes=nodes, symbols=symbols, pcs=pcs, places=places)
    assert "on_alarm, in its signal handler on_alarm, in on_alarm (answer.c:12), most" in (
        told.sentence
    )


def test_a_picture_has_the_place_of_each_span_of_the_program_and_of_no_interrupt():
    ran = [*CAME, (WORKS, 0, 90_000), (LOCKS, 0, 50_000), (TAKEN_IN_FAULT, 1, 40_000)]
    ran += [(IN_MAIN, 0, 100), (RAISES, 0, 9)]
    told = tell_of(ran, pcs={5: 0x400100}, places={0x400100: "work_on_it (a.c:12)"})
    svg = code_svg(told, "title", "note", 900)
    told = re.findall(r"<title>([^<]*)</title>", svg)
    assert any(one.endswith("work_on_it, in work_on_it (a.c:12) (the program)") for one in told)
    (interrupt,) = [one for one in told if "preempt" in one or "40.0 µs" in one]
    assert "a.c" not in interrupt


@pytest.mark.parametrize("moved", [[], [(THREADED, 0, 900)]])
def test_a_program_that_ran_and_then_waited_for_a_thread_elsewhere_was_not_busy(moved):
    """Another thread woke it last, and it had the ping long before.

    The line's thread may have to go on elsewhere, behind that: the program takes its processor.
    """
    begun = sum(ns for _, _, ns in CAME)
    ran = [*CAME, (LOCKS, 0, 50), (IDLES, 0, 90_000), (IN_MAIN, 0, 100), (RAISES, 0, 2000)]
    whole = sum(ns for _, _, ns in ran)
    wakes = [
        (1000, WAKES, HANDLED, thread_of("irq/18-answer"), 0, "irq/18-answer"),
        (begun - 200, WAKES, THREADED, thread_of("answer"), 0, "answer"),
    ]
    again = [(begun + 90_000, WAKES, HELPS, thread_of("answer"), 0, "answer")]
    there = [(HELPS, 0, begun), *moved, (HELPS, 0, whole - begun - sum(ns for *_, ns in moved))]
    sentence = tell_of(ran, there, events=(wakes, again)).sentence
    assert "ran after 10.4 µs, and waited 90.0 µs for a lock of its own" in sentence
    assert "still at something else" not in sentence


def test_another_processor_that_was_free_is_named():
    ran = [*WAY, (ELSEWHERE, 0, 90_000), (IN_MAIN, 0, 100), (RAISES, 0, 2000)]
    whole = sum(ns for _, _, ns in ran)

    def told(rest, allowed):
        return tell_of(ran, [(rest, 0, whole)], allowed=allowed).sentence

    assert "(it is bound to processor 0, and processor 1 was free); most" in told(IDLES, 1)
    assert "the ping (processor 1 was free); most" in told(IDLES, 3)
    assert "was free" not in told(ELSEWHERE, 1)


def test_an_owner_that_others_keep_from_another_processor_has_two_causes():
    """One processor waits for a lock, and its owner, on the other one, for that processor."""
    begun = sum(ns for _, _, ns in CAME)
    ran = [*CAME, (LOCKS, 0, 50), (IDLES, 0, 90_000), (IN_MAIN, 0, 9), (RAISES, 0, 2000)]
    whole, wake = sum(ns for _, _, ns in ran), begun + 80_000

    def told(others):
        there = [(others, 0, wake - 3000), (HELPS, 0, whole - wake + 3000)]
        wants = (begun, CALLS, IN_MAIN, 0x500010, FUTEX_CALL | 128, "")
        gives = (wake, CALLS, HELPS, 0x500010, FUTEX_CALL | 129, "")
        return tell_of(ran, there, events=([wants], [gives]), objects=OBJECTS).sentence

    kept = "; that one's processor 1 was at others for 77.0 µs, in user space of stress"
    assert kept in told(ELSEWHERE)
    assert "; on processor 1 that one was in work_on_it (its own code, in helper); most" in told(
        HELPS
    )
    assert "that one" not in told(IDLES)


def test_a_lock_has_the_name_of_its_variable_and_who_gave_it_back():
    """Another thread runs last, but it freed another lock: the one that freed this one had it."""
    begun = sum(ns for _, _, ns in CAME)
    ran = [*CAME, (LOCKS, 0, 50), (HELPS, 0, 900), (ELSEWHERE, 0, 9000), (HELPS_TOO, 0, 500)]
    ran += [(IN_MAIN, 0, 9), (RAISES, 0, 100)]
    wants = (begun, CALLS, IN_MAIN, 0x500010, FUTEX_CALL | 128, "")
    gives = (begun + 900, CALLS, HELPS, 0x500010, FUTEX_CALL | 129, "")
    other = (begun + 10_200, CALLS, HELPS_TOO, 0x600000, FUTEX_CALL | 129, "")
    back = (begun + 10_450, RETURNS, IN_MAIN, 0, FUTEX_CALL | 128, "")
    sentence = tell_of(ran, events=[[wants, gives, other, back]], objects=OBJECTS).sentence
    assert "(futex ledger), which another thread of it had, helper (no real-time" in sentence
    assert "; wanted in main, given back in work_on_it; most" in sentence
    late = (begun + 10_450, RETURNS, IN_MAIN, 2**64 - 110, FUTEX_CALL | 128, "")
    sentence = tell_of(ran, events=[[wants, gives, other, late]], objects=OBJECTS).sentence
    assert "(futex ledger), which nobody gave it within its time (ETIMEDOUT)" in sentence
    assert "another thread" not in sentence


@pytest.mark.parametrize(
    ("asks", "said"),
    [
        ((20_000, 0), ", asked for 20.0 µs, with a timer slack of 50.0 µs, called in main)"),
        ((7, 1), ", until a fixed time, with a timer slack of 50.0 µs, called in main)"),
        (None, "(system call clock_nanosleep, with a timer slack of 50.0 µs, called in main)"),
    ],
)
def test_a_sleep_says_what_was_asked_for(asks, said):
    begun = sum(ns for _, _, ns in CAME)
    ran = [*CAME, (SLEEPS, 0, 50), (IDLES, 0, 70_000), (IN_MAIN, 0, 9), (RAISES, 0, 100)]
    events = [(begun, CALLS, IN_MAIN, 0, SLEEP_CALL, "")]
    events += [(begun, ASKS, IN_MAIN, *asks, "")] if asks else []
    events += [
        (begun + 60_000, FIRES, IDLES, 50_000, thread_of("answer"), ""),
        (begun + 60_000, FIRES, IDLES, 900_000, thread_of("stress"), ""),
        (begun + 70_050, RETURNS, IN_MAIN, 0, SLEEP_CALL, ""),
    ]
    sentence = tell_of(ran, events=[events]).sentence
    assert "slept 70.0 µs (system call clock_nanosleep" in sentence
    assert said in sentence


CHAIN = 4400


@pytest.mark.parametrize("whom", [STRESS, HELPER])
def test_a_long_chain_of_wakes_has_an_end(whom):
    """Two tasks of one name wake each other all the time, and at last one wakes the program.

    An ordinary process waits for no ping, so the way begins there; threads of the program may.
    """
    mine, other = thread_of(TASKS[whom]), thread_of("answer") + 16
    runs_at = ELSEWHERE if whom == STRESS else HELPS
    turns = [(10 * n, WAKES, runs_at, (mine, other)[n % 2], 0, TASKS[whom]) for n in range(CHAIN)]
    ends = 10 * CHAIN
    turns.append((ends - 5, WAKES, runs_at, thread_of("answer"), 0, "answer"))
    lanes = [
        made_phase(0, NODES, [(runs_at, 0, ends + 3000)], TASKS, of_program=OWN, events=turns),
        made_phase(
            0,
            NODES,
            [(IDLES, 0, ends), (IN_MAIN, 0, 1000), (RAISES, 0, 2000)],
            TASKS,
            of_program=OWN,
            processor=1,
        ),
    ]
    falls = [
        made_phase(1, NODES, FALLS, TASKS, of_program=OWN, processor=number) for number in range(2)
    ]
    names = Names(FUNCTIONS, POLICIES, of_program=True)
    told = tell(3, 1000, (ends + 3000, ends + 5900), [*lanes, *falls], names)
    assert (told.parts[0].woken_by, told.parts[0].processor) == (0, 1)
    assert told.top_half == ends


def test_where_threads_begin_says_nothing():
    """Two threads had the processor: the one that had it for most of the time is named."""

    def said(first_ns):
        symbols = [
            Symbol(0x9000 + n, one, PROGRAM) for n, one in enumerate(("start_thread", "a", "b"))
        ]
        nodes = [(-1, 0), (0, USER), (1, 0), (2, 1), (2, 2)]
        phase = made_phase(0, nodes, [(3, 0, first_ns), (4, 0, 4000)], ["p"], of_program=["p"])
        part = Segments(phase, Names(symbols, of_program=True))
        return str(part.blame(part.weights))

    assert said(6000).startswith("a < start_thread")
    assert said(4000).startswith("start_thread")


def test_a_function_has_one_name_whatever_the_compiler_makes_of_it():
    symbols = [
        Symbol(0x1000 + n, name, PROGRAM)
        for n, name in enumerate(("keep.isra.0", "keep.part.0.cold", "Shelf::operator.", "a.b"))
    ]
    names = Names([*symbols, Symbol(0x2000, "keep.isra.0")])
    assert [names.name(n) for n in range(5)] == [
        *(f"{name} [{PROGRAM}]" for name in ("keep", "keep", "Shelf::operator.", "a.b")),
        "keep.isra.0",  # of the kernel: kallsyms has that one
    ]


def test_a_program_s_functions_are_those_of_its_symbols(tmp_path):
    built = own_program.built(read(ROOT / "target/programs/bad-mutex.c")).files
    named = {symbol.name: symbol for symbol in elf.functions(built)}
    assert {"main", "count_slowly", "pthread_mutex_lock"} <= named.keys()
    assert named["main"].module == PROGRAM
    # what the kernel maps behind it, to read the clock, had the last function's name
    assert max(named.values(), key=lambda symbol: symbol.address).name == VDSO
    assert elf.why_nameless(built) == ""
    ((place, content),) = built.items()
    (tmp_path / "x").write_bytes(content)
    subprocess.run(["aarch64-linux-gnu-strip", tmp_path / "x"], check=True)
    stripped = {place: (tmp_path / "x").read_bytes()}
    assert elf.functions(stripped) == []
    assert "it is stripped" in elf.why_nameless(stripped)
    assert "no executable of its own" in elf.why_nameless({"/program/answer.py": b"import os\n"})
    moved = {place: content[:16] + b"\x03\x00" + content[18:]}
    assert "another one in each boot" in elf.why_nameless(moved)
    for end in range(0, len(content), 9973):  # cut off anywhere, it is no trouble
        elf.functions({place: content[:end]})


STRIPPED = r"""
#include <stdio.h>
int exported(int x) { return x + 1; }
__attribute__((noinline)) static int hidden(int x) { puts("h"); return x * 3; }
__attribute__((noinline)) static int collects(int x)
{
    __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
                     ".4byte 8, 992f-991f, 3\n.asciz \"stapsdt\"\n.balign 4\n"
                     "991: .8byte 990b, 0, 0\n.asciz \"python\"\n.asciz \"gc__start\"\n"
                     ".asciz \"\"\n992: .balign 4\n.popsection\n");
    puts("c");
    return x * 5;
}
int main(int argc, char **argv) { (void)argv; return hidden(exported(argc)) + collects(argc); }
"""


def test_a_stripped_interpreter_tells_what_has_no_name(tmp_path):
    """As Debian's Python: a function without a name is not called as the one before it."""
    (tmp_path / "a.c").write_text(STRIPPED)
    line = ["aarch64-linux-gnu-gcc", "-O2", "-no-pie", "-rdynamic", "a.c", "-o", "x"]
    subprocess.run(line, cwd=tmp_path, check=True)
    whole = (tmp_path / "x").read_bytes()
    places = {symbol.name: symbol.address for symbol in elf.functions({"x": whole})}
    subprocess.run(["aarch64-linux-gnu-strip", "x"], cwd=tmp_path, check=True)
    content = (tmp_path / "x").read_bytes()
    told = {symbol.address: symbol.name for symbol in elf.functions({"x": content})}
    assert told[places["exported"]] == "exported"
    assert told[places["hidden"]] == UNNAMED_OF_PYTHON
    assert told[places["collects"]] == GARBAGE
    assert elf.why_nameless({"x": content}) == ""
    for end in range(0, len(content), 997):  # cut off anywhere, it is no trouble
        elf.functions({"x": content[:end]})
