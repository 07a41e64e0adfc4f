"""A Sphinx extension: handouts take every number of a lab from its ``lab.toml``.

A path on the page ``01-first-serve`` is that lab's; elsewhere it begins with ``01-first-serve:``.

- ``{lab}`parameters.balls``` writes a value, ``{lab}`recorded.NAME.interrupt``` (or scheduling)
  median, 99 % and maximum of a recorded rally in microseconds, computed from its folder.
- ``{lab-facts}`` writes minutes, points and what the lab is about; of a lab that is a session of
  the term, what to know before, and what one can do afterwards.
- ``{lab-console}`` is a console block in which ``{balls}`` stands for ``parameters.balls``.
- ``{lab-rallies} NAME...`` shows the commands of the lab's rallies (without an argument: all).
- ``{lab-questions} ID...`` asks questions (without an argument: all that the page has not asked).
- ``{lab-extensions}`` lists what the quick can do besides.
- ``{published} KERNEL PRIORITIES`` is the thesis' table for a kernel.
- ``{lab-table}`` lists the course's labs.

A question that a lab's page never asks, or asks twice, is a warning.
"""

import re
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.typing import ExtensionMetadata, OptionSpec

from tennis.course.authoring.sessions import SESSIONS, Planned, load_sessions, needs_of
from tennis.course.lab_files import Kind, figures_us, place, source_of
from tennis.course.labs import LABS, Lab, LabRally, LabSweep, Question, load_course, load_lab, write
from tennis.course.work import starter_of
from tennis.kit.errors import TennisError
from tennis.rally.folder import MANIFEST
from tennis.report.publications import result

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_SLUG = re.compile(r"[0-9]{2}-[a-z0-9-]+")
_log = logging.getLogger(__name__)

KINDS = {
    "prediction": "a number{unit} and a reason, before you measure",
    "number": "a number{unit}",
    "choice": "one of these, by its number in your answers.toml",
    "text": "a few sentences",
    "file": "a file that you complete",
}


def _lab_of(env: "BuildEnvironment", docname: str, named: str | None = None) -> Lab:
    """Return the named lab, or the one whose page this is."""
    slug = named or docname.rpartition("/")[2]
    if not _SLUG.fullmatch(slug):
        raise TennisError(f"the page {docname!r} is not a lab's page; write NN-slug:PATH")
    env.note_dependency(str(LABS / slug / "lab.toml"))
    return load_lab(slug)


def _page_questions(env: "BuildEnvironment", docname: str) -> list[str]:
    """Return the ids of the questions that a page asks; Sphinx forgets and merges them with it."""
    numbers: list[str] = env.metadata[docname].setdefault("tennis-questions", [])
    return numbers


class _LabRole(SphinxRole):
    """``{lab}`parameters.balls```: a value from ``lab.toml``, thousands with a comma."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the value as text."""
        slug, colon, path = self.text.rpartition(":")
        try:
            lab = _lab_of(self.env, self.env.docname, slug if colon else None)
            text = self.figures(lab, path) or write(lab.value(path))
        except TennisError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        return [nodes.Text(text)], []

    def figures(self, lab: Lab, path: str) -> str:
        """Return what ``recorded.NAME.KIND`` names; empty for another path."""
        match = re.fullmatch(r"recorded\.([a-z0-9-]+)\.(interrupt|scheduling)", path)
        if match is None:
            return ""
        self.env.note_dependency(str(place(lab, match[1]) / MANIFEST))
        kind: Kind = "interrupt" if match[2] == "interrupt" else "scheduling"
        return ", ".join(f"{us:.2f}" for us in figures_us(lab, match[1], kind))


class GeneratedDirective(SphinxDirective):
    """A directive that writes text from code or data; the book leaves its own content out.

    A page is also read without its book: in an editor, or on a forge, which shows a directive as a
    box. The lines inside it are for those readers, and ``scripts/reference.py`` writes most of
    them. ``tests/test_forge.py`` finds boxes without a line.
    """

    has_content = True


class _LabDirective(GeneratedDirective):
    """A directive about the page's lab; its errors name the place."""

    option_spec: ClassVar[OptionSpec] = {"lab": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return what ``content_of`` makes, or the error."""
        try:
            return self.content_of(_lab_of(self.env, self.env.docname, self.options.get("lab")))
        except (TennisError, ValueError) as error:
            return [self.state.document.reporter.error(str(error), line=self.lineno)]

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return the directive's content."""
        raise NotImplementedError

    def markdown(self, text: str) -> list[nodes.Node]:
        """Return the nodes of a text in the page's own markup."""
        return self.parse_text_to_nodes(text)


class _LabFacts(_LabDirective):
    """``{lab-facts}``: minutes and points in one line, what the lab is about, and its goals."""

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return a paragraph each, and a list of goals."""
        self.env.note_dependency(str(SESSIONS))
        planned = next((one for one in load_sessions() if one.session.slug == lab.slug), None)
        facts = nodes.paragraph(classes=["lab-facts"])
        facts += nodes.strong(text=f"Lab {lab.number}")
        home = (
            f" ({planned.home_minutes} of them at home)" if planned and planned.home_minutes else ""
        )
        facts += nodes.Text(f" · {lab.minutes} minutes{home} · {_count(lab.points, 'point')}")
        return [facts, *self.markdown(lab.about), *(self.goals(planned) if planned else [])]

    def goals(self, planned: Planned) -> list[nodes.Node]:
        """Return what to know before, and what one can do afterwards."""
        before = [*planned.session.before]
        if planned.session.needs:
            before.append(f"Lab {needs_of(planned)}.")
        lines = ["**Know before**: " + " ".join(before), "", "**Afterwards you can**", ""]
        return self.markdown("\n".join([*lines, *(f"- {one}" for one in planned.session.goals)]))


class _LabConsole(_LabDirective):
    """``{lab-console}``: commands with the lab's parameters in braces filled in."""

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return the block."""
        text = lab.fill("\n".join(self.content), prose=False)
        return [nodes.literal_block(text, text, language="console")]


class _LabRallies(_LabDirective):
    """``{lab-rallies} NAME...``: the commands that play rallies, drills or the sweep of the lab."""

    optional_arguments = 1
    final_argument_whitespace = True

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return the block."""
        names = self.arguments[0].split() if self.arguments else []
        every: list[LabRally | LabSweep] = [*lab.to_play]
        every += [lab.sweep] if lab.sweep else []
        known = {one.name: one for one in every}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(
                f"lab {lab.slug} has no rally {unknown[0]!r}; it has {write([*known])}"
            )
        seed = int(str(lab.value("parameters.seed")))
        text = "\n".join(known[name].display(seed) for name in names or known)
        return [nodes.literal_block(text, text, language="console")]


class _LabStarter(_LabDirective):
    """``{lab-starter} FILE``: a file of the lab as students get it, with its gaps."""

    required_arguments = 1

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return the block."""
        name = self.arguments[0]
        if name not in lab.files:
            raise ValueError(f"lab {lab.slug} has no file {name!r}; it has {write(lab.files)}")
        self.env.note_dependency(str(source_of(lab, name)))
        text = starter_of(lab, name)
        return [nodes.literal_block(text, text, language="c")]


class _LabQuestions(_LabDirective):
    """``{lab-questions} ID...``: the questions, with what each is worth."""

    optional_arguments = 1
    final_argument_whitespace = True

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return a box a question, numbered as in ``lab.toml``."""
        on_page = _page_questions(self.env, self.env.docname)
        if self.arguments:
            chosen = [lab.question(name) for name in self.arguments[0].split()]
        else:
            chosen = [question for question in lab.questions if question.id not in on_page]
        on_page += [question.id for question in chosen]
        return [self.box(lab, question) for question in chosen]

    def box(self, lab: Lab, question: Question) -> nodes.Node:
        """Return the box of one question."""
        number = lab.questions.index(question) + 1
        unit = f" in {question.unit}" if question.unit else ""
        kind = KINDS[question.kind].format(unit=unit)
        title = f"Question {number}"
        box = nodes.admonition(
            classes=["lab-question", f"lab-question-{question.kind}"],
            ids=[f"question-{question.id}"],
        )
        box += nodes.title(title, title)
        facts = f"{_count(question.points, 'point')} · {kind} · "
        line = nodes.paragraph(facts, facts, classes=["lab-question-facts"])
        line += nodes.literal(question.id, question.id)
        box += self.markdown(lab.fill(question.text))
        for choice in (question.choices or {}).values():  # their numbers are each student's own
            item = nodes.container(classes=["lab-choice"])
            item += self.markdown(f"\N{WHITE CIRCLE}\N{NO-BREAK SPACE} {choice}")
            box += item
        box += line
        return box


class _LabCheckpoints(_LabDirective):
    """``{lab-checkpoints}``: what can be shown to a teacher on the way, as a numbered list."""

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return the list."""
        return self.markdown("\n".join(f"1. {lab.fill(text)}" for text in lab.checkpoints))


class _AnswerSheet(GeneratedDirective):
    """``{answer-sheet} LAB``: a sheet to print: checkpoints to be signed, room for answers."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return two tables."""
        try:
            lab = load_lab(self.arguments[0])
        except TennisError as error:
            return [self.state.document.reporter.error(str(error), line=self.lineno)]
        self.env.note_dependency(str(LABS / lab.slug / "lab.toml"))
        signed = ["| checkpoint | seen by |", "|---|---|"]
        signed += [f"| {' '.join(lab.fill(text).split())} | |" for text in lab.checkpoints]
        answers = ["| question | points | answer |", "|---|--:|---|"]
        for question in lab.questions:
            unit = f", {question.unit}" if question.unit else ""
            answers.append(f"| `{question.id}`{unit} | {question.points} | |")
        sheet = nodes.container(classes=["answer-sheet"])
        for rows in (signed, answers):
            sheet += self.parse_text_to_nodes("\n".join(rows))
        return [sheet]


class _LabExtensions(_LabDirective):
    """``{lab-extensions}``: what the quick can do besides, as a list."""

    def content_of(self, lab: Lab) -> list[nodes.Node]:
        """Return the list."""
        return self.markdown("\n".join(f"- {lab.fill(text)}" for text in lab.extensions))


class _Published(GeneratedDirective):
    """``{published} KERNEL PRIORITIES``: the thesis' maxima for a kernel, a line a load."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Return the table; the figures are those of the publication's file."""
        kernel, priorities = self.arguments
        rows = ["| load | interrupt latency (µs) | scheduling latency (µs) |", "|---|--:|--:|"]
        for load in ("idle", "stress", "network", "xload"):
            found = result(kernel, priorities, load)
            if found is not None:
                rows.append(f"| {load} | {found.irq.max:,} | {found.sched.max:,} |")
        if len(rows) == 2:
            message = f"the thesis has no table for {kernel} with priorities {priorities}"
            return [self.state.document.reporter.error(message, line=self.lineno)]
        return self.parse_text_to_nodes("\n".join(rows))


class _LabTable(GeneratedDirective):
    """``{lab-table}``: all labs of the course, each with a link to its page."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        try:
            _course, labs = load_course()
        except TennisError as error:
            return [self.state.document.reporter.error(str(error), line=self.lineno)]
        self.env.note_dependency(str(LABS / "course.toml"))
        rows = ["| lab | what it is about | minutes | points |", "|---|---|--:|--:|"]
        for lab in labs:
            self.env.note_dependency(str(LABS / lab.slug / "lab.toml"))
            title = f"[{lab.number}. {lab.title}]({lab.slug}.md)"
            rows.append(f"| {title} | {lab.about} | {lab.minutes} | {lab.points} |")
        table = nodes.container(classes=["lab-table"])
        table += self.parse_text_to_nodes("\n".join(rows))
        return [table]


def _count(number: int, word: str) -> str:
    """Write ``1 point``, ``2 points``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _check(app: "Sphinx", env: "BuildEnvironment") -> None:
    """Warn about questions that their lab's page asks never, more than once, or in another order.

    Slides (a project with that tag) have pages with the labs' names, too, and ask nothing.
    """
    if app.tags.has("slides"):
        return
    _course, labs = load_course()
    for lab in labs:
        pages = [name for name in env.found_docs if name.rpartition("/")[2] == lab.slug]
        for docname in pages:
            ids = _page_questions(env, docname)
            for question in lab.questions:
                if ids.count(question.id) != 1:
                    _log.warning(
                        "question %r of lab.toml is asked %d times",
                        question.id,
                        ids.count(question.id),
                        location=docname,
                    )
            numbered = [question.id for question in lab.questions if question.id in ids]
            for first, then in zip(numbered, dict.fromkeys(ids), strict=True):
                if first != then:  # students would read "Question 6" before "Question 4"
                    words = "question %r of lab.toml comes before %r"
                    _log.warning(words, first, then, location=docname)
                    break


def setup(app: "Sphinx") -> ExtensionMetadata:
    """Add the role and the directives to Sphinx."""
    app.add_role("lab", _LabRole())
    for name, directive in {
        "lab-facts": _LabFacts,
        "lab-console": _LabConsole,
        "lab-rallies": _LabRallies,
        "lab-starter": _LabStarter,
        "lab-questions": _LabQuestions,
        "lab-checkpoints": _LabCheckpoints,
        "answer-sheet": _AnswerSheet,
        "lab-extensions": _LabExtensions,
        "lab-table": _LabTable,
        "published": _Published,
    }.items():
        app.add_directive(name, directive)
    app.connect("env-check-consistency", _check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
