"""Printed figures come out again: the three cheapest, and more that take less than a minute."""

import sys

import pytest

from tennis.kit.checkout import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import figures
from evidence import tables
from figures_places import unregistered
from figures_register import Claim, Place, Play, Recorded, Registered, load
from figures_values import holds

from tennis.match.plan import read_plan
from tests.support.synthetic_match import MatchMaker, bursts

PLAYS = sorted(load()[0], key=lambda one: one.seconds)
CHEAPEST = [PLAYS[0].name]
MINUTE = [one.name for one in PLAYS[1:] if one.seconds < 60]
BY_NAME = {one.name: one for one in PLAYS}


def test_every_text_has_what_was_played():
    assert figures.check() == []


def comes_out(name, folder):
    one = BY_NAME[name]
    assert not one.stale
    fresh = figures.record_of(one, *figures.play(one, folder))
    try:
        assert figures.differences(one, fresh) == []
    except figures.NotComparableError as error:
        pytest.skip(str(error))


@pytest.mark.virtual
@pytest.mark.parametrize("name", CHEAPEST)
def test_a_cheap_figure_comes_out_again(name, tmp_path):
    comes_out(name, tmp_path)


@pytest.mark.more
@pytest.mark.virtual
@pytest.mark.parametrize("name", MINUTE)
def test_a_figure_of_less_than_a_minute_comes_out_again(name, tmp_path):
    comes_out(name, tmp_path)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small tree with one page, one play that was recorded, and one claim."""
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(
        "# Page\n\nHalf of all answers came\nwithin 1.63 µs, the latest after 3.07 µs.\n"
    )
    play = Play(
        about="a play",
        commands=["rally --out one"],
        values={"median": "one interrupt median", "latest": "one interrupt max"},
        places=[
            Place(
                file="docs/page.md",
                text="all answers came within {median}, the latest after {latest}.",
            )
        ],
    )
    recorded = Recorded(tmp_path / "docs" / "figures.json")
    recorded.plays["a"] = {
        "edition": figures.EDITION,
        "commands": ["rally --out one"],
        "seconds": 1,
        "rallies": {},
        "sources": dict(play.values),
        "values": {"median": {"ns": 1632}, "latest": {"ns": 3072}},
        "outputs": {},
        "files": {},
    }
    one = Registered("a", play, recorded)
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr("figures_register.ROOT", tmp_path)
    monkeypatch.setattr(figures, "load", lambda: ([one], {}, {}, []))
    return page, one


@pytest.mark.usefixtures("tree")
def test_a_right_page_is_right_however_its_lines_are_broken():
    assert figures.check() == []


def test_a_stale_figure_on_a_page_is_found(tree):
    page, _ = tree
    page.write_text(page.read_text().replace("3.07 µs", "3.20 µs"))
    (problem,) = figures.check()
    assert problem == "docs/page.md:4: '3.20 µs' is printed, and '3.07 µs' was played"


def test_a_play_of_another_edition_is_stale(tree):
    _, one = tree
    one.record["edition"] += 1
    assert "a was played with edition" in figures.check()[0]


def test_a_number_that_nobody_registered_is_found(tree):
    page, _ = tree
    page.write_text(page.read_text() + "\nAnother boot took 4.51 ms.\n")
    (problem,) = figures.check()
    assert problem == "docs/page.md:6: 4.51 ms comes from no play and is no fact"


def test_a_sentence_that_is_gone_or_stands_twice_is_found(tree):
    page, _ = tree
    text = page.read_text()
    page.write_text("# Page\n")
    assert "not in the text" in figures.check()[0]
    page.write_text(f"{text}\n{text}")
    assert "2 times in the text" in figures.check()[0]


def test_writing_changes_the_numbers_and_names_their_sentences(tree):
    page, one = tree
    before = page.read_text()
    one.record["values"]["latest"] = {"ns": 1_384_000}
    (changed,) = figures.write_all([one], {})
    assert "3.07 µs -> 1.38 ms" in changed
    assert "Half of all answers came within" in changed
    assert page.read_text() == before.replace("3.07 µs", "1.38 ms")
    assert figures.check() == []


def test_a_claim_whose_figures_do_not_bear_it_is_found(tree, monkeypatch):
    _, one = tree
    values = one.record["values"]
    assert holds("latest > 1.8 * median", values)
    assert not holds("latest > 2 * median", values)
    assert holds("0.9 * median < median <= 1 * latest", values)
    broken = one.play.model_copy(
        update={
            "claims": [
                Claim(file="docs/page.md", text="the latest after", holds="latest > 2 * median")
            ]
        }
    )
    again = Registered("a", broken, one.recorded)
    monkeypatch.setattr(figures, "load", lambda: ([again], {}, {}, []))
    assert "is not true any more" in figures.check()[0]


def test_times_are_found_and_facts_excuse_them():
    text = "It took 8.4 to 271 µs here, 2 ns there, and 4\nms elsewhere."
    assert unregistered(text, [], [], {"2 ns": None}) == [(1, "8.4 to 271 µs"), (1, "4 ms")]
    assert unregistered(text, [], ["8.4 to 271 µs here", "and 4 ms"], {"2 ns": None}) == []


def test_a_page_of_evidence_has_a_plan_and_its_table_needs_no_whole_cycle(tmp_path):
    plans = [ROOT / kept.plan for kept in load()[1].values() if kept.plan]
    assert len({read_plan(plan).title for plan in plans}) == len(plans) > 2
    made = MatchMaker(tmp_path / "m")
    for loaded, cycle_ns in (("idle", 0), ("stress", 10**15)):
        made.rally("rt", "chrt", loaded, bursts(9000), cycle_ns=cycle_ns)
    made.sealed()
    rows = tables({"m": tmp_path / "m"}).splitlines()
    found = [row.split(" | ")[2] for row in rows if " | interrupt | " in row]
    assert found == ["1.00 µs / 9.00 µs / 9.00 µs / 9.00 µs (3,000, 1) |", "- (0, 0) |"]
