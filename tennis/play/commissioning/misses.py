"""A ball's misses in caches and TLBs: a board's own counters beside the model's.

Counts come before times. If the counts of a ball differ, equal times would be chance
(docs/physical-checklist.md). The board counts with ``perf stat`` on all its processors, once while
balls come and once while none comes, equally long: the difference is what the balls missed. The
model counts the same way: a rally, and one as long with a single ball.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.kit.errors import BenchError
from tennis.play.commissioning.steps import EVENTS
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import Protocol
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving

COUNTED_S = 1.0
# of a processor's counters: what the model calls them
CALLED = dict(zip(EVENTS, ("code", "data", "second", "code_pages", "data_pages"), strict=True))
# which profile is which board's
PROFILES = {
    "Raspberry Pi Zero 2": "cortex-a53",
    "Raspberry Pi 3": "cortex-a53",
    "Raspberry Pi 4": "cortex-a72",
    "Raspberry Pi Compute Module 4": "cortex-a72",
    "Raspberry Pi 5": "cortex-a76",
    "Raspberry Pi Compute Module 5": "cortex-a76",
}
WITHIN = 2.0  # times: the two counts may differ by this factor
# Waits until the Racquet counts a ball; then, how many come while perf counts. Without balls, AWAIT
# is empty. Tests have another place for /sys.
COUNT = """
export LC_ALL=C
pings() { cat ${TENNIS_SYS:-/sys}/bus/platform/drivers/*racquet*/*/pings 2> /dev/null || echo 0; }
command -v perf > /dev/null || { echo "perf is not there" >&2; exit 127; }
AWAIT
before=$(pings)
perf stat -a -x, -e EVENTS -- sleep SECONDS 2>&1 || exit
after=$(pings)
echo "balls $((after - before))"
"""
AWAIT = """
last=$(pings) tries=0
until now=$(pings) && [ "$last" != 0 ] && [ "$now" -gt "$last" ]; do # it may begin with any
  last=$now tries=$((tries + 1))
  [ $tries -lt 1000 ] || { echo "no ball came" >&2; exit 1; }
  sleep 0.05
done
"""


@dataclass(frozen=True)
class Misses:
    """The count of each event, by name, and the number of balls meanwhile."""

    events: Mapping[str, int]
    balls: int

    @classmethod
    def of(cls, output: str) -> "Misses":
        """Return what ``script`` output. Raises BenchError if the processor does not count that."""
        found = {}
        for name in EVENTS:
            line = re.search(rf"^([^,\n]*),[^,\n]*,{name}(?::\w+)?,", output, re.MULTILINE)
            if line is None or not re.fullmatch(r"\d{1,18}", line[1]):
                raise BenchError(
                    f"the target's processor does not count {name}",
                    next_step="see what `perf list` names there; virtual machines often count "
                    "nothing",
                )
            found[name] = int(line[1])
        balls = re.search(r"^balls (-?\d{1,9})$", output, re.MULTILINE)
        if balls is None:
            raise BenchError(
                "perf did not end as it should", next_step="try `perf stat` there by hand"
            )
        return cls(found, int(balls[1]))

    def of_a_ball(self, without: "Misses") -> dict[str, float]:
        """Return how often a ball misses, by event. Raises BenchError if no balls came."""
        balls = self.balls - without.balls
        if balls < 1:
            raise BenchError(
                "no ball came while the processor counted", next_step="use more --balls"
            )
        return {name: (self.events[name] - without.events[name]) / balls for name in EVENTS}


def script(*, with_balls: bool) -> str:
    """Return what counts on a target: a script for its shell, as root."""
    text = COUNT.replace("AWAIT", AWAIT if with_balls else "")
    return text.replace("EVENTS", ",".join(EVENTS)).replace("SECONDS", f"{COUNTED_S:g}")


def _modelled(rally: Path) -> dict[str, int]:
    """Return how often the model missed in all of a rally, by the counters' events.

    Raises BenchError for a rally whose console does not say so.
    """
    said = (rally / CONSOLE).read_text(errors="replace")
    found = {
        name: re.search(rf"^qemu: memory: missed (\d+) times in {what}$", said, re.MULTILINE)
        for name, what in CALLED.items()
    }
    told = {name: int(line[1]) for name, line in found.items() if line}
    if len(told) < len(EVENTS):
        raise BenchError(f"{rally} does not say what its model missed")
    return told


def of_the_model(
    kernel: str, many: Protocol, profile: str, folder: Path, watch: Watch
) -> dict[str, float]:
    """Return how often the model misses for a ball of an idle target, by the counters' events.

    Plays two rallies into ``FOLDER-virtual`` and ``FOLDER-virtual-one``. Raises TennisError.
    """
    request = RallyRequest(bench="virtual", kernel=kernel, load="idle", memory=profile)
    plan = plan_for(request, Serving())
    longer_ns = (many.balls - 1) * (many.gap_min_ns + many.gap_max_ns) // 2
    one = many.model_copy(update={"balls": 1, "settle_ns": many.settle_ns + longer_ns})
    found = []
    for name, protocol in (("virtual", many), ("virtual-one", one)):
        place = folder.with_name(f"{folder.name}-{name}")
        played = plan.model_copy(update={"protocol": protocol})
        play(bench_for(played), played, place, watch)
        found.append(_modelled(place))
    return {name: (found[0][name] - found[1][name]) / (many.balls - 1) for name in EVENTS}


def near(one: float, other: float) -> bool:
    """Tell whether two counts are within ``WITHIN`` times; below a tenth of a miss all are."""
    low, high = sorted((max(one, 0.1), max(other, 0.1)))
    return high <= WITHIN * low


def profile_of(model: str) -> str:
    """Return which profile is a board's, by what its device tree calls it; empty: none is."""
    known = (profile for words, profile in PROFILES.items() if model.startswith(words))
    return next(known, "")
