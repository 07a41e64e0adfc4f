"""Findings of grading about honesty, and a person's decisions about them.

A finding is no verdict: a student may have taken a wrong command, a folder may be damaged. So the
points of a hand-in with a finding are withheld, not taken, until somebody has decided. Decisions
are kept by file, its hash and what the finding is about: they hold when the class is marked again,
and a new finding waits for a decision of its own.

If a student has several files, the one with the most points counts, and each other one is a
finding: so nobody can lower a mark by a file in another's name.
"""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tennis.course.checking.running import title
from tennis.course.labs import Lab
from tennis.course.people import folded
from tennis.course.work import seed_of
from tennis.grading.downloads import same_name, senders, sent
from tennis.grading.judged import Graded
from tennis.kit.errors import UsageError
from tennis.rally.edited import nearest, read_edited, write_readable
from tennis.rally.text import plain

DECISIONS = "decisions.toml"
KEYS = ("file", "sha256", "student", "about", "found", "decision")
HASH_DIGITS = 16
NAMED_MAX = 5  # of those who have the same
WHOLE = "the whole file"
SECOND = "a second file"
BLIND = "Participant"  # as Moodle calls everybody in blind marking
Decision = Literal["", "give", "none"]
HEAD = """\
# What was found out about honesty. The points of these hand-ins are withheld until you decide:
# write "give" (they count as if nothing had been found) or "none" (no points for this lab)
# between the quotes of `decision`, and run `tennis grade` again. Of "a second file", "give" means
# that it counts, and not the other one. Nothing that you write here is overwritten.
"""


def owners(graded: Sequence[Graded]) -> dict[str, tuple[str, ...]]:
    """Return the owner of each hand-in, by its file: equal owners are one student.

    A file in the name of somebody else is its sender's. One without a number is that of the only
    student of this name who gave one.
    """
    found = {one.file: _owner(one) for one in graded}
    for one in _in_anothers_name(graded):
        if found[one.file][0] == "name":
            found[one.file] = "name", folded(senders(one.file)[-1]), ""
    numbered: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for key in found.values():
        if key[0] == "name" and key[-1]:
            numbered[key[1]].add(key)
    for file, key in found.items():
        if key[0] == "name" and not key[-1] and len(numbered[key[1]]) == 1:
            (found[file],) = numbered[key[1]]
    return found


def called(graded: Sequence[Graded]) -> dict[str, str]:
    """Return the name of each hand-in's student, by its file.

    It is the name in the file, or the sender's for a file in the name of somebody else. Moodle's
    folders have names as its tables do; without names (blind marking) all are participants.
    """
    strange = {one.file for one in _in_anothers_name(graded)}
    found = {}
    for one in graded:
        platform = sent(one.file)
        by_moodle = platform is not None and platform.platform == "moodle" and platform.id
        names = _members(one) or [one.report.facts.student if one.report else one.student]
        own = senders(one.file)
        named = any(same_name(who, name) for who in own for name in names)
        is_sender = one.file in strange or (by_moodle and own[-1] != BLIND and not _members(one))
        found[one.file] = own[-1] if own and not named and is_sender else one.student
    return found


def _owner(one: Graded) -> tuple[str, ...]:
    """Return the owner of a hand-in: the platform's student, else the name and number in it.

    A hand-in that cannot be read says no name: it is its own.

    A group's hand-in may come from each of its members: it is the group's as long as all of them
    name the same members, and it came from one of these. Anybody else's copy of it is a copy.
    """
    if group := _group(one):
        return group
    platform = sent(one.file)
    if platform and platform.id:
        return platform.platform, platform.id
    if one.report is None:
        return "file", one.file
    return "name", folded(one.report.facts.student), one.report.facts.number


def _group(one: Graded) -> tuple[str, ...]:
    """Return whose a group's hand-in is; nothing if it is no group's, or came from others."""
    names = _members(one)
    if not names:
        return ()
    folder = one.file.rpartition("/")[0]
    platform = sent(one.file)
    is_member = any(same_name(who, name) for who in senders(one.file) for name in names)
    if platform and platform.id and not is_member:
        return ()
    where = "" if is_member else folder
    return "group", where, folded(one.student), *sorted(map(folded, names))


def _members(one: Graded) -> list[str]:
    """Return the names of a group's members; empty for a student alone."""
    return [member.name for member in one.report.facts.members] if one.report else []


def unconfirmed(files: Sequence[Graded], group: Graded) -> list[str]:
    """Return the members of a group from whom none of its files came: they may be unaware of it."""
    came = [name for one in files for name in senders(one.file)]
    return [name for name in _members(group) if not any(same_name(name, who) for who in came)]


@dataclass(frozen=True)
class IntegrityFinding:
    """Something about a hand-in that may mean that it is not its student's own work.

    ``about`` is the same each time the class is marked, ``found`` says it for a person, ``others``
    who is concerned, too.
    """

    file: str
    sha256: str
    student: str
    about: str
    found: str
    others: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the key of a decision about it."""
        return self.file, self.sha256[:HASH_DIGITS], self.about

    @property
    def words(self) -> str:
        """Return the finding in words."""
        return f"{self.about}: {self.found}{self.others}"


def findings(graded: Sequence[Graded], lab: Lab, recorded: Set[str]) -> list[IntegrityFinding]:
    """Return findings about honesty, in the order of the files.

    ``recorded``: SHA-256 of the balls of the rallies that the course hands out.
    """
    seeds, owner = _Seeds(graded, lab), owners(graded)
    named = list(_in_anothers_name(graded))
    strange = {one.file for one in named}
    found = [
        *named,
        *(one for graded_one in graded for one in _own(graded_one, seeds)),
        *_equal_balls([one for one in graded if one.file not in strange], seeds, recorded, owner),
    ]
    places = {one.file: number for number, one in enumerate(graded)}
    return sorted(found, key=lambda one: places[one.file])


def of_member(one: Graded, name: str) -> IntegrityFinding:
    """Return the finding about a member of a group who did not confirm."""
    return _finding(one, f"member {name}", "named by the group, and handed in nothing of it")


def second_file(one: Graded, counts: Graded) -> IntegrityFinding:
    """Return the finding about a file beside the one that counts."""
    return _finding(one, SECOND, f"{counts.file} counts")


def _in_anothers_name(graded: Sequence[Graded]) -> Iterator[IntegrityFinding]:
    """Yield for each hand-in that names a student of the class, and came from somebody else.

    Only platforms and folders say from whom a file came.
    """
    known = {one.file: senders(one.file) for one in graded}
    for one in graded:
        names = _members(one) or ([one.report.facts.student] if one.report else [])
        own = known[one.file]
        if not own or any(same_name(who, name) for who in own for name in names):
            continue
        others = [who for file, each in known.items() if file != one.file for who in each]
        for name in names:
            if any(same_name(who, name) for who in others):
                yield _finding(one, "its name", f"it names {name}", f", and came from {own[-1]}")
                break


class _Seeds:
    """The owners of seeds."""

    def __init__(self, graded: Sequence[Graded], lab: Lab) -> None:
        self._boots = {rally.name: rally.boot for rally in lab.rallies}
        every = [one.report.facts for one in graded if one.report]
        who = sorted({(facts.student, facts.number) for facts in every})
        self._students = {seed_of(lab, *each): each[0] for each in who}
        own = lab.parameters.get("seed")
        self._of_course = own if isinstance(own, int) else None

    def is_of_course(self, one: Graded, rally: str) -> bool:
        """Tell whether a rally has the seed of the handout, with which all have the same balls."""
        seed = _seed(one, rally)
        return seed is not None and seed - self._boots.get(rally, 0) == self._of_course

    def student(self, one: Graded, rally: str) -> str:
        """Return who of the class has the seed of a rally; empty: nobody."""
        seed = _seed(one, rally)
        return "" if seed is None else self._students.get(seed - self._boots.get(rally, 0), "")

    def words(self, one: Graded, rally: str) -> str:
        """Say whose seed a rally has."""
        if self.is_of_course(one, rally):
            return "; it is the seed of the handout"
        student = self.student(one, rally)
        return f"; it is the seed of {student}" if student else "; nobody in this class has it"


def _seed(one: Graded, rally: str) -> int | None:
    return one.report.facts.seeds.get(rally) if one.report else None


def _own(one: Graded, seeds: _Seeds) -> Iterator[IntegrityFinding]:
    """Yield what the checks of one hand-in found."""
    if one.report is None:
        return
    for result in one.report.results:
        rally = result.check.partition("check_rally[")[2].removesuffix("]")
        if result.in_doubt:
            known = rally in one.report.facts.seeds
            others = seeds.words(one, rally) if known else ""
            yield _finding(one, title(result), result.message, others)
    for rally in one.report.facts.replayed:
        student = seeds.student(one, rally)
        if student not in {"", one.report.facts.student}:
            what = f"a recording, played back, with the seed of {student}"
            yield _finding(one, f"rally {rally}", "it is not their own", f": {what}")


def _equal_balls(
    graded: Sequence[Graded],
    seeds: _Seeds,
    recorded: Set[str],
    owner: Mapping[str, tuple[str, ...]],
) -> Iterator[IntegrityFinding]:
    """Yield for each hand-in whose balls it has, besides; not of what all were given."""
    for rally, group in _same_balls(graded, seeds.is_of_course, recorded, owner):
        replayed = all(one.report and rally in one.report.facts.replayed for one in group)
        for one in group:
            others = [other for other in group if owner[other.file] != owner[one.file]]
            named = [f"{other.student} ({other.file})" for other in others[:NAMED_MAX]]
            named += [f"{len(others) - NAMED_MAX} more"] if len(others) > NAMED_MAX else []
            whose = seeds.student(one, rally)
            words = f": {', '.join(named)}"
            words += f"; their seed is that of {whose}" if whose else ""
            if replayed:
                words += "; all are recordings: if you handed them out, use --recorded DIR"
            yield _finding(one, f"the balls of {rally}", "others have the same ones", words)


def _same_balls(
    graded: Sequence[Graded],
    is_of_course: Callable[[Graded, str], bool],
    recorded: Set[str],
    owner: Mapping[str, tuple[str, ...]],
) -> Iterator[tuple[str, list[Graded]]]:
    """Yield a rally's name and the hand-ins of several students that have the same balls in it.

    Not those of a recording that the course handed out, nor those that were all played, or
    replayed, with the seed of the handout: everybody's are the same then.
    """
    found: dict[tuple[str, str], list[Graded]] = defaultdict(list)
    for one in graded:
        for name, digest in one.report.facts.rallies.items() if one.report else ():
            found[name, digest].append(one)
    for (name, digest), group in found.items():
        if digest in recorded or len({owner[one.file] for one in group}) == 1:
            continue
        if all(is_of_course(one, name) for one in group):
            continue
        yield name, group


def _finding(one: Graded, about: str, found: str, others: str = "") -> IntegrityFinding:
    return IntegrityFinding(
        one.file, one.sha256, one.student, about, plain(found, 300), plain(others, 300)
    )


def equals(graded: Sequence[Graded]) -> list[str]:
    """Return words, code and files that two students share, in words; balls are findings.

    A name with two numbers is here, too: two students may have one name.
    """
    owner = owners(graded)
    found: dict[tuple[str, str], list[Graded]] = defaultdict(list)
    for one in graded:
        if one.report is not None:
            for name, digest in one.report.facts.texts.items():
                found[f"the words of {name}", digest].append(one)
            for name, digest in one.report.facts.files.items():
                found[f"the code of {name}", digest].append(one)
            if owner[one.file][0] == "name":
                found["the name, with other numbers", owner[one.file][1]].append(one)
        found[WHOLE, one.sha256].append(one)
    groups = [
        (what, group)
        for (what, _), group in found.items()
        if len({owner[one.file] for one in group}) > 1
    ]
    whole = {frozenset(one.file for one in group) for what, group in groups if what == WHOLE}
    return [
        f"{what}: {', '.join(f'{one.student} ({one.file})' for one in group)}"
        for what, group in groups
        if what == WHOLE or frozenset(one.file for one in group) not in whole
    ]


def read_decisions(out: Path) -> dict[tuple[str, str, str], Decision]:
    """Read the decisions. Raises UsageError if somebody broke the file: it is kept."""
    path = out / DECISIONS
    content = read_edited(path)
    entries = content.get("finding", [])
    for name in content:
        _refuse_unknown(path, name, ("finding",))
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: finding", next_step="keep the lines as they were written")
    decided: dict[tuple[str, str, str], Decision] = {}
    for entry in entries:
        for name in entry:
            _refuse_unknown(path, name, KEYS)
        file, digest, about = (str(entry.get(name, "")) for name in ("file", "sha256", "about"))
        file = unicodedata.normalize("NFC", file)
        decision = str(entry.get("decision", "")).strip().casefold()
        known: Sequence[Decision] = [one for one in get_args(Decision) if one == decision]
        if not known:
            raise UsageError(
                f"{path}: {plain(file, 60)}: decision {plain(decision, 30)!a}",
                next_step='write "give" or "none", or leave it empty',
            )
        decided[file, digest, about] = known[0]
    return decided


def _refuse_unknown(path: Path, name: str, names: Sequence[str]) -> None:
    """Raise UsageError for a line that would be ignored."""
    if name not in names:
        raise UsageError(f"{path}: {plain(name, 40)} is unknown", next_step=nearest(name, names))


def write_decisions(
    out: Path,
    findings: Sequence[IntegrityFinding],
    decided: Mapping[tuple[str, str, str], Decision],
) -> None:
    """Add findings that are new; what a person wrote stays, word for word."""
    path = out / DECISIONS
    new = [one for one in findings if one.key not in decided]
    if not new:
        return
    before = path.read_bytes() if path.is_file() else HEAD.encode()
    text = ""
    for one in new:
        text += "\n[[finding]]\n"
        for name, value in (
            ("file", one.file),
            ("sha256", one.sha256[:HASH_DIGITS]),
            ("student", plain(one.student, 60)),
            ("about", one.about),
            ("found", f"{one.found}{one.others}"),
        ):
            text += f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
        text += 'decision = ""  # "give" or "none"\n'
    end = b"\r\n" if b"\r\n" in before else b"\n"  # as the editor of that person ends lines
    write_readable(path, before.rstrip(b"\r\n") + end + text.encode().replace(b"\n", end))


def decision(
    findings: Sequence[IntegrityFinding], decided: Mapping[tuple[str, str, str], Decision]
) -> Decision:
    """Return what holds for a hand-in: nothing yet as long as one finding is undecided."""
    each: Set[Decision] = {decided.get(one.key, "") for one in findings}
    if not findings or each == {"give"}:
        return "give"
    return "" if "" in each else "none"
