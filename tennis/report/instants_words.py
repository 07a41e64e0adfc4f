"""Facts about a boot's instants, in sentences."""

import math

from tennis.kit.units import format_count, format_ns, tick_ns
from tennis.rally import Rally
from tennis.rally.instants import Instants
from tennis.rally.statistics.intervals import share_between
from tennis.rally.statistics.summary import percent

NEAR = 0.95  # a ball this close to the latest counts as meeting it
CHANCE = 0.95
LATENCY = {"rise": "to the rise of the reply", "fall": "to the fall of the reply"}


def sentences(found: Instants) -> list[str]:
    """Describe the worst instant, and the bounds for those that were not played."""
    played = found.played()
    at_ns, worst_ns = int(played.at[played.worst]), played.worst_ns
    worst = (
        f"The worst of {format_count(played.at.size, 'instant')} that were played, of "
        f"{format_ns(played.time_ns)}: {format_ns(worst_ns)} {LATENCY[found.about.until]} "
        f"({worst_ns:,} ns at {at_ns:,} ns)."
    )
    at_random = (
        f"{played.drawn:,} of them were drawn at random. So, with 95 %, at most "
        f"{percent(played.later_share)} of the time is later than that."
    )
    rule = "No answer overtook that of an earlier ping."
    if played.overtaken_ns:
        most = format_ns(played.overtaken_ns)
        rule = f"An answer overtook that of an earlier ping by {most} at most."
    open_ns = played.open_ns()
    left = "no other instant of this time is later."
    if open_ns is not None:
        left = (
            f"nothing is later in {percent(1 - played.open_share())} of the time. In the rest an "
            f"instant may be as late as {format_ns(open_ns)}."
        )
    return [worst, at_random, f"{rule} If none overtakes by more, {left}"]


def _balls_for(share: float) -> int:
    """Return how many balls at random instants meet a share of the time, with ``CHANCE``."""
    return 1 if share >= 1 else math.ceil(math.log1p(-CHANCE) / math.log1p(-share))


def of_shots(rally: Rally) -> list[str]:
    """Return what shots show about a rally's time, and about balls that would meet the latest."""
    latencies = {"interrupt": rally.interrupt, "scheduling": rally.scheduling}
    said = ["The instants were drawn at random, so quantiles of shots are quantiles of time."]
    for name, tally in latencies.items():
        if not tally.values.size or tally.missed:
            continue
        latest = int(tally.values[-1])
        near = int(tally.counts[tally.values >= NEAR * latest].sum())
        low, high = share_between(near, rally.balls)
        fewest, most = _balls_for(high), _balls_for(low)
        said.append(
            f"Within {round(100 * (1 - NEAR))} % of the latest {name} latency "
            f"({format_ns(latest * tick_ns(rally.tick_hz))}): "
            f"{format_count(near, 'shot')} of {rally.balls:,}, so {percent(low)} to "
            f"{percent(high)} of the time (95 %). To meet that with 95 %, a rally needs "
            f"{fewest:,} to {most:,} balls at random instants."
        )
    return said
