# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A rally with a Racquet of one's own: played, told as such, and played again."""

import pytest

from tennis.course.lab_files import solved
from tennis.kit.checkout import ROOT
from tennis.rally import open_rally
from tests.support import terminal

pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("own-racquet")]
RIGHT = solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text())


def tennis(*words: object) -> tuple[int, str]:
    done = terminal.tennis(*words)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "racquet.c").write_text(RIGHT)
    words = ("rally", "--racquet", folder / "racquet.c", "--balls", 200)
    code, said = tennis(*words, "--out", folder / "own")
    assert code == 0, said
    assert "own: 200 balls, 0 misses" in said
    return folder


@pytest.mark.more
def test_a_rally_says_whose_racquet_answered(played):
    rally = open_rally(played / "own")
    target = rally.manifest.target
    assert target.module == "racquet, one's own"
    assert (target.top_half, target.bottom_half) == ("unknown", "unknown")
    assert rally.label == "mainline / idle / own Racquet / default"
    assert next(one for one in target.tasks if one.task == "racquet").policy == "SCHED_FIFO"


def test_it_is_played_again_with_its_own_source(played, tmp_path):
    again = ("check", played / "own")
    code, said = tennis(*again)
    assert code != 0
    assert "was not played with the kit's Racquet" in said
    code, said = tennis(*again, "--racquet", played / "racquet.c")
    assert code == 0, said
    # another source, however little is changed in what it does, is found out
    other = tmp_path / "other.c"
    lowers = "gpiod_set_value(racquet.reply, 0);"
    other.write_text(RIGHT.replace(lowers, f"ndelay(500);\n\t{lowers}"))
    assert other.read_text() != RIGHT
    code, said = tennis(*again, "--racquet", other)
    assert code != 0
    code, said = tennis("explain", played / "own")
    assert code != 0
    assert "was not played with the kit's Racquet" in said
