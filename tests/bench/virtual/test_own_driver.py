"""The driver that docs/your-driver.md makes a Racquet of: its file builds, and answers."""

import re

import pytest

from tennis.kit.checkout import ROOT
from tennis.rally import open_rally
from tennis.rally.manifest import OWN
from tests.support import terminal

pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("own-racquet")]
PAGE = (ROOT / "docs/your-driver.md").read_text()
(WHEEL,) = re.findall(r"^```c\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MUTEX = re.compile(r"^.*(?:wheel_lock|linux/mutex).*\n", re.MULTILINE)


def before() -> str:
    """Return the driver of then, as the page says: another call, and no mutex."""
    (call,) = re.findall(r"`(devm_request_irq\(.*?\))`", PAGE, re.DOTALL)
    text, calls = re.subn(r"devm_request_threaded_irq\(.*?\);", f"{call};", WHEEL, flags=re.DOTALL)
    text, lines = MUTEX.subn("", text)
    assert (calls, lines) == (1, 4)
    return text


@pytest.mark.cases(more=["wheel-before.c"])
@pytest.mark.parametrize("name", ["wheel.c", "wheel-before.c"])
def test_the_racquet_of_the_page_is_built_and_answers(name, tmp_path):
    assert name in PAGE
    assert len(WHEEL.splitlines()) < 100
    source = tmp_path / name
    source.write_text(WHEEL if name == "wheel.c" else before())
    out = tmp_path / "wheel"
    words = ("rally", "--racquet", source, "--balls", 300, "--out", out)
    done = terminal.tennis(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    rally = open_rally(out)
    assert (rally.balls, rally.misses) == (300, 0)
    assert not rally.manifest.suspect
    assert rally.manifest.target.module == OWN
