"""A term: sessions fit their time, and each has a deck of slides that builds and fits its pages."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from weasyprint import HTML

from tennis.cli import cli
from tennis.course import load_course
from tennis.course.authoring.sessions import SESSIONS, load_sessions
from tennis.course.labs import LabError
from tennis.kit.checkout import ROOT
from tests.support.shared import made_once
from tests.test_docs import commands_of

TERM = load_sessions()
DECKS = {planned.session.slug: ROOT / f"slides/{planned.session.slug}.md" for planned in TERM}
LINES = 20  # of text that a slide has room for, roughly


def slides_of(deck: Path) -> list[str]:
    """Return a deck's slides: what stands before the first part, and each part."""
    return re.split(r"^## ", deck.read_text(), flags=re.MULTILINE)


def test_a_session_for_each_lab_and_an_opening_and_no_deck_for_no_session():
    assert [planned.lab.slug for planned in TERM if planned.lab] == load_course()[0].labs
    assert TERM[0].lab is None
    assert len(TERM) >= 12
    assert {path.stem for path in (ROOT / "slides").glob("[0-9]*.md")} == {*DECKS}


@pytest.mark.parametrize("planned", TERM, ids=lambda planned: planned.session.slug)
def test_a_session_fits_its_time(planned):
    session = planned.session
    spent = session.talk_minutes + planned.room_minutes + session.discussion_minutes
    assert spent + 10 <= 180
    assert planned.room_minutes >= 90  # a lab is worked at together
    work = planned.lab.minutes if planned.lab else session.work_minutes
    assert planned.room_minutes + planned.home_minutes == work
    # a slide takes two to five minutes; what comes behind the lab belongs to the discussion
    slides = slides_of(DECKS[session.slug])
    talk = next(n for n, slide in enumerate(slides) if slide.startswith(("At the bench", "Now:")))
    assert 2 <= session.talk_minutes / talk <= 5


@pytest.mark.parametrize("planned", TERM, ids=lambda planned: planned.session.slug)
def test_what_a_session_needs_comes_before_it(planned):
    before = [other.session.slug for other in TERM[: TERM.index(planned)]]
    assert set(planned.session.needs) <= set(before)


def test_what_is_wrong_with_a_session_is_named(tmp_path):
    text = SESSIONS.read_text()
    for was, now, said in (
        ('"11-the-report"', '"12-another-one"', "12-another-one is not a lab"),
        ('"11-the-report"', '"04-under-load"', "in another order"),
        ("talk_minutes = 30", "talk_minutes = 0", r"sessions\[0\]\.talk_minutes"),
        ("labs = 50", "labs = 60", "are not 100 % together"),
    ):
        (tmp_path / "sessions.toml").write_text(text.replace(was, now))
        with pytest.raises(LabError, match=said):
            load_sessions(tmp_path / "sessions.toml")


@pytest.mark.parametrize("slug", DECKS)
def test_a_deck_is_one_of_slides(slug):
    """Its pictures exist, no slide is a page of text, and the discussion is there."""
    text = DECKS[slug].read_text()
    for picture in re.findall(r"!\[.+\]\((.+)\)$", text, re.MULTILINE):
        assert (ROOT / "slides" / picture).is_file(), picture
    assert "```{session-today}" in text
    assert slug == TERM[0].session.slug or "```{session-lab}" in text
    for slide in slides_of(DECKS[slug])[1:]:
        lines = [line for line in slide.splitlines() if line.strip()]
        assert len(lines) <= LINES, slide.splitlines()[0]


@pytest.mark.parametrize("slug", DECKS)
def test_what_a_deck_lets_people_type_is_a_command(slug):
    for words in commands_of(DECKS[slug]):
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None, words
        command.make_context(words[0], list(words[1:]))


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "sphinx", "-q", "-W", ROOT / "slides", folder / "html"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "slides", make) / "html"


def test_the_slides_need_nothing_from_elsewhere(built):
    pages = list(built.glob("[0-9]*.html"))
    assert len(pages) == len(TERM)
    for page in pages:
        text = page.read_text()
        for attribute in ('src="http', 'src="//', 'rel="stylesheet" href="http', "@import"):
            assert attribute not in text, f"{page.name}: {attribute}"
        assert text.count('<header class="slide">') == 1
        for picture in re.findall(r'src="(_images/[^"]+)"', text):
            assert (built / picture).is_file(), picture


@pytest.mark.parametrize("slug", DECKS)
def test_a_slide_is_a_page_of_paper(built, slug):
    pages = HTML(built / f"{slug}.html").render().pages
    assert len(pages) == len(slides_of(DECKS[slug]))
