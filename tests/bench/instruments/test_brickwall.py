# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The host's side of a physical bench against a fake Brickwall: quick, and for what is rare."""

import contextlib
import json
import math
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tennis import wire
from tennis.bench.instruments import ports, verifications
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import play_of
from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.ports import Port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.bench.patience import Patience
from tennis.bench.physical.wired import WiredBench
from tennis.commissioning.request import Amount
from tennis.errors import BenchError, TennisError, UsageError
from tennis.gaps import gap_ns
from tennis.pages.rally import report
from tennis.play.doctor.pico import examine_pico, examine_ports, wire_findings
from tennis.play.known_delays import settings
from tennis.play.loop_delay import Clocks, Loop
from tennis.play.rally import Watch, play, resume
from tennis.play.verification import Verification
from tennis.play.verify import verify
from tennis.rally import Rally, open_rally
from tennis.rally.calibration import doubt
from tennis.rally.manifest import Instrument, VerificationRecord
from tennis.rally.plan import Plan
from tennis.stats import summarize
from tennis.wiring import wiring
from tests.support.fake_brickwall import TICK_HZ, FakeBrickwall, ball_of, wires
from tests.support.plans import plan_of
from tests.support.synthetic import manifest as synthetic_manifest
from tests.support.terminal import tennis
from tests.support.ticks import interrupt_ticks, scheduling_ticks

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


# --- rallies ---


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
    assert "not managed by tennis" in report([rally])


def test_a_rally_that_was_interrupted_by_force_goes_on_with_what_is_missing(fake, tmp_path):
    out = tmp_path / "r"
    killed(fake, out, balls=4000, at=1001)
    kept = len(list((tmp_path / "r.part").iterdir()))
    assert kept >= 2
    rally = resume(WiredBench(fake.port), out, Watch())
    assert pairs(rally) == made_up(4000)
    assert (rally.manifest.ended, rally.manifest.suspect) == ("complete", False)
    assert "stop" in fake.said  # the play that was left
    served = [ns for batch in rally.batches(["served_ns"]) for ns in batch[0].to_pylist()]
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


def test_a_line_that_is_lost_while_frames_are_waiting(fake):
    """They were taken from the line: they count, whatever comes next."""

    class Breaking(SerialLink):
        broken = False

        def write(self, data: bytes) -> None:
            if b" ack " in data and not Breaking.broken:
                Breaking.broken = True
                fake.unplug(restart=True)
                fake.plug_in()
                raise LinkLostError("pulled")
            super().write(data)

    brickwall = Brickwall(Breaking(fake.port))
    plan = plan_of(bench="pi", port=fake.port, balls=4000)
    frames = [frame for frame in brickwall.play(play_of(plan.protocol)) if frame]
    assert [sequence for _, sequence, _ in frames] == list(range(len(frames)))
    assert sum(len(f[2]) // wire.BALL_SIZE for f in frames if f[0] == wire.BALLS) == 4000
    assert brickwall.counts.restarts == 1


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


@pytest.mark.parametrize(
    ("events", "asked", "words"),
    [
        ([], {}, "no answer from the target: all 64 balls missed: check the reply wire"),
        ([(0, 2, 1)], {}, "no answer in time (with a longer --timeout-ms it may): all 64 balls"),
        ([(0, 2, 1)], {"loop": "open"}, "no answer in time (with a lower --rate-hz it may)"),
    ],
)
def test_late_answers_are_not_called_none(fake, tmp_path, events, asked, words):
    fake.events = events
    fake.ball = lambda _, clock: (clock, wire.NONE_TICKS, wire.NONE_TICKS)
    (fault,) = played(fake, tmp_path / "r", balls=64, **asked).manifest.faults
    assert fault.code == "no_answer"
    assert words in fault.message
    assert f"tennis doctor --port {fake.port}" in fault.message


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


def test_what_the_brickwall_refuses_leaves_nothing(fake, tmp_path):
    fake.refuses["play"] = "the pulse is too short"
    with pytest.raises(BenchError, match="the Brickwall refuses: the pulse is too short"):
        played(fake, tmp_path / "r")
    assert not list(tmp_path.glob("r*"))


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


def test_what_a_brickwall_says_moves_no_cursor(fake):
    fake.hello |= {"board": "\x1b[2J\ud800 a\nboard " + "x" * 3000}
    told = [finding.found for finding in examine_pico(fake.port)]
    assert f"{fake.port}: [2J a board xxx" in told[0]
    assert len(told[0]) < 300


@pytest.mark.parametrize(("board", "told"), [("Pico2 with RP2350", 1), ("Pico with RP2040", 0)])
def test_the_doctor_names_the_resistor_that_a_pico_2_needs(fake, board, told):
    fake.hello |= {"board": f"Raspberry Pi {board}"}
    found = [finding for finding in examine_pico(fake.port) if finding.what == "erratum E9"]
    assert len(found) == told
    assert all("4700 Ω from GP3 (pin 5) to ground" in finding.found for finding in found)


def test_a_gap_that_does_not_fit(fake, tmp_path):
    with pytest.raises(UsageError, match=r"this Brickwall counts to 34\.4 s"):
        played(fake, tmp_path / "r", gap_min_us=40e6, gap_max_us=40e6)


# --- ports ---


def server(answer: Callable[[bytes], bytes], greeting: bytes = b"") -> str:
    """Serve something on TCP that is no Brickwall; return its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, listener, contextlib.suppress(ConnectionError):
            connection.sendall(greeting)
            while data := connection.recv(4096):
                connection.sendall(answer(data))

    threading.Thread(target=serve, daemon=True).start()
    return f"socket://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda data: data, "echoes what it is sent"),
        (lambda _: b"sh: 1: not found\n$ ", r"it says 'sh: 1: not found"),
        (lambda _: b"\r\n>>> ", "a MicroPython prompt answers.*tennis brickwall flash --port"),
        (lambda _: bytes(range(128, 256)), "not a Brickwall"),
        (lambda _: wire.encode(wire.ANSWER, 1, b'{"error": "no", "code": "no"}'), "refuses: no"),
        (lambda _: wire.encode(wire.ANSWER, 1, b'{"ok": {"instrument": "x"}}'), "not a Brickwall"),
    ],
)
def test_something_else_is_on_the_port(answer, words):
    brickwall = Brickwall(SerialLink(server(answer)))
    with pytest.raises(BenchError, match=words):
        brickwall.hello()
    brickwall.close()


def test_something_that_talks_without_an_end():
    brickwall = Brickwall(SerialLink(server(lambda _: wire.MAGIC * (16 << 20))))
    with pytest.raises(BenchError, match="is not a Brickwall"):
        brickwall.hello()
    assert brickwall.counts.garbage_bytes < 4 << 20
    brickwall.close()


def test_nothing_answers():
    brickwall = Brickwall(SerialLink(server(lambda _: b"")))
    with pytest.raises(BenchError, match=r"nothing answers on socket.*brickwall flash --port"):
        brickwall.hello(patience_s=1)


@pytest.mark.parametrize(
    ("port", "words"),
    [
        ("/dev/nothing", "/dev/nothing does not exist"),
        ("/dev/null", "/dev/null is not a serial port"),
        ("/tmp", "/tmp is not a serial port"),  # noqa: S108
        ("socket://127.0.0.1:1", "nothing listens there"),
        ("socket://nonsense", "not an address as in socket://HOST:PORT"),
        ("", "no Pico is plugged in"),
    ],
)
def test_a_port_that_cannot_be_opened(port, words, tmp_path, monkeypatch):
    monkeypatch.setattr(ports, "ports", list)
    with pytest.raises(TennisError, match=words) as error:
        play(WiredBench(port), plan_of(bench="pi"), tmp_path / "r", Watch())
    assert "\n" not in str(error.value)
    assert not list(tmp_path.glob("r*"))


PICO = Port("/dev/ttyACM0", "e6", True, "Board in FS mode")
OTHER = Port("/dev/ttyUSB0", None, False, "a modem")


@pytest.mark.parametrize(
    ("there", "bootsel", "words"),
    [
        ([PICO], 0, None),
        ([PICO, OTHER], 0, None),
        ([PICO, Port("/dev/ttyACM1", "e7", True, "")], 0, "2 Picos .*ttyACM1.*choose one with"),
        ([OTHER], 0, r"no Pico is plugged in \(serial ports: /dev/ttyUSB0 \(a modem\)\)"),
        ([], 1, "a Pico waits in BOOTSEL mode"),
    ],
)
def test_the_only_pico_is_the_default(monkeypatch, there, bootsel, words):
    monkeypatch.setattr(ports, "ports", lambda: there)
    monkeypatch.setattr(ports, "bootsel", lambda: bootsel)
    if words is None:
        assert ports.the_port(None) == "/dev/ttyACM0"
    else:
        with pytest.raises(UsageError, match=words):
            ports.the_port(None)


def test_picos_in_bootsel_mode_are_found(tmp_path):
    for name, vendor, product in (("1-1", "2e8a", "0003"), ("1-2", "2e8a", "0005")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "idVendor").write_text(vendor + "\n")
        (tmp_path / name / "idProduct").write_text(product + "\n")
    assert ports.bootsel(tmp_path) == 1


def test_a_line_that_stays_away(fake):
    brickwall = Brickwall(SerialLink(fake.port), patience=Patience(reconnect_s=0.5))
    with pytest.raises(LinkLostError, match="did not come back in 0 s"):
        for frame in brickwall.play(play_of(plan_of(balls=100_000).protocol)):
            if frame and frame[0] == wire.BALLS:
                fake.unplug()


# --- verification ---


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


def test_the_bias_is_measured_at_half_the_clock(fake):
    fake.hello |= {"clock_hz": 133 * 10**6, "tick_hz": 133 * 10**6}
    clocks = []
    do_clock = fake.do_clock
    fake.do_clock = lambda arguments: clocks.append(int(arguments["hz"])) or do_clock(arguments)
    assert verify(Brickwall(SerialLink(fake.port)), amount=FEW).verdict == "pass"
    assert clocks == [66 * 10**6, 133 * 10**6]


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
    ("reply", "cause"), [((0, 0), "held"), ((1, 1), "held"), ((1, 0), "no jumper")]
)
def test_a_wire_that_is_held_is_not_called_missing(fake, reply, cause):
    """Who counts the pins again leaves it in ground, or in 3.3 V."""
    fake.wires = wires(reply, ping_to_listen=True)
    assert verify(Brickwall(SerialLink(fake.port)), amount=FEW).cause == cause


def test_a_verification_ends_the_play_of_a_host_that_was_killed(fake):
    brickwall = Brickwall(SerialLink(fake.port))
    fake.balls_a_second = 100
    next(brickwall.play(play_of(plan_of(bench="pi", balls=100_000).protocol)))
    brickwall.close()
    (*_, wires_of_it) = examine_pico(fake.port)
    assert "whose host is gone" in wires_of_it.found
    fake.balls_a_second = 1e9
    assert verify(Brickwall(SerialLink(fake.port)), amount=FEW).verdict == "pass"


def test_a_verification_that_is_stopped_leaves_nothing(fake):
    class Interrupted(SerialLink):
        def read(self, timeout_s: float) -> bytes:
            if fake.state == "playing" and "stop" not in fake.said and not self.asked:
                self.asked = True
                raise KeyboardInterrupt
            return super().read(timeout_s)

        asked = False

    fake.balls_a_second = 1
    with pytest.raises(KeyboardInterrupt):
        verify(Brickwall(Interrupted(fake.port)), amount=Amount(each=1000))
    assert (fake.generating, fake.state, fake.said[-1]) == (None, "ended", "quiet")


def test_a_verification_record_that_cannot_be_kept(fake, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "file"))
    done = tennis("brickwall", "verify", "--port", fake.port, "--balls", 1)
    assert done.returncode == 1
    assert "set TENNIS_DATA to a folder" in done.stderr
    assert "hello" not in fake.said  # said before anything is measured
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path))
    (verifications.folder() / "e660000000000001.json").mkdir(parents=True)
    done = tennis("brickwall", "verify", "--port", fake.port, "--balls", 1)
    assert (done.returncode, len(done.stderr.splitlines()[-1:])) == (1, 1)
    assert "pass: every one of" in done.stdout  # and what was found is shown
    assert "cannot write" in done.stderr


def test_a_brickwall_is_not_its_own_second_pico(fake):
    done = tennis("brickwall", "verify", "--port", fake.port, "--generator-port", fake.port)
    assert done.returncode == 2
    assert "--generator-port is that of a second Pico" in done.stderr


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


def test_strays_fail_a_verification(fake):
    fake.events = [(0, 2, 1), (0, 3, 1)]
    found = verify(Brickwall(SerialLink(fake.port)), amount=FEW)
    assert found.verdict == "fail"
    assert "2 edges too many among known answers" in found.reason


def test_a_verification_that_broke_off_is_inconclusive(fake):
    fake.refuses["generate"] = "no memory"
    found = verify(Brickwall(SerialLink(fake.port)), amount=FEW)
    assert (found.verdict, found.reason) == ("inconclusive", "the Brickwall refuses: no memory")
    assert fake.hello["tick_hz"] == TICK_HZ  # its clock came back


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


@pytest.mark.parametrize("ppm", [-100, 100])
def test_crystals_further_apart_than_two_good_ones_are_named(ppm):
    found = verified_with_two(TwoClocks(leg_ticks=0.9, ppm=ppm))
    assert found.verdict == "fail"
    assert f"the two clocks are {-ppm:+.1f} ppm apart" in found.reason


def test_a_tick_of_bias_is_no_wire():
    """It fits into what wires may take; the instrument alone gives it away."""
    found = verified_with_two(TwoClocks(leg_ticks=0.9, ppm=20, bias=1), bias_alone=1)
    assert found.verdict == "fail"
    assert "the instrument is biased" in found.reason


def test_a_generator_that_bypasses_its_synchroniser_is_not_believed():
    """Firmware of another day: an edge of another clock needs its flip-flops."""
    with FakeBrickwall() as measuring, FakeBrickwall() as generating:
        old = generating.do_generate
        generating.do_generate = lambda given: old(given) | {"synchroniser_ticks": 0}
        second = Brickwall(SerialLink(generating.port))
        found = verify(Brickwall(SerialLink(measuring.port)), generator=second, amount=FEW)
    assert found.verdict == "inconclusive"
    assert "behind 0 flip-flops: flash it again" in found.reason


def test_a_clock_of_another_rate_may_generate():
    loop = Clocks(125_000_000, 150_000_000)
    assert loop.ratio == pytest.approx(5 / 6)
    assert loop.mean_ticks(2) == pytest.approx(1.5 * 5 / 6 - 0.5)


def test_what_330_ohms_may_take():
    """With 30 pF: 9.9 ns, of which 0.93 to 2.0 V; pads may take as much again."""
    loop = Loop((330, 330))
    assert loop.most_ns == pytest.approx(38.4, abs=0.1)
    assert loop.width_ns == pytest.approx((-6.2, 13.4), abs=0.1)
    assert Loop(wiring().jumper_ohms()) == Loop([330, 330])
    assert Loop(()).most_ns == 10


def test_known_delays_can_be_made():
    for setting in settings(TICK_HZ, Amount()):
        for rise, width in setting.delays():
            assert rise >= 2
            assert width >= (3 if rise == 2 else 2)


# --- verification records ---

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


def test_who_needs_a_verified():
    assert "never verified" in doubt(INSTRUMENT, NOW.isoformat())
    assert doubt(synthetic_manifest(balls=1).instrument, NOW.isoformat()) == ""


def test_a_rally_without_a_verification_says_so(fake, tmp_path):
    rally = played(fake, tmp_path / "r", balls=100)
    assert "NOT VERIFIED: the Brickwall was never verified" in tennis("stats", rally.path).stdout
    assert "never verified" in report([rally])


@pytest.mark.parametrize("source", ["jumpers", "internal", "second Pico"])
def test_a_pico_that_verified_itself_is_not_for_graded_work(source, fake, tmp_path):
    """The delays of a Pico of its own are whole ticks of the clock that measures them."""
    words = "verified with its own clock, not for graded work"
    said = fake.hello
    verifications.write(
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
    assert (words in report([rally])) == (source != "second Pico")


def test_a_record_of_the_first_release_is_read_and_a_damaged_one_is_none():
    """They were called certificates, and stand beside."""
    path = verifications.write(record())
    assert verifications.read("e6") == record()
    older = path.parents[1] / "certificates" / path.name
    older.parent.mkdir()
    path.rename(older)
    assert verifications.read("e6") == record()
    newer = record(verdict="fail")
    verifications.write(newer)
    assert verifications.read("e6") == newer
    older.unlink()
    path.write_text("{}")
    assert verifications.read("e6") is None
    with pytest.raises(TennisError, match="is not a serial number"):
        verifications.path_of("../../etc/passwd")


# --- the doctor ---


def findings(seen: dict[str, object]) -> str:
    return "\n".join(f"{f.verdict} {f.what}: {f.found}" for f in wire_findings(seen))


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


def test_swapped_wires_are_asked_for():
    seen = wires((1, 0))
    assert "swapped" not in [*wire_findings(seen)][-1].advice
    seen["ping"] |= {"pulled_up": 0, "pulled_down": 0}
    assert "are both wires swapped?" in [*wire_findings(seen)][-1].advice


def test_without_ground_wires_look_joined_and_no_pico_2_is_named_elsewhere():
    (last,) = wire_findings(wires(ping_to_reply=True))
    assert last.advice.startswith("push in ground")
    advice = {
        chip: [*wire_findings(wires((1, 1)), f"a board with {chip}")][-1].advice
        for chip in ("RP2040", "RP2350")
    }
    assert ["E9" in words for words in advice.values()] == [False, True]


def test_the_resistor_of_a_pico_2_holds_a_dead_wire_low():
    (last,) = wire_findings(wires((0, 0)), "Raspberry Pi Pico2 with RP2350")
    assert (last.verdict, "only by the resistor" in last.found) == ("note", True)
    (last,) = wire_findings(wires((0, 0)), "Raspberry Pi Pico with RP2040")
    assert last.verdict == "good"


def test_wires_that_tell_nothing(fake):
    for said in ({}, {"ping": 1}, wires((2, "x"))):
        fake.wires = said
        (*_, last) = examine_pico(fake.port)
        assert (last.verdict, "tennis brickwall flash" in last.advice) == ("bad", True)
        with pytest.raises(BenchError, match="reports its wires"):
            verify(Brickwall(SerialLink(fake.port)), amount=FEW)


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


@pytest.mark.parametrize(
    ("port", "found", "advice"),
    [
        (
            "socket://127.0.0.1:1",
            "socket://127.0.0.1:1: nothing listens there",
            "start the emulator",
        ),
        ("socket://", "socket:// cannot be opened (not an address as in socket://", "name the Bri"),
        (
            "socket://127.0.0.1:99999",
            "not an address as in socket://HOST:PORT",
            "name the Brickwall",
        ),
        ("/dev/nothing", "/dev/nothing does not exist (serial ports: ", "plug the Pico in"),
        ("loop://", "--port loop://", "name a serial device"),
    ],
)
def test_the_doctor_finds_nobody(port, found, advice):
    (finding,) = examine_pico(port)
    assert finding.verdict == "bad"
    assert found in finding.found
    assert advice in finding.advice


def test_the_doctor_without_a_pico(monkeypatch):
    monkeypatch.setattr("tennis.play.doctor.pico.picos", list)
    monkeypatch.setattr("tennis.play.doctor.pico.bootsel", lambda: 1)
    (finding,) = examine_ports(None)
    assert "BOOTSEL" in finding.found


# --- what was asked for ---


def test_an_old_plan_can_be_read(tmp_path):
    content = json.loads(plan_of().model_dump_json())
    del content["instrument"], content["port"]
    (tmp_path / "plan.json").write_text(json.dumps(content))
    assert Plan.read(tmp_path) == plan_of()


def test_an_old_manifest_can_be_read():
    content = json.loads(synthetic_manifest(balls=3).model_dump_json())
    del content["line"], content["counts"]["runts"], content["target"]["managed"]
    again = type(synthetic_manifest(balls=3)).model_validate_json(json.dumps(content))
    assert (again.line, again.target.managed) == (None, "by tennis")


def test_a_stop_is_heard(fake, tmp_path):
    fake.balls_a_second = 2000
    count = 0

    def stop() -> bool:
        nonlocal count
        count += 1
        return count > 8

    plan = plan_of(bench="pi", port=fake.port, balls=100_000)
    rally = play(WiredBench(fake.port), plan, tmp_path / "r", Watch(stop=stop))
    assert (rally.manifest.ended, rally.manifest.suspect) == ("interrupted", False)
    assert 0 < rally.balls < 100_000
    assert open_rally(tmp_path / "r").balls == rally.balls


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
