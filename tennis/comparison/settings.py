# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What each of a match's settings is worth: its boots beside those of the plan's first setting."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tennis.comparison.before_after import MEDIAN, Statement, tail_of, with_partners
from tennis.comparison.findings import at_level
from tennis.comparison.kinds import between_kinds
from tennis.comparison.rallies import Measured, boot_of
from tennis.comparison.ratios import MARGIN
from tennis.comparison.sides import Side, paired
from tennis.match.folder import MatchFolder
from tennis.rally import Rally

LATENCIES: tuple[Measured, ...] = ("interrupt", "scheduling")
LEVELS = (MEDIAN, 1000)  # of one ball in so many


@dataclass(frozen=True)
class Worth:
    """A setting of one kernel, load, and way to answer, for one latency."""

    cell: str  # as the folders of its rallies are called, without the setting
    setting: str
    latency: Measured
    side: Side  # its boots
    left_out: int  # rallies that are missing, suspect or not complete
    # of LEVELS that both sides have, over the first setting; empty for that one
    statements: list[Statement]

    @property
    def missed(self) -> int:
        """Return how many balls had no answer."""
        return sum(boot.lost for boot in self.side.boots)

    @property
    def latest_ns(self) -> float:
        """Return the latest answer of all boots; infinite: there was none; nan without boots."""
        return max(self.side.latest(), default=float("nan"))

    @property
    def levels_ns(self) -> dict[int, float]:
        """Return the median boot's levels, ns."""
        return {n: self.side.median(n).estimate for n in LEVELS if self.side.has(n)}


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
    sound = {name: [r for r in boots if r and _is_sound(r)] for name, boots in settings.items()}
    every = {
        latency: {name: _side(rallies, latency) for name, rallies in sound.items()}
        for latency in LATENCIES
    }
    # as many as there are, and three where two kinds of balls mix
    count = sum(
        1 if between_kinds(side.boots, sides[first].boots, one_in) is None else 3
        for sides in every.values()
        for name, side in sides.items()
        if name != first and first in sides
        for one_in in LEVELS
        if side.has(one_in) and sides[first].has(one_in)
    )
    for latency, sides in every.items():
        for name, side in sides.items():
            others = name != first and first in sides and sides[first].boots and side.boots
            yield Worth(
                cell=cell,
                setting=name,
                latency=latency,
                side=side,
                left_out=len(settings[name]) - len(sound[name]),
                statements=_beside(cell, latency, sides[first], side, count) if others else [],
            )


def _is_sound(rally: Rally) -> bool:
    return not rally.manifest.suspect and rally.manifest.ended == "complete"


def _side(rallies: Sequence[Rally], latency: Measured) -> Side:
    seeds = [rally.manifest.protocol.seed for rally in rallies]
    return Side([boot_of(rally, latency) for rally in rallies], seeds)


def _beside(cell: str, latency: str, first: Side, side: Side, count: int) -> list[Statement]:
    """Compare a setting with the first one; ``count`` statements share the errors."""
    before, after = with_partners(first, side)
    tail = tail_of(count, None, paired=paired(after, before))
    return [
        Statement(cell, latency, at_level(after, before, one_in, tail), MARGIN)
        for one_in in LEVELS
        if before.has(one_in) and after.has(one_in)
    ]
