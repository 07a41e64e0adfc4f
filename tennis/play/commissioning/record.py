"""The commissioning record: a sealed folder with ``record.json``, a page, and its rallies.

The record holds the measurements. Its sentences hide known names, hosts, serial numbers and paths;
a shared record has no sentences (``sharing``). Its seal shows damage and careless edits. It does
not show who made it.
"""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tennis.kit.errors import AlteredError, RallyError
from tennis.play.commissioning.steps import names, step
from tennis.rally.disk import open_below
from tennis.rally.manifest import Sha256, StrictModel, Text
from tennis.rally.record_file import RecordFile, seal_of
from tennis.rally.text import plain

SCHEMA_VERSION = 1
RECORD = "record.json"
PAGE = "index.html"
SIZE_MAX = 1 << 20  # bytes

StepVerdict = Literal["pass", "fail", "left out"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}$")]
Figure = Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]


class Number(StrictModel):
    """A measured number."""

    name: Name  # the same in all records
    words: Text
    value: Figure
    unit: Annotated[str, Field(max_length=20)]

    @property
    def text(self) -> str:
        """Write it with its unit."""
        whole = self.value == round(self.value) or abs(self.value) >= 1000
        value = f"{self.value:,.0f}" if whole else f"{self.value:.4g}"
        return f"{value} {self.unit}".strip()


class StepResult(StrictModel):
    """The outcome of a step, the last time that it was done."""

    name: Text
    verdict: StepVerdict
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    reason: Text
    advice: Text = ""
    failure: Text = ""  # by its name in the step
    numbers: list[Number] = Field(default=[], max_length=40)
    facts: dict[Name, Text] = Field(default={}, max_length=40)
    notes: list[Text] = Field(default=[], max_length=40)


class Record(StrictModel):
    """All of ``record.json``, without the seal."""

    schema_version: Literal[1]
    created: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    tennis: Text
    kind: Literal["physical", "emulated"]
    steps: Annotated[list[StepResult], Field(max_length=40)]  # that were done, in their order
    # page and rallies, below the folder; a file that is sent has none
    files: dict[Text, Sha256] = Field(default={}, max_length=40)

    def result(self, name: str) -> StepResult | None:
        """Return the result of a step; None if it was not done."""
        return next((result for result in self.steps if result.name == name), None)

    def passed(self, name: str) -> bool:
        """Tell whether a step passed."""
        result = self.result(name)
        return result is not None and result.verdict == "pass"

    def number(self, where: str, name: str) -> Number | None:
        """Return a number of a step."""
        result = self.result(where)
        return next((n for n in result.numbers if n.name == name), None) if result else None

    def fact(self, where: str, name: str) -> str:
        """Return a fact of a step, or an empty text."""
        result = self.result(where)
        return plain(result.facts.get(name, ""), 120) if result else ""

    @property
    def open_steps(self) -> list[str]:
        """Return the steps that have not passed, and are not left out."""
        done = {r.name for r in self.steps if r.verdict in {"pass", "left out"}}
        return [name for name in names() if name not in done and not step(name).optional]

    @property
    def summary(self) -> str:
        """Say in a few words how far it is."""
        by_verdict: dict[str, list[str]] = {}
        for result in self.steps:
            by_verdict.setdefault(result.verdict, []).append(result.name)
        every = [name for name in names() if self.result(name) or not step(name).optional]
        words = f"{len(by_verdict.get('pass', []))} of {len(every)} steps passed"
        if failed := by_verdict.get("fail"):
            words += f", {', '.join(failed)} failed"
        if left := by_verdict.get("left out"):
            words += f", {len(left)} left out"
        return words

    def check_files(self, folder: Path) -> None:
        """Check the other files in its folder. Raises AlteredError."""
        for name, sha256 in self.files.items():
            try:
                with open_below(folder, name) as file:
                    same = hashlib.file_digest(file, "sha256").hexdigest() == sha256
            except OSError:
                same = False
            if not same:
                raise AlteredError(
                    f"{folder / plain(name, 80)} is not what was sealed",
                    next_step="do its step again, or use the original folder",
                )


def read_record(path: Path) -> Record:
    """Read a record's file and check its seal. Raises RallyError, AlteredError."""
    file = RecordFile(path, "record", SCHEMA_VERSION, SIZE_MAX, "use the file as it was written")
    try:
        content = file.content(file.read())
    except FileNotFoundError as error:
        raise RallyError(
            f"{path.parent} holds no {path.name}",
            next_step="name the folder that `tennis commission --out` wrote",
        ) from error
    if "steps" not in content:
        raise RallyError(
            f"{path} is not a commissioning record", next_step="use the file as it was written"
        )
    if content.get("seal") != seal_of(content):
        raise AlteredError(
            f"{path} was changed after it was sealed",
            next_step="use the original, or measure again in another folder",
        )
    del content["seal"]
    record = file.checked(Record, json.dumps(content).encode())
    known = names()
    for result in record.steps:
        if result.name not in known:
            raise RallyError(
                f"{path} has a step {plain(result.name, 40)!a}, which is not known",
                next_step="use the original",
            )
    return record
