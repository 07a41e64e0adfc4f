"""docs/query.md: its code, copied as it is, gives the figures of ``tennis stats``."""

import re
import shutil

import numpy as np

from tennis.kit.checkout import ROOT
from tennis.rally import Tally, open_rally
from tennis.rally.manifest import Fault
from tennis.rally.statistics import summarize
from tests.support.one_setting import DRILL
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill

PAGE = ROOT / "docs/query.md"


def test_the_page_answers_as_tennis_stats_does(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    brickwall = make_rally(
        tmp_path / "term/a/brickwall", balls=1000, misses=15, tick_hz=125_000_000, kernel="mainline"
    )
    boots = [make_rally(tmp_path / f"term/{n}", balls=700 + n, seed=n) for n in (1, 2)]
    shutil.copytree(boots[0].path, tmp_path / "term/copied")
    shutil.copytree(brickwall.path, tmp_path / "term/other.interrupted-1")
    shutil.copytree(brickwall.path, tmp_path / "term/half.part/sealed")
    make_rally(tmp_path / "term/suspect", balls=50, faults=[Fault(code="load_died", message="x")])
    make_drill(tmp_path / "term/drill", DRILL, np.full(39, 1_000_000), np.full(40, 800))
    damaged = make_rally(tmp_path / "term/damaged", balls=60)
    (damaged.path / "console.log").write_text("altered")
    page: dict[str, object] = {}
    exec("\n".join(blocks), page)  # noqa: S102 (our own page)

    printed = capsys.readouterr().out
    assert printed.count("left out:") == 2
    assert "5 rallies, 3 of them sound and different" in printed
    table = page["table"].reset_index().set_index("kind")
    assert table["rallies"].to_dict() == {brickwall.label: 1, boots[0].label: 2}
    assert table["balls"].sum() == 1000 + 701 + 702
    one, said = table.loc[brickwall.label], summarize(open_rally(brickwall.path)).interrupt_ns
    for name in ("median", "p99", "p999", "max"):
        assert one[f"{name}_ns"] == said.ns(name), name
    assert (one["misses"], one["p99_ns"], said.median % 8) == (15, np.inf, 0)
    pooled, both = table.loc[boots[0].label], Tally.joined([boot.interrupt for boot in boots])
    assert pooled["median_ns"] == both.at(-(-both.balls // 2))
    assert pooled["p99_ns"] == both.at(-(-both.balls * 99 // 100))
    falls = page["answers"](page["sound"][page["sound"]["balls"] == 1000], "scheduling_ns")
    assert falls["median_ns"] == summarize(brickwall).scheduling_ns.median
