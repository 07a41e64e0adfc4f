"""The differences of a board between a rally's beginning and its end."""

from collections.abc import Iterator

from tennis.bench.kernels import boards, requirements
from tennis.bench.targets import latency_settings, snapshot
from tennis.rally.manifest import Fault


def changes(before: snapshot.Snapshot | None, after: snapshot.Snapshot | None) -> Iterator[Fault]:
    """Yield the changes between the beginning and the end: with one it is not one measurement."""
    if before is None or after is None:
        return
    if before.lines("governor") != after.lines("governor"):
        to = ", ".join(dict.fromkeys(after.pairs("governor").values()))
        yield Fault(code="governor_changed", message=f"somebody changed the governor, to {to}")
    if boards.gpio_link(before) != boards.gpio_link(after):
        yield Fault(
            code="link_changed",
            message="somebody changed whether the PCIe link to the GPIO controller may sleep",
        )
    was, now = requirements.throttled(before), requirements.throttled(after)
    new = {w for one, other in zip(was, now, strict=True) for w in other if w not in one}
    if new:
        yield Fault(
            code="throttled", message=f"power or heat during the rally: {', '.join(sorted(new))}"
        )
    for words in latency_settings.changed(before, after):
        yield Fault(code="setting_changed", message=f"somebody changed {words}")
    for fact, name in (("tracer", "the tracer"), ("clocksource", "the clock source")):
        if before.lines(fact) != after.lines(fact):
            yield Fault(
                code=f"{fact}_changed",
                message=f"somebody changed {name}, from {before.line(fact)} to {after.line(fact)}",
            )
