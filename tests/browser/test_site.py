"""The site in a real Chromium: static files, from a folder, on a telephone."""

import dataclasses
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tennis.explain.explanation import Explanation
from tennis.explain.explore import Recorded, rally_table, recorded
from tennis.explain.explore import page as explore_page
from tennis.explain.page import write
from tennis.kit.checkout import ROOT
from tennis.kit.errors import RallyError
from tennis.kit.units import format_ns, format_round_ns
from tests.browser.test_pages import make_books
from tests.explain.test_explain import late_ball
from tests.support.shared import made_once
from tests.support.synthetic import make_rally

spec = importlib.util.spec_from_file_location("make_site", ROOT / "scripts/make_site.py")
site = importlib.util.module_from_spec(spec)
sys.modules["make_site"] = site  # its dataclass looks there
spec.loader.exec_module(site)


@pytest.fixture(scope="module")
def explored(tmp_path_factory) -> list[Recorded]:
    """Return two rallies with an explanation each, as `tennis explain` writes it."""
    out = tmp_path_factory.mktemp("explored")
    found = []
    for kernel in ("mainline", "rt"):
        rally = make_rally(out / kernel, balls=400, kernel=kernel, misses=1)
        story = late_ball(f"<b>{kernel}</b>")
        served = rally_table(rally)["served_ns"][story.ball]
        story = dataclasses.replace(story, served_ns=int(served))
        write(Explanation(rally, "the latest ball of 400", [story], 400, []), out / f"{kernel}-why")
        found.append(recorded(kernel, "A made-up rally.", rally, out / f"{kernel}-why"))
    return found


@pytest.fixture(scope="module")
def visited(tmp_path_factory, explored) -> Path:
    """Make a site of made-up rallies; return its folder."""
    made_once(tmp_path_factory, "books", make_books)
    out = tmp_path_factory.mktemp("site") / "site"
    site.make(out, explore_page(explored, site.LINKS))
    return out


@pytest.mark.parametrize("width", [390, 1400])
def test_a_visitor_reads_why_a_ball_was_late(browser, visited, explored, width):
    """From a folder, without a server: the latest ball, then one that is explained, then a book."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    page.goto((visited / "index.html").as_uri())
    fits = "document.documentElement.scrollWidth <= innerWidth"
    assert page.evaluate(fits)
    # docs/look.md counts the clicks to an explanation: the first one is open, others take one
    assert page.locator("#ball-0-3 .answer").is_visible()
    other = page.locator("#ball-1-3")
    assert not other.locator(".answer").is_visible()
    other.locator("summary").click()
    assert other.locator(".answer").is_visible()
    other.locator("summary").click()
    page.click("#latest-1")
    assert "no answer in time" in page.inner_text(
        "#said-1"
    )  # a missed ball is later than all others
    page.click("#next-1")
    assert explored[1].summary.interrupt_ns.said("latest") in page.inner_text("#said-1")
    assert page.locator("#why-1").get_attribute("href") is None
    # what the axes and sentences write is what all other pages write
    powers = [10**power for power in range(10)]
    assert page.evaluate("all => all.map(tennis.round)", powers) == [
        format_round_ns(ns) for ns in powers
    ]
    times = [7, 999, 1005, 9_999, 99_960, 123_456, 999_600, 1_370_001, 59_999_999]
    assert page.evaluate("all => all.map(tennis.time)", times) == [format_ns(ns) for ns in times]
    # the ring of the explained ball is where its dot is
    at = page.evaluate("place => window.tennis.place(...place)", [1, 3])
    page.locator("#picture-1").click(position={"x": at[0], "y": at[1]})
    assert page.inner_text("#said-1").startswith("Ball 3,")
    page.click("#why-1")
    assert page.locator("#ball-1-3").evaluate("one => one.open")
    assert "<b>rt</b>" in page.locator("#ball-1-3 .answer").inner_text()
    page.check("input[value=both]")
    serious = [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in Axe().run(page).response["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
    assert serious == []
    page.get_by_role("link", name="The reference book").first.click()
    page.wait_for_load_state("load")  # what the next page interrupts counts as failed
    assert page.url == (visited / "docs/index.html").as_uri()
    page.goto((visited / "docs/commands/explain.html").as_uri())
    back = page.locator(".sidebar-tree a", has_text="Recorded rallies")
    assert (visited / "docs/commands" / back.get_attribute("href")).resolve() == (
        visited / "index.html"
    )
    assert page.evaluate(fits)
    assert wrong == []
    # Sphinx also asks for the texts of the pages it found, which a browser refuses of a folder
    page.goto((visited / "docs/search.html").as_uri() + "?q=lease")
    page.get_by_text("Search finished").first.wait_for()
    assert "tennis benches" in page.inner_text("#search-results")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.close()


def test_an_explanation_of_another_rally_is_refused(explored, tmp_path):
    """A page would show one rally's dots beside another one's causes."""
    mainline, rt = explored
    other = make_rally(tmp_path / "other", balls=400, kernel="rt", seed=99)
    with pytest.raises(RallyError, match="explains another rally: ball 3"):
        recorded("rt", "", other, rt.rally.path.with_name("rt-why"))
    shutil.copytree(mainline.rally.path.with_name("mainline-why"), tmp_path / "why")
    (tmp_path / "why" / "explanation.json").write_text('{"explained": [{"ball": "x"}]}')
    with pytest.raises(RallyError, match="is no explanation"):
        recorded("mainline", "", mainline.rally, tmp_path / "why")
