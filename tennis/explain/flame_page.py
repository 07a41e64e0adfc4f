"""The call stacks of late balls as a flame graph: one SVG, no script in it.

The form is Brendan Gregg's ("The Flame Graph", ACM Queue 14(2), 2016): width is time, the caller is
below. Here the widths are exact: every instruction was counted.
"""

from collections.abc import Iterator
from html import escape

from tennis.explain.flame import FlameFrame
from tennis.explain.kinds import KINDS, Kind
from tennis.kit.style import GREY
from tennis.kit.units import format_ns

# tints of Okabe and Ito's colours, on which black text can be read
COLOURS: dict[Kind, str] = {
    "masked": "#f08a5d",
    "irq": "#f2b134",
    "path": "#f5e6a1",
    "softirq": "#dfa6ca",
    "scheduler": "#bcc2ca",
    "kernel": "#93c9ec",
    "user": "#83cdab",
    "racquet": "#5ea3d6",
    "program": "#5ea3d6",
    "idle": "#e6e9ed",
    "lost": "#ffffff",
    "stall": "#b3a0d6",
}
GROUND = "#eceff2"  # what holds the stacks together: all balls, a latency, a task
WIDTH = 1200.0
ROW = 18
LETTER = 6.3  # the mean width of a letter at FONT
FONT = 11
NARROWEST = 1.0  # pixels; narrower functions are part of their caller's bar
HEAD = 74
MARGIN = 10.0
FONTS = "font-family=\"system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif\""


def flame_svg(root: FlameFrame, title: str, note: str) -> str:
    """Return a flame graph as an SVG document."""
    depth = _depth(root, root.ns)
    height = HEAD + depth * ROW + 14
    description = (
        f"{root.name} waited {format_ns(root.ns)} together, interrupts off for "
        f"{format_ns(root.masked_ns)}"
    )
    lines = [
        *head("flame", height, title, description, note),
        *_legend({kind for kind, ns in root.kinds.items() if ns}, 58),
        *_bars(root, root.ns, MARGIN, height - 10 - ROW, 0),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def head(name: str, height: int, title: str, description: str, note: str) -> list[str]:
    """Return how an SVG document begins; ``name``: what its title and description are called by."""
    labels = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    box = f'viewBox="0 0 {WIDTH:.0f} {height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} {labels} {FONTS} font-size="{FONT}">',
        f'<title id="{name}-title">{escape(title)}</title>',
        f'<desc id="{name}-desc">{escape(description)}</desc>',
        f'<rect width="{WIDTH:.0f}" height="{height}" fill="#fff"/>',
        f'<text x="{MARGIN:g}" y="22" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text x="{MARGIN:g}" y="40" fill="{GREY}">{escape(note)}</text>',
    ]


def _legend(kinds: set[Kind], y: float) -> Iterator[str]:
    """Yield the colours' meanings in one line."""
    x = MARGIN
    for kind, label in KINDS.items():
        if kind in kinds:
            yield f'<rect x="{x:g}" y="{y - 9:g}" width="11" height="11" fill="{COLOURS[kind]}"/>'
            yield f'<text x="{x + 15:g}" y="{y:g}">{escape(label)}</text>'
            x += 30 + LETTER * len(label)


def _wide(ns: int, total: int) -> float:
    return (WIDTH - 2 * MARGIN) * ns / max(total, 1)


def _depth(frame: FlameFrame, total: int) -> int:
    below = [_depth(c, total) for c in frame.children.values() if _wide(c.ns, total) >= NARROWEST]
    return 1 + max(below, default=0)


def _bars(frame: FlameFrame, total: int, x: float, y: float, level: int) -> Iterator[str]:
    """Yield a frame's bar, and above it those of the functions that it called."""
    width = _wide(frame.ns, total)
    kind = max(frame.kinds, key=lambda one: frame.kinds[one], default=None)
    colour = COLOURS[kind] if kind and level > 2 else GROUND
    off = f", interrupts off {format_ns(frame.masked_ns)}" if frame.masked_ns else ""
    share = f"{100 * frame.ns / max(total, 1):.3g} %"
    title = f"{frame.name}: {format_ns(frame.ns)}, {share}{off}"
    yield (
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{x:.1f}" y="{y:g}" width="{max(width - 0.5, 0.5):.1f}" '
        f'height="{ROW - 1}" fill="{colour}" rx="1.5"/>'
    )
    letters = int((width - 6) / LETTER)
    if letters >= 3:
        name = frame.name if len(frame.name) <= letters else frame.name[: letters - 1] + "…"
        yield f'<text x="{x + 3:.1f}" y="{y + 13:g}">{escape(name)}</text>'
    yield "</g>"
    for child in sorted(frame.children.values(), key=lambda one: (-one.ns, one.name)):
        wide = _wide(child.ns, total)
        if wide >= NARROWEST:
            yield from _bars(child, total, x, y - ROW, level + 1)
        x += wide
