"""`tennis compare` of folders: what it says, what it refuses, and how it ends."""

import json
import re
import shlex
import shutil

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from tennis.cli import cli
from tennis.compare.markdown import _escaped
from tennis.kit.errors import UsageError
from tennis.rally.manifest import Fault
from tests.support.one_setting import ANSWERED
from tests.support.synthetic import latencies, make_rally
from tests.support.terminal import tennis

BOOTS = 10


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
    side(here / "few", times=1.5, boots=2)
    side(here / "elsewhere", bench="pi", time_note="nanoseconds of a crystal")
    return here


def run(*words):
    return CliRunner().invoke(cli, ["compare", *map(str, words)], terminal_width=120)


def test_worse_is_1_and_says_what_differs(sides, tmp_path):
    out = tmp_path / "new" / "page"
    done = run(sides / "before", sides / "later", "--no-explain", "--out", out)
    assert done.exit_code == 1, done.output
    words = " ".join(done.output.split())
    assert "differs: kernel: rt 6.12.0-synthetic before, rt 6.13.0-synthetic after" in words
    assert "1.500 (1.500 to 1.500) later" in words
    worse = "Worse: interrupt latency, usual time: later by 50 %"
    assert worse in words
    assert "10 boots a side, pairs of one seed" in words
    page = (out / "compare.html").read_text()
    assert worse in page
    assert "6.13.0-synthetic" in page
    again = run(sides / "before", sides / "alike", "--no-explain", "--out", out)
    assert isinstance(again.exception, UsageError)
    assert (
        str(again.exception) == f"{out / 'compare.html'} exists: choose another name, or remove it"
    )
    assert (out / "compare.html").read_text() == page
    assert "http" not in page.replace("http://www.w3.org", "").split("</style>")[1]


def test_of_folders_of_a_program_it_says_how_to_name_it(tmp_path):
    """No option of compare names one: a side in words does."""
    for name, times in (("before", 1), ("after", 1.5)):
        side(tmp_path / name, times=times, program=ANSWERED)
    done = run(tmp_path / "before", tmp_path / "after")
    assert done.exit_code == 1, done.output
    said = re.search(r"not explained: .*", done.output, re.DOTALL)
    words = " ".join(said[0].split())
    assert 'a program answered: name this side in words, to be played: "rt program=FILE"' in words
    assert "--program" not in words


def test_no_worse_is_0(sides):
    done = run(sides / "before", sides / "alike", "--json", "--no-explain")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["verdict"] == "no worse"
    assert told["differences"] == {"command line": {"before": "", "after": "nohz=off"}}
    rows = {(one["latency"], one["quantity"]): one for one in told["rows"]}
    assert {
        (name, quantity)
        for name in ("interrupt", "scheduling")
        for quantity in ("usual time", "median", "1 in 10", "1 in 100")
    } <= set(rows)
    assert rows["interrupt", "median"]["ratio"] == pytest.approx(1.01, abs=0.001)
    assert rows["interrupt", "median"]["change"] == "equal"
    assert told["not_judged"].startswith("Not judged: what fewer than 1 in 200 balls do")
    assert run(sides / "before", sides / "alike", "--margin", 0.5, "--no-explain").exit_code == 1


def test_boots_without_a_partner_are_left_out(sides, tmp_path):
    more = side(tmp_path / "more", times=1.5, boots=11)
    done = run(sides / "before", more, "--no-explain")
    assert done.exit_code == 1
    assert "1 boot without a partner of the same seed is left out" in done.output
    strangers = side(tmp_path / "strangers", times=1.5, seeds=range(50, 80))
    done = run(sides / "before", strangers, "--json", "--no-explain")
    assert json.loads(done.stdout)["paired"] is False
    assert done.exit_code == 1


def test_a_copy_is_found_whatever_it_is_called(sides, tmp_path):
    folder = tmp_path / "copies"
    shutil.copytree(sides / "before", folder)
    done = run(sides / "before", folder)
    assert "are one boot" in str(done.exception)
    shutil.copytree(folder / "01", folder / "again")
    done = run(sides / "later", folder)
    assert "holds the balls of" in str(done.exception)


def test_what_fails_is_not_called_worse(sides, tmp_path):
    """Exit code 1 is an answer: a gate must not take a broken folder for a slower kernel."""
    folder = shutil.copytree(sides / "later", tmp_path / "broken")
    balls = folder / "03" / "balls.parquet"
    balls.write_bytes(balls.read_bytes()[:-100])
    done = tennis("compare", sides / "before", folder)
    assert done.returncode == 4, done.stderr
    assert "was truncated or altered" in done.stderr


def test_undecided_is_3_or_may_pass_and_says_so(sides):
    """A third colour for a gate: --fail-on worse fails on nothing but worse."""
    done = run(sides / "few", sides / "later", "--no-explain")
    assert (done.exit_code, "if nothing changed, about " in done.output) == (3, True), done.output
    done = run(sides / "few", sides / "later", "--no-explain", "--fail-on", "worse")
    assert (done.exit_code, "Undecided" in done.output) == (0, True)
    done = run(sides / "before", sides / "later", "--no-explain", "--fail-on", "worse")
    assert done.exit_code == 1


def test_suspect_boots_of_one_side_are_no_pass(sides, tmp_path):
    """Six boots that oopsed were left out, and the rest was no worse: exit 0."""
    folder = shutil.copytree(sides / "alike", tmp_path / "alike")
    fault = Fault(code="oops", message="it oopsed")
    for seed in range(90, 96):
        make_rally(folder / str(seed), balls=600, seed=seed, faults=[fault], added="nohz=off")
    done = run(sides / "before", folder, "--no-explain")
    assert done.exit_code == 3, done.output
    words = " ".join(done.output.split())
    assert "Undecided: suspect boots: undecided (0 of 10 before, 6 of 16 after)." in words
    # the Markdown's table once had levels only: no row was undecided, and the verdict was
    run(sides / "before", folder, "--no-explain", "--summary", tmp_path / "summary.md")
    text = (tmp_path / "summary.md").read_text()
    assert "| both | suspect boots | 0 of 10 | 6 of 16 |" in text, text


def board(folder, *, times=1.0, first=0, drift=0.0, step=1, balls=600, at=None):
    """Make boots of a board, played a minute apart, from a minute on, that may drift."""
    folder.mkdir()
    for number in range(12):
        minute = at[number] if at else first + step * number
        rise = (latencies(balls, number) * times * (1 + drift * minute)).astype(int)
        make_rally(
            folder / f"{number:02d}",
            rise=rise,
            schedule=rise,
            seed=number,
            bench="pi",
            added=folder.name,
            created=f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:00+00:00",
        )
    return folder


def test_one_side_after_the_other_is_said_with_its_condition(tmp_path):
    before = board(tmp_path / "before")
    after = board(tmp_path / "after", first=100, times=1.5)
    done = run(before, after, "--no-explain")
    words = " ".join(done.output.split())
    assert done.exit_code == 1, words
    assert "the sides were not played in turns" in words
    assert "Worse, if nothing drifted: interrupt latency, usual time: later by 50 %" in words
    pairs = [divmod(number, 2) for number in range(12)]  # before, after, after, before
    turns = board(tmp_path / "turns", at=[4 * pair + 1 + place for pair, place in pairs], times=1.5)
    even = board(tmp_path / "even", at=[4 * pair + 3 * place for pair, place in pairs])
    assert "Worse: interrupt latency" in " ".join(run(even, turns, "--no-explain").output.split())


def test_boots_of_two_lengths_are_compared_at_the_shorter(tmp_path):
    """3,000 beside 12,000 balls in bursts were different in 20 of 100."""
    long = board(tmp_path / "long", first=1, step=2, balls=1200)
    done = run(board(tmp_path / "short", step=2), long, "--no-explain", "--json")
    said = json.loads(done.stdout)
    assert (
        "of each boot the first 600 balls are compared: boots have 600 and 1,200" in said["remarks"]
    )
    assert said["not_judged"].startswith("Not judged: what fewer than 1 in 240 balls do")


def test_the_page_has_the_circumstances_and_the_command(sides, tmp_path):
    words = [sides / "before", sides / "later", "--no-explain", "--margin", "5"]
    assert run(*words, "--out", tmp_path / "page").exit_code == 1
    page = (tmp_path / "page" / "compare.html").read_text()
    assert "6.13.0-synthetic" in page
    assert f'<th scope="row">Seeds</th><td class="left" colspan="2">1 to {BOOTS}</td>' in page
    command = shlex.join(
        ["tennis", "compare", *map(str, words[:2]), "--out", str(tmp_path / "page")]
    )
    assert f"{command} --margin 5 --no-explain</code>" in page


def test_a_summary_is_read_in_ten_seconds(sides, tmp_path):
    """What changed, and nothing that did not; behind what others wrote into the file."""
    summary = tmp_path / "summary.md"
    summary.write_text("# The job\n")
    both = [sides / "before", sides / "later", "--no-explain"]
    done = run(*both, "--summary", summary)
    assert done.exit_code == 1
    assert "Worse: " in done.stdout  # the terminal has what it has without
    text = summary.read_text()
    assert text.startswith("# The job\n\n**Worse: ")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "before" not in line]
    changes = {row.split(" | ")[-1].removesuffix(" |") for row in rows}
    assert changes <= {"later", "more"}, text
    said = json.loads(run(*both, "--json").stdout)
    later = [one for one in said["rows"] if one["change"] == "later"]
    assert len(rows) == min(len(later), 6)
    if len(later) > 6:
        assert f"and {len(later) - 6} more rows" in text
    assert text.count("\n") < 25
    assert "`tennis compare " in text
    assert "--summary" not in text.rpartition("`tennis compare")[2]


def test_a_name_is_no_markup():
    hostile = "<img src=x> | [a](b) `c` *d*\n# e"
    html = MarkdownIt("commonmark").enable("table").render(f"| a |\n|---|\n| {_escaped(hostile)} |")
    assert html.count("<td>") == 1
    assert not re.search("<(img|a|code|em|h1)", html)
