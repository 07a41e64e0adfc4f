# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The settings of a match, a line each: what each is worth, beside the plan's first one."""

from dataclasses import dataclass

from tennis.compare import words
from tennis.compare.judgement import MEDIAN
from tennis.kit.units import format_count, format_ns
from tennis.match.folder import MatchFolder
from tennis.match.plan import MatchPlan
from tennis.rally.settings import SETTINGS
from tennis.replicate.settings import Worth, worth


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


def setting_rows(match: MatchFolder) -> dict[str, list[_SettingRow]]:
    """Return for each cell a line for each setting, by the cell's name. Raises RallyError."""
    cells: dict[str, dict[str, list[Worth]]] = {}
    for line in worth(match):
        cells.setdefault(line.cell, {}).setdefault(line.setting, []).append(line)
    return {
        cell: [_row(match.record.plan, setting, lines) for setting, lines in settings.items()]
        for cell, settings in cells.items()
    }


def _row(plan: MatchPlan, setting: str, lines: list[Worth]) -> _SettingRow:
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


def _latency_row(line: Worth) -> _LatencyShown:
    levels = line.levels_ns
    return _LatencyShown(
        median=format_ns(levels[MEDIAN]) if MEDIAN in levels else "-",
        late=format_ns(levels[1000]) if 1000 in levels else "-",
        latest=format_ns(line.latest_ns) if line.side.boots else "-",
        interval=f"{line.row.change}: {words.ratio(line.row)}" if line.row else "",
    )
