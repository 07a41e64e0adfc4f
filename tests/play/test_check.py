"""A folder is compared with a replay of its rally; synthetic folders play both.

Replays of real rallies: tests/play/test_drill.py, test_survival.py, test_sloth.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tennis.bench.protocol import RunRecord
from tennis.kit.errors import RallyError
from tennis.play.capture import simulated
from tennis.play.check import COMPARED_OTHERWISE, NOT_COMPARED, _compare, _first_difference
from tennis.play.repeat import compare_balls
from tennis.rally import open_folder
from tennis.rally.balls import RECORD
from tennis.rally.folder import (
    AFTER,
    BALLS,
    BEFORE,
    CAPTURE,
    CONSOLE,
    EVENTS,
    INSTANTS,
    MANIFEST,
    STAGES,
    Rally,
)
from tennis.rally.manifest import Drill, Fault, Health, Manifest, StrictModel
from tennis.rally.opening import SIZE_LIMITS
from tennis.rally.shots import noun_of
from tennis.report.umpire.simulate import SimulatedRally
from tests.support.forging import reseal
from tests.support.synthetic import make_rally, manifest, saying

BOOT = "[    0.000000] Booting\ntennis: fact ready\n"
READY = {"what": "ready", "at_ns": 5, "value": 0}
STRAY = {"what": "stray", "at_ns": 10**15, "value": 1}
HEALTH = {"what": "load_health", "name": "tasks", "value": 17.0, "unit": "tasks"}


def made(place: Path, **about) -> Rally:
    place.mkdir(exist_ok=True)
    asked = {"balls": 50, "events": [READY, HEALTH], "console": BOOT, **about}
    return make_rally(place / "r", **asked)


def sealed_again(rally: Rally, **update) -> Rally:
    """Seal a folder again whose files were altered, as a forger can."""
    content = rally.manifest.model_dump(mode="json") | update
    content["files"] = {path.name: "" for path in rally.path.iterdir() if path.name != MANIFEST}
    reseal(rally.path, content)
    return open_folder(rally.path)


def told(rally: Rally, *events, faults=()):
    """Return what a rally's own console would tell."""
    about = rally.manifest
    return lambda: RunRecord(
        about.instrument, about.target, about.load, list(faults), events=[HEALTH, *events]
    )


def difference(rally: Rally, again: Rally) -> str:
    return _compare(rally, again, told(rally), [])[0]


def test_the_same_folder_twice_and_one_with_more_or_less(tmp_path):
    rally, again = made(tmp_path / "a"), made(tmp_path / "b", created="2026-02-02T00:00:00+00:00")
    assert _compare(rally, again, told(rally), []) == ("", ["created: only the player knows"])
    assert difference(rally, made(tmp_path / "c", balls=3)) == "it ended after 3 balls"
    (rally.path / STAGES).write_bytes(b"")
    said, left_out = _compare(rally, again, told(rally), [])
    assert not said
    assert left_out[0].startswith("stages.parquet: it was made afterwards")
    (rally.path / STAGES).unlink()
    (rally.path / CONSOLE).unlink()
    assert "lists no console.log" in difference(sealed_again(rally), again)


@pytest.mark.parametrize("name", Manifest.model_fields)
def test_each_field_of_the_manifest_is_compared_or_named(name):
    """A field that somebody adds is compared from then on."""
    replayed = manifest(balls=10)
    assert not _first_difference(replayed, replayed, [])
    value = getattr(replayed, name)
    if name in NOT_COMPARED or name in COMPARED_OTHERWISE:
        return
    altered = [replayed.model_copy(update={name: "altered"})]
    if isinstance(value, StrictModel):
        altered += [
            replayed.model_copy(update={name: value.model_copy(update={key: "altered"})})
            for key in type(value).model_fields
        ]
    for claimed in altered:
        assert f"its {name}" in _first_difference(claimed, replayed, [])


def test_served_ticks_of_another_clock_are_compared_in_nanoseconds():
    balls = np.array([(10, 20, 30), (11, 20, 30)], RECORD)
    table = np.array([(80, 20, 30), (88, 20, 30)])
    compare_balls(balls, table, 0, RallyError, 125_000_000)
    table[1, 0] += 1
    with pytest.raises(RallyError, match="ball 1 has served_ns 89 in the rally and 88 now"):
        compare_balls(balls, table, 0, RallyError, 125_000_000)


@pytest.mark.parametrize("name", sorted(SIZE_LIMITS.keys() - {MANIFEST, BALLS}))
def test_each_file_is_compared(tmp_path, name):
    """Balls are compared while they come (test_repeat.py)."""
    rally, again = made(tmp_path / "a"), made(tmp_path / "b")
    path = rally.path / name
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(before + b'{"what":"stray","at_ns":7,"value":1}\n')
    assert f"its {name}" in difference(sealed_again(rally), again) or (
        name in {BEFORE, AFTER, STAGES, INSTANTS}
        and f"lists {name}, which no such rally has" in difference(sealed_again(rally), again)
    )


@pytest.mark.parametrize(
    "forged",
    [BOOT.replace("ready", "steady"), BOOT[:-1], BOOT + "more\n", BOOT + "qemu: a\nmore\n", ""],
)
def test_a_forged_console(tmp_path, forged):
    rally = made(tmp_path / "a", console=forged)
    assert "its console.log differs from byte" in difference(rally, made(tmp_path / "b"))


def test_another_count_of_misses_is_another_rally(tmp_path):
    counted = BOOT + "qemu: memory: missed {} times in code\nqemu: memory: 9 waits\n"
    again = made(tmp_path / "a", console=counted.format(5))
    assert not difference(made(tmp_path / "b", console=counted.format(5)), again)
    text = difference(made(tmp_path / "c", console=counted.format(6)), again)
    assert text.endswith("memory: missed 6 times in code, and they were missed 5 times in code now")


def test_what_was_played_again_is_called_by_its_name(tmp_path):
    from tennis.play.check import _Checked

    shots = manifest(balls=40).protocol.model_copy(update={"loop": "shots"})
    for about, words in (({}, "40 balls"), ({"protocol": shots}, "40 shots")):
        rally = made(tmp_path / words, **about, balls=40)
        assert _Checked(rally, rally.balls, [], []).again == words
    drill = Drill(name="switch", context="user", period_ns=171_300)
    assert noun_of(rally.manifest.model_copy(update={"drill": drill})) == "repetition"


def test_invented_counts_faults_and_ends(tmp_path):
    again = made(tmp_path / "b")
    strays = made(tmp_path / "a", strays=77)
    assert difference(strays, again) == "its counts strays is 77, and was 0 now"
    fault = Fault(code="load_died", message="x")
    suspect = made(tmp_path / "c", faults=[fault], ended="complete")
    assert "its faults is code='load_died'" in difference(suspect, again)
    # a fault that did not come again is named, as nobody can know it
    ended = made(tmp_path / "d", faults=[fault])
    said, left_out = _compare(ended, again, told(ended), [])
    assert not said
    assert "faults: what ended the rally did not happen this time" in left_out


def test_a_capture_is_the_one_that_is_made_of_the_balls(tmp_path):
    again = made(tmp_path / "b")
    rally = made(tmp_path / "a")
    text = simulated(rally.path, SimulatedRally.of(rally))
    with (rally.path / EVENTS).open("a") as lines:
        lines.write(json.dumps({"what": "umpire", "text": text}) + "\n")
    rally = sealed_again(rally)
    assert difference(rally, again) == ""
    other = made(tmp_path / "c", seed=2)
    (rally.path / CAPTURE).unlink()
    simulated(rally.path, SimulatedRally.of(other))
    assert "its capture.sr is not the one" in difference(sealed_again(rally), again)
    (rally.path / CAPTURE).unlink()
    simulated(rally.path, SimulatedRally.of(rally))
    events = (rally.path / EVENTS).read_text()
    (rally.path / EVENTS).write_text(events.replace(text, "the umpire agrees"))
    assert "the umpire agrees" in difference(sealed_again(rally), again)


def test_an_interrupted_rally_is_compared_as_far_as_it_is(tmp_path):
    """The replay went further: more console, a later stray, the load's health at its end."""
    again = made(
        tmp_path / "b",
        events=[READY, STRAY, HEALTH, HEALTH],
        console=BOOT + "more\n",
        strays=1,
        faults=[Fault(code="stopped", message="x")],
    )
    about = {"ended": "interrupted", "planned": 1000}
    rally = made(tmp_path / "a", **about)
    again = saying(again, protocol=rally.manifest.protocol)
    said, left_out = _compare(rally, again, told(rally), [])
    assert not said
    assert left_out[0] == "what came after its last ball: the rally did not finish"
    # what it holds of that is the same, or it is another rally
    late = made(tmp_path / "c", events=[READY, STRAY, HEALTH], strays=1, **about)
    assert difference(late, again) == ""
    assert "its counts strays is 0, and was 1 now" in difference(
        made(tmp_path / "d", events=[READY, STRAY, HEALTH], **about), again
    )
    for number, events in enumerate(
        ([READY, {**STRAY, "at_ns": 7}, HEALTH], [HEALTH], [READY, HEALTH, HEALTH], [READY])
    ):
        forged = made(tmp_path / f"e{number}", events=events, **about)
        assert "its events.jsonl holds" in difference(forged, again)
    longer = made(tmp_path / "f", console=BOOT + "moon\n", **about)
    assert "its console.log differs" in difference(longer, again)
    well = Health(name="tasks", unit="tasks", start=17.0, end=17.0)
    healthy = saying(rally, load={"health": [well]})
    assert "its load health is" in _compare(healthy, again, told(rally), [])[0]
    # its console tells of a fault, so it was no mere interruption
    why = [Fault(code="guest_panic", message="x")]
    assert "its ended is interrupted" in _compare(rally, again, told(rally, faults=why), [])[0]
