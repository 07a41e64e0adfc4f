"""Explain a late or long repetition of a drill: from counted instructions to words."""

from collections import defaultdict
from dataclasses import replace

from tennis.explain import stalls
from tennis.explain.kinds import What
from tennis.explain.segments import Blame, Names, Segments
from tennis.explain.story import Story
from tennis.kit.units import format_ns
from tennis.rally.drills import Span
from tennis.rally.phases import Phase

EXCESSES_SHOWN = 3


def tell(number: int, began_ns: int, span: Span, phase: Phase, names: Names) -> Story:
    """Return the story of a repetition.

    ``span``: the part to explain, from the period's end to the rise, or from the rise to the fall.
    """
    part = Segments(phase, names)
    masked = [index for index in range(len(part.whats)) if part.masked[index]]
    masked_ns = int(part.length[masked].sum())
    if 2 * masked_ns >= part.ns:
        cause = part.blame(part.weights_of(masked))
        why = f"interrupts were off for {format_ns(masked_ns)}, most of it in {cause}"
    else:
        times = _times(part)
        longest = max(times, key=lambda what: times[what])
        cause = _blame(part, longest)
        why = f"meanwhile ran {format_ns(times[longest])} of {longest}"
        if cause and cause.what.kind != "user":
            why += f", most of it in {cause}"
    verb = f"came {format_ns(part.ns)} after its period was over"
    if span == "duration":
        verb = f"took {format_ns(part.ns)}"
    return Story(
        ball=number,
        served_ns=began_ns,
        rise=None,
        fall=None,
        waited=part.ns,
        masked_ns=masked_ns,
        cause=cause,
        latency=span,
        sentence=f"Repetition {number} {verb}: {why}.{stalls.sentence((part,))}",
        parts=(part,),
    )


def against(story: Story, typical: Story) -> Story:
    """Return the story of a repetition that took long, with a typical one as the reason why.

    Most of what a repetition does is its usual work; the cause is what grew most.
    """
    longer = story.waited - typical.waited
    if longer <= 0:
        return story
    part, usual = story.parts[0], _times(typical.parts[0])
    grown = {what: ns - usual.get(what, 0) for what, ns in _times(part).items()}
    most = sorted(grown, key=lambda what: -grown[what])[:EXCESSES_SHOWN]
    shown = ", ".join(
        f"{format_ns(grown[what])} of {what}" for what in most if 10 * grown[what] >= longer
    )
    sentence = (
        f"Repetition {story.ball} took {format_ns(story.waited)}, {format_ns(longer)} longer than "
        f"the typical one, {typical.ball}; what ran more: {shown or 'a little of everything'}."
    )
    return replace(story, cause=_blame(part, most[0]), sentence=sentence)


def _times(part: Segments) -> dict[What, int]:
    """Return how long each thing ran, in ns."""
    times: dict[What, int] = defaultdict(int)
    for (node, masked), ns in part.weights.items():
        times[part.what(node, masked)] += ns
    return times


def _blame(part: Segments, what: What) -> Blame | None:
    """Return the function that took most of the time of one kind of work."""
    weights = {key: ns for key, ns in part.weights.items() if part.what(*key) == what}
    return part.blame(weights)
