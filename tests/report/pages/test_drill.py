"""The page of drills: both clocks, self-contained, safe with what others wrote."""

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.explain.replayed import latest_balls, waits_of
from tennis.play.repeat import balls_of
from tennis.rally.inside import LONGEST
from tennis.rally.manifest import Drill
from tennis.rally.statistics.drill import summarize_drill
from tennis.report.pages.drill import _drill_report
from tests.report.pages.test_rally import Reader
from tests.support.synthetic_drill import make_drill
from tests.support.synthetic_match import bursts

BEAT = Drill(name="periodic", context="user-rt", period_ns=1_000_000)
SIZES = Drill(name="allocate", context="kernel", period_ns=1_000_000)


@pytest.fixture(scope="module")
def drills(tmp_path_factory):
    out = tmp_path_factory.mktemp("drills")
    intervals = bursts(1_016_083, 299, base=1_000_000)
    evil = '"><img src=x onerror=alert(1)>{{ 7 * 7 }}'
    return [
        make_drill(out / "beat", BEAT, intervals, np.arange(300) % 7 + 900),
        make_drill(out / "sizes", SIZES, intervals, np.arange(300) % 15 * 90, kernel=evil),
    ]


@pytest.fixture(scope="module")
def page(drills):
    return _drill_report(drills)


def test_a_pulse_that_did_not_end_in_time_is_longer_than_all_others(tmp_path):
    """Counted as 0 ns it was the shortest; inside, the clock's counter came to its end."""
    took = np.arange(300) % 7 + 900
    took[4] = LONGEST
    outside = np.where(np.isin(np.arange(300), (4, 5, 6)), -1, took + 300)
    asked = Drill(name="response", context="user", period_ns=1_000_000)
    drill = make_drill(
        tmp_path / "d", asked, bursts(1_016_083, 299, base=10**6), took, outside=outside
    )
    found = summarize_drill(drill).duration_ns
    assert (found.outside.min, found.outside.missed) == (1200, 3)
    assert [found.outside.said(name) for name in ("median", "max", "mean")] == [
        *("1.20 µs", "> 4.00 s", "unknown")
    ]
    assert (found.inside.said("max"), found.inside.missed) == ("> 4.29 s", 1)
    assert (found.difference.said("max"), found.difference.median) == ("missed", 300)
    # tennis explain looks at it first
    assert latest_balls(waits_of(drill, balls_of(drill)), 4) == [4, 5, 6, 13]
    page = _drill_report([drill])
    assert "&gt; 4.00 s" in page
    assert "> 4.00 s" in CliRunner().invoke(cli, ["stats", str(drill.path)]).output


def test_the_page_is_well_formed_and_self_contained(page):
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    assert not {tag for tag, _ in reader.tags} & {"script", "link", "iframe", "object"}
    images = [attributes for tag, attributes in reader.tags if tag == "img"]
    assert len(images) == 1 + 2  # sizes have a picture of their own
    for attributes in images:
        assert attributes["src"].startswith("data:image/svg+xml;base64,")
        assert len(attributes["alt"]) > 60
    assert "onerror=alert(1)&gt;{{ 7 * 7 }}" in page
