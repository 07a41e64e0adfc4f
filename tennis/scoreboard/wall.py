# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The page for the wall: a card for each rally that is being played, queues, benches, failures."""

import itertools
import time

import numpy as np
from bokeh.document import Document
from bokeh.layouts import column
from bokeh.models import ColumnDataSource, Div, InlineStyleSheet, Row, UIElement
from bokeh.plotting import figure
from jinja2 import Environment, PackageLoader, Template, select_autoescape
from numpy.typing import NDArray

from tennis import style
from tennis.scoreboard import words
from tennis.scoreboard.board import Board
from tennis.scoreboard.following import EDGES_NS, Playing

UPDATE_MS = 1000
BEAT_MS = 500
OLD_MS = 8000  # without a beat, a page says that it is old
CARD_WIDTH, PICTURE_HEIGHT = 284, 78  # six of them on a projector of 1920
TICKS_NS = {
    1000: "1 µs",
    10_000: "10 µs",
    100_000: "100 µs",
    1_000_000: "1 ms",
    10_000_000: "10 ms",
}
COUNTS = {1: "1", 100: "100", 10_000: "10k", 1_000_000: "1M"}
CARD_STYLE = ":host { background: var(--panel); padding: 6px 8px 2px; border-radius: 6px }"
FLOOR = 0.7  # of the logarithmic axis of counts: one ball is seen


def template() -> Template:
    """Return the frame of both pages."""
    environment = Environment(
        loader=PackageLoader("tennis", "scoreboard"), autoescape=select_autoescape(["html.j2"])
    )
    # the frame's own variables are HTML that Bokeh made
    environment.autoescape = False
    return environment.get_template("page.html.j2")


def words_of(text: str, **more: object) -> Div:
    """Return HTML with the pages' style."""
    return Div(text=text, stylesheets=[InlineStyleSheet(css=words.STYLE)], **more)


def beat(document: Document, summary: Div) -> None:
    """Let a page see that the server is there: a number that counts up."""
    beats = itertools.count(1)

    def once() -> None:
        summary.tags = [next(beats)]

    document.template_variables["old_ms"] = OLD_MS
    document.add_periodic_callback(once, BEAT_MS)


class Card:
    """A rally that is being played: words, and its histogram."""

    def __init__(self) -> None:
        self._bins: NDArray[np.int64] | None = None
        self._words = words_of("", width=CARD_WIDTH)
        self._source = ColumnDataSource(
            {"left": EDGES_NS[:-1], "right": EDGES_NS[1:], "top": [FLOOR] * (EDGES_NS.size - 1)}
        )
        picture = figure(
            width=CARD_WIDTH,
            height=PICTURE_HEIGHT,
            x_axis_type="log",
            y_axis_type="log",
            x_range=(EDGES_NS[0], EDGES_NS[-1]),
            toolbar_location=None,
            tools="",
            background_fill_alpha=0,
            border_fill_alpha=0,
            outline_line_color=None,
            min_border=2,
            stylesheets=[InlineStyleSheet(css=words.DARK_STYLE)],
        )
        picture.y_range.start = FLOOR
        picture.quad(
            "left", "right", "top", FLOOR, source=self._source,
            fill_color=style.LATENCIES["interrupt"], line_color=None,
        )  # fmt: skip
        axis = picture.xaxis[0]
        axis.ticker = list(TICKS_NS)
        axis.major_label_overrides = TICKS_NS
        for one in (picture.xaxis[0], picture.yaxis[0]):
            one.major_label_text_color = style.LIGHT["soft"]
            one.major_label_text_font_size = "11px"
            one.axis_line_color = one.major_tick_line_color = style.AXIS
            one.minor_tick_line_color = None
        picture.yaxis[0].ticker = list(COUNTS)
        picture.yaxis[0].major_label_overrides = COUNTS
        picture.grid.grid_line_color = None
        self._picture = picture
        self.shown = column(
            self._words,
            picture,
            width=CARD_WIDTH + 16,
            stylesheets=[InlineStyleSheet(css=CARD_STYLE)],
        )

    def update(self, name: str, playing: Playing, now: float) -> None:
        """Say what has changed."""
        text = words.card(name, playing, now)
        if text != self._words.text:
            self._words.text = text
        bins = playing.counted.bins.copy()
        drill = playing.plan is not None and playing.plan.drill is not None
        if self._picture.visible == drill:
            self._picture.visible = not drill
        if self._bins is None or (bins != self._bins).any():
            self._bins = bins
            self._source.patch({"top": [(slice(0, bins.size), bins.clip(FLOOR))]})


class Wall:
    """The page in one browser."""

    def __init__(self, board: Board, document: Document) -> None:
        self._board = board
        self._cards: dict[str, Card] = {}
        self._summary = words_of("", name="summary")
        self._court = Row(
            name="court", styles={"display": "flex", "flex-wrap": "wrap", "gap": "10px"}
        )
        self._none = words_of('<p class="soft">No rally is being played in these folders.</p>')
        self._queues = words_of("", name="queues", sizing_mode="stretch_width")
        self._benches = words_of("", name="benches", sizing_mode="stretch_width")
        self._troubles = words_of("", name="troubles", sizing_mode="stretch_width")
        self._sealed = words_of("", name="sealed", sizing_mode="stretch_width")
        sections = {"court": "On the court", "troubles": "What fails", "queues": "Matches"}
        roots: list[UIElement] = [
            self._summary, self._court, self._troubles, self._queues, self._sealed,
        ]  # fmt: skip
        if board.asks_benches:
            sections["benches"] = "Benches"
            roots.append(self._benches)
        sections["sealed"] = "Sealed last"
        for root in roots:
            document.add_root(root)
        document.template = template()
        document.template_variables.update(style=style, sections=list(sections.items()))
        document.title = "Tennis scoreboard"
        self._update()
        document.add_periodic_callback(self._update, UPDATE_MS)
        beat(document, self._summary)

    def _update(self) -> None:
        score, now = self._board.score, time.monotonic()
        if set(score.playing) != set(self._cards):
            self._cards = {name: self._cards.get(name) or Card() for name in score.playing}
            for name, playing in score.playing.items():
                self._cards[name].update(name, playing, now)
            self._court.children = [card.shown for card in self._cards.values()] or [self._none]
        for name, playing in score.playing.items():
            self._cards[name].update(name, playing, now)
        if not self._cards and not self._court.children:
            self._court.children = [self._none]
        for shown, text in (
            (self._summary, words.summary(score, self._board.failure)),
            (self._queues, words.queues(score.queues)),
            (self._benches, words.benches(self._board.benches)),
            (self._troubles, words.troubles(score)),
            (self._sealed, words.sealed(score)),
        ):
            if shown.text != text:
                shown.text = text


def show(board: Board, document: Document) -> None:
    """Make the page in one browser."""
    Wall(board, document)
