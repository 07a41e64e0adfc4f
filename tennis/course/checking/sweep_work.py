# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A lab's sweep: what is to be played, and whether a sweep is the one that was asked for.

It has more rates than anybody wants to play again for each student: some are, which follow from
the balls themselves, so that nobody knows them before the sweep is played.
"""

from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.course.checking.replays import chosen, play_again
from tennis.course.checks import Inconclusive, InDoubt, Wrong
from tennis.course.labs import Lab, LabError, LabSweep
from tennis.course.work import Work
from tennis.errors import RallyError
from tennis.play.planning import plan_of
from tennis.play.player import unversioned
from tennis.play.rally import unobserved
from tennis.play.sweep import SweepRequest, play_sweep
from tennis.rally import open_rally
from tennis.rally.folder import BALLS
from tennis.rally.text import plain
from tennis.sweep.folder import Sweep, open_sweep
from tennis.sweep.search import (
    PAIRED_PERCENT,
    RATES_PER_DECADE,
    RESOLUTION_PERCENT,
    Range,
    next_rate,
)


def sweep_request(lab: Lab, seed: int, balls: int | None = None) -> SweepRequest:
    """Return a lab's sweep with a student's seed; ``balls``: fewer at each rate."""
    sweep = _sweep(lab)
    plan = plan_of(
        kernel=sweep.kernel,
        load=sweep.load,
        load_options=sweep.load_options,
        balls=min(balls or sweep.balls, sweep.balls),
        seed=seed,
        loop="open",
        rate_hz=float(sweep.from_hz),
    )
    rates = Range(
        from_hz=sweep.from_hz,
        to_hz=sweep.to_hz,
        rates_per_decade=RATES_PER_DECADE,
        paired_percent=PAIRED_PERCENT,
        resolution_percent=RESOLUTION_PERCENT,
    )
    return SweepRequest(plan, rates)


def play(lab: Lab, seed: int, out: Path, balls: int | None = None) -> int:
    """Play a lab's sweep into ``out``, or the rest of it; return how many rates it has now.

    Raises TennisError, KeyboardInterrupt.
    """
    before = len(list(out.glob("*-hz")))
    asked = sweep_request(lab, seed, balls)
    done = play_sweep(bench_for(asked.plan), asked, out, lambda _: unobserved(), lambda: False)
    if done.interrupted:
        raise KeyboardInterrupt
    return len(done.sweep.rates) - before


def whole_sweep(work: Work) -> Sweep:
    """Return a student's sweep, all of it and as it was asked for. Raises Wrong, Inconclusive."""
    asked = _sweep(work.lab)
    wanted = sweep_request(work.lab, work.seed)
    try:
        sweep = open_sweep(work.folder / asked.name)
    except RallyError as error:
        raise Wrong(plain(str(error).replace(f"{work.folder}/", ""), 200)) from error
    if sweep.record.bench == "replay":
        raise Inconclusive("it was not played here: its bench is replay")
    ours, theirs = unversioned(wanted.plan), unversioned(sweep.record.plan)
    if theirs.protocol.seed != ours.protocol.seed:
        raise InDoubt(f"its seed is {theirs.protocol.seed}; yours is {ours.protocol.seed}")
    if (theirs, sweep.record.range) != (ours, wanted.range):
        raise Wrong("it is another sweep than README.md of your folder asks for")
    if next_rate(sweep.record.range, sweep.shares) is not None:
        raise Wrong("it was not played to its end: the same `tennis sweep` continues")
    if sweep.suspect:
        rate, why = next(iter(sweep.suspect.items()))
        raise Inconclusive(f"{rate} Hz is suspect: {why}")
    return sweep


def play_some_again(work: Work) -> list[int]:
    """Play some rates of a sweep again; return them, in Hz. Raises as checks do."""
    sweep = whole_sweep(work)
    rates = chosen(balls_of(sweep), sweep.rates, _sweep(work.lab).replays)
    play_again(work, sweep.record.bench, [sweep.path / f"{rate_hz}-hz" for rate_hz in rates])
    return rates


def balls_of(sweep: Sweep) -> str:
    """Return the SHA-256 of the balls of all rates, in the order of the rates."""
    rallies = (open_rally(sweep.path / f"{rate_hz}-hz") for rate_hz in sorted(sweep.rates))
    return "".join(rally.manifest.files[BALLS] for rally in rallies)


def _sweep(lab: Lab) -> LabSweep:
    if lab.sweep is None:
        raise LabError(f"lab {lab.slug} has no sweep")
    return lab.sweep
