# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Commission all benches of a room at the same time, and print what belongs beside each."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tennis.bench.fleet import state
from tennis.bench.fleet.inventory import read_inventory
from tennis.commissioning.request import CommissionRequest
from tennis.errors import TennisError
from tennis.pages.labels import Label
from tennis.play.commissioning.commissioning import Commissioning
from tennis.play.fleet import FleetBench
from tennis.play.rally import Watch
from tennis.rally.disk import writing

# what can be measured while all wires of the room are plugged alike
ROUNDS = {
    "jumpers": ("pico", "firmware", "jumpers"),
    "target": ("pico", "firmware", "target", "kernel", "ping", "reply", "idle", "load"),
}
Make = Callable[[Path, CommissionRequest, Watch], Commissioning]


@dataclass(frozen=True)
class BenchResult:
    """How far a bench came; ``trouble`` is empty where its round is done."""

    bench: str
    summary: str
    trouble: str = ""


def commission_all(
    benches: Sequence[FleetBench],
    out: Path,
    request: CommissionRequest,
    wires: Literal["jumpers", "target"],
    make: Make = Commissioning,
) -> Iterator[BenchResult]:
    """Commission benches into a folder each below ``out``; each is yielded when it is done.

    What fails on one bench stops no other.
    """
    with writing(out):
        out.mkdir(exist_ok=True)

    def one(bench: FleetBench) -> BenchResult:
        own = request.model_copy(update={"target": bench.target, "port": bench.port})
        try:
            work = make(out / bench.name, own, Watch())
            return _round(bench.name, work, ROUNDS[wires])
        except TennisError as error:
            return BenchResult(bench.name, "not commissioned", str(error))

    with ThreadPoolExecutor(max(1, len(benches))) as pool:
        for future in as_completed([pool.submit(one, bench) for bench in benches]):
            yield future.result()


def _round(name: str, work: Commissioning, steps: Sequence[str]) -> BenchResult:
    for step in steps:
        if work.record.passed(step):
            continue
        if missing := work.missing(step):
            trouble = f"{step}: first {' and '.join(missing)} must pass"
            if "jumpers" in missing:
                trouble += " (--wires jumpers, in the round before)"
            return BenchResult(name, work.record.summary, trouble)
        result = work.do(step)
        if result.verdict == "fail":
            return BenchResult(
                name, work.record.summary, f"{step}: {result.reason} -> {result.advice}"
            )
    work.save()
    return BenchResult(name, work.record.summary)


def labels(inventory: Path | None) -> list[Label]:
    """Return a label for each bench of an inventory; who does not answer has no serial number."""
    return [
        Label(seen.bench.name, seen.picos[0] if len(seen.picos) == 1 else "")
        for seen in state.poll(read_inventory(inventory))
    ]
