"""A late ball as a picture of the code: who ran when, in which function, and who waited for whom.

A lane for interrupts, one for each thread that matters, and one for all others. A span is a stretch
in which a lane's task had a processor; its number leads to the function, file and line below. A
hatched bar is a wait for a lock, with an arrow from the task that gave it.
"""

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from tennis.explain import between
from tennis.explain.flame_page import COLOURS, FONTS
from tennis.explain.kinds import IRQ_ENTRY, KINDS, Kind
from tennis.explain.segments import Blame, Segments
from tennis.explain.story import Story
from tennis.kit.style import AXIS, GREY, GRID
from tennis.kit.units import format_ns

INTERRUPTS, OTHERS = -1, -2  # in place of a thread
LANES_MAX = 6  # threads that have a lane of their own
SPANS_NUMBERED = 10
GAP = 1 / 300  # of the whole wait: what is shorter does not divide a span
HEIGHT, BAR = 44, 18
FONT, LETTER = 13, 7.3


@dataclass
class _Span:
    """A stretch of one lane, in ns since the ping, with the segments that it is made of."""

    began: int
    ended: int
    parts: list[tuple[Segments, list[int]]] = field(default_factory=list)

    @property
    def ns(self) -> int:
        """Return how long the lane ran in it."""
        return sum(int(part.length[its].sum()) for part, its in self.parts)

    @property
    def blame(self) -> Blame | None:
        """Return where most of it was."""
        blames = (part.blame(part.weights_of(its)) for part, its in self.parts)
        return max(filter(None, blames), key=lambda one: one.ns, default=None)


@dataclass(frozen=True)
class _Wait:
    """A wait for a lock; ns since the ping."""

    began: int
    ended: int
    thread: int
    owner: int | None  # the thread that gave it
    words: str


def code_svg(story: Story, title: str, note: str, width: int, *, alone: bool = True) -> str:
    """Return the picture of a ball, ``width`` pixels wide, as an SVG document.

    ``alone``: it has the ball's sentence, which a page has beside it.
    """
    threads, names = _threads(story)
    waits = _waits(story)
    shown = _chosen(story, threads, waits)
    names |= {INTERRUPTS: "interrupts", OTHERS: "other tasks"}
    spans = {lane: _spans(story, lane, shown) for lane in (INTERRUPTS, *shown, OTHERS)}
    lanes = {lane: names[lane] for lane, its in spans.items() if its or lane in shown}
    return (
        "\n".join(_Picture(story, lanes, spans, waits, width).svg(title, note, alone=alone)) + "\n"
    )


def _phases(story: Story) -> Iterator[tuple[int, Segments]]:
    """Yield each processor's part of the wait, and when it begins; ns since the ping."""
    offset = 0
    for lanes in story.lanes or [(part,) for part in story.parts]:
        for part in lanes:
            yield offset, part
        offset += lanes[0].ns


def _threads(story: Story) -> tuple[dict[int, int], dict[int, str]]:
    """Return how long each thread ran, and what it is called; ns."""
    ran: dict[int, int] = defaultdict(int)
    names: dict[int, str] = {}
    for _, part in _phases(story):
        for i in range(len(part.whats)):
            if part.whats[i].kind != "idle" and not _interrupts(part, i):
                ran[part.thread_at(i)] += int(part.length[i])
            names.setdefault(part.thread_at(i), part.named(i))
    return ran, names


def _interrupts(part: Segments, segment: int) -> bool:
    return any(IRQ_ENTRY.fullmatch(name) for name in part.stack(int(part.node[segment])))


def _waits(story: Story) -> list[_Wait]:
    """Return the waits for locks."""
    found, offset = [], 0
    for lanes in story.lanes or [(part,) for part in story.parts]:
        for one in between.locks(lanes):
            lock = one.lock or "a lock"
            began, ended = offset + one.began, offset + one.ended
            found.append(_Wait(began, ended, one.thread, one.owner_thread, f"waits for {lock}"))
        offset += lanes[0].ns
    return found


def _chosen(story: Story, ran: dict[int, int], waits: Sequence[_Wait]) -> list[int]:
    """Return the threads that have a lane: those that answer, owners of locks, who ran longest."""
    answer = [part.thread_at(len(part.whats) - 1) for part in story.parts if part.whats]
    owners = [one.owner for one in waits if one.thread in answer and one.owner is not None]
    longest = sorted(ran, key=lambda thread: -ran[thread])
    every = dict.fromkeys([*answer, *owners, *longest])
    enough = GAP * story.waited
    return [one for one in every if one in answer or ran.get(one, 0) > enough][:LANES_MAX]


def _spans(story: Story, lane: int, shown: Sequence[int]) -> list[_Span]:
    """Return the spans of a lane in order."""
    found: list[_Span] = []
    gap = GAP * story.waited
    for offset, part in _phases(story):
        began = part.began
        for i, what in enumerate(part.whats):
            thread = part.thread_at(i)
            if _interrupts(part, i):
                its: int = INTERRUPTS
            else:
                its = thread if thread in shown else OTHERS
            if its != lane or what.kind == "idle":
                continue
            start, length = offset + int(began[i]), int(part.length[i])
            last = found[-1] if found else None
            if last is None or not 0 <= start - last.ended <= gap:
                last = _Span(start, start)
                found.append(last)
            last.ended = start + length
            if not last.parts or last.parts[-1][0] is not part:
                last.parts.append((part, []))
            last.parts[-1][1].append(i)
    return found


class _Picture:
    """One picture; ``width`` in pixels."""

    def __init__(
        self,
        story: Story,
        lanes: dict[int, str],
        spans: dict[int, list[_Span]],
        waits: Sequence[_Wait],
        width: int,
    ) -> None:
        self.story, self.lanes, self.spans, self.width = story, lanes, spans, width
        self.waits = [one for one in waits if one.thread in lanes and one.ended > one.began]
        self.left, self.right = 12.0, width - 12.0
        every = [(span.ns, lane, n) for lane in lanes for n, span in enumerate(spans[lane])]
        longest = sorted(every, key=lambda one: -one[0])[:SPANS_NUMBERED]
        in_order = sorted(longest, key=lambda one: spans[one[1]][one[2]].began)
        self.numbers = {(lane, n): at for at, (_, lane, n) in enumerate(in_order, 1)}

    def _x(self, ns: int) -> float:
        return self.left + (self.right - self.left) * ns / max(self.story.waited, 1)

    def _lines(self, text: str, size: float = LETTER) -> list[str]:
        return textwrap.wrap(text, max(20, int((self.right - self.left) / size))) or [""]

    def svg(self, title: str, note: str, *, alone: bool) -> Iterator[str]:
        """Yield the document's lines."""
        body: list[str] = []
        y = 8.0
        for line in self._lines(title, LETTER * 1.25):
            y += 19
            body.append(f'<text x="{self.left}" y="{y}" font-size="16" font-weight="600">')
            body.append(f"{escape(line)}</text>")
        for line in self._lines(self.story.sentence) if alone else ():
            y += 17
            body.append(f'<text x="{self.left}" y="{y}">{escape(line)}</text>')
        moments, y = self._moments(y + 22)
        top, bottom = y, y + HEIGHT * len(self.lanes)
        tops = {lane: top + HEIGHT * n for n, lane in enumerate(self.lanes)}
        body += [line.format(bottom=bottom) for line in moments]
        for lane, name in self.lanes.items():
            body += self._lane(lane, name, tops[lane])
        for wait in self.waits:
            body += self._wait(wait, tops)
        for lane in self.lanes:
            body += self._numbers(lane, tops[lane])
        y = bottom + 18
        waited = format_ns(self.story.waited)
        body.append(f'<text x="{self.left}" y="{y}" fill="{GREY}">0</text>')
        body.append(f'<text x="{self.right}" y="{y}" text-anchor="end" fill="{GREY}">')
        body.append(f"{waited}</text>")
        for text in self._list():
            for n, line in enumerate(self._lines(text)):
                y += 17 if n else 21
                body.append(f'<text x="{self.left}" y="{y}">{escape(line)}</text>')
        for line in self._lines(note, LETTER * 0.85):
            y += 17
            body.append(f'<text x="{self.left}" y="{y}" font-size="11" fill="{GREY}">')
            body.append(f"{escape(line)}</text>")
        name = f"code-{self.width}"
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {y + 12:.0f}" '
            f'role="img" aria-labelledby="{name}-title {name}-desc" {FONTS} font-size="{FONT}">'
        )
        yield f'<title id="{name}-title">{escape(title)}</title>'
        yield f'<desc id="{name}-desc">{escape(self.story.sentence)}</desc>'
        yield (
            f'<defs><pattern id="{name}-wait" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><path d="M0 0v6" stroke="#b03a2e" stroke-width="3"/>'
            "</pattern></defs>"
        )
        yield f'<rect width="{self.width}" height="{y + 12:.0f}" fill="#fff"/>'
        yield from body
        yield "</svg>"

    def _moments(self, y: float) -> tuple[list[str], float]:
        """Return lines of the ping and both edges, with names that do not touch each other."""
        edges = (("ping", 0), ("reply rises", self.story.rise), ("reply falls", self.story.fall))
        out, free = [], [0.0, 0.0, 0.0]
        for name, at in edges:
            if at is None:
                continue
            x, text = self._x(at), f"{name} {format_ns(at)}" if at else name
            size = LETTER * len(text)
            start = min(max(self.left, x - size / 2), self.right - size)
            row = next((r for r, end in enumerate(free) if start > end + 6), 2)
            free[row] = start + size
            out.append(
                f'<text x="{start:.1f}" y="{y + 16 * row}" font-size="12">{escape(text)}</text>'
                f'<path d="M{x:.1f} {y + 16 * row + 3}V{{bottom}}" stroke="#222" '
                'stroke-dasharray="3 2"/>'
            )
        return out, y + 16 * sum(end > 0 for end in free)

    def _lane(self, lane: int, name: str, top: float) -> Iterator[str]:
        middle = top + HEIGHT - BAR / 2 - 4
        yield (
            f'<text x="{self.left}" y="{top + 15}" font-weight="600" stroke="#fff" '
            f'stroke-width="4" paint-order="stroke">{escape(name)}</text>'
            f'<path d="M{self.left} {middle}H{self.right}" stroke="{GRID}"/>'
        )
        for span in self.spans[lane]:
            left, right = self._x(span.began), self._x(span.ended)
            blame = span.blame
            kind: Kind = blame.what.kind if blame else "lost"
            wide = max(right - left, 1.5)
            yield (
                f'<rect x="{left:.1f}" y="{middle - BAR / 2}" width="{wide:.1f}" height="{BAR}" '
                f'fill="{COLOURS[kind]}" stroke="{AXIS}" stroke-width=".5">'
                f"<title>{escape(_told(span))}</title></rect>"
            )

    def _numbers(self, lane: int, top: float) -> Iterator[str]:
        middle = top + HEIGHT - BAR / 2 - 4
        for n, span in enumerate(self.spans[lane]):
            left, right = self._x(span.began), self._x(span.ended)
            if number := self.numbers.get((lane, n)):
                wide = right - left
                x = (left + right) / 2 if wide > 16 else min(right + 9, self.right - 5)
                yield (
                    f'<text x="{x:.1f}" y="{middle + 4.5}" text-anchor="middle" font-size="12" '
                    f'font-weight="700" stroke="#fff" stroke-width="3" paint-order="stroke">'
                    f"{number}</text>"
                )

    def _wait(self, wait: _Wait, tops: dict[int, float]) -> Iterator[str]:
        """Yield a wait for a lock in its lane, and an arrow from the one that gave it."""
        left, right = self._x(wait.began), self._x(wait.ended)
        bar = tops[wait.thread] + HEIGHT - BAR - 1
        shown = f"{wait.words} {format_ns(wait.ended - wait.began)}"
        yield (
            f'<rect x="{left:.1f}" y="{bar}" width="{max(right - left, 1):.1f}" height="{BAR - 6}" '
            f'fill="url(#code-{self.width}-wait)" stroke="#b03a2e">'
            f"<title>{escape(shown)}</title></rect>"
        )
        size = LETTER * len(shown)
        if right - left > size:
            yield (
                f'<text x="{(left + right) / 2:.1f}" y="{bar + 10.5}" text-anchor="middle" '
                f'font-size="12" stroke="#fff" stroke-width="4" paint-order="stroke">'
                f"{escape(shown)}</text>"
            )
        if wait.owner in tops and wait.owner != wait.thread:
            down = 1 if tops[wait.thread] > tops[wait.owner] else -1
            start = tops[wait.owner] + HEIGHT - BAR / 2 - 4 + down * BAR / 2
            end = bar + (0 if down > 0 else BAR - 6)
            x = right - 3
            yield (
                f'<path d="M{x:.1f} {start}V{end - 2 * down}m-4 {-7 * down}l4 {7 * down}'
                f'l4 {-7 * down}" fill="none" stroke="#b03a2e" stroke-width="2"/>'
            )

    def _list(self) -> Iterator[str]:
        """Yield what the numbers stand for."""
        for (lane, n), number in self.numbers.items():
            yield f"{number}  {self.lanes[lane]}: {_told(self.spans[lane][n])}"


def _told(span: _Span) -> str:
    """Say how long a span was, and where most of it was."""
    blame = span.blame
    if blame is None:
        return format_ns(span.ns)
    where = blame.short if blame.what.kind != "user" else "user space"
    return f"{format_ns(span.ns)} in {where}{_place(span)} ({KINDS[blame.what.kind]})"


def _place(span: _Span) -> str:
    """Return where in its source a program was, or left user space for that; empty: not known."""
    every = [(int(part.length[i]), n, i) for n, (part, its) in enumerate(span.parts) for i in its]
    _, number, segment = max(every)
    part = span.parts[number][0]
    if _interrupts(part, segment) or not part.of_program(int(part.node[segment])):
        return ""
    site = part.site_near(segment)
    own = part.whats[segment].kind == "program"
    return f", {'in' if own else 'called in'} {site}" if "(" in site else ""
