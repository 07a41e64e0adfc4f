# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Choices: neither length nor place tells which is right; each student has an order of their own.

What is marked is the choice. A number means nothing without the student's seed, and hand-ins of 0.1
and 0.2, which have letters, are marked as they were then.
"""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tennis.checkout import ROOT
from tennis.course import load_course, load_lab, work
from tennis.course.checking import running as checking
from tennis.course.checks import Inconclusive, Wrong, choice
from tennis.course.choices import ChoiceError, chosen, chosen_by_letter, numbered
from tennis.course.labs import LabError
from tennis.course.notebooks import choices
from tennis.course.solutions import load_solution
from tests.support.hand_ins import make_work

LAB = load_lab("04-under-load")
QUESTION = LAB.question("network")
ASKED = [
    (lab, question, load_solution(lab).of(question.id))
    for lab in load_course()[1]
    for question in lab.questions
    if question.kind == "choice" and not question.computed
]
# of what 0.2.0 handed out: solution.toml said so
OF_0_2 = {
    "02-trust-the-instrument": {"shared": "b"},
    "03-write-the-racquet": {"order": "b"},
    "04-under-load": {"network": "b"},
    "05-preempt-rt": {"inversion": "b", "asked": "c"},
    "06-out-of-band": {"masked": "b", "whose-tasks": "c"},
    "07-worst-case": {"extreme": "b"},
    "08-what-services-cost": {"ten-ms": "b", "line": "c", "blind": "d", "friendly": "b"},
    "09-faster-until-it-breaks": {"one-edge": "b", "omission": "b", "phase": "d"},
    "10-who-needs-a-scheduler": {"who": "b", "beneath": "b"},
}


def by_chance(count: int, of: int, share: float) -> bool:
    """Tell whether so many of so many may well be chance: within three standard deviations."""
    return abs(count - of * share) <= 3 * (of * share * (1 - share)) ** 0.5


def test_no_length_tells_which_is_right():
    assert len(ASKED) >= 16
    ranks: Counter[int] = Counter()
    for lab, question, right in ASKED:
        lengths = sorted(map(len, question.choices.values()))
        assert lengths[-1] <= 1.15 * lengths[0], f"{lab.slug}: {question.id}: {lengths}"
        ranks[lengths.index(len(question.choices[right.answer]))] += 1
    most = len(ASKED) // 2 - 1  # in 4 of 100 courses chance gives one of the ranks more
    assert max(ranks.values()) <= most, ranks


def test_no_place_in_the_file_tells_which_is_right():
    places = Counter(list(question.choices).index(right.answer) for _, question, right in ASKED)
    assert max(places.values()) <= len(ASKED) // 2 - 1, places


def test_no_sign_tells_which_is_right():
    """Of the choices with most commas and colons, no more are right than chance has it."""
    hits = 0
    for _, question, right in ASKED:
        signs = {name: len(re.findall("[,;:]", text)) for name, text in question.choices.items()}
        most = [name for name, count in signs.items() if count == max(signs.values())]
        hits += len(most) == 1 and most == [right.answer]
    assert hits <= len(ASKED) // 2 - 1


def test_each_number_is_right_as_often_as_chance_has_it():
    seeds = range(300)
    for lab, question, right in ASKED:
        found: Counter[int] = Counter()
        for seed in seeds:
            numbers = numbered(lab.slug, question, seed)
            assert set(numbers.values()) == set(question.choices)
            assert numbers == numbered(lab.slug, question, seed)
            found[next(n for n, name in numbers.items() if name == right.answer)] += 1
        share = 1 / len(question.choices)
        assert all(by_chance(found[n], len(seeds), share) for n in numbers), f"{lab.slug}: {found}"


def test_one_students_questions_have_orders_of_their_own():
    numbers = {
        next(n for n, name in numbered(lab.slug, q, 7).items() if name == right.answer)
        for lab, q, right in ASKED
    }
    assert len(numbers) == 4


def test_a_number_names_a_choice():
    numbers = numbered(LAB.slug, QUESTION, 5)
    for number, name in numbers.items():
        for written in (number, str(number), f" {number}) "):
            assert chosen(LAB.slug, QUESTION, written, 5) == name
    for wrong in (0, 5, "b", "", "12", "1.0", "-1", "²", "1 2", "9" * 50, True):
        with pytest.raises(ChoiceError, match="is not one of the numbers 1, 2, 3, 4"):
            chosen(LAB.slug, QUESTION, wrong, 5)
    for wrong in ("e", "B", "ab", "", 1):
        with pytest.raises(ChoiceError, match="is not one of the letters a, b, c, d"):
            chosen_by_letter(QUESTION, wrong, ())


@pytest.mark.parametrize("slug", OF_0_2)
def test_letters_of_0_2_mean_what_they_meant(slug):
    lab = load_lab(slug)
    asked = {q.id: right for one, q, right in ASKED if one.slug == slug and right.letters}
    assert set(asked) == set(OF_0_2[slug])
    for name, letter in OF_0_2[slug].items():
        assert chosen_by_letter(lab.question(name), letter, asked[name].letters) == (
            asked[name].answer
        )


def of_0_2(folder: Path, lab, student: str, **letters: str) -> Path:
    """Make a folder as 0.2 did: no seed, letters, and a prediction in one text."""
    made = make_work(folder, lab, student)
    path = made / "answers.toml"
    text = re.sub(r"(?m)^(seed = .*|prediction\..*)\n", "", path.read_text())
    text += "prediction = 'stress makes both of them far worse'\n"
    for name, letter in letters.items():
        text = re.sub(rf"(?m)^{name} = .*$", f'{name} = "{letter}"', text)
    path.write_text(text)
    return made


def test_a_hand_in_of_0_2_is_marked_as_it_was(tmp_path):
    right = checking.run_checks(of_0_2(tmp_path / "r", LAB, "zoe", network="b"), blind=False)
    points = {mark.question: mark.points for mark in right.marks}
    assert (points["network"], points["prediction"]) == (2, 1)
    assert right.facts.answers["network"] == QUESTION.choices["turns"]
    wrong = checking.run_checks(of_0_2(tmp_path / "w", LAB, "zoe", network="a"), blind=False)
    assert {mark.question: mark.points for mark in wrong.marks}["network"] == 0
    assert wrong.facts.answers["network"] == QUESTION.choices["priority"]


def test_numbers_of_another_name_are_not_guessed(tmp_path):
    """Whoever changes the name later had other numbers before them: a person decides."""
    made = make_work(tmp_path / "w", LAB, "zoe")
    path = made / "answers.toml"
    path.write_text(path.read_text().replace('student = "zoe"', 'student = "yan"'))
    opened = work.read(made)
    with pytest.raises(Inconclusive, match="of another name"):
        choice(opened, "network")
    # a letter in a folder of today is no answer, whatever b was once
    path.write_text(re.sub(r"(?m)^network = .*$", 'network = "b"', path.read_text()))
    path.write_text(path.read_text().replace('student = "yan"', 'student = "zoe"'))
    with pytest.raises(Wrong, match="not one of the numbers"):
        choice(work.read(made), "network", ("priority", "turns", "caches", "program"))


def test_the_file_and_the_notebook_show_the_same_numbers(tmp_path, monkeypatch):
    work.start(LAB, "Grace Hopper", tmp_path / "w")
    shown = dict(re.findall(r"(?m)^#   (\d): (.*)$", (tmp_path / "w/answers.toml").read_text()))
    names = numbered(LAB.slug, QUESTION, work.seed_of(LAB, "grace hopper"))
    assert shown == {str(n): QUESTION.choices[name] for n, name in names.items()}
    monkeypatch.chdir(tmp_path / "w")
    assert dict(choices(LAB, "network")) == {f"{n}:": text for n, text in shown.items()}
    monkeypatch.chdir(tmp_path)
    assert choices(LAB, "network") == [("○", text) for text in QUESTION.choices.values()]


def test_a_lab_with_letters_for_names_is_refused(tmp_path):
    folder = tmp_path / LAB.slug
    folder.mkdir()
    text = (ROOT / "labs" / LAB.slug / "lab.toml").read_text()
    (folder / "lab.toml").write_text(text.replace("turns = ", "b = "))
    with pytest.raises(LabError, match=r"choices\.b"):
        load_lab(LAB.slug, tmp_path)
    (folder / "lab.toml").write_text(text)
    (folder / "solution.toml").write_text(
        (ROOT / "labs" / LAB.slug / "solution.toml")
        .read_text()
        .replace('answer = "turns"', 'answer = "b"')
    )
    with pytest.raises(LabError, match="the choices are called"):
        load_solution(load_lab(LAB.slug, tmp_path))


def test_no_wrong_answer_is_right():
    for path in (ROOT / "labs").glob("*/wrong.toml"):
        for name, wrong in tomllib.loads(path.read_text()).items():
            given = wrong.get("answers", {})
            for lab, question, right in ASKED:
                if lab.slug == path.parent.name:
                    assert given.get(question.id) != right.answer, (path, name)
