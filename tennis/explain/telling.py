"""Tell the story of a late ball: who is to blame, in a sentence for each latency."""

from collections.abc import Callable, Sequence

from tennis.explain import stalls
from tennis.explain.answer import Answer
from tennis.explain.own_racquet import OwnAnswer
from tennis.explain.program import ProgramAnswer
from tennis.explain.racquet import RacquetAnswer
from tennis.explain.segments import Names
from tennis.explain.story import Latency, Story
from tennis.explain.ways import Lanes, lanes_of
from tennis.kit.units import format_ns
from tennis.rally.phases import Phase

Edges = tuple[int | None, int | None]  # rise and fall in ns since the ping, None: missed


def tell(  # noqa: PLR0913 (all parts of a ball)
    ball: int,
    served_ns: int,
    edges: Edges,
    phases: Sequence[Phase],
    names: Names,
    *,
    about: Latency | None = None,
    home: int = 0,
) -> Story:
    """Return the story of a ball.

    ``phases``: both of every processor. ``about``: the latency to find the cause of; by default the
    longer one. ``home``: the processor for pings.
    """
    rise, fall = edges
    lanes = lanes_of(phases, names)
    kind: Callable[[list[Lanes], int | None, int], Answer] = RacquetAnswer
    if names.of_program or names.own_racquet:
        kind = ProgramAnswer if names.of_program else OwnAnswer
    answer: Answer = kind(lanes, rise, home)
    latency: Latency = "scheduling"
    if rise is None or len(answer.parts) == 1 or (about or _longer(answer)) == "interrupt":
        latency = "interrupt"
        cause, why = answer.until_the_rise(missed=rise is None)
    else:
        cause, why = answer.until_the_fall()
    waited = sum(part.ns for part in answer.parts)
    return Story(
        **vars(answer.moments),
        ball=ball,
        served_ns=served_ns,
        rise=rise,
        fall=fall,
        waited=waited,
        cause=cause,
        latency=latency,
        kind=answer.kind,
        sentence=f"{_head(ball, waited, edges, about)}: {why}.{stalls.sentence(answer.parts)}",
        parts=answer.parts,
        is_program=names.of_program,
        lanes=tuple(lanes) if len(lanes[0]) > 1 else (),
    )


def _longer(answer: Answer) -> Latency:
    first, second, *_ = answer.parts
    return "interrupt" if first.ns >= second.ns else "scheduling"


def _head(ball: int, waited: int, edges: Edges, about: Latency | None) -> str:
    rise, fall = edges
    if rise is None:
        return f"Ball {ball} was missed: the reply did not rise within {format_ns(waited)}"
    if fall is None:
        return f"Ball {ball} was missed: the reply did not fall within {format_ns(waited)}"
    if about:
        ns = rise if about == "interrupt" else fall - rise
        return f"The {about} latency of ball {ball} was {format_ns(ns)}"
    return f"Ball {ball} waited {format_ns(waited)}"
