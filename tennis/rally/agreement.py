"""Two runs of one seed with one thing changed: from when on they are not one run any more.

An instant is the same in both only before that. A kernel writes the time of each of its lines, in
virtual time; so the first line that came at another time says when they are apart at the latest,
and so does the first shot that met something else.
"""

import re
from dataclasses import dataclass

from tennis.kit.units import format_count, format_ns
from tennis.rally import Rally

STAMP = re.compile(rb"^\[ *(\d{1,8})\.(\d{6})\] ", re.MULTILINE)
CONSOLE_MAX = 1 << 22  # bytes


@dataclass(frozen=True)
class _Apart:
    """The latest time from which two runs surely differ, and its sign; ns. ``at_ns`` None: no sign.

    ``same``: the number of shots that are the same in both, of ``shots``; ``first_ns``: the first
    shot's time.
    """

    at_ns: int | None
    by_console: bool
    first_ns: int
    same: int
    shots: int

    @property
    def words(self) -> str:
        """Say whether the shots of both are of one state."""
        same = f"{self.same:,} of {format_count(self.shots, 'shot')} met the same in both"
        if self.at_ns is None:
            return f"Nothing tells the runs apart: {same}."
        what = "their consoles" if self.by_console else "a shot"
        said = f"By {what} the runs differ from {format_ns(self.at_ns)} on, at the latest"
        if self.at_ns <= self.first_ns:
            return (
                f"{said}, and the first shot came at {format_ns(self.first_ns)}: no instant is the "
                f"same in both, and shots are compared as a distribution. {same}."
            )
        return f"{said}. Before that an instant is the same in both. {same}."


def apart(before: Rally, after: Rally) -> _Apart:
    """Compare two rallies of shots with the same seed and the same instants."""
    ours, theirs = _shots(before), _shots(after)
    pairs = list(zip(ours, theirs, strict=False))
    first = next((max(one[0], other[0]) for one, other in pairs if one != other), None)
    if first is None and len(ours) != len(theirs):
        first = (ours + theirs)[min(len(ours), len(theirs))][0]
    console = _first_other_time(_times(before), _times(after))
    by_console = console is not None and (first is None or console <= first)
    return _Apart(
        at_ns=console if by_console else first,
        by_console=by_console,
        first_ns=min((shot[0] for shot in ours[:1] + theirs[:1]), default=0),
        same=sum(one == other for one, other in pairs),
        shots=max(len(ours), len(theirs)),
    )


def _first_other_time(ours: list[int], theirs: list[int]) -> int | None:
    """Return when the first line came that the other run does not have then; ns, None: none."""
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            return min(one, other)
    return None  # what only one of them has is of its end, at another time of the host's


def _times(rally: Rally) -> list[int]:
    said = rally.console(CONSOLE_MAX).encode()
    return [(int(s) * 10**6 + int(us)) * 1000 for s, us in STAMP.findall(said)]


def _shots(rally: Rally) -> list[tuple[int, int | None, int | None]]:
    names = ("served_ns", "rise_ticks", "fall_ticks")
    return [
        row
        for batch in rally.batches(list(names))
        for row in zip(*(batch[name].tolist() for name in names), strict=True)
    ]
