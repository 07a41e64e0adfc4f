"""The processor's work while one ball waited, in order of time: one SVG."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.explain.between import Interrupt, LockHeld
from tennis.explain.flame_page import COLOURS, LETTER, MARGIN, WIDTH, head
from tennis.explain.kinds import KINDS, Kind
from tennis.explain.segments import Segments
from tennis.explain.story import Happening, Story, steps_of
from tennis.kit.style import AXIS, GREY, GRID
from tennis.kit.units import format_ns, format_round_ns

LEFT = 158.0  # of the lanes
LANE = 20
BINS = 1000
LEVELS = 4  # heights of a lane: how much of a pixel's time
AROUND_NS = 300  # shown before and after a moment that is shown larger
LARGER = 6  # a part that is this many times shorter than the wait is also shown larger
TICKS = 8


def timeline_svg(story: Story, title: str, note: str) -> str:
    """Return the timeline of a ball as an SVG document."""
    lanes = _Lanes(story)
    y = 58.0
    body: list[str] = []
    for began, ended, caption in _panels(story):
        drawn, y = lanes.panel(began, ended, caption, y)
        body += drawn
    height = math.ceil(y + 4)
    begin = head("timeline", height, title, story.sentence, note)
    return "\n".join([*begin, *body, "</svg>\n"])


def _panels(story: Story) -> list[tuple[int, int, str]]:
    """Return the spans to draw, in ns since the ping: the whole, and short parts enlarged."""
    panels = [(0, story.waited, "the whole wait")]
    ends: list[list[int]] = []
    if story.rise is not None and story.taken is not None:
        ends.append([max(0, story.taken - AROUND_NS), story.rise + AROUND_NS])
    if story.fall is not None and story.bottom_half is not None:
        begin = max(0, story.bottom_half - 2 * AROUND_NS)
        if ends and begin - ends[-1][1] < ends[-1][1] - ends[-1][0]:
            ends[-1][1] = story.fall
        else:
            ends.append([begin, story.fall])
    for began, ended in ends:
        ended = min(ended, story.waited)  # noqa: PLW2901
        if LARGER * (ended - began) < story.waited:
            caption = f"larger: {format_ns(ended - began)} of it, from {format_ns(began)} on"
            panels.append((began, ended, caption))
    return panels


@dataclass(frozen=True)
class _Panel:
    """A stretch of time, in ns since the ping, as wide as the lanes are."""

    began: int
    ended: int

    @property
    def scale(self) -> float:
        """Return the width of a nanosecond."""
        return (WIDTH - LEFT - MARGIN) / max(self.ended - self.began, 1)

    def within(self, at: int) -> float:
        """Return a moment's place; earlier or later ones are at an end."""
        return LEFT + (max(min(at, self.ended), self.began) - self.began) * self.scale


class _Lane:
    """One processor's work: its kinds, and the time that each took until any moment."""

    def __init__(self, title: str, parts: Sequence[Segments]) -> None:
        self.title = title
        self.steps = steps_of(parts)
        edges: list[NDArray[Any]] = [np.zeros(1)]
        kinds, offset = [], 0
        for part in parts:
            edges.append(offset + np.cumsum(part.length))
            kinds += [what.kind for what in part.whats]
            offset += part.ns
        every: NDArray[np.float64] = np.concatenate(edges).astype(np.float64)
        lengths = np.diff(every)
        # of each kind: moments, and the time that went to it until then
        self.spent: dict[Kind, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        named = np.array(kinds)
        for kind in KINDS:
            if (named == kind).any():
                mine = np.where(named == kind, lengths, 0)
                self.spent[kind] = every, np.concatenate([[0], np.cumsum(mine)])
        if (stalled := _stalled(parts)) is not None:
            self.spent["stall"] = stalled

    def shares(self, began: int, ended: int) -> dict[Kind, NDArray[np.float64]]:
        """Return the share of each part of a panel that went to each kind which has any."""
        borders = np.linspace(began, ended, BINS + 1)
        shares = {
            kind: np.diff(np.interp(borders, moments, spent)) / ((ended - began) / BINS)
            for kind, (moments, spent) in self.spent.items()
        }
        return {kind: share for kind, share in shares.items() if share.sum() > 0}


def _stalled(parts: Sequence[Segments]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return moments, ns since the ping, and the time of waits for memory until then."""
    begins: list[NDArray[Any]] = []
    lengths: list[NDArray[Any]] = []
    offset = 0
    for part in parts:
        begins.append(offset + part.phase.stalls["at"] - part.phase.began)
        lengths.append(part.phase.stalls["ns"].astype(np.int64))
        offset += part.ns
    at, ns = np.concatenate(begins), np.concatenate(lengths)
    if not at.size:
        return None
    moments = np.stack([at, at + ns], axis=1).ravel()
    spent = np.cumsum(np.stack([np.zeros_like(ns), ns], axis=1).ravel())
    every = np.concatenate([np.zeros(1), moments, [offset]])
    return every, np.concatenate([np.zeros(1), spent, spent[-1:]])


class _Lanes:
    """The lanes of a story, and what happened between them."""

    def __init__(self, story: Story) -> None:
        self.moments = story.moments
        self.lanes = [_Lane("", story.parts)]
        if story.lanes:
            self.lanes = [
                _Lane(f"processor {number}", parts) for number, parts in enumerate(story.processors)
            ]
        self.between = story.between()

    def panel(self, began: int, ended: int, caption: str, y: float) -> tuple[list[str], float]:
        """Return a panel's SVG from ``y`` on, and the beginning of the next one."""
        panel = _Panel(began, ended)
        scale = panel.scale
        labels, rows = self._labels(began, ended, scale)
        bottom = y + 14 + 14 * rows
        out = [f'<text x="{MARGIN:g}" y="{y + 10:g}" fill="{GREY}">{escape(caption)}</text>']
        tops = []
        for lane in self.lanes:
            tops.append(bottom)
            drawn, below = _lane_svg(lane, began, ended, bottom)
            out += [*drawn, *_hovers(lane, panel, bottom, below)]
            bottom = below
        for x, text, row in labels:
            at = y + 22 + 14 * row
            out.append(
                f'<path d="M{x:.1f} {at + 3:g}V{bottom:g}" stroke="#222" stroke-dasharray="3 2"/>'
                f'<text x="{x:.1f}" y="{at:g}" text-anchor="{_anchor(x)}">{escape(text)}</text>'
            )
        for one in self.between:
            out += _between(one, panel, tops)
        out += _axis(began, ended, scale, bottom)
        return out, bottom + 44

    def _labels(
        self, began: int, ended: int, scale: float
    ) -> tuple[list[tuple[float, str, int]], int]:
        """Place the moments' names: each in the first row in which it touches no other."""
        placed: list[tuple[float, str, int]] = []
        free: list[float] = []  # the end of each row's text
        for name, at in self.moments:
            if not began <= at <= ended:
                continue
            text = f"{name} {format_ns(at)}" if at else name
            x = LEFT + (at - began) * scale
            size = LETTER * len(text)
            start = {"start": x, "middle": x - size / 2, "end": x - size}[_anchor(x)]
            row = next((r for r, end in enumerate(free) if end + 8 < start), len(free))
            free[row : row + 1] = [start + size]
            placed.append((x, text, row))
        return placed, len(free)


def _lane_svg(lane: _Lane, began: int, ended: int, top: float) -> tuple[list[str], float]:
    """Return a lane's SVG, and its lower end; with several lanes the first row has the title."""
    width = WIDTH - LEFT - MARGIN
    out, base = [], top
    if lane.title:
        out.append(
            f'<text x="{LEFT - 8:g}" y="{base + 14:g}" text-anchor="end" font-weight="600">'
            f"{escape(lane.title)}</text>"
        )
        base += LANE
    for kind, share in lane.shares(began, ended).items():
        out.append(
            f'<text x="{LEFT - 8:g}" y="{base + 14:g}" text-anchor="end">'
            f"{escape(KINDS[kind])}</text>"
            f'<path d="M{LEFT:g} {base + LANE - 1:g}h{width:g}" stroke="{GRID}"/>'
        )
        out += _runs(share, COLOURS[kind], base)
        base += LANE
    return out, base


def _hovers(lane: _Lane, panel: _Panel, top: float, bottom: float) -> Iterator[str]:
    """Yield the texts under the pointer: invisible, one a step."""
    for step in lane.steps:
        start, end = panel.within(step.began), panel.within(step.began + step.ns)
        if end <= start:
            continue
        off = f", interrupts off {format_ns(step.masked_ns)}" if step.masked_ns else ""
        title = (
            f"{format_ns(step.began)} after the ping, for {format_ns(step.ns)}: {step.what}; "
            f"mostly {step.function}{off}"
        )
        yield (
            f'<rect x="{start:.1f}" y="{top:g}" '
            f'width="{end - start:.2f}" height="{bottom - top:g}" '
            f'fill="#000" fill-opacity="0"><title>{escape(title)}</title></rect>'
        )


def _between(one: Happening, panel: _Panel, tops: Sequence[float]) -> Iterator[str]:
    """Yield a wait for a lock as a bar, an interrupt as an arrow, a move as a diamond."""
    event = one.event
    title = f"{format_ns(one.at)} after the ping, processor {one.processor}: {event}"
    shown = f"<title>{escape(title)}</title>"
    middle = tops[one.processor] + LANE / 2
    first = last = one.at
    if isinstance(event, LockHeld):
        last = one.at + event.ns
    elif isinstance(event, Interrupt):
        first = one.at - (event.taken - event.sent)
    if last < panel.began or first > panel.ended:
        return
    left, right = panel.within(first), panel.within(last)
    if isinstance(event, LockHeld):
        yield (
            f'<rect x="{left:.1f}" y="{middle - 4:g}" width="{max(right - left, 1):.1f}" '
            f'height="8" fill="{COLOURS["masked"]}" stroke="#222">{shown}</rect>'
        )
    elif isinstance(event, Interrupt):
        down = 1 if event.taker > event.sender else -1
        yield (
            f'<path d="M{left:.1f} {tops[event.sender] + LANE / 2:g}L{right:.1f} {middle:g}'
            f'm-4 {-6 * down}l4 {6 * down}l4 {-6 * down}" fill="none" stroke="#222" '
            f'stroke-width="1.5">{shown}</path>'
        )
    else:
        yield f'<path d="M{left:.1f} {middle - 5:g}l5 5l-5 5l-5 -5z" fill="#222">{shown}</path>'


def _anchor(x: float) -> str:
    if x < LEFT + 60:
        return "start"
    return "end" if x > WIDTH - 120 else "middle"


def _runs(share: NDArray[np.float64], colour: str, y: float) -> Iterator[str]:
    """Yield a lane's bars: as high as the share of the time that went to it."""
    levels = np.ceil(np.clip(share, 0, 1) * LEVELS - 1e-9).astype(int)
    changes = np.flatnonzero(np.diff(levels)) + 1
    borders = [0, *changes.tolist(), len(levels)]
    wide = (WIDTH - LEFT - MARGIN) / BINS
    path = ""
    for start, end in itertools.pairwise(borders):
        if level := int(levels[start]):
            high = (LANE - 4) * level / LEVELS
            x, bar = LEFT + start * wide, (end - start) * wide
            path += f"M{x:.1f} {y + LANE - 2:g}h{bar:.1f}v{-high:g}h{-bar:.1f}z"
    if path:
        yield f'<path d="{path}" fill="{colour}"/>'


def _axis(began: int, ended: int, scale: float, y: float) -> Iterator[str]:
    """Yield a scale of round times since the ping, or in a larger part since its beginning."""
    rough = max(ended - began, 1) / TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = max(1, round(next(power * f for f in (1, 2, 5, 10) if power * f >= rough)))
    for at in range(0, ended - began + 1, step):
        x = LEFT + at * scale
        yield (
            f'<path d="M{x:.1f} {y:g}v4" stroke="{AXIS}"/>'
            f'<text x="{x:.1f}" y="{y + 16:g}" text-anchor="middle" fill="{GREY}">'
            f"{'+' if began else ''}{escape(format_round_ns(at))}</text>"
        )
