"""Pairs of an open loop: a ping with one reply that is surely its own.

Koeker, Membarth and German raise the rate of a square wave until "interrupt and response" can no
longer be paired (section 5). Seen from outside there are two lines only, so the rule is about them.
The interval of a ping begins with it and ends with the next ping. A ping is

- *paired*, if one reply begins and ends in its interval, and the interval before was answered;
- *unanswered*, if no reply begins in its interval;
- *doubtful*, if replies begin in its interval, but none in the one before: they may be late ones;
- *cut*, if one reply begins in its interval and ends after it;
- *several*, if more than one reply begins in its interval.

A GPIO controller latches one edge. Pings that come before the handler took the last one leave no
trace: *lost* counts the pings in excess of the replies.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tennis.kit.errors import RallyError
from tennis.kit.units import ticks_to_ns
from tennis.rally import Rally, Tally
from tennis.rally.statistics.balls import ball_table
from tennis.rally.statistics.summary import Latency, latency

EXTRA = frozenset({"stray", "double"})  # edges of no ball


@dataclass(frozen=True)
class Pairing:
    """The pings of an open loop by their outcomes; the last one's interval has no end.

    ``interrupt_ns`` and ``scheduling_ns`` are of all pings. One that is not paired counts as
    missed, later than all that are: its latency is unknown.
    """

    rate_hz: float
    pings: int
    paired: int
    unanswered: int
    doubtful: int
    cut: int
    several: int
    lost: int
    interrupt_ns: Latency
    scheduling_ns: Latency

    @property
    def share(self) -> float:
        """Return the share of pings that are paired, 0 if there are no pings."""
        return self.paired / self.pings if self.pings else 0.0


def percent_floor(share: float) -> str:
    """Write a share in percent, rounded down: only a whole share gives 100 %."""
    return f"{int(share * 10_000 + 1e-6) / 100:.2f} %"  # 0.29 times 10,000 is below 2,900


def _judge(
    served: NDArray[np.int64], rises: NDArray[np.int64], own_fall: NDArray[np.bool_]
) -> dict[str, NDArray[np.bool_]]:
    """Return for each kind the pings that are of it, without the last ping.

    ``served``: when each ping came, ascending, shape (n,). ``rises``: when each reply began, any
    order, shape (r,). ``own_fall``: the pings whose own reply ended in their interval, shape (n,).
    """
    # of the intervals: before the first ping, of each ping, behind the last one
    interval = np.searchsorted(served, rises, side="right")
    begun = np.bincount(interval, minlength=served.size + 1)[1:-1]
    answered = begun > 0
    after_answer = np.concatenate([[True], answered[:-1]])[: answered.size]
    one = begun == 1
    ended = own_fall[:-1]
    return {
        "unanswered": ~answered,
        "doubtful": answered & ~after_answer,
        "several": after_answer & (begun > 1),
        "cut": after_answer & one & ~ended,
        "paired": after_answer & one & ended,
    }


@dataclass(frozen=True)
class _Edges:
    """All edges of a rally; int64 arrays.

    ``served_ns`` on the instrument's clock, and ``rise`` and ``fall`` in ticks since the ping, -1
    if missing, are for each ball: shape (balls,). ``rises_ns`` and ``falls_ns`` are those of all
    replies, ascending.
    """

    served_ns: NDArray[np.int64]
    rise: NDArray[np.int64]
    fall: NDArray[np.int64]
    rises_ns: NDArray[np.int64]
    falls_ns: NDArray[np.int64]


def edges_of(rally: Rally) -> _Edges:
    """Read pings and replies of a rally, also the edges of no ball.

    The fall of a reply of no ball is not recorded (docs/rally-folder.md). Raises RallyError.
    """
    served_ns, rise, fall = ball_table(rally).T
    extra: dict[int, list[int]] = {0: [], 1: []}
    for event in rally.each_event():
        level, at_ns = event.get("value"), event.get("at_ns")
        if event.get("what") not in EXTRA or level not in extra:
            continue
        if not isinstance(at_ns, int) or not 0 <= at_ns < 2**62:
            raise RallyError(
                f"{rally.path}: an event has no time", next_step="use the original folder"
            )
        extra[level].append(at_ns)

    def all_of(ticks: NDArray[np.int64], others: list[int]) -> NDArray[np.int64]:
        there = ticks >= 0
        own = served_ns[there] + ticks_to_ns(ticks[there], rally.tick_hz)
        return np.sort(np.concatenate([own, np.array(others, np.int64)]))

    return _Edges(served_ns, rise, fall, all_of(rise, extra[1]), all_of(fall, extra[0]))


def pairing(rally: Rally) -> Pairing:
    """Tell which replies of an open loop can be paired. Raises RallyError for a closed loop."""
    rate_hz = rally.manifest.protocol.rate_hz
    if rally.manifest.protocol.loop != "open" or rate_hz is None:
        raise RallyError(
            f"{rally.path} is a closed loop, which waits for each reply",
            next_step="pairing is a matter of open loops: tennis rally --loop open",
        )
    edges = edges_of(rally)
    kinds = _judge(edges.served_ns, edges.rises_ns, edges.fall >= 0)
    judged = max(0, edges.served_ns.size - 1)
    paired = np.flatnonzero(kinds["paired"])
    rise, fall = edges.rise[paired], edges.fall[paired]
    until_last = int((edges.rises_ns < edges.served_ns[-1]).sum()) if judged else 0

    def of(ticks: NDArray[np.int64]) -> Latency:
        tally = replace(Tally.of(ticks), missed=judged - paired.size)
        return latency(tally, rally.tick_hz, claim=not rally.manifest.suspect)

    return Pairing(
        rate_hz=rate_hz,
        pings=judged,
        lost=max(0, judged - until_last),
        interrupt_ns=of(rise),
        scheduling_ns=of(fall - rise),
        **{name: int(which.sum()) for name, which in kinds.items()},
    )
