"""The explanation of a ball that somebody's own Racquet answered: by its functions and lines."""

import re
from xml.etree import ElementTree

import pytest

from tennis.explain.code_picture import code_svg
from tennis.explain.segments import Names
from tennis.explain.telling import tell
from tennis.rally.phases import GIVES, GOT, SLEEPING, WANTS, Symbol
from tests.support.phases import made_phase, thread_of

OWN = "racquet"
FUNCTIONS = [
    Symbol(0x1000, "el1h_64_irq"),
    Symbol(0x2000, "__irq_wake_thread"),
    Symbol(0x3000, "irq_thread"),
    Symbol(0x4000, "pl061_set_value"),
    Symbol(0x5000, "rt_mutex_slowlock"),
    Symbol(0x6000, "__schedule"),
    Symbol(0x7000, "mutex_unlock"),
    Symbol(0x8000, "cpu_do_idle"),
    Symbol(0x9000, "process_one_work"),
    Symbol(0xA000, "usleep_range"),
    Symbol(0x10000, "turned", OWN, "wheel.c:10"),
    Symbol(0x10010, "turned", OWN, "wheel.c:11", goes_on=True),
    Symbol(0x10100, "keeps", OWN, "wheel.c:20"),
    Symbol(0x10110, "keeps", OWN, "wheel.c:21", goes_on=True),
    Symbol(0x10200, "works", OWN, "wheel.c:30"),
    Symbol(0x10300, "fires", OWN, "wheel.c:40"),
    Symbol(0x20000, "handle_softirqs"),
]
IRQ, WAKE, THREAD, SETS, LOCK, SWITCH, UNLOCK, IDLE, WORK, SLEEP = range(10)
TURNED, TURNED_LATER, KEEPS, KEEPS_LATER, WORKS, FIRES, SOFTIRQ = range(10, 17)
TASKS = ["swapper/0", "irq/17-wheel", "keeper", "kworker/0:1", "stress"]
LOCKS = [Symbol(0x90000, "wheel_lock", OWN), Symbol(0x90100, "another", OWN)]
HANDLER, KEEPER = thread_of("irq/17-wheel"), thread_of("keeper")
# what is where: parents before children
TREE = {
    "swapper": (None, 0), "idle": ("swapper", IDLE), "irq": ("swapper", IRQ), "wake": ("irq", WAKE),
    "thread": (None, 1), "runs": ("thread", THREAD), "turned": ("runs", TURNED),
    "later": ("runs", TURNED_LATER), "sets": ("later", SETS), "locks": ("turned", LOCK),
    "switches": ("locks", SWITCH), "sleeps": ("turned", SLEEP), "asleep": ("sleeps", SWITCH),
    "keeper": (None, 2), "keeps": ("keeper", KEEPS), "most": ("keeper", KEEPS_LATER),
    "unlocks": ("most", UNLOCK), "fires_irq": ("most", IRQ), "fires": ("fires_irq", FIRES),
    "kworker": (None, 3), "work": ("kworker", WORK), "works": ("work", WORKS),
    "behind": ("work", KEEPS), "lowers": ("works", SETS),
    "hard": ("fires_irq", TURNED), "hard_sets": ("hard", SETS),
    "stress": (None, 4), "stress_irq": ("stress", IRQ),
}  # fmt: skip
AT = {name: number for number, name in enumerate(TREE)}
NODES = [(-1 if parent is None else AT[parent], what) for parent, what in TREE.values()]
WAY = [("idle", 0, 200), ("irq", 1, 600), ("wake", 1, 200), ("runs", 0, 500)]
RAISES = [("later", 0, 100), ("sets", 0, 20)]


def story(until_the_rise, until_the_fall=(("later", 0, 300), ("sets", 0, 20)), events=(), **more):
    """Return the story of a ball of some segments: (what, interrupts off, ns)."""
    phases = []
    for number, ran in enumerate((until_the_rise, until_the_fall)):
        its = [(AT[name], off, ns) for name, off, ns in ran]
        happened = [(at, kind, AT[where], *rest) for at, kind, where, *rest in events]
        priorities = {"irq/17-wheel": 50}
        phases.append(
            made_phase(
                number, NODES, its, TASKS, events=() if number else happened, priorities=priorities
            )
        )
    rise, fall = (sum(ns for *_, ns in ran) for ran in (until_the_rise, until_the_fall))
    names = Names(FUNCTIONS, {("irq/17-wheel", 50): "FIFO"}, own_racquet=more.get("locks", LOCKS))
    return tell(3, 1000, (rise, rise + fall), phases, names)


WAITED = [*WAY, ("turned", 0, 100), ("locks", 0, 200), ("switches", 0, 200)]
HELD = [("keeps", 0, 100), ("most", 0, 90_000), ("unlocks", 0, 100)]


def waits(lock=0x90000, until=91_900):
    return [
        (1650, WANTS, "locks", lock, HANDLER | SLEEPING, "irq/17-wheel"),
        (until - 50, GIVES, "unlocks", lock, 0, ""),
        (until, GOT, "turned", lock, HANDLER | SLEEPING, "irq/17-wheel"),
    ]


@pytest.mark.parametrize(
    ("rise", "fall", "events", "said"),
    [
        # a lock by its variable, with the line that wanted it and the one that had it
        (
            [*WAITED, *HELD, ("turned", 0, 100), *RAISES],
            None,
            waits(),
            ("turned in irq/17-wheel (FIFO 50) waited 90.2 µs for wheel_lock, wanted in turned "
             "(wheel.c:10), that keeper held, most of it in keeps (wheel.c:21)"),
        ),
        # its owner was interrupted meanwhile, by the same module
        (
            [*WAITED, ("most", 0, 5000), ("fires", 1, 85_000), ("unlocks", 0, 200), *RAISES],
            None,
            waits(),
            "that keeper held, which was interrupted: most of the time in fires (wheel.c:40)",
        ),
        # the handler itself
        (
            [*WAY, ("turned", 0, 80_000), *RAISES],
            None,
            (),
            ("turned in irq/17-wheel (FIFO 50): its own code took 80.1 µs, most in turned "
             "(wheel.c:10)"),
        ),
        # it sleeps between rise and fall
        (
            [*WAY, *RAISES],
            [("turned", 0, 90), ("sleeps", 0, 50), ("asleep", 0, 50), ("idle", 0, 70_000), *RAISES],
            (),
            ("turned in irq/17-wheel (FIFO 50) slept for 70.0 µs, in usleep_range, called from "
             "turned (wheel.c:10)"),
        ),
        # another function of the module is at work with interrupts off when the ping comes
        (
            [("keeps", 1, 500), ("most", 1, 60_000), *WAY[1:], ("turned", 0, 50), *RAISES],
            None,
            (),
            "interrupts were off for 60.5 µs in keeps (wheel.c:21)",
        ),
        # a thread that the module started has the processor
        (
            [*WAY[:-1], ("most", 0, 70_000), ("runs", 0, 500), ("turned", 0, 50), *RAISES],
            None,
            (),
            ("turned in irq/17-wheel (FIFO 50) did not get the processor for 71.3 µs; most of the "
             "time the processor was in keeps (wheel.c:21)"),
        ),
        # a work item behind another one of the same worker
        (
            [*WAY, *RAISES],
            [("turned", 0, 50), ("behind", 0, 50_000), ("works", 0, 100), ("lowers", 0, 20)],
            (),
            "works ran in kworker/0:1, which first went on for 50.0 µs with keeps (wheel.c:20)",
        ),
    ],
)  # fmt: skip
def test_the_sentence_names_function_file_and_line(rise, fall, events, said):
    told = story(rise, fall or [("later", 0, 300), ("sets", 0, 20)], events)
    assert said in told.sentence


def test_what_else_the_module_does_is_no_answer():
    """A timer or a thread of the same module ran before: the top half is what set the line."""
    told = story([("keeps", 0, 4000), *WAY[1:], ("turned", 0, 70), *RAISES])
    moments = dict(told.moments)
    assert moments["interrupt taken"] == 4000
    assert moments["top half begins"] == 4000 + 600 + 200 + 500
    assert told.shares()[0].what.kind != "racquet"
    assert any("keeps" in str(share.blame) for share in told.shares())


def test_a_hard_interrupt_that_meets_the_module_is_not_the_module():
    """The function that sets the line is the interrupt's, not the one that it interrupts."""
    told = story(
        [("keeps", 1, 500), ("most", 1, 60_000), ("fires_irq", 1, 300), ("hard", 1, 100),
         ("hard_sets", 1, 20)],
        [("hard", 1, 100), ("hard_sets", 1, 20)],
    )  # fmt: skip
    assert "interrupts were off for 60.5 µs in keeps (wheel.c:21)" in told.sentence
    assert dict(told.moments)["top half begins"] == 60_800


def test_a_lock_of_which_no_variable_is_known_has_no_name():
    """A lock within allocated memory: no variable is near it, and none is named."""
    told = story([*WAITED, *HELD, ("turned", 0, 100), *RAISES], events=waits(0xFFFF0000))
    assert "for a lock, wanted in turned (wheel.c:10), that keeper held" in told.sentence
    assert "another" not in told.sentence


def test_a_ball_that_was_missed_says_so():
    phase = made_phase(0, NODES, [(AT["idle"], 0, 900)], TASKS)
    told = tell(3, 1000, (None, None), [phase], Names(FUNCTIONS, own_racquet=LOCKS))
    assert "it did not raise its line" in told.sentence


@pytest.mark.parametrize("width", [366, 1100])
def test_the_picture_joins_owner_and_waiter(width):
    told = story([*WAITED, *HELD, ("turned", 0, 100), *RAISES], events=waits())
    svg = code_svg(told, "title <&>", "note", width)
    tree = ElementTree.fromstring(svg)  # noqa: S314
    text = " ".join("".join(tree.itertext()).split())
    assert "waits for wheel_lock 90.2 µs" in text
    assert "keeper: 90.2 µs in keeps (wheel.c:21)" in text
    assert "title <&>" in text
    places = {
        element.text: float(element.get("y"))
        for element in tree.iter()
        if element.get("font-weight") == "600" and element.get("font-size") is None
    }
    assert list(places) == ["interrupts", "irq/17-wheel (FIFO 50)", "keeper"]
    (arrow,) = re.findall(r'M[\d.]+ ([\d.]+)V([\d.]+)m-4[^"]*" fill="none" stroke="#b03a2e"', svg)
    assert float(arrow[0]) > float(arrow[1]) > places["irq/17-wheel (FIFO 50)"]
    # nothing is beyond the edges
    for element in tree.iter():
        if element.get("x") and element.get("width"):
            assert 0 <= float(element.get("x")) <= width
            assert float(element.get("x")) + float(element.get("width")) <= width
