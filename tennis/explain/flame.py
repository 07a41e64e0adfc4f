"""A flame graph of what ran while late balls waited, and their causes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tennis.explain.kinds import Kind
from tennis.explain.stalls import GOES_ON, cause_words
from tennis.explain.story import SPANS, Story
from tennis.kit.units import format_count


@dataclass
class FlameFrame:
    """A function in a flame graph, with those it called."""

    name: str
    kind: Kind | None = None  # of most of it; None for what holds the stacks together
    ns: int = 0
    masked_ns: int = 0
    children: dict[str, "FlameFrame"] = field(default_factory=dict)
    kinds: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))

    def child(self, name: str) -> "FlameFrame":
        """Return the frame of a function that was called from here."""
        return self.children.setdefault(name, FlameFrame(name))


def flame(stories: Sequence[Story]) -> FlameFrame:
    """Return the call stacks of balls as one tree: latency, task, functions."""
    noun = stories[0].noun if stories else "ball"
    root = FlameFrame(format_count(len(stories), f"late {noun}"))
    for story in stories:
        for part in story.parts:
            title = "interrupt latency" if part.phase.phase == 0 else "scheduling latency"
            title = SPANS.get(story.latency, title)
            for node in np.flatnonzero(part.node_ns).tolist():
                ns, masked_ns = int(part.node_ns[node]), int(part.node_masked_ns[node])
                what = part.what(node, 2 * masked_ns > ns)
                names = [title, *part.frames(node)]
                at = root
                for name in ["", *names]:
                    at = at.child(name) if name else at
                    at.ns += ns
                    at.masked_ns += masked_ns
                    at.kinds[what.kind] += ns
            for _, kind, node, ns in part.phase.stalls.tolist():
                _adds_stall(root, [title, *part.frames(node)], kind & ~GOES_ON, ns)
    return root


def _adds_stall(root: FlameFrame, names: list[str], kind: int, ns: int) -> None:
    """Put a wait for memory above the function that waited: it is a part of its time."""
    at = root
    for name in names:
        at = at.child(name)
    at = at.child(cause_words(kind >> 4, kind & 15))
    at.ns += ns
    at.kinds["stall"] += ns
    root.kinds["stall"] += ns  # for the legend


def causes(stories: Sequence[Story]) -> list[tuple[str, int, int]]:
    """Return the causes of late balls: in words, how many balls, and their ns together."""
    waits: dict[str, list[int]] = defaultdict(list)
    for story in stories:
        if story.cause:
            what = SPANS.get(story.latency, f"{story.latency} latency")
            why = f"{story.kind}: " if story.kind else ""
            ns, rise = story.cause.ns, story.waited if story.rise is None else story.rise
            if story.kind:  # what a program waits for, many may do: it is the whole latency
                whole = {"interrupt": rise, "scheduling": story.waited - rise}
                ns = whole.get(story.latency, story.waited)
            waits[f"{what}: {why}{story.cause.short}"].append(ns)
    rows = [(cause, len(times), sum(times)) for cause, times in waits.items()]
    return sorted(rows, key=lambda row: -row[2])
