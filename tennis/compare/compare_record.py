# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``compare.json``: which two sides a folder holds boots of, and how often they were judged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tennis import __version__
from tennis.compare.folders import RECORD
from tennis.kit.errors import RallyError
from tennis.match.folder import read_record
from tennis.match.player import check_versions, unversioned
from tennis.rally.disk import write_whole
from tennis.rally.manifest import StrictModel, Text
from tennis.rally.plan import Plan
from tennis.rally.text import plain

SIDES = ("before", "after")
SIZE_MAX = 1 << 24  # bytes


class _SideRecord(StrictModel):
    """The plans of a side; without plans it was played before, in the folder of that name."""

    words: Text
    plans: Annotated[dict[Text, Plan], Field(max_length=4096, default_factory=dict)]


class CompareRecord(StrictModel):
    """All of ``compare.json``."""

    schema_version: Literal[1] = 1
    tennis: Text
    before: _SideRecord
    after: _SideRecord
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    margin: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
    # after how many pairs it was judged: each further look takes its share of the errors
    looks: Annotated[list[int], Field(max_length=1000, default_factory=list)]
    # it is judged once, after this number of pairs: one look has all of the errors; None: it is
    # judged again and again
    once: Annotated[int, Field(gt=0, le=10**6)] | None = None

    def write(self, folder: Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(folder / RECORD, self.model_dump_json(indent=1).encode() + b"\n", force=True)


def read_or_write(  # noqa: PLR0913, PLR0917 (all that a comparison was begun with)
    out: Path,
    words: tuple[str, str],
    planned: Mapping[str, Mapping[str, Plan]],
    seed: int,
    margin: float,
    once: int | None = None,
) -> CompareRecord:
    """Write or read ``compare.json``. Raises RallyError if ``out`` holds another comparison."""
    one, other = (
        _SideRecord(words=said, plans=dict(planned.get(side, {})))
        for side, said in zip(SIDES, words, strict=True)
    )
    record = CompareRecord(
        tennis=__version__, before=one, after=other, seed=seed, margin=margin, looks=[], once=once
    )
    if not (out / RECORD).exists():
        record.write(out)
        return record
    before = read_record(out / RECORD, CompareRecord, "compare", SIZE_MAX)
    _check_same(out, "before", before.before, one)
    _check_same(out, "after", before.after, other)
    if before.seed != seed:
        raise RallyError(
            f"{out} was begun with --seed {before.seed}", next_step="choose another --out"
        )
    if before.once != once:
        was = f"--once --boots {before.once}" if before.once else "more than one look"
        raise RallyError(
            f"{out} was begun with {was}: how often it is judged is decided before the first boot",
            next_step="choose another --out",
        )
    if once and before.looks and before.margin != margin:
        raise RallyError(
            f"{out} was judged once, with --margin {100 * before.margin:g}",
            next_step="choose another --out",
        )
    return before.model_copy(update={"margin": margin})


def _check_same(out: Path, side: str, was: _SideRecord, now: _SideRecord) -> None:
    theirs, ours = (
        {kind: unversioned(plan) for kind, plan in one.plans.items()} for one in (was, now)
    )
    if theirs != ours:
        raise RallyError(
            f"{out} was begun with another side {side}: {plain(was.words, 80)}",
            next_step="choose another --out",
        )
    for kind, plan in now.plans.items():
        check_versions(was.plans[kind], plan, out, f"the side {side} needs the same versions")
