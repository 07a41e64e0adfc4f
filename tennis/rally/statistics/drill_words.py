"""A drill's figures in words, the same in a terminal and on a page."""

from tennis.kit.units import format_count, format_ns
from tennis.rally.drills import PLAIN
from tennis.rally.statistics.drill import DrillSummary, SpansByClock

# fields of a Spread, in this order
FIGURES = {
    "mean": "mean",
    "sd": "sd",
    "min": "minimum",
    "median": "median",
    "p99": "99 %",
    "max": "maximum",
    "deviation": "off the period",
}


def primary(summary: DrillSummary) -> SpansByClock | None:
    """Return the spans that a drill is about; None if there was one repetition only."""
    return summary.interval_ns if summary.span == "period" else summary.duration_ns


def claims(summary: DrillSummary) -> list[str]:
    """Describe the measurements of the figures."""
    count = format_count(summary.repetitions, "repetition")
    played = (
        f"Bench: {summary.bench} ({summary.time_note}); {count} every "
        f"{format_ns(summary.period_ns)}, {format_count(summary.overruns, 'overrun')}, "
        f"{_faults(summary.page_faults)} meanwhile"
        f"{f', {summary.failures} REFUSED' if summary.failures else ''}"
        f"{'; SUSPECT' if summary.suspect else ''}."
    )
    if summary.words == PLAIN.words:
        played += " This Tennis does not have the drill, and knows no more of it."
    if summary.clock_ns is None or summary.line_ns is None or summary.loop_ns is None:
        return [played, _by_itself(summary)]
    costs = (
        f"Nothing is subtracted: reading the clock takes {format_ns(round(summary.clock_ns))}, "
        f"writing the line {format_ns(round(summary.line_ns))}, a round of an empty loop "
        f"{format_ns(round(summary.loop_ns))} (each the mean of 1,000, before the drill)."
    )
    return [played, costs]


def _faults(count: int | None) -> str:
    return "page faults not counted" if count is None else format_count(count, "page fault")


def _by_itself(summary: DrillSummary) -> str:
    """Describe the drift of a program's periods from the one asked for."""
    drift = summary.drift_ns
    if drift is None:
        return "All times are the instrument's. No period was whole, so that nothing drifts."
    way = "longer" if drift >= 0 else "shorter"
    shown = f"{abs(drift):,.1f} ns {way}"
    a_second = drift * 1e9 / (summary.period_ns + drift)
    return (
        f"All times are the instrument's: the program measures nothing. Its periods are {shown} "
        f"in the mean, from first to last: a drift of {format_ns(abs(round(a_second)))} a second."
    )
