"""Verdicts: each of them from synthetic rallies, and none from rallies that do not speak."""

import json
import math
import re

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli.replicate import replicate
from tennis.kit.errors import RallyError
from tennis.match import folder
from tennis.match.folder import open_match
from tennis.rally import open_rally
from tennis.rally.manifest import Fault, Target
from tennis.replicate.match_page import _match_report, _rows_of_rallies
from tennis.replicate.mechanisms import Mechanism, Mechanisms
from tennis.replicate.verdicts import Replication
from tennis.report.publications import knutsson_2008
from tennis.report.publications.rules import LOADS, published_maximum, replication, rules
from tests.support.synthetic_match import MatchMaker, bursts

pytestmark = pytest.mark.slow

KNUTSSON = "knutsson-2008"


@pytest.fixture
def maker(tmp_path):
    return MatchMaker(tmp_path / "match")


def claim(match, name):
    return Replication(match).claim(KNUTSSON, name)


def idle_pair(maker, mainline, rt, **about):
    """Make what c1 compares: worst interrupt latencies (ns) of each 100 balls."""
    maker.cell("mainline", "default", "idle", mainline, **about)
    maker.cell("rt", "chrt", "idle", rt)


def test_the_thesis_confirms_itself(maker):
    """Every rule, fed with the published maxima, says what was published."""
    for table in knutsson_2008().results:
        for load_name in LOADS:
            irq = published_maximum(table, load_name, "interrupt")
            sched = published_maximum(table, load_name, "scheduling")
            if irq and sched:
                maker.cell(
                    table.kernel,
                    table.priorities,
                    load_name,
                    bursts(irq.max * 1000, base=(irq.max - irq.jitter) * 1000),
                    bursts(sched.max * 1000, base=(sched.max - sched.jitter) * 1000),
                    release="2.6.25",
                )
    found = Replication(maker.sealed())
    ours = [entry for entry in found.claims if entry.parts]
    assert {entry.verdict for entry in ours} == {"confirmed"}, [
        (entry.id, entry.why) for entry in ours if entry.verdict != "confirmed"
    ]
    assert [entry.id for entry in ours[:5]] == ["c1", "c2", "c3", "c4", "c5"]
    kinds = [entry.kind for entry in ours]
    # four tables of three loads (Xenomai) or two; two latencies each
    assert kinds.count("growth") == 2 * (3 + 2 + 2 + 2)
    # pairs of four tables under three loads, without sched stress 197 µs against ... and ties
    assert 30 <= kinds.count("ranking") <= 36
    c3 = found.claim(KNUTSSON, "c3")
    nearness = abs(math.log10(13122 / 17194)) - abs(math.log10(13122 / 273))
    assert c3.parts[0].estimate == pytest.approx(nearness)
    page = _match_report(found)
    for number in ("17.2 ms", "13.1 ms", "51 µs", "337 times"):
        assert number in page


def test_every_conclusion_is_accounted_for():
    listed = [rule.id for rule in (*rules(), *replication().unaddressable)]
    assert len(set(listed)) == len(listed)
    assert set(knutsson_2008().conclusions) <= set(listed)


@pytest.mark.parametrize(
    ("mainline", "rt", "verdict", "words"),
    [
        (5000, 6000, "confirmed", "1.2 to 1.2"),
        (6000, 5000, "contradicted", "0.833 to 0.833"),
        (5000, 5000, "inconclusive", "both sides are equal within 10 %: neither is later"),
        (5010, 5000, "inconclusive", "both sides are equal within 10 %: neither is later"),
    ],
)
def test_c1(maker, mainline, rt, verdict, words):
    idle_pair(maker, bursts(mainline), bursts(rt))
    found = claim(maker.sealed(), "c1")
    assert found.verdict == verdict
    assert words in found.why
    assert (found.n, found.boots) == (30_000, 10)
    part = found.parts[0]
    assert part.judged_one_in == 1000
    # of 30,000 balls three are beyond what one in 10,000 exceeds: too few to say where that is
    assert [level.one_in for level in part.levels] == [100, 1000]
    assert [side.boots for side in part.sides] == [10, 10]
    assert part.sides[0].levels[1].level == rt
    assert part.sides[0].exceedance_bound_95 == 3 / 30_000


def test_the_advice_is_a_command_with_enough_boots(maker):
    """An interval is narrowed by the square root of the boots."""
    for number in range(1, 11):
        for kernel, priorities, worst, step in (
            ("mainline", "default", 5000, 3),
            ("rt", "chrt", 6000, 7),
        ):
            late = bursts(worst + 150 * (number * step % 11))
            maker.rally(kernel, priorities, "idle", late, repetition=number)
    part = claim(maker.sealed(plan_file="plans/my plan.toml"), "c1").parts[0]
    assert part.verdict == "inconclusive"
    advice = re.fullmatch(
        r"play (\d+) boots a cell: tennis match 'plans/my plan.toml' --boots \1 --out \S+",
        f"{part.next}: {part.command}",
    )
    assert advice, part
    # from the estimate to the rule's edge must fit half an interval
    half = math.log(part.estimate / part.interval[0])
    distance = math.log(part.estimate / 1.1)
    assert int(advice[1]) == pytest.approx(1.1 * 10 * (half / distance) ** 2, abs=2)


def test_too_few_boots_confirm_nothing(maker):
    for kernel, priorities, worst in (("mainline", "default", 5000), ("rt", "chrt", 6000)):
        maker.cell(kernel, priorities, "idle", bursts(worst, balls=10_000), boots=9)
    part = claim(maker.sealed(), "c1").parts[0]
    assert part.verdict == "inconclusive"
    assert "9 boots of a side are too few: a verdict needs 10" in part.why
    assert part.next == "play 10 boots a cell"
    assert part.command.startswith("tennis match PLAN --boots 10 --out ")


def late_in(maker, boots, *, kernel="mainline", usual=1000, late=900_000, balls=20, of=10):
    """Make boots of a kernel under stress; some of them have a burst of late balls."""
    priorities = "chrt" if kernel == "rt" else "default"
    for number in range(1, of + 1):
        latencies = bursts(usual)
        if number <= boots:
            latencies[1001 : 1001 + balls] = late + np.arange(balls)
        maker.rally(kernel, priorities, "stress", latencies, repetition=number)


def test_one_boot_decides_nothing_and_is_named(maker):
    """Nine boots stay as they are; the tenth lost its way."""
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.cell("mainline", "default", "stress", bursts(500_000))
    late_in(maker, 1, kernel="rt", usual=7000)
    part = claim(maker.sealed(), "c2").parts[1]
    assert part.verdict == "confirmed"
    assert "one boot of 10 (seed 1) has 900 µs, the median boot 7.00 µs: explain that boot" in (
        part.why
    )


@pytest.mark.parametrize(
    ("late", "balls", "of", "words"),
    [
        (4, 20, 10, "the interval holds both"),
        # most boots stay, but four have so many late balls that 1 in 1,000 of all balls is late
        (4, 40, 20, "4 boots of 20 (seeds 1, 2, 3, 4) have 900 µs"),
        # one in 1,000 stays; in each boot a single ball does not
        (10, 1, 10, "the interval holds both: 1.17 to 150"),
    ],
)
def test_boots_of_two_kinds_leave_it_open(maker, late, balls, of, words):
    maker.cell("rt", "chrt", "idle", bursts(6000), boots=of)
    late_in(maker, late, kernel="rt", usual=7000, balls=balls, of=of)
    part = claim(maker.sealed(), "c2").parts[1]
    assert part.verdict == "inconclusive"
    assert words in part.why


def test_c2_needs_all_of_its_parts(maker):
    for kernel, priorities, idle, stress in (
        ("mainline", "default", 5000, 500_000),
        ("rt", "chrt", 6000, 7000),
    ):
        maker.cell(kernel, priorities, "idle", bursts(idle))
        maker.cell(kernel, priorities, "stress", bursts(stress))
    found = claim(maker.sealed(), "c2")
    # today's forced handler runs its tasklet itself
    assert [part.verdict for part in found.parts] == ["confirmed", "confirmed", "another cause"]
    assert found.verdict == "another cause"
    assert "the same order, by another cause: the tasklet of a forced handler runs" in found.why


def test_rt_is_judged_as_the_thesis_played_it_with_hard_top_halves_beside(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.cell("rt", "chrt", "idle", bursts(4000), top="hard")
    match = maker.sealed()
    found = claim(match, "c1")
    assert (found.verdict, found.beside[0].verdict) == ("confirmed", "contradicted")
    assert [side.top_half for side in found.parts[0].sides] == ["forced", "hard"]
    shown = CliRunner().invoke(replicate, [str(maker.path)], terminal_width=200).stdout
    assert "With hard top halves:" in shown
    assert "With hard top halves:" in _match_report(Replication(match))


def test_two_matches_are_held_against_each_other(tmp_path):
    """Their verdicts, that is: the same plan with another length of an instruction, say."""
    for name, late in (("one", 6000), ("other", 4000)):
        made = MatchMaker(tmp_path / name)
        made.cell("mainline", "default", "idle", bursts(5000))
        made.cell("rt", "chrt", "idle", bursts(late))
        made.cell("mainline", "default", "stress", bursts(900_000))
        made.sealed()
    words = [str(tmp_path / "one"), "--against", str(tmp_path / "other")]
    shown = CliRunner().invoke(replicate, words, terminal_width=200).stdout
    assert re.search(
        r"c1: .*\n( +.*\n)?.*one: confirmed by 1 in 1,000; cause not looked at\s+1.2 .*\n"
        r".*other: contradicted by 1 in 1,000\s+0.8 ",
        shown,
    )
    assert "with opposite ones" in shown
    assert "table7.4-stress" not in shown
    same = CliRunner().invoke(replicate, [words[0], "--against", words[0]]).stdout
    assert ", 0 with opposite ones, 0 that only one of them decides." in " ".join(same.split())


def test_a_match_that_says_threaded_is_judged_as_forced(maker):
    maker.left_out("rt", "default", "idle", "nobody asked")
    idle_pair(maker, bursts(5000), bursts(6000))
    before = Replication(maker.sealed()).as_json()
    said = Mechanism(rally="rt-idle-chrt-tasklet-forced", ball=50, ns=1, sentence="It waited.")
    Mechanisms(cells={"rt/chrt/threaded/idle/interrupt": said}).write(maker.path)
    path = maker.path / "match.json"
    text = path.read_text()
    assert text.count('"top_half": "forced"') == 11  # ten boots, and the one that was left out
    path.write_text(text.replace('"top_half": "forced"', '"top_half": "threaded"'))
    old = Replication(open_match(maker.path))
    assert [one["verdict"] for one in old.as_json()["claims"]] == [
        one["verdict"] for one in before["claims"]
    ]
    assert old.claim("knutsson-2008", "c1").parts[0].sides[0].mechanism == said


def test_hard_top_halves_alone_give_no_verdict_on_what_was_forced(maker):
    maker.cell("mainline", "default", "idle", bursts(5000))
    maker.cell("rt", "chrt", "idle", bursts(6000), top="hard")
    found = claim(maker.sealed(), "c1")
    assert (found.verdict, found.beside[0].verdict) == ("not addressed", "confirmed")
    assert "rt chrt forced, idle" in found.why


@pytest.mark.parametrize(
    ("balls", "about", "words"),
    [
        (1500, {}, "boots of 1,500 balls are too short for 1 in 1,000: they need 3,000"),
        (3000, {"time_note": "4 ns per instruction"}, "times mean different things"),
    ],
)
def test_short_boots_and_times_that_mean_different_things_are_not_compared(
    maker, balls, about, words
):
    idle_pair(maker, bursts(5000, balls=balls), bursts(6000), **about)
    found = claim(maker.sealed(), "c1")
    assert found.verdict == found.parts[0].verdict == "inconclusive"
    assert words in found.why


def test_a_suspect_rally_does_not_speak(maker):
    fault = Fault(code="load_died", message="the load ended before the rally")
    idle_pair(maker, bursts(5000), bursts(6000), faults=[fault])
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert "is suspect (the load ended before the rally)" in found.why
    assert "suspect: the load ended before the rally" in _match_report(Replication(maker.sealed()))


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
    maker.cell("mainline", "default", "idle", bursts(5000), versions=mainline)
    maker.cell("rt", "chrt", "idle", bursts(6000), versions=rt)
    found = claim(maker.sealed(), "c1")
    assert found.verdict == ("inconclusive" if words else "confirmed")
    assert words in found.why
    assert not words or found.parts[0].next == "play these rallies again with one build of all"


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


def test_sound_boots_speak_for_a_suspect_one(maker):
    fault = Fault(code="load_died", message="it died")
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.rally("mainline", "default", "idle", bursts(9000), faults=[fault], repetition=11)
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "confirmed"
    assert (found.parts[0].sides[1].boots, found.parts[0].sides[1].n) == (10, 30_000)
    assert "without mainline-idle-default-tasklet-r11 is suspect" in found.why


def test_missed_balls_are_later_than_anything(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.cell("rt", "chrt", "stress", bursts(6000), misses=40)
    maker.cell("mainline", "default", "stress", bursts(900_000))
    found = claim(maker.sealed(), "c2")
    assert found.verdict == "contradicted"
    part = found.parts[1]
    assert math.isinf(part.interval[1])
    assert part.sides[0].misses == 400
    assert part.sides[0].exceedance_bound_95 is None
    text = json.dumps(Replication(maker.sealed()).as_json(), allow_nan=False)
    stress = next(c for c in json.loads(text)["claims"] if c["id"] == "c2")["parts"][1]
    assert stress["interval"][1] is None


@pytest.mark.parametrize("misses", [1, 40])
def test_missed_balls_confirm_that_a_side_is_later(maker, misses):
    """One missed ball is the latest of all; 40 in each boot make every interval unbounded."""
    idle_pair(maker, bursts(5000), bursts(6000), misses=0)
    maker.cell("mainline", "default", "stress", bursts(900_000), misses=misses)
    maker.cell("rt", "chrt", "stress", bursts(6000))
    found = claim(maker.sealed(), "c2")
    assert [part.verdict for part in found.parts[:2]] == ["confirmed"] * 2, found.why
    assert math.isinf(found.parts[0].largest)


def test_what_was_not_played_is_said(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.left_out("xenomai", "native", "idle", "no kernel given")
    match = maker.sealed()
    found = claim(match, "c5")
    assert found.verdict == "not addressed"
    assert "not played (not in the plan): xenomai native, xload" in found.why
    assert claim(match, "table6.1").verdict == "not addressable"


def test_a_part_of_the_loads_cannot_decide(maker):
    for kernel, priorities in (("rt", "default"), ("rt", "chrt"), ("mainline", "default")):
        maker.cell(kernel, priorities, "stress", bursts(5000))
    found = claim(maker.sealed(), "c3")
    assert found.verdict == "inconclusive"
    assert "play the load network too" in found.parts[0].next


@pytest.mark.parametrize("mainline", [0, 5000])
def test_latencies_of_nothing_and_balls_that_all_missed_break_nothing(maker, mainline):
    for load_name in ("stress", "network"):
        maker.cell("rt", "default", load_name, bursts(0, base=0))
        maker.cell("rt", "chrt", load_name, bursts(0, base=0))
        maker.cell("mainline", "default", load_name, bursts(mainline), misses=3000 - mainline // 5)
    found = Replication(maker.sealed())
    assert found.claim(KNUTSSON, "c3").verdict != "confirmed"
    assert json.dumps(found.as_json(), allow_nan=False)
    assert mainline or "every ball was missed" in _match_report(found)


def test_another_bottom_half_takes_no_part(maker):
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.cell("rt", "chrt", "idle", bursts(4000), half="thread")
    assert claim(maker.sealed(), "c1").verdict == "confirmed"


def test_altered_balls_are_not_believed(maker):
    place = maker.cell("mainline", "default", "idle", bursts(5000))
    maker.cell("rt", "chrt", "idle", bursts(6000))
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
    assert "c1  INCONCLUSIVE" in done.output


def test_an_idle_board_is_not_held_against_a_loaded_one_whose_link_may_have_slept(
    maker, monkeypatch
):
    """A Pi 5's rallies that do not say so: those of one load still speak."""
    monkeypatch.setattr(Target, "is_link_unknown", property(lambda _: True))
    maker.cell("mainline", "default", "idle", bursts(6000))
    match = maker.sealed()
    assert not any(match.trouble(one.name) for one in match.scheduled)
    maker.cell("mainline", "default", "stress", bursts(9000))
    match = maker.sealed()
    assert all("slept between balls" in match.trouble(one.name) for one in match.scheduled)


def test_a_rally_of_something_else_is_not_believed(maker):
    """Somebody copied one rally over another: its own hashes are right."""
    slow = maker.cell("mainline", "default", "idle", bursts(6000))
    quick = maker.cell("rt", "chrt", "idle", bursts(5000))
    between = maker.path / "between"
    slow.rename(between)
    quick.rename(slow)
    between.rename(quick)
    assert open_rally(slow).balls == 3000
    found = claim(maker.sealed(), "c1")
    assert found.verdict == "inconclusive"
    assert "is not the rally that match.json lists (kernel rt)" in found.why


def test_a_link_to_elsewhere_is_not_followed(maker, tmp_path):
    place = maker.cell("mainline", "default", "idle", bursts(6000))
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
    (lambda _: " " * (1 << 26) + "{}", "larger than 64 MiB"),
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


def test_words_of_others_stay_words_on_the_page(maker):
    fault = Fault(code="x", message="</td><script>alert(1)</script>{{ 7 * 7 }}")
    idle_pair(maker, bursts(5000), bursts(6000), faults=[fault])
    maker.left_out("xenomai", "native", "idle", "<img src=x onerror=alert(1)>")
    match = maker.sealed(title="<b>{{ 6 * 7 }}</b>\x1b[2J")
    match.record.troubles["x"] = "<i>"
    page = _match_report(Replication(match))
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;b&gt;{{ 6 * 7 }}&lt;/b&gt;" in page
    assert "\x1b" not in page
    assert _match_report(Replication(match)) == page
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
        "n": 30_000,
    }
    assert first["parts"][0]["interval"] == [1.2, 1.2]
    assert page.read_text().startswith("<!doctype html>")
    again = CliRunner().invoke(replicate, [str(maker.path), "--out", str(page)])
    assert "exists" in str(again.exception)
    shown = " ".join(CliRunner().invoke(replicate, [str(maker.path)]).stdout.split())
    assert "c1 CONFIRMED Idle, mainline answers faster than PREEMPT_RT (N = 30,000, 10" in shown
    # what was published, and what is judged, in one sentence
    assert (
        "1.2 times (1.2 to 1.2), judged by 1 in 1,000 and rarer, of all balls; published 1.92: "
        "the thesis' maximum of 10,000,000 balls; the latest balls here: 1.2"
    ) in shown
    assert "judged by 1 in 1,000 and rarer, of all balls; published 1.92" in page.read_text()


@pytest.mark.parametrize(
    ("sentence", "usual", "verdict"),
    [
        ("irq/17-racquet waited 2 ms for the softirq lock that rcuc/0 held.", 0, "another cause"),
        ("interrupts were off for 2 ms in kfree.", 0, "confirmed"),
        # in each boot one ball waited for the lock, and no other one
        ("irq/17-racquet waited 2 ms for the softirq lock that rcuc/0 held.", 5, "inconclusive"),
    ],
)
def test_a_lock_that_2008_did_not_have_is_another_cause(maker, sentence, usual, verdict):
    late = bursts(2_000_000)
    if usual:
        late = bursts(200_000)
        late[1000] = 2_000_000
    maker.cell("rt", "default", "idle", bursts(50_000 if usual else 500_000))
    maker.cell("rt", "default", "stress", late)
    match = maker.sealed()
    ball = int(late.argmax())
    looked_at(match, "rt/default/forced/stress/interrupt", sentence, ball=ball)
    found = claim(open_match(match.path), "table7.3-stress-interrupt")
    assert (found.verdict, found.cause) == (
        verdict,
        "looked at" if verdict == "confirmed" else "",
    ), found.why


def looked_at(match, name, sentence, *, ball):
    """Keep what `tennis replicate --explain` found out about a ball of a side's first boot."""
    kernel, priorities, _, load_name, _ = name.split("/")
    rally = f"{kernel}-{load_name}-{priorities}-tasklet{'-forced' if kernel == 'rt' else ''}"
    known = Mechanisms.read(match.path).cells
    said = Mechanism(rally=rally, ball=ball, ns=1, sentence=sentence)
    Mechanisms(cells={**known, name: said}).write(match.path)


def shown_of(match):
    """Return what the command prints of a match, its JSON, its page and a demo's story."""
    text = " ".join(CliRunner().invoke(replicate, [str(match.path)]).stdout.split())
    told = CliRunner().invoke(replicate, [str(match.path), "--json"]).stdout
    return text, json.loads(told)["claims"], _match_report(Replication(open_match(match.path)))


def test_a_cause_that_nobody_looked_at_is_not_confirmed(maker):
    """The same balls, with --explain, may turn out to be late by another cause."""
    idle_pair(maker, bursts(5000), bursts(6000))
    match = maker.sealed()
    text, claims, page = shown_of(match)
    words = "by 1 in 1,000; cause not looked at"
    assert f"confirmed {words}" in text
    assert "rt chrt later than mainline 1.92 1.2 (1.2 to 1.2) confirmed* * cause not looked" in text
    assert "The cause of 2 confirmed was not looked at: --explain does." in text
    assert (claims[0]["said"], claims[0]["cause"]) == (f"confirmed {words}", "not looked at")
    assert (claims[0]["parts"][0]["said"], claims[0]["verdict"]) == (
        f"confirmed {words}",
        "confirmed",
    )
    assert page.count(words) == 2
    assert "Nobody looked at the cause of 2 confirmed" in page

    looked_at(match, "rt/chrt/forced/idle/interrupt", "Interrupts were off.", ball=50)
    text, claims, page = shown_of(match)
    assert (claims[0]["said"], claims[0]["cause"]) == ("confirmed by 1 in 1,000", "looked at")
    assert "not looked at" not in text + page

    # a boot that was added since has a later ball: nobody looked at that one
    late = bursts(6000)
    late[70] = 6500
    maker.rally("rt", "chrt", "idle", late, repetition=11)
    claims = Replication(maker.sealed()).as_json()["claims"]
    assert claims[0]["cause"] == "not looked at"
    assert claims[0]["parts"][0]["sides"][0]["mechanism"] is None


def test_a_statement_that_nothing_is_late_has_no_cause(maker):
    for load_name, worst in (("idle", 6000), ("stress", 7000), ("network", 7000)):
        maker.cell("xenomai", "native", load_name, bursts(worst))
    found = claim(maker.sealed(), "c4")
    assert (found.sentence, found.cause) == ("confirmed by 1 in 1,000", "")


def test_what_is_no_number_gets_words(maker):
    """Missed balls are later than any ratio; without such a ball, 0 is a ratio of shares."""
    idle_pair(maker, bursts(5000), bursts(6000))
    maker.cell("mainline", "default", "network", bursts(5000), misses=60)
    maker.cell("rt", "chrt", "network", bursts(5000), bursts(100))
    for number in range(1, 11):
        some = two_kinds(12 if number < 3 else 6, 6000)
        maker.rally("mainline", "default", "stress", some, repetition=number)
    maker.cell("rt", "chrt", "stress", np.full(6000, 5000))
    match = maker.sealed()
    text, _, page = shown_of(match)
    for shown in (text, page):
        assert "unbounded" not in shown
        assert "0 (0 to 0)" not in shown
    network = claim(match, "ranking-network-interrupt-mainline-rt-chrt").parts[0]
    assert network.ratio.startswith("no number (at least ")
    assert network.ratio.endswith("): 1 in 1,000 of mainline, network had no answer")


def two_kinds(late, balls=10_000):
    """Return latencies of which so many wait for a lock."""
    found = np.full(balls, 5000)
    found[:late] = 2_000_000
    return found


def test_between_two_kinds_of_balls_a_level_is_no_time(maker):
    """At 1 in 1,000 it is 400 times, and nothing but 1.8 times as many balls waited."""
    maker.cell("mainline", "default", "idle", two_kinds(8))
    maker.cell("mainline", "default", "stress", two_kinds(15))
    part = claim(maker.sealed(), "c2").parts[0]
    assert part.verdict == "inconclusive"
    assert part.estimate == 400


@pytest.mark.parametrize("tasks", ["posix", None])
def test_tasks_of_linux_do_not_load_xenomais_core(maker, tasks):
    """xload on EVL and Cobalt plays threads of Linux unless somebody built it: c5 means others."""
    answers = bursts(100_000), bursts(100_000)
    maker.rally("xenomai", "native", "idle", *answers)
    maker.rally("xenomai", "native", "xload", *answers, tasks=tasks)
    maker.rally("rt", "chrt", "network", *answers)
    found = Replication(maker.sealed())
    for name in ("c5", "table7.1-xload-interrupt", "table7.1-xload-scheduling"):
        entry = found.claim(KNUTSSON, name)
        assert entry.verdict == "not addressed"
        assert "build xload for it (docs/loads.md)" in entry.why
        assert "not played" not in entry.why
        assert (tasks or "does not say") in entry.why


def test_a_match_of_many_large_rallies_is_bounded(maker, monkeypatch):
    """Each of them may be within its own limit: all are open at once."""
    idle_pair(maker, bursts(51_000), bursts(98_000))
    monkeypatch.setattr(folder, "_distinct_max", lambda: 3)
    found = Replication(maker.sealed())
    assert "different latencies" in found.match.trouble("mainline-idle-default-tasklet")
    assert found.claim(KNUTSSON, "c1").verdict == "inconclusive"


def test_only_whole_cycles_of_a_load_are_judged(maker):
    """A part of a wave at a boot's end says how often it was met, and decides nothing."""
    maker.cell("mainline", "default", "idle", bursts(5000, balls=300))
    maker.cell("mainline", "default", "stress", bursts(900_000, balls=300), cycle_ns=5 * 10**9)
    maker.cell("rt", "chrt", "idle", bursts(5000))
    latencies = bursts(5000, balls=7500)
    latencies[6100:] = 900_000
    maker.cell("rt", "chrt", "stress", latencies, bursts(5, balls=7500), cycle_ns=2 * 10**9)
    match = maker.sealed()
    found = Replication(match)
    mainline, rt, _ = found.claim(KNUTSSON, "c2").parts
    assert rt.verdict == "confirmed", rt.why
    stressed = next(side for side in rt.sides if side.load == "stress")
    behind, balls = found.behind
    assert stressed.n + stressed.behind == 75_000
    assert 13_000 < stressed.behind == behind < 17_000
    assert balls == 3_000 + 30_000 + 75_000
    words = "has 300 balls, less than a cycle of stress (5 s): 5,084 would do"
    assert mainline.verdict == "inconclusive"
    assert words in mainline.why
    states = [row.state for row in _rows_of_rallies(match)]
    assert f"complete; it {words}" in states
    assert any(re.fullmatch(r"complete; [56],\d\d\d balls judged", state) for state in states)
    shown = CliRunner().invoke(replicate, [str(match.path)])
    assert f"without the last {behind:,} of {balls:,} balls" in " ".join(shown.output.split())
