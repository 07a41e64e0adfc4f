# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Commissioning, end to end and wire by wire: the real firmware on an emulated Pico.

Where no wire is meant, steps are made up (the names of these tests say so), and only what the
folder keeps is looked at.
"""

import getpass
import json
import re
import socket
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from serial.tools import list_ports

from tennis.bench.instruments import emulated
from tennis.cli import cli
from tennis.commissioning.record import PAGE, RECORD, Record, StepResult, read_record
from tennis.commissioning.request import Amount, CommissionRequest
from tennis.commissioning.sharing import to_share
from tennis.commissioning.steps import names, steps
from tennis.commissioning.tables import boards
from tennis.errors import AlteredError, BenchError, RallyError, TennisError, UsageError
from tennis.listener import listening
from tennis.pages.labels import Label
from tennis.pages.labels import page as label_page
from tennis.play.commissioning import measure as measuring
from tennis.play.commissioning import misses
from tennis.play.commissioning.commissioning import Commissioning, share
from tennis.play.commissioning.equipment import Boards, Emulation
from tennis.play.commissioning.fleet import commission_all
from tennis.play.commissioning.measure import Outcome, Work, measure
from tennis.play.commissioning.wires import WireTrial, judge_ping, judge_reply
from tennis.play.fleet import FleetBench
from tennis.play.rally import Watch
from tennis.rally import memory
from tests.support.emulated_pico import JUMPERS, EmulatedPico, edges, respond
from tests.support.fake_brickwall import FakeBrickwall, ball_of, wires
from tests.support.mock_target import MockTarget
from tests.support.plans import plan_of
from tests.support.sshd import HOST, Sshd

FEW = Amount(each=1, random=64)
# an emulated Pico takes its time over a second of rest
QUICK = {"settle_s": 0.01, "gap_min_us": 100, "gap_max_us": 200}
VIRTUAL = CommissionRequest(target="virtual", balls=40, amount=FEW, serving=QUICK)


@pytest.fixture(autouse=True)
def _data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "data"))


# --- end to end ---


@pytest.mark.virtual
def test_an_evening_with_an_emulated_pico_and_a_virtual_target(tmp_path):
    """The steps one after the other, the folder opened anew for each; then the file to send.

    The last one, with a load, takes half of the time of all: another test has it.
    """
    out = tmp_path / "evening"
    while (work := Commissioning(out, VIRTUAL, Watch())).todo() != ["load"]:
        result = work.do(work.todo()[0])
        assert result.verdict == "pass", result
    record = read_record(out / RECORD)
    assert record.kind == "emulated"
    figures = {(r.name, n.name): n.value for r in record.steps for n in r.numbers}
    assert figures["jumpers", "largest_error_ns"] == figures["jumpers", "loop_ns"] == 0
    # the firmware's rate with a flash that never misses; benchmarks/brickwall.py measures it, too
    assert 20_000 < figures["jumpers", "rate_balls_s"] < 60_000
    assert figures["ping", "counted"] == figures["ping", "pings"] == 20
    assert figures["reply", "answered"] == 20
    # the emulated Pico and the virtual bench's own instrument look at the same target, which wakes
    # in one of two ways, 70 ns apart: of 40 balls the median is either
    for kind in ("interrupt", "scheduling"):
        assert figures["idle", f"{kind}_times_virtual"] == pytest.approx(1, rel=0.06)

    place, sent = share(out, tmp_path / "sent.json")
    assert read_record(place) == sent
    assert "emulated" in boards([("x", sent)])
    _nothing_private(place.read_text(), str(tmp_path), emulated.SERIAL)
    _nothing_private((out / PAGE).read_text(), str(tmp_path), emulated.SERIAL)

    # a number that is edited, and sealed again with care, is not that of the rally
    wrong = [
        n.model_copy(update={"value": 1.0}) if n.name == "interrupt_median_ns" else n
        for n in record.result("idle").numbers
    ]
    edited = [
        r.model_copy(update={"numbers": wrong}) if r.name == "idle" else r for r in record.steps
    ]
    (out / RECORD).write_bytes(record.model_copy(update={"steps": edited}).text())
    with pytest.raises(AlteredError, match="interrupt median of the step idle is not its rally's"):
        share(out, tmp_path / "forged.json")
    assert not (tmp_path / "forged.json").exists()


def _nothing_private(text: str, *more: str) -> None:
    for word in (getpass.getuser(), socket.gethostname(), str(Path.home()), *more):
        # a short word is part of others, and everybody has a root
        if len(word) > 4:
            assert word not in text, word


@pytest.mark.virtual
def test_the_evening_ends_with_a_load(tmp_path):
    outcome = measure("load", Work(Emulation(VIRTUAL), tmp_path, Watch()))
    assert outcome.verdict == "pass", outcome
    found = {number.name: number.value for number in outcome.numbers}
    assert (found["balls"], found["misses"]) == (40, 0)
    assert outcome.facts["load"] == "stress"
    # of 40 balls the median is one that came upon a process, or one that came upon the kernel: they
    # differ by a tenth
    assert found["interrupt_times_virtual"] == pytest.approx(1, rel=0.15)


@pytest.mark.virtual
def test_an_analyser_looks_on(tmp_path):
    """On the virtual bench the capture is made from the rally."""
    enough = VIRTUAL.model_copy(update={"balls": 120})  # an umpire says nothing of fewer than 100
    outcome = measure("umpire", Work(Emulation(enough), tmp_path, Watch()))
    assert outcome.verdict == "pass", outcome
    found = {number.name: number.value for number in outcome.numbers}
    assert found["balls"] == 120
    assert abs(found["interrupt_bias_ns"]) < 50


@pytest.mark.virtual
def test_the_command_is_left_and_gone_on_with_behind_other_wires(tmp_path):
    """A Pico on a port; nobody manages the target. The wires are plugged anew in between."""
    out = tmp_path / "evening"

    def tennis(port: str, *words: str):
        return CliRunner().invoke(cli, ["commission", "--out", str(out), "--port", port, *words])

    with EmulatedPico(*JUMPERS) as pico:
        # the whole of it takes an emulated Pico too long
        done = tennis(pico.url, "--yes", "--step", "pico")
        assert "ok    a Pico with MicroPython" in done.stdout
        done = tennis(pico.url, "--yes", "--step", "ping")
        assert "not measured: first jumpers must pass" in done.stdout
        assert done.exit_code == 1
    record = read_record(out / RECORD)
    assert record.result("target").verdict == "left out"
    assert record.passed("pico")
    with EmulatedPico(*respond("answer", rise=1000, width=1250)) as pico:
        work = Commissioning(out, CommissionRequest(port=pico.url), Watch())
        for name in ("firmware", "jumpers"):
            work._put(name, Outcome("pass", "made up: another test measures it"))
        work.save()
        done = tennis(pico.url, "--yes", "--step", "ping", "--step", "reply")
        assert done.stdout.count("CAREFUL  Pins 2 and 4 of the target are 5 V") == 2
        assert "no target was named, which could count" in done.stdout
        assert "the line rests low, 20 of 20 pings are answered" in done.stdout
        _nothing_private((out / RECORD).read_text(), pico.plain_url, str(tmp_path))


# --- wire by wire: test_faults.py has the real firmware's pads ---

# what a pad does that is driven high and let go of
OPEN, INPUT, HELD = (1, 1), (1, 0), (0, 0)


def seen(answered=20, counted: int | None = 20, balls=20, **pads) -> WireTrial:
    known = wires(reply=pads.pop("reply", (0, 0)), ping=pads.pop("ping", (1, 0)))
    known["ping"] |= {"pulled_up": 1, "pulled_down": pads.pop("ping_up", 0)}
    known["ping"]["from_high"] = pads.pop("ping_end", INPUT)
    known["reply"] |= {"high": pads.pop("reply_high", 1), "from_high": pads.pop("reply_end", HELD)}
    return WireTrial({**known, **pads}, balls, answered, counted)


@pytest.mark.parametrize(
    ("what", "ping", "reply"),
    [
        (seen(), "", ("reply", "")),
        (seen(reply_end=OPEN, answered=0), "", ("reply", "missing")),
        (seen(reply_end=INPUT, answered=0), "", ("reply", "wrong pin")),
        (seen(answered=0), "", ("reply", "held low")),
        (seen(answered=19), "", ("reply", "loose")),
        (seen(reply_high=0, answered=0), "", ("reply", "short")),
        (seen(reply=(1, 1), reply_end=OPEN, answered=0), "", ("reply", "held high")),
        (
            seen(ping_end=HELD, reply_end=INPUT, answered=0, counted=0),
            "held low",
            ("reply", "swapped"),
        ),
        (seen(ping_end=HELD, answered=0, counted=0), "held low", ("ping", "held low")),
        (seen(ping_end=OPEN, answered=0, counted=0), "missing", ("ping", "missing")),
        (seen(ping_end=INPUT, answered=0, counted=0), "wrong pin", ("ping", "wrong pin")),
        (seen(ping_up=1, answered=0, counted=0), "held high", ("ping", "held high")),
        # a loose ping wire is not the reply's
        (seen(counted=13, answered=13), "wrong count", ("ping", "wrong count")),
        (seen(counted=41), "wrong count", ("ping", "wrong count")),
        (seen(ping=(0, 0), balls=0, answered=0, counted=0), "short", ("ping", "short")),
        (seen(ping_to_reply=True, balls=0), "joined", ("reply", "joined")),
        (seen(ping_to_listen=True), "jumpers", ("ping", "jumpers")),
        # nobody counts: what the pads tell is all there is
        (seen(counted=None), "", ("reply", "")),
        (seen(counted=None, answered=0), "", ("reply", "no answers")),
        # the Racquet is loaded and the pins are right: one of the two wires is loose
        (seen(counted=None, answered=13), "", ("reply", "some")),
        (seen(counted=None, answered=0, ping_end=HELD), "held low", ("ping", "held low")),
        (
            seen(counted=None, answered=0, ping_end=HELD, reply_end=INPUT),
            "held low",
            ("reply", "swapped"),
        ),
        # firmware of 0.3 does not let go
        (seen(ping_end=None, reply_end=None), "", ("reply", "")),
    ],
)
def test_what_pads_counts_and_answers_mean(what, ping, reply):
    assert (judge_ping(what), judge_reply(what)) == (ping, reply)


def test_every_failure_of_a_wire_is_one_that_the_steps_explain():
    known = {one.name: {failure.name for failure in one.failures} for one in steps()}
    ways = ["held high", "held low", "wrong pin", "missing"]
    judged = {
        "ping": {"jumpers", "joined", "short", *ways, "wrong count"},
        "reply": {"joined", "short", *ways, "swapped", "loose", "some", "no answers"},
        "jumpers": {
            *("no jumper", "held", "swapped", "joined", "short", "loose", "edges"),
            "wrong delays",
        },
        "pair": {"not ready", "no answers", "loose", "edges", "clocks", "wrong delays"},
    }
    assert judged == {name: known[name] for name in judged}
    assert set(measuring.CAUSES.values()) <= judged["jumpers"] | judged["pair"]


# --- a managed target: SSH is real, its kernel is a mock ---


@pytest.fixture
def managed(tmp_path, monkeypatch):
    target = MockTarget(tmp_path)
    sshd = Sshd(tmp_path, target.programs, target.environment)
    monkeypatch.setenv("TENNIS_SSH_CONFIG", str(sshd.config))
    yield target
    sshd.stop()


def counting(target: MockTarget, *, every: int = 1):
    """Return a fake Brickwall's balls, of which the mock target counts each so many."""
    counter = target.state / "sys/bus/platform/drivers/racquet/racquet/pings"

    def ball(index: int, clock: int) -> tuple[int, int, int]:
        if index % every == 0:
            whole = target.state / "pings"  # a reader never sees half of it, as in /sys
            whole.write_text(f"{int(counter.read_text()) + 1}\n")
            whole.replace(counter)
        return clock, 625, 1250

    return ball


def measured(step: str, out: Path, **asked) -> Outcome:
    """Do a step with a fake Brickwall, whose wire rests low, and a mock target."""
    ball = asked.pop("ball", ball_of)
    with FakeBrickwall(ball=ball) as fake:
        fake.wires = wires(reply=(0, 0))
        request = CommissionRequest(**{"target": HOST, "port": fake.port, **asked})
        return measure(step, Work(Boards(request), out, Watch()))


@pytest.mark.parametrize(("every", "failure"), [(1, ""), (2, "wrong count"), (99, "wrong count")])
def test_a_mock_target_counts_the_pings(managed, tmp_path, every, failure):
    outcome = measured("ping", tmp_path, ball=counting(managed, every=every))
    assert (outcome.verdict, outcome.failure) == ("fail" if failure else "pass", failure), outcome
    # it was not loaded before, and is not now
    assert managed.loaded == []
    assert managed.log == ["modprobe racquet", "rmmod racquet"]


def test_a_racquet_without_lines_on_a_mock_target_is_unloaded(managed, tmp_path):
    managed.write("no-lines")
    outcome = measured("ping", tmp_path)
    assert "it has no lines" in f"{outcome.reason} {outcome.advice}", outcome
    assert managed.loaded == []


def test_a_racquet_that_a_mock_target_had_loaded_stays(managed, tmp_path):
    (managed.state / "sys/module/racquet/parameters").mkdir(parents=True)
    assert measured("reply", tmp_path, ball=counting(managed)).verdict == "pass"
    assert managed.loaded == ["racquet"]
    assert "rmmod racquet" not in managed.log


def test_a_mock_target_without_rights_or_out_of_reach(managed, tmp_path):
    managed.program("sudo", "echo 'sudo: a password is required' >&2; exit 1")
    managed.program("id", "echo 1000")
    outcome = measured("target", tmp_path)
    assert (outcome.verdict, outcome.failure) == ("fail", "rights"), outcome
    assert "sudo asks for a password" in f"{outcome.reason} {outcome.advice}"
    outcome = measured("target", tmp_path, target="no-such-host.invalid")
    assert (outcome.verdict, outcome.failure) == ("fail", "unreachable"), outcome


# perf's own words, with counts that are known: some for each ball that came meanwhile
PERF = """
[ "$1" = stat ] && [ "$2" = -a ] && [ "$3" = -x, ] && [ "$4" = -e ] && [ "$6" = -- ] || exit 129
events=$5; shift 6
pings() { cat STATE/sys/bus/platform/drivers/racquet/racquet/pings 2>/dev/null || echo 0; }
before=$(pings); "$@"; balls=$(($(pings) - before)); each=10
for event in $(echo $events | tr , ' '); do
  echo "$((5000 + balls * each)),,$event,4004000000,100.00,," >&2
  each=$((each + 10))
done
"""
MISSED = {
    "l1i_cache_refill": 10,
    "l1d_cache_refill": 20,
    "l2d_cache_refill": 30,
    "l1i_tlb_refill": 40,
    "l1d_tlb_refill": 50,
}


def perf(target: MockTarget, text: str = PERF) -> None:
    target.program("perf", text.replace("STATE", str(target.state)))


def test_a_mock_targets_misses_are_counted_while_its_balls_come(managed, monkeypatch):
    """What the processor counts anyway is no ball's."""
    monkeypatch.setattr(misses, "COUNTED_S", 0.3)
    perf(managed)
    boards, over = Boards(CommissionRequest(target=HOST)), threading.Event()
    without = boards.misses(with_balls=False)
    assert (without.balls, set(without.events.values())) == (0, {5000})
    counter = managed.state / "sys/bus/platform/drivers/racquet/racquet/pings"
    counter.parent.mkdir(parents=True)
    counter.write_text("7\n")  # of an evening before
    ball = counting(managed)

    def come() -> None:
        while not over.wait(0.005):
            ball(0, 0)

    with misses.counting(partial(boards.misses, with_balls=True)) as counted:
        balls = threading.Thread(target=come)
        balls.start()
        try:
            seen = counted()
        finally:
            over.set()
            balls.join()
    assert seen.balls > 0
    for event, times in misses.of_a_ball(seen, without).items():
        # two readings: one may see some balls more
        assert times == pytest.approx(MISSED[event], rel=0.5)


class Counted(Boards):
    """Boards whose processor's counts are made up: 60 balls came."""

    def misses(self, *, with_balls: bool) -> misses.Misses:
        each = {event: 5000 + 60 * times * with_balls for event, times in MISSED.items()}
        return misses.Misses(each, 60 * with_balls)


def test_made_up_counts_of_a_mock_target_are_those_of_a_ball(managed, tmp_path):  # noqa: ARG001
    """No profile is of the machine of the tests: nothing is played beside it."""
    with FakeBrickwall() as fake:
        asked = CommissionRequest(target=HOST, port=fake.port, balls=40, serving=QUICK)
        outcome = measure("misses", Work(Counted(asked), tmp_path, Watch()))
    assert outcome.verdict == "pass", outcome
    found = {number.name: number.value for number in outcome.numbers}
    assert found == {f"{event}_a_ball": times for event, times in MISSED.items()}
    assert "no memory profile of this board" in outcome.notes[-1]
    sent = to_share(record_of("misses", outcome)).result("misses")
    assert {number.name: number.value for number in sent.numbers} == found


def record_of(name: str, outcome: Outcome) -> Record:
    """Return a record with one step."""
    result = StepResult(
        name=name, verdict=outcome.verdict, date="2026-01-02", reason="x", numbers=outcome.numbers
    )
    return Record(
        schema_version=1, created="2026-01-02", tennis="0", kind="emulated", steps=[result]
    )


@pytest.mark.parametrize(
    "text",
    [
        "echo '<not supported>,,l1i_cache_refill,0,100.00,,' >&2\n",
        "echo \"event syntax error: 'l1i_cache_refill'\" >&2; exit 129\n",
        "echo 'sh: perf: not found' >&2; exit 127\n",
    ],
)
def test_a_mock_target_that_counts_no_misses_plays_no_ball(managed, tmp_path, text):
    perf(managed, text)
    outcome = measured("misses", tmp_path)
    assert (outcome.verdict, outcome.failure) == ("fail", "no counters"), outcome
    assert outcome.advice
    assert not (tmp_path / "misses").exists()


def test_balls_that_do_not_come_are_no_count_of_misses():
    events = dict.fromkeys(MISSED, 7)
    for balls in (0, -3):
        with pytest.raises(BenchError, match="no ball came while the processor counted"):
            misses.of_a_ball(misses.Misses(events, balls), misses.Misses(events, 0))


def test_each_profile_of_a_board_is_one_that_there_is():
    assert set(misses.PROFILES.values()) <= set(memory.names())
    assert misses.profile_of("Raspberry Pi 4 Model B Rev 1.4") == "cortex-a72"
    assert misses.profile_of("Raspberry Pi 400 Rev 1.0") == "cortex-a72"
    assert misses.profile_of("Radxa ROCK 5B") == ""


@pytest.mark.virtual
def test_the_model_misses_as_often_for_each_ball(tmp_path):
    """A rally of 40 balls, and one as long with one: the rest of what was missed is no ball's."""
    plan = plan_of(balls=40)
    found = misses.of_the_model(
        "mainline", plan.protocol, "cortex-a72", tmp_path / "misses", Watch()
    )
    # played: 24 lines of code and 2 of data, 44 pages that the first TLB of data had no more
    assert 12 < found["l1i_cache_refill"] < 48
    assert 1 < found["l1d_cache_refill"] < 4
    assert 22 < found["l1d_tlb_refill"] < 88
    assert 0 <= found["l2d_cache_refill"] < found["l1i_cache_refill"]
    assert all(times >= 0 for times in found.values())


# --- a second Pico ---


@pytest.mark.virtual
def test_a_second_emulated_pico_agrees(tmp_path):
    """Two crystals 30 ppm apart; wires of 7 ns and pads of 3 ns, there and back."""
    with EmulatedPico("--second=-30", *edges(wire_ns=7, pad_ns=3)) as pair:
        asked = CommissionRequest(port=pair.url, generator_port=pair.second_url, amount=FEW)
        outcome = measure("pair", Work(Boards(asked), tmp_path, Watch()))
    assert outcome.verdict == "pass", outcome
    found = {number.name: number.value for number in outcome.numbers}
    assert found["clocks_apart_ppm"] == pytest.approx(30, abs=0.5)
    assert found["loop_ns"] == pytest.approx(20, abs=1.5)
    assert found["balls"] > 64


def test_a_second_pico_that_says_nothing_is_not_ready(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = f"socket://127.0.0.1:{silent.getsockname()[1]}"
        outcome = measured("pair", tmp_path, target=None, generator_port=port)
    assert (outcome.verdict, outcome.failure) == ("fail", "not ready"), outcome
    assert outcome.advice


def test_without_a_second_pico_a_made_up_evening_says_so_and_can_have_one_later(tmp_path, made_up):  # noqa: ARG001
    asked = CommissionRequest(target="bench-1", port="socket://127.0.0.1:1")
    work = again(tmp_path / "c", asked)
    result = work.record.result("pair")
    assert (result.verdict, result.reason) == (
        "left out",
        "no second Pico was named (--generator-port)",
    )
    assert "pair" not in work.todo()
    with pytest.raises(UsageError, match="the step pair takes a second Pico: no second Pico"):
        work.do("pair")
    for name in work.todo():
        work.do(name)
    later = again(
        tmp_path / "c", asked.model_copy(update={"generator_port": "socket://127.0.0.1:2"})
    )
    assert later.todo() == ["pair"]
    later.do("pair")
    # and one that is not named any longer has been measured all the same
    assert again(tmp_path / "c", asked).record.passed("pair")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"generator_port": "/dev/ttyACM1"}, "either may be the Brickwall: name it"),
        ({"generator_port": "/dev/ttyACM1", "port": "/dev/ttyACM1"}, "the Brickwall's own port"),
        (
            {"generator_port": "/dev/ttyACM1", "target": "virtual"},
            "a virtual target has one Pico: leave it out",
        ),
    ],
)
def test_ports_of_two_picos_that_cannot_be_meant(tmp_path, asked, words):
    with pytest.raises(UsageError, match=words):
        Commissioning(tmp_path / "c", CommissionRequest(**asked), Watch())


# --- what is plugged in ---


class Listed:
    """A serial port as pyserial lists it."""

    def __init__(self, device: str, vid: int, pid: int) -> None:
        self.device, self.vid, self.pid = device, vid, pid
        self.serial_number = self.product = self.description = None


PICO = (0x2E8A, 0x0005)


@pytest.mark.parametrize(
    ("listed", "failure", "words"),
    [
        ([], "none", "no Pico is found"),
        ([("/dev/ttyACM0", 0x239A, 0x80F4)], "circuitpython", "CircuitPython"),
        ([("/dev/ttyACM0", 0x2E8A, 0x000B)], "circuitpython", "CircuitPython"),
        ([(f"/dev/ttyACM{n}", *PICO) for n in range(3)], "several", "there are 3 Picos"),
    ],
)
def test_what_is_plugged_in_is_said(monkeypatch, tmp_path, listed, failure, words):
    monkeypatch.setattr(list_ports, "comports", lambda: [Listed(*one) for one in listed])
    outcome = measure("pico", Work(Boards(CommissionRequest()), tmp_path, Watch()))
    assert (outcome.verdict, outcome.failure) == ("fail", failure)
    assert words in outcome.reason


# --- the folder, with steps that are made up ---


@pytest.fixture
def made_up(monkeypatch):
    """Let each step pass at once; a test may put other outcomes in."""
    outcomes = {name: Outcome("pass", f"{name} is made up", serial="e66") for name in names()}

    def made(name: str):
        def step(_: Work) -> Outcome:
            if isinstance(outcomes[name], TennisError):
                raise outcomes[name]
            return replace(outcomes[name])

        return step

    monkeypatch.setattr(measuring, "MEASURES", {name: made(name) for name in names()})
    return outcomes


@pytest.fixture
def whole(tmp_path, made_up):  # noqa: ARG001
    work = Commissioning(tmp_path / "c", VIRTUAL, Watch())
    for name in work.todo():
        work.do(name)
    return tmp_path / "c"


def test_what_is_sent_of_a_made_up_held_bench_names_nobody(tmp_path, made_up):
    """The bench is somebody else's, and a name of two letters is nobody's business, too."""
    said = "held by bo@x1 for 5 min more, and you are li@x2: take another bench, or ask them"
    made_up["target"] = Outcome("fail", said, "ask bo@x1")
    made_up["kernel"].facts = {"release": "6.12.47-of-bo", "governor": "performance"}
    made_up["kernel"].notes = ["/home/li/kit on x2"]
    out = tmp_path / "c"
    work = again(out)
    for name in ("pico", "firmware", "jumpers", "target"):
        work.do(name)
    work._put("kernel", replace(made_up["kernel"]))
    work.save()
    place, sent = share(out, tmp_path / "sent.json")
    text = place.read_text()
    assert not re.search(r"\b(bo|li|x1|x2|home)\b", text), text
    assert sent.result("target").verdict == "fail"
    assert sent.result("kernel").facts == {"release": "another", "governor": "performance"}


def again(out: Path, asked: CommissionRequest = VIRTUAL) -> Commissioning:
    return Commissioning(out, asked, Watch())


def test_a_made_up_step_that_fails_takes_what_stands_on_it_along(whole, made_up):
    made_up["jumpers"] = Outcome("fail", "made up to fail")
    said: list[str] = []
    with listening(said.append):
        work = again(whole)
        work.do("jumpers")
    assert said == ["do again: ping, reply, idle, load"]
    assert again(whole).todo() == ["jumpers", "ping", "reply", "idle", "load"]
    with pytest.raises(UsageError, match=r"the step ping needs jumpers: .*--step jumpers"):
        again(whole).do("ping")
    made_up["jumpers"] = Outcome("pass", "made up to pass", serial="e66")
    again(whole).do("jumpers")
    assert again(whole).todo() == ["ping", "reply", "idle", "load"]


def test_another_made_up_pico_is_noticed(whole, made_up):
    made_up["reply"] = Outcome("pass", "x", serial="another pico")
    result = again(whole).do("reply")
    assert (result.verdict, result.reason) == ("fail", "another Pico than in the steps before")
    made_up["pico"] = Outcome("pass", "x", serial="another pico")
    again(whole).do("pico")
    # what the target said is its own
    assert again(whole).todo() == ["firmware", "jumpers", "ping", "reply", "idle", "load"]
    assert "another pico" not in (whole / RECORD).read_text()


def test_a_made_up_record_of_older_firmware_is_done_again_from_there(whole, made_up):
    made_up["firmware"] = Outcome("pass", "x", serial="e66", facts={"firmware_sha256": "0" * 64})
    again(whole).do("firmware")
    said: list[str] = []
    with listening(said.append):
        assert again(whole).todo() == ["firmware", "jumpers", "ping", "reply", "idle", "load"]
    assert len(said) == 1
    assert "are to be done again" in said[0]


def test_a_made_up_record_is_about_one_target_and_one_kind(whole):
    with pytest.raises(UsageError, match="is about another target"):
        again(whole, VIRTUAL.model_copy(update={"target": "virtual:rt"}))
    with pytest.raises(UsageError, match="is about emulated hardware, and this is physical"):
        again(whole, CommissionRequest(target="bench-1"))


def test_a_target_that_is_named_later_is_asked(tmp_path, made_up):  # noqa: ARG001
    asked = CommissionRequest(port="socket://127.0.0.1:1")
    work = again(tmp_path / "c", asked)
    assert work.todo() == ["pico", "firmware", "jumpers", "ping", "reply", "idle", "load"]
    with pytest.raises(UsageError, match="the step target takes a target: no target was named"):
        work.do("target")
    for name in work.todo():
        work.do(name)
    assert "3 left out" in work.record.summary
    later = again(tmp_path / "c", asked.model_copy(update={"target": "bench-1"}))
    assert later.todo() == ["target", "kernel", "misses"]


def test_a_made_up_error_is_one_line_of_the_record_and_tells_no_names(tmp_path, made_up):
    asked = CommissionRequest(target="pi@secret-host", port="/dev/ttyACM7")
    made_up["pico"] = UsageError("secret-host and /dev/ttyACM7 are gone", next_step="look there")
    work = Commissioning(tmp_path / "c", asked, Watch())
    result = work.do("pico")
    assert (result.verdict, result.reason, result.advice) == (
        "fail",
        "… and … are gone",
        "look there",
    )
    for file in (RECORD, PAGE, "state.json"):
        text = (tmp_path / "c" / file).read_text()
        assert not {"secret-host", "ttyACM7"} & {w for w in ("secret-host", "ttyACM7") if w in text}


def test_a_made_up_folder_that_is_damaged_is_refused(whole, tmp_path):
    (whole / "state.json").write_text("{")
    with pytest.raises(RallyError, match=r"state\.json cannot be read: begin another folder"):
        again(whole)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").touch()
    with pytest.raises(UsageError, match=r"exists and holds no record\.json"):
        again(tmp_path / "other")


def test_a_made_up_evening_at_the_prompt(tmp_path, made_up):
    """Enter measures, a failure can be done again, q leaves, and the same command goes on."""
    out = str(tmp_path / "c")
    made_up["jumpers"] = Outcome("fail", "made up to fail", "plug it in")

    def evening(typed: str):
        return CliRunner().invoke(cli, ["commission", "virtual", "--out", out], input=typed)

    done = evening("\n\n\n\nq\n")  # pico, firmware, jumpers, again, leave
    assert done.exit_code == 1
    assert done.stdout.count("FAIL  made up to fail") == 2
    assert (
        "still to do: jumpers, target, kernel, ping, reply, idle, load; to continue: "
        in done.stdout
    )
    made_up["jumpers"] = Outcome("pass", "made up to pass", serial="e66")
    done = evening("\n" * 7)
    assert done.exit_code == 0, done.stdout
    assert f"tennis commission --share {out}" in done.stdout
    done = evening("")
    assert "9 of 10 steps passed, 1 left out" in done.stdout
    # the end of the input leaves, too
    made_up["reply"] = Outcome("fail", "x")
    again(Path(out)).do("reply")
    done = evening("")
    assert done.exit_code == 1


def test_what_is_there_is_asked_once(tmp_path, made_up):  # noqa: ARG001
    """Without TARGET a new folder asks for it, and for an analyser; a made-up evening goes on."""
    out = str(tmp_path / "c")
    done = CliRunner().invoke(cli, ["commission", "--out", out], input="virtual\ny\n\nq\n")
    assert "a logic analyser on the wires?" in done.stdout
    left = "firmware, jumpers, target, kernel, ping, reply, idle, load, umpire"
    assert f"still to do: {left}; to continue: tennis commission virtual --out {out}" in done.stdout
    done = CliRunner().invoke(cli, ["commission", "--out", out], input="q\n")
    assert isinstance(done.exception, UsageError)
    assert "What is there?" not in done.stdout
    # who has neither answers with Enter
    done = CliRunner().invoke(cli, ["commission", "--out", f"{out}2"], input="\n\nq\n")
    assert "still to do: pico, firmware, jumpers, ping, reply, idle, load;" in done.stdout


def test_a_made_up_step_that_is_interrupted_is_not_kept(tmp_path, made_up, monkeypatch):
    out = tmp_path / "c"

    def interrupted(_: Work) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setitem(measuring.MEASURES, "jumpers", interrupted)
    words = ["commission", "virtual", "--yes", "--out", str(out)]
    done = CliRunner().invoke(cli, words)
    assert "the same command continues with it" in done.stderr
    assert read_record(out / RECORD).open_steps[0] == "jumpers"
    monkeypatch.setitem(measuring.MEASURES, "jumpers", lambda _: made_up["jumpers"])
    assert CliRunner().invoke(cli, words).exit_code == 0


def test_yes_ends_at_the_first_made_up_failure(tmp_path, made_up):
    made_up["ping"] = Outcome("fail", "made up to fail", "plug it in")
    words = ["commission", "virtual", "--yes", "--out", str(tmp_path / "c")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1
    assert "-> plug it in" in done.stdout
    assert "The reply wire" not in done.stdout


def test_what_cannot_be_meant():
    for words, why in (
        ([], "say where to keep the record"),
        (["--out", "x", "--analyser", "fx2lafw"], "--analyser is for --umpire"),
        (["virtual", "--share", "x"], "--share measures nothing"),
    ):
        done = CliRunner().invoke(cli, ["commission", *words])
        assert isinstance(done.exception, UsageError)
        assert why in str(done.exception)


def test_a_room_of_made_up_benches_and_one_that_fails(tmp_path, made_up):
    made_up["target"] = UsageError("it is off", next_step="switch it on")

    def make(out: Path, asked: CommissionRequest, watch: Watch) -> Commissioning:
        if out.name == "bench-2":
            raise UsageError("its folder is somebody else's")
        return Commissioning(out, asked.model_copy(update={"target": "virtual"}), watch)

    benches = [FleetBench(f"bench-{n}", None, f"bench-{n}", f"/dev/x{n}") for n in (1, 2, 3)]

    def results(wires: str) -> dict[str, str]:
        found = commission_all(benches, tmp_path / "room", CommissionRequest(), wires, make)
        return {result.bench: result.trouble for result in found}

    first = results("jumpers")
    assert first == {"bench-1": "", "bench-2": "its folder is somebody else's", "bench-3": ""}
    second = results("target")
    assert second["bench-1"] == second["bench-3"] == "target: it is off -> switch it on"
    made_up["target"] = Outcome("pass", "x")
    assert results("target")["bench-3"] == ""
    record = read_record(tmp_path / "room" / "bench-3" / RECORD)
    assert record.open_steps == []
    # a second round names the first
    (result,) = commission_all(benches[:1], tmp_path / "new", CommissionRequest(), "target", make)
    assert result.trouble.startswith("ping: first jumpers must pass (--wires jumpers")


def test_a_label_has_name_serial_and_wires():
    text = label_page([Label("bench-1", "e6605838833f8a2b"), Label("<b>2", "")])
    assert "e6605838833f8a2b" in text
    assert text.count('class="label"') == 2
    assert "<b>2" not in text
    assert text.count("pin 13  BCM27") == 2
    assert text.count('class="write"') == 1


def test_a_record_is_json_that_people_can_read(whole):
    content = json.loads((whole / RECORD).read_text())
    assert list(content) == sorted(content)
    assert {step["name"] for step in content["steps"]} == set(names()) - {"misses", "umpire"}
