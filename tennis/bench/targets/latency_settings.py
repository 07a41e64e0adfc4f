"""Settings of a running kernel that change latency and are in no configuration: a fact each.

A preemption model that somebody chose through debugfs, a sysctl, an idle state that is off: two
rallies of one kernel, one command line and one load may differ in these, and only in these.
"""

from collections import defaultdict
from collections.abc import Iterator

from tennis.bench.targets.snapshot import Snapshot
from tennis.rally.manifest import SETTINGS_MAX
from tennis.rally.text import plain

NAME_MAX, VALUE_MAX = 80, 1000  # characters
# what may be another one at a rally's end: a witness asks for wakeful processors, and ends with it;
# the clock source is compared by itself
BY_ITSELF = {"cpu_dma_latency", "clocksource"}
# which of a target's programs move interrupts or frequencies while they run
MOVERS = ("irqbalance", "tuned", "power-profiles-", "thermald")


def settings_of(snapshot: Snapshot) -> dict[str, str] | None:
    """Return the settings that a target reported, by name; None: it reported none.

    A snapshot of an older script has none.
    """
    told = snapshot.pairs("settings")
    if not told:
        return None
    found = {plain(name, NAME_MAX): plain(value, VALUE_MAX) for name, value in told.items()}
    found |= dict(_idle_states(snapshot))
    running = set(snapshot.lines("programs"))
    found |= {f"runs/{name}": "yes" if name in running else "no" for name in MOVERS}
    return dict(sorted(found.items())[:SETTINGS_MAX])


def _idle_states(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield which idle states may be entered: of all processors, or of each if they differ."""
    of_cpu: dict[str, list[str]] = defaultdict(list)
    for place, words in snapshot.pairs("idle_states").items():
        name, _, rest = words.partition(" ")
        if rest.rpartition(" ")[2] == "0":
            of_cpu[place.partition("/")[0]].append(name)
        else:
            of_cpu.setdefault(place.partition("/")[0], [])
    states = {cpu: ", ".join(names) or "none" for cpu, names in of_cpu.items()}
    if len(set(states.values())) == 1:
        yield "cpuidle/states", plain(next(iter(states.values())), VALUE_MAX)
    elif states:
        each = "; ".join(f"{cpu}: {names}" for cpu, names in states.items())
        yield "cpuidle/states", plain(each, VALUE_MAX)


def changed(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Yield which settings somebody changed meanwhile, in words."""
    was, now = settings_of(before), settings_of(after)
    if not was or not now:
        return
    for name in sorted({*was, *now} - BY_ITSELF):
        old, new = was.get(name, "not told"), now.get(name, "not told")
        if old != new:
            yield f"{name}, from {plain(old, 100)} to {plain(new, 100)}"
