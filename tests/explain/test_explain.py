"""tennis explain: the code that ran while a ball waited, by name; and what is refused."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from tennis.bench.virtual.symbols import _table_of
from tennis.cli.explain import _print
from tennis.cli.numbers import time_ns
from tennis.explain.explanation import Explanation
from tennis.explain.flame import flame
from tennis.explain.flame_page import flame_svg
from tennis.explain.page import FLAME, NUMBERS, PAGE, TIMELINE
from tennis.explain.replayed import explain
from tennis.explain.segments import Names
from tennis.explain.telling import tell
from tennis.explain.timeline import timeline_svg
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.play.check import check_rally
from tennis.rally import open_rally
from tennis.rally.folder import BALLS
from tennis.rally.phases import USER, Symbol
from tests.support.phases import made_phase, named
from tests.support.shared import made_once
from tests.support.synthetic import make_rally, sealed_again
from tests.support.tables import plain
from tests.support.virtual import played, table

pytestmark = pytest.mark.slow

virtual = pytest.mark.virtual


FUNCTIONS = named(
    "vectors", "el1h_64_irq", "racquet_top_half[racquet]", "grab<&lock>", "__arm64_sys_write",
    "cpu_do_idle",
)  # fmt: skip
VECTORS, IRQ, RACQUET, GRAB, WRITE, IDLE = range(6)
HOSTILE = "</title><b onload=x>\x1b[2J"


def phase(number, nodes, segments, tasks=(HOSTILE,)):
    """Return a phase of ball 3; nodes: (parent, function), segments: (node, masked, count)."""
    return made_phase(number, nodes, [(node, off, 2 * n) for node, off, n in segments], tasks)


def late_ball(task=HOSTILE):
    """Return the story of a ball that waited 4 µs in grab with interrupts off."""
    nodes = [(-1, 0), (0, WRITE), (1, GRAB), (1, IRQ), (3, RACQUET), (0, USER)]
    first = phase(0, nodes, [(5, 0, 5), (2, 1, 2000), (3, 1, 100), (4, 1, 50)], tasks=[task])
    second = phase(1, nodes, [(4, 1, 10), (3, 1, 30), (4, 0, 20)], tasks=[task])
    return tell(3, 1000, (4310, 4430), [first, second], Names(FUNCTIONS))


def test_a_story_names_what_had_interrupts_off():
    story = late_ball("dd")
    assert story.sentence == (
        "Ball 3 waited 4.43 µs: interrupts were off for 4.00 µs in grab<&lock>, called from "
        "__arm64_sys_write (system call write, process dd); the last function with interrupts "
        "off was grab<&lock>."
    )
    assert story.latency == "interrupt"
    assert story.moments == [
        ("ping rises", 0),
        ("interrupt taken", 4010),
        ("top half begins", 4210),
        ("reply rises", 4310),
        ("bottom half begins", 4390),
        ("reply falls", 4430),
    ]
    found = {str(share.what): (share.ns, share.masked_ns) for share in story.shares()}
    assert found == {
        "system call write of dd, interrupts off": (4000, 4000),
        "interrupt entry and exit": (260, 260),
        "the Racquet: racquet_top_half": (160, 120),
        "user space of dd": (10, 0),
    }
    assert [step.ns for step in story.steps()] == [10, 4000, 200, 120, 60, 40]
    longest = max(story.steps(), key=lambda step: step.ns)
    assert longest.function == story.cause.short  # one time, one name


WAKE, THREAD, DISABLE, LOCK, UNLOCK, PROCESS = range(6, 12)
THREADED = [
    *FUNCTIONS,
    Symbol(0x7000, "__irq_wake_thread"),
    Symbol(0x8000, "irq_thread"),
    Symbol(0x9000, "__local_bh_disable_ip"),
    Symbol(0xA000, "rt_spin_lock"),
    Symbol(0xB000, "rt_mutex_slowunlock"),
    Symbol(0xC000, "another_thread"),
]
# (parent, function); of a task: its place in the list of tasks
NODES = [
    (-1, 0),  # 0: dd
    (0, WRITE),
    (1, GRAB),  # 2: dd holds the lock
    (1, IRQ),
    (3, WAKE),  # 4: the hard interrupt
    (1, UNLOCK),  # 5: dd gives the lock back
    (-1, 1),  # 6: irq/9-racquet
    (6, THREAD),
    (7, DISABLE),
    (8, LOCK),  # 9: the thread asks for the lock
    (7, RACQUET),  # 10: the handler
    (-1, 2),  # 11: another
    (11, PROCESS),  # 12
]


def threaded(*segments):
    """Return the story of a ball whose top half runs in a thread."""
    first = phase(0, NODES, segments, tasks=["dd", "irq/9-racquet", "another"])
    first.priorities[:] = [0, 99, 0]
    names = Names(THREADED, {("irq/9-racquet", 99): "FIFO"})
    return tell(3, 1000, (first.ended - 1000, None), [first], names)


def test_a_thread_that_waits_for_a_lock_names_who_held_it():
    story = threaded(
        (2, 0, 50), (4, 1, 20), (7, 0, 30), (9, 0, 10), (2, 0, 4000), (5, 0, 10), (12, 0, 5),
        (9, 0, 20), (10, 0, 40),
    )  # fmt: skip
    assert story.sentence == (
        "Ball 3 was missed: the reply did not fall within 8.37 µs: irq/9-racquet (FIFO 99) waited "
        "8.03 µs for the softirq lock that dd held, most of it in grab<&lock>, called from "
        "__arm64_sys_write (system call write, process dd)."
    )
    assert dict(story.moments) == {
        "ping rises": 0,
        "interrupt taken": 100,
        "its thread is woken": 100,
        "its thread runs": 140,
        "the thread has the lock": 8250,
        "top half begins": 8290,
        "reply rises": 8370,
    }


def test_what_else_a_thread_waits_for_is_said():
    story = threaded((4, 1, 20), (12, 0, 3000), (7, 0, 30), (9, 0, 10), (10, 0, 40))
    assert (
        "irq/9-racquet (FIFO 99) did not get the processor for 6.04 µs; most of the time the "
        "processor was in another_thread (kernel code, process another)"
    ) in story.sentence
    assert "the thread has the lock" not in dict(story.moments)
    # interrupts that are off come first for a thread, too
    story = threaded((2, 1, 3000), (4, 1, 20), (7, 0, 30), (10, 0, 40))
    assert "interrupts were off for 6.00 µs in grab<&lock>" in story.sentence
    # and one that is merely woken
    story = threaded((2, 0, 10), (4, 1, 20), (7, 0, 300), (10, 0, 40))
    assert "taken after 20 ns, and irq/9-racquet (FIFO 99) ran after 60 ns" in story.sentence


@pytest.mark.parametrize(("late", "told"), [(3, 3), (9, 1)])
def test_a_few_late_balls_have_a_sentence_each(tmp_path, capsys, late, told):
    ball = late_ball()
    stories = [replace(ball, sentence=f"Ball {number} waited") for number in range(late)]
    rally = make_rally(tmp_path / "r", balls=10)
    _print(Explanation(rally, "the latest", stories, 10, []), None)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith(" waited")] == [
        f"Ball {number} waited" for number in range(told)
    ]


def test_sleep_is_time_too():
    """A processor that waits for an interrupt executes nothing."""
    nodes = [(-1, 0), (0, IDLE), (0, USER)]
    asleep = phase(0, nodes, [(2, 0, 10), (1, 0, 49_980), (2, 0, 10)])
    story = tell(3, 1000, (None, None), [asleep], Names(FUNCTIONS))
    assert story.shares()[0].what.kind == "idle"
    assert sum(share.ns for share in story.shares()) == 100_000
    assert story.sentence.startswith("Ball 3 was missed: the reply did not rise within 100 µs")


def test_pictures_are_well_formed_and_escape_what_the_target_says():
    story = late_ball()
    for svg in (
        flame_svg(flame([story]), "title <&>", "note"),
        timeline_svg(story, "title <&>", "note"),
    ):
        tree = ElementTree.fromstring(svg)  # noqa: S314
        names = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert names <= {"svg", "title", "desc", "rect", "text", "g", "path"}
        assert not any(key.startswith("on") for e in tree.iter() for key in e.attrib)
        assert "\x1b" not in svg
        text = " ".join(tree.itertext())
        assert "grab<&lock>" in text
        assert "system call write" in text or "__arm64_sys_write" in text


def test_kallsyms_are_read():
    """Moved to where the rally's kernel and modules were."""
    text = (
        "ffff800080000000 T _text\n"
        "hog 12288 0 - Live 0xffff80007a4fc000 (O)\n"
        "ffff800080010000 t $x\n"
        "ffff800080010000 T short\n"
        "ffff800080010000 T a_longer_alias\n"
        "ffff80007a4fc008 t hog_fire\t[hog]\n"
        "0000000000000000 t hidden\n"
        "ffff800080020000 d data\n"
        "garbage\n"
    )
    facts = {"at_kernel": "ffffa12345670000", "at_hog": "0xffffa00000001000"}
    assert [(str(one), hex(one.address)) for one in _table_of(text, facts)] == [
        ("hog_fire [hog]", "0xffffa00000001008"),
        ("_text", "0xffffa12345670000"),
        ("short", "0xffffa12345680000"),
    ]
    with pytest.raises(BenchError, match="does not say where hog was in memory"):
        _table_of(text, {"at_kernel": "ffffa12345670000"})


def test_only_the_virtual_bench_is_explained(tmp_path):
    rally = make_rally(tmp_path / "r", balls=10)
    with pytest.raises(UsageError, match="played on the bench replay: only the virtual bench"):
        explain(rally)


@virtual
def test_the_hog_is_named(hog, tmp_path, typed):
    out = tmp_path / "why"
    _, said, _ = typed("explain", hog.path, "--out", out)
    assert "hog_fire [hog]" in said.splitlines()[0]
    assert "all the same in every tick" in said
    found = json.loads((out / NUMBERS).read_text())
    latest = found["explained"][0]
    assert "hog_fire [hog]" in latest["sentence"]
    assert "hog_fire [hog]" in [latest["cause"]["function"], *latest["cause"]["callers"]]
    fall = table(hog)["fall_ticks"].to_numpy()
    assert (latest["ball"], latest["waited_ns"]) == (fall.argmax(), fall.max())
    # every nanosecond is accounted for
    for ball in found["explained"]:
        assert sum(share["ns"] for share in ball["shares"]) == ball["waited_ns"]
    # who holds it, holds it with interrupts off, and nearly all of the wait
    held = next(share for share in latest["shares"] if "hog_fire" in share["what"])
    assert held["interrupts_off_ns"] == held["ns"] > 0.9 * latest["waited_ns"]
    for name in (FLAME, TIMELINE):
        ElementTree.parse(out / name)  # noqa: S314
    assert "hog_fire [hog]" in (out / FLAME).read_text()
    page = (out / PAGE).read_text()
    assert "<script" not in page
    assert latest["sentence"].partition("<")[0] in page


@virtual
def test_what_is_printed_for_somebody_else_gives_the_same_ball(hog, tmp_path, typed, monkeypatch):
    number = int(table(hog)["fall_ticks"].to_numpy()[:100].argmin())
    code, said, _ = typed("explain", hog.path, "--ball", number)
    assert code == 0
    assert f"Ball {number} waited" in said.splitlines()[0]
    assert "hog_fire" not in said.splitlines()[0]  # it was not late
    rally, explained = (shlex.split(line) for line in said.splitlines() if line[:9] == "  tennis ")
    assert explained == ["tennis", "explain", "again", "--ball", str(number)]
    monkeypatch.chdir(tmp_path)
    assert typed("--quiet", *rally[1:])[0] == 0
    balls = [(folder / BALLS).read_bytes() for folder in (hog.path, Path("again"))]
    assert balls[0] == balls[1]


@pytest.mark.slow
@virtual
def test_the_softirq_lock_and_its_owner_are_named(tmp_path):
    """Known: hog holds softirqs back for 300 us, on PREEMPT_RT in ktimers/0."""
    rally = played(
        tmp_path / "r",
        kernel="rt",
        load="hog",
        load_options={"hold_us": 300, "softirqs": 1},
        top_half="forced",
        priorities="chrt",
        balls=200,
    )
    story = explain(rally, worst=1).story
    assert story.latency == "interrupt"
    assert re.search(
        r"irq/17-racquet \(FIFO 99\) waited (2\d\d|3[0-2]\d) µs for the softirq lock that "
        r"ktimers/0 \(FIFO 1\) held, most of it in .*hog_fire \[hog\]",
        story.sentence,
    )
    moments = dict(story.moments)
    assert moments["interrupt taken"] < moments["its thread runs"] < 20_000
    assert 150_000 < moments["the thread has the lock"] < moments["reply rises"]


def test_times_as_people_write_them():
    said = [time_ns("--over", text) for text in ("100us", "1.5 ms", "2s", "7µs")]
    assert said == [100_000, 1_500_000, 2 * 10**9, 7000]
    for text in ("", "100", "us", "-1us", "1e3us", "1 h", "9" * 5000 + "us"):
        with pytest.raises(UsageError, match=r"^--over .*: say 100us, 1.5ms or 1s$"):
            time_ns("--over", text)


@virtual
def test_altered_balls_are_refused(hog, tmp_path):
    """One tick of one ball, in a folder whose sums are right all the same."""
    balls = table(hog)
    rise = balls["rise_ticks"].to_numpy().copy()
    rise[7] += 1
    forged = balls.set_column(2, balls.schema.field(2), pa.array(rise, pa.uint32()))
    rally = sealed_again(hog, tmp_path / "forged", plain(forged))
    with pytest.raises(RallyError, match=r"ball 7 has rise \d+ in the rally and \d+ now, with the"):
        explain(open_rally(rally.path), ball=10)


@pytest.fixture(scope="module")
def sloth(tmp_path_factory):
    """Return a rally of SLOTH's, which is played again in no time."""
    made = made_once(
        tmp_path_factory, "sloth", lambda folder: played(folder / "r", kernel="sloth", balls=500)
    )
    return open_rally(made / "r")


@pytest.mark.cases(more=["hog"])
@virtual
@pytest.mark.parametrize("made", ["sloth", "hog"])
def test_a_rally_is_what_it_claims_to_be(request, made):
    rally = request.getfixturevalue(made)
    found = check_rally(rally.path)
    assert (found.balls, found.changed) == (rally.balls, [])


@virtual
def test_a_rally_that_holds_fewer_balls_than_it_played_is_not_complete(sloth, tmp_path):
    kept = table(sloth).slice(0, sloth.balls - 5)
    rally = sealed_again(sloth, tmp_path / "short", plain(kept))
    with pytest.raises(RallyError, match=f"it continues after its {sloth.balls - 5} balls"):
        check_rally(rally.path)
