"""A rally with a Racquet of one's own: played, told as such, and played again."""

import re

import pytest

from tennis.course.lab_files import solved
from tennis.kit.checkout import ROOT
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


def test_it_is_played_again_with_its_own_source(played, tmp_path):
    again = ("check", played / "own")
    code, said = tennis(*again)  # its file is where it was, as it was
    assert code == 0, said
    # another source, however little is changed in what it does, is found out
    other = tmp_path / "other.c"
    lowers = "gpiod_set_value(racquet.reply, 0);"
    slower = RIGHT.replace(lowers, f"ndelay(500);\n\t{lowers}")
    assert slower != RIGHT
    other.write_text(f"#include <linux/delay.h>\n{slower}")
    code, said = tennis(*again, "--racquet", other)
    assert code != 0
    code, said = tennis("explain", played / "own", "--racquet", other)
    assert code != 0
    assert "the module of it has the SHA-256" in said


def test_it_is_explained_by_its_own_lines(played):
    code, said = tennis("explain", played / "own", "--worst", 1)
    assert code == 0, said
    source = (played / "racquet.c").read_text().split("\n")
    lines = [int(number) for number in re.findall(r"racquet\.c:(\d+)", said)]
    assert lines, said
    assert all("(" in source[number - 1] for number in lines), said
    # nobody's file: what a rally's own words say is not looked for
    (played / "racquet.c").rename(played / "moved.c")
    code, said = tennis("explain", played / "own", "--worst", 1)
    (played / "moved.c").rename(played / "racquet.c")
    assert code != 0
    assert "name it as it was then: tennis explain (or check) DIR --racquet FILE.c" in said
