"""The causes of a match's latest balls: kept beside it, so that verdicts can name them.

``tennis.replicate.finding_mechanisms`` finds them by playing these rallies again. The thesis ran
PREEMPT_RT of 2008: each softirq had a thread of its own, and none took a lock that all of a
processor share. Both have changed since, for handlers that are forced into threads: the same order,
by another cause.
"""

import json
import re
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tennis.compare.sides import Side
from tennis.rally.disk import write_whole
from tennis.rally.manifest import Count, StrictModel, Text
from tennis.rally.record_file import RecordFile
from tennis.replicate.samples import Sample
from tennis.report.publications.rules import RulePart

FILE = "mechanisms.json"
SIZE_MAX = 1 << 22  # bytes
_LOCK = re.compile(r"softirq lock")
_SOFTIRQ_THREADS = 2  # Linux' major version in which each softirq had a thread of its own
_NEAR = 10**0.5  # times: the latest ball is of the judged level's kind


class Mechanism(StrictModel):
    """The latest ball of a side under a load, and why it was late."""

    rally: Text  # the name of its folder
    ball: Count
    ns: Count | None  # None: no answer
    sentence: Text


class Mechanisms(StrictModel):
    """All of ``mechanisms.json``; the keys are those of ``Sample.name``."""

    schema_version: Literal[1] = 1
    cells: Annotated[dict[Text, Mechanism], Field(max_length=4096, default_factory=dict)]

    def write(self, match: Path) -> None:
        """Write the file, whole or not at all."""
        text = json.dumps(self.model_dump(mode="json"), indent=1) + "\n"
        write_whole(match / FILE, text.encode(), force=True)

    def with_todays_names(self) -> "Mechanisms":
        """Return the same with ``forced`` for its old name ``threaded``."""
        return Mechanisms(
            cells={name.replace("/threaded/", "/forced/"): one for name, one in self.cells.items()}
        )

    @classmethod
    def read(cls, match: Path) -> "Mechanisms":
        """Read the file; without it nothing is known. Raises RallyError."""
        again = "remove it, and explain again"
        file = RecordFile(match / FILE, "list of mechanisms", 1, SIZE_MAX, again)
        try:
            text = file.read()
        except FileNotFoundError:
            return cls(cells={})
        file.content(text)
        return file.checked(cls, text).with_todays_names()


def other_cause(
    part: RulePart, of: Sequence[tuple[Sample, Side, str]], every: Sequence[Sample], one_in: int
) -> str:
    """Name a cause that the original lacked and a confirmed comparison depends on; empty: none.

    ``of``: samples of the side that must be late, each with its boots and the mechanism of its
    latest ball (empty: not explained).
    """
    forced = [sample for sample in every if sample.side.top_half == "forced" and _today(sample)]
    if forced and part.of.latency == "scheduling":
        return (
            "the tasklet of a forced handler runs inside the handler's own thread (in 2008 it ran "
            "in a thread of its own)"
        )
    if part.above is None:
        return ""
    for sample, side, sentence in of:
        latest = max(side.latest(), default=inf)
        near = side.has(one_in) and latest <= _NEAR * side.median_boot(one_in)
        if sample in forced and near and _LOCK.search(sentence):
            return (
                "the latest ball waited for the softirq lock, which forced threading takes today "
                "(in 2008 there was no such lock)"
            )
    return ""


def _today(sample: Sample) -> bool:
    """Tell whether a side's kernel runs softirqs in the thread that raised them."""
    releases = [rally.manifest.target.release for _, rally in sample.rallies]
    majors = [found.group() for one in releases if (found := re.match(r"\d{1,4}", one))]
    return bool(majors) and all(int(major) > _SOFTIRQ_THREADS for major in majors)
