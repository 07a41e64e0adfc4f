"""One HTML page about one or more rallies: self-contained, printable, beside the thesis."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tennis.kit.edition import VERSION
from tennis.kit.units import format_count, format_round_ns
from tennis.rally import Rally, instants
from tennis.rally.calibration import doubt
from tennis.rally.command import command_of
from tennis.rally.disk import write_whole
from tennis.rally.manifest import Instrument, Manifest, SerialLine
from tennis.rally.settings import SETTINGS, not_as_published
from tennis.rally.shots import are_shots, span_ns
from tennis.rally.statistics import Latency, Summary, summarize
from tennis.rally.text import plain
from tennis.report.instants_words import of_shots, sentences
from tennis.report.pages.circumstances import written_by
from tennis.report.pages.templates import template
from tennis.report.picture_words import bench_note, latencies, names, note
from tennis.report.pictures import drawing
from tennis.report.publications import Result, result
from tennis.report.publications.rules import halves_of
from tennis.report.umpire.rally import in_a_line

STATISTICS = {
    "min": "minimum",
    "q1": "1st quartile",
    "median": "median",
    "q3": "3rd quartile",
    "qd": "quartile distance",
    "p99": "99 %",
    "p999": "99.9 %",
    "max": "maximum",
    "jitter": "jitter",
    "mean": "mean",
    "sd": "standard deviation",
}
EXCEEDED = "The share of balls later than x"
COVERAGE = (
    "Each point is a ball at an instant that was played. Between two points nothing was. Grey: "
    "from when to when a ping waited, as far as it was recorded."
)
# Pages with many rallies stay readable: that much of a console is shown.
CONSOLE_BYTES = 8_000


def _of_thesis(rally: Rally) -> tuple[Result | None, str]:
    """Return the figures of a rally's kernel and load in the thesis' tables 7.2 to 7.4, in µs.

    The hardware differs (a 520 MHz PXA270 in 2008): only shapes and rankings compare. None: it did
    not measure that, or the rally was played otherwise, and the text says in what.
    """
    target = rally.manifest.target
    if rally.manifest.own_racquet:  # where it answers from is not known
        return None, ""
    published = result(target.kernel, target.priorities, rally.manifest.load.name)
    apart = _apart(rally.manifest) if published else ""
    return (None if apart else published), apart


def _apart(manifest: Manifest) -> str:
    """Say in what a rally was played otherwise than the thesis did with its kernel and load."""
    halves = halves_of(manifest.target.kernel)
    words = [
        f"{SETTINGS[name].words} {getattr(manifest.target, name)}"
        for name, published in halves.items()
        if getattr(manifest.target, name) != published
    ]
    unlike = not_as_published(manifest, {"kernel", "load", "priorities", *halves})
    return plain(", ".join(filter(None, [*words, unlike])), 200)


@dataclass(frozen=True)
class EmbeddedPicture:
    """A picture as a page shows it."""

    source: str  # a data: URI
    title: str
    alt: str
    caption: str


@dataclass(frozen=True)
class _Section:
    """A rally as the page shows it."""

    name: str
    rally: Rally
    summary: Summary
    latencies: dict[str, Latency]
    note: str
    claims: list[str]
    facts: dict[str, str]
    pictures: list[EmbeddedPicture]
    events: str
    console: str


def write_report(rallies: Sequence[Rally], out: Path, *, title: str = "Tennis report") -> None:
    """Write one self-contained HTML page about the rallies.

    Raises UsageError if ``out`` exists, DiskFullError, RallyError.
    """
    write_whole(out, _report(rallies, title).encode())


def _report(rallies: Sequence[Rally], title: str = "Tennis report") -> str:
    """Return the page: the same rallies give the same bytes."""
    summaries = [summarize(rally) for rally in rallies]
    bench = bench_note(summaries)
    together = []
    if len(rallies) > 1:
        together = [
            *drawn("compare:overview", f"{_sentence(bench)} Median, 99 % and maximum.", rallies),
            *drawn("compare:comparison", f"{_sentence(bench)} {EXCEEDED}.", rallies),
        ]
    rows = [
        (name, summary, *_of_thesis(rally))
        for name, summary, rally in zip(names(rallies), summaries, rallies, strict=True)
    ]
    return template("rally.html.j2").render(
        title=title,
        beside_thesis=any(published for *_, published, _ in rows),
        bench=bench[:1].upper() + bench[1:],
        version=VERSION,
        rows=rows,
        together=together,
        sections=[
            _section(name, rally, summary)
            for name, rally, summary in zip(names(rallies), rallies, summaries, strict=True)
        ],
        statistics=STATISTICS,
    )


def drawn(name: str, caption: str, *what: Any) -> list[EmbeddedPicture]:
    """Return a picture as a page carries it in itself; none if it cannot be drawn of ``what``."""
    if (picture := drawing(name)(*what)) is None:
        return []
    return [EmbeddedPicture(data_uri(picture.render("svg")), picture.title, picture.alt, caption)]


def data_uri(svg: bytes) -> str:
    """Return a picture's bytes as an address."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _section(name: str, rally: Rally, summary: Summary) -> _Section:
    note_text = _sentence(note(summary))
    pictures = [
        *drawn("one:histogram", f"{note_text} Histograms; counts on a logarithmic axis.", rally),
        *drawn("one:distribution", f"{note_text} {EXCEEDED}; misses are later.", rally),
    ]
    claims = summary.claims()
    if are_shots(rally.manifest.protocol):  # over time is over the instant
        claims += of_shots(rally)
    else:
        over_time = f"{note_text} Smallest and largest latencies over time."
        pictures += drawn("one:series", over_time, rally)
    searched = instants.read(rally)
    if searched is not None:
        claims += sentences(searched)
    pictures += drawn("instants:with_search", f"{note_text} {COVERAGE}", rally)
    return _Section(
        name=name,
        rally=rally,
        summary=summary,
        latencies=latencies(summary),
        note=note_text.rstrip("."),
        claims=claims,
        facts=_facts(rally, summary),
        pictures=pictures,
        events=_events(rally),
        console=_console(rally) if summary.suspect else "",
    )


def _facts(rally: Rally, summary: Summary) -> dict[str, str]:
    """Return a rally's settings and versions, in words."""
    manifest = rally.manifest
    target, protocol, instrument = manifest.target, manifest.protocol, manifest.instrument
    if are_shots(protocol):
        served = f"shots at random instants of {format_round_ns(span_ns(protocol))}"
    elif protocol.loop == "open" and protocol.rate_hz:
        served = f"open loop, {protocol.rate_hz:g} Hz"
    else:
        gaps = format_round_ns(protocol.gap_min_ns), format_round_ns(protocol.gap_max_ns)
        served = f"{protocol.loop} loop, gap {gaps[0]} to {gaps[1]}"
    tasks = ", ".join(
        f"{task.task} {task.policy} {task.priority}".strip() for task in target.tasks[:12]
    )
    versions = ", ".join(f"{key} {value}" for key, value in sorted(manifest.tool.versions.items()))
    facts = {
        "Bench": f"{manifest.bench}: {manifest.time_note}",
        "Played": f"{manifest.created}" + (f" by {manifest.operator}" if manifest.operator else ""),
        "Command": command_of(manifest),
        "Ended": summary.unfinished or manifest.ended,
        "Counted": _counted(summary),
        "Target": target.board + (f", {target.managed}" if target.managed != "by tennis" else ""),
        "Kernel": f"{target.kernel}: {target.release} {target.version}",
        "Kernel command line": target.command_line,
        "Reply path": target.reply_path,
        "What the program did": target.program.deeds if target.program else "",
        "Priorities": f"{target.priorities}" + (f": {tasks}" if tasks else ""),
        "Ceilings": ", ".join(f"{c.resource} {c.ceiling}" for c in target.ceilings),
        "Governor": target.governor or "",
        "Link to the GPIO": target.gpio_link or ("unknown" if target.is_link_unknown else ""),
        "Kernel's settings": ", ".join(
            f"{name} {value}" for name, value in (target.kernel_settings or {}).items()
        ),
        "Unsound": _unsound(rally),
        "Load": f"{manifest.load.name}: {manifest.load.command}".rstrip(": "),
        "Protocol": f"{format_count(protocol.balls, 'ball')} planned, {served}, "
        f"seed {protocol.seed}, pulse {format_round_ns(protocol.pulse_ns)}, "
        f"timeout {format_round_ns(protocol.timeout_ns)}, "
        f"settled for {format_round_ns(protocol.settle_ns)}",
        "Instrument": f"{instrument.kind} {instrument.firmware}, "
        f"{instrument.tick_hz} ticks a second"
        + (f", serial {instrument.serial}" if instrument.serial else ""),
        "Verified": _verified(instrument, manifest.created),
        "Umpire": in_a_line(rally),
        "Line": _line(manifest.line),
        "Versions": f"tennis {written_by(manifest.tool)}" + (f", {versions}" if versions else ""),
        "SHA-256 of the balls": manifest.files.get("balls.parquet", ""),
    }
    return {key: plain(value, 1500) for key, value in facts.items() if value}


def _unsound(rally: Rally) -> str:
    """List the flaws that the target's doctor found, before the rally or after it."""
    events = (event for event in rally.each_event() if event.get("what") == "unsound")
    return "; ".join(dict.fromkeys(f"{e.get('text')}" for e in events if e.get("verdict") == "bad"))


def _verified(instrument: Instrument, when: str) -> str:
    """Describe the instrument's verification."""
    record, why = instrument.calibration, doubt(instrument, when)
    if why:
        return f"no valid verification: {why}"
    if record is None:
        return ""
    return (
        f"{record.date}, {record.kind}, {record.source}: {record.balls} known delays, "
        f"largest error {format_count(record.largest_error_ticks or 0, 'tick')}"
        f"{'' if record.independent else '; verified with its own clock, not for graded work'}"
    )


def _line(line: SerialLine | None) -> str:
    """Describe repaired errors between instrument and host."""
    counts = line.model_dump() if line else {}
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)


def _events(rally: Rally) -> str:
    """Count the recorded events of each kind."""
    counted: dict[str, int] = {}
    for event in rally.each_event():
        kind = plain(str(event.get("what", event.get("kind", "event"))), 40)
        counted[kind] = counted.get(kind, 0) + 1
    most = sorted(counted.items(), key=lambda item: -item[1])[:12]
    return ", ".join(f"{count} {kind}" for kind, count in most)


def _console(rally: Rally) -> str:
    lines = rally.console(CONSOLE_BYTES).splitlines()[-60:]
    return "\n".join(plain(line, 300) for line in lines)


def _sentence(text: str) -> str:
    """Begin with a capital letter, end with a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _counted(summary: Summary) -> str:
    """Describe the counts of balls."""
    parts = (
        format_count(summary.balls, "ball"),
        format_count(summary.misses, "miss", "misses"),
        format_count(summary.strays, "stray"),
        format_count(summary.doubles, "double"),
        format_count(summary.late_serves, "late serve"),
    )
    return ", ".join(parts)
