"""What directives of the labs and sessions show where Markdown is read as it is: on a forge.

There a directive is a box with the lines inside it. ``scripts/reference.py`` writes these lines;
the built book leaves them out, and makes its own of the same sources.
"""

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from tennis_sessions import decks, lab_slide, today

from tennis.course.authoring.sessions import Planned, load_sessions, needs_of
from tennis.course.authoring.sphinx import KINDS
from tennis.course.lab_files import figures_us
from tennis.course.labs import Lab, Question, load_course, load_lab, write
from tennis.report.publications import result

COLUMNS = 110
BOX = re.compile(r"^```\{([a-z-]+)\}( [^\n]*)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
VALUE = re.compile(r"\{lab\}`([^`]+)`")


def _paragraph(text: str, lead: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()),
        COLUMNS,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _planned(slug: str) -> Planned:
    return next(one for one in load_sessions() if one.session.slug == slug)


def _value(lab: Lab, name: str) -> str:
    """Return what ``{lab}`NAME``` writes."""
    if name.startswith("recorded."):
        _, rally, kind = name.split(".")
        figures = figures_us(lab, rally, "interrupt" if kind == "interrupt" else "scheduling")
        return ", ".join(f"{us:.2f}" for us in figures)
    return write(lab.value(name))


def _facts(lab: Lab, page: str, _words: list[str]) -> str:
    planned = next((one for one in load_sessions() if one.session.slug == lab.slug), None)
    home = planned.home_minutes if planned else 0
    of_them = f" ({home} of them at home)" if home else ""
    lines = [f"Lab {lab.number}: {lab.minutes} minutes{of_them}, {lab.points} points", lab.about]
    if planned:
        needs = [f"Lab {needs_of(planned)}."] if planned.session.needs else []
        lines.append("Know before: " + " ".join([*planned.session.before, *needs]))
        lines.append("Afterwards you can:")
        lines += [f"- {goal}" for goal in planned.session.goals]
    names = dict.fromkeys(VALUE.findall(page))
    if names:
        values = "; ".join(f"{{lab}}`{name}`: {_value(lab, name)}" for name in names)
        lines.append(f"Values of labs/{lab.slug}/lab.toml that the text names: {values}.")
    return "\n".join(_paragraph(line) for line in lines)


def _question(lab: Lab, question: Question) -> str:
    unit = f" in {question.unit}" if question.unit else ""
    number = lab.questions.index(question) + 1
    points = f"{question.points} point{'s' if question.points > 1 else ''}"
    lines = [
        f"Question {number}, {question.id} ({points}; {KINDS[question.kind].format(unit=unit)})",
        *(_paragraph(part) for part in lab.fill(question.text).strip().split("\n\n")),
        *(_paragraph(choice, "  o ") for choice in (question.choices or {}).values()),
    ]
    return "\n".join(lines)


def _rallies(lab: Lab, _page: str, words: list[str]) -> str:
    every = [*lab.to_play, *([lab.sweep] if lab.sweep else [])]
    chosen = [one for one in every if not words or one.name in words]
    return "\n".join(one.display(lab.handout_seed) for one in chosen)


def _sheet(_lab: Lab, _page: str, words: list[str]) -> str:
    lab = load_lab(words[0])
    rows = [_paragraph(lab.fill(text), "[ ] ") for text in lab.checkpoints]
    for one in lab.questions:
        unit = f", {one.unit}" if one.unit else ""
        rows.append(f"{one.id}{unit} (of {one.points}): " + "." * 40)
    return "\n".join(rows)


def _published(_lab: Lab, _page: str, words: list[str]) -> str:
    kernel, priorities = words
    rows = [f"The thesis' latest answers, {kernel} with priorities {priorities}; µs"]
    loads = {
        load: result(kernel, priorities, load) for load in ("idle", "stress", "network", "xload")
    }
    rows += [
        f"{load}: interrupt {found.irq.max:,}, scheduling {found.sched.max:,}"
        for load, found in loads.items()
        if found
    ]
    return "\n".join(rows)


def _labs(_lab: Lab, _page: str, _words: list[str]) -> str:
    rows = [
        _paragraph(
            f"{lab.number}. {lab.title} ({lab.minutes} minutes, {lab.points} points): {lab.about}"
        )
        for lab in load_course()[1]
    ]
    return "\n".join(rows)


def _slide(lab: Lab, _page: str, _words: list[str]) -> str:
    lines = lab_slide(_planned(lab.slug)).replace("**", "").splitlines()
    return "\n".join(_paragraph(line) for line in lines if line and line[:3] != "```")


MAKERS: dict[str, Callable[[Lab, str, list[str]], str]] = {
    "answer-sheet": _sheet,
    "lab-checkpoints": lambda lab, _page, _words: "\n".join(
        _paragraph(lab.fill(text), f"{number}. ") for number, text in enumerate(lab.checkpoints, 1)
    ),
    "lab-extensions": lambda lab, _page, _words: "\n".join(
        _paragraph(lab.fill(text), "- ") for text in lab.extensions
    ),
    "lab-facts": _facts,
    "lab-questions": lambda lab, _page, words: "\n\n".join(
        _question(lab, lab.question(word)) for word in words
    ),
    "lab-rallies": _rallies,
    "lab-table": _labs,
    "published": _published,
    "session-decks": lambda _lab, _page, _words: LINK.sub(r"\1", decks(load_sessions())),
    "session-lab": _slide,
    "session-today": lambda lab, _page, _words: "\n".join(
        _paragraph(line) for line in today(_planned(lab.slug)).splitlines() if line
    ),
}


def boxed(path: Path, text: str) -> str:
    """Return a page with the lines of its boxes made again; boxes of other kinds stay."""

    def made(box: re.Match[str]) -> str:
        name, words = box[1], (box[2] or "").split()
        if name not in MAKERS:
            return box[0]
        return f"```{{{name}}}{box[2] or ''}\n{MAKERS[name](lab, text, words)}\n```"

    labs = {lab.slug: lab for lab in load_course()[1]}
    lab = labs.get(path.stem, next(iter(labs.values())))
    return BOX.sub(made, text)
