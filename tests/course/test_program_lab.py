"""A student's program is marked by two plays of it: with its own balls, and with others."""

import importlib.util
import random
from dataclasses import replace

import pytest

from tennis.course import load_lab
from tennis.course.checking.evidence import PlayedHere
from tennis.course.checking.plays import Plays, _key_of, draw_for, plan_of_rally
from tennis.course.checks import Wrong
from tennis.course.work import read
from tennis.kit.checkout import ROOT
from tennis.kit.gaps import gap_ns
from tests.support.hand_ins import make_work

LAB = load_lab("13-a-program-that-answers-in-time")
ASKED = next(one for one in LAB.rallies if one.name == "answer")
SMALL = ASKED.model_copy(update={"load": "idle", "balls": 20})
# when the second ball came after the first one, it knows whose balls these are
KNOWS = """
	unsigned long long came = 0, after;
	struct gpio_v2_line_event event;
	for (;;) {
		if (read(ping, &event, sizeof(event)) != sizeof(event))
			fail(PING);
		after = event.timestamp_ns - came;
		if (!balls)
			came = event.timestamp_ns;
		if (balls == 1 && (after < OWN || after > OWN + 150000))
			usleep(1000);
"""


def test_a_play_is_kept_by_what_the_program_is(tmp_path):
    """Wherever it lies, and with the headers that it includes."""
    keys = []
    for name in ("a", "b"):
        made = make_work(tmp_path / name, LAB, "zoe")
        keys.append(_key_of(plan_of_rally(ASKED, 7, own=made / "answer.c")))
    assert keys[0] == keys[1]
    lines = tmp_path / "b" / "lines.h"
    lines.write_text(f"{lines.read_text()}\n/* another one */\n")
    assert _key_of(plan_of_rally(ASKED, 7, own=tmp_path / "b" / "answer.c")) != keys[0]


def test_what_nobody_knows_is_drawn_once_for_each_file_of_a_class(tmp_path):
    """A student's own run draws from the file: after each change it is another one."""
    one, other = tmp_path / "one.c", tmp_path / "other.c"
    one.write_text("1")
    other.write_text("2")
    drawn = [draw_for(Plays(tmp_path / name), one) for name in "aab"]
    assert drawn[0] == drawn[1] != drawn[2]
    assert draw_for(Plays(tmp_path / "a"), other) not in drawn
    assert draw_for(None, one) == draw_for(None, one) != draw_for(None, other)


@pytest.mark.more
@pytest.mark.virtual
def test_a_program_that_knows_its_balls_is_late_with_others(tmp_path, monkeypatch):
    """Its own play is in time: it is the second one that accuses it. The right one has both."""
    lab = LAB.model_copy(update={"rallies": [SMALL]})
    made = make_work(tmp_path / "w", LAB, "zoe")
    work = replace(read(made), lab=lab)
    protocol = plan_of_rally(SMALL, work.seed).protocol
    low, high = protocol.gap_min_ns, protocol.gap_max_ns
    gaps = {seed: gap_ns(seed, 1, low, high) for seed in (work.seed, *range(50))}
    own = gaps[work.seed]
    other = next(seed for seed in range(50) if abs(gaps[seed] - own) > 300_000)
    source = (made / "answer.c").read_text()
    loop = "\tfor (;;) {\n\t\twait_for(ping);\n"
    assert source.count(loop) == 1
    knows = f"{KNOWS.replace('OWN', str(own))}"
    plays = Plays(tmp_path / "played")
    monkeypatch.setattr(random.Random, "getrandbits", lambda *_: other)
    # its mark is the plugin's
    monkeypatch.setattr("tennis.course.checks.check", lambda **_: lambda function: function)
    path = ROOT / "labs" / LAB.slug / "checks.py"
    spec = importlib.util.spec_from_file_location("lab_checks", path)
    checks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checks)
    checks.check_in_time(replace(work, rallies=PlayedHere(work, plays)), plays, print)
    (made / "answer.c").write_text(source.replace(loop, knows))
    here = replace(work, rallies=PlayedHere(work, plays))
    with pytest.raises(Wrong, match=r"^with other balls, 1 of [0-9]+ balls: later than 100 µs"):
        checks.check_in_time(here, plays, print)
