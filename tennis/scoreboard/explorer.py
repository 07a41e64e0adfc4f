# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The page of one sealed rally: all of its balls, down to each of them."""

import html
import shlex
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.events import Reset
from bokeh.layouts import column, row
from bokeh.models import (
    BasicTickFormatter,
    Button,
    ColumnDataSource,
    HoverTool,
    InlineStyleSheet,
    Select,
    TapTool,
)
from bokeh.plotting import figure

from tennis import style
from tennis.errors import RallyError
from tennis.rally.folder import Rally
from tennis.scoreboard import words
from tennis.scoreboard.board import Board
from tennis.scoreboard.explaining import Answer, BallKey, Explaining
from tennis.scoreboard.points import LATENCIES, Points, Window
from tennis.scoreboard.wall import beat, template, words_of
from tennis.units import format_ns

NS_PER_US = 1000
IN_A_ROW = {"flex-wrap": "wrap", "align-items": "end", "gap": "6px"}
SECTIONS = [("picture", "All balls"), ("ball", "One ball")]
WIDTH, HEIGHT = 1200, 520  # of what is drawn; the browser scales it
KEPT = 2  # rallies that are held in memory
MISSED_MAX = 5000  # crosses at the upper edge
POLL_MS = 500  # how often the page looks what became of an explanation
WAIT_MS = 120  # a wheel turns on: the last of its windows is drawn


class RallyCache:
    """The rallies that were looked at last; each is read once."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[Path, str], Points] = OrderedDict()
        self._reading = threading.Lock()

    def points(self, path: Path, seal: str) -> Points:
        """Return the balls of a rally. Raises RallyError."""
        with self._reading:
            key = (path, seal)
            if key not in self._held:
                self._held[key] = Points(path)
            self._held.move_to_end(key)
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
            return self._held[key]


def explore(
    board: Board, shelf: RallyCache, explaining: Explaining | None, document: Document
) -> None:
    """Make the page of the rally that was asked for; ``explaining``: it explains balls, too."""
    asked = _argument(document, "rally")
    document.template = template()
    document.template_variables.update(style=style, sections=SECTIONS)
    points = entry = None
    try:
        entry = board.sealed(asked)
        if entry is None:
            trouble = "No such rally here: go back, and choose one."
        elif entry.manifest.drill is not None:
            trouble = "This is a drill: `tennis report` draws it."
        else:
            points = shelf.points(entry.path, entry.manifest.seal or "")
    except RallyError as error:
        trouble = str(error)
    if entry is None or points is None:
        document.title = "Tennis scoreboard"
        document.template_variables["sections"] = []
        text = f'<p class="warn">{words.safe(trouble, 400)}</p>'
    else:
        document.title = entry.name
        text = words.describe(entry)
    summary = words_of(f'{text}<p><a href="/">All rallies</a></p>', name="summary")
    document.add_root(summary)
    beat(document, summary)
    if points is not None:
        Explorer(points, explaining, document)


def _argument(document: Document, name: str) -> str:
    request: Any = getattr(document.session_context, "request", None)
    given: list[bytes] = request.arguments.get(name, []) if request else []
    return given[0].decode(errors="replace") if given else ""


class Explorer:
    """The picture in one browser, and what is asked of it."""

    def __init__(self, points: Points, explaining: Explaining | None, document: Document) -> None:
        self._points, self._document = points, document
        self._explaining = explaining if points.rally.manifest.bench == "virtual" else None
        self._ball: int | None = None  # that is spoken of
        self._latency = "interrupt"
        self._pending_draw: Any = None  # a drawing that waits
        window = points.whole(self._latency)
        self._image = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})
        self._single = ColumnDataSource({"s": [], "us": [], "ball": [], "said": []})
        self._missed = ColumnDataSource({"s": [], "us": [], "ball": [], "said": []})
        picture = figure(
            height=HEIGHT,
            sizing_mode="stretch_width",
            x_range=(window.from_s, window.to_s),
            y_range=(window.low_ns / NS_PER_US, window.high_ns / NS_PER_US),
            y_axis_type="log",
            tools="xpan,pan,xwheel_zoom,wheel_zoom,box_zoom,reset",
            active_drag="box_zoom",
            active_scroll="xwheel_zoom",
            output_backend="canvas",
            x_axis_label="served, s since the first ball",
            y_axis_label="latency, µs",
        )
        picture.toolbar.logo = None
        picture.background_fill_alpha = picture.border_fill_alpha = 0
        picture.yaxis[0].formatter = BasicTickFormatter(use_scientific=False)
        # rows of the image are of equal height on the logarithmic axis, as datashader made them
        picture.image_rgba("image", "x", "y", "dw", "dh", source=self._image)
        dots = picture.scatter(
            "s", "us", source=self._single, size=7, fill_color=style.BLUE, line_color="white"
        )
        crosses = picture.scatter(
            "s", "us", source=self._missed, size=9, marker="x", color=style.VERMILLION, line_width=2
        )  # fmt: skip
        picture.add_tools(
            HoverTool(renderers=[dots, crosses], tooltips=[("ball", "@ball"), ("", "@said")])
        )
        picture.add_tools(TapTool(renderers=[dots, crosses]))
        for source in (self._single, self._missed):
            source.selected.on_change("indices", self._tapped(source))
        for axis_range in (picture.x_range, picture.y_range):
            for name in ("start", "end"):
                axis_range.on_change(name, self._moved)
        picture.on_event(Reset, lambda _: self._show(self._points.whole(self._latency)))
        self._picture = picture
        dark = InlineStyleSheet(css=words.DARK_STYLE)
        choice = Select(
            title="Latency",
            value=self._latency,
            options=[(name, f"{name}: {what}") for name, what in LATENCIES.items()],
        )
        choice.on_change("value", self._chosen)
        self._words = words_of("", sizing_mode="stretch_width")
        self._counted = words_of("", sizing_mode="stretch_width")
        buttons = []
        for label, act in (
            ("The latest ball", self._to_latest),
            ("Closer", lambda: self._scale(0.25)),
            ("Further", lambda: self._scale(4)),
            ("Earlier", lambda: self._shift(-0.5)),
            ("Later", lambda: self._shift(0.5)),
            ("Everything", lambda: self._show(self._points.whole(self._latency))),
        ):
            button = Button(label=label)
            button.on_click(act)
            buttons.append(button)
        document.add_root(
            column(
                row(choice, *buttons, sizing_mode="stretch_width", styles=IN_A_ROW),
                self._counted, picture, name="picture", sizing_mode="stretch_width",
            )
        )  # fmt: skip
        self._why = words_of("", sizing_mode="stretch_width")
        self._ask = Button(label="Explain this ball", visible=False)
        self._ask.on_click(self._explain)
        document.add_root(
            column(self._words, self._ask, self._why, name="ball", sizing_mode="stretch_width")
        )
        for drawn in (picture, choice, *buttons, self._ask):
            drawn.stylesheets = [dark]
        if self._explaining is not None:
            document.add_periodic_callback(self._poll, POLL_MS)
        self._draw()
        self._tell(None)

    @property
    def _window(self) -> Window:
        x, y = self._picture.x_range, self._picture.y_range
        return Window(
            float(x.start), float(x.end), float(y.start) * NS_PER_US, float(y.end) * NS_PER_US
        )

    def _moved(self, name: str, before: object, after: object) -> None:
        del name, before, after
        if self._pending_draw is None:
            self._pending_draw = self._document.add_timeout_callback(self._draw, WAIT_MS)

    def _draw(self) -> None:
        self._pending_draw = None
        window = self._window
        if not (window.to_s > window.from_s and window.high_ns > window.low_ns > 0):
            return
        drawn = self._points.draw(window, self._latency, (WIDTH, HEIGHT))
        few = drawn.single.size > 0
        self._image.data = {
            "image": [] if few else [drawn.image],
            "x": [] if few else [window.from_s],
            "y": [] if few else [window.low_ns / NS_PER_US],
            "dw": [] if few else [window.to_s - window.from_s],
            "dh": [] if few else [(window.high_ns - window.low_ns) / NS_PER_US],
        }
        self._single.selected.indices = []
        self._single.data = self._rows(drawn.single, None)
        missed = self._points.missed(window, MISSED_MAX)
        self._missed.selected.indices = []
        self._missed.data = self._rows(missed, (window.low_ns * window.high_ns**24) ** (1 / 25))
        text = f"{drawn.balls:,} of {self._points.rally.balls:,} balls in view"
        if drawn.misses:
            shown = "" if drawn.misses <= MISSED_MAX else f", the first {MISSED_MAX:,} are shown"
            text += f'; <span class="bad">{drawn.misses:,} missed</span>'
            text += f" (crosses at the upper edge{shown})"
        if drawn.latest is not None:
            text += (
                f"; the latest in view is ball {drawn.latest:,}, {self._latency_text(drawn.latest)}"
            )
        text += (
            ". Each dot is a ball."
            if few
            else ". A stronger pixel holds more balls: zoom in to see each."
        )
        self._counted.text = f"<p>{text}</p>"

    def _rows(self, balls: Any, height_ns: float | None) -> dict[str, Any]:
        values = self._points.latency_ns[self._latency][balls].astype(np.float64)
        return {
            "s": self._points.served_s[balls],
            "us": values / NS_PER_US
            if height_ns is None
            else np.full(balls.size, height_ns / NS_PER_US),
            "ball": balls,
            "said": [self._latency_text(int(ball)) for ball in balls],
        }

    def _latency_text(self, ball: int) -> str:
        value = self._points.latency_ns[self._latency][ball]
        return "missed" if np.isnan(value) else format_ns(round(float(value)))

    def _tapped(self, source: ColumnDataSource) -> Any:
        def tapped(name: str, before: object, after: list[int]) -> None:
            del name, before
            if after:
                self._tell(int(source.data["ball"][after[0]]))

        return tapped

    def _tell(self, ball: int | None) -> None:
        """Say what is known of a ball, and how to find out why."""
        self._ball = ball
        self._ask.visible = ball is not None and self._explaining is not None
        self._ask.disabled = False
        self._why.text = ""
        self._poll()
        if ball is None:
            hint = "Zoom in until each ball is a dot, and click one; or take the latest."
            self._words.text = f'<p class="soft">{hint}</p>'
            return
        rally: Rally = self._points.rally
        parts = []
        for name, what in LATENCIES.items():
            value = self._points.latency_ns[name][ball]
            said = "no answer" if np.isnan(value) else format_ns(round(float(value)))
            parts.append(f"{name} latency ({what}): <strong>{words.safe(said)}</strong>")
        command = f"tennis explain {shlex.quote(str(rally.path))} --ball {ball}"
        why = (
            f"<p>To see which code ran meanwhile: <code>{words.safe(command, 4000)}</code></p>"
            if rally.manifest.bench == "virtual"
            else '<p class="soft">Only rallies of the virtual bench can be explained.</p>'
        )
        self._words.text = (
            f"<h3>Ball {ball:,}</h3><p>served {self._points.served_s[ball]:.9f} s after the first "
            f"one; {'; '.join(parts)}</p>{why}"
        )

    @property
    def _ball_key(self) -> BallKey | None:
        rally = self._points.rally
        seal = rally.manifest.seal or ""
        return None if self._ball is None else (rally.path.absolute(), seal, self._ball)

    def _explain(self) -> None:
        if self._explaining is not None and (key := self._ball_key) is not None:
            self._answer(self._explaining.ask(key))

    def _poll(self) -> None:
        """Show what became of it; somebody else may have asked, too."""
        if self._explaining is not None and (key := self._ball_key) is not None:
            known = self._explaining.answer_to(key)
            if known is not None:
                self._answer(known)

    def _answer(self, answer: Answer) -> None:
        self._ask.disabled = answer.state == "running"
        self._ask.visible = answer.state != "known"
        text = "".join(c for c in answer.text if c.isprintable() or c == "\n")
        kind = {"failed": "bad", "refused": "bad", "running": "soft"}.get(answer.state, "")
        region = 'class="wide" tabindex="0" role="region" aria-label="Why it was late"'
        said = f'<div {region}><pre class="why {kind}">{html.escape(text)}</pre></div>'
        if said != self._why.text:
            self._why.text = said

    def _show(self, window: Window) -> None:
        x, y = self._picture.x_range, self._picture.y_range
        x.update(start=window.from_s, end=window.to_s)
        y.update(start=window.low_ns / NS_PER_US, end=window.high_ns / NS_PER_US)

    def _scale(self, factor: float) -> None:
        now = self._window
        middle, half = (now.from_s + now.to_s) / 2, (now.to_s - now.from_s) / 2 * factor
        self._show(Window(middle - half, middle + half, now.low_ns, now.high_ns))

    def _shift(self, share: float) -> None:
        now = self._window
        by = (now.to_s - now.from_s) * share
        self._show(Window(now.from_s + by, now.to_s + by, now.low_ns, now.high_ns))

    def _to_latest(self) -> None:
        values = self._points.latency_ns[self._latency]
        missed = np.flatnonzero(np.isnan(values))
        ball = int(missed[0]) if missed.size else int(np.nanargmax(values))
        self._show(self._points.around(ball, self._latency))
        self._tell(ball)

    def _chosen(self, name: str, before: str, after: str) -> None:
        del name, before
        self._latency = after if after in LATENCIES else "interrupt"
        self._show(self._points.whole(self._latency))
        self._draw()
