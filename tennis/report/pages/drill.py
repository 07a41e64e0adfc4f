"""One HTML page about one or more drills: what the target believed, and what happened."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tennis.kit.edition import VERSION
from tennis.rally import Rally
from tennis.rally.command import command_of
from tennis.rally.disk import write_whole
from tennis.rally.inside import MARK
from tennis.rally.statistics.drill import DrillSummary, SpansByClock, summarize_drill
from tennis.rally.statistics.drill_words import FIGURES, claims, primary
from tennis.rally.text import plain
from tennis.report.pages.circumstances import written_by
from tennis.report.pages.rally import CONSOLE_BYTES, EmbeddedPicture, drawn
from tennis.report.pages.templates import template


@dataclass(frozen=True)
class _DrillSection:
    """A drill as the page shows it."""

    name: str
    summary: DrillSummary
    what: str
    sides: SpansByClock | None
    claims: list[str]
    facts: dict[str, str]
    pictures: list[EmbeddedPicture]
    console: str


def write_drill_report(drills: Sequence[Rally], out: Path, *, title: str = "Tennis drills") -> None:
    """Write one self-contained HTML page about the drills.

    Raises UsageError if ``out`` exists, DiskFullError, RallyError.
    """
    write_whole(out, _drill_report(drills, title).encode())


def _drill_report(drills: Sequence[Rally], title: str = "Tennis drills") -> str:
    """Return the page: the same drills give the same bytes. Raises RallyError."""
    sections = [_section(drill) for drill in drills]
    benches = {f"{one.summary.bench} bench: {one.summary.time_note}" for one in sections}
    bench = plain("; ".join(sorted(benches)), 400)
    return template("drill.html.j2").render(
        title=title,
        bench=bench[:1].upper() + bench[1:],
        version=VERSION,
        sections=sections,
        figures=FIGURES,
    )


def _section(drill: Rally) -> _DrillSection:
    summary = summarize_drill(drill)
    manifest = drill.manifest
    target = manifest.target
    facts = {
        "kernel": plain(f"{target.kernel}, {target.release}", 120),
        "command line": plain(target.command_line, 300),
        "load": plain(manifest.load.command or manifest.load.name, 200),
        "seed": str(manifest.protocol.seed),
        "instrument": plain(f"{manifest.instrument.kind}, {manifest.instrument.tick_hz:,} Hz", 80),
        "created": plain(manifest.created, 60),
        "command": plain(command_of(manifest), 1500),
        "tennis": plain(written_by(manifest.tool), 60),
    }
    told_of = claims(summary)
    mark = MARK.decode()
    lines = drill.console(1 << 22).splitlines()
    told = [line for line in lines if not line.startswith(mark)]  # the figures themselves
    return _DrillSection(
        name=plain(f"{drill.path.name}: {summary.label}", 120),
        summary=summary,
        what=summary.words,
        sides=primary(summary),
        claims=told_of,
        facts=facts,
        pictures=[
            *drawn("drill:spans", told_of[0], drill),
            *drawn("drill:sizes", told_of[0], drill),
        ],
        console="\n".join(told)[-CONSOLE_BYTES:],
    )
