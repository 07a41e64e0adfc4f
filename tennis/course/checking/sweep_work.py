"""A lab's sweep: the sweep to play, and a check that a sweep is the one that was asked for.

The marker plays all of its rates, like every rally of a lab.
"""

from tennis.course.checking.plays import ON_BOARD, Plays
from tennis.course.checks import Inconclusive, InDoubt, Wrong
from tennis.course.labs import Lab, LabError, LabSweep
from tennis.course.work import Work
from tennis.kit.errors import RallyError
from tennis.match.player import unversioned
from tennis.match.sweep.folder import Sweep, open_sweep
from tennis.match.sweep.playing import SweepRequest
from tennis.match.sweep.search import Range
from tennis.play.planning import plan_for
from tennis.rally import open_rally
from tennis.rally.folder import BALLS
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.rally.text import plain


def _sweep_request(lab: Lab, seed: int) -> SweepRequest:
    """Return a lab's sweep with a student's seed."""
    sweep = _sweep(lab)
    request = RallyRequest(kernel=sweep.kernel, load=sweep.load, load_options=sweep.load_options)
    serving = Serving(balls=sweep.balls, seed=seed, loop="open", rate_hz=float(sweep.from_hz))
    plan = plan_for(request, serving)
    return SweepRequest(plan, Range(from_hz=sweep.from_hz, to_hz=sweep.to_hz))


def whole_sweep(work: Work, *, boards: bool = True) -> Sweep:
    """Return a student's sweep, all of it and as it was asked for. Raises Wrong, Inconclusive.

    ``boards``: the class has some.
    """
    asked = _sweep(work.lab)
    wanted = _sweep_request(work.lab, work.seed)
    try:
        sweep = open_sweep(work.folder / asked.name)
    except RallyError as error:
        raise Wrong(plain(str(error).replace(f"{work.folder}/", ""), 200)) from error
    if sweep.record.bench == "replay":
        raise Inconclusive("it was not played here: its bench is replay")
    if sweep.record.bench != "virtual" and not boards:
        raise InDoubt(f"it says that its bench is {sweep.record.bench}: this class has no boards")
    ours, theirs = unversioned(wanted.plan), unversioned(sweep.record.plan)
    if theirs.protocol.seed != ours.protocol.seed:
        raise InDoubt(f"its seed is {theirs.protocol.seed}; yours is {ours.protocol.seed}")
    if (theirs, sweep.record.range) != (ours, wanted.range):
        raise Wrong("it is another sweep than README.md of your folder asks for")
    if sweep.record.range.next_rate(sweep.shares) is not None:
        raise Wrong("it was not played to its end: the same `tennis sweep` continues")
    if sweep.suspect:
        rate, why = next(iter(sweep.suspect.items()))
        raise Inconclusive(f"{rate} Hz is suspect: {why}")
    return sweep


def sweep_here(work: Work, plays: Plays | None, *, boards: bool) -> Sweep:
    """Return the sweep that answers are compared with: the marker's.

    The student's own if nothing is played, or if it is from a board, which nobody can play again.
    Raises as ``whole_sweep`` does, and TennisError.
    """
    sweep = whole_sweep(work, boards=boards)
    if plays is None or sweep.record.bench != "virtual":
        return sweep
    return plays.sweep(_sweep_request(work.lab, work.seed))


def compare_sweep(work: Work, plays: Plays, *, boards: bool) -> str:
    """Compare each rate of a student's sweep with the marker's; describe the comparison.

    Raises InDoubt, Inconclusive.
    """
    sweep, ours = whole_sweep(work, boards=boards), sweep_here(work, plays, boards=boards)
    if sweep.record.bench != "virtual":
        return f"played on the bench {sweep.record.bench}: {ON_BOARD}"
    for rate_hz in sorted({*sweep.rates, *ours.rates}):
        if rate_hz not in sweep.rates or rate_hz not in ours.rates:
            raise InDoubt(
                f"it {_has(sweep, rate_hz)} {rate_hz} Hz, and here it {_has(ours, rate_hz)}"
            )
        planned = ours.record.at(rate_hz)
        rally, played = (open_rally(one.path / planned.name) for one in (sweep, ours))
        if found := plays.difference(rally, unversioned(planned.plan), played):
            raise InDoubt(found.replace(f"{work.folder}/", ""))
    return f"all {len(ours.rates)} rates are what they were here"


def _has(sweep: Sweep, rate_hz: int) -> str:
    return "was played at" if rate_hz in sweep.rates else "was not"


def balls_of(sweep: Sweep) -> str:
    """Return the SHA-256 of the balls of all rates, in the order of the rates."""
    rallies = (open_rally(sweep.path / f"{rate_hz}-hz") for rate_hz in sorted(sweep.rates))
    return "".join(rally.manifest.files[BALLS] for rally in rallies)


def _sweep(lab: Lab) -> LabSweep:
    if lab.sweep is None:
        raise LabError(f"lab {lab.slug} has no sweep")
    return lab.sweep
