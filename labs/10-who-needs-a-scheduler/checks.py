# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Lab 10: an application of SLOTH's is built, played, and its books are looked at."""

import tempfile
from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.bench.sloth.image import CORES, own_image
from tennis.course.checks import Inconclusive, Wrong, check, expect, figure_ns, near, number
from tennis.course.work import Work
from tennis.kit.errors import BenchError, TennisError
from tennis.kit.units import format_ns
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.statistics.balls import latencies_ns

SOURCE = "racquet.c"
HOG = {"hold_us": 100, "period_us": 1000}  # each tenth ball, and no waiting for the check
AT_ONCE_NS = 1000  # an edge that waits for nobody


@check(question="builds", needs=["check_answered[builds]"])
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


@check(question="answers", needs=["check_answered[answers]", "check_builds"])
def check_answers(work: Work) -> None:
    """Each ball is answered, none is counted during an audit, and Raise never waits.

    Hint: which tasks take Books, and which of them is the highest? That is the ceiling.
    """
    for kernel in ("sloth", "sloth-m0"):
        try:
            _judge(kernel, work.folder / SOURCE)
        except TennisError as error:
            raise Inconclusive(str(error)) from error


def _judge(kernel: str, source: Path) -> None:
    request = RallyRequest(kernel=kernel, racquet=source, load="hog", load_options=HOG)
    plan = plan_for(request, Serving(balls=200, timeout_ms=5, settle_s=0.02))
    with tempfile.TemporaryDirectory(prefix="tennis-lab-") as scratch:
        rally = play(bench_for(plan), plan, Path(scratch) / "own", Watch())
        if rally.manifest.faults:
            fault = rally.manifest.faults[0]
            raise Wrong(f"{kernel}: {fault.message} ({fault.code})")
        expect(
            not rally.misses,
            f"{kernel}: {rally.misses} of {rally.balls} balls have no answer: the books were torn, "
            "or nobody lowers the line",
        )
        rise_ns, width_ns = latencies_ns(rally, "interrupt"), latencies_ns(rally, "scheduling")
        latest = int(rise_ns.max())
        expect(
            latest < AT_ONCE_NS,
            f"{kernel}: a rising edge waited for {format_ns(latest)}: on which task?",
        )
        expect(
            width_ns.max() > HOG["hold_us"] * 500,
            f"{kernel}: no ball ever waited for an audit of {HOG['hold_us']} us",
        )


@check(question="waited", needs=["check_answered[waited]", "check_rally[own]"])
def check_waited(work: Work) -> None:
    """The share is that of your own rally, within 5 percent.

    Hint: the notebook counts them; a share of 0.027 is 2.7 %.
    """
    width_ns = latencies_ns(work.rallies["own"], "scheduling")
    limit_ns = 1000 * float(str(work.lab.parameters["limit_us"]))
    right = 100 * float((width_ns > limit_ns).mean())
    value = number(work, "waited")
    expect(near(value, right, 5), f"{value:g} %: your rally says otherwise")


@check(question="latest", needs=["check_answered[latest]", "check_rally[mainline]"])
def check_latest(work: Work) -> None:
    """The latency is that of your own rally, within 2 percent.

    Hint: `tennis stats mainline`, the row maximum, the column interrupt. In µs.
    """
    right = figure_ns(work.rallies["mainline"], "interrupt", "max")
    value = number(work, "latest")
    expect(near(1000 * value, right, 2), f"{value:g} µs: not in your rally")
