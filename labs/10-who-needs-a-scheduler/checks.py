"""Lab 10: an application of SLOTH's is built and played, and who takes its books is looked at.

How long the audit takes, how often it comes, and which balls are served is drawn for each hand-in.
"""

import random
import tempfile
from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.bench.sloth.image import CORES, own_image
from tennis.course.checking.plays import Plays, draw_for
from tennis.course.checking.sloth_watch import LOWER, WAITED_NS, complaint, watched
from tennis.course.checks import Inconclusive, Note, Wrong, agrees, check, expect, figure_ns
from tennis.course.work import Work
from tennis.kit.errors import BenchError, TennisError
from tennis.kit.units import format_ns
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally.plan import Plan
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.statistics.balls import latencies_ns

SOURCE = "racquet.c"
HOLD_US, PERIOD_US, BALLS = (60, 140), (650, 1150), (200, 300)  # from which each is drawn
AT_ONCE_NS = 1000  # an edge that waits for nobody


@check(question="builds")
def check_builds(work: Work) -> None:
    """It builds for three processors, and the compiler has nothing to say.

    Hint: the number behind racquet.c or racquet.h is a line. Correct the first error.
    """
    for name, core in CORES.items():
        try:
            own_image(work.folder / SOURCE, core, defines={"HOLD_US": 100, "PERIOD_US": 1000})
        except BenchError as error:
            _, _, what = str(error).partition("not built for SLOTH: ")
            if not what:
                raise Inconclusive(str(error)) from error
            raise Wrong(f"Cortex-{name.upper()}: {what}") from error


@check(question="builds", needs=["check_builds"])
def check_starts(work: Work, plays: Plays | None) -> None:
    """An application that builds, and does nothing, is none: Raise lets Lower run, which answers.

    Hint: which gap of racquet.c is still empty?
    """
    drawn = _Drawn(work, plays)
    try:
        rally, steps, _ = watched(drawn.plan("sloth"))
    except TennisError as error:
        raise Inconclusive(str(error)) from error
    runs = sum((step.what, step.task) == ("runs", LOWER) for step in steps)
    expect(
        runs > 0 and rally.misses < rally.balls,
        f"{drawn}: {rally.misses} of {rally.balls} balls have no answer, and {LOWER} ran {runs} "
        "times",
    )


@check(question="answers", needs=["check_answered[answers]", "check_builds"])
def check_answers(work: Work, plays: Plays | None, note: Note) -> None:
    """Each ball is answered, Lower and Audit take Books in turn, and Raise never waits.

    Hint: which tasks take Books, and which of them is the highest? That is the ceiling.
    """
    drawn = _Drawn(work, plays)
    try:
        for kernel in ("sloth", "sloth-m0"):
            _judge(drawn, kernel)
        _judge_order(drawn)
    except TennisError as error:
        raise Inconclusive(str(error)) from error
    note(f"played with {drawn}: drawn with {drawn.number}")


class _Drawn:
    """What the audit takes, and which balls are served: drawn for each hand-in."""

    def __init__(self, work: Work, plays: Plays | None) -> None:
        self.source = work.folder / SOURCE
        self.number = draw_for(plays, self.source, self.source.with_suffix(".h"))
        draw = random.Random(self.number)  # noqa: S311 (to be repeated)
        self.hold_us, self.period_us = draw.randint(*HOLD_US), draw.randint(*PERIOD_US)
        balls, seed = draw.randint(*BALLS), draw.getrandbits(31)
        self.serving = Serving(balls=balls, seed=seed, timeout_ms=5, settle_s=0.02)

    def plan(self, kernel: str) -> Plan:
        """Return the plan of a rally. Raises UsageError."""
        hog = {"hold_us": self.hold_us, "period_us": self.period_us}
        request = RallyRequest(kernel=kernel, racquet=self.source, load="hog", load_options=hog)
        return plan_for(request, self.serving)

    def __str__(self) -> str:
        """Return it in words."""
        return (
            f"HOLD_US={self.hold_us}, PERIOD_US={self.period_us}, {self.serving.balls} balls, "
            f"seed {self.serving.seed}"
        )


def _judge(drawn: _Drawn, kernel: str) -> None:
    """Raise Wrong for what the edges of a rally show. Raises TennisError."""
    plan = drawn.plan(kernel)
    with tempfile.TemporaryDirectory(prefix="tennis-lab-") as scratch:
        rally = play(bench_for(plan), plan, Path(scratch) / "own", Watch())
        where = f"{kernel}, {drawn}"
        if rally.manifest.faults:
            fault = rally.manifest.faults[0]
            raise Wrong(f"{kernel}: {fault.message} ({fault.code})")
        expect(
            not rally.misses,
            f"{where}: {rally.misses} of {rally.balls} balls have no answer: the books were torn, "
            "or nobody lowers the line",
        )
        rise_ns, width_ns = latencies_ns(rally, "interrupt"), latencies_ns(rally, "scheduling")
        latest = int(rise_ns.max())
        expect(
            latest < AT_ONCE_NS,
            f"{where}: a rising edge waited for {format_ns(latest)}: on which task?",
        )
        longest_us = width_ns.max() / 1000
        expect(
            drawn.hold_us / 2 < longest_us < drawn.hold_us + 10,
            f"{where}: the longest wait of a falling edge is {longest_us:.1f} us: not for an audit "
            f"of {drawn.hold_us} us",
        )


def _judge_order(drawn: _Drawn) -> None:
    """Raise Wrong for who takes the resource, and in what order. Raises TennisError."""
    rally, steps, balls = watched(drawn.plan("sloth"))
    if rally.manifest.faults or rally.misses:
        raise Wrong(f"{drawn}: with OSEK's extended status it does not answer each ball")
    served_ns, rise_ns, fall_ns = balls.T
    audits = (served_ns[-1] - served_ns[0]) / 1000 / drawn.period_us
    wrong = complaint(steps, (fall_ns - rise_ns > WAITED_NS).tolist(), audits)
    expect(not wrong, f"{drawn}: {wrong}")


@check(question="waited")
def check_waited(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook counts them; a share of 0.027 is 2.7 %.
    """
    width_ns = latencies_ns(work.rallies["own"], "scheduling")
    limit_ns = 1000 * float(str(work.lab.parameters["limit_us"]))
    right = 100 * float((width_ns > limit_ns).mean())
    agrees(work, "waited", right, 5, "your rally says otherwise")


@check(question="latest")
def check_latest(work: Work) -> None:
    """The latency is that of your own rally, within 2 percent.

    Hint: `tennis stats mainline`, the row maximum, the column interrupt. In µs.
    """
    right_us = figure_ns(work.rallies["mainline"], "interrupt", "max") / 1000
    agrees(work, "latest", right_us, 2, "not in your rally")
