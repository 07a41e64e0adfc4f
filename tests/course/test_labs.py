"""Labs are read whole, or refused with the place and the reason."""

import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from tennis.bench.sloth import KERNELS
from tennis.course import LabError, load_course, load_lab
from tennis.course.lab_files import figures_us, load_solution, open_recorded
from tennis.kit.checkout import ROOT
from tennis.rally import open_rally
from tennis.rally.statistics import summarize

SOUND = """
title = "A lab"
about = "About it."
minutes = 30

[parameters]
balls = 5000
kernels = ["mainline", "rt"]

[[questions]]
id = "one"
kind = "text"
points = 2
text = "Of {balls} balls on {kernels}?"

[[questions]]
id = "two"
kind = "number"
unit = "ns"
points = 1
text = "How many?"
"""


def write(labs: Path, text: str, slug: str = "01-a-lab") -> None:
    (labs / slug).mkdir(parents=True, exist_ok=True)
    (labs / slug / "lab.toml").write_text(text)
    (labs / "course.toml").write_text(f'title = "T"\nabout = "A"\nlabs = ["{slug}"]\n')


def test_a_lab_is_read(tmp_path):
    write(tmp_path, SOUND)
    course, (lab,) = load_course(tmp_path)
    assert course.labs == [lab.slug] == ["01-a-lab"]
    assert (lab.number, lab.points, lab.minutes) == (1, 3, 30)
    assert lab.value("parameters.balls") == 5000
    assert lab.fill(lab.question("one").text) == "Of 5,000 balls on mainline, rt?"
    assert lab.fill("--balls {balls}", prose=False) == "--balls 5000"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("points = 2", "points = 0", "questions[0].points: Input should be greater than 0"),
        ("points = 2", 'points = "2"', "questions[0].points: Input should be a valid integer"),
        ('id = "two"', 'id = "one"', "two questions have the id 'one'"),
        ('id = "two"', 'id = "Two!"', "questions[1].id: String should match pattern"),
        ('unit = "ns"\n', "", "a question has a unit if, and only if, its kind is number"),
        ('kind = "text"', 'kind = "essay"', "questions[0].kind: Input should be 'prediction'"),
        ("{balls} balls", "{bulls} balls", "{bulls} names no parameter of the lab; there are"),
        ("minutes = 30", "", "minutes: Field required"),
        (
            "minutes = 30",
            "minutes = 30\nhours = 1",
            "hours: Extra inputs are not permitted: there are title",
        ),
        (
            "minutes = 30",
            "minutes = 30\nrallies = [{ name = 'a', kernel = 'rt', bench = 'pi' }]",
            "drill, recorded, and the settings of tennis rally --help",
        ),
        ('unit = "ns"', 'unit = ""', '; of a ratio "times"'),
        ("minutes = 30", "minutes =", "is not TOML"),
        (
            "minutes = 30",
            'minutes = 30\nslug = "x"',
            "slug: the folder's name is the slug: leave it out",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, old, new, message):
    assert old in SOUND
    write(tmp_path, SOUND.replace(old, new, 1))
    with pytest.raises(LabError) as caught:
        load_lab("01-a-lab", tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path / "01-a-lab" / "lab.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_courses_labs_ask_for_what_exists():
    kernels = {*tomllib.loads((ROOT / "target/kernels/debian.toml").read_text()), *KERNELS}
    _course, labs = load_course()
    assert labs
    for lab in labs:
        assert lab.rallies or lab.match
        assert not lab.sweep or lab.sweep.kernel in kernels
        for rally in lab.rallies:
            assert rally.kernel in kernels or rally.recorded
            assert (ROOT / "loads" / rally.load / "load.toml").is_file()
        assert (ROOT / "handouts" / f"{lab.slug}.md").is_file()
        assert (ROOT / "notebooks" / f"{lab.slug}.md").is_file()


@pytest.mark.parametrize("rally", [r for lab in load_course()[1] for r in lab.to_play])
def test_a_command_is_shown_in_short_lines_and_stays_the_same(rally):
    shown = rally.display(4_294_967_295 - rally.boot)
    assert all(len(line) <= 78 for line in shown.splitlines())
    words = shlex.split(shown.removeprefix("$ ").replace("\\\n", " "))
    assert words == shlex.split(rally.command(4_294_967_295 - rally.boot))
    # a notebook gives them to a program, and no shell takes quotes away
    options = rally.options(4_294_967_295 - rally.boot)
    assert words == [*rally.verb.split(), *options, "--out", rally.name]
    assert not any("@" in word for word in words)  # a profile's digest: nobody types that


def test_no_solution_lacks_an_answer(tmp_path):
    write(tmp_path, SOUND)
    lab = load_lab("01-a-lab", tmp_path)
    assert load_solution(lab) is None  # as in a student's tree
    path = tmp_path / "01-a-lab" / "solution.toml"
    for text, words in (
        ("[one]\nrubric = []", "an answer has a value or a rubric"),
        ("[three]\nanswer = 1", "the lab has no such question"),
        ('[one]\nrubric = [{points = 1, text = "x"}]', "the rubric has 1 points, the question 2"),
        ('[one]\nrubric = [{points = 2, text = "x"}]', "two: there is no answer"),
        ("[two]\nanswer = true", "answer"),
    ):
        path.write_text(text)
        with pytest.raises(LabError, match=words):
            load_solution(lab)
    path.write_text("[two]\nanswer = 3")
    assert load_solution(lab).of("two").answer == 3


@pytest.mark.parametrize("core", ["evl", "cobalt"])
def test_recorded_figures_are_those_of_the_evidence(core):
    """Nobody can play them again here; so the handouts' figures are compared with their source."""
    evidence = (ROOT / "docs" / "evidence" / f"{core}.md").read_text()
    lab = load_lab("06-out-of-band")
    rows = {
        f"{core}_stress": f"| `racquet_{core}`, out-of-band | stress |",
        f"{core}_hog": f"| `racquet_{core}`, out-of-band | hog |",
        f"{core}_xload": f"| `racquet_{core}`, out-of-band | `xload`",
    }
    told = {name.removesuffix("_interrupt_us") for name in lab.parameters if name.startswith(core)}
    told = {name.removesuffix("_scheduling_us") for name in told}
    assert told == {"evl": {"evl_xload"}, "cobalt": set(rows)}[core]
    for name in told:
        (line,) = (line for line in evidence.splitlines() if line.startswith(rows[name]))
        cells = [[float(x) for x in cell.split("/")] for cell in line.split("|")[3:5]]
        assert cells == [
            lab.parameters[f"{name}_{kind}_us"] for kind in ("interrupt", "scheduling")
        ]


RECORDED = ROOT / "labs/06-out-of-band/recorded"


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDED.iterdir() if path.is_dir()))
def test_what_is_told_of_a_recorded_rally_is_what_its_folder_holds(name):
    """In the evidence, and by `lab.toml`: each folder, each figure, each hash."""
    rally = open_rally(RECORDED / name)
    summary, versions = summarize(rally), rally.manifest.tool.versions
    assert rally.misses == 0 and not rally.manifest.suspect
    evidence = (ROOT / "docs/evidence/evl.md").read_text()
    figures = [
        " / ".join(f"{latency.ns(what) / 1000:.2f}" for what in ("median", "p99", "max"))
        for latency in (summary.interrupt_ns, summary.scheduling_ns)
    ]
    (line,) = (line for line in evidence.splitlines() if line.startswith(f"| `{name}` |"))
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    stage = rally.manifest.target.stage
    protocol = rally.manifest.protocol
    assert cells[1:] == [
        *(stage, rally.manifest.load.name, str(protocol.seed), f"{rally.balls:,}", *figures)
    ]
    for what in ("kernel_config_sha256", "kernel_image_sha256"):
        assert versions[what] in evidence
    assert rally.manifest.target.release in evidence
    assert all(path.stat().st_size < 100_000 for path in rally.path.iterdir())


def test_a_lab_names_each_recorded_rally_as_it_is():
    lab = load_lab("06-out-of-band")
    asked = [rally for rally in lab.rallies if rally.recorded]
    assert len(asked) == 5
    for one in asked:
        target, load = open_recorded(lab, one).manifest.target, one.load
        assert (target.kernel, target.bottom_half, target.priorities, load) == (
            *(one.kernel, one.bottom_half, one.priorities),
            open_recorded(lab, one).manifest.load.name,
        )
        assert open_recorded(lab, one).balls == one.balls
    factor = [figures_us(lab, f"evl-{name}stress", "interrupt")[2] for name in ("in-band-", "")]
    assert round(factor[0] / factor[1], 1) == 26.2


def test_another_rally_in_its_place_is_refused(tmp_path):
    """Whole and sealed, but not the one that the lab's figures are from."""
    lab = load_lab("06-out-of-band")
    asked = next(rally for rally in lab.rallies if rally.name == "evl-stress")
    moved, place = lab.model_copy(update={"folder": tmp_path}), tmp_path / "recorded"
    with pytest.raises(
        LabError, match=r"evl-stress does not exist.*: ask your teacher for the labs' folder"
    ):
        open_recorded(moved, asked)
    shutil.copytree(RECORDED / "evl-hog", place / "evl-stress")
    with pytest.raises(LabError, match=r"is another rally than .*lab.toml names"):
        open_recorded(moved, asked)
    with pytest.raises(LabError, match=r"has no recorded\.rt-stress\.interrupt: .* one of evl-str"):
        figures_us(lab, "rt-stress", "interrupt")
