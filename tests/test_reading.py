"""What reads rallies loads nothing that drives a bench, and what plays them nothing that draws."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally
from tests.support.synthetic_match import MatchMaker, bursts

pytestmark = pytest.mark.slow

# one after the other: what an earlier command loads, a later one would have loaded
PROGRAM = """
import json, sys
from tennis.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
    heavy = [name for name in sys.modules if name.startswith(("tennis.bench", "tennis.play"))]
    assert not heavy, (words, heavy)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("reading")
    make_rally(made / "rally", balls=300)
    maker = MatchMaker(made / "match")
    for kernel in ("mainline", "rt"):
        maker.rally(kernel, "default", "idle", bursts(9000))
    maker.sealed()
    return made


READING = [
    ["stats", "rally"],
    ["plot", "rally", "--out", "rally.png"],
    ["report", "rally", "--out", "rally.html"],
    ["report", "match/mainline-idle-default-tasklet", "match/rt-idle-default-tasklet-forced"],
    ["replicate", "match"],
    ["umpire", "simulate", "rally", "--out", "capture.sr"],
    ["umpire", "check", "rally", "--capture", "capture.sr"],
]


def test_reading_loads_no_bench(folder):
    done = run_to_end([sys.executable, "-c", PROGRAM, json.dumps(READING)], cwd=folder)
    assert done.returncode == 0, done.stderr


def test_playing_loads_nothing_that_draws_or_fits():
    """Half a second of each start: a rally draws no picture, and an explanation is text."""
    program = (
        "import sys\nimport tennis.play.rally, tennis.cli.explain, tennis.cli.commission\n"
        "print(sorted({'matplotlib', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    done = run_to_end([sys.executable, "-c", program], check=True)
    assert done.stdout == "[]\n"
