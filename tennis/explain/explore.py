"""A page on which a visitor explores recorded rallies: each ball, the late ones' causes.

It is one file without a server. All that it shows is from sealed rally folders, and from what
``tennis explain`` wrote of them.
"""

import base64
import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tennis.explain.page import NUMBERS, TIMELINE
from tennis.kit.edition import VERSION
from tennis.kit.errors import RallyError
from tennis.rally import Rally
from tennis.rally import instants as storage
from tennis.rally.command import command_of
from tennis.rally.statistics import Latency, Summary, summarize
from tennis.rally.statistics.balls import edges_ns
from tennis.report.instants_words import sentences
from tennis.report.pages.rally import EmbeddedPicture, data_uri
from tennis.report.pages.templates import template
from tennis.report.picture_words import bench_note, latencies, names
from tennis.report.pictures import drawing

if TYPE_CHECKING:
    from tennis.report.plots import Picture

SCRIPT = "explore.js"
SHARES_SHOWN = 5
NS_PER_US = 1000


@dataclass(frozen=True)
class _Phase:
    """A part of a ball's wait, from one moment to the next; ``of_all``: its share of the wait."""

    what: str
    at_ns: int
    ns: int
    of_all: float


@dataclass(frozen=True)
class Recorded:
    """A rally as the page shows it; ``numbers`` and ``timeline`` are ``tennis explain``'s.

    ``title``: in a visitor's words; ``words``: its special feature, one sentence.
    """

    title: str
    words: str
    rally: Rally
    numbers: Mapping[str, Any]
    timeline: str  # SVG, of the latest ball

    @cached_property
    def summary(self) -> Summary:
        """Return the statistics of all balls."""
        return summarize(self.rally)

    @property
    def latencies(self) -> dict[str, Latency]:
        """Return both latencies by their names."""
        return latencies(self.summary)

    @property
    def command(self) -> str:
        """Return the command that plays it again."""
        return command_of(self.rally.manifest)

    @property
    def late(self) -> Sequence[Mapping[str, Any]]:
        """Return the balls that are explained, the latest first."""
        late: Sequence[Mapping[str, Any]] = self.numbers["explained"]
        return late

    @property
    def picture_of_latest(self) -> EmbeddedPicture:
        """Return the timeline of the latest ball."""
        sentence = str(self.late[0]["sentence"])
        return EmbeddedPicture(data_uri(self.timeline.encode()), "Timeline", sentence, "")

    def phases(self, ball: Mapping[str, Any]) -> list[_Phase]:
        """Return the parts of a ball's wait, in order."""
        moments, whole = ball["moments"], max(int(ball["waited_ns"]), 1)
        pairs = itertools.pairwise(moments)
        return [
            _Phase(
                f"{one['what']}, until: {then['what']}",
                int(one["at_ns"]),
                int(then["at_ns"]) - int(one["at_ns"]),
                (int(then["at_ns"]) - int(one["at_ns"])) / whole,
            )
            for one, then in pairs
        ]

    @cached_property
    def worst_instant(self) -> tuple[list[str], EmbeddedPicture | None] | None:
        """Return a search for the worst instant: sentences, picture; None: no search."""
        searched = storage.read(self.rally)
        if searched is None:
            return None
        picture = drawing("instants:with_search")(self.rally)
        return sentences(searched), _small(picture) if picture else None


def recorded(title: str, words: str, rally: Rally, explained: Path) -> Recorded:
    """Return a rally with its explanation, the folder that ``tennis explain --out`` wrote.

    Raises RallyError if the explanation is of another rally, or cannot be read.
    """
    again = f"type: tennis explain {rally.path} --out ANOTHER"
    try:
        numbers = json.loads((explained / NUMBERS).read_text(encoding="utf-8"))
        timeline = (explained / TIMELINE).read_text(encoding="utf-8")
        late = numbers["explained"]
        balls = {int(one["ball"]): one for one in late}
        waits = [int(one["waited_ns"]) for one in late]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RallyError(f"{explained} is no explanation: {error}", next_step=again) from None
    table = rally_table(rally)
    for ball, one in balls.items():
        if not 0 <= ball < rally.balls or table["served_ns"][ball] != one["served_ns"]:
            raise RallyError(f"{explained} explains another rally: ball {ball}", next_step=again)
    if not late or waits != sorted(waits, reverse=True):
        raise RallyError(f"{explained} is no explanation of the latest balls", next_step=again)
    return Recorded(title, words, rally, numbers, timeline)


def page(rallies: Sequence[Recorded], links: Mapping[str, str], note: str = "") -> str:
    """Return the page; ``links``: further pages, title to address; ``note``: its proof.

    The same rallies give the same bytes. Raises ValueError without a rally.
    """
    if not rallies:
        raise ValueError("no rally to show")
    script = files("tennis.report.pages").joinpath(SCRIPT).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    summaries = [one.summary for one in rallies]
    return template("explore.html.j2").render(
        version=VERSION,
        rallies=rallies,
        labels=names([one.rally for one in rallies]),
        links=links,
        note=note,
        bench=bench_note(summaries),
        shares_shown=SHARES_SHOWN,
        # made here, of numbers and escaped words
        data=Markup(_data(rallies)),  # noqa: S704
        script=Markup(script),  # noqa: S704
        script_hash=digest,
    )


def rally_table(rally: Rally) -> dict[str, np.ndarray]:
    """Return all balls: served (ns since the first), both latencies (ns; NaN: missing)."""
    served, rise, fall = edges_ns(rally)
    return {"served_ns": served, "interrupt": rise, "scheduling": fall - rise}


def _data(rallies: Sequence[Recorded]) -> str:
    """Return the script's data, as JSON that cannot end its element."""
    content = []
    for one in rallies:
        table = rally_table(one.rally)
        served = table["served_ns"] - table["served_ns"][0]
        # since the ball before: short numbers
        steps_us = np.diff(np.rint(served / NS_PER_US).astype(np.int64), prepend=0)
        content.append(
            {
                "title": one.title,
                "folder": one.rally.path.name,
                "steps_us": steps_us.tolist(),
                "interrupt": [_whole(ns) for ns in table["interrupt"].tolist()],
                "scheduling": [_whole(ns) for ns in table["scheduling"].tolist()],
                "explained": [int(ball["ball"]) for ball in one.late],
            }
        )
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def _small(picture: "Picture") -> EmbeddedPicture:
    """Return a picture with hundredths of a pixel: that is half of its bytes."""
    svg = picture.render("svg").decode()
    path = re.compile(r'(?<= d=")[^"]*')
    svg = path.sub(lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found.group()), svg)
    return EmbeddedPicture(data_uri(svg.encode()), picture.title, picture.alt, "")


def _whole(ns: float) -> int | None:
    return None if math.isnan(ns) else round(ns)
