"""The first rally seals a prediction, and no honest student reads that it was changed."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from tennis.course import load_lab, work
from tennis.course.checking import running as checking
from tennis.course.predictions import _read_seals, _Seal, sealing, standing
from tennis.grading import hand_in
from tennis.kit.errors import BenchError, UsageError
from tests.support import terminal
from tests.support.hand_ins import make_sweep, make_work
from tests.support.synthetic import make_rally

LAB = load_lab("01-first-serve")
GUESS = {"number": "2", "reason": "softirqs are threads on PREEMPT_RT, and those must be woken"}


@pytest.fixture
def folder(tmp_path) -> Path:
    return make_work(
        tmp_path / "w",
        LAB,
        "zoe",
        answers={"prediction": GUESS},
        rallies={rally.name: None for rally in LAB.rallies},
    )


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "answers.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def play(folder: Path, name: str, **about) -> list[str]:
    """Play a rally as the commands do; return the lines that the student reads."""
    told: list[str] = []
    with sealing(folder / name, told.append):
        make_rally(folder / name, **about)
    return told


def known(folder: Path) -> tuple[str, str]:
    found = standing(work.read(folder), "prediction")
    return found.verdict, found.words


def test_what_was_sealed_stays_sealed_and_what_was_changed_afterwards_is_shown(folder):
    assert play(folder, "mainline-idle") == ["your prediction is sealed: do not change it any more"]
    assert known(folder)[0] == "unchanged"
    assert "as it was when mainline-idle was begun" in known(folder)[1]
    edit(folder, "number = '2'", "number = '3'")
    assert known(folder)[0] == "changed"
    assert "'2, softirqs are threads" in known(folder)[1]
    assert play(folder, "rt-idle") == []  # seals nothing again
    assert known(folder)[0] == "changed"
    edit(folder, "number = '3'", "number = '2'")
    assert known(folder)[0] == "unchanged"
    edit(folder, "must be woken", "must be called")
    assert known(folder)[0] == "changed"
    (seal,) = _read_seals(folder)
    assert (seal.number, seal.reason, seal.begun, seal.played) == (
        *GUESS.values(),
        "mainline-idle",
        [],
    )
    # answers that cannot be read stop no rally that is sealed
    (folder / "answers.toml").write_text("x = [")
    assert play(folder, "mainline-stress") == []
    assert (folder / "mainline-stress").is_dir()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("number = '2'", "number = '2.0 times'"),
        ("number = '2'", "number = 2"),
        ("softirqs are", "Softirqs  are"),
        ("PREEMPT_RT, and", "PREEMPT_RT and"),
        ("must be woken", "must be woken."),
    ],
)
def test_how_it_is_written_is_no_change(folder, old, new):
    play(folder, "mainline-idle")
    edit(folder, old, new)
    assert known(folder)[0] == "unchanged"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("number = '2'", "number = 'PREEMPT_RT is 3'")], "'PREEMPT_RT is 3' is not a number"),
        ([("number = '2'", "number = '3 ms'")], "'ms' is not a unit here: times is asked for"),
        ([("number = '2'", "number = '1,500'")], "may be 1500 or 1.500"),
        ([("number = '2'", "number = ''")], "prediction.number is empty"),
        ([(GUESS["reason"], "  ")], "prediction.reason is empty"),
        (
            [("number = '2'", "number = ''"), (GUESS["reason"], "")],
            "prediction.number and prediction.reason are empty",
        ),
        ([("number = '2'", "number = '2")], "your prediction cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_before_the_first_ball(folder, changes, said):
    whole = (folder / "answers.toml").read_text()
    for old, new in changes:
        edit(folder, old, new)
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        play(folder, "mainline-idle")
    assert "\n" not in str(refused.value)
    assert not (folder / "mainline-idle").exists()
    assert _read_seals(folder) == []
    (folder / "answers.toml").write_text(whole)
    play(folder, "mainline-idle")
    assert known(folder)[0] == "unchanged"


def test_the_command_refuses_an_empty_prediction(folder):
    """Nothing is booted, and nothing is left."""
    edit(folder, "number = '2'", "number = 'PREEMPT_RT is 3'")
    out = folder / "mainline-idle"
    done = terminal.tennis("rally", "--kernel", "sloth", "--balls", 9, "--out", out)
    assert done.returncode == 2, done.stderr
    assert "prediction.number: 'PREEMPT_RT is 3' is not a number" in " ".join(done.stderr.split())
    assert not out.exists()
    assert _read_seals(folder) == []


def test_a_rally_that_did_not_come_about_or_is_not_the_labs_seals_nothing(folder):
    """The bench failed, or the student ended it to write the prediction first."""
    assert play(folder, "mainline-idle-again") == play(folder, "try") == []
    with pytest.raises(BenchError), sealing(folder / "mainline-idle", print):
        raise BenchError("no kernel")
    assert known(folder)[0] == "nothing"
    play(folder, "rt-idle", ended="interrupted")
    assert _read_seals(folder) == []


def test_what_nobody_sealed_is_not_called_changed(folder):
    """Rallies that came by another way: an older Tennis, a copy, another machine."""
    make_rally(folder / "mainline-idle")
    assert known(folder) == ("nothing", "no rally sealed it: nobody knows when it was made")
    edit(folder, "number = '2'", "number = '3'")
    play(folder, "rt-idle")
    assert known(folder)[0] == "nothing"  # 3 was sealed, but mainline-idle was there before
    assert "mainline-idle was there before anything was sealed" in known(folder)[1]
    edit(folder, "number = '3'", "number = '4'")
    assert known(folder)[0] == "nothing"


def test_a_sweep_that_was_interrupted_has_sealed(tmp_path):
    lab = load_lab("09-faster-until-it-breaks")
    made = make_work(
        tmp_path / "w",
        lab,
        "zoe",
        rallies={rally.name: None for rally in lab.rallies},
        sweep={"there": False},
    )
    with pytest.raises(KeyboardInterrupt), sealing(made / "rates", print):
        make_sweep(made / "rates", lab, "zoe", rates=1)
        raise KeyboardInterrupt
    (seal,) = _read_seals(made)
    assert (seal.begun, seal.played) == ("rates", [])


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b"\xff\xfe\n{",
        b"[" * 5000,
        b'{"question": "prediction"}\n' * 100,
        b'{"question":"prediction","number":"1","reason":"x","at":"never"}',
        b"0" * (1 << 20),
    ],
)
def test_hostile_seals_are_no_seals(folder, lines):
    (folder / "predictions.jsonl").write_bytes(lines)
    assert _read_seals(folder) == []
    assert known(folder)[0] == "nothing"
    (folder / "predictions.jsonl").unlink()
    (folder / "predictions.jsonl").symlink_to("/dev/zero")
    assert _read_seals(folder) == []


def test_what_is_sealed_moves_no_cursor(folder):
    seal = {"question": "prediction", "number": "\x1b[2J", "reason": "\n<b>", "begun": "\x1b]0;x"}
    seal |= {"at": "2026-01-01T00:00:00Z", "played": []}
    (folder / "predictions.jsonl").write_text(json.dumps(seal) + "\n")
    assert known(folder)[0] == "changed"
    assert known(folder)[1].isprintable()


def test_whoever_marks_sees_it_and_decides(tmp_path):
    """It is handed in, too; what was not sealed costs nobody a point."""
    made = make_work(tmp_path / "w", LAB, "zoe", answers={"prediction": GUESS})
    before = checking.run_checks(made, blind=False)
    assert {mark.question: mark.points for mark in before.marks}["prediction"] == 1
    at = "2026-01-01T00:00:00Z"
    seal = _Seal.model_validate(
        {"question": "prediction", "number": "9", "reason": "", "at": at, "begun": "rt-idle"}
    )
    (made / "predictions.jsonl").write_text(seal.model_dump_json() + "\n")
    file = tmp_path / "zoe.zip"
    hand_in.pack(work.read(made), file)
    assert "predictions.jsonl" in zipfile.ZipFile(file).namelist()
    hand_in.unpack(file, tmp_path / "u")
    report = checking.run_checks(tmp_path / "u", blind=False)
    (mark,) = (mark for mark in report.marks if mark.question == "prediction")
    assert mark.points is None
    assert mark.why.startswith("it was another one when rt-idle was begun, 2026-01-01")
