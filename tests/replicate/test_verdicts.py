# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Verdicts: each of them from synthetic rallies, and none from rallies that do not speak."""

import json
import math
import re

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli.replicate import replicate
from tennis.errors import RallyError
from tennis.match import folder
from tennis.match.folder import Record, open_match
from tennis.pages.match import match_report
from tennis.publications import NAMES, knutsson_2008, load
from tennis.rally import open_rally
from tennis.rally.manifest import Fault
from tennis.replicate.rules import FIGURES, LOADS, published_maximum, replication, rules
from tennis.replicate.verdicts import Replication, _balls
from tests.support.synthetic_match import MatchMaker, bursts

KNUTSSON = "knutsson-2008"


@pytest.fixture
def maker(tmp_path):
    return MatchMaker(tmp_path / "match")


def claim(match, name, source=KNUTSSON):
    return Replication(match).claim(source, name)


def idle_pair(maker, mainline, rt, **about):
    """Make what c1 compares: worst interrupt latencies (ns) of each 100 balls."""
    maker.rally("mainline", "default", "idle", mainline, **about)
    maker.rally("rt", "chrt", "idle", rt)


def test_the_thesis_confirms_itself(maker):
    """Every rule, fed with the published maxima, says what was published."""
    for table in knutsson_2008().results:
        for load_name in LOADS:
            irq = published_maximum(table, load_name, "interrupt")
            sched = published_maximum(table, load_name, "scheduling")
            if irq and sched:
                maker.rally(
                    table.kernel,
                    table.priorities,
                    load_name,
                    bursts(irq.max * 1000, base=(irq.max - irq.jitter) * 1000),
                    bursts(sched.max * 1000, base=(sched.max - sched.jitter) * 1000),
                )
    found = Replication(maker.sealed())
    ours = [entry for entry in found.claims if entry.source == KNUTSSON and entry.parts]
    assert {entry.verdict for entry in ours} == {"confirmed"}, [
        (entry.id, entry.why) for entry in ours if entry.verdict != "confirmed"
    ]
    assert [entry.id for entry in ours[:5]] == ["c1", "c2", "c3", "c4", "c5"]
    kinds = [entry.kind for entry in ours]
    # four tables of three loads (Xenomai) or two; two latencies each
    assert kinds.count("growth") == 2 * (3 + 2 + 2 + 2)
    assert kinds.count("figure") == len(FIGURES) == 10
    # pairs of four tables under three loads, without sched stress 197 µs against ... and ties
    assert 30 <= kinds.count("ranking") <= 36
    c3 = found.claim(KNUTSSON, "c3")
    assert c3.parts[0].estimate == pytest.approx(13122 / math.sqrt(17194 * 273))
    page = match_report(found)
    for number in ("17.2 ms", "13.1 ms", "51 µs", "337 times"):
        assert number in page


def test_what_the_thesis_stress_test_alone_says_of_c3(maker):
    """docs/match.md remarks it: 653 µs are nearer to 268 than to 17194."""
    for kernel, priorities, worst in (
        ("rt", "default", 653_000),
        ("rt", "chrt", 268_000),
        ("mainline", "default", 17_194_000),
    ):
        for load_name in ("stress", "network"):
            maker.rally(kernel, priorities, load_name, bursts(worst))
    found = claim(maker.sealed(), "c3")
    assert found.verdict == "contradicted"
    assert found.parts[0].interval[1] < 1


def test_every_conclusion_of_every_publication_is_accounted_for():
    listed = {(rule.source, rule.id) for rule in rules()}
    listed |= {(entry.source, entry.id) for entry in replication().unaddressed}
    for name in NAMES:
        for key in load(name)["conclusions"]:
            assert (name, key) in listed, (name, key)
    assert len(listed) == len(rules()) + len(replication().unaddressed)


@pytest.mark.parametrize(
    ("mainline", "rt", "verdict", "words"),
    [
        (5000, 6000, "confirmed", "1.2 to 1.2"),
        (6000, 5000, "contradicted", "0.833 to 0.833"),
        (5000, 5000, "contradicted", "1 to 1"),
    ],
)
def test_c1(maker, mainline, rt, verdict, words):
    idle_pair(maker, bursts(mainline), bursts(rt))
    found = claim(maker.sealed(), "c1")
    assert found.verdict == verdict
    assert words in found.why
    assert found.n == 2000
    part = found.parts[0]
    assert part.block_balls == 100
    assert [side.blocks for side in part.sides] == [20, 20]
    assert part.sides[0].exceedance_bound_95 == 3 / 2000
    assert part.of_is_larger == {6000: 1, 5000: 0.5 if mainline == rt else 0}[rt]


def test_an_interval_that_holds_both_is_inconclusive(maker):
    def noisy(seed):
        return np.random.default_rng(seed).integers(1000, 100_000, 2000)

    idle_pair(maker, noisy(1), noisy(2))
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert "the interval holds both" in found.why
    assert "play 10,000 balls a rally" in found.parts[0].next


def test_a_single_maximum_may_veto_but_not_decide(maker):
    mainline = bursts(5000)
    mainline[777] = 50_000
    idle_pair(maker, mainline, bursts(6000))
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert "for the largest of all balls it is 0.12: rare events decide" in found.why


def test_c2_needs_all_of_its_parts(maker):
    for kernel, priorities, idle, stress in (
        ("mainline", "default", 5000, 500_000),
        ("rt", "chrt", 6000, 7000),
    ):
        maker.rally(kernel, priorities, "idle", bursts(idle))
        maker.rally(kernel, priorities, "stress", bursts(stress))
    assert claim(maker.sealed(), "c2").verdict == "confirmed"


def test_one_part_that_is_contradicted_contradicts(maker):
    for kernel, priorities, idle, stress in (
        ("mainline", "default", 5000, 1_000_000),
        ("rt", "chrt", 6000, 60_000),
    ):
        maker.rally(kernel, priorities, "idle", bursts(idle))
        maker.rally(kernel, priorities, "stress", bursts(stress))
    found = claim(maker.sealed(), "c2")
    assert found.verdict == "contradicted"
    assert [part.verdict for part in found.parts] == ["confirmed", "contradicted", "contradicted"]
    assert claim(maker.sealed(), "table7.4-stress-interrupt").verdict == "confirmed"
    assert claim(maker.sealed(), "table7.2-stress-interrupt").verdict == "contradicted"


def test_few_balls_do_not_speak(maker):
    idle_pair(maker, bursts(5000), bursts(6000, balls=1999))
    found = claim(maker.sealed(), "c1")
    assert (found.verdict, found.n) == ("inconclusive", 0)
    assert "rt-idle-chrt-tasklet has 1999 balls: too few" in found.why
    assert "at least 2000 balls" in found.parts[0].next


def test_a_suspect_rally_does_not_speak(maker):
    fault = Fault(code="load_died", message="the load ended before the rally")
    idle_pair(maker, bursts(5000), bursts(6000), faults=[fault])
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert "is suspect (the load ended before the rally)" in found.why
    assert "suspect: the load ended before the rally" in match_report(Replication(maker.sealed()))


@pytest.mark.parametrize(
    ("mainline", "rt", "words"),
    [
        # the parts of a kernel may differ from another kernel's, those of the bench may not
        ({"racquet_sha256": "a", "kernel_image_sha256": "1"}, {"racquet_sha256": "b"}, ""),
        ({"qemu": "7.2"}, {"qemu": "10.0"}, "from two builds of QEMU: 10.0 and 7.2"),
        ({"firmware_sha256": "a"}, {}, "two builds of the Brickwall's firmware: a and unknown"),
    ],
)
def test_two_builds_in_a_comparison_give_no_verdict(maker, mainline, rt, words):
    maker.rally("mainline", "default", "idle", bursts(5000), versions=mainline)
    maker.rally("rt", "chrt", "idle", bursts(6000), versions=rt)
    found = claim(maker.sealed(), "c1")
    assert found.verdict == ("inconclusive" if words else "confirmed")
    assert words in found.why
    assert not words or found.parts[0].next == "play these rallies anew with one build of all"


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("racquet_sha256", "the Racquet of rt"),
        ("target_module_sha256", "the Racquet of rt"),
        ("kernel_image_sha256", "the kernel of rt"),
        ("target_release", "the kernel of rt"),
    ],
)
def test_two_builds_of_one_kernel_or_its_racquet_give_no_verdict(maker, key, what):
    """In two repetitions of a cell, and under two loads."""
    maker.rally("mainline", "default", "idle", bursts(5000))
    maker.rally("mainline", "default", "stress", bursts(90_000))
    maker.rally("rt", "chrt", "idle", bursts(6000), versions={key: "one"})
    maker.rally("rt", "chrt", "idle", bursts(6000), versions={key: "two"}, repetition=2)
    maker.rally("rt", "chrt", "stress", bursts(7000), versions={key: "one"})
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert f"the rallies are from two builds of {what}: one and two" in found.why
    under_stress = claim(maker.sealed(), "c2").parts[1]
    assert under_stress.verdict == "inconclusive"
    assert "two builds" in under_stress.why


def test_a_sound_repetition_speaks_for_a_suspect_one(maker):
    fault = Fault(code="load_died", message="it died")
    maker.rally("mainline", "default", "idle", bursts(9000), faults=[fault])
    maker.rally("mainline", "default", "idle", bursts(5000), repetition=2)
    maker.rally("mainline", "default", "idle", bursts(5100), repetition=3)
    maker.rally("rt", "chrt", "idle", bursts(6000))
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "confirmed"
    assert found.parts[0].sides[1].blocks == 40
    assert found.parts[0].sides[1].n == 4000
    assert "without mainline-idle-default-tasklet is suspect" in found.why


def test_missed_balls_are_later_than_anything(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.rally("rt", "chrt", "stress", bursts(6000), misses=40)
    maker.rally("mainline", "default", "stress", bursts(900_000))
    found = claim(maker.sealed(), "c2")
    assert found.verdict == "contradicted"
    part = found.parts[1]
    assert math.isinf(part.interval[1])
    assert part.sides[0].misses == 40
    assert part.sides[0].exceedance_bound_95 is None
    text = json.dumps(Replication(maker.sealed()).as_json(), allow_nan=False)
    stress = next(c for c in json.loads(text)["claims"] if c["id"] == "c2")["parts"][1]
    assert stress["interval"][1] is None


@pytest.mark.parametrize("misses", [1, 40])
def test_missed_balls_confirm_that_a_side_is_later(maker, misses):
    """One missed ball is the largest of all; one in each block makes every interval unbounded."""
    idle_pair(maker, bursts(5000), bursts(6000), misses=0)
    maker.rally("mainline", "default", "stress", bursts(900_000), misses=misses)
    maker.rally("rt", "chrt", "stress", bursts(6000))
    found = claim(maker.sealed(), "c2")
    assert [part.verdict for part in found.parts] == ["confirmed"] * 3, found.why
    assert math.isinf(found.parts[0].largest)


def test_blocks_that_drift_are_not_believed(maker):
    drifting = bursts(5000) + np.arange(2000) // 10
    idle_pair(maker, drifting, bursts(6000))
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert "neighbouring blocks of 200 balls are alike (mainline-idle-default-tasklet)" in found.why


def test_what_was_not_played_is_said(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.left_out("xenomai", "native", "idle", "no kernel given")
    match = maker.sealed()
    found = claim(match, "c5")
    assert found.verdict == "not addressed"
    assert "not played (not in the plan): xenomai native, xload" in found.why
    assert "no kernel given" in claim(match, "figure7.1").why
    assert claim(match, "figure7.5").verdict == "confirmed"
    assert claim(match, "c1", "koeker").verdict == "not addressed"
    assert "timer modes" in claim(match, "c1", "koeker").why


def test_a_part_of_the_loads_cannot_decide(maker):
    for kernel, priorities in (("rt", "default"), ("rt", "chrt"), ("mainline", "default")):
        maker.rally(kernel, priorities, "stress", bursts(5000))
    found = claim(maker.sealed(), "c3")
    assert found.verdict == "inconclusive"
    assert "play the load network too" in found.parts[0].next


def test_sides_that_are_equal_leave_c3_open(maker):
    for kernel, priorities in (("rt", "default"), ("rt", "chrt"), ("mainline", "default")):
        for load_name in ("stress", "network"):
            maker.rally(kernel, priorities, load_name, bursts(5000))
    found = claim(maker.sealed(), "c3")
    assert found.verdict == "inconclusive"
    assert "cannot be told apart" in found.why


@pytest.mark.parametrize("mainline", [0, 5000])
def test_latencies_of_nothing_and_balls_that_all_missed_break_nothing(maker, mainline):
    for load_name in ("idle", "stress", "network"):
        maker.rally("rt", "default", load_name, bursts(0, base=0))
        maker.rally("rt", "chrt", load_name, bursts(0, base=0))
        maker.rally("mainline", "default", load_name, bursts(mainline), misses=2000 - mainline // 5)
    found = Replication(maker.sealed())
    assert found.claim(KNUTSSON, "c3").verdict != "confirmed"
    assert json.dumps(found.as_json(), allow_nan=False)
    assert "every ball was missed" in match_report(found) or mainline


def test_another_bottom_half_takes_no_part(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.rally("rt", "chrt", "idle", bursts(4000), half="thread")
    assert claim(maker.sealed(), "c1").verdict == "confirmed"


def test_altered_balls_are_not_believed(maker):
    place = maker.rally("mainline", "default", "idle", bursts(5000))
    maker.rally("rt", "chrt", "idle", bursts(6000))
    data = bytearray((place / "balls.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (place / "balls.parquet").write_bytes(data)
    match = maker.sealed()
    found = claim(match, "c1")
    assert found.verdict == "inconclusive"
    assert "cannot be used" in found.why
    done = CliRunner().invoke(replicate, [str(maker.path)])
    assert isinstance(done.exception, RallyError)
    assert "a rally of the match cannot be used: mainline-idle" in str(done.exception)
    assert "c1: inconclusive" in done.output


def test_a_rally_of_something_else_is_not_believed(maker):
    """Somebody copied one rally over another: its own hashes are right."""
    slow = maker.rally("mainline", "default", "idle", bursts(6000))
    quick = maker.rally("rt", "chrt", "idle", bursts(5000))
    between = maker.path / "between"
    slow.rename(between)
    quick.rename(slow)
    between.rename(quick)
    assert open_rally(slow).balls == 2000
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert "is not the rally that match.json lists (kernel rt)" in found.why


def test_a_link_to_elsewhere_is_not_followed(maker, tmp_path):
    place = maker.rally("mainline", "default", "idle", bursts(6000))
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    match = maker.sealed()
    assert match.rally(place.name) is None
    assert "is a link" in match.trouble(place.name)


EVIL = [
    (lambda text: text[:-40], "is not JSON"),
    (lambda text: text.replace('"schema_version": 1', '"schema_version": 2', 1), "newer tennis"),
    (lambda text: text.replace('"name": "rt-', '"name": "../rt-'), "is not a match of schema 1"),
    (lambda text: text.replace('"name": "rt-', '"name": ".rt-'), "is not a match of schema 1"),
    (lambda text: text.replace('"created"', '"evil": 1, "created"'), "is not a match of schema 1"),
    (lambda _: "[" * 100_000, "is not JSON"),
    (lambda _: "[]", "is not a match of schema 1"),
    (lambda _: " " * (1 << 24) + "{}", "larger than 16 MiB"),
]


@pytest.mark.parametrize(("change", "words"), EVIL)
def test_a_match_json_from_somebody_else(maker, change, words):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.sealed()
    path = maker.path / "match.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(RallyError, match=re.escape(words)) as error:
        open_match(maker.path)
    assert "\n" not in str(error.value)


def test_folders_that_are_no_match(tmp_path):
    with pytest.raises(RallyError, match=r"holds no match\.json"):
        open_match(tmp_path)
    with pytest.raises(RallyError, match="is no folder"):
        open_match(tmp_path / "nothing")
    (tmp_path / "match.json").mkdir()
    with pytest.raises(RallyError, match="not a plain file"):
        open_match(tmp_path)


def test_words_of_others_stay_words_on_the_page(maker):
    fault = Fault(code="x", message="</td><script>alert(1)</script>{{ 7 * 7 }}")
    idle_pair(maker, bursts(5000), bursts(6000), faults=[fault])
    maker.left_out("xenomai", "native", "idle", "<img src=x onerror=alert(1)>")
    match = maker.sealed(title="<b>{{ 6 * 7 }}</b>\x1b[2J")
    match.record.troubles["x"] = "<i>"
    page = match_report(Replication(match))
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;b&gt;{{ 6 * 7 }}&lt;/b&gt;" in page
    assert "\x1b" not in page
    assert match_report(Replication(match)) == page
    assert not re.search(r"url\(|@import|https?://", re.sub(r"base64,[^\"]*", "", page))
    for caption in re.findall(r"<figcaption>(.*?)</", page, re.DOTALL):
        assert caption.startswith("Replay bench: synthetic data")


def test_the_command(maker, tmp_path):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.sealed()
    page = tmp_path / "page.html"
    done = CliRunner().invoke(replicate, [str(maker.path), "--json", "--out", str(page)])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["bench"] == "replay"
    first = found["claims"][0]
    assert {key: first[key] for key in ("source", "id", "verdict", "n")} == {
        "source": KNUTSSON,
        "id": "c1",
        "verdict": "confirmed",
        "n": 2000,
    }
    assert first["parts"][0]["interval"] == [1.2, 1.2]
    assert page.read_text().startswith("<!doctype html>")
    again = CliRunner().invoke(replicate, [str(maker.path), "--out", str(page)])
    assert "--force" in str(again.exception)
    assert "c1: confirmed (N = 2,000)" in CliRunner().invoke(replicate, [str(maker.path)]).stdout


def test_match_json_survives_the_round_trip(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    match = maker.sealed()
    assert Record.read(maker.path) == match.record
    assert [path.name for path in maker.path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("needed", "said"),
    [(1, "1"), (3, "5"), (10, "10"), (11, "20"), (45_000, "50,000"), (80_000, "100,000")],
)
def test_the_balls_to_play_are_never_fewer_than_needed(needed, said):
    assert _balls(needed) == f"{said} balls"


@pytest.mark.parametrize("tasks", ["posix", None])
def test_tasks_of_linux_do_not_load_xenomais_core(maker, tasks):
    """xload on EVL and Cobalt plays threads of Linux unless somebody built it: c5 means others."""
    answers = bursts(100_000), bursts(100_000)
    maker.rally("xenomai", "native", "idle", *answers)
    maker.rally("xenomai", "native", "xload", *answers, tasks=tasks)
    maker.rally("rt", "chrt", "network", *answers)
    found = Replication(maker.sealed())
    for name in ("c5", "table7.1-xload-interrupt", "table7.1-xload-scheduling", "figure7.4"):
        entry = found.claim(KNUTSSON, name)
        assert entry.verdict == "not addressed"
        assert "build xload for it (docs/loads.md)" in entry.why
        assert "not played" not in entry.why
        assert (tasks or "does not say") in entry.why


def test_other_rallies_speak_for_those_with_tasks_of_linux(maker):
    for repetition, tasks in ((1, "posix"), (2, "alchemy")):
        maker.rally(
            "xenomai",
            "native",
            "xload",
            bursts(100_000),
            bursts(100_000),
            repetition=repetition,
            tasks=tasks,
        )
    maker.rally("rt", "chrt", "network", bursts(100_000), bursts(100_000))
    entry = claim(maker.sealed(), "c5")
    assert entry.verdict == "confirmed"
    assert "without xenomai-xload-native-thread had tasks of the kind posix" in entry.parts[0].why


def test_a_match_of_many_large_rallies_is_bounded(maker, monkeypatch):
    """Each of them may be within its own limit: all are open at once."""
    idle_pair(maker, bursts(51_000), bursts(98_000))
    monkeypatch.setattr(folder, "MAX_DISTINCT", 3)
    found = Replication(maker.sealed())
    assert "different latencies" in found.match.trouble("mainline-idle-default-tasklet")
    assert found.claim(KNUTSSON, "c1").verdict == "inconclusive"
