"""The host's side of a physical bench against a fake Brickwall: quick, and for what is rare."""

import json
import math
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tennis.bench.instruments import verifications
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import play_of
from tennis.bench.instruments.serial_link import SerialLink
from tennis.bench.physical.wired import WiredBench
from tennis.kit import wire
from tennis.kit.errors import BenchError, TennisError
from tennis.kit.gaps import gap_ns
from tennis.kit.wiring import wiring
from tennis.play.commissioning.request import Amount
from tennis.play.doctor.pico import _examine_pico, _wire_findings
from tennis.play.loop_delay import Loop
from tennis.play.rally import Watch, play, resume
from tennis.play.verification import Verification
from tennis.play.verify import verify
from tennis.rally import Rally
from tennis.rally.calibration import doubt
from tennis.rally.manifest import Instrument, VerificationRecord
from tennis.rally.statistics import summarize
from tennis.report.pages.rally import _report
from tests.support.fake_brickwall import TICK_HZ, FakeBrickwall, ball_of, wires
from tests.support.plans import plan_of
from tests.support.terminal import tennis
from tests.support.ticks import interrupt_ticks, scheduling_ticks

pytestmark = pytest.mark.slow

FEW = Amount(each=3, random=600)


@pytest.fixture(autouse=True)
def _data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "data"))


@pytest.fixture
def fake() -> Iterator[FakeBrickwall]:
    with FakeBrickwall() as instrument:
        yield instrument


def played(fake: FakeBrickwall, out: Path, observe=lambda _: None, **asked) -> Rally:
    plan = plan_of(bench="pi", port=fake.port, **asked)
    return play(WiredBench(fake.port), plan, out, Watch(observe))


def pairs(rally: Rally) -> list[tuple[int, int]]:
    scheduling = scheduling_ticks(rally)
    return list(zip(interrupt_ticks(rally), scheduling, strict=True))


def made_up(balls: int) -> list[tuple[int, int]]:
    return [(rise, fall - rise) for _, rise, fall in (ball_of(i, 0) for i in range(balls))]


def killed(fake: FakeBrickwall, out: Path, *, balls: int, at: int) -> None:
    """Play until so many balls came; nothing is tidied up."""

    def die(progress) -> None:
        if progress.balls >= at:
            raise MemoryError

    with pytest.raises(MemoryError):
        played(fake, out, die, balls=balls)


def test_a_rally(fake, tmp_path):
    rally = played(fake, tmp_path / "r", balls=3000, kernel="rt", load="stress")
    assert pairs(rally) == made_up(3000)
    manifest = rally.manifest
    assert (manifest.bench, manifest.instrument.kind) == ("pi", "brickwall")
    assert manifest.instrument.serial == fake.hello["unique_id"]
    assert manifest.target.managed == "not managed by tennis"
    assert (manifest.target.kernel, manifest.load.name) == ("rt", "stress")
    assert (manifest.target.release, manifest.target.module_sha256) == ("unknown", None)
    assert manifest.target.bottom_half == manifest.target.priorities == "unknown"
    assert fake.said.count("ack") >= 2
    assert not (tmp_path / "r" / "console.log").exists()
    assert rally.manifest.target.module == "unknown"  # nobody asked the target
    assert "not managed by tennis" in _report([rally])


def test_a_rally_that_was_interrupted_by_force_goes_on_with_what_is_missing(fake, tmp_path):
    out = tmp_path / "r"
    killed(fake, out, balls=4000, at=1001)
    kept = len(list((tmp_path / "r.part").iterdir()))
    assert kept >= 2
    rally = resume(WiredBench(fake.port), out, Watch())
    assert pairs(rally) == made_up(4000)
    assert (rally.manifest.ended, rally.manifest.suspect) == ("complete", False)
    assert "stop" in fake.said  # the play that was left
    served = [ns for batch in rally.batches(["served_ns"]) for ns in batch["served_ns"].tolist()]
    assert served == sorted(set(served))


def test_all_balls_are_there_but_no_end(fake, tmp_path):
    """Killed in the last moment: nothing is left to be played, and nobody looked at the end."""
    out = tmp_path / "r"
    killed(fake, out, balls=500, at=500)
    said = fake.said.count("play")
    rally = resume(WiredBench(fake.port), out, Watch())
    assert (rally.balls, rally.manifest.ended) == (500, "complete")
    assert [fault.code for fault in rally.manifest.faults] == ["not_closed"]
    assert fake.said.count("play") == said


def test_another_brickwall_does_not_finish_a_rally(fake, tmp_path):
    out = tmp_path / "r"
    killed(fake, out, balls=400, at=101)
    fake.hello["unique_id"] = "e660000000000002"
    with pytest.raises(TennisError, match=r"begun with serial e660000000000001.*a rally needs one"):
        resume(WiredBench(fake.port), out, Watch())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unique_id": "e660000000000002"}, "the rally started with the Brickwall"),
        (
            {"tick_hz": 133_000_000, "clock_hz": 133_000_000},
            r"tick_hz 125000000, but .* 133000000.*resume \S+ --port \S+`",
        ),
    ],
)
def test_another_brickwall_on_the_same_port_while_it_plays(fake, tmp_path, change, words):
    def swap(progress) -> None:
        if progress.balls > 500 and not change.items() <= fake.hello.items():
            fake.hello |= change
            fake.unplug(restart=True)
            fake.plug_in()

    fake.balls_a_second = 20_000
    with pytest.raises(BenchError, match=words):
        played(fake, tmp_path / "r", swap, balls=20_000)


def test_events_become_faults(fake, tmp_path):
    fake.events = [(128, 5, 0), (192, 6, 2), (256, 7, 1), (320, 8, 41)]
    rally = played(fake, tmp_path / "r", balls=640)
    manifest = rally.manifest
    assert [fault.code for fault in manifest.faults] == ["overrun", "held_line"]
    assert "serve fewer balls a second" in manifest.faults[0].message
    assert "tennis doctor --port" in manifest.faults[1].message
    # with 41 that were not listed
    assert (manifest.counts.runts, manifest.suspect, manifest.ended) == (42, True, "complete")
    assert [event["what"] for event in rally.events][:3] == ["held", "overrun", "runt"]


def backwards(number: int, clock: int) -> tuple[int, int, int]:
    return (clock if number != 30 else 1), 1000, 5000


OWN = "in the Brickwall's firmware: "
UNDECIDED = {"fault_at": 64, "error": ""}
SAID_AGAIN = [(64, "again"), (128, "again"), (192, "again")]


@pytest.mark.parametrize(
    ("changes", "codes", "words"),
    [
        # a ball without a decision, and a ping that cannot rise
        (
            UNDECIDED | {"events": [(64, 6, 4)]},
            ["exception", "undecided"],
            "the reply wire has glitches",
        ),
        (
            UNDECIDED | {"events": [(64, 6, 3)]},
            ["exception", "no_ping"],
            "the ping wire does not rise",
        ),
        ({"fault_at": 128}, ["exception"], OWN + "ValueError: made up, line 7"),
        # of any size, and nothing in it moves a cursor
        ({"fault_at": 128, "error": "\x1b[2J\ud800" + "x" * 4000}, ["exception"], OWN + "[2J xxx"),
        ({"exceptions": SAID_AGAIN}, ["exception"], OWN + "again (3 times)"),
        ({"ball": backwards}, ["clock_backwards"], "1 ball served before"),
        ({"miscounts": 3}, ["miscounted"], "counted 3 misses, but 0 came"),
        # it calls the rally complete too early
        ({"ends_at": 128}, ["miscounted"], "128 balls came of 640 planned, and the instrument"),
    ],
)
def test_what_an_instrument_does_wrong_is_a_fault(fake, tmp_path, changes, codes, words):
    for name, value in changes.items():
        setattr(fake, name, value)
    rally = played(fake, tmp_path / "r", balls=640)
    assert [fault.code for fault in rally.manifest.faults] == codes
    message = rally.manifest.faults[-1].message
    assert words in message
    assert len(message) < 500
    stopped_at = changes.get("fault_at", changes.get("ends_at", 640))
    assert rally.balls == stopped_at
    assert rally.manifest.ended == "fault" or stopped_at == 640


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"firmware": "2"}, r"has firmware 2, this tennis needs 1: run `tennis brickwall flash"),
        ({"firmware_sha256": "0" * 64}, "not that of this checkout: run `tennis brickwall flash`"),
        ({"instrument": "kettle"}, "is not a Brickwall: it says"),
        ({"tick_hz": 0}, "reports a tick_hz that this tennis does not expect"),
        ({"unique_id": None}, "reports a unique_id"),
        ({"unique_id": "../e6"}, "reports a unique_id"),
        ({"clock_hz": 10**400}, "reports a clock_hz"),
        ({"tick_hz": float("nan")}, "reports a tick_hz"),
        ({"pins": [[[]]]}, "reports a pins"),
    ],
)
def test_firmware_of_another_version(fake, tmp_path, change, words):
    fake.hello |= change
    with pytest.raises(BenchError, match=words):
        played(fake, tmp_path / "r")
    assert not list(tmp_path.glob("r*"))


def test_a_verification_passes_and_is_kept(fake, tmp_path):
    done = tennis("brickwall", "verify", "--port", fake.port, "--balls", 3, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], found["largest_error_ticks"]) == ("pass", 0)
    points = found["points"]
    assert {point["kind"] for point in points} == {"interrupt", "scheduling"}
    table = [point for point in points if point["what"] == "table 6.1"]
    assert [point["true_ns"] for point in table[:4]] == [2120, 1000, 3000, 2000]
    assert [point["thesis_error_us"] for point in table[:4]] == [0.43, 0.46, 0.42, 0.43]
    sweep = [point["true_ns"] for point in points if point["what"] == "sweep"]
    assert (min(sweep), max(sweep), len(sweep)) == (16, 20_000_000, 50)
    assert points[-1]["balls"] == 5000
    kept = verifications.read("e660000000000001")
    assert kept.verdict == "pass"
    assert kept.kind == "emulated"  # it is behind a socket
    rally = played(fake, tmp_path / "r", balls=100)
    assert rally.manifest.instrument.calibration == kept
    assert summarize(rally).doubt == ""
    assert fake.generating is None  # and it was made quiet


@pytest.mark.parametrize("errors", [(1, 0), (-1, 0), (0, 1), (0, -2), (5, 0)])
@pytest.mark.parametrize("source", ["jumpers", "internal"])
def test_a_biased_instrument_is_found_by_its_tick(fake, errors, source):
    """No tolerance of wires hides it: it is measured without any, at half the clock."""
    fake.errors = errors
    found = verify(Brickwall(SerialLink(fake.port)), source=source, amount=FEW)
    assert found.verdict == "fail"
    assert f"64 of 64 rises are {errors[0]:+} ticks off, and widths {errors[1]:+}" in found.reason
    assert fake.hello["tick_hz"] == TICK_HZ


@pytest.mark.parametrize(
    ("loop", "loop_ns", "width_ns", "verdict"),
    [
        ((0, 0), 0, 0, "pass"),
        ((4, 1), 32, 8, "pass"),
        ((2, -1), 16, -8, "pass"),
        ((5, 0), 40, 0, "fail"),  # 38 ns is what such wires can take
        ((-1, 0), -8, 0, "fail"),  # no wire is early
        ((0, 3), 0, 24, "fail"),
        ((0, -3), 0, -24, "fail"),
    ],
)
def test_one_constant_is_taken_off_and_must_be_that_of_the_wires(
    fake, loop, loop_ns, width_ns, verdict
):
    fake.loop = loop
    found = verify(Brickwall(SerialLink(fake.port)), amount=FEW)
    assert (found.verdict, found.loop_ns, found.width_ns) == (verdict, loop_ns, width_ns)
    assert found.largest_error_ticks == 0


@pytest.mark.parametrize(
    ("rises", "falls", "wrong"),
    [(1, 1, 0), (-1, -1, 0), (2, 2, 1), (-2, -2, 1), (50_000, 60_000, 2)],
)
def test_a_tick_of_rounding_is_the_tolerance(fake, rises, falls, wrong):
    """And one wrong ball in thousands is found."""
    answered, count = fake.answered, 0

    def once_odd() -> tuple[int, int, int]:
        nonlocal count
        count += 1
        clock, rise, fall = answered()
        return (clock, rise + rises, fall + falls) if count == 577 else (clock, rise, fall)

    fake.answered = once_odd
    found = verify(Brickwall(SerialLink(fake.port)), amount=FEW)
    assert found.verdict == ("fail" if wrong else "pass")
    assert sum(point.wrong for point in found.points) == wrong
    assert found.largest_error_ticks == abs(rises)
    assert [(point.what, point.balls) for point in found.points[-2:]] == [("random", 600)] * 2


def test_a_verification_ends_the_play_of_a_host_that_was_killed(fake):
    brickwall = Brickwall(SerialLink(fake.port))
    fake.balls_a_second = 100
    next(brickwall.play(play_of(plan_of(bench="pi", balls=100_000).protocol)))
    brickwall.close()
    (*_, wires_of_it) = _examine_pico(fake.port)
    assert "whose host is gone" in wires_of_it.found
    fake.balls_a_second = 1e9
    assert verify(Brickwall(SerialLink(fake.port)), amount=FEW).verdict == "pass"


class TwoClocks:
    """Ticks of two clocks: a model of the loop, to compare the emulated Picos with."""

    def __init__(self, *, leg_ticks: float, ppm: float, bias: int = 0) -> None:
        self.leg, self.speed, self.bias, self.balls = leg_ticks, 1 + ppm * 1e-6, bias, 0

    def answered(self, rise: int, width: int) -> tuple[int, int]:
        """Return when the reply rose and fell; the ping rises at 0 of the instrument's clock."""
        self.balls += 1
        phase = self.balls * 0.6180339887 % 1  # of the generator's clock, evenly through all
        seen = math.floor(phase + self.leg * self.speed)
        edges = (seen + 2 + rise, seen + 2 + rise + width)
        first, last = (math.floor((edge - phase) / self.speed + self.leg) for edge in edges)
        return first + self.bias, last + self.bias


def verified_with_two(model: TwoClocks, *, bias_alone: int = 0) -> Verification:
    with FakeBrickwall() as measuring, FakeBrickwall() as generating:

        def measured() -> tuple[int, int, int]:
            if measuring.generating is not None:
                clock, rise, fall = FakeBrickwall.answered(measuring)
                return clock, rise + bias_alone, fall + bias_alone
            known = generating.generating
            pair = measuring.next_ball % known["pairs"]
            rise = gap_ns(known["seed"], 2 * pair, known["rise_min_ticks"], known["rise_max_ticks"])
            width = gap_ns(
                known["seed"], 2 * pair + 1, known["width_min_ticks"], known["width_max_ticks"]
            )
            return 0, *model.answered(rise, width)

        measuring.answered = measured
        second = Brickwall(SerialLink(generating.port))
        return verify(Brickwall(SerialLink(measuring.port)), generator=second, amount=FEW)


@pytest.mark.parametrize("ppm", [-50, 0, 50])
@pytest.mark.parametrize(
    ("leg_ns", "verdict"), [(0, "pass"), (7, "pass"), (14, "pass"), (30, "fail")]
)
def test_two_clocks_drift_through_every_phase(leg_ns, ppm, verdict):
    found = verified_with_two(TwoClocks(leg_ticks=leg_ns / 8, ppm=ppm))
    assert found.verdict == verdict, found.reason
    assert found.source == "second Pico"
    assert found.loop_ns == pytest.approx(2 * leg_ns, abs=1)
    assert found.apart_ppm == pytest.approx(-ppm, abs=0.5)
    assert sum(point.wrong for point in found.points) == 0
    if verdict == "fail":
        assert "the loop of pads and wires takes 0 to 38 ns" in found.reason


def test_a_tick_of_bias_is_no_wire():
    """It fits into what wires may take; the instrument alone gives it away."""
    found = verified_with_two(TwoClocks(leg_ticks=0.9, ppm=20, bias=1), bias_alone=1)
    assert found.verdict == "fail"
    assert "the instrument is biased" in found.reason


@pytest.mark.parametrize("ppm", [-120, 120])
def test_crystals_further_apart_than_two_good_ones_are_named(ppm):
    found = verified_with_two(TwoClocks(leg_ticks=0.9, ppm=ppm))
    assert found.verdict == "fail"
    assert f"the two clocks are {-ppm:+.1f} ppm apart" in found.reason


def test_what_330_ohms_may_take():
    """With 30 pF: 9.9 ns, of which 0.93 to 2.0 V; pads may take as much again."""
    loop = Loop((330, 330))
    assert loop.most_ns == pytest.approx(38.4, abs=0.1)
    assert loop.width_ns == pytest.approx((-6.2, 13.4), abs=0.1)
    assert Loop(wiring().jumper_ohms()) == Loop([330, 330])
    assert Loop(()).most_ns == 10


INSTRUMENT = Instrument(
    kind="brickwall", serial="e6", firmware="1", firmware_sha256="a" * 64, tick_hz=TICK_HZ
)
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def record(**changes) -> VerificationRecord:
    facts = {
        "serial": "e6", "firmware_sha256": "a" * 64, "tick_hz": TICK_HZ, "date": NOW.isoformat(),
        "verdict": "pass", "reason": "", "balls": 10, "largest_error_ticks": 0,
        "kind": "physical", "source": "jumpers",
    }  # fmt: skip
    return VerificationRecord(**facts | changes)


@pytest.mark.parametrize(
    ("changes", "days", "words"),
    [
        ({}, 0, ""),
        ({}, 30, ""),
        ({}, 31, "31 days earlier"),
        ({}, -2, "younger than the rally"),
        ({"serial": "e7"}, 0, "that of Brickwall e7"),
        ({"firmware_sha256": "b" * 64}, 0, "other firmware"),
        ({"tick_hz": 1}, 0, "with 1 Hz"),
        ({"verdict": "fail", "reason": "why"}, 0, "says fail: why"),
        ({"verdict": "fail", "reason": "\x1b[2J\nwell"}, 0, "fail: [2J well"),  # no cursor moves
        ({"date": "yesterday"}, 0, "has no date"),
        ({"date": "2026-05-01T00:00:00"}, 0, ""),
    ],
)
def test_what_a_verification_record_is_worth(changes, days, words):
    given = INSTRUMENT.model_copy(update={"calibration": record(**changes)})
    said = doubt(given, (NOW + timedelta(days=days)).isoformat())
    assert said == "" if not words else words in said


@pytest.mark.parametrize("source", ["jumpers", "internal", "second Pico"])
def test_a_pico_that_verified_itself_is_not_for_graded_work(source, fake, tmp_path):
    """The delays of a Pico of its own are whole ticks of the clock that measures them."""
    words = "verified with its own clock, not for graded work"
    said = fake.hello
    verifications.keep(
        record(
            serial=said["unique_id"],
            firmware_sha256=said["firmware_sha256"],
            tick_hz=said["tick_hz"],
            source=source,
            date=datetime.now(UTC).isoformat(),
        )
    )
    rally = played(fake, tmp_path / "r", balls=100)
    assert rally.manifest.instrument.calibration.independent == (source == "second Pico")
    assert (words in _report([rally])) == (source != "second Pico")


def findings(seen: dict[str, object]) -> str:
    return "\n".join(f"{f.verdict} {f.what}: {f.found}" for f in _wire_findings(seen))


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (wires(ping_to_listen=True, answer_to_reply=True), "good wires: the jumpers of the self"),
        (
            wires(ping_to_listen=True, listen_to_reply=True, ping_to_reply=True),
            "good wires: ping and reply both reach the loop-back plug",
        ),
        (wires(ping_to_listen=True), "bad reply wire: dead"),
        (wires(listen_to_reply=True), "bad ping wire: dead"),
        (wires(ping_to_reply=True), "bad wires: ping and reply are joined"),
        (wires((0, 0)), "good reply wire: held low"),
        (wires((1, 1)), "bad reply wire: held high"),
        (wires((1, 0)), "bad reply wire: floating"),
        (wires((0, 0), ping=(0, 0)), "bad ping wire: shorted to ground"),
        (wires((0, 0), ping=(1, 1)), "bad ping wire: shorted to 3.3 V"),
        (
            wires(ping_to_answer=True, listen_to_reply=True),
            "bad wires: the far ends of the jumpers are swapped",
        ),
        # low is what a Racquet does; that a pad cannot be driven high, it does not
        (
            wires() | {"reply": {"pulled_up": 0, "pulled_down": 0, "high": 0}},
            "bad reply wire: shorted to ground",
        ),
    ],
)
def test_wires_tell(seen, words):
    assert words in findings(seen)


def test_the_doctor_looks_at_a_brickwall(fake):
    fake.wires = wires((0, 0))
    done = tennis("doctor", "--port", fake.port)
    assert done.returncode == 0, done.stdout
    for words in ("Brickwall: e66", "this checkout's", "125 MHz", "never verified", "held low"):
        assert words in done.stdout
    fake.hello["firmware_sha256"] = "0" * 64
    done = tennis("doctor", "--port", fake.port)
    assert done.returncode == 1
    assert "not this checkout's" in done.stdout


def test_a_stop_while_the_cable_is_unplugged(fake, tmp_path):
    fake.balls_a_second = 20_000
    waiting = threading.Event()

    def unplug(progress) -> None:
        if progress.balls > 200:
            fake.unplug()
        if "waiting up to 60 s" in progress.doing:
            waiting.set()

    plan = plan_of(bench="pi", port=fake.port, balls=100_000)
    watch = Watch(unplug, waiting.is_set)
    rally = play(WiredBench(fake.port), plan, tmp_path / "r", watch)
    assert (rally.manifest.ended, rally.manifest.suspect) == ("interrupted", False)
    assert rally.balls > 200


@pytest.mark.parametrize(
    ("seen", "source", "words"),
    [
        (wires(), "jumpers", "no jumper: the ping wire ends nowhere, or is broken, and the reply"),
        (wires(ping_to_listen=True), "jumpers", "no jumper: the reply wire ends nowhere"),
        (wires(ping_to_answer=True, listen_to_reply=True), "jumpers", "far ends are swapped"),
        (wires(ping_to_reply=True), "jumpers", "ping and reply are joined"),
        (wires(ping=(0, 0)), "jumpers", "touches ground or 3.3 V at the Pico"),
        (wires((0, 0)), "internal", "something drives the reply wire: unplug the target"),
    ],
)
def test_what_is_not_wired_is_not_verified(fake, seen, source, words):
    fake.wires = seen
    found = verify(Brickwall(SerialLink(fake.port)), source=source, amount=FEW)
    assert (found.verdict, found.points) == ("not run", [])
    assert words in found.reason
    assert tennis("brickwall", "verify", "--port", fake.port, "--source", source).returncode == 1
    assert verifications.read("e660000000000001") is None


@pytest.mark.parametrize(
    ("inside", "words"),
    [(False, "known answers were missed"), (True, "64 of 64 answers of its own generator")],
)
def test_misses_fail_a_verification(fake, inside, words):
    answered = fake.answered
    missed = (fake.clock, wire.NONE_TICKS, wire.NONE_TICKS)
    fake.answered = lambda: missed if fake.inside == inside else answered()
    found = verify(Brickwall(SerialLink(fake.port)), amount=FEW)
    assert (found.verdict, found.largest_error_ticks) == ("fail", None)
    assert words in found.reason


def test_a_record_of_the_first_release_is_read():
    """They were called certificates, and stand beside."""
    path = verifications.keep(record())
    older = path.parents[1] / "certificates" / path.name
    older.parent.mkdir()
    path.rename(older)
    assert verifications.read("e6") == record()
