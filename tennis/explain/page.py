"""An explanation as a folder: a page, its three pictures, and the numbers."""

import json
import os
from pathlib import Path

from markupsafe import Markup

from tennis.explain.code_picture import code_svg
from tennis.explain.explanation import Explanation
from tennis.explain.flame_page import flame_svg
from tennis.explain.story import Story, times_of
from tennis.explain.timeline import timeline_svg
from tennis.kit.edition import VERSION
from tennis.kit.errors import UsageError
from tennis.kit.scratch import owned
from tennis.kit.units import format_ns
from tennis.rally import Rally
from tennis.rally.disk import writing
from tennis.rally.statistics.summary import long_ping
from tennis.report.pages.templates import template

PAGE = "index.html"
FLAME = "flame.svg"
CODE = "code.svg"
WIDE, NARROW = 1100, 366  # of the picture of the code, in pixels
TIMELINE = "timeline.svg"
NUMBERS = "explanation.json"
SHARES_SHOWN = 15
SCRATCH = ".tennis-explain-"


def check_folder(out: Path) -> None:
    """Raise UsageError if a folder cannot be written: before the rally is played again."""
    if os.path.lexists(out):
        raise UsageError(f"{out} exists", next_step="choose another name for the explanation")
    if not out.parent.is_dir() or not os.access(out.parent, os.W_OK | os.X_OK):
        raise UsageError(
            f"{out.parent} is not a folder that can be written", next_step="choose another place"
        )


def write(explanation: Explanation, out: Path) -> None:
    """Write the folder ``out``, which must not exist. Raises UsageError, DiskFullError."""
    check_folder(out)
    flame, timeline = _pictures(explanation)
    files = {
        PAGE: page(explanation, flame, timeline),
        FLAME: flame,
        TIMELINE: timeline,
        CODE: _code(explanation, WIDE, alone=True),
        NUMBERS: json.dumps(explanation.as_json(), indent=2) + "\n",
    }
    with writing(out), owned(out.parent, SCRATCH, SCRATCH) as fresh:
        for name, text in files.items():
            (fresh / name).write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.rename(out)


def note(explanation: Explanation) -> str:
    """Return the note for every picture: the bench, N, misses, faults."""
    rally = explanation.rally
    suspect = "; suspect" if rally.manifest.suspect else ""
    return (
        f"{rally.label}; {rally.manifest.time_note}; "
        + (f"{rally.balls:,} repetitions" if rally.manifest.drill else _balls(rally))
        + suspect
    )


def _balls(rally: Rally) -> str:
    return f"{rally.balls:,} balls, {rally.misses} missed"


def about(explanation: Explanation) -> str:
    """Describe the source of the explanation, in a sentence or two."""
    text = (
        f"{note(explanation)}. It was played again: {explanation.replayed:,} "
        f"{explanation.story.noun}s, all the same in every tick"
        f"{long_ping(explanation.rally.manifest)}."
    )
    if explanation.changed:
        text += f" (Changed since, without effect on them: {', '.join(explanation.changed)}.)"
    return text


def _pictures(explanation: Explanation) -> tuple[str, str]:
    """Return the flame graph of all explained balls, and the timeline of the latest; SVG."""
    root = explanation.flame()
    flame = flame_svg(root, f"Where {root.name} waited {format_ns(root.ns)}", note(explanation))
    story = explanation.story
    verb = "took" if story.latency == "duration" else "waited"
    caption = f"{story.noun.capitalize()} {story.ball} {verb} {format_ns(story.waited)}"
    return flame, timeline_svg(story, caption, note(explanation))


def _code(explanation: Explanation, width: int, *, alone: bool = False) -> str:
    """Return the picture of the code that the latest ball waited for; SVG."""
    story = explanation.story
    title = f"{story.noun.capitalize()} {story.ball}: who ran, and who waited for whom"
    return code_svg(story, title, note(explanation), width, alone=alone)


def page(explanation: Explanation, flame: str, timeline: str) -> str:
    """Return the page. The rally's words are escaped, also in the pictures."""
    story: Story = explanation.story
    return template("explain.html.j2").render(
        version=VERSION,
        title=f"{story.noun.capitalize()} {story.ball}: why it was late",
        about=about(explanation),
        note=note(explanation),
        rule=explanation.rule[0].upper() + explanation.rule[1:],
        story=story,
        stories=explanation.stories,
        steps=story.steps(),
        between=story.between(),
        ran=[times_of(parts) for parts in story.processors],
        shares=explanation.shares()[:SHARES_SHOWN],
        stalls=explanation.stalls(),
        waited=explanation.waited,
        # made here, with everything in them escaped
        flame=Markup(flame),  # noqa: S704
        timeline=Markup(timeline),  # noqa: S704
        code=[Markup(_code(explanation, width)) for width in (WIDE, NARROW)],  # noqa: S704
    )
