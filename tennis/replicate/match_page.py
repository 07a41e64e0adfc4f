"""The page of a match: verdicts first, then thesis and bench, table by table, figure by figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from tennis.compare.judgement import MEDIAN
from tennis.compare.ratio_words import ratio_words
from tennis.kit.edition import VERSION
from tennis.kit.units import format_count, format_us
from tennis.match.folder import REPORT, MatchFolder
from tennis.match.plan import ScheduledRally
from tennis.rally import Rally
from tennis.rally.cycles import balls_in_whole_cycles, too_short
from tennis.rally.disk import write_whole
from tennis.rally.drills import Span, drill_about
from tennis.rally.folder import NAMED_OF_DRILL
from tennis.rally.manifest import Drill, Health
from tennis.rally.settings import in_brief
from tennis.rally.statistics.drill import SpansByClock, sides, spans_of
from tennis.rally.statistics.summary import Latency, latencies, percent
from tennis.rally.text import plain
from tennis.replicate.match_settings import setting_rows
from tennis.replicate.samples import boots_shown
from tennis.replicate.story import cells, level_text, story
from tennis.replicate.verdicts import Claim, ClaimPart, Replication, number
from tennis.report.pages.circumstances import circumstances
from tennis.report.pages.rally import EmbeddedPicture, drawn
from tennis.report.pages.templates import template
from tennis.report.picture_words import Beside
from tennis.report.publications import knutsson_2008
from tennis.report.publications.knutsson import KernelTable, Maximum
from tennis.report.publications.rules import (
    FIGURES,
    LATENCIES,
    LOADS,
    TABLES,
    LatencyName,
    halves_of,
    published_maximum,
    replication,
)


@dataclass(frozen=True)
class _DrillRow:
    """A drill with a kernel under a load: all sound boots."""

    kernel: str
    load: str
    drill: Drill
    command_line: str
    otherwise: str  # the plan's settings of all boots that are not the usual ones, in words
    boots: int
    overruns: int
    span: Span
    sides: SpansByClock

    @property
    def name(self) -> str:
        """Return the drill in a few words."""
        period = f" {self.drill.period_ns / 1000:g} µs" if self.span == "period" else ""
        line = f", {self.command_line}" if self.command_line else ""
        otherwise = f", {self.otherwise}" if self.otherwise else ""
        return f"{self.drill.name}{period}, {self.drill.context}{line}{otherwise}"


def _drill_rows(match: MatchFolder) -> list[_DrillRow]:
    """Return a line for each drill of a match that was done; suspect boots are left out."""
    boots: dict[tuple[str, str, str, str], list[Rally]] = {}
    for planned in match.scheduled:
        drill = planned.plan.drill
        rally = match.rally(planned.name) if drill else None
        if drill is None or rally is None or rally.manifest.suspect:
            continue
        if rally.manifest.ended != "complete" or rally.balls < 2:
            continue
        done = f"{drill.name} {drill.context} {drill.period_ns:09d}"
        key = (planned.kernel, done, planned.plan.command_line, planned.plan.load)
        boots.setdefault(key, []).append(rally)
    return [_row(*key, some) for key, some in sorted(boots.items())]


def _row(kernel: str, _: str, command_line: str, load_name: str, rallies: list[Rally]) -> _DrillRow:
    drill = rallies[0].manifest.drill
    assert drill is not None  # noqa: S101 (only drills are given)
    spans = [spans_of(rally) for rally in rallies]
    span = drill_about(rallies[0].manifest).span
    periodic = span == "period"
    pairs = [one.intervals if periodic else one.durations for one in spans]
    outside = np.concatenate([pair[1] for pair in pairs])
    # a match's drills are all the kit's own, which tell what they measured
    inside = np.concatenate([pair[0] for pair in pairs if pair[0] is not None])
    limits = [rally.manifest.given_up_ns for rally in rallies if rally.misses]
    given_up_ns = min((limit for limit in limits if limit is not None), default=None)
    return _DrillRow(
        kernel=kernel,
        load=load_name,
        drill=drill,
        command_line=command_line,
        otherwise=", ".join(in_brief(rallies[0].manifest, NAMED_OF_DRILL)),
        boots=len(rallies),
        overruns=sum(one.inside.overruns for one in spans if one.inside),
        span=span,
        sides=sides(inside, outside, drill.period_ns if periodic else None, given_up_ns),
    )


CELLS_MAX = 24  # lines that a picture can hold
THESIS = "T. Knutsson's thesis of 2008"


@dataclass(frozen=True)
class _Cell:
    """One latency under one load: the thesis' figures, the bench's, and the verdicts on them."""

    load: str
    latency: str
    published: Maximum
    growth: str  # of the published maximum from idle; empty for idle itself
    latency_here: Latency | None  # None: nothing was played
    median: str  # what half of a boot's balls exceed, in the median boot
    p99: str  # and one in 100
    balls: int
    misses: int
    note: str  # why there is no value, or a doubt about it
    claim: Claim | None  # None: there is nothing to compare, as with idle itself


@dataclass(frozen=True)
class _TableShown:
    """One of the thesis' tables 7.1 to 7.4."""

    number: str
    name: str
    rows: list[_Cell]

    @property
    def has_rows(self) -> bool:
        """Tell whether there is anything to show beside the thesis."""
        return any(row.latency_here for row in self.rows)


@dataclass(frozen=True)
class _FigureShown:
    """One of the thesis' figures 7.1 to 7.10."""

    number: str
    name: str
    published: str
    pictures: list[EmbeddedPicture]
    note: str  # why there is no picture, or how many more rallies there are


@dataclass(frozen=True)
class _PlayedRow:
    """A rally of the match, as the list at the end shows it."""

    name: str
    state: str
    seed: int
    wrong: bool = True
    balls: int | None = None  # None: it was not played
    misses: int | None = None
    release: str = ""
    late: str = ""  # what N says about later answers
    health: str = ""  # the load's health figures, before and after


def write_match_report(
    replication: Replication, out: Path | None = None, *, force: bool = True
) -> Path:
    """Write the page (by default into the match's folder) and return its path."""
    out = replication.match.path / REPORT if out is None else out
    write_whole(out, _match_report(replication).encode(), force=force)
    return out


def _match_report(replicated: Replication) -> str:
    """Return the page: self-contained; the same match gives the same bytes."""
    match = replicated.match
    claims, tables = replicated.claims, _tables(replicated)
    return template("match.html.j2").render(
        title=plain(match.record.plan.title, 120),
        bench=f"{match.bench} bench: {match.time_note}",
        version=VERSION,
        story=story(replicated),
        opening=_opening(replicated),
        replicated=replicated,
        rankings=[claim for claim in claims if claim.kind == "ranking"],
        unaddressable=[claim for claim in claims if not claim.parts],
        thesis=not replicated.strangers or any(table.has_rows for table in tables),
        drills=_drill_rows(match),
        settings=setting_rows(match),
        tables=tables,
        beside=_beside(replicated, tables),
        figures=_figures(replicated),
        played=_rows_of_rallies(match),
        not_played=[(plain(e.name, 120), plain(e.why)) for e in match.not_played],
        versions=_versions(match),
        circumstances=circumstances(
            [rally.manifest for entry in match.scheduled if (rally := match.rally(entry.name))]
        ),
        command=_command(match),
        rules=replication(),
        at_levels=_at_levels,
        boots=lambda count: format_count(count, "boot"),
        number=number,
        class_of=lambda verdict: verdict.replace(" ", "-"),
    )


def _at_levels(part: ClaimPart) -> str:
    """Give the ratio at each probability of exceedance."""
    return "; ".join(
        f"1 in {level.one_in:,}: " + ratio_words(level.estimate, level.interval, write=number)
        for level in part.levels
    )


def _scheduled(match: MatchFolder, kernel: str, priorities: str, load: str) -> list[ScheduledRally]:
    wanted = (kernel, load, priorities)
    # the thesis served in a closed loop: an answer after a period is no answer in an open one
    return [
        entry
        for entry in match.scheduled
        if entry.is_one(*wanted, **halves_of(kernel)) and entry.plan.protocol.rate_hz is None
    ]


def _rallies(match: MatchFolder, scheduled: Sequence[ScheduledRally]) -> list[Rally]:
    """Return what can be shown of the boots: the sound ones, or else the suspect ones."""
    there = [rally for entry in scheduled if (rally := match.rally(entry.name)) and rally.balls]
    return [rally for rally in there if not rally.manifest.suspect] or there


def _why_not(match: MatchFolder, kernel: str, priorities: str, load: str) -> str:
    scheduled = _scheduled(match, kernel, priorities, load)
    if scheduled:
        rally = match.rally(scheduled[0].name)
        return "no ball was played" if rally else match.trouble(scheduled[0].name)
    left = [
        entry
        for entry in match.not_played
        if entry.is_one(kernel, load, priorities, **halves_of(kernel))
    ]
    return f"not played: {plain(left[0].why)}" if left else "not in the plan"


def _together(rallies: Sequence[Rally], name: LatencyName) -> Latency:
    """Return the statistics of all balls of some rallies of one bench."""
    claim = not any(rally.misses or rally.manifest.suspect for rally in rallies)
    return latencies(rallies, claim=claim)[f"{name}_ns"]


_PRIORITIES = {
    "native": "its own priorities",
    "chrt": "with priorities (chrt)",
    "default": "default priorities",
}


def _tables(replication: Replication) -> list[_TableShown]:
    return [
        _TableShown(
            TABLES[table.kernel, table.priorities],
            f"{table.kernel}, {_PRIORITIES[table.priorities]}",
            _cells(replication, table),
        )
        for table in knutsson_2008().results
    ]


def _cells(replication: Replication, table: KernelTable) -> list[_Cell]:
    """Return the rows of a table: each load's two latencies."""
    title = TABLES[table.kernel, table.priorities]
    by_id = {claim.id: claim for claim in replication.claims if claim.kind == "growth"}
    cells = []
    for load in LOADS:
        rallies = _rallies(
            replication.match, _scheduled(replication.match, table.kernel, table.priorities, load)
        )
        note = "" if rallies else _why_not(replication.match, table.kernel, table.priorities, load)
        if any(rally.manifest.suspect for rally in rallies):
            note = "suspect"
        for name in LATENCIES:
            published = published_maximum(table, load, name)
            idle = published_maximum(table, "idle", name)
            if published is None or idle is None:
                continue
            growth = f"{number(published.max / idle.max)} times" if load != "idle" else ""
            here = _together(rallies, name) if rallies else None
            boots = boots_shown(rallies, name)
            levels = [
                level_text(boots.median_boot(one_in) if boots.has(one_in) else None, here)
                for one_in in (MEDIAN, 100)
                if here is not None
            ]
            middle, p99 = levels or ("", "")
            cells.append(
                _Cell(
                    load=load,
                    latency=name,
                    published=published,
                    growth=growth,
                    latency_here=here,
                    median=middle,
                    p99=p99,
                    balls=sum(rally.balls for rally in rallies),
                    misses=sum(rally.misses for rally in rallies),
                    note=note,
                    claim=by_id.get(f"table{title}-{load}-{name}"),
                )
            )
    return cells


def _beside(replication: Replication, tables: Sequence[_TableShown]) -> list[EmbeddedPicture]:
    """Return the two pictures of all maxima."""
    bench = f"{replication.match.bench} bench: {replication.match.time_note}"
    pictures: list[EmbeddedPicture] = []
    for name in LATENCIES:
        rows = []
        for table, one in zip(knutsson_2008().results, tables, strict=True):
            for cell in (row for row in one.rows if row.latency == name and row.latency_here):
                chrt = ", chrt" if table.priorities == "chrt" else ""
                notes = (f"{cell.misses} missed" if cell.misses else "", cell.note)
                here = cell.latency_here
                missed = here is not None and here.missed > 0
                largest = None if here is None else here.later_than_ns if missed else here.max
                rows.append(
                    Beside(
                        kernel=table.kernel,
                        label=f"{table.kernel}, {cell.load}{chrt}",
                        published_us=cell.published.max,
                        largest_ns=largest,
                        missed=missed,
                        note="  ".join(filter(None, notes))[:48],
                    )
                )
        caption = (
            f"{bench[:1].upper()}{bench[1:]}. Maxima of {name} latencies, in the thesis "
            "(10,000,000 balls each) and here (N is in the tables). Compare order and distances, "
            "not microseconds: on both axes equal distances are equal ratios."
        )
        if rows:
            pictures += drawn("published:beside", caption, rows, name, THESIS, bench)
    return pictures


def _opening(replication: Replication) -> EmbeddedPicture | None:
    """Return the picture to begin with: all that was played, each cell's boots together."""
    played = cells(replication)[:CELLS_MAX]
    if not played:
        return None
    bench = f"{replication.match.bench} bench: {replication.match.time_note}"
    caption = f"{bench[:1].upper()}{bench[1:]}. Each line is one kernel under one load: all boots."
    return next(iter(drawn("compare:overview", caption, played)), None)


def _figures(replication: Replication) -> list[_FigureShown]:
    match = replication.match
    tables = {(table.kernel, table.priorities): table for table in knutsson_2008().results}
    figures = []
    for title, kernel, priorities, load in FIGURES:
        rallies = _rallies(match, _scheduled(match, kernel, priorities, load))
        note, pictures = "", []
        if rallies:
            caption = f"{match.bench} bench: {match.time_note}. Counts on a logarithmic axis."
            caption = caption[:1].upper() + caption[1:]
            pictures = drawn("one:histogram", caption, rallies[0])
            if len(rallies) > 1:
                note = f"The first of {len(rallies)} boots; the table above has all balls."
        else:
            note = _why_not(match, kernel, priorities, load)
        ranges = []
        for name in LATENCIES:
            published = published_maximum(tables[kernel, priorities], load, name)
            if published is not None:
                low, high = published.max - published.jitter, published.max
                ranges.append(f"{name} {format_us(low)} to {format_us(high)}")
        setting = f"{kernel}{' with priorities' if priorities == 'chrt' else ''}, {load}"
        figures.append(_FigureShown(title, setting, "; ".join(ranges), pictures, note))
    return figures


def _health(records: Sequence[Health]) -> str:
    """Say that the load really loaded: its figures before the rally and behind its last ball."""
    lines = []
    for one in records[:4]:
        ends = [
            f"{end:,.0f}" if end >= 100 else f"{end:.3g}"
            for end in (one.start, one.end)
            if end is not None
        ]
        lines.append(f"{plain(one.name, 30)} {' / '.join(ends)} {plain(one.unit, 20)}")
    return ", ".join(lines)


def _rows_of_rallies(match: MatchFolder) -> list[_PlayedRow]:
    """Return the page's row for each rally that the match schedules."""
    rows = []
    for entry in match.scheduled:
        rally = match.rally(entry.name)
        seed = entry.plan.protocol.seed
        if rally is None:
            rows.append(_PlayedRow(entry.name, match.trouble(entry.name), seed))
            continue
        manifest = rally.manifest
        faults = "; ".join(plain(fault.message, 200) for fault in manifest.faults[:3])
        state = f"suspect: {faults}" if manifest.suspect else manifest.ended
        whole = balls_in_whole_cycles(rally)
        if whole < rally.balls:
            state += f"; {whole:,} balls judged" if whole else f"; it {too_short(rally)}"
        sound = not manifest.suspect and not rally.misses and rally.balls
        rows.append(
            _PlayedRow(
                name=entry.name,
                state=state,
                balls=rally.balls,
                misses=rally.misses,
                seed=seed,
                release=plain(manifest.target.release, 60),
                health=_health(manifest.load.health),
                late=f"< {percent(min(1.0, 3 / rally.balls))}" if sound else "no claim",
                wrong=manifest.suspect,
            )
        )
    return rows


def _command(match: MatchFolder) -> str:
    """Return the command of the match; empty if no file had its plan."""
    named = match.record.plan_file
    return f"tennis match {plain(PurePath(named).name, 200)}" if named else ""


def _versions(match: MatchFolder) -> dict[str, str]:
    """Return the versions of a match: those that all rallies share, and each kernel's."""
    plans = [entry.plan for entry in match.scheduled]
    shared = ("tennis", "qemu", "compiler", "serial", "firmware", "micropython")
    facts = {"tennis": plain(match.record.tennis, 60), "created": plain(match.record.created, 60)}
    for key in shared:
        values = {plan.versions[key] for plan in plans if key in plan.versions}
        if values:
            facts[key] = plain(", ".join(sorted(values)), 300)
    for entry in match.scheduled:
        origin = entry.plan.versions.get("kernel")
        if origin:
            # a folder's path is nobody's business: its name is enough
            name = PurePath(origin).name if "/" in origin else origin
            facts[f"kernel {entry.kernel}"] = plain(name, 200)
    return facts
