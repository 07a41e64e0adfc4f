"""Without matplotlib commands do their work, and say in one line how to get pictures."""

import sys

import numpy as np

from tennis.rally.manifest import Drill
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill

ABSENT = (
    "import sys; sys.modules['matplotlib'] = None\nfrom tennis.cli import main; sys.exit(main())"
)
LINE = "tennis: pictures are left out: run 'scripts/setup.sh'\n"


def test_pages_are_written_without_them(tmp_path):
    def done(*words):
        return run_to_end([sys.executable, "-c", ABSENT, *words], cwd=tmp_path)

    for number in range(10):
        for side in ("before", "after"):
            seed = 2 * number + (side == "after")
            make_rally(tmp_path / side / f"{number}", balls=3000, seed=seed)
    switch = Drill(name="switch", context="kernel", period_ns=1_000_000)
    make_drill(tmp_path / "drilled", switch, np.full(9, 1_000_000), np.full(10, 900))
    for words, code, page in (
        (("report", "before/0", "after/0", "--out", "rally.html"), 0, "rally.html"),
        (("report", "drilled", "--out", "drill.html"), 0, "drill.html"),
        (("compare", "before", "after", "--out", "compared"), 3, "compared/compare.html"),
    ):
        ended = done(*words)
        assert (ended.returncode, ended.stderr) == (code, LINE), words
        text = (tmp_path / page).read_text()
        assert '<figure><div class="picture"' not in text
        assert "</html>" in text
    assert done("stats", "before/0").stderr == ""
    ended = done("plot", "before/0")
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "needs the Python module matplotlib" in ended.stderr
    assert "scripts/setup.sh" in ended.stderr
    code = "import sys, tennis; sys.modules['matplotlib'] = None; r = tennis.open('before/0')\n"
    for drawn in ("r.plot()", "tennis.plot([r])"):
        ended = run_to_end([sys.executable, "-c", code + drawn], cwd=tmp_path)
        assert "EntryError: needs the Python module matplotlib" in ended.stderr
