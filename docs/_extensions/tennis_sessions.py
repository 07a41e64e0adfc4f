"""A Sphinx extension: a term's sessions, from ``labs/sessions.toml``.

``scripts/reference.py`` writes tables of them into the reference book's pages.

- ``{session-decks}`` lists the decks of slides.

On a deck's page, which is named after its session:

- ``{session-today}`` opens the deck with the session's goals.
- ``{session-lab}`` closes its talk: the lab, its minutes in the room and at home, its checkpoints.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tennis.course.authoring.sessions import (
    SESSIONS,
    Planned,
    Term,
    load_sessions,
    needs_of,
    texts_of,
)
from tennis.course.authoring.sphinx import GeneratedDirective
from tennis.course.labs import LABS, Lab
from tennis.kit.errors import TennisError


def name_of(planned: Planned) -> str:
    """Return how a session is called: its lab's number and title, or its own title."""
    return f"Lab {planned.lab.number}, {planned.title}" if planned.lab else planned.title


def plan(term: list[Planned]) -> str:
    """Return a Markdown table: a line for each session, minutes in its columns."""
    whole = Term.load()
    rows = [
        f"A session has {whole.session_minutes} minutes, {whole.break_minutes} of them a break.",
        "",
        "| session | about | talk | at the lab | discussion | at home | needs lab |",
        "|--:|---|--:|--:|--:|--:|---|",
    ]
    for number, planned in enumerate(term, 1):
        session = planned.session
        rows.append(
            f"| {number} | {name_of(planned)} | {session.talk_minutes} | {planned.room_minutes} "
            f"| {session.discussion_minutes} | {planned.home_minutes or ''} | {needs_of(planned)} |"
        )
    return "\n".join(rows)


def dropped(term: list[Planned]) -> str:
    """Return a Markdown list of the sessions that a class can do without."""
    return "\n".join(
        f"- {name_of(planned)}: {planned.session.dropped}"
        for planned in term
        if planned.session.dropped
    )


def goals(term: list[Planned]) -> str:
    """Return, in Markdown, what each session takes and gives."""
    rows = ["| session | know before | afterwards, a student can |", "|---|---|---|"]
    for number, planned in enumerate(term, 1):
        before, after = " ".join(planned.session.before), "; ".join(planned.session.goals)
        rows.append(f"| {number}. {name_of(planned)} | {before} | {after} |")
    return "\n".join(rows)


def decks(term: list[Planned]) -> str:
    """Return a Markdown list of links to the decks."""
    return "\n".join(
        f"{number}. [{name_of(planned)}]({planned.session.slug}.md)"
        for number, planned in enumerate(term, 1)
    )


def labs_of(term: list[Planned]) -> list[Lab]:
    """Return the labs that are sessions of the term."""
    return [planned.lab for planned in term if planned.lab]


def lab_list(term: list[Planned]) -> str:
    """Return a Markdown table: a line for each lab, its minutes, points and texts."""
    rows = ["| lab | minutes | points | texts to mark |", "|---|--:|--:|--:|"]
    rows += [
        f"| {lab.number}, {lab.title}: {lab.about} | {lab.minutes} | {lab.points} "
        f"| {len(texts_of(lab))} |"
        for lab in labs_of(term)
    ]
    return "\n".join(rows)


def workload(term: list[Planned]) -> str:
    """Say, in Markdown, how many hours a term takes of a student."""
    hours = Term.load().workload_hours(term)
    report = _lab_named(Term.load().effort.report, term).number
    return (
        f"Contact is {hours['contact']:.0f} hours. At home, a student finishes the labs but lab "
        f"{report} ({hours['labs']:.0f} hours, the column *at home*), reads the handouts "
        f"({hours['reading']:.0f} hours), writes the report of lab {report} "
        f"({hours['report']:.0f} hours), and prepares for an exam ({hours['exam']:.0f} hours). "
        f"Together that is some {sum(hours.values()):.0f} hours. Your rules define how many "
        "credits that makes."
    )


def marks(term: list[Planned]) -> str:
    """Return a Markdown table: what the mark is made of; each lab is in one part of it."""
    whole = Term.load()
    report = _lab_named(whole.effort.report, term)
    points = sum(lab.points for lab in labs_of(term) if lab.slug != report.slug)
    labs = f"the {points} points of all labs but lab {report.number}, as `tennis grade` counts them"
    return "\n".join(
        [
            "| part | share | how |",
            "|---|--:|---|",
            f"| labs | {whole.marks.labs} % | {labs} |",
            f"| report | {whole.marks.report} % | the {report.points} points of that lab |",
            f"| exam | {whole.marks.exam} % | written, {whole.marks.exam_minutes} minutes |",
        ]
    )


def marking(term: list[Planned]) -> str:
    """Say, in Markdown, how long it takes to mark a term: what no program marks."""
    effort = Term.load().effort
    texts = [points for lab in labs_of(term) for points in texts_of(lab)]
    every = sum(lab.points for lab in labs_of(term))
    minutes = len(texts) * effort.text_minutes
    class_hours = minutes * effort.class_size / 60
    return (
        f"A student who does all labs writes {len(texts)} texts, for {sum(texts)} of {every} "
        "points. You mark these; the rest is marked by program. At "
        f"{effort.text_minutes} minutes a text (planned, not measured) a term takes {minutes} "
        f"minutes for each student, and {class_hours:.0f} hours for a class of "
        f"{effort.class_size}. In groups of two it is half of that."
    )


def _lab_named(slug: str, term: list[Planned]) -> Lab:
    found = next((lab for lab in labs_of(term) if lab.slug == slug), None)
    if found is None:
        message = f"{SESSIONS.name}: {slug}, the report, is no session of the term"
        raise TennisError(message, next_step="name the lab that is the report")
    return found


def today(planned: Planned) -> str:
    """Return, in Markdown, the goals of one session."""
    return "\n".join(["Today you learn to", "", *(f"- {one}" for one in planned.session.goals)])


def lab_slide(planned: Planned) -> str:
    """Return, in Markdown, what to do next: the lab's command, its minutes, its checkpoints."""
    if planned.lab is None:
        message = f"the session {planned.session.slug} has no lab"
        raise TennisError(message, next_step="leave {session-lab} out")
    lab = planned.lab
    home = f", {planned.home_minutes} at home" if planned.home_minutes else ""
    times = f"{planned.room_minutes} minutes here{home}"
    lines = [
        f"**Lab {lab.number}: {lab.title}**: {lab.points} points, {times}",
        "",
        f'```console\n$ tennis lab start {lab.number:02} --as "Your name"\n```',
        "",
        "Show on the way:",
        "",
        *(f"- {lab.fill(text)}" for text in lab.checkpoints),
    ]
    return "\n".join(lines)


class SessionText(GeneratedDirective):
    """A directive that writes Markdown, of all sessions or of that of the page."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes, or the error."""
        self.env.note_dependency(str(SESSIONS))
        try:
            term = load_sessions()
            for planned in term:
                if planned.lab:
                    self.env.note_dependency(str(LABS / planned.lab.slug / "lab.toml"))
            return self.parse_text_to_nodes(self.text(term))
        except TennisError as error:
            return [self.state.document.reporter.error(str(error), line=self.lineno)]

    def text(self, term: list[Planned]) -> str:
        """Return the Markdown."""
        if self.name == "session-decks":
            return decks(term)
        slug = self.env.docname
        for planned in term:
            if planned.session.slug == slug:
                return today(planned) if self.name == "session-today" else lab_slide(planned)
        message = f"the page {slug!r} belongs to no session of {SESSIONS.name}"
        raise TennisError(message, next_step="name the page after its session")


def titled(
    app: Sphinx,  # noqa: ARG001
    pagename: str,  # noqa: ARG001
    templatename: str,  # noqa: ARG001
    context: dict[str, Any],
    doctree: nodes.document | None,  # noqa: ARG001
) -> None:
    """Make a slide of what stands on a page before its first part."""
    body = context.get("body", "")
    start, second = body.find("<h1"), body.find("<section", body.find("<h1"))
    if start >= 0 and second >= 0:
        head = f'<header class="slide">{body[start:second]}</header>'
        context["body"] = body[:start] + head + body[second:]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives to Sphinx; a project with the tag ``slides`` gets title slides."""
    for name in ("decks", "today", "lab"):
        app.add_directive(f"session-{name}", SessionText)
    if app.tags.has("slides"):
        app.connect("html-page-context", titled)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
