"""A control loop of somebody's own is a drill: how late it is and how it drifts, seen outside."""

import json

import numpy as np
import pytest

from tennis.explain.replayed import explain
from tennis.kit.checkout import ROOT
from tennis.rally import open_folder
from tennis.rally.statistics.drill import _overruns_seen, drift_ns, summarize_drill
from tests.support.terminal import run

PROGRAMS = ROOT / "target/programs"
PERIOD_NS = 1_000_000
# loop.c with what makes it late: before it wakes the line, by a known time, in one of so many
LATE = """#define main everything_else
#include "loop.c"
#undef main

__attribute__((noinline)) static void work(long ns)
{
	unsigned long now, end, hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(end));
	end += ns * hz / 1000000000;
	do
		__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now));
	while (now < end);
}

int main(void)
{
	struct timespec next;
	int line;

	lock_memory();
	take_priority();
	line = take_reply();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int number = 1;; number++) {
		next = plus(next, number % 50 ? PERIOD_NS : 2 * PERIOD_NS);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		if (number % 20 == 0)
			work(300000);
		answer(line);
	}
}
"""


def drill(out, brought, *words):
    asked = ("--program", brought, "--seed", 5, "--out", out)
    done = run("drill", "periodic", *asked, *words)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("intervals", "overruns", "drift"),
    [
        ([1_000_000, 1_000_000], 0, 0),
        ([1_300_000, 700_000], 0, 0),  # late once, and in time again
        ([1_060_000, 1_060_000], 0, 60_000),  # what a relative sleep does
        ([3_000_000, 1_000_000], 2, 0),  # two periods were left out
        ([2_900_000, 50_000, 50_000], 2, 0),  # and made up for at once
        ([100], 0, None),
    ],
)
def test_what_the_instrument_sees_of_a_loop(intervals, overruns, drift):
    spans = np.array(intervals, np.float64)
    assert _overruns_seen(spans, PERIOD_NS) == overruns
    assert drift_ns(spans, PERIOD_NS) == (None if drift is None else pytest.approx(drift))


@pytest.mark.virtual
def test_a_loop_that_is_late_by_a_known_time(tmp_path):
    for source in ("loop.c", "in-time.h", "lines.h"):
        (tmp_path / source).write_bytes((PROGRAMS / source).read_bytes())
    (tmp_path / "late.c").write_text(LATE)
    said = drill(tmp_path / "d", tmp_path / "late.c", "--repetitions", 400)
    assert "8 overruns: the target cannot keep a period of 1.00 ms" in said
    rally = open_folder(tmp_path / "d")
    summary = summarize_drill(rally)
    assert rally.label == "periodic / program late.c / mainline / idle"
    assert (summary.repetitions, summary.overruns, summary.page_faults) == (400, 8, 0)
    assert abs(summary.drift_ns) < 100
    assert summary.duration_ns.inside is None
    served = np.concatenate([batch["served_ns"].values for batch in rally.batches()])
    # a late one is followed by one in time: 300 us later, and 300 us earlier than a period
    off = np.diff(served) - PERIOD_NS * np.rint(np.diff(served) / PERIOD_NS)
    assert np.count_nonzero(off > 250_000) in {19, 20}
    assert off.max() == pytest.approx(300_000, abs=25_000)
    assert -off.min() == pytest.approx(300_000, abs=25_000)
    # of those that were late only by their work the last one; one that was left out is later
    late = int(np.flatnonzero((off > 250_000) & (np.diff(served) < 1.5 * PERIOD_NS))[0]) + 1
    story = explain(rally, ball=late, program=tmp_path / "late.c").stories[0]
    assert story.sentence.startswith(f"Repetition {late} came 300 µs after its period was over")
    assert "of the program's own code in late: work" in story.sentence
    told = json.loads(run("stats", tmp_path / "d", "--json").output)
    assert (told["overruns"], told["duration_ns"]["inside"]) == (8, None)
    for command in (
        ["plot", "--out", "p"],
        ["report", "--out", "r.html"],
        ["export", "--out", "e"],
    ):
        done = run(command[0], tmp_path / "d", "--out", tmp_path / command[2])
        assert done.exit_code == 0, (command, done.output)
