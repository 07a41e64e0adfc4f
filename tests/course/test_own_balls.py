"""Marks are computed from balls that the marker played: no copy and no forgery is worth a point."""

import contextlib
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pydantic import TypeAdapter, ValidationError

from tennis.bench.registry import bench_for
from tennis.cli import cli
from tennis.course import load_course, load_lab, work
from tennis.course.checking import evidence
from tennis.course.checking.evidence import (
    PlayedHere,
    _plan_here,
    as_asked,
    compare,
    own_rally,
    there,
)
from tennis.course.checking.plays import Plays, plan_of_rally
from tennis.course.checking.running import is_of_this_machine, run_checks
from tennis.course.checks import Inconclusive, NotRun, Wrong
from tennis.course.lab_files import solved
from tennis.course.labs import class_nonce
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, NotBuiltError
from tennis.play.rally import Watch, play
from tennis.rally import balls
from tennis.rally.folder import BALLS, MANIFEST
from tennis.rally.manifest import Fault, Manifest
from tennis.rally.statistics import summarize
from tests.support.forging import reseal
from tests.support.hand_ins import make_work, played_by_marker, zipped
from tests.support.synthetic import make_rally
from tests.support.tables import plain, schema

pytestmark = pytest.mark.xdist_group("own-balls")
LABS = load_course()[1]
# a lab's rally on SLOTH, which boots in no time; as small as it can be
LAB = load_lab("10-who-needs-a-scheduler")
ASKED = LAB.rallies[1].model_copy(update={"balls": 60})
SMALL = LAB.model_copy(update={"rallies": [ASKED]})
FORGERIES = 20  # fields, of some fifty: each other value that is found out takes another play
KNOWN = ("instrument.kind", "bench", "target.command_line", "tool.versions", "suspect")
KNOWN += ("target.kernel_settings",)  # a board's, in a rally of the virtual bench


def content_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / MANIFEST).read_text())


def opened(folder: Path) -> work.Work:
    return replace(work.read(folder, LAB), lab=SMALL)


@pytest.fixture(scope="module")
def class_of_two(tmp_path_factory) -> Path:
    """Return a folder with Zoe's and Max's folders, and what the marker played for Zoe."""
    folder = tmp_path_factory.mktemp("own-balls")
    for student in ("zoe", "max"):
        work.start(LAB, student, folder / student)
        plan = plan_of_rally(ASKED, work.seed_of(LAB, student))
        play(bench_for(plan), plan, folder / student / ASKED.name, Watch())
    return folder


def judged(folder: Path, plays: Path) -> tuple[str, str]:
    """Return what the checks of a rally raise, and its words; "same" where it is equal."""
    handed_in = opened(folder)
    try:
        as_asked(handed_in, ASKED, boards=False)
        compare(handed_in, handed_in.handed_in[ASKED.name], ASKED, Plays(plays))
        there(handed_in, ASKED, boards=False)
    except (Wrong, Inconclusive, NotRun) as error:
        return type(error).__name__, str(error)
    return "same", ""


def others(value: Any) -> list[Any]:
    """Return values in place of one."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value + 300]
        case str():
            return [f"x {value}", "pi", "replay", "0" * 64]
        case dict() if value:  # versions
            return [{**value, next(iter(value)): "x"}, {**value, "kernel": "/somewhere"}]
        case list():
            return [[{"code": "made_up", "message": "made up"}]]
        case _:
            return ["x", 1, {}]


def forged(
    content: dict[str, Any], inside: dict[str, Any], path: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield manifests with one field altered each, if the schema takes them."""
    for name, value in list(inside.items()):
        where = f"{path}{name}"
        if isinstance(value, dict) and value and where != "tool.versions":
            yield from forged(content, value, f"{where}.")
            continue
        for other in (one for one in others(value) if one != value):
            inside[name] = other
            made = json.dumps(content)
            inside[name] = value
            with contextlib.suppress(ValidationError):
                TypeAdapter(Manifest).validate_json(made)
                if not where.startswith(("files.", "seal")):  # damage, not forgery
                    yield f"{where} = {other!r}"[:80], json.loads(made)


@pytest.mark.virtual
def test_no_altered_field_leaves_a_rally_undecided_or_changes_what_is_marked(
    class_of_two, tmp_path
):
    """Each is refused, or a finding, or costs nothing; what marks are computed from stays."""
    zoe, plays = class_of_two / "zoe", class_of_two / "played"
    content = content_of(zoe / ASKED.name)
    every = list(forged(content, content))
    of_fields = {words.partition(" = ")[0] for words, _ in every}
    assert len(of_fields) > 40
    draw = random.Random(1)  # noqa: S311 (to be repeated)
    fields = [*draw.sample(sorted(of_fields - {*KNOWN}), FORGERIES), *KNOWN]
    chosen = []
    for field in fields:
        of_one = [one for one in every if one[0].startswith(f"{field} = ")]
        chosen += of_one if field in {"bench", "tool.versions"} else [draw.choice(of_one)]
    assert judged(zoe, plays) == ("same", "")
    right = summarize(PlayedHere(opened(zoe), Plays(plays))[ASKED.name]).interrupt_ns.median
    became: dict[str, list[str]] = {}
    shutil.copytree(zoe, tmp_path / "w")
    for words, made in chosen:
        reseal(tmp_path / "w" / ASKED.name, made)
        verdict, said = judged(tmp_path / "w", plays)
        became.setdefault(verdict, []).append(f"{words}: {said}")
        here = PlayedHere(opened(tmp_path / "w"), Plays(plays))
        if made["bench"] == "virtual" and ASKED.name in here:
            assert summarize(here[ASKED.name]).interrupt_ns.median == right, words
    # a recording is nobody's work: it is a person's to judge, and it is never marked by itself
    undecided = [one for one in became.pop("Inconclusive", []) if not one.startswith("bench")]
    assert undecided == []
    assert set(became) <= {"same", "InDoubt", "Wrong"}, became
    told = "; ".join(became["InDoubt"] + became["Wrong"])
    assert [field for field in KNOWN if field not in told] == []
    equal = {one.partition(" = ")[0] for one in became.get("same", [])}
    # a version costs nothing: the balls are the same; of a recording only the balls are compared
    assert equal <= {"created", "operator", "schema_version", "tool.versions", "bench"}


@pytest.mark.virtual
def test_a_copy_with_another_seed_and_earlier_answers_is_worth_nothing(class_of_two, tmp_path):
    """Zoe's rally in Max's folder: answers 300 ns sooner, his seed, and a bench nobody has."""
    folder = tmp_path / "w"
    shutil.copytree(class_of_two / "max", folder)
    shutil.rmtree(folder / ASKED.name)
    shutil.copytree(class_of_two / "zoe" / ASKED.name, folder / ASKED.name)
    path = folder / ASKED.name / BALLS
    table = pq.read_table(path)
    hz = content_of(path.parent)["instrument"]["tick_hz"]
    sooner = [np.asarray(table[name]) + 300 for name in ("rise_ticks", "fall_ticks")]
    columns = [*table.columns[:2], *(pa.array(one, pa.uint32()) for one in sooner)]
    balls.write(path, plain(pa.table(columns, schema=schema(hz))), hz)
    content = content_of(path.parent)
    content["protocol"]["seed"] = work.seed_of(LAB, "max") + ASKED.boot
    reseal(path.parent, content)
    plays = Plays(class_of_two / "played")
    copied = opened(folder)
    verdict, said = judged(folder, class_of_two / "played")
    assert (verdict, "does not repeat: ball 0" in said) == ("InDoubt", True)
    theirs, ours = (
        summarize(one).interrupt_ns.median
        for one in (copied.handed_in[ASKED.name], PlayedHere(copied, plays)[ASKED.name])
    )
    honest = summarize(opened(class_of_two / "max").handed_in[ASKED.name]).interrupt_ns.median
    assert (ours, theirs != ours) == (honest, True)


@pytest.mark.virtual
def test_a_play_is_kept_and_a_machine_in_trouble_accuses_nobody(class_of_two, tmp_path):
    zoe = opened(class_of_two / "zoe")
    rally, plan = zoe.handed_in[ASKED.name], _plan_here(zoe, ASKED)
    plays = Plays(tmp_path / "played")
    first = plays.rally(plan)
    times = first.path.stat().st_mtime_ns
    assert plays.rally(plan).path.stat().st_mtime_ns == times
    assert plays.difference(rally, plan) == ""
    # what this machine kept is not what it plays now: nobody is accused, and it is played again
    content = content_of(first.path)
    content["target"]["board"] = "another"
    reseal(first.path, content)
    with pytest.raises(BenchError, match="two plays of it differ: its target board is another"):
        plays.difference(rally, plan)
    assert plays.difference(rally, plan) == ""


def test_with_a_nonce_last_years_seeds_are_nobodys(tmp_path, monkeypatch):
    text = (ROOT / "labs/course.toml").read_text()
    text = text.replace("\nlabs = ", '\nnonce = "winterterm"\nlabs = ')
    (tmp_path / "course.toml").write_text(text)
    assert class_nonce() == ""
    assert class_nonce(tmp_path) == "winterterm"
    before = work.seed_of(LAB, "zoe", "4711")
    monkeypatch.setattr(work, "class_nonce", lambda: "winterterm")
    assert work.seed_of(LAB, "zoe", "4711") != before


PLAYED = [
    (lab, name)
    for lab in LABS
    for name in (
        *(asked.name for asked in lab.to_play),
        *(one.name for one in (lab.sweep, lab.match) if one is not None),
    )
]


@pytest.mark.cases(slow=["11-the-report"])
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_each_rally_that_is_missing_costs_points_and_it_is_said(lab, tmp_path):
    """Each taken away alone."""
    read = work.read(make_work(tmp_path / "w", lab, "zoe"))
    for name in (name for one, name in PLAYED if one is lab):
        kept = read.folder / name
        kept.rename(tmp_path / "away")
        handed_in = {key: rally for key, rally in read.handed_in.items() if key != name}
        without = replace(read, handed_in=handed_in, trouble={name: "it is not there"})
        evidence._TROUBLE.clear()
        lost = {}
        for question in lab.questions:
            try:
                evidence.doubtful_rallies(without, question, boards=True)
            except Wrong as error:
                lost[question.id] = str(error)
        assert lost, name
        assert all(words.startswith(f"it needs {name}: ") for words in lost.values())
        needing = {question.id for question in lab.questions if name in question.rallies}
        assert set(lost) == needing
        (tmp_path / "away").rename(kept)
    evidence._TROUBLE.clear()


def test_without_any_rally_no_text_about_them_waits_for_its_points(tmp_path):
    lab = load_lab("01-first-serve")
    rallies = {asked.name: None for asked in lab.rallies}
    made = make_work(tmp_path / "w", lab, "zoe", rallies=rallies)
    report = run_checks(made, blind=False)
    points = {mark.question: mark.points for mark in report.marks}
    assert points == {"edges": 2, "prediction": 0, "average": 0, "histogram": 0, "bound": 2}
    why = {mark.question: mark.why for mark in report.marks}
    assert why["histogram"] == "it needs mainline-idle: it is not there"
    assert report.open == []


LAB_1 = load_lab("01-first-serve")


@pytest.mark.slow
def test_the_class_is_marked_by_what_the_marker_played(tmp_path):
    """The marker's replay is made up: the same balls, so that nothing boots."""
    (tmp_path / "in").mkdir()
    plays = tmp_path / "in-marks" / "played"
    plays.mkdir(parents=True)
    made = make_work(tmp_path / "ada", LAB_1, "ada")
    (made / work.NOTEBOOK).write_text(NOTHING)
    zipped(made, tmp_path / "in" / "ada.zip")
    played_by_marker(plays, LAB_1, "ada", tmp_path / "played for ada")
    done = CliRunner().invoke(cli, ["grade", str(tmp_path / "in"), "--lab", "01"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "in-marks/class.html").read_text()
    assert "Nothing to look at. Each rally was played here with its student's seed" in page
    # no line about what was not compared: no rallies, or none that was played here
    none = {asked.name: None for asked in LAB_1.rallies}
    made = make_work(tmp_path / "cy", LAB_1, "cy", rallies=none)
    (made / work.NOTEBOOK).write_text(NOTHING)
    zipped(made, tmp_path / "in" / "cy.zip")
    done = CliRunner().invoke(cli, ["grade", str(tmp_path / "in"), "--lab", "01"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "in-marks/class.html").read_text()
    assert "each rally was played here" not in page
    table = (tmp_path / "in-marks/marks.csv").read_text("utf-8-sig")
    (cy,) = (line for line in table.splitlines() if line.startswith("cy,"))
    assert cy.split(",")[2:7] == ["4", "10", "4", "0", "marked"]


NOTHING = (ROOT / "notebooks/01-first-serve.md").read_text().partition("# 1.")[0] + "# Nothing\n"


LAB_3 = load_lab("03-write-the-racquet")


class Here(dict):
    """Rallies as the marker played them; some could not be."""

    def __getitem__(self, name):
        found = super().__getitem__(name)
        if isinstance(found, Exception):
            raise found
        return found


@pytest.mark.parametrize(
    ("own", "kit", "kind", "words"),
    [
        ({}, {}, None, ""),
        ({"misses": 31}, {}, Wrong, "31 of 3000 balls: not answered"),
        ({"misses": 30}, {}, None, ""),
        ({"faults": [Fault(code="panic", message="oops")]}, {}, Wrong, "the rally fails: oops"),
        (BenchError("it hangs"), {}, Wrong, "ends, with the kit's it does not: it hangs"),
        (NotBuiltError("racquet.c:1: no"), {}, Wrong, "it is not built: racquet.c:1: no"),
        # this machine, and not the student's Racquet
        (BenchError("it hangs"), BenchError("no QEMU"), BenchError, "no QEMU"),
        (BenchError("x"), {"faults": [Fault(code="x", message="y")]}, Inconclusive, "here, too"),
    ],
)
def test_a_racquet_of_ones_own_is_judged_by_the_markers_play(tmp_path, own, kit, kind, words):
    """The student's folder is whole in each case, and decides nothing."""
    read = work.read(make_work(tmp_path / "w", LAB_3, "zoe"))
    here = Here()
    for name, about in (("own", own), ("tasklet", kit)):
        if isinstance(about, Exception):
            here[name] = about
        else:
            here[name] = make_rally(tmp_path / name, balls=3000, module="racquet", **about)
    played = replace(read, rallies=here)
    if kind is None:
        assert own_rally(played, "own", "tasklet") is here["own"]
        return
    with pytest.raises(kind, match=words) as error:
        own_rally(played, "own", "tasklet")
    assert is_of_this_machine(error.value) == (kind is BenchError)
    assert own_rally(read, "own", "tasklet").balls == 3000


# on trial, with mainline, it is as it should be
RAISES = "\tgpiod_set_value(r->reply, 1);\n"
TWO_FACED = f"{RAISES}#ifdef CONFIG_PREEMPT_RT\n\tgpiod_set_value(r->reply, 0);\n#endif\n"


@pytest.mark.virtual
def test_a_racquet_is_the_same_on_trial_and_in_its_rally(tmp_path):
    """It is watched in the play that gives the points, and being watched moves no ball."""
    own = next(asked for asked in LAB_3.rallies if asked.racquet)
    asked = own.model_copy(update={"load": "idle", "balls": 40})
    work.start(LAB_3, "zoe", tmp_path / "w")
    source = tmp_path / "w" / "racquet.c"
    text = solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text())
    assert text.count(RAISES) == 1
    plays = Plays(tmp_path / "played")
    for written in (text, text.replace(RAISES, TWO_FACED)):
        source.write_text(written)
        plan = plan_of_rally(asked, work.seed_of(LAB_3, "zoe"), own=source)
        if written == text:
            played = play(bench_for(plan), plan, tmp_path / "w" / asked.name, Watch())
            assert plays.difference(played, plan) == ""
        read = work.read(tmp_path / "w")
        read = replace(read, lab=LAB_3.model_copy(update={"rallies": [asked]}))
        here = replace(read, rallies=PlayedHere(read, plays))
        if written == text:
            assert own_rally(here, asked.name, beside="").balls == 40
            continue
        with pytest.raises(Wrong, match="in the rally its top half lowers the line, in 40 of"):
            own_rally(here, asked.name, beside="")
