"""The settings of a match, a line each: what each is worth, beside the plan's first one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tennis.compare import words
from tennis.compare.judgement import ERROR, MEDIAN, Row, time_change
from tennis.compare.rallies import Measured, boot_of
from tennis.compare.sides import Side
from tennis.kit.units import format_count, format_ns
from tennis.match.folder import MatchFolder
from tennis.match.plan import MatchPlan
from tennis.rally import Rally
from tennis.rally.settings import SETTINGS

LATENCIES: tuple[Measured, ...] = ("interrupt", "scheduling")
ONE_IN = 1000  # the compared levels: this one and rarer ones


@dataclass(frozen=True)
class _LatencyShown:
    """One latency of a setting: what half of all answers, and one in 1,000, come after."""

    median: str
    late: str
    latest: str
    interval: str  # of 1 in 1,000, beside the first setting; empty for that one


@dataclass(frozen=True)
class _SettingRow:
    """A setting of one cell."""

    setting: str
    what: str  # as the plan describes it
    balls: str
    notes: str
    latencies: list[_LatencyShown]


@dataclass(frozen=True)
class _Worth:
    """A setting of one kernel, load, and way to answer, for one latency."""

    cell: str  # as the folders of its rallies are called, without the setting
    setting: str
    latency: Measured
    side: Side  # its boots
    left_out: int  # rallies that are missing, suspect or not complete
    row: Row | None  # over the first setting; None: it is that one, or boots are too short

    @property
    def missed(self) -> int:
        """Return how many balls had no answer."""
        return self.side.lost

    @property
    def latest_ns(self) -> float:
        """Return the latest answer of all boots; infinite: no answer; nan without boots."""
        return max(self.side.latest(), default=float("nan"))

    @property
    def levels_ns(self) -> dict[int, float]:
        """Return the median boot's levels, ns."""
        return {n: self.side.median_boot(n) for n in (MEDIAN, ONE_IN) if self.side.has(n)}


def _worth(match: MatchFolder) -> list[_Worth]:
    """Return a line for each setting of each cell, in the plan's order. Raises RallyError.

    All statements of one cell together are wrong in at most 5 % of matches.
    """
    cells: dict[str, dict[str, list[Rally | None]]] = defaultdict(dict)
    for planned in match.scheduled:
        if planned.setting is None:
            continue
        end = f"-{planned.setting}" + (f"-r{planned.repetition}" if planned.repetition > 1 else "")
        boots = cells[planned.name.removesuffix(end)].setdefault(planned.setting, [])
        boots.append(match.rally(planned.name))
    order = list(match.record.plan.settings)
    return [
        line
        for cell, settings in sorted(cells.items())
        for line in _lines(cell, {n: settings[n] for n in order if n in settings}, order[0])
    ]


def _lines(cell: str, settings: dict[str, list[Rally | None]], first: str) -> Iterator[_Worth]:
    sound = {
        name: [r for r in boots if r and not r.manifest.suspect and r.manifest.ended == "complete"]
        for name, boots in settings.items()
    }
    tail = ERROR / max(1, len(LATENCIES) * (len(settings) - 1))
    for latency in LATENCIES:
        sides = {name: _side(rallies, latency) for name, rallies in sound.items()}
        for name, side in sides.items():
            others = name != first and first in sides
            can = others and side.has(ONE_IN) and sides[first].has(ONE_IN)
            yield _Worth(
                cell=cell,
                setting=name,
                latency=latency,
                side=side,
                left_out=len(settings[name]) - len(sound[name]),
                row=time_change(*sides[first].with_partners(side), ONE_IN, tail=tail / 2)
                if can
                else None,
            )


def _side(rallies: Sequence[Rally], latency: Measured) -> Side:
    seeds = [rally.manifest.protocol.seed for rally in rallies]
    return Side([boot_of(rally, latency) for rally in rallies], seeds)


def setting_rows(match: MatchFolder) -> dict[str, list[_SettingRow]]:
    """Return for each cell a line for each setting, by the cell's name. Raises RallyError."""
    cells: dict[str, dict[str, list[_Worth]]] = {}
    for line in _worth(match):
        cells.setdefault(line.cell, {}).setdefault(line.setting, []).append(line)
    return {
        cell: [_row(match.record.plan, setting, lines) for setting, lines in settings.items()]
        for cell, settings in cells.items()
    }


def _row(plan: MatchPlan, setting: str, lines: list[_Worth]) -> _SettingRow:
    one = lines[0]
    notes = [f"{one.missed} missed"] if one.missed else []
    notes += [f"{format_count(one.left_out, 'rally', 'rallies')} left out"] if one.left_out else []
    boots = format_count(len(one.side.boots), "boot")
    return _SettingRow(
        setting=setting,
        what=_what_it_is(plan, setting),
        balls=f"{one.side.balls:,}, {boots}",
        notes=", ".join(notes),
        latencies=[_latency_row(line) for line in lines],
    )


def _what_it_is(plan: MatchPlan, name: str) -> str:
    """Describe a setting of the plan, without the parts that all settings share."""
    setting = plan.settings[name]
    words = [setting.command_line] if setting.command_line else []
    words += [SETTINGS[name].in_brief(value) for name, value in setting.of_a_match.items()]
    return ", ".join(words) or "as it is"


def _latency_row(line: _Worth) -> _LatencyShown:
    levels = line.levels_ns
    return _LatencyShown(
        median=format_ns(levels[MEDIAN]) if MEDIAN in levels else "-",
        late=format_ns(levels[1000]) if 1000 in levels else "-",
        latest=format_ns(line.latest_ns) if line.side.boots else "-",
        interval=f"{line.row.change}: {words.ratio(line.row)}" if line.row else "",
    )
