"""A check finds what was planted and nothing else; a bad capture never gives a wrong verdict."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tennis.rally import Rally, part_path, seal
from tennis.rally.balls import FIELDS
from tennis.rally.columns import Column, Table
from tennis.report.pages.rally import _report
from tennis.report.umpire import Check, open_capture
from tennis.report.umpire.agreement.check import check_capture
from tennis.report.umpire.analyser import Analyser
from tennis.report.umpire.rally import umpire
from tennis.report.umpire.simulate import SimulatedRally, simulate
from tests.support.synthetic import latencies, make_rally, sealed_again

pytestmark = pytest.mark.slow

RATE_HZ = 24_000_000


@pytest.fixture(scope="module")
def rally(tmp_path_factory):
    return make_rally(tmp_path_factory.mktemp("umpire") / "first", balls=1000, misses=3)


def checked(rally: Rally, folder, **analyser) -> Check:
    path = folder / "capture.sr"
    path.unlink(missing_ok=True)
    simulate(rally, path, Analyser(**analyser))
    return check_capture(rally, open_capture(path))


def open_loop(out, balls=1000, rate_hz=1000, spread=True, seed=1) -> Rally:
    """Return a rally at a fixed rate; without ``spread`` all latencies are alike."""
    made = make_rally(
        out.with_name(out.name + "-gaps"),
        rise=latencies(balls, seed).astype(int) if spread else np.full(balls, 1600),
        schedule=latencies(balls, seed + 1).astype(int) if spread else np.full(balls, 1400),
    )
    protocol = made.manifest.protocol.model_copy(
        update={
            "loop": "open",
            "rate_hz": float(rate_hz),
            "gap_min_ns": 0,
            "gap_max_ns": 0,
            "timeout_ns": 10**9 // rate_hz,
        }
    )
    table = next(iter(made.batches()))
    served = 10**9 + np.arange(balls, dtype=np.int64) * (10**9 // rate_hz)

    rows = Table({**table.columns, "served_ns": Column(served)})
    return sealed_again(made, out, rows, protocol=protocol)


# of 1,000 balls at 3 MHz no interval of a bias is within 8 ns, wherever it lies
@pytest.mark.parametrize("rate_hz", [3_000_000, 12_000_000, 25_000_000, 100_000_000])
def test_the_spread_is_that_of_the_samples(rally, tmp_path, rate_hz):
    found = checked(rally, tmp_path, rate_hz=rate_hz)
    assert found.verdict == ("pass" if rate_hz > 3_000_000 else "inconclusive"), found.reason
    sample = 1e9 / rate_hz
    assert found.scheduling.sd_ns == pytest.approx(sample / np.sqrt(6), rel=0.15)
    assert found.clock.sd_ns == pytest.approx(sample / np.sqrt(12), rel=0.15)


def with_ticks(rally: Rally, out, tick_hz: int) -> Rally:
    """Return a rally's balls as a Brickwall of another clock would have had them."""
    columns = {**Table.joined(rally.batches(), FIELDS).columns}
    for name in ("rise_ticks", "fall_ticks"):
        ticks = columns[name]
        columns[name] = Column(ticks.values // np.uint32(10**9 // tick_hz), ticks.missing)
    instrument = rally.manifest.instrument.model_copy(update={"tick_hz": tick_hz})
    return sealed_again(rally, out, Table(columns), instrument=instrument)


@pytest.mark.parametrize("bias_ns", [16.0, -16.0])
def test_two_ticks_of_bias_are_no_pass(rally, tmp_path, bias_ns):
    """Of a Pico's clock, and of the built-in instrument's, which has no such tick."""
    for played in (rally, with_ticks(rally, tmp_path / "pico", 125_000_000)):
        found = checked(played, tmp_path, interrupt_bias_ns=bias_ns)
        assert found.verdict == "inconclusive", found.reason
        said = re.search(r"can confirm only ([0-9.]+) ns, not 8 ns", found.reason)
        worst = max(map(abs, found.interrupt.bias_ci_ns))
        assert float(said[1]) == pytest.approx(worst, abs=0.05)
        assert 16 < worst < 20
        assert "swap the two channels" in found.reason
        assert check_capture(played, open_capture(tmp_path / "capture.sr"), 20).verdict == "pass"
        assert check_capture(played, open_capture(tmp_path / "capture.sr"), 10).verdict == "fail"


@pytest.mark.parametrize(
    "analyser",
    [
        {"rate_hz": 1_000_000},
        {"rate_hz": 2_000_000, "jitter_ns": 40},
        {"jitter_ns": 40, "early_ms": 700},
    ],
)
def test_a_coarse_or_noisy_analyser_vouches_for_what_it_can(rally, tmp_path, analyser):
    found = checked(rally, tmp_path, clock_ppm=20, **analyser)
    assert found.verdict == "inconclusive", found.reason
    said = re.search(r"can confirm only ([0-9.]+) ns", found.reason)
    worst = max(max(map(abs, d.bias_ci_ns)) for d in (found.interrupt, found.scheduling))
    assert float(said[1]) == pytest.approx(worst, abs=0.05)
    assert worst > 8
    assert "play more balls, or capture at a higher rate" in found.reason


SHIFTS = {
    # which columns are 3 us later than the truth
    "rise and fall": (3000, 3000, 0),
    "fall": (0, 3000, 0),
    "rise": (-3000, 0, 0),
    "served": (0, 0, 3000),
    "served earlier": (0, 0, -3000),
    "served much later": (0, 0, 9000),
}


ANALYSERS = {"24 MHz": {}, "1 MHz": {"rate_hz": 1_000_000}, "noisy": {"jitter_ns": 40}}


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """Return a rally, and what some analysers saw of it."""
    folder = tmp_path_factory.mktemp("truth")
    played = make_rally(folder / "truth", balls=1000, rise=np.full(1000, 9000))
    for name, analyser in ANALYSERS.items():
        simulate(played, folder / f"{name}.sr", Analyser(clock_ppm=20, **analyser))
        assert check_capture(played, open_capture(folder / f"{name}.sr")).odd == {}
    return played


@pytest.mark.parametrize(
    ("analyser", "what", "ball"),
    [(analyser, what, 417) for analyser in ANALYSERS for what in SHIFTS]
    + [("24 MHz", "served", 0), ("1 MHz", "served", 0), ("noisy", "served", 999)],
)
def test_a_single_ball_shifted_by_3_us_is_named(truth, tmp_path, analyser, what, ball):
    """The truth is what the analyser saw; the rally says something else of one ball."""
    table = Table.joined(truth.batches(), FIELDS)
    columns = {name: one.filled(0) for name, one in table.columns.items()}
    for name, shift in zip(("rise_ticks", "fall_ticks", "served_ns"), SHIFTS[what], strict=True):
        columns[name][ball] += shift
    rows = {name: Column(one.astype(table[name].values.dtype)) for name, one in columns.items()}
    rally = sealed_again(truth, tmp_path / "r", Table(rows))
    found = check_capture(rally, open_capture(truth.path.parent / f"{analyser}.sr"))
    assert found.verdict == "fail", found.reason
    assert list(found.odd) == [ball]
    assert f"ball {ball}: " in found.reason
    assert {"ball": ball, "what": found.odd[ball]} in found.as_json()["odd"]


def test_a_bias_of_the_scheduling_latency_is_found(rally, tmp_path):
    found = checked(rally, tmp_path, scheduling_bias_ns=-80.0)
    assert found.verdict == "fail"
    assert found.scheduling.bias_ns == pytest.approx(-80, abs=3)
    assert found.interrupt.bias_ns == pytest.approx(0, abs=3)
    assert "scheduling latency is off by -8" in found.reason


def test_serves_in_step_with_the_samples_are_told(tmp_path):
    """24 samples a microsecond, a ball each millisecond, no clock error: always the same phase."""
    rally = open_loop(tmp_path / "open", balls=1500)
    found = checked(rally, tmp_path)
    assert found.unevenness["ping"] > 0.9
    low, high = found.interrupt.bias_ci_ns
    assert low <= 0 <= high
    assert high - low > 40
    # with a real clock error the phases move on
    found = checked(rally, tmp_path, clock_ppm=17.3)
    assert not any(found.unevenness.values())
    assert found.verdict == "pass", found.reason


def test_balls_at_a_fixed_rate_are_paired_by_their_latencies(tmp_path):
    rally = open_loop(tmp_path / "open", balls=3000)
    found = checked(rally, tmp_path, late_ms=1000.4, clock_ppm=12)
    assert (found.verdict, found.unmatched) == ("pass", 0), found.reason
    assert found.uncovered == 1001
    assert found.off == 0


def test_alike_balls_at_a_fixed_rate_are_paired_only_if_all_are_there(tmp_path):
    rally = open_loop(tmp_path / "alike", spread=False)
    found = checked(rally, tmp_path, clock_ppm=12)
    assert (found.balls, found.verdict) == (1000, "inconclusive")
    assert "nothing shows that it is a capture of this rally" in found.reason
    found = checked(rally, tmp_path, late_ms=300.4, clock_ppm=12)
    assert found.verdict == "not run"
    assert "nobody can tell which is which" in found.reason


@pytest.mark.parametrize(
    ("analyser", "verdict", "words"),
    [
        ({"late_ms": 300}, "pass", "of 1000 (the capture does not cover the others)"),
        ({"early_ms": 300}, "pass", "of 1000 (the capture does not cover the others)"),
        ({"late_ms": 200.0002, "early_ms": 300}, "pass", "does not cover"),
        ({"swapped": True}, "not run", "swapped in the capture"),
        ({"invert_ping": True}, "not run", "check it again with --invert ping"),
        ({"invert_reply": True}, "not run", "check it again with --invert reply"),
        ({"invert_ping": True, "invert_reply": True}, "not run", "--invert both"),
        ({"swapped": True, "invert_ping": True}, "not run", "swapped and ping is inverted"),
        ({"rate_hz": 900_000}, "not run", "capture at 2 MHz or more"),
        ({"glitches": 30}, "inconclusive", "glitches"),
        ({"lose_every": 40}, "inconclusive", "pings that the analyser missed"),
        ({"lose_ms": 3.3}, "inconclusive", "samples were lost there"),
        ({"lose_ms": 40}, "inconclusive", "samples were lost there"),
        ({"clock_ppm": 400}, "fail", "the clocks differ by +400 ppm"),
        ({"early_ms": 960}, "inconclusive", "too few balls"),
    ],
)
def test_what_is_wrong_with_a_capture_is_told(rally, tmp_path, analyser, verdict, words):
    found = checked(rally, tmp_path, **analyser)
    assert (found.verdict, words in found.reason) == (verdict, True), found.reason
    if verdict == "not run":
        assert found.interrupt is None


@pytest.mark.parametrize(("longer", "verdict"), [(1, "pass"), (1.2, "not run")])
def test_pulses_of_another_length_are_not_this_rallys(rally, tmp_path, longer, verdict):
    played = SimulatedRally.of(rally)
    pulse_ns = round(longer * played.protocol.pulse_ns)
    protocol = played.protocol.model_copy(update={"pulse_ns": pulse_ns})
    simulate(replace(played, protocol=protocol), tmp_path / "capture.sr")
    found = check_capture(rally, open_capture(tmp_path / "capture.sr"))
    assert found.verdict == verdict, found.reason
    assert ("it is not the ping wire" in found.reason) == (verdict == "not run"), found.reason


@pytest.mark.parametrize("bias", [0.0, 430.0])
@pytest.mark.parametrize("seed", range(12))
def test_faults_in_any_mixture_never_make_a_wrong_verdict(rally, tmp_path, seed, bias):
    """Nothing that a capture suffers may condemn a right instrument, or acquit a wrong one."""
    random = np.random.default_rng(seed)

    def some(value):
        return value if random.random() < 0.4 else 0

    found = checked(
        rally,
        tmp_path,
        seed=seed,
        interrupt_bias_ns=bias,
        rate_hz=int(random.choice([1_000_000, 2_000_000, 8_000_000, RATE_HZ])),
        clock_ppm=float(random.uniform(-100, 100)),
        jitter_ns=some(float(random.uniform(0, 30))),
        late_ms=some(float(random.uniform(1, 500))),
        early_ms=some(float(random.uniform(1, 400))),
        swapped=bool(some(1)),
        invert_ping=bool(some(1)),
        invert_reply=bool(some(1)),
        glitches=some(int(random.integers(1, 200))),
        lose_ms=some(float(random.uniform(0.1, 50))),
        lose_every=some(int(random.integers(2, 200))),
    )
    assert found.verdict != ("pass" if bias else "fail"), found.reason
    if found.interrupt is not None and found.interrupt.balls > 100:
        assert abs(found.interrupt.bias_ns - bias) < 0.2 * found.capture.resolution_ns + 10


def test_a_faulty_brickwall_is_not_excused(rally, tmp_path):
    """Balls that it made up, or lost, or timed wrongly now and then: with a good capture."""
    truth = tmp_path / "capture.sr"
    table = next(iter(rally.batches()))
    rise, fall = (table[name].filled(np.nan) for name in ("rise_ticks", "fall_ticks"))
    wrong = np.where(np.arange(1000) % 100 == 50, 20_000, 0)
    keep = ~np.isnan(fall)
    other = make_rally(
        tmp_path / "wrong",
        rise=np.where(keep, rise, 1) + wrong,
        schedule=np.where(keep, fall - rise, 1),
    )
    simulate(rally, truth, Analyser())
    found = check_capture(other, open_capture(truth))
    assert found.verdict == "fail", found.reason
    assert "far off the others" in found.reason or "answered by one" in found.reason
    assert found.off + found.disagree >= 10


def test_a_capture_of_another_rally_is_told(rally, tmp_path):
    other = make_rally(tmp_path / "other", balls=1001)
    capture = tmp_path / "capture.sr"
    simulate(other, capture, Analyser())
    found = check_capture(rally, open_capture(capture))
    assert found.verdict == "not run"
    assert "another rally" in found.reason


def test_the_command_says_verdict_bias_and_clock(rally, tmp_path, typed):
    good, bad = tmp_path / "good.sr", tmp_path / "bad.sr"
    assert typed("umpire", "simulate", rally.path, "--out", good)[0] == 0
    whole = good.read_bytes()
    code, _, err = typed("umpire", "simulate", rally.path, "--out", good)
    assert (code, "exists" in err, good.read_bytes() == whole) == (2, True, True)
    planted = ("--interrupt-bias-ns", 430, "--clock-ppm", 30, "--out", bad)
    assert typed("umpire", "simulate", rally.path, *planted)[0] == 0
    code, out, _ = typed("umpire", "check", rally.path, "--capture", good)
    assert code == 0
    assert "pass: 1000 balls: no bias above" in out
    code, out, _ = typed("umpire", "check", rally.path, "--capture", bad, "--json")
    assert code == 1
    said = json.loads(out)
    assert said["verdict"] == "fail"
    assert (said["balls"], said["unmatched"]) == (1000, 0)
    assert said["interrupt"]["bias_ci_ns"][0] < 430 < said["interrupt"]["bias_ci_ns"][1]
    assert said["clock_ppm_ci"][0] < 30 < said["clock_ppm_ci"][1]
    assert set(said["scheduling"]) >= {"bias_ns", "bias_ci_ns", "sd_ns"}


def test_a_suggested_option_mends_the_check(rally, tmp_path, typed):
    capture = tmp_path / "capture.sr"
    typed("umpire", "simulate", rally.path, "--swap", "--invert", "reply", "--out", capture)
    code, out, _ = typed("umpire", "check", rally.path, "--capture", capture)
    assert code == 1
    assert "--ping reply --reply ping --invert reply" in out
    mended = ("--ping", "reply", "--reply", "ping", "--invert", "reply")
    code, out, _ = typed("umpire", "check", rally.path, "--capture", capture, *mended)
    assert code == 0, out


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04garbage", b"hello\n"])
def test_a_capture_that_is_none_is_no_verdict(rally, tmp_path, typed, content):
    capture = tmp_path / "capture.sr"
    capture.write_bytes(content)
    code, out, _ = typed("umpire", "check", rally.path, "--capture", capture, "--json")
    assert code == 1
    assert json.loads(out)["verdict"] == "not run"
    assert json.loads(out)["interrupt"]["bias_ns"] is None


def test_a_rally_without_a_capture_is_told_what_to_do(rally, typed):
    code, out, _ = typed("umpire", "check", rally.path)
    assert code == 1
    assert "not run" in out
    assert "tennis rally --umpire" in out
    assert umpire(rally).verdict == "not run"


def test_a_report_says_what_the_umpire_saw(rally, tmp_path):
    """A folder whose manifest lists a capture; what is broken in it is no verdict, and no crash."""
    assert "Umpire" not in _report([rally])
    for content, words in ((None, "pass: 1000 balls"), (b"PK broken", "not run: ")):
        part = part_path(tmp_path / f"with-{content is None}")
        part.mkdir()
        (part / "frames.bin").write_bytes(b"")
        if content is None:
            simulate(rally, part / "capture.sr", Analyser())
        else:
            (part / "capture.sr").write_bytes(content)
        bare = rally.manifest.model_copy(update={"files": {}})
        watched = seal(part, part.with_suffix(""), bare, rally.batches(), [])
        assert f"<dt>Umpire</dt><dd>{words}" in _report([watched])
