# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The checks of every lab: is all there, are the rallies those that were asked for, and honest?"""

from tennis.bench.kernels import own_module
from tennis.course.checks import Inconclusive, NotRun, Wrong, check, expect, given, near, number
from tennis.course.labs import LabRally, Question
from tennis.course.notebook_box import run_notebook
from tennis.course.solutions import Solution
from tennis.course.work import NOTEBOOK, Work, starter_of
from tennis.errors import BenchError, RallyError, TennisError
from tennis.play import checking
from tennis.rally import Rally
from tennis.rally.manifest import OWN
from tennis.rally.text import plain
from tennis.units import format_count

WORDS_MIN = 5  # of a prediction or a text


@check()
def check_answered(work: Work, question: Question) -> None:
    """Every question has an answer: none costs its points.

    Hint: it goes into answers.toml; a number's line begins with a # that is to be taken away.
    """
    if question.file is not None:
        _completed(work, question.file)
        return
    expect(question.id in work.answers.given, "there is no answer yet")
    answer = work.answers.given[question.id]
    match question.kind:
        case "number":
            number(work, question.id)
        case "choice":
            letters = ", ".join(question.choices or {})
            expect(
                str(answer) in (question.choices or {}),
                f"{plain(str(answer), 20)!a} is none of the letters {letters}",
            )
        case _:
            words = len(str(answer).split())
            expect(words >= WORDS_MIN, f"{format_count(words, 'word')}: say why, too")


def _completed(work: Work, name: str) -> None:
    """Raise Wrong where a file is not there, or as it was."""
    path = work.folder / name
    if path.is_symlink() or not path.is_file():
        raise Wrong(f"there is no {name}")
    if path.stat().st_size < own_module.SOURCE_MAX:
        same = path.read_text(encoding="utf-8-sig", errors="replace") == starter_of(work.lab, name)
        expect(not same, f"{name} is as you got it: its gaps are for you")


@check(kinds=["number"], needs=["check_answered[*]"])
def check_number(work: Work, question: Question, solution: Solution | None) -> None:
    """The number is right, within what rounding may do to it.

    Hint: read the question's last sentence again: which number, in which unit?
    """
    right = solution.of(question.id) if solution else None
    if right is None:
        raise NotRun("whoever marks knows the number")
    value = number(work, question.id)
    wanted = float(right.answer) if right.answer is not None else float("nan")
    expect(
        near(value, wanted, right.tolerance_percent),
        f"{value:,g} {question.unit} is not the number",
    )


@check(kinds=["choice"], needs=["check_answered[*]"])
def check_choice(work: Work, question: Question, solution: Solution | None) -> None:
    """The choice is right."""
    right = solution.of(question.id) if solution else None
    if right is None:
        raise NotRun("whoever marks knows the letter")
    chosen = given(work, question.id)
    expect(chosen == right.answer, f"{chosen} is not the one")


@check()
def check_rally(work: Work, asked: LabRally) -> None:
    """Each rally that the lab asks for is there, whole, and played as asked, with your seed.

    Hint: README.md in your folder has the command. A rally that went wrong is played anew: remove
    its folder first.
    """
    if asked.name in work.trouble:
        # a recording comes with the labs: no student's fault
        raise (Inconclusive if asked.recorded else Wrong)(work.trouble[asked.name])
    if asked.recorded:
        return
    rally = work.rallies[asked.name]
    if asked.drill and rally.manifest.drill is None:
        raise Wrong("it is a rally, and a drill is asked for")
    for what, is_so, wanted in _settings(rally, asked):
        expect(is_so == wanted, f"its {what} is {plain(str(is_so), 60)}, not {wanted}")
    seed = rally.manifest.protocol.seed
    if rally.manifest.bench == "replay" and seed != work.seed + asked.boot:
        raise Inconclusive("it was replayed from a recording, with the recording's seed")
    expect(
        seed == work.seed + asked.boot,
        f"its seed is {seed}; that of {work.answers.student} is {work.seed + asked.boot}",
    )
    if rally.manifest.suspect or rally.manifest.ended != "complete":
        faults = [plain(fault.message, 120) for fault in rally.manifest.faults]
        why = (faults or ["it was interrupted"])[0]
        raise Inconclusive(f"{why}: play it anew")
    expect(
        rally.balls >= asked.balls,
        f"{rally.balls} balls, and {asked.balls} are asked for",
    )


def _settings(rally: Rally, asked: LabRally) -> list[tuple[str, object, object]]:
    """Return what must be as asked for: what, as it is, as it should be."""
    target, load = rally.manifest.target, rally.manifest.load
    if asked.drill is not None:
        done = rally.manifest.drill
        assert done is not None  # noqa: S101 (a rally in its place is refused)
        return [
            ("kernel", target.kernel, asked.kernel),
            ("load", load.name, asked.load),
            *(
                (f"load's {name}", load.options.get(name), v)
                for name, v in asked.load_options.items()
            ),
            ("drill", done.name, asked.drill.name),
            ("context", done.context, asked.drill.context),
            ("period", f"{done.period_ns / 1000:g} us", f"{asked.drill.period_us:g} us"),
        ]
    pairs: list[tuple[str, object, object]] = [
        ("kernel", target.kernel, asked.kernel),
        ("beneath it", target.beneath, asked.beneath),
        ("load", load.name, asked.load),
        ("Racquet", "your own" if target.module == OWN else "the kit's", _racquet(asked)),
    ]
    if asked.racquet is None:
        pairs += [
            ("top half", target.top_half, asked.top_half),
            ("bottom half", target.bottom_half, asked.bottom_half),
        ]
    pairs += [
        ("priorities", target.priorities, asked.priorities),
        ("rate", rally.manifest.protocol.rate_hz, asked.rate_hz),
    ]
    if asked.gap_us is not None:
        protocol = rally.manifest.protocol
        gaps = f"{protocol.gap_min_ns / 1000:g} to {protocol.gap_max_ns / 1000:g} us"
        pairs.append(("gap", gaps, "{:g} to {:g} us".format(*asked.gap_us)))
    for name, value in asked.load_options.items():
        pairs.append((f"load's {name}", load.options.get(name), value))
    return pairs


def _racquet(asked: LabRally) -> str:
    return "your own" if asked.racquet else "the kit's"


@check(needs=["check_rally[*]"], recorded=False)
def check_honest(work: Work, asked: LabRally, replays: bool) -> None:
    """A rally of the virtual bench is played again, and every ball must be what it was.

    Hint: play the rally yourself, with your own seed, and change nothing in its folder.
    """
    rally = work.rallies[asked.name]
    if not replays:
        raise NotRun("whoever marks plays it again")
    if rally.manifest.bench != "virtual":
        raise Inconclusive(
            f"it was played on the bench {rally.manifest.bench}, which does not repeat"
        )
    try:
        checking.check(rally.path, racquet=work.folder / asked.racquet if asked.racquet else None)
    except RallyError as error:
        raise Wrong(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error
    except TennisError as error:
        raise Inconclusive(plain(str(error).replace(f"{work.folder}/", ""), 300)) from error


@check()
def check_notebook(work: Work, replays: bool) -> None:
    """The notebook runs from top to bottom, on your rallies, without a network.

    Hint: in JupyterLab, Kernel, Restart Kernel and Run All Cells.
    """
    if not replays:
        raise NotRun("whoever marks runs it")
    if not (work.folder / NOTEBOOK).is_file():
        raise Wrong(f"there is no {NOTEBOOK}")
    try:
        ran = run_notebook(work.folder)
    except BenchError as error:
        raise Inconclusive(str(error)) from error
    expect(not ran.error, ran.error)
