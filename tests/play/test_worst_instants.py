# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""`tennis compare --worst-instant`: one boot a side decides, and the same one each time."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.errors import UsageError
from tennis.explain.sections import storage
from tennis.play.sections import Shot
from tennis.play.worst_instants import Change, WorstCompared, one_build, worst_of
from tests.play.test_comparing import RIGHT
from tests.support.made_up_sections import made_up_sections
from tests.support.synthetic import make_rally

# a driver that looks at its line now and then, with interrupts off: one ball in 5,000 would see it
POLLS = """
static struct delayed_work poll;

static void racquet_poll(struct work_struct *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	udelay(20);
	local_irq_restore(flags);
	schedule_delayed_work(&poll, msecs_to_jiffies(100));
}

"""
STARTS = "\tINIT_DELAYED_WORK(&poll, racquet_poll);\n\tschedule_delayed_work(&poll, 1);\n"
PLANTED = [
    ("#include", "#include <linux/delay.h>\n#include <linux/workqueue.h>\n#include"),
    ("/* The bottom half", f"{POLLS}/* The bottom half"),
    ("\tkthread_init_work(", f"{STARTS}\tkthread_init_work("),
    ("\tkthread_destroy_worker(", "\tcancel_delayed_work_sync(&poll);\n\tkthread_destroy_worker("),
]
COMMENT = [("/* The top half", "/* Some lines\n * more.\n */\n/* The top half")]
LATER_NS = 100  # the second machine's constant answer takes so much longer


def run(*words):
    return CliRunner().invoke(cli, ["compare", *map(str, words)], terminal_width=120)


def later(sections, ns):
    """Return the same sections of a Racquet that answers so much later."""
    groups, longest = sections.groups, sections.longest
    for name in ("longest_ns", "shortest_ns"):
        groups = moved(groups, name, ns)
    return replace(sections, groups=groups, longest=moved(longest, "latency_ns", ns))


def moved(table, name, ns):
    number = table.schema.get_field_index(name)
    column = table.column(name).to_numpy() + ns
    return table.set_column(number, table.schema.field(name), [column])


@pytest.fixture
def sides(tmp_path):
    """Return two recorded boots: nothing of them is played."""
    before, after = (
        make_rally(tmp_path / name, rise=np.full(40, rise), schedule=np.full(40, 200))
        for name, rise in (("before", 90), ("after", 91))
    )
    storage.write(before, made_up_sections())
    storage.write(after, later(made_up_sections(), LATER_NS))
    return before.path, after.path


def test_later_by_more_than_the_threshold_is_worse(sides):
    done = run(*sides, "--worst-instant", f"{LATER_NS - 1}ns")
    assert done.exit_code == 1, done.output
    assert "+100 ns" in done.output
    assert "Worse: the worst instant became later by 100 ns, more than 99 ns." in done.output
    assert "(task " in done.output
    assert run(*sides, "--worst-instant", f"{LATER_NS}ns").exit_code == 0
    done = run(*reversed(sides), "--worst-instant", "0ns")
    assert (done.exit_code, "-100 ns" in done.output) == (0, True)


def test_what_was_played_needs_no_folder(sides, tmp_path):
    done = run(*sides, "--worst-instant", "5us", "--out", tmp_path / "out")
    assert "--out: both sides were played already" in str(done.exception)


def test_what_a_script_reads(sides):
    told = json.loads(run(*sides, "--worst-instant", "50ns", "--json").stdout)
    assert told["verdict"] == "worse"
    (one,) = told["worst_instants"]
    assert (one["later_ns"], one["over_ns"]) == (LATER_NS, 50)
    assert one["after"]["latency_ns"] == one["after"]["predicted_ns"]
    assert (one["after"]["played"], one["after"]["open_ns"]) == (False, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mainline", "rt top-half=forced", "--balls", "5001"), "at most with top half forced"),
        (("mainline", "sloth", "--balls", "9"), "sections are those of Linux"),
        (("mainline", "rt", "--balls", "20001"), "20,001 balls, and sections are recorded of"),
        (("mainline", "rt", "--bench", "pi", "--balls", "60"), "on a board, nobody sees"),
        (("mainline", "rt", "--boots", "9"), "plays one boot a side"),
        (("mainline", "rt", "--no-explain"), "plays one boot a side"),
        (("mainline", "mainline"), "both sides are the same"),
    ],
)
def test_what_has_no_exact_worst_instant_is_refused_before_it_is_played(words, said, tmp_path):
    done = run(*words, "--worst-instant", "5us", "--out", tmp_path / "out")
    assert isinstance(done.exception, UsageError), done.output
    assert said in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_recorded_rally_of_another_kind_is_refused_too(tmp_path):
    rally = make_rally(tmp_path / "r", balls=20)  # of no virtual bench
    done = run(rally.path, "mainline", "--worst-instant", "5us", "--out", tmp_path / "out")
    assert "only the virtual bench" in str(done.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("time", ["5", "fast", "-1us", "1e3us"])
def test_a_threshold_is_a_time(sides, time):
    assert "say 100us" in str(run(*sides, f"--worst-instant={time}").exception)


def changed(changes, tmp_path):
    """Return two Racquets: one of lab 3, and the same with some changes."""
    source = RIGHT
    for at, instead in changes:
        assert at in source
        source = source.replace(at, instead, 1)
    before, after = tmp_path / "before.c", tmp_path / "after.c"
    before.write_text(RIGHT)
    after.write_text(source)
    return before, after


@pytest.mark.virtual
@pytest.mark.parametrize("changes", [PLANTED, COMMENT], ids=["planted", "comment"])
def test_one_boot_a_side_finds_a_rare_section_and_no_comment(changes, tmp_path):
    """Idle, nothing else is on: a few balls calibrate, and the instants in between are searched."""
    sides = changed(changes, tmp_path)
    words = ("--worst-instant", "5us", "--balls", 100, "--out", tmp_path / "out", "--json")
    done = run(*sides, *words)
    planted = changes is PLANTED
    assert done.exit_code == planted, done.output
    told = json.loads(done.stdout)
    if not planted:
        assert (told["verdict"], told["same_build"], told["worst_instants"]) == (
            "no worse",
            [""],
            [],
        )
        return
    (one,) = told["worst_instants"]
    assert one["after"]["played"]
    assert 20_000 < one["after"]["latency_ns"] < 25_000
    assert one["after"]["began_in"] == "racquet_poll [racquet]"


def measured(sections, off=lambda _: 0):
    """Find the worst instant where shots come off by so much; return it, and what was played."""
    boots = []

    def play(instants):
        boots.append(dict(instants))
        return [Shot(at, ns, (ns or 0) + off(at)) for at, ns in instants]

    return worst_of(None, sections, play), boots


def doubted(sections, error_ns):
    """Return the same sections, of which each ball was so far off."""
    fits = [one.model_copy(update={"worst_ns": error_ns}) for one in sections.about.balls]
    return replace(sections, about=sections.about.model_copy(update={"balls": fits}))


def test_what_is_exact_needs_no_shot():
    worst, boots = measured(made_up_sections())
    assert (worst.played, worst.shots, boots) == (False, 0, [])
    assert 0 < worst.sure_share <= 1


def test_what_is_not_exact_is_played_until_nothing_can_be_later():
    sections = doubted(made_up_sections(), 8)
    latest = sorted(sections.groups.column("longest_ns").to_pylist(), reverse=True)
    worst, boots = measured(sections, lambda _: 8)
    assert (worst.latency_ns, worst.played, worst.open_ns) == (latest[0] + 8, True, None)
    assert worst.predicted_ns == latest[0]
    assert worst.shots == sum(len(boot) for boot in boots) >= min(60, len(boots[0]))


def test_one_that_comes_later_than_predicted_is_the_worst():
    sections = doubted(made_up_sections(), 8)
    _, (first, *_) = measured(sections)
    (at_ns, ns), *_ = sorted(first.items(), key=lambda one: -one[1])[20:]
    later = max(first.values()) - ns + 100
    worst, _ = measured(sections, lambda at: later if at == at_ns else 0)
    assert (worst.at_ns, worst.latency_ns, worst.predicted_ns) == (at_ns, ns + later, ns)
    rows = {row["first_ns"]: row for row in sections.groups.to_pylist()}
    assert worst.ended_in == rows[at_ns]["ended_in"]


def test_a_model_that_is_far_off_says_how_late_others_may_be():
    sections = doubted(made_up_sections(), 100_000)
    worst, boots = measured(sections, lambda at: -at % 7)
    assert len(boots) > 1
    others = set(sections.groups.column("first_ns").to_pylist()) - set().union(*boots)
    assert worst.open_ns is None if not others else worst.open_ns > worst.latency_ns


def test_one_build_is_no_worse_than_itself(tmp_path):
    one, same, other, seed = (
        make_rally(tmp_path / name, rise=np.full(40, rise), schedule=np.full(40, 200), seed=number)
        for name, rise, number in (("a", 90, 1), ("b", 90, 1), ("c", 91, 1), ("d", 90, 2))
    )
    assert one_build(one, same)
    assert not one_build(one, other)
    assert not one_build(one, seed)
    compared = WorstCompared(None, [], ["", ""])
    assert compared.verdict == "no worse"


def test_an_instant_that_may_be_later_leaves_it_undecided():
    known, _ = measured(made_up_sections())
    may_be_later = replace(known, open_ns=known.latency_ns + 1000)
    for before, after, over_ns, verdict in (
        (known, may_be_later, 500, "undecided"),
        (known, may_be_later, 1000, "no worse"),
        (may_be_later, replace(known, latency_ns=known.latency_ns + 900), 500, "undecided"),
        (may_be_later, replace(known, latency_ns=known.latency_ns + 1600), 500, "worse"),
    ):
        change = Change("", before, after, over_ns)
        assert change.verdict == verdict
        assert WorstCompared(None, [change]).verdict == verdict
