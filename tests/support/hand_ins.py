# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Students' folders and hand-ins, as a class would make them; rallies are made up (synthetic)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tennis.course import hand_in, work
from tennis.course.labs import Lab
from tennis.course.solutions import load_solution
from tests.support.synthetic import make_rally

TEXT = "The answer in some words of my own, as long as a real one would be: {} said this."


def right_answers(lab: Lab, student: str) -> dict[str, int | float | str]:
    """Return answers of which those that are not texts are right."""
    solution = load_solution(lab)
    found: dict[str, int | float | str] = {}
    for question in lab.questions:
        known = solution.of(question.id) if solution else None
        if known is not None and known.answer is not None:
            found[question.id] = known.answer
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
    minutes: int = 80,
) -> Path:
    """Do a lab: answers that are right but for ``answers`` (None: none), rallies but for those."""
    work.start(lab, student, folder)
    path = folder / work.ANSWERS
    text = path.read_text().partition("[answers]")[0].replace("minutes = 0", f"minutes = {minutes}")
    lines = ["[answers]"]
    for name, answer in {**right_answers(lab, student), **(answers or {})}.items():
        if answer is not None:
            lines.append(
                f"{name} = {answer!r}" if isinstance(answer, str) else f"{name} = {answer}"
            )
    path.write_text(text + "\n".join(lines) + "\n")
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
        }
        settings = {**settings, **about}
        make_rally(folder / asked.name, **{**settings, "rate_hz": settings["rate_hz"] or None})
    return folder


def zipped(folder: Path, out: Path) -> Path:
    """Pack a folder as it is, complete or not."""
    hand_in.pack(work.read(folder), out)
    return out
