# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The scoreboard in a real Chromium: projector and telephone, keyboard, a browser that sleeps."""

import re
import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.support.made_up_journals import MadeUpRally, some_balls
from tests.support.scoreboards import running
from tests.support.synthetic import make_rally
from tests.support.terminal import run

SERIOUS = {"serious", "critical"}
WAIT_MS = 120_000  # the machine may be busy
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}


expect.set_options(timeout=WAIT_MS)


@pytest.fixture
def opened(browser):
    """Return what opens a page; what it complains about fails the test, and so does a way out."""
    contexts, complaints = [], []

    def open_page(address, width=1920, height=1080, colours="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=colours
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        host = address.split("/")[2]
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.split("/")[2:3] == [host] or request.url[:5] in {"data:", "blob:"}
                else complaints.append(f"it asked {request.url}")
            ),
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("place")
    make_rally(place / "late", balls=20_000, misses=3, kernel="mainline", load="stress")
    for number in range(1, 31):
        rally = MadeUpRally(place / f"bench-{number:02}" / "lab-04", load="stress")
        rally.play(some_balls(2000, number))
    return place


@pytest.fixture(scope="module")
def address(place):
    with running(place) as address:
        yield address


def no_serious(page):
    found = Axe().run(page).response["violations"]
    said = [f"{found['id']}: {found['help']}" for found in found if found["impact"] in SERIOUS]
    assert said == []


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize(
    ("width", "height", "colours"),
    [(1920, 1080, "light"), (1280, 800, "dark"), (400, 850, "light")],
)
def test_the_wall(address, opened, width, height, colours):
    page = opened(address, width, height, colours)
    assert background(page) == GROUND[colours]
    expect(page.get_by_text("30 rallies being played")).to_be_visible()
    expect(page.get_by_role("heading", name="bench-30/lab-04")).to_be_attached()
    assert page.get_by_role("heading", level=3).count() == 30
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    no_serious(page)
    if width == 1920:  # all that is played fits onto the projector but for the last row's axes
        box = page.get_by_role("heading", name="bench-25/lab-04").bounding_box()
        assert box["y"] < 1000


def test_what_is_played_is_seen_as_it_is_played(place, address, opened):
    page = opened(address)
    expect(page.get_by_text("30 rallies being played")).to_be_visible()
    rally = MadeUpRally(place / "fresh", planned=1000)
    expect(page.get_by_role("heading", name="fresh")).to_be_visible()
    balls = some_balls(640, 99, missed=0.02)
    balls["rise"][123] = 12_500_000  # 100 ms
    balls["fall"][123] = 12_600_000
    rally.play(balls)
    expect(page.get_by_text("latest answer, ball 123")).to_be_visible()
    expect(page.get_by_text("640 of 1,000")).to_be_visible()
    shutil.rmtree(rally.part)
    expect(page.get_by_role("heading", name="fresh")).to_have_count(0)


def test_a_page_without_its_server_says_so_and_comes_back(place, browser):
    """Also what a browser sees that slept: its session is gone."""
    page = browser.new_context().new_page()
    page.set_default_timeout(WAIT_MS)
    old = page.get_by_role("alert")
    with running(place) as address:
        page.goto(address)
        expect(page.get_by_text("30 rallies being played")).to_be_visible()
        expect(old).to_be_hidden()
    expect(old).to_be_visible()
    expect(old).to_contain_text("this page is out of date")
    rally = MadeUpRally(place / "meanwhile", planned=1000)
    rally.play(some_balls(7, 1))
    with running(place, port=int(address.split(":")[2].strip("/"))):
        expect(page.get_by_text("7 of 1,000")).to_be_visible()
        expect(old).to_be_hidden()
        page.context.close()
    shutil.rmtree(rally.part)


def test_from_ten_thousand_balls_to_one(address, opened):
    page = opened(address, 1280, 900)
    page.get_by_role("link", name="late").click()
    counted = page.get_by_text("of 20,000 balls in view")
    expect(counted).to_contain_text("19,997 of 20,000")
    expect(counted).to_contain_text("3 missed")
    no_serious(page)
    page.get_by_label("Latency").select_option(label="scheduling: from its rise to its fall")
    expect(counted).to_contain_text("19,997 of 20,000")
    page.get_by_label("Latency").select_option(label="interrupt: to the reply's rise")
    # by keyboard only
    page.get_by_role("button", name="The latest ball").focus()
    page.keyboard.press("Enter")
    expect(counted).to_contain_text("Each dot is a ball")
    expect(page.get_by_role("heading", level=3)).to_contain_text("Ball")
    expect(page.get_by_text("no answer").first).to_be_visible()
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Later
    expect(counted).not_to_contain_text("1 missed")
    page.get_by_role("button", name="Everything").press("Enter")
    expect(counted).to_contain_text("19,997 of 20,000")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_one_ball_by_mouse(address, opened):
    """Click down a line until a dot is hit: most balls lie close together at one height."""
    page = opened(f"{address}explorer?rally=late", 1280, 900, "dark")
    assert background(page) == GROUND["dark"]
    # of ink for a light page: the widget's filter makes it light
    expect(page.get_by_text("Latency", exact=True)).to_have_css("color", "rgb(29, 35, 43)")
    for _ in range(3):  # 20,000 balls; a 64th of them are dots
        page.get_by_role("button", name="Closer").click()
        page.wait_for_timeout(500)
    expect(page.get_by_text("Each dot is a ball")).to_be_visible()
    heading = page.get_by_role("heading", level=3)
    expect(heading).to_have_count(0)
    box = page.locator(".bk-Canvas").bounding_box()
    for down in range(int(box["height"]) - 50, 20, -4):
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + down)
        page.wait_for_timeout(60)
        if heading.count():
            break
    expect(heading).to_contain_text(re.compile(r"Ball [\d,]+"))
    number = int(heading.inner_text().split()[1].replace(",", ""))
    assert 9000 < number < 11_000  # in the middle of the rally, which is in view


@pytest.mark.virtual
def test_why_a_ball_was_late(tmp_path, opened):
    """From a dot to the kernel's function, with the token only."""
    words = ["--load", "stress", "--balls", 300, "--seed", 3, "--quiet"]
    assert not run("rally", *words, "--out", tmp_path / "late").exit_code
    with running(tmp_path, "--explain") as entry:
        assert "/enter?token=" in entry
        page = opened(entry, 400, 850)
        page.get_by_role("link", name="late").click()
        button = page.get_by_role("button", name="Explain this ball")
        expect(button).to_be_hidden()
        page.get_by_role("button", name="The latest ball").press("Enter")
        button.press("Enter")
        expect(page.get_by_text("what ran")).to_be_visible()
        expect(page.get_by_text("all the same in every tick")).to_be_visible()
        expect(button).to_be_hidden()
        no_serious(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.context.close()


def test_a_rally_that_is_not_there(address, opened):
    page = opened(f"{address}explorer?rally=%3Cscript%3Ealert(1)%3C/script%3E", 400, 850)
    expect(page.get_by_text("No such rally here")).to_be_visible()
    page.get_by_role("link", name="All rallies").press("Enter")
    expect(page.get_by_text("rallies being played")).to_be_visible()
