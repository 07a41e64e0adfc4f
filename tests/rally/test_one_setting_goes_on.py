"""No rally goes on in another setting than it began in: each setting alone, changed.

Nothing boots: what was begun lies in a folder, and the bench says that it was asked to go on.
"""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tennis.compare.comparing import _read_or_write
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.match.folder import MATCH, MatchRecord
from tennis.match.plan import MatchPlan
from tennis.match.player import Player
from tennis.match.playing import Match, _check_same
from tennis.match.sweep.playing import SweepRequest, play_sweep
from tennis.match.sweep.search import Range
from tennis.play.planning import bench_again
from tennis.play.rally import begun_plan, unobserved
from tennis.rally import part_path
from tennis.rally.settings import SETTINGS
from tests.support.one_setting import (
    EVERY,
    NAMES,
    SERVED,
    before_and_after,
    listed,
    planned_of,
    with_setting,
)

MADE = {"tennis": "0", "created": "2026-01-01T00:00:00+00:00", "time_note": "made up"}


class Asked:
    """A bench that has no versions, and says so when it is asked to play."""

    kind = "virtual"
    repeats = True
    asked = "here the rally would go on"

    def versions(self, _):
        return {}

    def time_note(self, _):
        return MADE["time_note"]

    def circumstances(self, *_):
        return SimpleNamespace(unchecked="")

    def start(self, *_):
        raise BenchError(self.asked)


def both_plans(folder, name):
    usual, other = before_and_after(folder, name)
    plan = planned_of(usual)
    return plan, with_setting(plan, name, other)


def begun(place, plan):
    """Begin a rally, of which the journal holds something."""
    part = part_path(place)
    part.mkdir()
    (part / "plan.json").write_text(plan.text)
    (part / "frames.bin").write_bytes(b"x")
    (part / "console.log").write_text("")


@EVERY
def test_a_rally_that_was_begun_in_another_setting_is_not_gone_on_with(folder, name, tmp_path):
    plan, other = both_plans(folder, name)
    player = Player(Asked(), tmp_path, lambda: False)
    begun(tmp_path / "r", other)
    assert begun_plan(tmp_path / "r") == other
    for planned, trouble in ((plan, "is the beginning of another rally"), (other, Asked.asked)):
        seen = player.play(listed(planned), nullcontext(unobserved))
        assert (seen.state, trouble in seen.trouble) == ("failed", True), seen.trouble


@EVERY
def test_a_rally_that_is_there_in_another_setting_is_not_kept(folder, name, tmp_path):
    usual, other = before_and_after(folder, name)
    plan = planned_of(usual)
    place = tmp_path / "r"
    place.symlink_to(other.path)
    player = Player(Asked(), tmp_path, lambda: False)
    seen = player.play(listed(plan), nullcontext(unobserved))
    assert seen.state == "unusable"
    assert "it is another rally" in seen.words
    seen = player.play(listed(with_setting(plan, name, other)), nullcontext(unobserved))
    assert seen.state == "kept"


@EVERY
def test_a_match_is_not_gone_on_with_in_another_setting(folder, name, tmp_path):
    plan, other = both_plans(folder, name)
    one = MatchPlan()
    record = MatchRecord(
        **{**MADE, "schema_version": 1, "bench": "virtual", "plan": one},
        scheduled=[listed(plan)],
        not_played=[],
        troubles={},
    )
    record.write(tmp_path)
    assert (tmp_path / MATCH).is_file()
    before = MatchRecord.read(tmp_path)
    _check_same(before, Match(one, [listed(plan)], []), [listed(plan)], tmp_path)
    with pytest.raises(RallyError, match=r"was begun with another plan \(r differs\)"):
        _check_same(before, Match(one, [listed(other)], []), [listed(other)], tmp_path)


# a sweep is an open loop, and no drill
SWEPT = [name for name in (*NAMES, *SERVED) if name not in {"drill", "loop", "rate_hz", "shots"}]


@pytest.mark.parametrize("name", SWEPT)
def test_a_sweep_is_not_gone_on_with_in_another_setting(folder, name, tmp_path):
    plans = [
        plan.model_copy(
            update={"protocol": plan.protocol.model_copy(update=SERVED["rate_hz"])}
            if name not in SERVED
            else {"protocol": plan.protocol.model_copy(update={"loop": "open", "rate_hz": 10.0})}
        )
        for plan in both_plans(folder, name)
    ]
    span = Range(from_hz=10_000, to_hz=20_000)

    def go_on(plan):
        asked = SweepRequest(plan, span)
        play_sweep(Asked(), asked, tmp_path / "s", lambda _: nullcontext(unobserved), lambda: False)

    for plan, found in zip(
        (plans[0], plans[0], plans[1]),
        ((BenchError, Asked.asked), (BenchError, Asked.asked), (RallyError, "another sweep")),
        strict=True,
    ):
        with pytest.raises(found[0], match=found[1]):
            go_on(plan)


@EVERY
def test_a_comparison_is_not_gone_on_with_in_another_setting(folder, name, tmp_path):
    plan, other = both_plans(folder, name)

    def go_on(before, after):
        planned = {"before": {"": before}, "after": {"": after}}
        _read_or_write(tmp_path, ("one", "other"), planned, 1, 0.1)

    go_on(plan, plan)
    go_on(plan, plan)
    for side, plans in (("before", (other, plan)), ("after", (plan, other))):
        with pytest.raises(RallyError, match=f"was begun with another side {side}"):
            go_on(*plans)


@pytest.mark.parametrize(
    "name", [row.name for row in SETTINGS.values() if "never from a folder" in row.traits]
)
def test_what_is_never_taken_from_a_folder_must_be_named_again(folder, name, tmp_path):
    """And the same: not only named."""
    plan = planned_of(before_and_after(folder, "kernel")[0])
    known = {"kernel": str(tmp_path), "target": "board", "port": "ttyACM0"}
    given = known.get(name, str(tmp_path / f"{name}.c"))
    bench = {"bench": "pi"} if name in {"target", "port"} else {}
    begun_with = plan.model_copy(update={name: given, **bench})
    with pytest.raises(UsageError, match=f"--{name}"):
        bench_again(tmp_path / "r", begun_with)
    if name != "port":  # a Pico may be plugged in elsewhere
        other = tmp_path / "another"
        named = other if name in {"racquet", "program"} else str(other)
        with pytest.raises(UsageError, match="was begun with"):
            bench_again(tmp_path / "r", begun_with, **{name: named})
