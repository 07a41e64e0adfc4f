"""The list of pictures: a table that imports none of them, because matplotlib takes a while."""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from tennis.kit.entries import EntryError, load

if TYPE_CHECKING:
    from tennis.report.plots import Picture

# subject -> the names of its pictures, and the functions that draw them
PICTURES: dict[str, dict[str, str]] = {
    "rally": {
        "histogram": "tennis.report.plots.one:histogram",
        "distribution": "tennis.report.plots.one:distribution",
        "series": "tennis.report.plots.one:series",
        "coverage": "tennis.report.plots.instants:with_search",
    },
    "sweep": {
        "rates": "tennis.match.sweep.picture:rates",
        "screens": "tennis.match.sweep.picture:screens",
    },
    "drill": {
        "spans": "tennis.report.plots.drill:spans",
        "sizes": "tennis.report.plots.drill:sizes",
    },
    "rallies": {
        "overview": "tennis.report.plots.compare:overview",
        "histogram": "tennis.report.plots.compare:histograms",
        "distribution": "tennis.report.plots.compare:comparison",
    },
    "sweeps": {"rates": "tennis.match.sweep.picture:rates_of_several"},
    "drills": {},
}


class _Draw(Protocol):
    def __call__(self, *what: Any) -> "Picture | None": ...


def drawing(name: str) -> _Draw:
    """Return the function MODULE:NAME of ``report/plots``; without matplotlib it draws nothing."""
    function: _Draw = load(f"tennis.report.plots.{name}") if can_draw() else lambda *_: None
    return function


@cache
def can_draw() -> bool:
    """Tell whether matplotlib is there; if it is not, print once what to do about it."""
    try:
        load("matplotlib")
    except EntryError as error:
        print(f"tennis: pictures are left out: {error.next_step}", file=sys.stderr)
        return False
    return True
