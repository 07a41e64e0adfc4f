"""`tennis compare` plays both sides: real boots in pairs, until it is decided."""

import json
import re
from contextlib import nullcontext

import pytest

from tennis.bench.virtual.bench import VirtualBench
from tennis.compare.comparing import Compared, Playing, _CompareRecord, _Game, compare_played
from tennis.compare.folders import LATENCIES, Cell, matched, read_side
from tennis.compare.judgement import Pair, judge
from tennis.compare.rallies import boot_of
from tennis.compare.request import CompareRequest
from tennis.compare.requested import side_of
from tennis.compare.sides import Side
from tennis.course.lab_files import solved
from tennis.explain.causes import find_causes, sentence
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, RallyError
from tennis.kit.log import listening
from tennis.play.rally import Watch, play
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tests.support import terminal
from tests.support.plans import plan_of

pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("comparing")]
# 9 balls have one level, the median: the quickest comparison that there is
WORDS = ("sloth", "sloth-m33", "--balls", "9")
RIGHT = solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text())
RAISES = "gpiod_set_value(r->reply, 1);\n\tracquet_count_ping"


def tennis(*words):
    done = terminal.tennis(*words)
    return done.returncode, done.stdout, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "out"
    return out, tennis("compare", *WORDS, "--out", out)


def test_pairs_are_played_until_it_is_decided(compared):
    out, (code, _, said) = compared
    assert code == 0, said
    assert "20/20" in said
    assert "10 boots a side, pairs of one seed" in said
    assert "No worse" in said
    assert "differs: kernel: sloth SLOTH before, sloth-m33 SLOTH after" in said
    record = _CompareRecord.model_validate_json((out / "compare.json").read_text())
    assert record.looks == [10]
    boots = {side: sorted(p.name for p in (out / side).iterdir()) for side in ("before", "after")}
    assert boots["before"] == boots["after"] == [f"{number:02d}" for number in range(1, 11)]
    seeds = [
        [json.loads((out / side / name / "manifest.json").read_text())["protocol"]["seed"]
         for name in boots[side]]
        for side in ("before", "after")
    ]  # fmt: skip
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 10
    assert (out / "compare.html").is_file()


def test_the_same_command_plays_nothing_twice(compared):
    out, _ = compared
    code, shown, _ = tennis("compare", *WORDS, "--out", out, "--json", "--no-explain")
    assert code == 0
    assert json.loads(shown)["verdict"] == "no worse"
    assert _CompareRecord.model_validate_json((out / "compare.json").read_text()).looks == [10]


@pytest.mark.more
def test_of_two_plans_only_what_both_have_is_played(tmp_path):
    """Nobody waits for boots that decide nothing; without a common combination none is played."""
    head = 'title = "t"\nseed = 3\nballs = {}\nloads = ["idle"]\n'
    plans = {"both": ("sloth", "sloth-m33"), "one": ("sloth",), "other": ("sloth-m0",)}
    for number, (name, kernels) in enumerate(plans.items()):  # the balls differ, too
        tables = "".join(f"[kernels.{kernel}]\n" for kernel in kernels)
        (tmp_path / f"{name}.toml").write_text(head.format(9 - number) + tables)
    both, one, other = (tmp_path / f"{name}.toml" for name in plans)
    out = tmp_path / "o"
    code, _, said = tennis("compare", both, one, "--boots", 1, "--no-explain", "--out", out)
    assert code == 3, said
    assert "not compared, only before has it: sloth-m33-" in said
    assert {path.name.split("-")[1] for path in (out / "before").iterdir()} == {"idle"}
    assert "2/2" in said
    code, _, said = tennis("compare", both, other, "--out", tmp_path / "q")
    assert code == 2
    assert "no combination is on both sides: before has sloth-" in said
    assert not (tmp_path / "q").exists()


def unseen(_):
    """Show nothing of a rally's progress."""
    return nullcontext(lambda _: None)


def two_of_sloth():
    common = RallyRequest(), Serving(balls=9), CompareRequest()
    return [side_of(words, *common) for words in ("sloth", "sloth-m33")]


def test_after_an_interruption_the_same_command_goes_on(tmp_path):
    """More --boots would not: of those that were asked for, most were not played."""
    asked = two_of_sloth()
    said: list[str] = []
    playing = Playing(1, CompareRequest(boots=32), 1, unseen, lambda: len(said) >= 4)
    with listening(said.append):
        found = compare_played(*asked, tmp_path / "o", playing)
    assert found.interrupted
    assert found.next_step == "the same command: it continues with pair 3 of at most 32"
    assert found.spent == ""
    assert re.search(r"^4/20 before/02: played.*, \d+ (s|min) left$", said[3])


def test_boots_that_are_judged_once_are_judged_when_all_are_there(tmp_path):
    """One look has all of the error, so a second one, or an early one, is refused."""
    asked = two_of_sloth()
    out, said = tmp_path / "o", []
    until = Playing(1, CompareRequest(boots=10, once=True), 1, unseen, lambda: len(said) >= 4)
    with (
        listening(said.append),
        pytest.raises(BenchError, match="2 of 10 pairs are there, and they are judged once"),
    ):
        compare_played(*asked, out, until)
    assert json.loads((out / "compare.json").read_text())["looks"] == []
    once = Playing(1, CompareRequest(boots=10, once=True), 1, unseen, lambda: False)
    found = compare_played(*asked, out, once)
    both = [read_side(out / side)[0] for side in ("before", "after")]
    sides = matched([both[0]], [both[1]], recorded=False)
    assert found.judgement.errors == judge(sides.pairs, margin=0.1).errors
    assert found.judgement.errors != judge(sides.pairs, margin=0.1, look=1).errors
    # the same command says the same; each other one would be a second look
    again = compare_played(*asked, out, once).judgement
    assert (again.verdict, again.rows) == (found.judgement.verdict, found.judgement.rows)
    for request, why in (
        (CompareRequest(boots=10), "was begun with --once --boots 10"),
        (CompareRequest(boots=11, once=True), "was begun with --once --boots 10"),
        (CompareRequest(boots=10, once=True, margin=30), "was judged once, with --margin 10"),
    ):
        another = Playing(1, request, 1, unseen, lambda: False)
        with pytest.raises(RallyError, match=why):
            compare_played(*asked, out, another)


def test_boards_are_played_in_turns():
    game = _Game(None, None, {"before": {}, "after": {}}, [], None)  # type: ignore[arg-type]
    order = [side for number in range(1, 5) for side in game.turn(number)]
    assert " ".join(side[0] for side in order) == "b a a b b a a b"


@pytest.mark.slow
def test_which_code_it_was(tmp_path):
    """A delay of 20 us is planted in the Racquet's top half: it is named, with its time."""
    sources = {"before": RIGHT, "after": RIGHT.replace(RAISES, f"udelay(20);\n\t{RAISES}")}
    sources["after"] = sources["after"].replace("#include", "#include <linux/delay.h>\n#include", 1)
    rallies, plans = {}, {}
    for side, source in sources.items():
        (tmp_path / f"{side}.c").write_text(source)
        plan = plan_of(racquet=tmp_path / f"{side}.c", balls=30)
        rallies[side] = play(VirtualBench(), plan, tmp_path / side, Watch())
        plans[side] = {"": plan}
    sides = matched(*([Cell("", [rally])] for rally in rallies.values()))
    # one boot stands for twelve here: the code is what is looked for
    pairs = [
        Pair(
            "",
            latency,
            *(Side([boot_of(one, latency)] * 12, range(12)) for one in rallies.values()),
        )
        for latency in LATENCIES
    ]
    compared = Compared(sides, judge(pairs), None)
    found, unexplained = find_causes(compared, plans, lambda: False)
    assert not unexplained
    late, *others = [one for one in found if one.row.latency == "interrupt"]
    assert len(others) <= 1  # of each latency the soonest level that changed, and the rarest
    assert sentence(late.came[0]).startswith("20.")
    assert "in the Racquet: racquet_top_half, most in __delay" in sentence(late.came[0])
    assert " more a " in sentence(late.came[0])
    assert not late.went
    # without the sources nothing is built from a folder that may come from anybody
    for side in sources:
        (tmp_path / f"{side}.c").unlink()
    why = find_causes(compared, {}, lambda: False)[1][0]
    assert "was played with a Racquet of somebody's own" in why
