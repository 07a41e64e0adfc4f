"""A Racquet of one's own: the driver of docs/your-driver.md, by the commands of that page."""

import re
import shlex

import pytest

from tennis.explain.page import NUMBERS, PAGE
from tennis.kit.checkout import ROOT
from tennis.rally import open_rally
from tennis.rally.manifest import OWN
from tests.support import terminal

pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("own-racquet")]
TEXT = (ROOT / "docs/your-driver.md").read_text()
(WHEEL,) = re.findall(r"^```c\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
RALLY, COMPARE, _, EXPLAIN = re.findall(r"^\$ tennis (.*)$", TEXT, re.MULTILINE)
MUTEX = re.compile(r"^.*(?:wheel_lock|linux/mutex).*\n", re.MULTILINE)


def before() -> str:
    """Return the driver of then, as the page says: another call, and no mutex."""
    (call,) = re.findall(r"`(devm_request_irq\(.*?\))`", TEXT, re.DOTALL)
    text, calls = re.subn(r"devm_request_threaded_irq\(.*?\);", f"{call};", WHEEL, flags=re.DOTALL)
    text, lines = MUTEX.subn("", text)
    assert (calls, lines) == (1, 4)
    return text


def tennis(*words: object) -> tuple[int, str]:
    done = terminal.tennis(*words)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a folder in which both of the page's files are, and the rally of its first command."""
    folder = tmp_path_factory.mktemp("own")
    assert len(WHEEL.splitlines()) < 100
    (folder / "wheel.c").write_text(WHEEL)
    (folder / "wheel-before.c").write_text(before())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        code, said = tennis(*shlex.split(RALLY))
    assert code == 0, said
    return folder


@pytest.fixture(autouse=True)
def _there(played, monkeypatch):
    monkeypatch.chdir(played)


def expect_answers(rally) -> None:
    assert (rally.balls, rally.misses) == (300, 0)
    assert not rally.manifest.suspect
    assert rally.manifest.target.module == OWN


def test_it_is_played_again_with_its_own_source(played):
    expect_answers(open_rally(played / "wheel"))
    code, said = tennis("check", "wheel")  # its file is where it was, as it was
    assert code == 0, said
    # another source is found out
    for command in ("check", "explain"):
        code, said = tennis(command, "wheel", "--racquet", "wheel-before.c")
        assert code != 0, said
    assert "the module of it has the SHA-256" in said


@pytest.mark.more
def test_the_driver_of_then_answers(tmp_path):
    assert "wheel-before.c" in COMPARE
    out = tmp_path / "then"
    code, said = tennis("rally", "--racquet", "wheel-before.c", "--balls", 300, "--out", out)
    assert code == 0, said
    expect_answers(open_rally(out))


def test_it_is_explained_by_its_own_lines(played):
    code, said = tennis(*shlex.split(EXPLAIN))
    assert code == 0, said
    sentence = said.partition(" tennis: ")[0]
    places = re.findall(r"wheel_turned \(wheel\.c:(\d+)\)", said)
    assert places, said
    first, last = (
        next(n for n, line in enumerate(WHEEL.split("\n"), 1) if line.startswith(begins))
        for begins in ("static irqreturn_t wheel_turned", "static int racquet_answer")
    )
    assert all(first <= int(place) < last for place in places), sentence
    assert (played / "why" / PAGE).exists()
    assert "wheel_turned" in (played / "why" / NUMBERS).read_text()
    # nobody's file: what a rally's own words say is not looked for
    (played / "wheel.c").rename(played / "moved.c")
    code, said = tennis("explain", "wheel")
    assert code != 0
    assert "name it as it was then: tennis explain (or check) DIR --racquet FILE.c" in said
    # named, it is taken: what is wrong now is the ball
    code, said = tennis("explain", "wheel", "--racquet", "moved.c", "--ball", 300)
    (played / "moved.c").rename(played / "wheel.c")
    assert (code, "there are the balls 0 to 299" in said) == (2, True), said
