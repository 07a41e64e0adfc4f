"""The least that a hand-in can do for the points of code: each cheat that was found is worth none.

The teachers' page has a table of them, with the names that they have here.
"""

import hashlib
import json
import tomllib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tennis.course import load_course, load_lab, work
from tennis.course.checking import budget, plays
from tennis.course.checking.budget import Budget
from tennis.course.checking.module_trial import pace_of
from tennis.course.checking.plays import Plays, plan_of_rally
from tennis.course.checking.program_work import BEHIND, RECORD, _Look, complaint, looks_in, script
from tennis.course.checking.running import run_checks
from tennis.course.checking.sloth_watch import Step
from tennis.course.checking.sloth_watch import complaint as order_complaint
from tennis.course.checks import Wrong
from tennis.course.work import BUDGET_S, LOST_PERCENT
from tennis.kit.checkout import ROOT
from tennis.play.progress import Progress
from tennis.rally.folder import CONSOLE
from tests.support.hand_ins import make_work

LABS = {
    number: load_lab(slug)
    for number, slug in {
        3: "03-write-the-racquet",
        10: "10-who-needs-a-scheduler",
        13: "13-a-program-that-answers-in-time",
    }.items()
}


AUDIT = "GetResource(Books);\n\taudit();\n\tReleaseResource(Books);"
LOWER = "GetResource(Books);\n\tenter_ball();\n\tReleaseResource(Books);\n\tanswer();"
ONE_PRIORITY = ("T(Audit, FREE_LINE(1), 1)", "T(Audit, FREE_LINE(1), 2)")
UNUSED = "(void)answer;\n\t(void)enter_ball;\n"
COUNT = f"{UNUSED}\tstatic int n;\n"
HANDLER = "kthread_queue_work(worker, &work);"
DEVICE = '#include "racquet-device.h"\n'
FLOW = """
#include <linux/irq.h>
static irq_flow_handler_t usual;

static void flow(struct irq_desc *desc)
{
	usual(desc); /* calls the top half */
	gpiod_set_value(racquet.reply, 0);
}
"""
ASKED = "\tdev_info(dev, "
DESC = "irq_data_to_desc(irq_get_irq_data(r->irq))->handle_irq"
CHEATS = {
    "tasks that end at once": (
        (10, "builds"),
        [(AUDIT, "(void)audit;"), (LOWER, UNUSED), ("ActivateTask(Lower);\n", "")],
        "have no answer, and Lower ran 0 times",
    ),
    "knows the check's numbers": (
        (10, "answers"),
        [
            (AUDIT, ""),
            (LOWER, f"{COUNT}\tif (HOLD_US == 100 && ++n == 10)\n\t\taudit();\n\treply_down();"),
        ],
        "the longest wait of a falling edge is 0.0 us",
    ),
    "lets each tenth ball wait": (
        (10, "answers"),
        [(AUDIT, ""), (LOWER, f"{COUNT}\tif (++n == 10) {{ n = 0; audit(); }}\n\treply_down();")],
        "Lower ran",
    ),
    "one priority, and no resource": (
        (10, "answers"),
        [ONE_PRIORITY, (AUDIT, "audit();"), (LOWER, "enter_ball();\n\tanswer();")],
        "and took Books 0 times",
    ),
    "takes the resource for nothing": (
        (10, "answers"),
        [ONE_PRIORITY, (AUDIT, "GetResource(Books);\n\tReleaseResource(Books);\n\taudit();")],
        "0 balls came while Audit held Books",
    ),
    "a module that does nothing": (
        (3, "builds"),
        [("err = devm_request_irq(", "return 0;\n\terr = devm_request_irq(")],
        "it builds, and answers nothing",
    ),
    "the top half does it all": (
        (3, "answers"),
        [(HANDLER, f"gpiod_set_value(r->reply, 0);\n\t{HANDLER}")],
        "its top half lowers the line",
    ),
    "the interrupt lowers the line behind its top half": (
        (3, "answers"),
        [
            (HANDLER, ""),
            (DEVICE, f"{DEVICE}{FLOW}"),
            (ASKED, f"\tusual = {DESC};\n\t{DESC} = flow;\n{ASKED}"),
        ],
        "its top half lowers the line",
    ),
}


@pytest.mark.slow
@pytest.mark.virtual
@pytest.mark.cases(more=["a module*", "the *", "lets*", "tasks*", "knows*"])
@pytest.mark.parametrize("cheat", CHEATS)
def test_the_least_effort_is_worth_no_point(tmp_path, cheat):
    (number, asked), changes, words = CHEATS[cheat]
    unused = {old for old, _ in changes}

    def edited(_, text):
        for old, new in changes:
            unused.difference_update({old} if old in text else ())
            text = text.replace(old, new)
        return text

    made = make_work(tmp_path / "w", LABS[number], "zoe", edited=edited)
    assert not unused
    report = run_checks(made, blind=False, plays=None)
    mark = next(one for one in report.marks if one.question == asked)
    assert (mark.points, words in mark.why) == (0, True), mark


def steps_of(*rounds):
    """Return steps: ``ball``, ``audit``, ``ball in the audit``, and what else is wrong."""
    own = {
        "ball": ["runs Raise", "runs Lower", "takes Lower", "gives back Lower"],
        "audit": ["runs Audit", "takes Audit", "gives back Audit"],
        "late": ["runs Audit", "takes Audit", "runs Raise", "gives back Audit", "runs Lower"],
    }
    own["late"] += ["takes Lower", "gives back Lower"]
    lines = [line for name in rounds for line in own.get(name, [name])]
    split = [line.rpartition(" ") for line in lines]
    return [Step(what, task, "" if what == "runs" else "Books") for what, _, task in split]


RIGHT = ("ball", "audit", "late", "late", "ball", "late")
WAITED = [False, True, True, False, True]


@pytest.mark.parametrize(
    ("rounds", "waited", "words"),
    [
        (RIGHT, WAITED, ""),
        ((*RIGHT, "is refused Lower"), WAITED, "a service is refused that Lower calls"),
        (RIGHT[:1] * 5, WAITED, "Audit ran 0 times, and 4 times were due"),
        ((*RIGHT, "takes Raise"), WAITED, "Raise takes Books, too"),
        ((*RIGHT, "takes Audit", "runs Lower", "takes Lower"), WAITED, "runs while Audit holds"),
        ((*RIGHT, "ball"), WAITED, "Raise ran 6 times for 5 balls"),
        (RIGHT, [True, False, False, True, False], "3 balls came while Audit held Books, and 2"),
        (("ball", "audit", "audit", "audit", "audit"), [False], "it is hardly ever held"),
    ],
)
def test_who_takes_the_resource_decides(rounds, waited, words):
    found = order_complaint(steps_of(*rounds), waited, 4)
    assert (words in found) if words else not found, found


def record_of(ball: int) -> str:
    return hashlib.md5(bytes([ball % 256]) * RECORD, usedforsecurity=False).hexdigest()


def looks_of(**changed):
    """Return looks at a right program: 150 balls and 60 sleeps from one to the next."""
    looks = []
    for n in range(10):
        pings, read = 150 * n, max(0, 100 * n - 1)
        look = _Look(
            md5=record_of(read) if n else "",
            at_s=30 + 0.15 * n,
            before=pings,
            bytes=pings * RECORD,
            after=pings + 5,
            threads=2,
            ticks=n,
            sleeps=60 * n,
            record=read,
        )
        looks.append(replace(look, **changed))
    return looks


LONG = "makes the file long, and fills it with nothing"
NOTHING = hashlib.md5(bytes(RECORD), usedforsecurity=False).hexdigest()
LAZY = {  # what is seen in place of what is right, and the words
    "answers, and does nothing else": ({"bytes": 0, "md5": ""}, "pings there are 0 records"),
    "writes all records at once": ({"bytes": 4096 * RECORD}, "more than balls"),
    LONG: ({"md5": NOTHING}, "is not that of the ball"),
    "has no other thread": ({"threads": 1}, "it has one thread"),
    "has another thread that only sleeps": ({"ticks": 0}, "it does not work with the count"),
    "has another thread that only runs": ({"sleeps": 3}, "slept 0 times a second"),
    "hides its file": ({"after": 0}, "looked at 10 times, the last time after 0 pings"),
}


@pytest.mark.parametrize("cheat", LAZY)
def test_the_work_that_is_not_done_is_seen(cheat):
    changed, words = LAZY[cheat]
    assert complaint(looks_of(), 1400) == ""
    assert words in complaint(looks_of(**changed), 1400)


def test_no_look_is_no_work():
    assert "could be looked at 0 times" in complaint([], 1400)
    few = looks_of()[: BEHIND // 150 + 1]
    assert "could be looked at" in complaint(few, 1400)


def test_a_console_has_the_looks_and_no_line_of_somebody_else():
    line = f"tennis: look 30.15 7 8192 9 2 1 60 1 {record_of(1)}\r\n"
    (look,) = looks_in(f"[    1.0] x {line}{line}tennis: look 1 2 3\n")
    assert (look.before, look.after, look.bytes, look.record) == (7, 9, 2 * RECORD, 1)


ANSWERS_ONLY = """#include <sched.h>
#include <sys/mman.h>
#include "lines.h"
int main(void)
{
	struct sched_param first = { .sched_priority = 50 };
	mlockall(MCL_CURRENT | MCL_FUTURE);
	sched_setscheduler(0, SCHED_FIFO, &first);
	int reply = take_reply(), ping = take_ping();
	for (unsigned long n = 0;; n++) {
		wait_for(ping);
		if (n % EACH == 0)
			answer(reply);
	}
}
"""


def played(tmp_path, each: int, balls: int):
    """Return the marker's plays, and the plan of a program that answers each so many balls."""
    lab = LABS[13]
    made = make_work(tmp_path / "w", lab, "zoe")
    (made / "answer.c").write_text(ANSWERS_ONLY.replace("EACH", str(each)))
    asked = next(one for one in lab.rallies if one.name == "answer")
    small = asked.model_copy(update={"load": "idle", "balls": balls})
    plan = plan_of_rally(small, 7, own=made / "answer.c")
    return Plays(tmp_path / "played", work.read(made)), plan


@pytest.mark.virtual
@pytest.mark.more
def test_a_program_that_only_answers_is_seen_to_do_so(tmp_path):
    marker, plan = played(tmp_path, 1, 700)
    rally = marker.rally(plan, script(1))
    assert not rally.misses
    looks = looks_in((rally.path / CONSOLE).read_text(errors="replace"))
    assert "it has one thread" in complaint(looks, rally.balls)
    two = [replace(look, threads=2) for look in looks]
    assert "pings there are 0 records in" in complaint(two, rally.balls)


@pytest.mark.virtual
def test_a_program_that_answers_each_40th_ball_is_ended_and_not_played_again(tmp_path, monkeypatch):
    marker, plan = played(tmp_path, 40, 2000)
    words = "were not answered: more than 1 % of all 2,000"
    with pytest.raises(Wrong, match=words):
        marker.rally(plan)
    spent_s = [json.loads(path.read_text()) for path in (tmp_path / "played").glob("spent-*")]
    assert len(spent_s) == 1
    assert 0 < spent_s[0] < 120
    monkeypatch.setattr(plays, "play", lambda *_: pytest.fail("it is played again"))
    with pytest.raises(Wrong, match=words):
        marker.rally(plan)


def test_a_file_has_one_budget_however_often_it_is_played(tmp_path, monkeypatch):
    """Each play takes 400 s: the second one ends at 600, and the third does not begin."""
    now = SimpleNamespace(s=0.0)
    monkeypatch.setattr(budget, "_processor_s", lambda _: now.s)
    monkeypatch.setattr(budget, "LOOK_S", 0.0)
    progress = Progress(planned=2000, balls=900)

    def play(name: str) -> int:
        budget.refuse_ended(tmp_path / name)
        mine, seconds = Budget(tmp_path / "spent"), 0
        while seconds < 400 and not mine.stop():
            now.s += 10
            seconds += 10
            mine.observe(progress)
        mine.close(tmp_path / name)
        return seconds

    assert play("first") == 400
    for _ in range(2):
        with pytest.raises(Wrong, match=r"more than 600 s of processor time, with 900 of 2000"):
            play("second")
    assert now.s == BUDGET_S + 10


def test_balls_that_are_missed_now_and_then_end_nothing(tmp_path):
    mine = Budget(tmp_path / "spent")
    mine.observe(Progress(planned=2000, balls=900, misses=20 * LOST_PERCENT))
    assert not mine.stop()
    mine.observe(Progress(planned=2000, balls=900, misses=20 * LOST_PERCENT + 1))
    assert mine.stop()


def test_what_is_played_is_drawn_for_each_hand_in():
    paces = [pace_of(number) for number in range(50)]
    for name in ("reloads", "rate_hz", "loaded_us", "again_us", "gone_us", "seed"):
        assert len({getattr(pace, name) for pace in paces}) > 5, name
    assert pace_of(3) == pace_of(3)
    assert script(3) == script(3) != script(4)
    # the lab's own application is played with its own options: no check has these
    text = (ROOT / "labs/10-who-needs-a-scheduler/checks.py").read_text()
    assert "HOLD_US, PERIOD_US, BALLS = (" in text


def test_the_teachers_page_has_each_of_them():
    page = (ROOT / "docs/teachers.md").read_text()
    rows = [
        line.split("|") for line in page.splitlines() if line.startswith("| ") and "0 of " in line
    ]
    named = {row[3].strip() for row in rows}
    assert named == {*CHEATS, *LAZY, "answers each 40th ball", "takes a mutex in its top half"}
    wrong = tomllib.loads((ROOT / "labs/03-write-the-racquet/wrong.toml").read_text())
    assert wrong["mutex"]["check"] == "check_clean"  # test_checks.py tries it
    asked = {(int(row[1]), row[2].strip(" `")) for row in rows}
    assert asked == {
        (lab.number, question.id)
        for lab in load_course()[1]
        for question in lab.questions
        if question.kind == "file"
    }
    for row in rows:
        lab = LABS[int(row[1])]
        question = lab.question(row[2].strip(" `"))
        assert row[5].strip() == f"0 of {question.points}"
