"""Commissioning, end to end and wire by wire: the real firmware on an emulated Pico.

Steps that need no wire are made up (the names of these tests say so), and only what the
folder keeps is looked at.
"""

import getpass
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs._extensions.tennis_commissioning import boards
from tennis.bench.instruments import emulated
from tennis.cli import cli
from tennis.kit.errors import AlteredError, TennisError, UsageError
from tennis.kit.log import listening
from tennis.play.commissioning import measure as measuring
from tennis.play.commissioning.commissioning import Commissioning, share
from tennis.play.commissioning.equipment import _Boards
from tennis.play.commissioning.measure import Outcome, Work, measure
from tennis.play.commissioning.record import PAGE, RECORD, read_record
from tennis.play.commissioning.request import Amount, CommissionRequest
from tennis.play.commissioning.steps import names
from tennis.play.commissioning.wires import WireTrial
from tennis.play.rally import Watch
from tests.support.fake_brickwall import FakeBrickwall, ball_of, wires
from tests.support.mock_target import MockTarget
from tests.support.sshd import HOST, Sshd

FEW = Amount(each=1, random=64)
# an emulated Pico takes its time over a second of rest
QUICK = {"settle_s": 0.01, "gap_min_us": 100, "gap_max_us": 200}
VIRTUAL = CommissionRequest(target="virtual", balls=40, amount=FEW, serving=QUICK)


@pytest.fixture(autouse=True)
def _data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "data"))


@pytest.mark.more
@pytest.mark.virtual
def test_an_evening_with_an_emulated_pico_and_a_virtual_target(tmp_path):
    """The steps one after the other, the folder opened again for each; then the file to send.

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
    # the firmware's rate with a flash that never misses
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
    (out / RECORD).write_bytes(record.model_copy(update={"steps": edited}).sealed_text())
    with pytest.raises(AlteredError, match="interrupt median of the step idle is not its rally's"):
        share(out, tmp_path / "forged.json")
    assert not (tmp_path / "forged.json").exists()


def _nothing_private(text: str, *more: str) -> None:
    for word in (getpass.getuser(), socket.gethostname(), str(Path.home()), *more):
        # a short word is part of others, and everybody has a root
        if len(word) > 4:
            assert word not in text, word


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
    assert (what.judge_ping(), what.judge_reply()) == (ping, reply)


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
        return measure(step, Work(_Boards(request), out, Watch()))


@pytest.mark.parametrize(("every", "failure"), [(1, ""), (2, "wrong count"), (99, "wrong count")])
def test_a_mock_target_counts_the_pings(managed, tmp_path, every, failure):
    outcome = measured("ping", tmp_path, ball=counting(managed, every=every))
    assert (outcome.verdict, outcome.failure) == ("fail" if failure else "pass", failure), outcome
    # it was not loaded before, and is not now
    assert managed.loaded == []
    assert managed.log == ["modprobe racquet", "rmmod racquet"]


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
    # the target's own lines
    assert again(whole).todo() == ["firmware", "jumpers", "ping", "reply", "idle", "load"]
    assert "another pico" not in (whole / RECORD).read_text()


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
