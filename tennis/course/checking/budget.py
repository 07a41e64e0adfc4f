"""An end for the plays of a student's own code: it may answer no ball, or each one very late.

A ball that is missed costs as much as a hundred that are answered. So a play ends once too many are
missed to be worth a point, and all plays of one file end once they took a budget of processor time.
Both are kept: the next run of the marker does not begin again.
"""

import json
import os
import time
from pathlib import Path

from tennis.course.checks import Wrong
from tennis.course.work import BUDGET_S, LOST_PERCENT
from tennis.kit.units import format_count
from tennis.play.progress import Progress
from tennis.rally.disk import writing

LOOK_S = 2.0
TICKS = os.sysconf("SC_CLK_TCK")


class Budget:
    """The processor time that one file has left; looks on while it is played.

    ``ledger``: the file that keeps what was spent.
    """

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._spent_s = json.loads(ledger.read_text()) if ledger.exists() else 0.0
        self._began_s = _processor_s(os.getpid())
        self._looked, self._words = 0.0, ""

    def observe(self, progress: Progress) -> None:
        """See how many balls were missed, and how long it took."""
        if progress.misses * 100 > LOST_PERCENT * progress.planned:
            self._words = (
                f"{progress.misses} of the first {format_count(progress.balls, 'ball')} were not "
                f"answered: more than {LOST_PERCENT} % of all {progress.planned:,}"
            )
        elif time.monotonic() > self._looked + LOOK_S:
            self._looked = time.monotonic()
            if self._spent() > BUDGET_S:
                self._words = (
                    f"it took more than {BUDGET_S:g} s of processor time, with {progress.balls:,} "
                    f"of {format_count(progress.planned, 'ball')} played"
                )

    def stop(self) -> bool:
        """Say whether its play is to end."""
        return bool(self._words)

    def close(self, ended: Path) -> None:
        """Keep what was spent and, in the file ``ended``, why a play ended early.

        Raises Wrong if it did.
        """
        with writing(self._ledger):
            self._ledger.write_text(json.dumps(self._spent()))
            if self._words:
                ended.write_text(self._words)
        refuse_ended(ended)

    def _spent(self) -> float:
        return self._spent_s + _processor_s(os.getpid()) - self._began_s


def refuse_ended(ended: Path) -> None:
    """Raise Wrong if a play ended early, now or in an earlier run."""
    if ended.exists():
        raise Wrong(f"with your code the rally was ended: {ended.read_text()}")


def _processor_s(pid: int) -> float:
    """Return the seconds that a process and its descendants ran, those that ended included."""
    parents: dict[int, int] = {}
    ran: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        ran[number] = sum(map(int, fields[11:15])) / TICKS

    def descends(number: int) -> bool:
        while number not in {0, pid}:
            number = parents.get(number, 0)
        return number == pid

    return sum(seconds for number, seconds in ran.items() if descends(number))
