"""Every kind of page in a real Chromium: desktop, telephone, dark, print; axe-core looks, too."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import load_lab
from tennis.explain.explanation import Explanation
from tennis.explain.page import PAGE, write
from tennis.kit.checkout import ROOT
from tennis.play.commissioning.page import page as commission_page
from tennis.rally.manifest import Drill
from tennis.replicate.match_page import write_match_report
from tennis.replicate.verdicts import Replication
from tennis.report.pages.drill import write_drill_report
from tennis.report.pages.rally import write_report
from tests.cli.test_compare import side
from tests.explain.test_explain import late_ball
from tests.support.hand_ins import make_work, zipped
from tests.support.made_up_commissioning import made_up_record
from tests.support.shared import made_once
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill
from tests.support.synthetic_match import MatchMaker, bursts

pytestmark = pytest.mark.slow

# width in CSS pixels, colours, medium; a sheet of A4 without its margins is 688 pixels wide
SCREENS = {
    "desktop": (1280, "light", "screen"),
    "telephone": (400, "light", "screen"),
    "dark": (1280, "dark", "screen"),
    "print": (688, "light", "print"),
}
BOOKS = {
    "docs": ("index", "commands/rally", "match", "explain", "evidence/knutsson-match"),
    "handouts": ("index", "before-you-start", "01-first-serve", "05-preempt-rt", "07-worst-case"),
}

OWN = ("rally", "rallies", "match", "drills", "rtcap", "explain", "feedback", "class")
OWN += ("commission", "compare")
KINDS = [*OWN, *(f"{b}/{name}" for b in BOOKS for name in BOOKS[b])]


def make_books(_: Path) -> None:
    """Bring both books up to date where they are read: they lead to each other."""
    command = ["make", "READY=1", "books"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


def graded(folder: Path) -> tuple[Path, Path]:
    """Mark a class of two of which one copied; return the class' page, and a student's."""
    lab = load_lab("04-under-load")
    (folder / "in").mkdir(parents=True)
    wrong = {"growth": 1, "network": "a"}
    for name, student in (("ada", "Ada Lovelace"), ("bob", "Bob")):
        made = make_work(folder / name, lab, student, answers=wrong)
        for rally in lab.rallies if name == "bob" else ():
            shutil.rmtree(made / rally.name)
            shutil.copytree(folder / "ada" / rally.name, made / rally.name)
        zipped(made, folder / "in" / f"{name}.zip")
    words = ["grade", str(folder / "in"), "--lab", "04", "--no-replay"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    marks = folder / "in-marks"
    return marks / "class.html", next((marks / "feedback").iterdir())


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Write one page of each kind that the commands write."""
    made_once(tmp_path_factory, "books", make_books)
    out = tmp_path_factory.mktemp("pages")
    rallies = [
        make_rally(out / "a", balls=300, kernel="mainline", load="stress", misses=2),
        make_rally(out / "b", balls=300, kernel="rt", load="idle", priorities="chrt"),
    ]
    maker = MatchMaker(out / "quick")
    for kernel, priorities, load, late in (
        ("mainline", "default", "idle", 3_000),
        ("mainline", "default", "stress", 900_000),
        ("rt", "chrt", "idle", 9_000),
        ("rt", "chrt", "stress", 12_000),
    ):
        maker.cell(kernel, priorities, load, bursts(late))
    maker.left_out("xenomai", "native", "idle", "no kernel given")
    written = {kind: out / f"{kind}.html" for kind in OWN}
    late = Explanation(rallies[0], "the latest ball of 300", [late_ball("dd")], 300, [])
    write(late, out / "explained")
    written["explain"] = out / "explained" / PAGE
    written["commission"].write_text(commission_page(made_up_record()))
    sides = [str(side(out / "before")), str(side(out / f"after_{'long_name_' * 6}", times=1.5))]
    done = CliRunner().invoke(cli, ["compare", *sides, "--no-explain", "--out", str(out / "gate")])
    assert done.exit_code == 1, done.output
    written["compare"] = out / "gate" / "compare.html"
    write_report(rallies[:1], written["rally"])
    write_report(rallies, written["rallies"])
    write_match_report(Replication(maker.sealed()), written["match"])
    drill = Drill(name="periodic", context="kernel", period_ns=1_000_000)
    sizes = Drill(name="allocate", context="user", period_ns=1_000_000)
    beat = bursts(1_016_083, 299, base=1_000_000)
    drills = [
        make_drill(out / "beat", drill, beat, np.arange(300) % 7 + 900),
        make_drill(out / "sizes", sizes, beat, np.arange(300) % 15 * 90 + 900),
    ]
    write_drill_report(drills, written["drills"])
    other = MatchMaker(out / "rtcap")
    for load in ("idle", "memory"):
        other.drill("rt", load, drill, bursts(1_016_083, 3000, base=1_000_000), np.full(3001, 900))
    write_match_report(Replication(other.sealed()), written["rtcap"])
    written["class"], written["feedback"] = graded(out / "grades")
    for book, names in BOOKS.items():
        for name in names:
            written[f"{book}/{name}"] = ROOT / book / "_build/html" / f"{name}.html"
    return written


@pytest.mark.cases(
    more=[
        "desktop-rtcap",
        "telephone-[dhrecu]*",
        "dark-[dhrecu]*",
        "print-[dhrecu]*",
        "desktop-d*",
        "desktop-handouts/0*",
        "desktop-rallies",
    ]
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("screen", SCREENS)
def test_a_page(browser, pages, kind, screen):
    width, scheme, medium = SCREENS[screen]
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.emulate_media(media=medium)
    page.goto(pages[kind].as_uri())

    assert not [url for url in asked if not url.startswith(("file:", "data:"))]
    assert not failed
    inner, whole = page.evaluate("[window.innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner, f"{kind} is {whole} pixels wide on {screen} ({inner})"
    empty = "[...document.images].filter(i => !i.alt || !i.naturalWidth).map(i => i.outerHTML)"
    assert page.evaluate(empty) == []
    if medium == "screen":
        found = Axe().run(page).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200])
            for one in found
            if one["impact"] in {"serious", "critical"}
        ]
        assert serious == []
    else:
        sheets = page.pdf(format="A4")
        assert sheets.startswith(b"%PDF")
    context.close()


def test_the_books_lead_to_each_other(browser, pages):
    page = browser.new_page()
    for book, link, title in (
        ("docs", "the labs", "Tennis: the labs"),
        ("handouts", "the reference book", "Tennis"),
    ):
        page.goto(pages[f"{book}/index"].as_uri())
        page.get_by_role("link", name=link, exact=True).click()
        assert page.title() == title


def test_the_search_finds_a_command_by_what_it_does(browser, pages):
    page = browser.new_page()
    for words, command in (("late", "tennis explain"), ("lease", "tennis benches")):
        page.goto(pages["docs/index"].with_name("search.html").as_uri() + f"?q={words}")
        # results come one after the other
        page.get_by_text("Search finished").first.wait_for()
        assert command in page.inner_text("#search-results")


DECKS = sorted(path.stem for path in (ROOT / "slides").glob("[0-9]*.md"))
TELEPHONE = {"width": 390, "height": 844}
CUT = """[...document.querySelectorAll(".wide, .picture, .table-wrapper, section > table")]
  .filter(e => e.scrollWidth > e.clientWidth + 1)"""


def test_a_telephone_shows_verdicts_as_cards(browser, pages):
    """Nothing of them is cut: the verdict first, and each figure with the words of its column."""
    page = browser.new_page(viewport=TELEPHONE)
    page.goto(pages["match"].as_uri())
    cut = page.evaluate(f"{CUT}.filter(e => e.querySelector('td .verdict')).map(e => e.ariaLabel)")
    assert [name for name in cut if not name.startswith("Table ")] == []
    row = page.locator("#rankings tbody tr").first
    verdict, title = row.locator(".verdict").bounding_box(), row.locator("th").bounding_box()
    assert verdict["y"] < title["y"]
    words = "e => getComputedStyle(e, '::before').content"
    assert row.locator("td").first.evaluate(words).startswith('"Published')
    picture = page.locator(".picture").first
    assert picture.locator("img").bounding_box()["width"] <= TELEPHONE["width"]
    picture.click()
    assert picture.locator("img").bounding_box()["width"] > 600  # its labels can be read
    page.close()


def test_a_telephone_cuts_no_table_of_the_book(browser, pages):
    page = browser.new_page(viewport=TELEPHONE)
    for name in ("commands/rally", "evidence/hardware", "which-call", "alone"):
        page.goto((pages["docs/index"].parent / f"{name}.html").as_uri())
        assert page.locator("table.cards").count(), name
        assert page.evaluate(f"{CUT}.map(e => e.innerText)") == [], name
    page.close()


@pytest.fixture(scope="module")
def deck(tmp_path_factory) -> Path:
    """Build the slides; return their folder."""
    out = tmp_path_factory.mktemp("slides")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(ROOT / "slides"), str(out)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return out


@pytest.mark.cases(more=["dark-*", "light-390-0[1-9]*", "light-390-1*"])
@pytest.mark.parametrize("name", DECKS)
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_slides_fit_and_turn_dark(browser, deck, name, width, scheme):
    height = 844 if width == 390 else 900
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto((deck / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    slides = "[...document.querySelectorAll('header.slide, section > section')]"
    tall = f"{slides}.filter(e => e.offsetHeight > innerHeight + 2).map(e => e.innerText)"
    assert page.evaluate(tall) == []
    style = "getComputedStyle(document.documentElement)"
    assert float(page.evaluate(f"parseFloat({style}.fontSize)")) >= 14
    red = int(page.evaluate(f"{style}.backgroundColor").removeprefix("rgb(").split(",")[0])
    assert (red < 64) == (scheme == "dark")
    page.close()
