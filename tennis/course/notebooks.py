"""Tools for notebooks: the rallies that they are about."""

import contextlib
import re
import shutil
import sys
import tempfile
import time
from html import escape
from pathlib import Path
from typing import Any

from tennis.bench.protocol import Bench
from tennis.bench.registry import bench_for
from tennis.course.choices import numbered
from tennis.course.lab_files import open_recorded, place, source_of
from tennis.course.labs import Lab, LabError, LabRally, write
from tennis.course.predictions import sealing
from tennis.course.work import ANSWERS, read_answers, seed_of
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import TennisError
from tennis.kit.units import format_ns
from tennis.match.folder import MatchFolder, open_match
from tennis.match.sweep.folder import Sweep, is_sweep, open_sweep
from tennis.play.planning import plan_for, replay_of
from tennis.play.progress import Progress
from tennis.play.rally import Watch
from tennis.play.rally import play as play_rally
from tennis.rally import Rally, open_folder
from tennis.rally.statistics import summarize

SHOWN_EVERY_S = 0.5
BALLS = 500  # of a rally that the notebook plays itself


def rallies(lab: Lab) -> list[Rally]:
    """Open the rallies of a lab, in the lab's order.

    They are those beside the notebook. Without those, short ones are played on the virtual bench
    and removed when Python ends; those with a user's Racquet or program only if its file is there.

    Recorded rallies are always those of the lab.

    Raises TennisError if one of them is missing, or cannot be played.
    """
    found = {one.name for one in lab.to_play if Path(one.name).exists()}
    if not found:
        seed = lab.handout_seed
        # a student's own file is in the student's folder only
        own = {question.file for question in lab.questions if question.file}
        possible = [
            one for one in lab.rallies if one.own_file not in own or Path(one.own_file).is_file()
        ]
        return [
            open_recorded(lab, asked) if asked.recorded else _play(lab, asked, seed)
            for asked in possible
        ]
    if missing := [one.name for one in lab.to_play if one.name not in found]:
        raise LabError(
            f"the folder of the notebook has no rally {write(missing)}",
            next_step="play it, and name it so",
        )
    return [
        open_recorded(lab, one) if one.recorded else open_folder(Path(one.name))
        for one in lab.rallies
    ]


def choices(lab: Lab, question_id: str) -> list[tuple[str, str]]:
    """Return a question's choices, each with its number in ``answers.toml``.

    Without numbers if there is no ``answers.toml`` here. Raises TennisError.
    """
    question = lab.question(question_id)
    texts = question.choices or {}
    if not Path(ANSWERS).is_file():
        return [("○", text) for text in texts.values()]
    numbers = numbered(lab.slug, question, read_answers(Path(ANSWERS)).seed)
    return [(f"{number}:", texts[name]) for number, name in numbers.items()]


def play(lab: Lab, name: str, *, balls: int | None = None) -> Rally:
    """Play a rally of the lab in this folder, and show its progress; or open it.

    A recorded one comes as if it were live, and says that it is a replay.

    The seed is that of the student whose ``answers.toml`` is here, else the lab's own. ``balls``:
    fewer than the lab asks for, to try something. Raises TennisError.
    """
    from IPython.display import display  # noqa: PLC0415 (of the stage lab)

    asked = next((one for one in lab.rallies if one.name == name), None)
    if asked is None:
        known = ", ".join(one.name for one in lab.rallies)
        raise LabError(f"lab {lab.slug} has no rally {name!r}; it has {known}")
    if Path(name).exists():
        return open_folder(Path(name))
    own = read_answers(Path(ANSWERS)) if Path(ANSWERS).is_file() else None
    seed = seed_of(lab, own.student, own.number) if own else lab.handout_seed
    asked = asked.model_copy(update={"balls": balls or asked.balls})
    shown: Any = display(  # type: ignore[no-untyped-call]
        _html(_bar(0, asked.balls, "the target boots")), display_id=True
    )
    last = time.monotonic()

    def observe(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= SHOWN_EVERY_S:
            last = time.monotonic()
            shown.update(_html(_bar(progress.balls, asked.balls, _so_far(progress))))

    bench: Bench
    if asked.recorded:
        bench, plan = replay_of(place(lab, name), 1.0)
    else:
        file = Path(asked.own_file) if asked.own_file is not None else None
        plan = plan_for(asked.request(file), asked.served(seed))
        bench = bench_for(plan)
    with sealing(Path(name), print) if own else contextlib.nullcontext():
        rally = play_rally(bench, plan, Path(name), Watch(observe))
    summary = summarize(rally)
    latency = summary.interrupt_ns
    words = f"median {latency.said('median')}, max {latency.said('max')}"
    shown.update(_html(_bar(rally.balls, asked.balls, f"{words}, {rally.misses} missed")))
    return rally


def _so_far(progress: Progress) -> str:
    if progress.max_ns is None:
        return progress.doing or "the target boots"
    missed = f", {progress.misses} missed" if progress.misses else ""
    latest = format_ns(progress.max_ns)
    return f"median {format_ns(progress.median_ns)}, latest {latest}{missed} so far"


def _html(text: str) -> Any:
    from IPython.display import HTML  # noqa: PLC0415 (of the stage lab)

    return HTML(text)  # type: ignore[no-untyped-call]


def _bar(balls: int, planned: int, words: str) -> str:
    return (
        f'<progress value="{balls}" max="{planned}" aria-label="balls"></progress> '
        f"{balls:,} of {planned:,} balls: {escape(words)}"
    )


def sweep(lab: Lab) -> Sweep:
    """Open the sweep of a lab beside the notebook.

    If it is missing, one with few pings a rate is played, and removed when Python ends. Raises
    TennisError.
    """
    if lab.sweep is None:
        raise LabError(f"lab {lab.slug} has no sweep")
    if is_sweep(Path(lab.sweep.name)):
        return open_sweep(Path(lab.sweep.name))
    folder = tempfile.TemporaryDirectory(prefix="tennis-")
    _folders.append(folder)
    out = Path(folder.name) / lab.sweep.name
    short = lab.sweep.model_copy(update={"balls": min(lab.sweep.balls, BALLS)})
    words = ["--quiet", "sweep", *short.options(lab.handout_seed), "--out", str(out)]
    _tennis(*words, what=f"the sweep {lab.sweep.name}")
    return open_sweep(out)


def match(lab: Lab) -> MatchFolder:
    """Open the match of a lab beside the notebook.

    If it is missing, one boot of each cell with few balls is played, and removed when Python ends:
    it decides nothing. Raises TennisError.
    """
    if lab.match is None:
        raise LabError(f"lab {lab.slug} has no match")
    if Path(lab.match.name).exists():
        return open_match(Path(lab.match.name))
    folder = tempfile.TemporaryDirectory(prefix="tennis-")
    _folders.append(folder)
    plan, out = Path(folder.name) / "plan.toml", Path(folder.name) / lab.match.name
    text = (ROOT / lab.match.plan).read_text(encoding="utf-8")
    for name, value in (("balls", BALLS), ("repetitions", 1)):
        text = re.sub(rf"(?m)^{name} = \d[\d_]*", f"{name} = {value}", text)
    plan.write_text(text, encoding="utf-8")
    _tennis("--quiet", "match", str(plan), "--out", str(out), what="a short match")
    return open_match(out)


_folders: list[tempfile.TemporaryDirectory[str]] = []  # each lives until Python ends


def _play(lab: Lab, lab_rally: LabRally, seed: int) -> Rally:
    folder = tempfile.TemporaryDirectory(prefix="tennis-")
    _folders.append(folder)
    out = Path(folder.name) / lab_rally.name
    short = lab_rally.model_copy(update={"balls": min(lab_rally.balls, BALLS)})
    words = ["--quiet", *lab_rally.verb.split()[1:], *short.options(seed), "--out", str(out)]
    name = lab_rally.own_file
    if name is not None and not Path(name).is_file():  # the lab's own
        for file in lab.files:
            shutil.copy(source_of(lab, file), folder.name)
        words[words.index(name)] = str(Path(folder.name) / name)
    _tennis(*words, what=f"the rally {lab_rally.name}")
    return open_folder(out)


def _tennis(*words: str, what: str) -> None:
    command = [sys.executable, "-c", "from tennis.cli import main; main()", *words]
    done = environment.completed(command, environment.for_tennis())
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TennisError(f"{what} could not be played: {last}")
