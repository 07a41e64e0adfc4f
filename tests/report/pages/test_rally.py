"""The report: self-contained, beside the thesis, safe with what others wrote."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tennis.kit.errors import UsageError
from tennis.rally.manifest import OWN, Fault
from tennis.report.pages.rally import _of_thesis, _report
from tennis.report.publications import NAMES, knutsson_2008, load, result
from tests.support.synthetic import TIME_NOTE, make_rally

pytestmark = pytest.mark.slow

THESIS = {"bottom_half": "tasklet", "top_half": "forced"}  # where its PREEMPT_RT answered


@pytest.fixture(scope="module")
def rallies(tmp_path_factory):
    out = tmp_path_factory.mktemp("rallies")
    evil = Fault(code="x", message="</p><script>alert(1)</script>{{ 7 * 7 }}")
    return [
        make_rally(
            out / "a", balls=300, kernel="mainline", load="stress", misses=2, bottom_half="tasklet"
        ),
        make_rally(out / "b", balls=300, kernel="rt", load="idle", priorities="chrt", **THESIS),
        make_rally(
            out / "c",
            balls=20,
            kernel='"><img src=x onerror=alert(1)>',
            load="custom",
            faults=[evil],
            time_note="<i>{{ 6 * 7 }}</i>",
        ),
    ]


@pytest.fixture(scope="module")
def page(rallies):
    return _report(rallies)


class Reader(HTMLParser):
    """Collects a page's tags, and checks that they close in order."""

    VOID = frozenset({"meta", "img", "br", "link", "input", "hr"})

    def __init__(self):
        super().__init__()
        self.tags, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_self_contained(page):
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    names = {tag for tag, _ in reader.tags}
    assert not names & {"script", "link", "iframe", "object", "i"}
    for tag, attributes in reader.tags:
        for key, value in attributes.items():
            assert not key.startswith("on")
            if key in {"src", "href"}:
                assert value.startswith(("data:image/svg+xml;base64,", "#rally-"))
        if tag == "img":
            assert len(attributes["alt"]) > 60
    assert not re.search(r"url\(|@import|https?://", re.sub(r"base64,[^\"]*", "", page))
    images = [attributes for tag, attributes in reader.tags if tag == "img"]
    assert len(images) == 2 + 3 * 3
    # what others wrote stays text
    assert "<script" not in page
    assert "onerror=alert(1)&gt;" in page
    assert "{{ 7 * 7 }}" in page
    assert "&lt;i&gt;{{ 6 * 7 }}&lt;/i&gt;" in page
    # notes are outside of what scrolls
    boxes = re.findall(r'<div class="wide".*?</div>', page, re.DOTALL)
    assert len(boxes) == 4
    assert not any("caption" in box for box in boxes)


def test_the_thesis_stands_beside(page, rallies):
    published = [_of_thesis(rally)[0] for rally in rallies]
    assert published[0].irq.max == 17_194
    assert published[1].sched.jitter == 90
    assert published[2] is None
    assert "17.2 ms" in page


def test_an_own_racquet_has_its_file_and_no_column_of_the_thesis(tmp_path):
    made = make_rally(tmp_path / "r", balls=50, bench="virtual", kernel="rt", load="idle")
    target = made.manifest.target.model_copy(update={"module": OWN, "bottom_half": "unknown"})
    versions = {**made.manifest.tool.versions, "racquet_file": "wheel.c"}
    tool = made.manifest.tool.model_copy(update={"versions": versions})
    own = replace(made, manifest=made.manifest.model_copy(update={"target": target, "tool": tool}))
    text = _report([own])
    assert "rt, idle, wheel.c" in text
    assert "rt, idle, unknown" not in text
    assert "beside the thesis" not in text
    assert 'class="thesis"' not in text
    assert "rt / idle / wheel.c" in own.label


def test_what_is_not_complete_says_so(tmp_path):
    some = make_rally(tmp_path / "some", balls=1, misses=1, ended="interrupted", planned=50)
    page = _report([some, make_rally(tmp_path / "none", balls=0, ended="interrupted")])
    assert page.count("Interrupted: 1 of 50 planned balls") >= 3
    assert page.count('<span class="tag">interrupted</span>') == 4
    assert "The only ball was missed" in page
    assert "1 ball, 1 miss, 0 strays" in page
    assert "No ball was played." in page
    assert "no claim: no balls" in page


def test_one_rally_needs_no_comparison_and_the_same_ones_give_the_same_page(rallies, page):
    assert _report(rallies) == page
    page = _report(rallies[:1])
    assert page.count("<img ") == 3
    assert TIME_NOTE in page


def test_publications():
    assert result("mainline", "default", "stress").irq.max == 17_194
    assert result("rt", "default", "stress").irq.jitter == 641
    assert result("rt", "chrt", "idle").sched.max == 97
    assert result("xenomai", "native", "xload").sched.max == 271
    assert result("rt", "chrt", "xload") is None
    assert result("mainline", "chrt", "idle") is None
    assert result("mainline", "default", "hog") is None
    assert knutsson_2008().instrument.balls == 10_000_000
    assert len(knutsson_2008().verification) == 2
    for name in NAMES:
        assert load(name)
    with pytest.raises(UsageError, match="unknown publication"):
        load("../secret")


def test_a_page_has_the_command_that_plays_its_rally_again(tmp_path):
    """A stranger has the page, and not the folder."""
    made = make_rally(tmp_path / "a", balls=30, kernel="rt", load="stress", bench="virtual", seed=9)
    assert "tennis rally --kernel rt --load stress --bottom-half thread" in _report([made])
    assert "--balls 30 --seed 9" in _report([made])
    assert "<dt>Command" not in _report([make_rally(tmp_path / "b", balls=30, bench="replay")])
