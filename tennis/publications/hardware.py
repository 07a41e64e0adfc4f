# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Latencies of real boards that somebody published, and which cell of a match comes nearest."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tennis.publications.knutsson import knutsson_2008
from tennis.publications.load import load

Quantity = Literal[
    "interrupt, usual",
    "interrupt, latest",
    "scheduling, latest",
    "process, usual",
    "process, latest",
]
KNUTSSON, KOEKER = "knutsson-2008", "koeker"
# cells of plans/hardware.toml: the thesis' handlers were forced into threads, RTAI's were hard
_RTAI = {False: "rt hard, idle", True: "rt hard, ping-flood"}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Table):
    """Where points are from; ``outside``: an instrument beside the target took the times."""

    id: str
    board: str
    kernel: str
    instrument: str
    outside: bool
    where: str
    read: list[str] = Field(min_length=1)  # the days on which it was read
    unknown: str
    held_out: bool = False  # no figure of a memory profile may be chosen with it


class Times(_Table):
    """Microseconds; ``usual`` is a median or a mean, whichever is published."""

    usual: float | None = Field(default=None, gt=0)
    latest: float | None = Field(default=None, gt=0)


class _Row(_Table):
    source: str
    who: str
    load: str
    balls: int | None = None
    cell: str | None = None
    interrupt: Times = Times()
    process: Times = Times()


class Point(_Table):
    """One published time, in microseconds; ``cell``: what comes nearest, None: nothing does."""

    source: Source
    who: str
    load: str
    balls: int | None
    cell: str | None
    quantity: Quantity
    us: float


@cache
def points() -> tuple[Point, ...]:
    """Return all published times of boards, by source."""
    return (*_of_the_thesis(), *_of_koeker(), *_of_others())


def _of_the_thesis() -> Iterator[Point]:
    """Yield tables 7.1 to 7.4."""
    thesis = knutsson_2008()
    for table in thesis.results:
        source = Source(
            id=KNUTSSON,
            board=thesis.target.board,
            kernel=f"Linux {thesis.target.linux} and others",
            instrument=thesis.instrument.mcu,
            outside=True,
            where="Knutsson 2008, tables 7.1 to 7.4",
            read=["2026-11-28"],
            unknown="the usual answer: only the latest and the spread are published",
        )
        for name in ("idle", "stress", "network", "xload"):
            result = getattr(table, name)
            if result is None:
                continue
            cell = None
            if table.kernel == "mainline":
                cell = f"mainline, {name}"
            elif table.kernel == "rt":
                cell = f"rt forced {table.priorities}, {name}"
            who = f"handler, {table.kernel}, priorities {table.priorities}"
            both: tuple[tuple[Quantity, int], ...] = (
                ("interrupt, latest", result.irq.max),
                ("scheduling, latest", result.sched.max),
            )
            for quantity, us in both:
                yield Point(
                    source=source,
                    who=who,
                    load=name,
                    balls=thesis.instrument.balls,
                    cell=cell,
                    quantity=quantity,
                    us=us,
                )


def _of_koeker() -> Iterator[Point]:
    """Yield tables 2 and 3: of one-shot timers as the bench's, of periodic ones without a cell."""
    paper = load(KOEKER)
    source = Source(
        id=KOEKER,
        board=paper["target"]["board"],
        kernel=paper["target"]["linux"],
        instrument=paper["instrument"]["counter"],
        outside=True,
        where="Koeker, Membarth, German, tables 2 and 3",
        read=["2026-11-28"],
        unknown="the date of the kernel's patches",
    )
    for table, key, quantity in (
        ("quartiles", "q2", "interrupt, usual"),
        ("latency", "max", "interrupt, latest"),
    ):
        for row in paper[table]:
            yield Point(
                source=source,
                who=f"handler, RTAI, {row['mode']}",
                load="ping-flood" if row["load"] else "idle",
                balls=paper["instrument"]["interrupts"],
                cell=_RTAI[row["load"]] if row["mode"] == "oneshot" else None,
                quantity=quantity,  # type: ignore[arg-type]
                us=row[key],
            )


def _of_others() -> Iterator[Point]:
    """Yield the points of hardware.toml."""
    content: dict[str, Any] = load("hardware")
    sources = {one["id"]: Source.model_validate(one) for one in content["source"]}
    for entry in content["point"]:
        row = _Row.model_validate(entry)
        for what, times in (("interrupt", row.interrupt), ("process", row.process)):
            for name, us in times:
                if us is not None:
                    yield Point(
                        source=sources[row.source],
                        who=row.who,
                        load=row.load,
                        balls=row.balls,
                        cell=row.cell,
                        quantity=f"{what}, {name}",  # type: ignore[arg-type]
                        us=us,
                    )
