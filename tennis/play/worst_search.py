# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The worst instant of a boot: the model proposes, shots decide.

The worst proposals are played, all in one boot. By how much a shot or a ball of the rally came
later than predicted, others may, too: so those that could then be later than the worst shot are
played next, and the instants beside it, until none is left.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tennis.explain.sections.figures import LONGEST_KEPT
from tennis.explain.sections.storage import About, Sections
from tennis.play.sections import Shot

FIRST = 60  # proposals that are played at first
ROUND = 300  # shots of a boot at most
ROUNDS = 4
BESIDE = 4  # instructions on both sides of the worst shot

# instants and what is predicted there, None: nothing; they rise
Play = Callable[[Sequence[tuple[int, int | None]]], list[Shot]]


@dataclass(frozen=True)
class OfAWay:
    """How far the shots of one way to take a ping were from what was predicted; ns."""

    way: str
    shots: int
    exact: int
    earliest_ns: int  # later than predicted; below 0: earlier
    latest_ns: int


@dataclass(frozen=True)
class Searched:
    """All shots that were played, and what one that was not played may meet."""

    shots: list[Shot]
    ways: list[OfAWay]  # of proposals
    # a proposal that was not played may be that late; None: none may be later than the worst shot
    open_ns: int | None

    @property
    def worst(self) -> Shot:
        """Return the latest shot; of equals the first."""
        return max(self.shots, key=lambda shot: (shot.measured_ns, -shot.at_ns))


def search(
    sections: Sections, play: Play, proposals: Sequence[Mapping[str, Any]] | None = None
) -> Searched:
    """Return the worst instant that shots find. ``play``: so many instants, in one boot.

    ``proposals``: each with at_ns, latency_ns and way, the latest first, LONGEST_KEPT at most; by
    default those of ``sections.longest``. There is one at least.
    """
    rows, about = proposals or sections.longest.to_pylist(), sections.about
    predicted: dict[int, int] = {row["at_ns"]: row["latency_ns"] for row in rows}
    shots: dict[int, Shot] = {}
    wanted: dict[int, int | None] = dict(list(predicted.items())[:FIRST])
    for _ in range(ROUNDS):
        shots |= {shot.at_ns: shot for shot in play(sorted(wanted.items()))}
        worst = max(shots.values(), key=_lateness)
        beside = {
            at_ns: predicted.get(at_ns)
            for step in range(-BESIDE, BESIDE + 1)
            if about.low_ns <= (at_ns := worst.at_ns + step * about.instruction_ns) < about.high_ns
            and at_ns not in shots
        }
        left = _may_be_later(predicted, shots, _margin(sections.about, shots))
        wanted = dict([*beside.items(), *left.items()][:ROUND])
        if not wanted:
            break
    margin = _margin(sections.about, shots)
    open_ns = [ns + margin for ns in _may_be_later(predicted, shots, margin).values()]
    last_ns = rows[-1]["latency_ns"] + margin
    if len(rows) == LONGEST_KEPT and last_ns > max(shots.values(), key=_lateness).measured_ns:
        open_ns.append(last_ns)  # what is not kept may be as late
    ways = {row["at_ns"]: row["way"] for row in rows}
    every = [shots[at_ns] for at_ns in sorted(shots)]
    return Searched(every, _of_ways(ways, every), max(open_ns, default=None))


def _lateness(shot: Shot) -> tuple[int, int]:
    return shot.measured_ns, -shot.at_ns


def _margin(about: About, shots: Mapping[int, Shot]) -> int:
    """Return by how much an instant may be later than predicted, as far as is known; ns.

    As much as a shot was, or a ball of the rally was off: of a thread's balls 99 %.
    """
    balls_ns = about.worst_ns if about.nearly_all_within_ns is None else about.nearly_all_within_ns
    return max([balls_ns, *(one.later_ns for one in shots.values() if one.later_ns is not None)])


def _may_be_later(
    predicted: Mapping[int, int], shots: Mapping[int, Shot], margin: int
) -> dict[int, int]:
    """Return the proposals that were not played, and may be later than the worst shot."""
    worst_ns = max(shot.measured_ns for shot in shots.values())
    return {
        at_ns: latency_ns
        for at_ns, latency_ns in predicted.items()
        if at_ns not in shots and latency_ns + margin > worst_ns
    }


def _of_ways(ways: Mapping[int, str], shots: Sequence[Shot]) -> list[OfAWay]:
    later: dict[str, list[int]] = {}
    for shot in shots:
        if shot.later_ns is not None:
            later.setdefault(ways[shot.at_ns], []).append(shot.later_ns)
    return [
        OfAWay(way, len(offs), offs.count(0), min(offs), max(offs))
        for way, offs in sorted(later.items())
    ]
