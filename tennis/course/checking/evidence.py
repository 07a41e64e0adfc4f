"""Evidence in a student's folder that the lab's rallies were played as the lab asks.

The folder's rallies must have the settings that the lab names. One with another setting is refused
with the line that shows it, and one that no bench here could have played is a finding: neither is
played again. The others are compared with the marker's own.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tennis.course.checking.match_work import whole_match
from tennis.course.checking.plays import BALLS_MAX_TIMES, Plays, plan_of_rally
from tennis.course.checking.sweep_work import whole_sweep
from tennis.course.checks import Inconclusive, InDoubt, Wrong, expect
from tennis.course.labs import LabRally, Question
from tennis.course.work import LOST_PERCENT, Work
from tennis.kit.errors import BenchError, NotBuiltError, TennisError, UsageError
from tennis.kit.units import format_count
from tennis.play.repeat import plan_again
from tennis.rally import Rally
from tennis.rally.manifest import OWN
from tennis.rally.plan import Plan
from tennis.rally.program import identity, known_by
from tennis.rally.serving import Serving
from tennis.rally.settings import (
    LENGTH,
    OF_A_BOOT,
    OF_KIND,
    OF_TARGET,
    SETTINGS,
    Setting,
    differences,
    served_otherwise,
)
from tennis.rally.text import plain

# of a protocol: judged by themselves
JUDGED = OF_A_BOOT | LENGTH
_OWN_HALVES = frozenset({"top_half", "bottom_half"})  # a user's Racquet decides them itself
# of a rally that asks for a drill: nothing answers
OF_ANSWERS = frozenset({"top_half", "bottom_half", "priorities"})
# the error of a sweep or a match by its place: opening takes long, and several questions need it
_TROUBLE: dict[Path, Exception | None] = {}


def there(work: Work, lab_rally: LabRally, *, boards: bool) -> None:
    """Raise Wrong, InDoubt or Inconclusive unless a rally is there, whole, and as asked."""
    if lab_rally.name in work.trouble:
        # a recording comes with the labs: no student's fault
        altered = lab_rally.name in work.altered
        kind = Inconclusive if lab_rally.recorded else InDoubt if altered else Wrong
        raise kind(work.trouble[lab_rally.name])
    if lab_rally.recorded:
        return
    as_asked(work, lab_rally, boards=boards)
    rally = work.handed_in[lab_rally.name]
    manifest = rally.manifest
    if manifest.ended == "interrupted":
        raise Wrong(
            f"it was interrupted after {rally.balls} of {lab_rally.balls} balls: play it again"
        )
    if manifest.suspect or manifest.ended != "complete":
        faults = [plain(fault.message, 120) for fault in manifest.faults]
        raise Inconclusive(f"{(faults or ['it is suspect'])[0]}: play it again")
    expect(
        rally.balls >= lab_rally.balls,
        f"{rally.balls} balls, but the lab asks for {lab_rally.balls}",
    )


def as_asked(work: Work, lab_rally: LabRally, *, boards: bool) -> None:
    """Raise unless a rally says that it is the lab's, with the student's seed.

    Wrong: it says another setting. InDoubt: another's seed, or nothing that a bench of this class
    could have played. Inconclusive: a recording that somebody handed out.
    """
    if lab_rally.name not in work.handed_in:
        raise Wrong(work.trouble.get(lab_rally.name, "it is not there"))
    rally = work.handed_in[lab_rally.name]
    manifest = rally.manifest
    if lab_rally.drill and manifest.drill is None:
        raise Wrong("it is a rally, but the lab asks for a drill")
    _refuse_other_settings(rally, lab_rally)
    _refuse_other_program(work, rally, lab_rally)
    if manifest.bench == "virtual":
        _refuse_other_plans(work, rally, lab_rally)
    elif manifest.bench != "replay" and not boards:
        raise InDoubt(
            f"it says that it was played on the bench {manifest.bench}: this class has no boards "
            "(tennis grade --boards)"
        )
    seed = manifest.protocol.seed
    if manifest.bench == "replay" and seed != work.seed + lab_rally.boot:
        raise Inconclusive("it was replayed from a recording, with the recording's seed")
    if seed != work.seed + lab_rally.boot:
        raise InDoubt(
            f"its seed is {seed}; that of {work.answers.student} is {work.seed + lab_rally.boot}"
        )


def _whole_of(work: Work, name: str, *, boards: bool) -> None:
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


def doubtful_rallies(work: Work, question: Question, *, boards: bool) -> list[str]:
    """Return which rallies of a question are in doubt, or suspect: their own checks say it.

    A doubt withholds all points; a bench's fault costs none. Raises Wrong unless all that the
    question needs is there.
    """
    asked = {one.name: one for one in work.lab.rallies}
    doubtful = []
    for name in question.rallies:
        try:
            if name in asked:
                there(work, asked[name], boards=boards)
            else:
                _whole_of(work, name, boards=boards)
        except (InDoubt, Inconclusive):
            doubtful.append(name)
        except Wrong as error:
            raise Wrong(f"it needs {name}: {error}") from error
    return doubtful


def _plan_here(work: Work, lab_rally: LabRally) -> Plan:
    """Return the plan of a lab's rally as the marker plays it. Raises TennisError.

    The balls are those of the student's folder if they are more than the lab's.
    """
    known = work.handed_in.get(lab_rally.name)
    balls = known.manifest.protocol.balls if known is not None else 0
    most = BALLS_MAX_TIMES * lab_rally.balls
    count = min(max(balls, lab_rally.balls), most)
    return plan_of_rally(lab_rally, work.seed, balls=count, own=_own_file(work, lab_rally))


def _own_file(work: Work, lab_rally: LabRally) -> Path | None:
    """Return the file that answers in a rally, or None for the kit's Racquet.

    It is the lab's own if no question asks a student to complete it.
    """
    name = lab_rally.own_file
    if name is None:
        return None
    completed = {question.file for question in work.lab.questions}
    return (work.folder if name in completed else work.lab.folder) / name


def compare(work: Work, rally: Rally, lab_rally: LabRally, plays: Plays) -> None:
    """Compare a student's rally with the marker's. Raises InDoubt, Inconclusive."""
    only_balls = rally.manifest.bench == "replay"
    try:
        found = plays.difference(rally, _plan_here(work, lab_rally), only_balls=only_balls)
    except NotBuiltError as error:
        raise InDoubt(f"it cannot be played again: {plain(str(error), 200)}") from error
    except TennisError as error:
        raise Inconclusive(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error
    if found:
        raise InDoubt(found.replace(f"{work.folder}/", ""))


def _expect_same(what: str, is_so: object, expected: object) -> None:
    expect(is_so == expected, f"its {what} is {plain(str(is_so), 60)}, not {expected}")


def _expect_setting(row: Setting, is_so: object, expected: object) -> None:
    if is_so != expected:
        _expect_same(row.words, row.shown(is_so), row.shown(expected))


def _refuse_other_plans(work: Work, rally: Rally, lab_rally: LabRally) -> None:
    """Raise Wrong if a rally of the virtual bench has a setting that the lab does not name.

    Raises InDoubt if no plan of this bench gives its manifest.
    """
    target = rally.manifest.target
    source = _own_file(work, lab_rally)
    racquet = source if lab_rally.racquet and target.module == OWN else None
    program = source if lab_rally.program and target.program else None
    source = racquet or program
    try:
        claimed = plan_again(rally, racquet=racquet, program=program, any_instrument=True)
    except UsageError as error:
        raise InDoubt(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error
    wanted = plan_of_rally(lab_rally, work.seed, own=source)
    left_out = {"racquet", "program", *(_OWN_HALVES if source else ())}
    for row in OF_KIND:
        if row.name not in left_out:
            _expect_setting(row, row.of(claimed), row.of(wanted))
    for name, is_so, should_be in served_otherwise(claimed.protocol, wanted.protocol, JUDGED):
        _expect_same(name.replace("_", " "), is_so, should_be)
    most = BALLS_MAX_TIMES * lab_rally.balls
    balls = claimed.protocol.balls
    expect(balls <= most, f"{balls} balls, but the lab asks for {lab_rally.balls}, {most} at most")


def _refuse_other_program(work: Work, rally: Rally, lab_rally: LabRally) -> None:
    """Raise Wrong if another program answered than the one that the student hands in."""
    asked = _own_file(work, lab_rally) if lab_rally.program else None
    played = rally.manifest.target.program
    is_so = identity(played.name, played.sha256) if played else None
    should_be = known_by(str(asked)) if asked else None
    if played and asked and is_so != should_be and played.name == asked.name:
        own = asked.parent == work.folder
        what = "was changed since" if own else "or a file that it includes was changed before"
        ask = "play it again" if own else "`tennis lab start` makes another folder, with the files"
        raise Wrong(f"{played.name} {what} it was played: {ask}")
    _expect_setting(SETTINGS["program"], is_so, should_be)


def _refuse_other_settings(rally: Rally, lab_rally: LabRally) -> None:
    """Raise Wrong if a rally has another setting than the lab's, on any bench.

    A board uses its own processors, and places on them, if the lab names none.
    """
    manifest = rally.manifest
    # below; and of several processors another one
    left_out = {"load_options", "instruction_ns", "program"}
    if lab_rally.drill is not None:
        left_out |= OF_ANSWERS
    elif lab_rally.own_file is not None:
        left_out |= _OWN_HALVES
    for row, is_so, should_be in differences(manifest, lab_rally, OF_TARGET):
        own = "own on a board" in row.traits and manifest.bench != "virtual"
        its_own = own and should_be == row.default
        if row.name not in left_out and not its_own:
            _expect_setting(row, is_so, should_be)
    options = manifest.load.options
    for name, value in lab_rally.load_options.items():
        _expect_same(f"load's {name}", options.get(name), value)
    _expect_setting(SETTINGS["load_options"], options, lab_rally.load_options)
    if lab_rally.drill is not None:
        done = manifest.drill
        assert done is not None  # noqa: S101 (a rally in its place is refused)
        _expect_same("drill", done.name, lab_rally.drill.name)
        _expect_same("context", done.context, lab_rally.drill.context)
        periods = (f"{us:g} us" for us in (done.period_ns / 1000, lab_rally.drill.period_us))
        _expect_same("period", *periods)
        return
    _expect_same("rate", manifest.protocol.rate_hz, lab_rally.rate_hz)
    if lab_rally.gap_us is not None:
        protocol = manifest.protocol
        gaps = f"{protocol.gap_min_ns / 1000:g} to {protocol.gap_max_ns / 1000:g} us"
        _expect_same("gap", gaps, "{:g} to {:g} us".format(*lab_rally.gap_us))
    served = Serving(**lab_rally.serving).protocol()
    for name, is_so, should_be in served_otherwise(manifest.protocol, served, JUDGED):
        _expect_same(name.replace("_", " "), is_so, should_be)


# --- what the marker played, as checks read it ---


class PlayedHere(Mapping[str, Rally]):
    """The rallies of a student's folder, by name; each is played when a check first reads it.

    Recorded ones are the lab's own. One of a board is the folder's: nobody can play it again.
    """

    def __init__(self, work: Work, plays: Plays) -> None:
        self._work, self._plays = work, plays
        self._known: dict[str, Rally] = {}
        self._asked = {one.name: one for one in work.lab.rallies}

    def __getitem__(self, name: str) -> Rally:
        """Return a rally. Raises KeyError if the folder has none of this name, TennisError."""
        handed_in = self._work.handed_in[name]
        if self._asked[name].recorded or handed_in.manifest.bench not in {"virtual", "replay"}:
            return handed_in
        if name not in self._known:
            plan = _plan_here(self._work, self._asked[name])
            self._known[name] = self._plays.rally(plan)
        return self._known[name]

    def misplayed(self, name: str) -> str:
        """Describe the faults of a student's Racquet's answers in its rally; empty: none.

        Raises TennisError.
        """
        return self._plays.misplayed(_plan_here(self._work, self._asked[name]))

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the rallies that the folder has."""
        return iter(self._work.handed_in)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._work.handed_in)


# --- a student's own Racquet, or program, is judged by the rally that the marker plays ---


def own_rally(work: Work, own: str, beside: str) -> Rally:
    """Return the rally of a student's Racquet, or program, of which each ball was answered once.

    ``own``, ``beside``: names of the lab's rallies, the second one with the kit's Racquet, or a
    program of the lab's. Raises Wrong if the student's fails, Inconclusive if the other does, too,
    BenchError if this machine plays neither.
    """
    rally, said = None, ""
    is_program = next(one for one in work.lab.rallies if one.name == own).program is not None
    what = "program" if is_program else "Racquet"
    try:
        rally = work.rallies[own]
    except NotBuiltError as error:
        raise Wrong(f"it is not built: {plain(str(error), 200)}") from error
    except BenchError as error:
        said = plain(str(error).replace(f"{work.folder}/", ""), 200)
    if rally is None:  # not within the handler: what follows is no fault of this machine
        _refuse_trouble(work, beside, what)
        raise Wrong(f"with your {what} the rally ends, with the kit's it does not: {said}")
    manifest = rally.manifest
    if manifest.suspect or manifest.ended != "complete":
        _refuse_trouble(work, beside, what)
        why = plain(manifest.faults[0].message, 200) if manifest.faults else manifest.ended
        raise Wrong(f"with your {what} the rally fails: {why}")
    counts = manifest.counts
    for lost, how in (
        (counts.misses, "not answered"),
        (counts.doubles, "answered twice"),
        (counts.strays, "answers without a ping"),
    ):
        expect(
            lost * 100 <= LOST_PERCENT * rally.balls,
            f"{lost} of {format_count(rally.balls, 'ball')}: {how}",
        )
    if isinstance(work.rallies, PlayedHere):
        expect(not (wrong := work.rallies.misplayed(own)), f"in the rally {wrong}")
    return rally


def _refuse_trouble(work: Work, beside: str, what: str) -> None:
    """Raise Inconclusive or BenchError if the kit's Racquet or program does not play, either."""
    if work.rallies[beside].manifest.suspect:
        raise Inconclusive(f"{beside}, with the kit's {what}, is suspect here, too")
