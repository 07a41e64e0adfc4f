# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Students' folders and hand-ins, as a class would make them; rallies are made up (synthetic)."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tennis.checkout import ROOT
from tennis.course import hand_in, work
from tennis.course.labs import LABS, Lab
from tennis.course.solutions import load_solution
from tennis.course.starters import solved
from tennis.match.folder import Record
from tennis.match.plan import parse_plan
from tennis.play.schedule import scheduled_rallies
from tennis.rally.manifest import OWN
from tests.support.synthetic import TIME_NOTE, make_rally
from tests.support.synthetic_match import bursts

# interrupt latency of most balls, and of one in a hundred; ns
CELLS = {
    ("mainline", "idle"): (1_000, 1_500),
    ("mainline", "stress"): (1_000, 800_000),
    ("rt", "idle"): (2_000, 3_000),
    ("rt", "stress"): (2_000, 5_000),
}
TEXT = "The answer in some words of my own, as long as a real one would be: {} said this."


def right_answers(lab: Lab, student: str) -> dict[str, int | float | str]:
    """Return answers of which those that are not texts are right."""
    solution = load_solution(lab)
    found: dict[str, int | float | str] = {}
    for question in lab.questions:
        known = solution.of(question.id) if solution else None
        if known is not None and known.answer is not None:
            found[question.id] = known.answer
        elif question.kind == "file":
            continue
        elif question.computed and question.kind == "choice":
            found[question.id] = "a"
        elif question.computed:
            found[question.id] = 1.0
        else:
            found[question.id] = TEXT.format(f"{student} on {question.id}")
    return found


def make_work(
    folder: Path,
    lab: Lab,
    student: str,
    *,
    answers: Mapping[str, Any] | None = None,
    rallies: Mapping[str, Mapping[str, Any] | None] | None = None,
    match: Mapping[str, Any] | None = None,
    minutes: int = 80,
) -> Path:
    """Do a lab: answers that are right but for ``answers`` (None: none), rallies but for those."""
    work.start(lab, student, folder)
    for name in lab.files:
        (folder / name).write_text(solved((LABS / lab.slug / name).read_text()))
    path = folder / work.ANSWERS
    text = path.read_text().partition("[answers]")[0].replace("minutes = 0", f"minutes = {minutes}")
    lines = ["[answers]"]
    for name, answer in {**right_answers(lab, student), **(answers or {})}.items():
        if answer is not None:
            lines.append(
                f"{name} = {answer!r}" if isinstance(answer, str) else f"{name} = {answer}"
            )
    path.write_text(text + "\n".join(lines) + "\n")
    if lab.match is not None and (match or {}).get("there", True):
        make_match(folder / lab.match.name, lab, student, **(match or {}))
    for asked in lab.rallies:
        about = (rallies or {}).get(asked.name, {})
        if about is None:
            continue
        settings = {
            "kernel": asked.kernel,
            "load": asked.load,
            "bottom_half": asked.bottom_half,
            "top_half": asked.top_half,
            "priorities": asked.priorities,
            "balls": asked.balls,
            "seed": work.seed_of(lab, student) + asked.boot,
            "rate_hz": asked.rate_hz,
            "bench": "virtual",
            "module": OWN if asked.racquet else "racquet",
        }
        settings = {**settings, **about}
        make_rally(folder / asked.name, **{**settings, "rate_hz": settings["rate_hz"] or None})
    return folder


def make_match(
    folder: Path, lab: Lab, own: str, *, student: str = "", repetitions: int | None = None
) -> None:
    """Make up a lab's match that confirms both claims: of ``student`` where it is not one's own."""
    text = work.plan_of_match(lab, student or own)
    if repetitions is not None:
        text = re.sub(r"(?m)^repetitions = \d+", f"repetitions = {repetitions}", text)
    plan = parse_plan(text.encode(), folder)
    scheduled, _ = scheduled_rallies(plan, {}, ROOT / "plans")
    folder.mkdir()
    for entry in scheduled:
        base, worst = CELLS[entry.plan.kernel, entry.plan.load]
        rise = bursts(worst, entry.plan.protocol.balls, base)
        make_rally(
            folder / entry.name,
            rise=rise,
            schedule=rise,
            kernel=entry.plan.kernel,
            load=entry.plan.load,
            priorities=entry.plan.priorities,
            top_half=entry.plan.top_half,
            bottom_half=entry.plan.bottom_half,
            bench="virtual",
            protocol=entry.plan.protocol,
        )
    Record(
        schema_version=1,
        bench="virtual",
        time_note=TIME_NOTE,
        created="2026-01-01T00:00:00+00:00",
        tennis="0",
        plan=plan,
        scheduled=scheduled,
        not_played=[],
        troubles={},
    ).write(folder)


def zipped(folder: Path, out: Path) -> Path:
    """Pack a folder as it is, complete or not."""
    hand_in.pack(work.read(folder), out)
    return out
