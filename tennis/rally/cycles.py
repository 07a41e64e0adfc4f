"""A load's cycle: how many balls cover it, and which balls of a rally are in whole cycles.

If a load comes in waves, late balls come with them. Balls of a part of a wave would show how often
that part was met, and not how late balls are under the load.
"""

from math import ceil, sqrt

from tennis.kit.units import format_count
from tennis.rally.folder import Rally
from tennis.rally.manifest import Drill, Protocol

SURELY = 4.0  # standard deviations: of 30,000 rallies with random gaps, one is shorter


def balls_for(cycle_ns: int, protocol: Protocol, drill: Drill | None = None) -> int:
    """Return how many balls surely last as long as a cycle, from the first serve to the last."""
    least_ns, most_ns = protocol.gap_min_ns, protocol.gap_max_ns
    every_ns = drill.period_ns if drill else protocol.period_ns
    if every_ns or least_ns == most_ns:
        return -(-cycle_ns // max(1, every_ns or least_ns)) + 1
    # n gaps: n * mean_ns - sqrt(n) * spread_ns >= cycle_ns
    mean_ns, spread_ns = (least_ns + most_ns) / 2, SURELY * (most_ns - least_ns) / sqrt(12)
    root = (spread_ns + sqrt(spread_ns**2 + 4 * mean_ns * cycle_ns)) / (2 * mean_ns)
    return ceil(root**2) + 1


def balls_in_whole_cycles(rally: Rally, at_most: int | None = None) -> int:
    """Return how many balls are in whole cycles of the load, counted from the first serve.

    All of them if the load has no cycle, or an unknown one. 0 if the rally is shorter than one.
    ``at_most``: use only that many balls from the beginning. Raises RallyError.
    """
    cycle_ns = rally.manifest.load.cycle_ns
    balls = rally.balls if at_most is None else min(at_most, rally.balls)
    if not cycle_ns or not balls:
        return balls
    first = last = None
    left = balls
    for batch in rally.batches(["served_ns"]):
        served = batch["served_ns"].values[:left]
        left -= served.size
        if served.size:
            first = int(served[0]) if first is None else first
            last = int(served[-1])
    if first is None or last is None:
        return 0
    end = first + (last - first) // cycle_ns * cycle_ns
    whole = 0
    for batch in rally.batches(["served_ns"]):
        behind = batch["served_ns"].values >= end
        if behind.any():
            return whole + int(behind.argmax())
        whole += behind.size
    return whole


def misses(rally: Rally, balls: int) -> int:
    """Return how many of the first balls of a rally were missed. Raises RallyError."""
    if balls == rally.balls:
        return rally.misses
    found = 0
    for batch in rally.batches(["fall_ticks"]):
        found += batch["fall_ticks"][:balls].nulls
        balls = max(0, balls - len(batch))
    return found


def too_short(rally: Rally) -> str:
    """Say that a rally saw no whole cycle, and how many balls would; empty: it saw one."""
    manifest = rally.manifest
    cycle_ns = manifest.load.cycle_ns
    if not cycle_ns or balls_in_whole_cycles(rally):
        return ""
    enough = balls_for(cycle_ns, manifest.protocol, manifest.drill)
    return cycle_words(manifest.load.name, cycle_ns, rally.balls, enough)


def cycle_words(load: str, cycle_ns: int, balls: int, enough: int) -> str:
    """Say that ``balls`` are less than a cycle, and how many are enough."""
    return (
        f"has {format_count(balls, 'ball')}, less than a cycle of {load} "
        f"({cycle_ns / 1e9:.3g} s): {enough:,} would do"
    )
