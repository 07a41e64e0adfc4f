# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The effect of each of a match's settings: its boots beside those of the plan's first setting."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tennis.compare.judgement import ERROR, MEDIAN, Row, time_change
from tennis.compare.rallies import Measured, boot_of
from tennis.compare.sides import Side
from tennis.match.folder import MatchFolder
from tennis.rally import Rally

LATENCIES: tuple[Measured, ...] = ("interrupt", "scheduling")
ONE_IN = 1000  # the compared levels: this one and rarer ones


@dataclass(frozen=True)
class Worth:
    """A setting of one kernel, load, and way to answer, for one latency."""

    cell: str  # as the folders of its rallies are called, without the setting
    setting: str
    latency: Measured
    side: Side  # its boots
    left_out: int  # rallies that are missing, suspect or not complete
    row: Row | None  # over the first setting; None: it is that one, or boots are too short

    @property
    def missed(self) -> int:
        """Return how many balls had no answer."""
        return self.side.lost

    @property
    def latest_ns(self) -> float:
        """Return the latest answer of all boots; infinite: no answer; nan without boots."""
        return max(self.side.latest(), default=float("nan"))

    @property
    def levels_ns(self) -> dict[int, float]:
        """Return the median boot's levels, ns."""
        return {n: self.side.median_boot(n) for n in (MEDIAN, ONE_IN) if self.side.has(n)}


def worth(match: MatchFolder) -> list[Worth]:
    """Return a line for each setting of each cell, in the plan's order. Raises RallyError.

    All statements of one cell together are wrong in at most 5 % of matches.
    """
    cells: dict[str, dict[str, list[Rally | None]]] = defaultdict(dict)
    for planned in match.scheduled:
        if planned.setting is None:
            continue
        end = f"-{planned.setting}" + (f"-r{planned.repetition}" if planned.repetition > 1 else "")
        boots = cells[planned.name.removesuffix(end)].setdefault(planned.setting, [])
        boots.append(match.rally(planned.name))
    order = list(match.record.plan.settings)
    return [
        line
        for cell, settings in sorted(cells.items())
        for line in _lines(cell, {n: settings[n] for n in order if n in settings}, order[0])
    ]


def _lines(cell: str, settings: dict[str, list[Rally | None]], first: str) -> Iterator[Worth]:
    sound = {
        name: [r for r in boots if r and not r.manifest.suspect and r.manifest.ended == "complete"]
        for name, boots in settings.items()
    }
    tail = ERROR / max(1, len(LATENCIES) * (len(settings) - 1))
    for latency in LATENCIES:
        sides = {name: _side(rallies, latency) for name, rallies in sound.items()}
        for name, side in sides.items():
            others = name != first and first in sides
            can = others and side.has(ONE_IN) and sides[first].has(ONE_IN)
            yield Worth(
                cell=cell,
                setting=name,
                latency=latency,
                side=side,
                left_out=len(settings[name]) - len(sound[name]),
                row=time_change(*sides[first].with_partners(side), ONE_IN, tail=tail / 2)
                if can
                else None,
            )


def _side(rallies: Sequence[Rally], latency: Measured) -> Side:
    seeds = [rally.manifest.protocol.seed for rally in rallies]
    return Side([boot_of(rally, latency) for rally in rallies], seeds)
