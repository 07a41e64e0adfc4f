"""The report of a match: a long list of rallies is folded, and whole."""

import re

from tennis.match.folder import open_match
from tennis.match.plan import Setting
from tennis.replicate.match_page import write_match_report
from tennis.replicate.match_settings import setting_rows
from tennis.replicate.verdicts import Replication
from tests.support.synthetic_match import MatchMaker, bursts

SETTINGS = {
    "none": Setting(),
    "isolated": Setting(command_line="isolcpus=1", load_cpus="0"),
    "nohz": Setting(command_line="nohz_full=1"),
}


def with_settings(folder, boots=10):
    """A match of three settings: the second a tenth as late, the third as late as the first."""
    maker = MatchMaker(folder)
    for (name, setting), worst in zip(SETTINGS.items(), (90_000, 9_000, 90_000), strict=True):
        rise = bursts(worst, balls=3000)
        about = {"setting": name, "added": setting.command_line}
        maker.cell("mainline", "default", "stress", rise, boots=boots, **about)
    return maker.sealed(settings=SETTINGS)


def test_each_setting_is_compared_with_the_first(tmp_path):
    rows = setting_rows(with_settings(tmp_path / "m"))
    assert list(rows) == ["mainline-stress-default-tasklet"]
    none, isolated, nohz = rows["mainline-stress-default-tasklet"]
    assert [row.setting for row in (none, isolated, nohz)] == ["none", "isolated", "nohz"]
    assert none.balls == "30,000, 10 boots"
    assert none.latencies[0].interval == ""
    assert none.latencies[0].latest == "90.0 µs"
    assert isolated.latencies[0].interval == "earlier: 0.1 (0.1 to 0.1)"
    assert nohz.latencies[0].interval == "equal: 1.000 (1.000 to 1.000)"
    assert isolated.what == "isolcpus=1, load on 0"


def test_a_stranger_learns_with_what_it_was_played(tmp_path):
    maker = MatchMaker(tmp_path / "m")
    maker.cell("mainline", "default", "idle", bursts(3000, balls=200), boots=3)
    maker.cell("rt", "chrt", "stress", bursts(3000, balls=200), boots=3)
    page = write_match_report(Replication(maker.sealed())).read_text()
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert facts["Load"] == "idle; stress"
    assert facts["Priorities"] == "default; chrt"
    assert facts["N of a boot"] == "200"
    assert facts["Boots"] == "6"
    manifests = [maker_rally.manifest for maker_rally in open_match(tmp_path / "m").rallies()]
    seeds = sorted(one.protocol.seed for one in manifests)
    assert facts["Seeds"].startswith(str(seeds[0]))
    for one in manifests:
        assert one.target.release in facts["Kernel"]
        assert one.created in facts["Played"]
