"""A student's own folder for a lab: answers, rallies, notebook.

``answers.toml`` is written once, and then the student's: nothing here overwrites it. The folder's
contents may come from anybody, so all of them are bounded.
"""

import hashlib
import json
import re
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent

from tennis.course.choices import numbered
from tennis.course.lab_files import open_recorded, place, source_of, starter
from tennis.course.labs import Lab, LabError, Question, class_nonce, every_lab, write
from tennis.course.people import (
    EMAIL,
    GROUP_MAX,
    MEMBERS_MAX,
    NUMBER,
    STUDENT_MAX,
    Member,
    check_person,
    folded,
    group_name,
    why_no_name,
)
from tennis.kit.checkout import ROOT
from tennis.kit.entries import OWN
from tennis.kit.errors import AlteredError, RallyError, TennisError, UsageError
from tennis.kit.log import listening
from tennis.rally import Rally, open_folder, open_rally
from tennis.rally.copied_names import SHOWN_MAX, copies_of
from tennis.rally.disk import open_below, writing
from tennis.rally.edited import EditedError, toml_of
from tennis.rally.text import plain, quoted

ANSWERS = "answers.toml"
README = "README.md"
NOTEBOOK, NOTEBOOK_PDF = "notebook.md", "notebook.pdf"
SEALS = "predictions.jsonl"  # what predictions were when a rally was begun
PLAN = "plan.toml"  # of the lab's match, with the student's seed
ANSWERS_MAX = 1 << 18  # bytes
TEXT_MAX = 20_000  # characters of an answer
NUMBER_MAX = 1e18
MINUTES_MAX = 10_000
BUDGET_S = 600.0  # of processor time, for all plays of one student's file by a marker
LOST_PERCENT = 1  # of the balls may be lost, as a kernel under load may lose one
OWN_CODE = (
    f"Your teacher plays your code for at most {BUDGET_S / 60:g} minutes of processor time, and "
    f"ends a rally once more than {LOST_PERCENT} % of its balls were not answered."
)
HANDOUT = "handout.md"  # of a package's lab, beside its lab.toml
REMOVE = "remove one of the packages, or give its lab another number"


README_OF_GROUP = (
    "- Each of you hands in that file: so you confirm that you are one of the group.\n"
)


class WorkError(TennisError):
    """A student's folder cannot be used as it is."""


def seed_of(lab: Lab, student: str, number: str = "") -> int:
    """Return the seed with which a student plays a lab's rallies: the same every time.

    Each student, and each lab, has another one: copied rallies have the wrong one. A name has one
    seed, however its letters are encoded; two of one name have two, if they have numbers. With a
    nonce of the class it is another one in each class, so that last year's rallies are nobody's.
    """
    name = folded(student)
    who = f"{name}\n{number}" if number else name  # no name holds a new line
    nonce = class_nonce()
    of_class = f"{nonce} " if nonce else ""
    digest = hashlib.sha256(f"tennis {of_class}{lab.slug} {who}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % 2**31


def find_lab(number: str) -> Lab:
    """Return the lab of a number, ``4`` or ``04``, or of a slug. Raises UsageError."""
    trouble: list[str] = []
    with listening(trouble.append):
        labs = every_lab()
    slugs = {lab.slug: lab.number for lab in labs}
    wanted = int(number) if number.isdecimal() else slugs.get(number)
    found = [lab for lab in labs if lab.number == wanted]
    if len(found) > 1:
        which = ", ".join(f"{lab.slug} of the package {lab.package}" for lab in found)
        raise UsageError(f"two labs have the number {wanted:02}: {which}", next_step=REMOVE)
    if not found:
        why = "".join(f" ({line})" for line in trouble[:1])
        known = ", ".join(f"{lab.number:02}" for lab in labs)
        raise UsageError(f"there is no lab {plain(number, 40)}{why}", next_step=f"use {known}")
    return found[0]


@dataclass(frozen=True)
class Prediction:
    """A guess as it was written: a number, and why."""

    number: int | float | str
    reason: str

    @property
    def text(self) -> str:
        """Return both as one text."""
        return f"{self.number}\n{self.reason}".strip()


@dataclass(frozen=True)
class Answers:
    """The contents of ``answers.toml``, without missing or empty answers.

    ``seed``: with which choices were numbered.
    """

    lab: str
    student: str
    minutes: int
    by_question: dict[str, int | float | str]
    seed: int
    predictions: dict[str, Prediction] = field(default_factory=dict)
    number: str = ""  # the student's, if known
    email: str = ""
    members: tuple[Member, ...] = ()  # of a group, which is the student then
    questions: frozenset[str] = frozenset()  # the questions that it has, answered or not


@dataclass(frozen=True)
class Work:
    """A student's folder that was read; ``trouble``: why a rally cannot be opened, by its name.

    ``rallies`` are those that answers are compared with: the marker's own, if the lab is marked.
    ``handed_in`` are the folder's. ``altered``: the names of those that do not fit their seal.
    """

    folder: Path
    lab: Lab
    answers: Answers
    rallies: Mapping[str, Rally]
    handed_in: Mapping[str, Rally]
    trouble: dict[str, str]
    altered: frozenset[str] = frozenset()

    @property
    def seed(self) -> int:
        """Return the seed that this student's rallies have."""
        return seed_of(self.lab, self.answers.student, self.answers.number)

    @property
    def own(self) -> dict[str, Rally]:
        """Return the rallies that this student played."""
        played = {asked.name for asked in self.lab.to_play}
        return {name: rally for name, rally in self.handed_in.items() if name in played}


def start(lab: Lab, student: str, folder: Path, number: str = "", email: str = "") -> None:
    """Make a student's folder. Raises UsageError if it exists, or for a malformed name."""
    _start(lab, [Member(unicodedata.normalize("NFC", student), number, email)], folder)


def start_group(lab: Lab, members: Sequence[Member], folder: Path) -> None:
    """Make a group's folder. Raises UsageError as ``start`` does, and for a member named twice."""
    known = [replace(one, name=unicodedata.normalize("NFC", one.name)) for one in members]
    if len({folded(one.name) for one in known}) != len(known) or len(known) > MEMBERS_MAX:
        raise UsageError(
            f"a group is of two to {MEMBERS_MAX} names, each of them once",
            next_step="say --as NAME for each member",
        )
    _start(lab, sorted(known, key=lambda one: one.name.casefold()), folder)


def _start(lab: Lab, people: Sequence[Member], folder: Path) -> None:
    for one in people:
        check_person(one)
    with writing(folder):
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise UsageError(
                f"{folder} exists", next_step="go on there, or choose another with --out"
            ) from error
        try:
            _fill(lab, people, folder)
        except OSError:  # a full disk: a half-written folder would be continued
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _fill(lab: Lab, people: Sequence[Member], folder: Path) -> None:
    """Write what a folder begins with. Raises OSError."""
    single = len(people) == 1
    student = group_name(people)
    # a group's seed follows from its members' names: a number is one member's
    number, email = (people[0].number, people[0].email) if single else ("", "")
    members = () if single else people
    answers = _template(lab, student, number, email, members)
    (folder / ANSWERS).write_text(answers, encoding="utf-8")
    readme = _readme(lab, seed_of(lab, student, number))
    (folder / README).write_text(readme + (README_OF_GROUP if members else ""), encoding="utf-8")
    for name in lab.files:
        (folder / name).write_text(starter_of(lab, name), encoding="utf-8")
    if lab.match is not None:
        plan = plan_of_match(lab, student, number)
        (folder / PLAN).write_text(plan, encoding="utf-8")
    for source, name in ((lab.notebook, NOTEBOOK), (lab.folder / HANDOUT, HANDOUT)):
        if source.is_file():
            with open_below(source.parent, source.name) as file:
                (folder / name).write_bytes(file.read())


def plan_of_match(lab: Lab, student: str, number: str = "") -> str:
    """Return the plan of a lab's match with a student's seed. Raises LabError."""
    if lab.match is None:
        raise LabError(f"lab {lab.slug} has no match")
    path = ROOT / lab.match.plan
    seed = f"seed = {seed_of(lab, student, number)}"
    text, count = re.subn(r"(?m)^seed = \d+", seed, path.read_text(encoding="utf-8"))
    if count != 1:
        raise LabError(f"{path}: one line must be `seed = NUMBER`")
    return text


def starter_of(lab: Lab, name: str) -> str:
    """Return one of a lab's files as students get it. Raises LabError."""
    path = source_of(lab, name)
    try:
        with open_below(path.parent, name) as file:
            return starter(file.read().decode())
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: {error}") from error


def read(folder: Path, lab: Lab | None = None) -> Work:
    """Read a student's folder. Raises WorkError if it is malformed, or of another lab."""
    answers = read_answers(folder / ANSWERS)
    found = next((one for one in every_lab() if one.slug == answers.lab), None)
    if found is None or (lab is not None and found.slug != lab.slug):
        wanted = f", not of {lab.slug}" if lab is not None else ""
        raise WorkError(f"{folder / ANSWERS} is of the lab {plain(answers.lab, 60)}{wanted}")
    rallies: dict[str, Rally] = {}
    trouble: dict[str, str] = {}
    altered: set[str] = set()
    for asked in found.rallies:
        path = folder / asked.name
        try:
            if asked.recorded is not None:  # always the lab's own
                rallies[asked.name] = open_recorded(found, asked)
            elif not path.exists():
                copies = plain(", ".join(copies_of(path)[:SHOWN_MAX]), 200)
                beside = f"; rename {copies}" if copies else ""
                trouble[asked.name] = f"it is not there{beside}"
            else:
                rallies[asked.name] = open_folder(path) if asked.drill else open_rally(path)
        except (RallyError, LabError) as error:
            trouble[asked.name] = str(error).replace(f"{folder}/", "")
            altered |= {asked.name} if isinstance(error, AlteredError) else set()
    return Work(folder, found, answers, rallies, rallies, trouble, frozenset(altered))


def read_answers(path: Path) -> Answers:
    """Read ``answers.toml``. Raises WorkError with the place and what to do."""
    try:
        if path.is_symlink() or not path.is_file():
            named = [path.with_name(name) for name in copies_of(path)][:1]
            begin = f"rename {quoted(named[0])}" if named else "start with `tennis lab start`"
            raise WorkError(f"there is no {path}", next_step=begin)
        if path.stat().st_size > ANSWERS_MAX:
            raise WorkError(f"{path} is larger than {ANSWERS_MAX >> 10} kB")
        with open_below(path.parent, path.name) as file:
            data = file.read(ANSWERS_MAX)
        text = "a text stands between three quotes on each side: ''' and '''"
        return _answers_in(toml_of(data, text))
    except EditedError as error:
        raise WorkError(f"{path} {error}", next_step=error.next_step) from error
    except _PlaceError as error:
        raise WorkError(f"{path}: {error.message}", next_step=error.next_step) from error
    except OSError as error:
        raise WorkError(f"{path} cannot be read: {plain(str(error), 120)}") from error


class _PlaceError(TennisError):
    """An entry of ``answers.toml`` is not an answer; the file's name comes first."""


def _answers_in(content: Mapping[str, object]) -> Answers:
    """Return what ``answers.toml`` says. Raises EditedError and _PlaceError, without its name."""
    lab, student, minutes = (content.get(key) for key in ("lab", "student", "minutes"))
    given, seed = content.get("answers", {}), content.get("seed")
    if not isinstance(lab, str) or not isinstance(student, str) or not isinstance(given, dict):
        raise EditedError("lacks lab, student or answers: `tennis lab start` wrote them", "")
    student = unicodedata.normalize("NFC", student)  # an editor may have taken letters apart
    members = _members(content.get("members", []))
    # a group is called by all of its names
    if why := why_no_name(student, GROUP_MAX if members else STUDENT_MAX):
        raise _PlaceError(f"student: {plain(student, 60)} is not a name: {why}")
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 0 <= minutes <= MINUTES_MAX:
        raise _PlaceError(f"minutes: a whole number, 0 to {MINUTES_MAX:,}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise _PlaceError(
            "seed: there is no whole number", next_step="`tennis lab start` makes another folder"
        )
    guesses = {
        name: _prediction(name, value) for name, value in given.items() if isinstance(value, dict)
    }
    texts = {name: guess.text for name, guess in guesses.items()}
    number, email = _contact(content, "number", NUMBER), _contact(content, "email", EMAIL)
    every = dict(_answers(given | texts))
    questions = frozenset(given)
    return Answers(lab, student, minutes, every, seed, guesses, number, email, members, questions)


def _members(value: object) -> tuple[Member, ...]:
    """Return the members of a group. Raises _PlaceError if somebody broke the lines."""
    every = value if isinstance(value, list) else [value]
    entries = [one for one in every if isinstance(one, dict)]
    if len(entries) < len(every) or len(every) > MEMBERS_MAX:
        raise _PlaceError(
            f'members: {MEMBERS_MAX} at most, each as {{ name = "..." }}',
            next_step="write them as `tennis lab start` did",
        )
    found = []
    for entry in entries:
        name = entry.get("name")
        name = unicodedata.normalize("NFC", name) if isinstance(name, str) else ""
        if why := why_no_name(name):
            raise _PlaceError(
                f"members: {plain(str(entry.get('name')), 60)} is not a name: {why}",
                next_step="write it as `tennis lab start` did",
            )
        number = _contact(entry, "number", NUMBER)
        found.append(Member(name, number, _contact(entry, "email", EMAIL)))
    return tuple(found)


def _prediction(name: str, value: dict[str, object]) -> Prediction:
    """Return a prediction from its entry. Raises _PlaceError."""
    where = plain(name, 40)
    if not set(value) <= {"number", "reason"}:
        raise _PlaceError(f"{where}: only {where}.number and {where}.reason")
    parts = dict(_answers({f"{name}.{part}": text for part, text in value.items()}))
    number, reason = parts.get(f"{name}.number", ""), parts.get(f"{name}.reason", "")
    if not isinstance(reason, str):
        raise _PlaceError(f"{where}.reason: a text in quotes")
    return Prediction(number, reason.strip())


def _contact(content: Mapping[str, object], key: str, form: re.Pattern[str]) -> str:
    """Return the student's number or e-mail; nothing if it is missing or empty."""
    value = content.get(key, "")
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(value, str) or (value and not form.fullmatch(value)):
        raise _PlaceError(
            f"{key}: {plain(str(value), 60)!a} is not one",
            next_step=f'write it in quotes, or take the line "{key} = ..." out',
        )
    return value


def _answers(values: dict[str, object]) -> list[tuple[str, int | float | str]]:
    found: list[tuple[str, int | float | str]] = []
    for name, value in values.items():
        where = plain(name, 40)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise _PlaceError(f"{where}: a number, or a text in quotes")
        if isinstance(value, str):
            if len(value) > TEXT_MAX:
                raise _PlaceError(f"{where}: longer than {TEXT_MAX:,} characters")
            if not value.strip():
                continue
        elif not -NUMBER_MAX <= value <= NUMBER_MAX:  # nan too
            raise _PlaceError(f"{where}: the number is out of range")
        found.append((name, value))
    return found


def _template(lab: Lab, student: str, number: str, email: str, members: Sequence[Member]) -> str:
    seed = seed_of(lab, student, number)
    known = [f'number = "{number}"  # with your name it makes your seed'] if number else []
    known += [f'email = "{email}"'] if email else []
    lines = [
        f"# Your answers to lab {lab.number}, {lab.title}. Write a text between the three quotes,",
        "# as many lines as you like. Write a number between the two, as people do: 7740, 7.74 µs,",
        "# 3e6.",
        f"# `tennis lab check {lab.number:02}` says what is missing.",
        f'lab = "{lab.slug}"',
        f"student = {_toml(student)}",
        *known,
        *_member_lines(members),
        f"seed = {seed}  # follows from the name: for another one, `tennis lab start` again",
        "minutes = 0  # that the lab took you",
        "",
        "[answers]",
    ]
    for question in lab.questions:
        lines += ["", *_question(lab, question, seed)]
    return "\n".join(lines) + "\n"


def _toml(name: str) -> str:
    """Return a name as TOML's basic string; JSON's are a part of these."""
    return json.dumps(name, ensure_ascii=False)


def _member_lines(members: Sequence[Member]) -> list[str]:
    if not members:
        return []
    lines = [
        f'  {{ name = {_toml(one.name)}, number = "{one.number}", email = "{one.email}" }},'
        for one in members
    ]
    return [
        "# Each of these gets the points. Take out who did not take part.",
        "members = [",
        *lines,
        "]",
    ]


def _question(lab: Lab, question: Question, seed: int) -> list[str]:
    name = question.id
    points = "1 point" if question.points == 1 else f"{question.points} points"
    text = indent(lab.fill(question.text), "# ", lambda _: True)
    lines = [f"# {name} ({points})", *(line.rstrip() for line in text.splitlines())]
    numbers = numbered(lab.slug, question, seed)
    for number, choice in numbers.items():
        lines.append(f"#   {number}: {(question.choices or {})[choice]}")
    match question.kind:
        case "number":
            return [*lines, f'{name} = ""  # a number, in {question.unit}']
        case "choice":
            return [*lines, f'{name} = ""  # one of the numbers 1 to {len(numbers)}']
        case "file":
            return [*lines, f"# It is {question.file} that is judged: nothing to write here."]
        case "prediction":
            guess = f'{name}.number = ""  # one number, in {question.unit}'
            return [*lines, guess, f"{name}.reason = '''", "'''"]
        case _:
            return [*lines, f"{name} = '''", "'''"]


def _readme(lab: Lab, seed: int) -> str:
    commands = "\n".join(rally.display(seed) for rally in lab.to_play)
    if lab.sweep is not None:
        commands = "\n".join([*filter(None, [commands]), lab.sweep.display(seed)])
    if lab.match is not None:
        match = [
            f"$ tennis match {PLAN} --out {lab.match.name}",
            f"$ tennis replicate {lab.match.name}",
        ]
        commands = "\n".join([*filter(None, [commands]), *match])
    return f"""# Lab {lab.number}: {lab.title}

{lab.about} About {lab.minutes} minutes; {lab.points} points.

Your seed is **{seed}**: it makes your balls yours. Play in this folder:

```console
{commands}
```
{_readme_recorded(lab)}
{_readme_handout(lab)}
- Your answers go into `{ANSWERS}`: a prediction before you play, as the first rally seals it.
- `tennis lab check {lab.number:02}` says what is missing, as often as you like.
- `tennis lab submit {lab.number:02}` makes the one file to hand in.
{_readme_own_code(lab)}"""


def _readme_own_code(lab: Lab) -> str:
    return f"- {OWN_CODE}\n" if any(rally.own_file for rally in lab.rallies) else ""


def _readme_handout(lab: Lab) -> str:
    if lab.package == OWN:
        where = f"`handouts/_build/html/{lab.slug}.html` (`make docs`)"
    elif (lab.folder / HANDOUT).is_file():
        where = f"`{HANDOUT}`"
    else:
        return f"- The questions are in `{ANSWERS}`."
    return f"- The handout tells what to do and why: {where}."


def _readme_recorded(lab: Lab) -> str:
    names = [rally.name for rally in lab.rallies if rally.recorded is not None]
    if not names:
        return ""
    folder = place(lab, "")
    where = (
        f"in the tree, in `{folder.relative_to(ROOT)}`" if lab.package == OWN else f"in `{folder}`"
    )
    return f"""
Nobody can play {write(names)} here:
they were recorded, and are the same for everybody. They are {where};
notebook and checks find them there. `tennis stats` reads them, and `tennis replay` shows one ball
by ball, as if it were live.
"""
