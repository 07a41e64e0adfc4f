# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a student's folder shows: that the lab's rallies were played, as the lab asks for them.

It says what was played, out of what the lab names. A rally that says something else is refused
with the line that says it, and one that no bench here could have played is a finding: neither is
played again. What is left is compared with what the marker played.
"""

from pathlib import Path

from tennis.course.checking.match_work import whole_match
from tennis.course.checking.plays import BALLS_MAX_TIMES, Plays, plan_of_rally
from tennis.course.checking.sweep_work import whole_sweep
from tennis.course.checks import Inconclusive, InDoubt, Wrong, expect
from tennis.course.labs import LabRally, Question
from tennis.course.work import Work
from tennis.errors import NotBuiltError, TennisError, UsageError
from tennis.play.replaying import plan_again
from tennis.rally import Rally
from tennis.rally.manifest import OWN
from tennis.rally.plan import Plan
from tennis.rally.text import plain

# what a plan holds besides a rally's settings; of the protocol the seed and the balls are judged
# by themselves
NO_SETTINGS = {"schema_version", "operator", "umpire", "versions", "racquet", "protocol"}
NO_SETTINGS |= {"phase_of_a_second"}  # of rallies of an older Tennis, whose balls tell
JUDGED = {"seed", "balls"}
# what is wrong with a sweep or a match, which takes long to open, by its place: each of several
# questions asks for it
_TROUBLE: dict[Path, Exception | None] = {}


def there(work: Work, asked: LabRally, *, boards: bool) -> None:
    """Raise Wrong, InDoubt or Inconclusive unless a rally is there, whole, and as asked."""
    if asked.name in work.trouble:
        # a recording comes with the labs: no student's fault
        altered = asked.name in work.altered
        kind = Inconclusive if asked.recorded else InDoubt if altered else Wrong
        raise kind(work.trouble[asked.name])
    if asked.recorded:
        return
    as_asked(work, asked, boards=boards)
    rally = work.handed_in[asked.name]
    manifest = rally.manifest
    if manifest.ended == "interrupted":
        raise Wrong(f"it was interrupted after {rally.balls} of {asked.balls} balls: play it again")
    if manifest.suspect or manifest.ended != "complete":
        faults = [plain(fault.message, 120) for fault in manifest.faults]
        raise Inconclusive(f"{(faults or ['it is suspect'])[0]}: play it again")
    expect(
        rally.balls >= asked.balls,
        f"{rally.balls} balls, but the lab asks for {asked.balls}",
    )


def as_asked(work: Work, asked: LabRally, *, boards: bool) -> None:
    """Raise unless a rally says that it is the lab's, with the student's seed.

    Wrong: it says another setting. InDoubt: another's seed, or nothing that a bench of this class
    could have played. Inconclusive: a recording that somebody handed out.
    """
    if asked.name not in work.handed_in:
        raise Wrong(work.trouble.get(asked.name, "it is not there"))
    rally = work.handed_in[asked.name]
    manifest = rally.manifest
    if asked.drill and manifest.drill is None:
        raise Wrong("it is a rally, but the lab asks for a drill")
    for what, is_so, wanted in _settings(rally, asked):
        _expect_same(what, is_so, wanted)
    if manifest.bench == "virtual":
        _refuse_other_plans(work, rally, asked)
    elif manifest.bench != "replay" and not boards:
        raise InDoubt(
            f"it says that it was played on the bench {manifest.bench}: this class has no boards "
            "(tennis grade --boards)"
        )
    seed = manifest.protocol.seed
    if manifest.bench == "replay" and seed != work.seed + asked.boot:
        raise Inconclusive("it was replayed from a recording, with the recording's seed")
    if seed != work.seed + asked.boot:
        raise InDoubt(
            f"its seed is {seed}; that of {work.answers.student} is {work.seed + asked.boot}"
        )


def whole_of(work: Work, name: str, *, boards: bool) -> None:
    """Raise Wrong, InDoubt or Inconclusive unless a lab's sweep or match is there and whole."""
    of_sweep = work.lab.sweep is not None and work.lab.sweep.name == name
    place = work.folder / name
    if place not in _TROUBLE:
        _TROUBLE[place] = None
        try:
            (whole_sweep if of_sweep else whole_match)(work, boards=boards)
        except (Wrong, Inconclusive) as error:
            _TROUBLE[place] = error
    if trouble := _TROUBLE[place]:
        raise trouble


def needed(work: Work, question: Question, *, boards: bool) -> list[str]:
    """Return which rallies of a question are in doubt, or suspect: their own checks say it.

    Those of a doubt withhold all points; what a bench did wrong costs none. Raises Wrong unless all
    that the question needs is there.
    """
    asked = {one.name: one for one in work.lab.rallies}
    doubtful = []
    for name in question.rallies:
        try:
            if name in asked:
                there(work, asked[name], boards=boards)
            else:
                whole_of(work, name, boards=boards)
        except (InDoubt, Inconclusive):
            doubtful.append(name)
        except Wrong as error:
            raise Wrong(f"it needs {name}: {error}") from error
    return doubtful


def plan_here(work: Work, asked: LabRally) -> Plan:
    """Return the plan of a lab's rally as the marker plays it. Raises TennisError.

    The balls are those of the student's folder if they are more than the lab's.
    """
    known = work.handed_in.get(asked.name)
    balls = known.manifest.protocol.balls if known is not None else 0
    most = BALLS_MAX_TIMES * asked.balls
    racquet = work.folder / asked.racquet if asked.racquet else None
    return plan_of_rally(
        asked, work.seed, balls=min(max(balls, asked.balls), most), racquet=racquet
    )


def compare(work: Work, rally: Rally, asked: LabRally, plays: Plays) -> None:
    """Compare a student's rally with the marker's. Raises InDoubt, Inconclusive."""
    only_balls = rally.manifest.bench == "replay"
    try:
        found = plays.difference(rally, plan_here(work, asked), only_balls=only_balls)
    except NotBuiltError as error:
        raise InDoubt(f"it cannot be played again: {plain(str(error), 200)}") from error
    except TennisError as error:
        raise Inconclusive(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error
    if found:
        raise InDoubt(found.replace(f"{work.folder}/", ""))


def _expect_same(what: str, is_so: object, wanted: object) -> None:
    expect(is_so == wanted, f"its {what} is {plain(str(is_so), 60)}, not {wanted}")


def _refuse_other_plans(work: Work, rally: Rally, asked: LabRally) -> None:
    """Raise Wrong where a rally of the virtual bench has a setting that the lab does not name.

    InDoubt where no plan of this bench says what its manifest says.
    """
    own = rally.manifest.target.module == OWN
    source = work.folder / asked.racquet if asked.racquet and own else None
    try:
        claimed = plan_again(rally, racquet=source, pico=True)
    except UsageError as error:
        raise InDoubt(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error
    wanted = plan_of_rally(asked, work.seed, racquet=source)
    left_out = NO_SETTINGS | ({"top_half", "bottom_half"} if source else set())
    for name in Plan.model_fields:
        if name not in left_out:
            is_so, should_be = (getattr(plan, name) for plan in (claimed, wanted))
            _expect_same(name.replace("_", " "), is_so, should_be)
    for name in type(wanted.protocol).model_fields:
        if name not in JUDGED:
            is_so, should_be = (getattr(plan.protocol, name) for plan in (claimed, wanted))
            _expect_same(name.replace("_", " "), is_so, should_be)
    most = BALLS_MAX_TIMES * asked.balls
    balls = claimed.protocol.balls
    expect(balls <= most, f"{balls} balls, but the lab asks for {asked.balls}, {most} at most")


def _settings(rally: Rally, asked: LabRally) -> list[tuple[str, object, object]]:
    """Return what must be as asked for: what, as it is, as it should be."""
    target, load = rally.manifest.target, rally.manifest.load
    if asked.drill is not None:
        done = rally.manifest.drill
        assert done is not None  # noqa: S101 (a rally in its place is refused)
        return [
            ("kernel", target.kernel, asked.kernel),
            ("load", load.name, asked.load),
            *(
                (f"load's {name}", load.options.get(name), v)
                for name, v in asked.load_options.items()
            ),
            ("drill", done.name, asked.drill.name),
            ("context", done.context, asked.drill.context),
            ("period", f"{done.period_ns / 1000:g} us", f"{asked.drill.period_us:g} us"),
        ]
    pairs: list[tuple[str, object, object]] = [
        ("kernel", target.kernel, asked.kernel),
        ("beneath it", target.beneath, asked.beneath),
        ("load", load.name, asked.load),
        ("Racquet", "your own" if target.module == OWN else "the kit's", _racquet(asked)),
    ]
    if asked.racquet is None:
        pairs += [
            ("top half", target.top_half, asked.top_half),
            ("bottom half", target.bottom_half, asked.bottom_half),
        ]
    pairs += [
        ("priorities", target.priorities, asked.priorities),
        ("rate", rally.manifest.protocol.rate_hz, asked.rate_hz),
    ]
    pairs += _places(rally, asked)
    if asked.gap_us is not None:
        protocol = rally.manifest.protocol
        gaps = f"{protocol.gap_min_ns / 1000:g} to {protocol.gap_max_ns / 1000:g} us"
        pairs.append(("gap", gaps, "{:g} to {:g} us".format(*asked.gap_us)))
    for name, value in asked.load_options.items():
        pairs.append((f"load's {name}", load.options.get(name), value))
    return pairs


def _places(rally: Rally, asked: LabRally) -> list[tuple[str, object, object]]:
    """Return where all of it must have run; a board has processors and a place of its own."""
    target, virtual = rally.manifest.target, rally.manifest.bench == "virtual"
    pairs: list[tuple[str, object, object]] = []
    if virtual:
        pairs.append(("number of processors", target.processors or 1, asked.processors))
    if virtual or asked.interrupt_cpu is not None:
        pairs.append(("interrupt", _on(target.interrupt_cpu), _on(asked.interrupt_cpu)))
    if virtual or asked.bottom_half_cpu is not None:
        here = (_on(target.bottom_half_cpu), _on(asked.bottom_half_cpu))
        pairs.append(("bottom half", *here))
    if virtual or asked.load_cpus:
        pairs.append(("load", _on(rally.manifest.load.cpus), _on(asked.load_cpus)))
    if virtual or asked.command_line:
        added = (target.added or "none", asked.command_line or "none")
        pairs.append(("addition to the command line", *added))
    return pairs


def _on(cpus: int | str | None) -> str:
    return "where the kernel put it" if cpus is None else f"on processor {cpus}"


def _racquet(asked: LabRally) -> str:
    return "your own" if asked.racquet else "the kit's"
