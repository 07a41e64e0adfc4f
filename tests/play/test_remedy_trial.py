"""tennis explain try: the same seed with another setting, and what counts as help."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.bench.kernels.modules import PREFIX
from tennis.cli import cli
from tennis.explain.remedies import remedies
from tennis.explain.remedy_trial import _edited, changed, compared, suggested, try_setting
from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
from tennis.play.planning import plan_for
from tennis.play.rally import Watch
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tests.support.hand_ins import answered
from tests.support.plans import plan_of
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally, saying
from tests.support.virtual import played

PLAN = plan_of(kernel="rt", load="idle", top_half="forced", balls=100, seed=9)


def test_a_setting_changes_that_and_nothing_else():
    tried = changed(PLAN, ["priorities=irq=90", "command-line=rcu_nocbs=0"])
    assert (tried.priorities, tried.command_line) == ("irq=90", "rcu_nocbs=0")
    same = {"priorities": PLAN.priorities, "command_line": PLAN.command_line}
    assert tried.model_copy(update=same) == PLAN
    # nor where in the load's cycle it begins
    old = PLAN.model_copy(update={"phase_of_a_second": True})
    assert changed(old, ["priorities=irq=90"]).phase_of_a_second


def test_processors_stay_as_they_were():
    """Else one processor would be compared with two, and the setting blamed."""
    plan = plan_of(processors=2, interrupt_cpu=1, load_cpus="0")
    tried = changed(plan, ["command-line=nohz=off"])
    assert (tried.processors, tried.interrupt_cpu, tried.load_cpus) == (2, 1, "0")
    pinned = plan_of(processors=2, bottom_half="user", bottom_half_cpu=1)
    assert changed(pinned, ["command-line=nohz=off"]).bottom_half_cpu == 1
    assert changed(pinned, ["bottom-half=thread"]).bottom_half_cpu is None  # it follows the ping
    assert changed(plan_of(beneath="sloth"), ["command-line=nohz=off"]).beneath == "sloth"


def boots_of(path, late, *, balls=1000, pairs=7, misses=0):
    """Return pairs of boots; ``late``: how many balls of each boot are, before and after."""
    made = []
    for number in range(pairs):
        pair = []
        for name, count in zip(("before", "after"), late, strict=True):
            rise = np.full(balls, 2000) + number
            rise[:count] = 500_000
            missed = misses if name == "before" else 0
            place = path / f"{name}-{number}"
            pair.append(make_rally(place, rise=rise, schedule=rise, misses=missed))
        made.append(tuple(pair))
    return made


@pytest.mark.parametrize(
    ("late", "pairs", "verdict"),
    [
        ((20, 0), 7, "helps"),
        ((0, 20), 7, "harms"),
        ((20, 20), 7, "alike"),
        ((1, 0), 7, "undecided"),
        ((20, 0), 3, "helps"),
        ((1000, 0), 1, "undecided"),
    ],
)
def test_boots_decide_and_not_balls(tmp_path, late, pairs, verdict):
    """One boot's balls depend on each other: 1,000 late ones against none are one pair."""
    rallies = boots_of(tmp_path, late, pairs=pairs)
    if late == (1, 0):  # in one boot only
        (tmp_path / "alike").mkdir()
        rallies[1:] = boots_of(tmp_path / "alike", (0, 0), pairs=6)
    tried = compared(rallies, "x", 100_000)
    assert tried.verdict == verdict
    if pairs == 1:
        assert "one pair of boots has no interval: 5 decide" in tried.why


def test_late_is_what_one_ball_in_a_thousand_exceeds_if_nobody_says(tmp_path):
    tried = compared(boots_of(tmp_path, (12, 0), balls=3000), "x", None)
    assert (tried.verdict, tried.late_before, tried.late_after) == ("helps", 7 * 12, 0)
    assert tried.why.startswith("1 in 1,000: 4.01 µs against 1.00 ms; 0.00401 (0.004 to 0.00401)")


def test_boots_that_are_too_short_have_no_level(tmp_path):
    tried = compared(boots_of(tmp_path, (5, 0), balls=200), "x", None)
    assert (tried.verdict, tried.over_ns) == ("undecided", None)
    assert tried.why.startswith("boots of fewer than 300 balls have no level")


def test_missed_balls_are_late(tmp_path):
    rallies = boots_of(tmp_path, (0, 0), balls=1000, misses=30)
    tried = compared(rallies, "x", 100_000)
    assert (tried.late_before, tried.late_after, tried.verdict) == (210, 0, "helps")
    # what one in a hundred exceeds is among them: they were waited for until the timeout
    tried = compared(rallies, "x", None)
    assert (tried.over_ns, tried.late_before, tried.verdict) == (100_000_000, 210, "helps")


@pytest.mark.parametrize(
    ("handler", "tasklet", "misses", "words"),
    [
        ((289_000, 10_000), (1_370, 299_000), 0, "interrupt latency went from 289 µs to 10.0 µs"),
        ((10_000, 289_000), (299_000, 1_370), 0, "scheduling latency went from 299 µs to 1.37 µs"),
        ((289_000, 10_000), (1_370, 1_400), 0, ""),  # it is gone
        ((289_000, 280_000), (1_370, 20_000), 0, ""),  # none left
        ((289_000, 10_000), (1_370, 299_000), 1, ""),  # nobody knows how late the missed one is
    ],
)
def test_a_wait_that_only_moved_is_no_help(tmp_path, handler, tasklet, misses, words):
    pairs = []
    for number in range(3):
        pair = []
        for name, rise, then in zip("ab", handler, tasklet, strict=True):
            rises, waits = np.full(300, 2000), np.full(300, 900)
            rises[7], waits[7] = rise, then
            place = tmp_path / f"{name}{number}"
            pair.append(make_rally(place, rise=rises, schedule=waits, misses=misses))
        pairs.append(tuple(pair))
    tried = compared(pairs, "top-half=explicit", None)
    assert (tried.moved is not None) == bool(words)
    if tried.moved:
        assert words in tried.moved.words
        assert tried.verdict != "helps"


LOCK = (
    "Ball 7 waited 1.29 ms: irq/17-racquet (FIFO 99) waited 1.27 ms for the softirq lock that "
    "rcuc/0 (FIFO 1) held, most of it in free_pcppages_bulk."
)


def test_remedies_are_offered_where_they_may_help():
    had = {"kernel": "rt", "priorities": "chrt", "command-line": ""}
    assert [one.setting for one in remedies(LOCK, had)] == [
        "top-half=explicit",
        "command-line=rcu_nocbs=0",
        "kernel=rt-7",
    ]
    assert [one.setting for one in remedies(LOCK, {**had, "command-line": "rcu_nocbs=0"})] == [
        "top-half=explicit",
        "kernel=rt-7",
    ]
    assert remedies(LOCK, {**had, "bottom-half": "thread"})[0].setting != "top-half=explicit"
    mainline = {"kernel": "mainline", "priorities": "default", "command-line": ""}
    said = "Ball 9 waited 1.05 ms: interrupts were off for 1.04 ms in __rmqueue_pcplist."
    assert [one.setting for one in remedies(said, mainline)] == ["kernel=rt"]
    assert not remedies("Ball 1 waited 3.1 µs: the interrupt was taken after 124 ns.", mainline)


@pytest.mark.virtual
def test_a_remedy_is_played_and_counted(tmp_path):
    """Mainline's bottom half needs no thread: every ball is earlier."""
    played(tmp_path / "r", kernel="rt", balls=60, seed=4)
    words = ["explain", "try", str(tmp_path / "r"), "kernel=mainline", "--over", "6us"]
    words += ["--boots", "1"]
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["late"], told["balls"], told["verdict"]) == ([60, 0], [60, 60], "undecided")
    assert told["after"] == str(tmp_path / "r.try-kernel-mainline")
    # it is there now: nothing is played again
    shown = CliRunner().invoke(cli, words)
    said = " ".join(shown.output.split())
    assert "one pair of boots has no interval: 5 decide" in said
    assert "playing it" not in shown.output
    refused = CliRunner().invoke(cli, [*words[:3], "kernel=rt"])
    assert "there is nothing to try" in str(refused.exception)


OF_PROGRAM = {"kernel": "rt", "priorities": "default", "command-line": "", "bottom-half": "program"}


@pytest.mark.parametrize(
    ("sentence", "had", "settings"),
    [
        (
            "answer (FIFO 80) has a higher priority than its line's thread irq/18-answer (FIFO 50)",
            {"priorities": "irq=50,program=80"},
            ["priorities=irq=90,program=80"],
        ),
        (
            "the line's thread irq/18-answer (FIFO 50) did not run for 4 ms",
            {},
            ["priorities=irq=90"],
        ),
        (
            "answer (no real-time priority) did not get to its own code",
            {},
            ["priorities=program=40"],
        ),
        # that is the priority of who had the lock, and not of who answers
        (
            (
                "answer (FIFO 50) waited 9 ms for a lock of its own without priority inheritance "
                "(futex), which another thread of it had, answer (no real-time priority)"
            ),
            {},
            [""],
        ),
        (
            "waited 9 ms for a lock of its own without priority inheritance (futex ledger), which",
            {},
            ["source=inherit=ledger"],
        ),
        # a static one of a function has no name that the end of the file could use
        ("for a lock of its own without priority inheritance (futex ledger.0), which", {}, [""]),
        (
            "answer (FIFO 50) ran after 9 µs, and waited 9 ms for a page of its memory",
            {},
            ["source=mlockall"],
        ),
        ("ran after 9 µs (processor 1 was free)", {}, ["bottom-half-cpu=1"]),
        ("ran (it is bound to processor 0, and processor 1 was free)", {}, [""]),
        ("interrupts were off for 9 ms in memset", {"kernel": "mainline"}, ["kernel=rt"]),
        ("interrupts were off for 9 ms in memset", {}, []),
        ("answer (FIFO 50) ran after 9 µs, and answered 8 ms later", {}, []),
    ],
)
def test_a_program_has_remedies_of_its_own(sentence, had, settings):
    said = f"Ball 3 waited 9.00 ms: {sentence}; most of the time the processor was in stress."
    assert [one.setting for one in remedies(said, {**OF_PROGRAM, **had})] == settings


def test_what_a_program_answered_is_tried_with_that_program(tmp_path):
    made = make_rally(tmp_path / "made", balls=3)
    rally = saying(made, target=answered(ROOT / "target/programs/answer.c"))
    with pytest.raises(UsageError, match="a program answered") as error:
        try_setting(rally, ["priorities=irq=90"], over_ns=None, watch=Watch())
    assert error.value.next_step == "name it: program=FILE"
    with pytest.raises(UsageError, match="a program answered"):
        suggested(rally, [], Watch())
    with pytest.raises(UsageError, match="program= twice"):
        suggested(rally, ["program=a.c", "program=b.c"], Watch())


def test_a_program_is_tried_with_its_own_priorities_changed():
    """It has no halves: who carries them over would be refused."""
    source = str(ROOT / "target/programs/answer.c")
    plan = plan_for(RallyRequest.of({"kernel": "rt", "program": source}), Serving())
    tried = changed(plan, ["priorities=irq=90"])
    assert tried == plan.model_copy(update={"priorities": "irq=90"})


def test_a_change_of_the_source_is_made_in_a_copy(tmp_path):
    """No line moves, a header comes along, and what is no single file is refused."""
    source = ROOT / "target/programs/bad-mutex.c"
    sources = ["source=mlockall", "source=inherit=mutex"]
    copy = _edited(source, sources, tmp_path / "copy")
    assert copy.read_bytes().startswith(source.read_bytes())
    assert (copy.parent / "in-time.h").read_bytes() == source.with_name("in-time.h").read_bytes()
    assert copy.read_text().count("__attribute__((constructor))") == 2
    for mutex, compiles in (("mutex", True), ("counted", False)):  # that is a number
        copy = _edited(source, [f"source=inherit={mutex}"] * 2, tmp_path / "copy")
        line = [f"{PREFIX}gcc", "-fsyntax-only", copy]
        assert (run_to_end(line).returncode == 0) == compiles
    for wrong in ("source=inherit", "source=inherit=a;b", "source=mlockall=x", "source=other"):
        with pytest.raises(UsageError, match=wrong) as error:
            _edited(source, [wrong], tmp_path / "wrong")
        assert "source=inherit=MUTEX" in error.value.next_step
    with pytest.raises(UsageError, match="only one file in C or C"):
        _edited(ROOT / "target/programs/answer-python", sources, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


@pytest.mark.more
@pytest.mark.virtual
def test_a_mutex_inherits_in_a_copy_of_the_program(tmp_path):
    """As its author would mend it: the thread that holds it runs before the load."""
    source, rally = ROOT / "target/programs/bad-mutex.c", tmp_path / "r"
    plan = {"kernel": "rt", "load": "stress", "balls": 1500, "seed": 3}
    before = played(rally, program=source, **plan)
    words = [f"program={source}", "source=inherit=mutex"]
    tried = try_setting(before, words, over_ns=1_000_000, boots=1, watch=Watch())
    assert tried.late_before > 0
    assert tried.late_after == 0
    assert tried.after.manifest.target.program.name == "bad-mutex.c"
