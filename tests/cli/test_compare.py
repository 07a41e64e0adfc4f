# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""`tennis compare` of folders: what it says, what it refuses, and how it ends."""

import json
import re
import shutil

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.errors import UsageError
from tennis.play.sides import SETTINGS, side_of
from tennis.rally.manifest import Fault
from tennis.rally.plan import Plan
from tests.support.synthetic import latencies, make_rally
from tests.support.terminal import tennis

BOOTS = 8


def side(folder, *, times=1.0, boots=BOOTS, seeds=range(1, 100), **about):
    """Make boots of which each is so many times as slow as a usual one of its seed."""
    folder.mkdir()
    for seed in seeds[:boots]:
        rise = (latencies(600, seed) * times).astype(int)
        make_rally(folder / f"{seed:02d}", rise=rise, schedule=rise, seed=seed, **about)
    return folder


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    here = tmp_path_factory.mktemp("sides")
    side(here / "before")
    side(here / "later", times=1.5, release="6.13.0-synthetic")
    side(here / "alike", times=1.01, added="nohz=off")
    side(here / "moved", processors=2, interrupt_cpu=1)
    side(here / "few", times=1.5, boots=2)
    side(here / "elsewhere", bench="pi", time_note="nanoseconds of a crystal")
    return here


def run(*words):
    return CliRunner().invoke(cli, ["compare", *map(str, words)], terminal_width=120)


def test_boots_of_less_than_a_cycle_are_no_side(sides, tmp_path):
    """Whole cycles of the load decide, and these have none: no table without a row."""
    rise = latencies(600, 3)
    make_rally(tmp_path / "short", rise=rise, schedule=rise, load="stress", cycle_ns=5 * 10**9)
    done = run(sides / "before", tmp_path / "short", "--out", tmp_path / "page")
    assert isinstance(done.exception, UsageError)
    assert re.fullmatch(
        "after has no boot that can be compared: short has 600 balls, less than a cycle of stress "
        r"\(5 s\): [\d,]+ would do",
        str(done.exception),
    )
    assert not (tmp_path / "page").exists()


def test_a_folder_that_has_a_kernels_name_is_named_with_its_place(sides, tmp_path, monkeypatch):
    """A new rally of the kernel was meant as likely as the one in the folder."""
    shutil.copytree(sides / "before", tmp_path / "rt")
    monkeypatch.chdir(tmp_path)
    said = str(run("rt", sides / "later", "--no-explain").exception)
    assert said == "rt is a kernel, and a folder here: say kernel=rt, or ./rt"
    assert run("./rt", sides / "later", "--no-explain").exit_code == 1


def test_a_process_that_was_pinned_is_not_one_that_was_not(sides, tmp_path):
    """In a folder the two would be boots of one kind; on two sides it is what differs."""
    user = {"bottom_half": "user", "times": 1.5}
    pinned = side(tmp_path / "pinned", bottom_half_cpu=1, **user)
    said = " ".join(run(sides / "before", pinned, "--no-explain").output.split())
    assert "differs: bottom half's CPU: - before, 1 after" in said
    other = side(tmp_path / "other", seeds=range(100, 200), **user)
    shutil.copytree(other / "100", pinned / "100")
    said = str(run(sides / "before", pinned, "--no-explain").exception)
    assert "differ in bottom half's CPU" in said


def test_words_pin_the_process_that_answers():
    asked = side_of("mainline processors=2 bottom-half=user bottom-half-cpu=1", {"balls": 60})
    assert asked.plans[""].bottom_half_cpu == 1
    with pytest.raises(UsageError, match="write bottom-half-cpu=NUMBER"):
        side_of("mainline bottom-half=user bottom-half-cpu=first", {"balls": 60})


def test_worse_is_1_and_says_what_differs(sides, tmp_path):
    out = tmp_path / "new" / "page"
    done = run(sides / "before", sides / "later", "--no-explain", "--out", out)
    assert done.exit_code == 1, done.output
    words = " ".join(done.output.split())
    assert "differs: kernel: rt 6.12.0-synthetic before, rt 6.13.0-synthetic after" in words
    assert "1.500 (1.500 to 1.500) later" in words
    assert "Worse: 4 of 4 levels became later by more than 10 %." in words
    assert "8 boots a side, pairs of one seed" in words
    page = (out / "compare.html").read_text()
    assert "Worse: 4 of 4 levels became later by more than 10 %." in page
    assert "6.13.0-synthetic" in page
    again = run(sides / "before", sides / "alike", "--no-explain", "--out", out)
    assert isinstance(again.exception, UsageError)
    assert str(again.exception) == f"{out / 'compare.html'} exists: choose another name"
    assert (out / "compare.html").read_text() == page
    assert "http" not in page.replace("http://www.w3.org", "").split("</style>")[1]


def test_what_only_one_side_asked_for_is_a_dash_before(sides):
    done = run(sides / "before", sides / "moved", "--no-explain")
    words = " ".join(done.output.split())
    assert "differs: processors: 1 before, 2 after" in words
    assert "differs: interrupt's CPU: - before, 1 after" in words


def test_no_worse_is_0(sides):
    done = run(sides / "before", sides / "alike", "--json", "--no-explain")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["verdict"] == "no worse"
    assert told["differences"] == {"command line": {"before": "", "after": "nohz=off"}}
    levels = {(one["latency"], one["one_in"]): one for one in told["statements"]}
    assert set(levels) == {
        (name, one_in) for name in ("interrupt", "scheduling") for one_in in (2, 100)
    }
    assert levels["interrupt", 2]["ratio"] == pytest.approx(1.01, abs=0.001)
    assert levels["interrupt", 2]["change"] == "equal"
    assert run(sides / "before", sides / "alike", "--margin", 0.5, "--no-explain").exit_code == 1


def test_too_few_are_3_with_the_number(sides):
    done = run(sides / "few", sides / "later", "--no-explain")
    assert done.exit_code == 3, done.output
    assert "give each side at least" in done.output


def test_boots_without_a_partner_are_left_out(sides, tmp_path):
    more = side(tmp_path / "more", times=1.5, boots=9)
    done = run(sides / "before", more, "--no-explain")
    assert done.exit_code == 1
    assert "1 boot without a partner of the same seed is left out" in done.output
    strangers = side(tmp_path / "strangers", times=1.5, seeds=range(50, 80))
    done = run(sides / "before", strangers, "--json", "--no-explain")
    assert json.loads(done.stdout)["paired"] is False
    assert done.exit_code == 1


def test_a_suspect_boot_is_left_out_by_name(sides, tmp_path):
    folder = shutil.copytree(sides / "later", tmp_path / "later")
    fault = Fault(code="no_answer", message="it hung")
    make_rally(folder / "99", balls=600, seed=99, faults=[fault], release="6.13.0-synthetic")
    done = run(sides / "before", folder, "--no-explain")
    assert done.exit_code == 1
    assert "after: 99 is suspect (it hung)" in done.output


REFUSED = [
    ("before", "before", "are one boot"),
    ("before", "elsewhere", "played on different benches"),
    ("before", "nowhere", "names no side"),
    ("before", "mainline --balls", "names no side"),
    ("before", 'kernel="', "a quotation mark is missing"),
    ("mainline", "mainline", "both sides are the same"),
    ("mainline", "kernel=rt kernel=rt", "a side has one kernel"),
    ("mainline", "rt load-option=x", "write load-option=NAME=NUMBER"),
    ("mainline", "", "a side is empty"),
    ("mainline", "rt load=stress --balls", "names no side"),
]


@pytest.mark.parametrize(("before", "after", "said"), REFUSED)
def test_what_cannot_be_compared_is_one_line(sides, before, after, said, tmp_path):
    one, other = (
        sides / name if (sides / name).is_dir() and name else name for name in (before, after)
    )
    done = run(one, other, "--out", tmp_path / "out")
    assert isinstance(done.exception, UsageError), done.output
    assert said in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_copy_is_found_whatever_it_is_called(sides, tmp_path):
    folder = tmp_path / "copies"
    shutil.copytree(sides / "before", folder)
    done = run(sides / "before", folder)
    assert "are one boot" in str(done.exception)
    shutil.copytree(folder / "01", folder / "again")
    done = run(sides / "later", folder)
    assert "holds the balls of" in str(done.exception)


def test_boots_shorter_than_the_loads_cycle_are_refused(tmp_path):
    done = run("mainline", "rt", "--load", "stress", "--balls", 600, "--out", tmp_path / "x")
    assert isinstance(done.exception, UsageError)
    assert "less than a cycle of stress" in str(done.exception)


def test_a_board_needs_its_name(tmp_path):
    done = run("mainline", "rt", "--bench", "pi", "--out", tmp_path / "x")
    assert isinstance(done.exception, UsageError)
    assert "name it with --target" in str(done.exception)


def test_what_fails_is_not_called_worse(sides, tmp_path):
    """Exit code 1 is an answer: a gate must not take a broken folder for a slower kernel."""
    folder = shutil.copytree(sides / "later", tmp_path / "broken")
    balls = folder / "03" / "balls.parquet"
    balls.write_bytes(balls.read_bytes()[:-100])
    done = tennis("compare", sides / "before", folder)
    assert done.returncode == 4, done.stderr
    assert "was truncated or altered" in done.stderr


def test_every_setting_of_a_plan_can_be_a_sides():
    """What a side cannot say belongs to both: how balls are served, and the bench."""
    of_both = {"bench", "instrument", "port", "target", "protocol", "drill", "operator", "umpire"}
    not_asked = {
        "schema_version",
        "analyser",
        "versions",
        "phase_of_a_second",
        "recording",
        "speed",
    }
    words = {name.replace("-", "_") for name in SETTINGS} - {"load_option"} | {"load_options"}
    assert words == set(Plan.model_fields) - of_both - not_asked


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("mainline instruction-ns=4", "instruction_ns", 4),
        ("rt witness=cyclictest", "witness", "cyclictest"),
        ("mainline beneath=sloth", "beneath", "sloth"),
    ],
)
def test_a_side_names_what_a_rally_can_be_asked_for(words, name, value):
    asked = side_of(words, {"balls": 60})
    assert getattr(asked.plans[""], name) == value


def test_a_side_of_another_time_than_there_is():
    with pytest.raises(UsageError, match="instruction"):
        side_of("mainline instruction-ns=3", {"balls": 60})
