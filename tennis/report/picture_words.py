"""The words of pictures, for pages too; matplotlib, which draws, may be absent."""

from collections.abc import Sequence
from dataclasses import dataclass

from tennis.kit.units import format_count, format_ns
from tennis.rally import Rally
from tennis.rally.manifest import IN_BAND, THREADED
from tennis.rally.statistics import Latency, Summary, summarize
from tennis.rally.text import plain


@dataclass(frozen=True)
class Beside:
    """A kernel, its priorities and a load: the published maximum and the bench's."""

    kernel: str
    label: str
    published_us: int
    largest_ns: int | None  # None: nothing was played, or nothing is known of it
    note: str = ""  # shown with the bench's maximum, or instead of it
    missed: bool = False  # balls were missed: the bench's maximum is above ``largest_ns``

    @property
    def largest(self) -> str:
        """Write the bench's maximum."""
        return f"{'> ' if self.missed else ''}{format_ns(self.largest_ns)}"


def names(rallies: Sequence[Rally]) -> list[str]:
    """Return a name for each rally: kernel, load, priorities; more if these are the same."""

    def facts(rally: Rally, extra: Sequence[int]) -> str:
        target, load = rally.manifest.target, rally.manifest.load
        priorities = "" if target.priorities == "default" else target.priorities
        top_half = target.top_half if target.top_half in THREADED else ""
        stage = IN_BAND if target.stage == IN_BAND else ""
        own = rally.manifest.own_racquet
        half = "" if own else target.bottom_half  # its own is not known
        more = (half, rally.manifest.bench, rally.path.name)
        parts = [target.system, load.name, own, priorities, top_half, stage]
        parts += [more[index] for index in extra]
        return ", ".join(plain(word, 24) for word in parts if word)

    for extra in ((), (0,), (1,), (2,), (0, 1), (0, 1, 2)):
        labels = [facts(rally, extra) for rally in rallies]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{label} ({index})" for index, label in enumerate(labels, 1)]


def bench_note(summaries: Sequence[Summary]) -> str:
    """Say which bench made the rallies, and what a nanosecond means there."""
    notes = dict.fromkeys(f"{summary.bench} bench: {summary.time_note}" for summary in summaries)
    return "; ".join(notes)


def note(summary: Summary) -> str:
    """Return the note that goes with every picture of a rally."""
    count = summary.unfinished if summary.ended == "interrupted" else f"N = {summary.balls}"
    missed = f"{summary.misses} missed" if summary.balls else "no ball was played"
    text = f"{bench_note([summary])}  ·  {count}, {missed}"
    return text + ("  ·  SUSPECT: no worst-case claim" if summary.suspect else "")


def no_latency(summary: Summary) -> str:
    """Say why there is nothing to draw."""
    return "every ball was missed" if summary.balls else "no ball was played"


def missed_at(summary: Summary) -> float:
    """Return the place of missed balls on an axis of time, ns: on the right of all answers."""
    latest = max((latency.latest or 1 for latency in latencies(summary).values()), default=1)
    return float(max(latest, summary.given_up_ns or 1.2 * latest))


def latencies(summary: Summary) -> dict[str, Latency]:
    """Return both latencies of a summary by the names that pictures use."""
    return {"interrupt": summary.interrupt_ns, "scheduling": summary.scheduling_ns}


def alt_text(rally: Rally, what: str = "Statistics") -> str:
    """State a rally's numbers in words, for those who cannot see its picture."""
    return describe(summarize(rally), what)


def describe(summary: Summary, what: str) -> str:
    """State a summary's numbers in words."""
    sentences = [f"{what} of {summary.label} ({bench_note([summary])})."]
    for name, latency in latencies(summary).items():
        if not latency.n:
            sentences.append(f"No {name} latency: {no_latency(summary)}.")
            continue
        sentences.append(
            f"{name.capitalize()} latency of {format_count(latency.n + latency.missed, 'ball')}: "
            f"median {latency.said('median')}, 99 % up to {latency.said('p99')}, "
            f"maximum {latency.said('max')}."
        )
    sentences.append(f"{summary.misses} of {summary.balls} balls missed.")
    if summary.unfinished:
        sentences.append(f"{summary.unfinished}.")
    if summary.suspect:
        sentences.append("The rally is suspect: no worst-case claim may be made.")
    return " ".join(sentences)
