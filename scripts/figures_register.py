"""The register of figures: what was played for the numbers that pages print, and where they stand.

``docs/figures.toml`` and ``exam/figures.toml`` (what gives an answer away) say which commands are
played, which values are taken from them, and in which texts these stand. ``figures.json`` beside
each has what came: values, outputs, digests, versions, the bench's edition. People write the
first, ``scripts/figures.py play`` the second.
"""

import fcntl
import json
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tennis.course import load_course
from tennis.kit.checkout import ROOT
from tennis.kit.edition import EDITION
from tennis.kit.errors import UsageError

REGISTERS = ("docs/figures.toml", "exam/figures.toml")


class Strict(BaseModel):
    """A part of the register: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(Strict):
    """Where values stand: a text with their names in braces, or the lines of an output."""

    file: str
    text: str | None = None  # in one line; {name}: as people write it; {name|us}: without a unit
    output: int | None = None  # of which command, from 1
    shows: str | None = None  # the command's line on the page; None: its own
    below: str | None = None  # of a block without a command: the text above it
    part: str | None = None  # of a part of Markdown: the name in the comment that begins it
    # which lines: "3" or "4-9", from 1 (-1 is the last one); "..."; "=WORDS": the line that begins
    # so; "@WORDS": from there up to an empty one
    lines: list[str] = ["1--1"]
    wrap: int | None = None  # longer lines are broken there


class OtherPlace(Place):
    """A place of a play that another register has: its page gives an answer away."""

    play: str


class Claim(Strict):
    """A sentence that is true only while its figures stand in a relation."""

    file: str
    text: str  # a part of the sentence
    holds: str  # as in "forced > 10 * explicit"


class Play(Strict):
    """Commands that are played in one folder, and what is taken from them."""

    about: str
    # of tennis; "lab 01 NAME": that rally of a lab; "show FILE" or "show ZIP MEMBER": a text that
    # they wrote; "tables NAME=MATCH": scripts/evidence.py; {name}: a value of the commands before
    commands: list[str] = Field(min_length=1)
    values: dict[str, str] = {}
    places: list[Place] = []
    claims: list[Claim] = []
    files: dict[str, str] = {}  # a file of the tree -> the file in the folder that it is made from
    digests: str | None = None  # a file of the tree that takes the digests of all rallies, too


class Evidence(Strict):
    """A page whose figures were played with the edition that it names, and are not replayed."""

    edition: int
    played: str  # when
    versions: str
    command: str  # how one gets them again
    plan: str = ""  # the match that `make evidence` plays for it
    but: str = ""  # what the page has of today's edition
    recorded: str = ""  # why it is not of today's edition, and how a reader sees it all the same


class Register(Strict):
    """One file of the register."""

    play: dict[str, Play] = {}
    evidence: dict[str, Evidence] = {}
    also: list[OtherPlace] = []
    # a file -> parts of its lines whose numbers come from no play: settings, publications, sums
    facts: dict[str, list[str]] = {}
    # numbers that are the same everywhere: an instruction's time, a tick, what hog does
    constants: list[str] = []


class Recorded:
    """What was played: the register's ``figures.json``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.plays: dict[str, dict[str, Any]] = known.get("plays", {})
        self.debian: dict[str, dict[str, str]] = known.get("debian", {})

    def keep(self, name: str, record: dict[str, Any]) -> None:
        """Write what came of a play, also if another process keeps another one meanwhile."""
        self.plays[name] = record
        with self.path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            there = Recorded(self.path)
            plays = {**there.plays, name: record}
            debian = {**there.debian, **self.debian}
            used = {r["debian"] for one in plays.values() for r in one["rallies"].values()}
            known = {
                "debian": {key: debian[key] for key in sorted(used)},
                "plays": dict(sorted(plays.items())),
            }
            self.path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


class Registered:
    """A play of the register, with what was recorded of it."""

    def __init__(self, name: str, play: Play, recorded: Recorded) -> None:
        self.name, self.play, self.recorded = name, play, recorded
        self.places: list[Place] = list(play.places)

    @property
    def record(self) -> dict[str, Any] | None:
        """Return what came when it was last played; None: it was not."""
        return self.recorded.plays.get(self.name)

    @property
    def commands(self) -> list[list[str]]:
        """Return the words of each command, behind ``tennis``."""
        return [words_of(line) for line in self.play.commands]

    @property
    def stale(self) -> str:
        """Say why it must be played again; empty: it need not."""
        record = self.record
        if record is None:
            return "was never played"
        if record["edition"] != EDITION:
            return f"was played with edition {record['edition']}, and this is {EDITION}"
        if record["commands"] != [shlex.join(words) for words in self.commands]:
            return "was played with other commands"
        return self._not_kept(record)

    def _not_kept(self, record: dict[str, Any]) -> str:
        missing = sorted(set(self.play.values) - set(record["values"]))
        changed = sorted(n for n, s in record["sources"].items() if self.play.values.get(n) != s)
        if missing or changed:
            return f"has no value {(missing or changed)[0]} yet"
        wanted = {str(place.output) for place in self.places if place.output}
        if wanted - set(record["outputs"]):
            return "has an output that was not kept"
        if set(self.play.files) != set(record["files"]):
            return "makes another file now"
        return ""

    @property
    def seconds(self) -> float:
        """Return how long it took, in processor seconds; 0: nobody knows."""
        return float(self.record["seconds"]) if self.record else 0.0


def words_of(line: str) -> list[str]:
    """Return the words of a command; ``lab NN NAME`` stands for that rally, with the labs' seed."""
    words = shlex.split(line)
    if words[0] != "lab":
        return words
    number, name = words[1:3]
    lab = next(one for one in load_course()[1] if one.slug.startswith(number))
    every = [*lab.to_play, *([lab.sweep] if lab.sweep else [])]
    rally = next((one for one in every if one.name == name), None)
    if rally is None:
        raise UsageError(f"lab {number} has no rally {name}")
    return [*shlex.split(rally.command(7))[1:], *words[3:]]


def load() -> tuple[list[Registered], dict[str, Evidence], dict[str, list[str]], list[str]]:
    """Return plays, evidence, facts and constants of all registers that this tree has.

    Raises UsageError for what a register should not hold.
    """
    plays: list[Registered] = []
    evidence: dict[str, Evidence] = {}
    facts: dict[str, list[str]] = {}
    constants: list[str] = []
    also: list[OtherPlace] = []
    for name in REGISTERS:
        path = ROOT / name
        if not path.exists():  # a student's tree has no answers
            continue
        try:
            register = Register.model_validate(tomllib.loads(path.read_text()))
        except (ValidationError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{name}: {error}") from error
        recorded = Recorded(path.with_suffix(".json"))
        plays += [Registered(one, play, recorded) for one, play in register.play.items()]
        evidence |= register.evidence
        constants += register.constants
        also += register.also
        for file, parts in register.facts.items():
            facts.setdefault(file, []).extend(parts)
    by_name = {one.name: one for one in plays}
    for place in also:
        if place.play not in by_name:
            raise UsageError(f"the register has a place in {place.file}, but no play {place.play}")
        by_name[place.play].places.append(place)
    return plays, evidence, facts, constants


def places(plays: list[Registered]) -> Iterator[tuple[Registered, Place]]:
    """Yield every place of every play whose file this tree has."""
    for one in plays:
        for place in one.places:
            if (ROOT / place.file).exists():
                yield one, place
