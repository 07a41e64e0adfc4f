"""Labs as their teacher wrote them: ``labs/course.toml`` and ``labs/NN-slug/lab.toml``.

Each number of a lab has one owner, its ``lab.toml``. Handouts, notebooks and checks ask here.
Packages add labs; the course itself is such an entry: a folder with several, and their order.
"""

import inspect
import json
import os
import re
import shlex
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from tennis.bench.kernels.catalogue import catalogue
from tennis.bench.registry import bench_with, own_kernels, system_of
from tennis.kit import entries
from tennis.kit.checkout import ROOT
from tennis.kit.entries import OWN
from tennis.kit.errors import TennisError
from tennis.kit.log import log
from tennis.rally.edited import EditedError, toml_of
from tennis.rally.manifest import BottomHalf, Drill, DrillContext, DrillName, Sha256
from tennis.rally.memory import name_of
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.request import RallyRequest, serving_of
from tennis.rally.serving import Serving
from tennis.rally.settings import EVERY_BENCH, OF_TARGET, SETTINGS, Settings, option_of

LABS = ROOT / "labs"
COURSE, LAB = "course.toml", "lab.toml"
GROUP = "tennis.labs"  # of packages: the Python package, or the path, that is the folder
# in the processes that judge a hand-in: the folders of packages' labs, as JSON. They import no
# package.
FOLDERS = "TENNIS_LABS"
DEFAULTS = "TENNIS_BENCH_DEFAULTS"  # what benches of packages take, by kernel, JSON

OneLine = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\n]*$")]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=4000, strip_whitespace=True)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
RallyName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
Slug = Annotated[str, StringConstraints(pattern=r"^[0-9]{2}-[a-z0-9-]+$", max_length=60)]
Value = int | float | str | list[int] | list[float] | list[str]
ChoiceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]+$", max_length=40)]
FileName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*\.[ch]$", max_length=40)]
Kind = Literal["prediction", "number", "choice", "text", "file"]

CHOICES_MAX = 9  # one digit says which
COLUMNS = 76  # of a command in a handout
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class LabError(TennisError):
    """A lab's or the course's file cannot be used as it is."""


class StrictPart(BaseModel):
    """A part of a lab's file: unknown keys are refused, values keep their types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Question(StrictPart):
    """A question of a lab; handout and notebook ask it in these words."""

    id: Identifier
    kind: Kind
    points: Annotated[int, Field(gt=0, le=100)]
    text: Prose
    unit: OneLine | None = None  # of a number, or of a prediction's
    whole: bool = False  # a number without decimals: 7,740 has no decimal comma
    computed: bool = False  # from the student's own rallies, by a check of the lab's own
    # what it cannot be answered without: rallies, the sweep, the match
    rallies: Annotated[list[RallyName], Field(max_length=30)] = []
    choices: dict[ChoiceName, OneLine] | None = None  # students see numbers: tennis.course.choices
    file: FileName | None = None  # one of the lab's, that the student completes

    @model_validator(mode="after")
    def _parts_go_with_the_kind(self) -> Self:
        if (self.kind in {"number", "prediction"}) != (self.unit is not None):
            raise ValueError(
                "a question has a unit if, and only if, its kind is number or prediction"
            )
        if self.whole and self.kind != "number":
            raise ValueError("only a number can be whole")
        if self.computed and self.kind not in {"number", "choice"}:
            raise ValueError("only a number or a choice can be computed")
        if (self.kind == "choice") != (self.choices is not None) or not 2 <= len(
            self.choices or "ab"
        ) <= CHOICES_MAX:
            raise ValueError("a question has choices, 2 to 9, if, and only if, its kind is choice")
        if (self.kind == "file") != (self.file is not None):
            raise ValueError("a question has a file if, and only if, its kind is file")
        return self


class _LabDrill(StrictPart):
    """A drill: the target's own work, many times, in place of answers."""

    name: DrillName
    context: DrillContext
    period_us: Annotated[float, Field(ge=10, le=1_000_000)]

    @property
    def to_do(self) -> Drill:
        """Return it as a plan has it."""
        period_ns = round(self.period_us * 1000)
        return Drill(name=self.name, context=self.context, period_ns=period_ns)


class LabRally(Settings):
    """A rally that a lab asks for; other settings are the lab's parameters, or Tennis' defaults.

    It may name all settings of a rally; here are those that it has otherwise than a plan.
    """

    name: RallyName
    kernel: OneLine
    load: OneLine = "idle"
    bottom_half: BottomHalf = "tasklet"
    priorities: OneLine = "default"
    load_options: dict[Identifier, int] = Field(default_factory=dict)
    racquet: FileName | None = None  # the student's own, one of the lab's files
    program: FileName | None = None  # the same of a program that answers alone
    balls: Annotated[int, Field(gt=0, le=10**7)]
    rate_hz: Annotated[float, Field(gt=0, le=1e6)] | None = None  # an open loop's
    gap_us: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None  # closed: ends
    boot: Annotated[int, Field(ge=0, le=1000)] = 0  # added to the seed: another boot
    drill: _LabDrill | None = None  # what the target does in place of answering
    # the seal of a rally in the lab's own folder `recorded`, the same for all students: it is
    # opened, and never played
    recorded: Sha256 | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_what_its_bench_has(cls, content: Any) -> Any:
        """Give a rally that names no halves those of a package's bench."""
        if isinstance(content, dict) and isinstance(kernel := content.get("kernel"), str):
            return {**_bench_defaults(kernel), **content}
        return content

    @property
    def verb(self) -> str:
        """Return the command without its options."""
        return f"tennis drill {self.drill.name}" if self.drill else "tennis rally"

    @property
    def serving(self) -> dict[str, Any]:
        """Return how balls are served, by the names of ``Serving``; nothing: as usual."""
        if self.rate_hz is not None:
            return {"loop": "open", "rate_hz": self.rate_hz}
        if self.gap_us is not None:
            return {"gap_min_us": self.gap_us[0], "gap_max_us": self.gap_us[1]}
        return {}

    @property
    def own_file(self) -> FileName | None:
        """Return the file of the student's own that answers; None: the kit's Racquet does."""
        return self.racquet or self.program

    def request(self, own: Path | None) -> RallyRequest:
        """Return the rally's request, without the balls.

        ``own``: the student's file, if one answers.
        """
        # a user's Racquet has its own halves, and a program has no halves
        its_own = {"top_half", "bottom_half"} if own is not None else set()
        # settings that depend on others, as an instruction's time, are named if asked for
        named = {
            row.name: getattr(self, row.name)
            for row in OF_TARGET
            if row.name not in {"racquet", "program", *its_own}
            and (row.benches is EVERY_BENCH or getattr(self, row.name) != row.default)
        }
        racquet, program = (own if one else None for one in (self.racquet, self.program))
        return RallyRequest.of({**named, "racquet": racquet, "program": program})

    def served(self, seed: int, balls: int | None = None) -> Serving:
        """Return how its balls are served, with a student's seed; ``balls``: in place of its own.

        Raises UsageError.
        """
        count = self.balls if balls is None else balls
        return serving_of({**self.serving, "balls": count, "seed": seed + self.boot})

    def options(self, seed: int) -> list[str]:
        """Return the command's options that play it, with a student's seed."""
        words = _under_load(self)
        if self.drill:
            words += ["--context", self.drill.context, "--period-us", f"{self.drill.period_us:g}"]
            return [*words, "--repetitions", str(self.balls), "--seed", str(seed + self.boot)]
        sloth = system_of(self.kernel) == "sloth" or self.beneath == "sloth"
        defaults = {name: row.default for name, row in SETTINGS.items()}
        defaults["bottom_half"] = "task" if sloth else "tasklet"
        defaults["priorities"] = "native" if sloth else "default"
        defaults |= _bench_defaults(self.kernel)
        of_load = {"kernel", "load", "load_options"}
        for row in OF_TARGET:
            value = getattr(self, row.name)
            if row.name not in of_load and value != defaults[row.name]:
                # people write a profile's name, and have the file with its digest
                said = name_of(value) if row.name == "memory" else str(value)
                words += [option_of(row.name), said]
        if self.rate_hz is not None:
            words += ["--loop", "open", "--rate-hz", f"{self.rate_hz:g}"]
        if self.gap_us is not None:
            low_us, high_us = self.gap_us
            words += ["--gap-min-us", f"{low_us:g}", "--gap-max-us", f"{high_us:g}"]
        return [*words, "--balls", str(self.balls), "--seed", str(seed + self.boot)]

    def command(self, seed: int) -> str:
        """Return the command that plays it, with a student's seed."""
        return f"{self.verb} {shlex.join(self.options(seed))} --out {self.name}"

    def display(self, seed: int) -> str:
        """Return the command as people read and copy it: behind a prompt, in short lines."""
        return _in_short_lines(self.command(seed))


class LabSweep(StrictPart):
    """A sweep that a lab asks for."""

    name: RallyName
    kernel: OneLine
    load: OneLine = "idle"
    load_options: dict[Identifier, int] = {}
    balls: Annotated[int, Field(ge=2, le=10**6)]  # at each rate
    from_hz: Annotated[int, Field(ge=10, le=500_000)]
    to_hz: Annotated[int, Field(ge=10, le=500_000)]

    def options(self, seed: int) -> list[str]:
        """Return the options of `tennis sweep` that play it, with a student's seed."""
        words = _under_load(self)
        words += ["--from-hz", str(self.from_hz), "--to-hz", str(self.to_hz)]
        return [*words, "--balls", str(self.balls), "--seed", str(seed)]

    def command(self, seed: int) -> str:
        """Return the command that plays it, with a student's seed."""
        return " ".join(["tennis sweep", *self.options(seed), "--out", self.name])

    def display(self, seed: int) -> str:
        """Return the command as people read and copy it."""
        return _in_short_lines(self.command(seed))


def _bench_defaults(kernel: str) -> dict[str, Any]:
    """Return the defaults of a package's bench, by the names of settings.

    Empty for Linux and SLOTH: a lab names its unusual settings itself.
    """
    if (told := os.environ.get(DEFAULTS)) is not None:
        found: dict[str, Any] = json.loads(told).get(kernel, {})
        return found
    if kernel in catalogue() or (bench := bench_with(kernel, "virtual")) is None:
        return {}
    if bench.can.system == "sloth":
        return {}
    protocol = Serving().protocol()
    unknown: dict[str, Any] = dict.fromkeys(("load", "bottom_half", "priorities"), UNKNOWN)
    plan = Plan(bench="virtual", kernel=kernel, protocol=protocol, **unknown)
    taken = bench.defaults(plan, {"kernel": kernel})
    known = {row.name for row in OF_TARGET}
    return {name: value for name, value in taken.items() if name in known and value != UNKNOWN}


def _under_load(item: LabRally | LabSweep) -> list[str]:
    """Return the options that say which kernel plays, and what keeps it busy."""
    words = ["--kernel", item.kernel, "--load", item.load]
    for name, value in item.load_options.items():
        words += ["--load-option", f"{name}={value}"]
    return words


def _in_short_lines(command: str) -> str:
    """Return a command as people read and copy it: behind a prompt, in short lines."""
    head, *options = command.split(" --")
    lines = [f"$ {head}"]
    for option in options:
        if len(lines[-1]) + len(option) + 5 > COLUMNS:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" --{option}"
    return "\n".join(lines)


class LabMatch(StrictPart):
    """A match that a lab asks for."""

    name: RallyName
    plan: Annotated[str, StringConstraints(pattern=r"^plans/[a-z0-9-]+\.toml$")]


class Lab(StrictPart):
    """A lab: what students do, with which numbers, and what they are asked."""

    slug: Slug
    folder: Path  # with its lab.toml and its other files
    package: str = OWN  # that brings it
    title: OneLine
    about: OneLine
    minutes: Annotated[int, Field(gt=0, le=600)]
    parameters: dict[Annotated[str, StringConstraints(pattern=r"^[a-z_]+$")], Value]
    files: Annotated[list[FileName], Field(max_length=5)] = []  # that students complete
    rallies: Annotated[list[LabRally], Field(max_length=30)] = []
    match: LabMatch | None = None
    sweep: LabSweep | None = None
    questions: Annotated[list[Question], Field(min_length=1, max_length=50)]
    # points at which a teacher can look at the work, and sign it
    checkpoints: Annotated[list[Prose], Field(max_length=6)] = []
    extensions: Annotated[list[Prose], Field(max_length=10)] = []  # for the quick

    @model_validator(mode="before")
    @classmethod
    def _rallies_have_the_labs_balls(cls, content: Any) -> Any:
        """Give a rally without a number of balls ``parameters.balls``."""
        if isinstance(content, dict) and isinstance(content.get("rallies"), list):
            balls = (content.get("parameters") or {}).get("balls")
            rallies = [
                {"balls": balls, **rally} if balls and isinstance(rally, dict) else rally
                for rally in content["rallies"]
            ]
            return {**content, "rallies": rallies}
        return content

    @model_validator(mode="after")
    def _questions_are_sound(self) -> Self:
        seen = set()
        for question in self.questions:
            if question.id in seen:
                raise ValueError(f"two questions have the id {question.id!r}")
            seen.add(question.id)
            self.fill(question.text)
        for text in (*self.checkpoints, *self.extensions):
            self.fill(text)
        asked = {question.file for question in self.questions}
        unknown = ({rally.own_file for rally in self.rallies} | asked) - {None, *self.files}
        if unknown:
            raise ValueError(f"files: {min(map(str, unknown))} is asked for, and not in the list")
        names = [rally.name for rally in self.rallies]
        if len(set(names)) < len(names):
            raise ValueError("two rallies have the same name")
        self._each_rally_is_needed(names)
        return self

    def _each_rally_is_needed(self, names: list[str]) -> None:
        """Raise ValueError for a question's unknown rally, and for one that no question needs.

        A rally that no question needs could be left out, and nobody would see it in the marks.
        """
        several = [one.name for one in (self.sweep, self.match) if one is not None]
        for question in self.questions:
            if unknown := set(question.rallies) - {*names, *several}:
                raise ValueError(f"{question.id}: there is no rally {min(unknown)!r}")
        needed = {name for question in self.questions for name in question.rallies}
        played = {*(rally.name for rally in self.to_play), *several}
        if left := played - needed:
            raise ValueError(
                f"no question needs the rally {min(left)!r}: name it in `rallies` of one"
            )

    @property
    def to_play(self) -> list[LabRally]:
        """Return the rallies that a student plays: all but the recorded ones."""
        return [rally for rally in self.rallies if rally.recorded is None]

    @property
    def notebook(self) -> Path:
        """Return the path of the notebook that a student begins with; not every lab has one."""
        own = self.package == OWN
        return ROOT / "notebooks" / f"{self.slug}.md" if own else self.folder / "notebook.md"

    @property
    def number(self) -> int:
        """Return the lab's number, the digits that its slug begins with."""
        return int(self.slug[:2])

    @cached_property
    def points(self) -> int:
        """Return the points of all questions together."""
        return sum(question.points for question in self.questions)

    def question(self, question_id: str) -> Question:
        """Return a question by its id."""
        for question in self.questions:
            if question.id == question_id:
                return question
        known = ", ".join(question.id for question in self.questions)
        raise LabError(f"lab {self.slug} has no question {question_id!r}; it has {known}")

    def fill(self, text: str, *, prose: bool = True) -> str:
        """Replace names in braces in ``text`` by the lab's parameters.

        In prose, 5,000 has a comma; in commands it has none.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise ValueError(f"{match[0]} names no parameter of the lab; there are {known}")
            return write(self.parameters[name], prose=prose)

        return _PLACEHOLDER.sub(value, text)

    @property
    def handout_seed(self) -> int:
        """Return the seed with which the handout's rallies are played."""
        return int(str(self.value("parameters.seed")))

    def value(self, path: str) -> Value:
        """Return ``title``, ``minutes``, ``points``, ... or ``parameters.NAME``."""
        first, _, rest = path.partition(".")
        if first == "parameters" and rest in self.parameters:
            return self.parameters[rest]
        if not rest and first in {"title", "about", "minutes", "points", "number", "slug"}:
            value: Value = getattr(self, first)
            return value
        raise LabError(
            f"lab {self.slug} has no {path!r}",
            next_step="use title, about, minutes, points, number, slug or parameters.NAME with one "
            f"of {', '.join(self.parameters)}",
        )


class Course(StrictPart):
    """The course: its labs in their order."""

    title: OneLine
    about: OneLine
    # a text that makes this class's seeds its own; the teacher writes it
    nonce: Annotated[str, StringConstraints(pattern=r"^[a-z2-7]{8,40}$")] | None = None
    labs: list[Slug]


def write(value: Value, *, prose: bool = True) -> str:
    """Write a value: lists with commas and, in prose, large numbers too."""
    if isinstance(value, list):
        return ", ".join(write(item, prose=prose) for item in value)
    return f"{value:,}" if prose and isinstance(value, int) else str(value)


def load_lab(slug: str, labs: Path = LABS) -> Lab:
    """Read the lab that is called ``slug``, of the folder or of a package.

    Raises LabError if it does not exist or is malformed.
    """
    if (labs / slug / LAB).is_file():
        return _read_lab(slug, labs / slug, OWN)
    added = labs_of_packages() if labs == LABS else []
    for named, folder, package in added:
        if named == slug:
            return _read_lab(slug, folder, package)
    known = ", ".join(sorted(file.parent.name for file in labs.glob(f"*/{LAB}"))) or "none"
    raise LabError(f"there is no lab {slug!r} in {labs}; there are {known}")


def _read_lab(slug: str, folder: Path, package: str) -> Lab:
    path = folder / LAB
    content = read_toml(path)
    for name in {"slug", "folder", "package"} & set(content):
        raise LabError(f"{path}: {name}: the folder's name is the slug", next_step="leave it out")
    try:
        return Lab.model_validate(content | {"slug": slug, "folder": folder, "package": package})
    except ValidationError as error:
        raise LabError(f"{path}: {first_error(error)}", next_step=_instead(error)) from error


def _instead(error: ValidationError) -> str:
    """Say what a lab's file may have at a wrong place; empty: the error says it."""
    first = error.errors()[0]
    part = first["loc"][0] if len(first["loc"]) > 1 else ""
    if first["type"] == "extra_forbidden":
        model = {"rallies": LabRally, "questions": Question, "match": LabMatch, "sweep": LabSweep}
        own = inspect.get_annotations(model.get(str(part), Lab))
        keys = ", ".join(name for name in own if name not in {"slug", "folder", "package"})
        settings = ", and the settings of tennis rally --help" if part == "rallies" else ""
        return f"there are {keys}{settings}"
    if first["type"] == "string_too_short" and first["loc"][-1] == "unit":
        return 'write what the number is in, as "µs" or "Hz"; of a ratio "times"'
    return ""


def labs_of_packages() -> list[tuple[str, Path, str]]:
    """Return slug, folder and package of each lab that is not the kit's.

    One with an error is left out, and a line of the log says why.
    """
    if (told := os.environ.get(FOLDERS)) is not None:
        return [(slug, Path(folder), package) for slug, folder, package in json.loads(told)]
    found: list[tuple[str, Path, str]] = []
    for entry in entries.entries(GROUP):
        try:
            folder = entry.folder(LAB, COURSE)
            found += [(slug, path, entry.package) for slug, path in _labs_of(entry.name, folder)]
        except TennisError as error:
            log.info(str(error))
    return found


def _labs_of(name: str, folder: Path) -> list[tuple[str, Path]]:
    """Return slugs and folders of what a package names: a lab, or a course. Raises LabError."""
    if not (folder / COURSE).is_file():
        return [(name, folder)]
    course = _course(folder)
    if course.nonce:
        raise LabError(
            f"{folder / COURSE}: nonce: that of {LABS / COURSE} counts", next_step="leave it out"
        )
    for slug in course.labs:
        if not (folder / slug / LAB).is_file():
            raise LabError(
                f"{folder / COURSE}: labs: {slug} has no {LAB}", next_step="take it out of the list"
            )
    return [(slug, folder / slug) for slug in course.labs]


def in_other_processes() -> dict[str, str]:
    """Return the variables by which processes that judge a hand-in know the labs of packages."""
    found = [(slug, str(folder), package) for slug, folder, package in labs_of_packages()]
    defaults = {kernel: _bench_defaults(kernel) for kernel in own_kernels()}
    told = {kernel: taken for kernel, taken in defaults.items() if taken}
    return {FOLDERS: json.dumps(found), DEFAULTS: json.dumps(told)}


def every_lab() -> list[Lab]:
    """Return the course's labs and those of packages, by their numbers.

    One of a package with an error is left out, and logged. Raises LabError as ``load_course``.
    """
    found = load_course()[1]
    for slug, folder, package in labs_of_packages():
        try:
            found.append(_read_lab(slug, folder, package))
        except LabError as error:
            log.info(f"the lab {slug} of the package {package} is left out: {error}")
    return sorted(found, key=lambda lab: lab.number)


@cache
def class_nonce(labs: Path = LABS) -> str:
    """Return the nonce that makes this class's seeds its own; empty: every class has them."""
    return _course(labs).nonce or ""


def load_course(labs: Path = LABS) -> tuple[Course, list[Lab]]:
    """Read the course and all of its labs.

    Raises LabError if one of them is missing, or is there without being in the course.
    """
    path = labs / COURSE
    course = _course(labs)
    forgotten = {file.parent.name for file in labs.glob(f"*/{LAB}")} - set(course.labs)
    if forgotten:
        raise LabError(f"{path}: labs: {', '.join(sorted(forgotten))} is missing in the list")
    return course, [load_lab(slug, labs) for slug in course.labs]


def _course(labs: Path) -> Course:
    path = labs / COURSE
    try:
        return Course.model_validate(read_toml(path))
    except ValidationError as error:
        raise LabError(f"{path}: {first_error(error)}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of the course's. Raises LabError."""
    try:
        return toml_of(path.read_bytes())
    except OSError as error:
        raise LabError(f"{path} cannot be read: {error}") from error
    except EditedError as error:
        raise LabError(f"{path} {error}", next_step=error.next_step) from error


def first_error(error: ValidationError) -> str:
    """Describe the first error in one line: place and problem."""
    first = error.errors()[0]
    where = ""
    for step in first["loc"]:
        where += f"[{step}]" if isinstance(step, int) else f".{step}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where.lstrip('.') or 'the file'}: {message}"
