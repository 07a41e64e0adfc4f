# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Verdicts on the tables of Arm et al. and of Koeker et al., from made-up drills and rallies."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest

from tennis.comparison.rallies import boot_of
from tennis.match.folder import open_match
from tennis.pages.match import match_report
from tennis.pages.match_drills import drill_rows
from tennis.publications import load
from tennis.publications.arm import CALLS, CONTEXTS
from tennis.rally.manifest import Drill
from tennis.replicate.arm_rules import arm_rules
from tennis.replicate.koeker_rules import RATE_HZ
from tennis.replicate.rules import PERIODIC
from tennis.replicate.verdicts import Replication
from tests.support.forging import reseal
from tests.support.synthetic_match import MatchMaker, bursts

ARM, KOEKER = "arm-2016", "koeker"
CALL_NS, TICK_NS = 171_300, 4_000_000
REPETITIONS = 3001  # and an interval less


@pytest.fixture
def maker(tmp_path):
    return MatchMaker(tmp_path / "match")


def periodic(context: str, period_us: int) -> Drill:
    return Drill(name="periodic", context=context, period_ns=period_us * 1000)


def late(period_ns: int, off_ns: int) -> np.ndarray:
    """Return intervals of which one in a hundred is that long over its period."""
    return bursts(period_ns + off_ns, REPETITIONS - 1, base=period_ns)


def arm_as_published(maker: MatchMaker) -> None:
    """Make all drills of the tables with one-shot timers, the worst as published."""
    figures = load(ARM)
    for row in figures["periodic"]:
        for key, context in CONTEXTS.items():
            if row["mode"] != "oneshot":
                continue
            drill = periodic(context, row["period_us"])
            off_ns = round(row[key]["max"] * 1000)
            intervals = late(drill.period_ns, off_ns)
            name = "memory" if row["load"] else "idle"
            maker.drill("rt", name, drill, intervals, np.full(REPETITIONS, 1000))
    for key, (name, _, _) in CALLS.items():
        for row in figures[key]:
            for published, context in CONTEXTS.items():
                if published not in row:
                    continue
                drill = Drill(name=name, context=context, period_ns=CALL_NS)
                took = bursts(round(row[published]["max"] * 1000), REPETITIONS, base=100)
                intervals = np.full(REPETITIONS - 1, 100_000_000)
                maker.drill("rt", "memory" if row["load"] else "idle", drill, intervals, took)


def modes(maker: MatchMaker, one_shot_ns: int, periodic_sd_ns: int) -> None:
    """Make both timer modes: how far one-shot is off, and how far the tick spreads."""
    for context, load_name in product(("user-rt", "kernel"), ("idle", "memory")):
        drill = periodic(context, 4000)
        width = np.full(REPETITIONS, 1000)
        maker.drill("rt", load_name, drill, late(TICK_NS, one_shot_ns), width)
        spread = np.full(REPETITIONS - 1, TICK_NS)
        spread[::2] += periodic_sd_ns
        spread[1::2] -= periodic_sd_ns
        maker.drill("rt", load_name, drill, spread, width, command_line=PERIODIC)


def test_arm_confirms_itself(maker):
    """Every rule that follows from the tables, fed with their maxima, says what was published."""
    arm_as_published(maker)
    modes(maker, 20_000, 5_000)
    match = maker.sealed()
    found = Replication(match)
    ours = [one for one in found.claims if one.source == ARM and one.id != "table10" and one.parts]
    assert {one.verdict for one in ours} == {"confirmed"}, [
        (one.id, one.why) for one in ours if one.verdict != "confirmed"
    ]
    kinds = Counter(one.kind for one in ours)
    # six pairs of tables of three contexts each, but table 10 of one; three more for the periods
    assert kinds["growth"] == 3 * 3 + 3 + 3 + 1
    assert kinds["ranking"] == sum(1 for rule in arm_rules() if rule.kind == "ranking")
    assert 26 <= kinds["ranking"] <= 30
    c2 = found.claim(ARM, "c2")
    assert c2.parts[-1].estimate == pytest.approx(93081.430 / 269.817, rel=1e-3)
    page = match_report(found)
    assert "Drills: inside and outside" in page
    assert "Chapter 7" not in page  # nothing of the thesis was played
    assert "93.1 ms" in page


def test_timer_modes_that_differ_the_other_way_contradict_c1(maker):
    modes(maker, 1_000, 5_000)
    c1 = Replication(maker.sealed()).claim(ARM, "c1")
    assert c1.verdict == "contradicted"
    assert [part.verdict for part in c1.parts] == ["contradicted", "confirmed"] * 2


def test_a_deviation_is_the_instruments_and_a_duration_the_targets(maker):
    """What a process's line costs must not make its calls look slow."""
    drill = Drill(name="semaphore", context="user-rt", period_ns=CALL_NS)
    maker.drill("rt", "idle", drill, np.full(99, CALL_NS), np.full(100, 700), boots=1)
    rally = maker.sealed().drills()[0]
    assert boot_of(rally, "duration").largest == 700
    assert rally.scheduling.values.max() == 1000  # with the line's 300 ns
    off = periodic("kernel", 1000)
    maker.drill(
        "rt", "idle", off, np.array([1_000_000, 1_000_400, 999_500]), np.full(4, 9), boots=1
    )
    match = open_match(maker.sealed().path)
    rally = match.drills()[1]
    assert boot_of(rally, "deviation").largest == 500
    assert boot_of(rally, "interval").largest == 1_000_400


def test_drills_are_no_rallies_of_a_match(maker):
    """A drill's widths must never be taken for latencies, nor its count for balls."""
    drill = periodic("user", 1000)
    maker.drill("rt", "idle", drill, np.full(9, 1_000_000), np.full(10, 9), boots=1)
    maker.rally("rt", "chrt", "idle", bursts(5000))
    match = maker.sealed()
    assert [rally.manifest.drill for rally in match.rallies()] == [None]
    assert [rally.manifest.drill for rally in match.drills()] == [drill]
    found = Replication(match)
    assert all(sample.side.drill is None for sample in found.compared)
    rows = drill_rows(match)
    assert [(row.kernel, row.load, row.boots, row.sides.inside.n) for row in rows] == [
        ("rt", "idle", 1, 9)
    ]
    assert rows[0].published.endswith("86.717 µs")  # table 2


def test_a_drill_of_another_setting_is_not_what_was_published(maker):
    drill = periodic("user", 1000)
    done = (np.full(9, 1_000_000), np.full(10, 9))
    maker.drill("rt", "idle", drill, *done, witness="cyclictest", boots=1)
    (row,) = drill_rows(maker.sealed())
    assert row.name == "periodic 1000 µs, user, with cyclictest"
    assert row.published == ""


def test_a_rally_that_poses_as_a_drill_is_not_used(maker):
    drill = periodic("user", 1000)
    maker.drill("rt", "idle", drill, np.full(9, 1_000_000), np.full(10, 9), boots=1)
    maker.drill("rt", "memory", drill, np.full(9, 1_000_000), np.full(10, 9), boots=1)
    match = maker.sealed()
    listed = json.loads((match.path / "match.json").read_text())
    listed["fixtures"][0]["plan"]["drill"]["period_ns"] = 2_000_000
    listed["fixtures"][1]["plan"]["drill"] = None
    (match.path / "match.json").write_text(json.dumps(listed))
    again = open_match(match.path)
    assert again.drills() == [] and again.rallies() == []
    whys = list(again.damaged().values())
    assert "is not the rally that match.json lists (drill" in whys[0]
    assert "is a drill" in whys[1]


def test_a_drill_whose_own_times_are_damaged_is_left_out_and_said(maker):
    """The others speak, and the page is written."""
    drill = periodic("kernel", 1000)
    maker.drill("rt", "idle", drill, np.full(9, 1_000_000), np.full(10, 9), boots=2)
    match = maker.sealed()
    first = match.path / match.scheduled[0].name
    console = (first / "console.log").read_bytes().replace(b"tennis: fact inside", b"tennis: lost")
    (first / "console.log").write_bytes(console)
    reseal(first)
    again = open_match(match.path)
    assert "cannot be used" in again.trouble(first.name)
    assert [row.boots for row in drill_rows(again)] == [1]
    assert "cannot be used" in match_report(Replication(again))


def quartiles(q1: int, q2: int, q3: int, largest: int) -> np.ndarray:
    """Return 3,000 latencies with these quartiles."""
    values = np.repeat([q1, q2, q3, largest], [1000, 1000, 990, 10])
    return np.random.default_rng(1).permutation(values)


def koeker_as_published(maker: MatchMaker, kernel: str = "rt", rate_hz: float = RATE_HZ) -> None:
    for mode, loaded in product(("oneshot", "periodic"), (False, True)):
        row, other = (
            next(r for r in load(KOEKER)[key] if (r["mode"], r["load"]) == (mode, loaded))
            for key in ("quartiles", "latency")
        )
        rise = quartiles(
            *(round(row[q] * 1000) for q in ("q1", "q2", "q3")), round(other["max"] * 1000)
        )
        maker.cell(
            kernel,
            "chrt" if kernel == "rt" else "default",
            "ping-flood" if loaded else "idle",
            rise,
            top="hard",
            added=PERIODIC if mode == "periodic" else "",
            rate_hz=rate_hz,
        )


def test_koekers_quartiles_confirm_themselves(maker):
    koeker_as_published(maker)
    found = Replication(maker.sealed())
    assert found.claim(KOEKER, "c1-rt").verdict == "confirmed"
    table2 = found.claim(KOEKER, "table2-rt")
    assert table2.verdict == "confirmed"
    assert [part.estimate for part in table2.parts] == pytest.approx([18.5, 24], rel=1e-6)
    means = [part for part in found.claim(KOEKER, "table3-rt").parts if part.measure == "mean"]
    idle, flood = quartiles(4200, 4300, 4400, 45_700), quartiles(8200, 10_200, 11_900, 51_600)
    assert means[0].estimate == pytest.approx(flood.mean() / idle.mean())
    assert found.claim(KOEKER, "c1-mainline").verdict == "not addressed"
    assert "Chapter 7" not in match_report(found)


def test_koekers_c1_is_about_quartile_distances(maker):
    """The medians are alike idle; that one mode is ten times as narrow contradicts it."""
    for mode, (low, high) in {"": (4000, 6000), PERIODIC: (4900, 5100)}.items():
        for load_name in ("idle", "ping-flood"):
            maker.cell(
                *("mainline", "default", load_name, quartiles(low, 5000, high, 9000)),
                added=mode,
                rate_hz=RATE_HZ,
            )
    parts = Replication(maker.sealed()).claim(KOEKER, "c1-mainline").parts
    assert [part.measure for part in parts] == ["median", "quartile distance", "quartile distance"]
    assert parts[2].verdict == "contradicted"
    assert parts[2].estimate == pytest.approx(10)
    assert parts[2].published == pytest.approx(2)
    assert parts[2].quantity == "the paper's quartile distance"


def test_what_nothing_on_a_bench_moves_is_not_addressable(maker):
    """Idle, the virtual bench's quartiles are one number: 0 / 0 is no ratio, and no miss."""
    for added in ("", PERIODIC):
        maker.cell(
            *("mainline", "default", "idle", quartiles(5000, 5000, 5000, 9000)),
            added=added,
            rate_hz=RATE_HZ,
        )
    part = Replication(maker.sealed()).claim(KOEKER, "c1-mainline").parts[2]
    assert part.verdict == "not addressable"
    assert "quartile distance is 0 in all boots of both sides" in part.why


def test_another_rate_is_not_koekers(maker):
    koeker_as_published(maker, rate_hz=5000)
    claim = Replication(maker.sealed()).claim(KOEKER, "table2-rt")
    assert claim.verdict == "not addressed"
    assert "not played in an open loop of 10000 Hz" in claim.why


def test_an_open_loop_says_nothing_of_the_thesis(maker):
    """There, an answer later than a period is a miss; the thesis waited for each."""
    for kernel, priorities in (("mainline", "default"), ("rt", "chrt")):
        maker.cell(kernel, priorities, "idle", bursts(5000), rate_hz=1000.0)
    replicated = Replication(maker.sealed())
    claim = replicated.claim("knutsson-2008", "c1")
    assert claim.verdict == "not addressed"
    assert "not played in a closed loop" in claim.why
    page = match_report(replicated)
    assert "Tables 7.1 to 7.4" not in page


def test_a_lost_ball_leaves_no_mean(maker):
    for load_name, misses in (("idle", 0), ("ping-flood", 3)):
        for added in ("", PERIODIC):
            maker.cell(
                *("mainline", "default", load_name, quartiles(4200, 4300, 4400, 9000)),
                added=added,
                rate_hz=RATE_HZ,
                misses=misses,
            )
    parts = Replication(maker.sealed()).claim(KOEKER, "table3-mainline").parts
    averages = [part for part in parts if part.measure != "worst"]
    assert {part.verdict for part in averages} == {"inconclusive"}
    assert "balls were not answered: of them there is no mean" in parts[0].why
