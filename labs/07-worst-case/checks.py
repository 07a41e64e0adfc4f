"""Lab 7: what can be computed from a student's own rallies, their instants and their stages."""

import numpy as np

from tennis.course.checking.plays import Plays
from tennis.course.checks import (
    Inconclusive,
    NotRun,
    Wrong,
    agrees,
    check,
    expect,
    figure_ns,
    level_ns,
    number,
)
from tennis.course.work import Work
from tennis.explain import stages
from tennis.explain.replayed import record_stages
from tennis.explain.worst_instant import find_worst
from tennis.kit.errors import TennisError
from tennis.rally import instants as storage
from tennis.rally.coverage import Played
from tennis.rally.statistics.balls import latencies_ns

BOOTS = ("boot-1", "boot-2", "boot-3", "boot-4")
CLOSED, COLD = "closed", "cold"


@check(question="level")
def check_level(work: Work) -> None:
    """The 99.9 % quantile is that of your own four boots together, within 5 percent.

    Hint: put the balls of all boots into one list. Do not average the boots' quantiles.
    """
    right_us = level_ns((work.rallies[name] for name in BOOTS), 1000) / 1000
    agrees(work, "level", right_us, 5)


@check(question="late")
def check_late(work: Work) -> None:
    """The share is that of your own rally, within 2 percent; missed balls are late.

    Hint: a missing edge is null in the table, and no comparison finds it.
    """
    limit_ns = 1000 * float(str(work.lab.parameters["limit_us"]))
    late = latencies_ns(work.rallies["open"], "interrupt") > limit_ns  # a missed one is infinite
    agrees(work, "late", 100 * float(late.mean()), 2, "your rally says otherwise")


@check(question="latest")
def check_latest(work: Work) -> None:
    """The latency is that of your own rally, within 1 percent.

    Hint: `tennis stats closed`, the row maximum, the column interrupt. In µs.
    """
    right_us = figure_ns(work.rallies[CLOSED], "interrupt", "max") / 1000
    agrees(work, "latest", right_us, 1, "not the latest ball of your rally")


@check(question="worst-instant")
def check_worst_instant(work: Work, plays: Plays | None) -> None:
    """The latency is that of the worst instant of your own rally's machine, within 1 percent.

    Hint: the first line that `tennis explain shots closed` prints. In µs.
    """
    right_us = _searched(work, plays).worst_ns / 1000
    agrees(work, "worst-instant", right_us, 1, "not the worst instant of your rally")


@check(question="not-ruled-out")
def check_not_ruled_out(work: Work, plays: Plays | None) -> None:
    """The share is that of your own search: within one in a hundred.

    Hint: `tennis explain shots closed` prints in how much of the time nothing is later. The rest.
    """
    value = number(work, "not-ruled-out")
    right = 100 * _searched(work, plays).open_share()
    expect(abs(value - right) <= 1, f"{value:g} %: the instants of your rally say otherwise")


@check(question="first-ball")
def check_first_ball(work: Work) -> None:
    """The factor is that of your own rally, within 2 percent.

    Hint: the notebook shows the first balls. Divide ball 0 by the median, interrupt latencies both.
    """
    latency_ns = latencies_ns(work.rallies[COLD], "interrupt")
    median_ns = figure_ns(work.rallies[COLD], "interrupt", "median")
    if not np.isfinite(latency_ns[0]):
        raise Inconclusive(f"ball 0 of {COLD} was missed")
    right = float(latency_ns[0]) / median_ns
    agrees(work, "first-ball", right, 2, "your rally says otherwise")


@check(question="waiting")
def check_waiting(work: Work, plays: Plays | None) -> None:
    """The share is that of your own rally's ball 0: within one in a hundred.

    Hint: the notebook shows the stages. Divide `stalled_ns` by `fall_ns`. In percent.
    """
    value = number(work, "waiting")
    stalled_ns, fall_ns = _first_stages(work, plays)
    right = 100 * stalled_ns / fall_ns
    expect(abs(value - right) <= 1, f"{value:g} %: the stages of your rally say otherwise")


def _first_stages(work: Work, plays: Plays | None) -> tuple[int, int]:
    """Return how long ball 0 waited for memory, and until its fall, in ns.

    Of the marker's own rally, what comes there. Raises Wrong where nobody recorded it, NotRun on a
    bench that shows no stalls, Inconclusive.
    """
    rally = work.rallies[COLD]
    if rally.manifest.bench != "virtual":
        raise NotRun(f"the bench {rally.manifest.bench} shows no stalls: a person decides")
    try:
        if plays:
            record_stages(rally)
        table = stages.read(rally)
    except TennisError as error:
        raise Inconclusive(str(error).replace(f"{work.folder}/", "")) from error
    if table is None:
        raise Wrong("nobody recorded its stages: type `tennis explain stages cold`")
    (stalled_ns, *_), (fall_ns, *_) = (table[name].tolist() for name in ("stalled_ns", "fall_ns"))
    if not fall_ns:
        raise Inconclusive(f"ball 0 of {COLD} was missed")
    return stalled_ns, fall_ns


def _searched(work: Work, plays: Plays | None) -> Played:
    """Return what `explain shots` played; of the marker's own rally, what it plays now.

    Raises Wrong if nobody searched, NotRun on a bench that has no shots, Inconclusive.
    """
    rally = work.rallies[CLOSED]
    if rally.manifest.bench != "virtual":
        raise NotRun(f"the bench {rally.manifest.bench} plays no shots: a person decides")
    try:
        found = find_worst(rally) if plays else storage.read(rally)
    except TennisError as error:
        raise Inconclusive(str(error).replace(f"{work.folder}/", "")) from error
    if found is None:
        raise Wrong("nobody searched in it: type `tennis explain shots closed`")
    return found.until("rise").played()
