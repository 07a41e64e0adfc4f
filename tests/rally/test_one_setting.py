"""Each setting alone, changed in a rally, is noticed by all that compares rallies.

Nothing boots: rallies are made up, and what a manifest says of one setting is altered. A setting
that the manifest's target has by its own name needs no line here.
"""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tennis.compare.folders import _unlike, read_side
from tennis.course.checking.evidence import as_asked
from tennis.course.checking.plays import _key_of
from tennis.course.checks import Wrong
from tennis.course.labs import _LabDrill
from tennis.kit.edition import KEY
from tennis.kit.errors import RallyError, UsageError
from tennis.match.folder import another
from tennis.match.plan import repeated
from tennis.match.sweep.folder import Sweep, SweepRecord
from tennis.play.check import difference
from tennis.play.planning import replay_of
from tennis.play.repeat import plan_again
from tennis.rally import open_folder
from tennis.rally.plan import Plan
from tennis.rally.settings import OF_KIND, SETTINGS, Settings
from tests.support.one_setting import (
    ASKED,
    BROUGHT,
    DRILL,
    EVERY,
    NAMES,
    SERVED,
    WORDS,
    altered,
    before_and_after,
    listed,
    planned_of,
    with_setting,
)

# settings in which something answers: a chart, a replay and a claim of latencies take no drill
ANSWERED_IN = [name for name in NAMES if name != "drill"]
# what a plan has besides, of which no ball depends, or which is compared otherwise
NO_SETTINGS = {
    *("schema_version", "bench", "port", "target", "operator", "umpire", "analyser", "versions"),
    *("phase_of_a_second", "recording", "speed", "protocol"),
}


def test_no_setting_is_left_out():
    """A row that says that no ball depends on it must be in the list above, too."""
    assert set(Plan.model_fields) - {row.name for row in OF_KIND} == NO_SETTINGS
    any_value = {row.name for row in OF_KIND if "published or not" in row.traits}
    places = {"interrupt_cpu", "bottom_half_cpu", "load_cpus"}
    assert any_value == {"instruction_ns", "instrument", *places}
    on_a_board = {row.name for row in OF_KIND if "own on a board" in row.traits}
    assert on_a_board == {"instruction_ns", "memory", "processors", "command_line", *places}


@EVERY
def test_a_match_keeps_no_rally_of_another_setting(folder, name):
    usual, other = before_and_after(folder, name)
    plan = planned_of(usual)
    assert another(usual, listed(plan)) == ""
    assert another(other, listed(plan))
    assert another(other, listed(with_setting(plan, name, other))) == ""


@EVERY
def test_two_boots_of_one_seed_are_two_if_a_setting_differs(folder, name):
    usual, other = before_and_after(folder, name)
    plan = planned_of(usual)
    boots = [listed(plan, "one"), listed(with_setting(plan, name, other), "other")]
    assert repeated(boots, "it") == ""
    assert "they are one boot" in repeated([*boots, listed(plan, "again")], "it")


@EVERY
def test_a_comparison_names_the_difference_and_pools_no_two(folder, name):
    usual, other = before_and_after(folder, name)
    assert _unlike(usual, usual) == {}
    assert WORDS[name] in _unlike(usual, other)
    with pytest.raises(RallyError, match=r"is not a side: .* differ in "):
        read_side(folder, [usual.path.name, other.path.name])


@EVERY
def test_a_lab_takes_what_it_asks_for(folder, name):
    """Marks, too: the checks of `lab check` and of `grade` ask this."""
    usual, other = before_and_after(folder, name)
    asked = ASKED
    if name == "stage":
        asked = ASKED.model_copy(update={"kernel": "evl"})
    if name == "bottom_half_cpu":
        asked = ASKED.model_copy(update={"bottom_half": "user"})
    if name == "drill":
        drill = _LabDrill(name="periodic", context="kernel", period_us=1000)
        asked = ASKED.model_copy(update={"drill": drill})
    handed_in = SimpleNamespace(
        handed_in={ASKED.name: other},
        seed=usual.manifest.protocol.seed,
        folder=folder,
        answers=SimpleNamespace(student="zoe"),
        trouble={},
    )
    with pytest.raises(Wrong) as error:
        as_asked(handed_in, asked, boards=False)
    assert "not" in str(error.value)
    # and what the marker plays for a lab with that setting is kept in another place
    plan = planned_of(usual).model_copy(update={"versions": {}})
    if name != "racquet":
        assert _key_of(plan) != _key_of(with_setting(plan, name, other))
    if name != "stage":
        handed_in.handed_in = {ASKED.name: usual}
        as_asked(handed_in, asked, boards=False)


def no_record():
    raise AssertionError("a rally that came to its end is compared with the other one")


@EVERY
def test_check_plays_it_with_this_setting_and_finds_it_forged(folder, name, tmp_path):
    usual, other = before_and_after(folder, name)
    tree = "a tree" if name == "stage" else None
    plan = plan_again(usual, tree, any_instrument=True)
    try:
        assert plan_again(other, tree, any_instrument=True) != plan
    except UsageError as error:
        assert name in BROUGHT
        whose = {"racquet": "a Racquet of somebody's own", "program": "a program of somebody"}
        assert whose[name] in str(error)
    # the check itself, of a folder beside what was played again
    assert difference(usual, usual, no_record, tmp_path) == ""
    found = difference(other, usual, no_record, tmp_path)
    assert re.match(r"its (target|load|protocol|instrument|drill) ", found), found


@pytest.mark.parametrize("name", [*ANSWERED_IN, *SERVED])
def test_a_replay_is_of_what_was_recorded(folder, name):
    _, other = before_and_after(folder, name)
    _, plan = replay_of(other.path, 1.0)
    assert plan.protocol == other.manifest.protocol
    for row in OF_KIND:
        if row.name not in BROUGHT:  # its file is nobody's to say
            assert row.of(plan) == row.recorded(other.manifest), row.name


@pytest.mark.parametrize("name", [*ANSWERED_IN, *SERVED])
def test_a_published_claim_is_judged_by_its_own_settings(folder, name):
    usual, other = before_and_after(folder, name)
    plan = planned_of(usual)
    claim = (plan.kernel, plan.load, plan.priorities, plan.bottom_half, plan.top_half)
    assert listed(plan).is_one(*claim)
    judged = name in SERVED or "published or not" in SETTINGS[name].traits
    changed = listed(with_setting(plan, name, other))
    changed = changed.model_copy(update={"kernel": changed.plan.kernel})
    # how balls were served is the rule's to ask (its rate), or shows in what a boot must see
    assert changed.is_one(*claim) == judged


@pytest.mark.parametrize("name", [name for name in NAMES if name in Settings.model_fields])
def test_a_label_names_it(folder, name):
    """Of a rally, of a drill and of a sweep."""
    usual, other = before_and_after(folder, name)
    assert usual.label != other.label
    plan = planned_of(usual)
    changed = with_setting(plan, name, other)
    if name == "program":
        changed = changed.model_copy(update={"bottom_half": "program"})
    sweeps = [
        Sweep(folder, SweepRecord.model_construct(plan=one), {}, {}).label
        for one in (plan, changed)
    ]
    assert sweeps[0] != sweeps[1]
    if name in {"bottom_half", "top_half"}:  # a drill has no halves
        return
    drills = [
        replace(one, manifest=one.manifest.model_copy(update={"drill": DRILL})).label
        for one in (usual, other)
    ]
    assert drills[0] != drills[1]


def test_the_time_of_an_instruction_is_a_number(folder):
    """The words of a time note tell it of rallies of edition 0 only, which had no number."""
    manifest = open_folder(folder / "usual").manifest
    words = altered(manifest, "target", {"instruction_ns": None}).model_copy(
        update={"time_note": "virtual time, 4 ns per instruction"}
    )
    assert words.instruction_ns == 4
    assert altered(words, "tool", {"versions": {KEY: "1"}}).instruction_ns is None
    assert altered(words, "target", {"instruction_ns": 1}).instruction_ns == 1
