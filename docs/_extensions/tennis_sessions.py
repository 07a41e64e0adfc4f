# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A Sphinx extension: a term's sessions, from ``labs/sessions.toml``.

- ``{session-plan}`` is a table of all sessions: how each spends its time, and what it needs.
- ``{session-goals}`` says of each session what to know before, and what one can do afterwards.
- ``{session-dropped}`` lists the sessions that a class can do without.
- ``{session-decks}`` lists the decks of slides.

On a deck's page, which is named after its session:

- ``{session-today}`` opens the deck with the session's goals.
- ``{session-lab}`` closes its talk: the lab, its minutes in the room and at home, its checkpoints.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tennis.course.authoring.generated import GeneratedDirective
from tennis.course.authoring.sessions import SESSIONS, Planned, load_sessions, needs_of
from tennis.course.labs import LABS
from tennis.errors import TennisError


def name_of(planned: Planned) -> str:
    """Return how a session is called: its lab's number and title, or its own title."""
    return f"Lab {planned.lab.number}, {planned.title}" if planned.lab else planned.title


def plan(term: list[Planned]) -> str:
    """Return a Markdown table: a line for each session, minutes in its columns."""
    rows = [
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
    parts = []
    for number, planned in enumerate(term, 1):
        parts.append(f"**{number}. {name_of(planned)}**")
        parts.append("Know before: " + " ".join(planned.session.before))
        parts.append("\n".join(f"- {goal}" for goal in planned.session.goals))
    return "\n\n".join(parts)


def decks(term: list[Planned]) -> str:
    """Return a Markdown list of links to the decks."""
    return "\n".join(
        f"{number}. [{name_of(planned)}]({planned.session.slug}.md)"
        for number, planned in enumerate(term, 1)
    )


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
        makers = {
            "session-plan": plan,
            "session-dropped": dropped,
            "session-goals": goals,
            "session-decks": decks,
        }
        if self.name in makers:
            return makers[self.name](term)
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
    for name in ("plan", "dropped", "goals", "decks", "today", "lab"):
        app.add_directive(f"session-{name}", SessionText)
    if app.tags.has("slides"):
        app.connect("html-page-context", titled)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
