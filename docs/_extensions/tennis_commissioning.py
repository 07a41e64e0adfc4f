"""A commissioning's steps, symptoms and boards in Markdown, for ``scripts/reference.py``."""

from collections.abc import Iterable

from tennis.play.commissioning.record import Record
from tennis.play.commissioning.sharing import to_share
from tennis.play.commissioning.steps import steps

NOBODY = "Nobody has sent a record yet: no physical board has been commissioned that we know of."
FIGURES = (
    ("jumpers", "loop_ns", "loop"),
    ("jumpers", "rate_balls_s", "rate"),
    ("idle", "interrupt_median_ns", "interrupt, idle"),
    ("idle", "scheduling_median_ns", "scheduling, idle"),
    ("load", "interrupt_median_ns", "interrupt, load"),
    ("load", "scheduling_median_ns", "scheduling, load"),
)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def check_list() -> str:
    """Return the check-list: each step with what it takes and when it passes."""
    parts = []
    for number, step in enumerate(steps(), 1):
        lines = [*step.plug]
        lines += [f"**Warning:** {step.warning}"] if step.warning else []
        lines += [f"Measured: {step.measures}.", f"[ ] Passes if {step.passes}."]
        lines += [
            "If not: "
            + " ".join(
                f"**{_sentence(f.symptom)}** {_sentence(f.means)} {_sentence(f.mend)}"
                for f in step.failures
            )
        ] * bool(step.failures)
        title = f"**{number}. {step.title}** (`{step.name}`{', optional' * step.optional})"
        parts.append("\n".join([f"{title}\n", *(f"- {line}" for line in lines)]))
    return "\n\n".join(parts)


def symptoms() -> str:
    """Return the table for the lesson: what one sees, what it means, what to do."""
    rows = ["| what you see | what it means | what to do |", "|---|---|---|"]
    rows += [
        f"| {_cell(f.symptom)} | {_cell(f.means)} | {_cell(f.mend)} |"
        for step in steps()
        for f in step.failures
        if f.in_lesson
    ]
    return "\n".join(rows)


def boards(records: Iterable[tuple[str, Record]]) -> str:
    """Return a table of the boards of records; says so if there are none.

    A record's sender chose its words: the table has only what a shared record may have.
    """
    listed = [(name, to_share(record)) for name, record in records]
    if not listed:
        return NOBODY
    titles = ["record", "date", "Pico", "target", "kernel", *(title for *_, title in FIGURES), ""]
    rows = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for name, record in listed:
        figures = [record.number(where, what) for where, what, _ in FIGURES]
        cells = [
            name,
            record.created,
            record.fact("pico", "board"),
            record.fact("target", "model"),
            record.fact("kernel", "release"),
            *(figure.text if figure else "" for figure in figures),
            record.summary if record.kind == "physical" else f"emulated: {record.summary}",
        ]
        rows.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(rows)
