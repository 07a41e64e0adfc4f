"""Pictures: whole, honest about their bench, readable by those who cannot see them."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tennis.rally.manifest import Fault
from tennis.report.picture_words import names
from tennis.report.plots import comparison, distribution, histogram, overview, series
from tennis.report.plots.compare import histograms
from tennis.report.plots.instants import coverage
from tennis.report.plots.one import _Envelope, bar_edges
from tests.support.synthetic import TIME_NOTE, make_rally

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def rallies(tmp_path_factory):
    """Give rallies of every shape: long tails, one ball, none, the same value, hostile names."""
    out = tmp_path_factory.mktemp("rallies")
    fault = Fault(code="guest_panic", message="the kernel panicked")
    return {
        "stress": make_rally(out / "s", balls=900, kernel="mainline", misses=3),
        "idle": make_rally(out / "i", balls=900, kernel="rt", load="idle"),
        "one": make_rally(out / "1", rise=[5], schedule=[6]),
        "ties": make_rally(out / "t", rise=[5] * 9, schedule=[6] * 9, tick_hz=125_000_000),
        "zero": make_rally(out / "z", rise=[0, 0, 1], schedule=[0, 0, 0]),
        "missed": make_rally(out / "m", balls=4, misses=4, faults=[fault]),
        "hostile": make_rally(out / "h", balls=50, kernel="<b>$x^2$\x1b", load="</svg><script>"),
        "short": make_rally(out / "n", balls=40, ended="interrupted", planned=50),
        "none": make_rally(out / "0", balls=0, ended="interrupted", planned=50),
        "long": make_rally(out / "l", balls=2_000, load="stress", kernel="x" * 400),
    }


KEYS = ("stress", "idle", "one", "ties", "zero", "missed", "hostile", "short", "none", "long")


KINDS = {draw.__name__: draw for draw in (histogram, distribution, series)}
TOGETHER = (overview, histograms, comparison)
DRAWN = {**KINDS, "coverage": coverage}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", list(DRAWN))
def test_every_picture_of_every_rally(rallies, kind, key):
    rally = rallies[key]
    picture = DRAWN[kind](rally)
    svg = picture.render("svg")
    root = ElementTree.fromstring(svg)  # noqa: S314 (it is our own)
    assert root.get("role") == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert desc.text == picture.alt
    assert TIME_NOTE in picture.alt
    assert f"{rally.misses} of {rally.balls} balls missed" in picture.alt
    assert any(TIME_NOTE in text.get_text() for text in picture.texts)
    assert not list(root.iter(f"{SVG}script"))
    assert b"<script" not in svg


def test_coverage_shows_each_shot_and_what_was_searched(rallies):
    rally = rallies["idle"]
    served = [ns for batch in rally.batches(["served_ns"]) for ns in batch["served_ns"].tolist()]
    found = np.array([[served[7], 1], [served[7] + 2, 123_000]])
    picture = coverage(rally, found)
    axes = picture.axes[0]
    points = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert len(points["balls"]) == len(served)
    at_ms = (served[7] + 2 - served[0]) / 1e6
    assert points["1 instant of a search"].tolist() == [[at_ms, 123_000]]


def test_the_same_rally_gives_the_same_picture(rallies):
    for draw in (*DRAWN.values(), lambda rally: overview([rally]), lambda r: comparison([r])):
        assert draw(rallies["stress"]).render("svg") == draw(rallies["stress"]).render("svg")
    assert histogram(rallies["one"]).render("png") == histogram(rallies["one"]).render("png")


@pytest.mark.parametrize("draw", TOGETHER)
def test_pictures_of_many(rallies, draw):
    picture = draw(list(rallies.values()))
    ElementTree.fromstring(picture.render("svg"))  # noqa: S314 (it is our own)
    for name in names(list(rallies.values())):
        assert name in picture.alt
    assert "3 missed" in picture.alt
    assert "suspect" in picture.alt


def test_histograms_side_by_side_share_axes_and_bars_and_keep_every_ball(rallies):
    chosen = [rallies["stress"], rallies["idle"], rallies["one"]]
    picture = histograms(chosen)
    for column, name in enumerate(("interrupt", "scheduling")):
        panels = picture.axes[column::2]
        assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
        bars = [axes.patches[0].get_data() for axes in panels]
        assert all(np.array_equal(one.edges, bars[0].edges) for one in bars)
        for one, rally in zip(bars, chosen, strict=True):
            assert one.values.sum() == getattr(rally, name).n


def words(picture):
    """Return all text of a picture."""
    return [text.get_text() for axes in picture.axes for text in axes.texts]


def test_a_distribution_ends_at_the_share_of_what_was_missed(rallies):
    """At zero it would say that no ball was later than the latest answer."""
    picture = comparison([rallies["idle"], rallies["stress"], rallies["missed"]])
    for axes in picture.axes:
        curves = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
        shares = [line.get_ydata()[-1] for line in curves]
        assert shares == [0.5 / 900, 3 / 900, 1.0]
        arrows = [line for line in axes.lines if line.get_marker() == ">"]
        # at the timeout, or behind the latest answer
        assert [line.get_xdata()[0] for line in arrows] == [99_999_996, 99_999_996]
        assert [line.get_xdata()[-1] for line in curves[1:]] == [99_999_996, 99_999_996]
    labels = [text.get_text() for text in picture.legends[0].get_texts()]
    assert [label.rpartition("(")[2] for label in labels[1:]] == ["3 missed)", "4 missed)"]


def test_what_was_missed_is_an_arrow_beside_a_latest_answer(rallies):
    picture = overview([rallies["idle"], rallies["stress"]])
    for axes, said in zip(picture.axes, ("> 100 ms", "missed"), strict=True):
        assert f"{said}  (3 missed balls)" in [text.get_text() for text in axes.texts]
        markers = [line.get_marker() for line in axes.lines if line.get_marker() in {"D", ">"}]
        assert markers == ["D", ">"]
    bars = histogram(rallies["stress"])
    assert "max > 100 ms (3 balls)" in words(bars)
    over_time = series(rallies["stress"])
    for axes in over_time.axes:
        crosses = [line for line in axes.lines if line.get_marker() == "x"]
        assert [line.get_xdata().size for line in crosses] == [3]


def test_the_envelope_keeps_extremes():
    random = np.random.default_rng(1)
    values = random.uniform(10, 20, 10_000)
    values[[17, 5_000, 9_999]] = 1e6, 1.0, 2e6
    values[100:200] = np.nan
    envelope = _Envelope(values.size, bins=90)
    served = np.arange(values.size)
    for start in range(0, values.size, 777):
        part = slice(start, start + 777)
        envelope.add(start, served[part], values[part])
    assert envelope.high.max() == 2e6
    assert envelope.low.min() == 1.0
    assert envelope.high[0] == 1e6
    assert (np.diff(envelope.served) > 0).all()
    assert np.isfinite(envelope.low).sum() >= 89


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("values", [[5], [5, 6], [100, 100_000], [0, 1]])
def test_bars_hold_every_ball(values, log):
    found = np.array(values)
    edges = bar_edges(found, 1.0, log=log)
    assert (np.diff(edges) > 0).all()
    assert np.histogram(np.maximum(found, 1) if log else found, edges)[0].sum() == found.size
