"""Lab 13: a program is played again, with the student's balls and with others, and must be in time.

It is an ordinary process of the target's, with whatever it likes to do. Nothing that it says
counts: balls and replies are timed outside. It could know when its student's pings come, as the
seed is no secret. It knows nothing of the other balls. With these, its work is looked at: the
records, the file, the count, the other thread.
"""

import random

from tennis.bench.targets.console import LIMIT_BYTES
from tennis.course.checking.evidence import own_rally
from tennis.course.checking.plays import FOLDER, Plays, draw_for, plan_of_rally
from tennis.course.checking.program_work import complaint, looks_in, script
from tennis.course.checks import Inconclusive, InDoubt, Note, agrees, check, expect, figures_ns
from tennis.course.work import Work
from tennis.kit.checkout import cache_folder
from tennis.kit.units import format_count, format_ns
from tennis.rally import Rally
from tennis.rally.disk import open_below
from tennis.rally.folder import CONSOLE
from tennis.rally.statistics.balls import latencies_ns

OTHER_BALLS = (0.8, 1.2)  # of the lab's: drawn


@check(
    question="in-time",
    needs=["check_answered[in-time]", "check_rally[before]", "check_rally[answer]"],
)
def check_in_time(work: Work, plays: Plays | None, note: Note) -> None:
    """Your program answers each ball once, in time, and does all of its work.

    Hint: `tennis explain answer --program answer.c` says what the latest ball waited for.
    """
    own = own_rally(work, "answer", beside="before")
    _expect_in_time(work, own, "")
    asked = next(one for one in work.lab.rallies if one.name == "answer")
    source = work.folder / str(asked.program)
    drawn = draw_for(plays, source)
    draw = random.Random(drawn)  # noqa: S311 (to be repeated)
    balls = round(asked.balls * draw.uniform(*OTHER_BALLS))
    plan = plan_of_rally(asked, draw.getrandbits(31), balls=balls, own=source)
    # a student's own run keeps it, too: the same file is not played twice
    other = (plays or Plays(cache_folder() / FOLDER)).rally(plan, script(drawn))
    counts = other.manifest.counts
    if other.manifest.suspect or other.manifest.ended != "complete":
        raise Inconclusive("with other balls, the rally failed here, and with its own it did not")
    wrong = counts.misses + counts.doubles + counts.strays
    if wrong * 100 > other.balls:
        raise InDoubt(
            f"with other balls, which you do not know, {wrong} of {other.balls} answers are "
            "missing or come without a ping: does the program know its balls?"
        )
    _expect_in_time(work, other, "with other balls, ")
    with open_below(other.path, CONSOLE) as file:
        looks = looks_in(file.read(LIMIT_BYTES).decode(errors="replace"))
    lacks = complaint(looks, other.balls)
    expect(not lacks, f"with other balls, {lacks}")
    note(
        f"{balls:,} other balls, seed {plan.protocol.seed}, {len(looks)} looks: drawn with {drawn}"
    )


def _expect_in_time(work: Work, rally: Rally, which: str) -> None:
    bound_us = int(str(work.lab.value("parameters.bound_us")))
    latency_ns = latencies_ns(rally, "interrupt")
    late = int((latency_ns > bound_us * 1000).sum())
    latest = format_ns(int(latency_ns[latency_ns < float("inf")].max()))
    expect(
        late == 0,
        f"{which}{late} of {format_count(rally.balls, 'ball')}: later than {bound_us} µs, the "
        f"latest after {latest}",
    )


@check(question="factor")
def check_factor(work: Work) -> None:
    """The factor is that of your own two rallies, within 10 percent.

    Hint: `tennis stats` shows both quantiles in the row 99 %, column interrupt. Divide.
    """
    before, own = figures_ns(work, "factor", "interrupt", "p99")
    agrees(work, "factor", before / own, 10)
