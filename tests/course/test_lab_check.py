"""The lines that a student reads: answered is not yet right, and a part can be handed in."""

import json
import re
import resource
import threading
import zipfile
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tennis.cli import cli
from tennis.course import load_lab, work
from tennis.course.checking import running as checking
from tennis.kit import turns
from tennis.kit.share import processors
from tests.support.hand_ins import make_work

LAB = load_lab("04-under-load")
FIRST = load_lab("01-first-serve")


def run(*words: str | Path, told: str = "") -> Result:
    return CliRunner().invoke(cli, list(map(str, words)), input=told)


def in_one_line(words: str) -> str:
    return " ".join(words.split())


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict:
    """Return what `tennis lab check --json` says of a folder with every kind of answer."""
    answers = {
        "prediction": {"number": "about 3", "reason": "interrupts are off while it works"},
        "growth": "1,5 times",  # computed, and wrong
        "network": "turns",
        "culprit": "bla bla bla bla bla bla",
        "thesis": "2,786",
        "carry-over": None,
    }
    made = make_work(tmp_path_factory.mktemp("work") / "w", LAB, "zoe", answers=answers)
    done = run("lab", "check", "04", "--in", made, "--json")
    assert done.exit_code == 1
    return json.loads(done.stdout)


def test_answered_and_right_are_two_things(told):
    asked = {one["question"]: (one["answered"], one["right"]) for one in told["questions"]}
    assert asked == {
        "prediction": (False, "not judged here"),
        "median": (True, "not judged here"),
        "growth": (True, "no"),
        "network": (True, "not judged here"),
        "culprit": (False, "not judged here"),
        "thesis": (False, "not judged here"),
        "carry-over": (False, "not judged here"),
    }


def test_it_says_how_an_answer_was_read_and_what_it_lacks(told):
    read = {one["question"]: one["understood"] for one in told["questions"]}
    assert read["growth"] == "1.5 times"
    number, _, choice = read["network"].partition(": ")
    assert number in {"1", "2", "3", "4"}
    assert choice == LAB.question("network").choices["turns"]
    assert read["prediction"].startswith("'about 3' is not a number")
    assert read["thesis"] == "'2,786' may be 2786 or 2.786: write one of these"
    assert read["culprit"] == "6 words, 1 of them different: say why, too"
    # and what is refused when it is handed in
    refused = "\n".join(told["submit_refuses"])
    for name in ("prediction", "culprit", "thesis", "carry-over"):
        assert f"{name}: " in refused
    assert "growth" not in refused  # answered, if wrong


@pytest.mark.parametrize("first", ["pass", "fail"])
def test_a_question_waits_for_what_this_machine_lacks(first):
    """Lab 3 without the kernel that watches: nobody may take it for judged, nor for right."""
    lab = load_lab("03-write-the-racquet")

    def result(check: str, verdict: str, **more: Any) -> checking.Result:
        told = {"check": check, "question": "clean", "verdict": verdict, "message": check}
        told |= {"rationale": "", "hint": "", "seconds": 0}
        return checking.Result.model_validate(told | more)

    results = [
        result("check_answered[clean]", "pass"),
        result("check_earlier", first),
        result("check_clean", "not run", not_here=True),
    ]
    report = SimpleNamespace(results=results)
    (clean,) = (one for one in checking.questions(lab, report) if one.question == "clean")
    wanted = ("waits", "check_clean") if first == "pass" else ("no", "check_earlier")
    assert (clean.answered, clean.right, clean.why) == (True, *wanted)


def test_a_trap_is_answered_and_not_called_right(tmp_path):
    made = make_work(tmp_path / "w", FIRST, "zoe", answers={"edges": "9,160 ns"})
    done = run("lab", "check", "01", "--in", made)
    said = in_one_line(done.output)
    assert done.exit_code == 0, done.output
    assert re.search(r"edges yes: 9160 ns not judged here: your teacher", said)
    assert "5 of 5 answered, 0 of them known to be right. Answered does not mean right" in said
    assert "Not run here, but when it is marked: rally mainline-idle, played again; rally" in said
    assert "the notebook, run again." in said
    assert "`tennis lab submit 01` will take it, if the notebook runs." in said
    assert not re.search(r"(?m)^ ok  edges", done.output)


def test_a_folder_that_is_older_than_a_question_is_told_so(tmp_path):
    """An empty answer is one thing, a question that nobody could see another."""
    made = make_work(tmp_path / "w", FIRST, "zoe", answers={"average": None, "bound": None})
    answers = made / work.ANSWERS
    answers.write_text(answers.read_text().replace('bound = ""\n', ""))
    found = {one.check: one.message for one in checking.run_checks(made, blind=True).results}
    assert found["check_answered[average]"] == "there is no answer yet"
    assert "has no bound: it is older than the question" in found["check_answered[bound]"]


def test_a_part_is_handed_in_after_a_question(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = make_work(
        tmp_path / "w", FIRST, "zoe", answers={"average": None}, rallies={"rt-idle": None}
    )
    (made / "notebook.md").unlink()
    words = ("lab", "submit", "01", "--in", made)
    refused = run(*words)  # nobody is there to be asked
    assert refused.exit_code == 1
    assert "4 of 5 answered, 1 of 2 rallies are there. Hand in this part?" in refused.output
    assert "--partial" in str(refused.exception.next_step)
    assert not list(tmp_path.glob("*.zip"))
    assert run(*words, "--out", "asked.zip", told="y\n").exit_code == 0
    scripted = run(*words, "--partial", "--out", "scripted.zip")
    assert scripted.exit_code == 0
    assert "scripted.zip (a part): " in scripted.output
    names = set(zipfile.ZipFile("asked.zip").namelist())
    assert {"answers.toml", "mainline-idle/manifest.json"} <= names
    assert not any(name.startswith(("rt-idle", "notebook")) for name in names)
    assert Path("asked.zip").read_bytes() == Path("scripted.zip").read_bytes()


def test_a_folder_for_which_there_was_no_room_is_not_there_in_half(tmp_path):
    """A student with a full home frees some space, and starts again with the same command."""
    words = ("lab", "start", "01", "--as", "Zoe", "--out", tmp_path / "w")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, usual[1]))
        done = run(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert done.exit_code != 0
    assert "free some space, then try again" in str(done.exception)
    assert not (tmp_path / "w").exists()
    assert run(*words).exit_code == 0


def test_who_is_in_a_hubs_jupyterlab_starts_no_other_one(tmp_path, monkeypatch):
    """Two at once met at port 8888, and one of them was shown the other's address."""
    assert run("lab", "start", "01", "--as", "Zoe", "--out", tmp_path / "w").exit_code == 0
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/zoe/")
    monkeypatch.chdir(tmp_path / "w")  # as the handout says: the work's folder is "." then
    for home, place in ((tmp_path, "w/notebook.md"), ("/nowhere", tmp_path / "w/notebook.md")):
        monkeypatch.setenv("HOME", str(home))
        done = run("lab", "open", "01", "--no-browser")
        assert done.exit_code != 0
        assert f"open {place} in its list of files" in str(done.exception)


def test_what_may_be_two_numbers_costs_nobody_a_point(tmp_path):
    made = make_work(tmp_path / "w", FIRST, "zoe", answers={"edges": "7,740 µs"})
    report = checking.run_checks(made, blind=False)
    (mark,) = (mark for mark in report.marks if mark.question == "edges")
    assert mark.points is None
    assert "may be 7740 or 7.740" in mark.why


def test_who_checks_a_file_waits_for_others_whose_files_are_tried(tmp_path, monkeypatch):
    """Thirty boots at once would each take too long; who holds all places ends some day."""
    monkeypatch.setattr(turns, "LOCKS", tmp_path)
    lab = load_lab("03-write-the-racquet")
    work.start(lab, "zoe", tmp_path / "w")
    (tmp_path / "w/racquet.c").unlink()  # so that nothing boots
    with ExitStack() as held:
        for _ in range(processors()):
            held.enter_context(turns.turn("trial", processors()))
        release = threading.Timer(1, held.pop_all().close)
        release.start()
        done = run("lab", "check", "03", "--in", tmp_path / "w")
    release.join()
    assert done.exit_code == 1
    assert "waiting for others whose files are tried" in done.stderr
    assert done.stderr.index("waiting for others") < done.stderr.index("building and trying")
    assert "waiting" not in run("lab", "check", "03", "--in", tmp_path / "w").stderr
