"""Choices: neither length nor place gives the right one away; each student has another order.

What is marked is the choice. A number means nothing without the student's seed.
"""

import re
from collections import Counter

import pytest

from tennis.course import load_course, load_lab, work
from tennis.course.checks import Inconclusive, Wrong, choice
from tennis.course.choices import ChoiceError, chosen, numbered
from tennis.course.lab_files import load_solution
from tennis.course.labs import LabError
from tennis.course.notebooks import choices
from tennis.kit.checkout import ROOT
from tests.support.hand_ins import make_work

LAB = load_lab("04-under-load")
QUESTION = LAB.question("network")
ASKED = [
    (lab, question, load_solution(lab).of(question.id))
    for lab in load_course()[1]
    for question in lab.questions
    if question.kind == "choice" and not question.computed
]


def by_chance(count: int, of: int, share: float) -> bool:
    """Tell whether so many of so many may well be chance: within three standard deviations."""
    return abs(count - of * share) <= 3 * (of * share * (1 - share)) ** 0.5


def test_neither_length_nor_place_nor_signs_tell_which_is_right():
    """In 4 of 100 courses chance gives one of the ranks more."""
    assert len(ASKED) >= 16
    most = len(ASKED) // 2 - 1
    ranks: Counter[int] = Counter()
    places: Counter[int] = Counter()
    hits = 0
    for lab, question, right in ASKED:
        lengths = sorted(map(len, question.choices.values()))
        assert lengths[-1] <= 1.15 * lengths[0], f"{lab.slug}: {question.id}: {lengths}"
        ranks[lengths.index(len(question.choices[right.answer]))] += 1
        places[list(question.choices).index(right.answer)] += 1
        signs = {name: len(re.findall("[,;:]", text)) for name, text in question.choices.items()}
        hits += [n for n, count in signs.items() if count == max(signs.values())] == [right.answer]
    assert max(*ranks.values(), *places.values(), hits) <= most, (ranks, places, hits)


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


def test_a_number_names_a_choice():
    numbers = numbered(LAB.slug, QUESTION, 5)
    for number, name in numbers.items():
        for written in (number, str(number), f" {number}) "):
            assert chosen(LAB.slug, QUESTION, written, 5) == name
    for wrong in (0, 5, "b", "", "12", "1.0", "-1", "²", "1 2", "9" * 50, True):
        with pytest.raises(ChoiceError, match="is not one of the numbers 1, 2, 3, 4"):
            chosen(LAB.slug, QUESTION, wrong, 5)


def test_numbers_of_another_name_are_not_guessed(tmp_path):
    """A student who changes the name later saw other numbers: a person decides."""
    made = make_work(tmp_path / "w", LAB, "zoe")
    path = made / "answers.toml"
    path.write_text(path.read_text().replace('student = "zoe"', 'student = "yan"'))
    opened = work.read(made)
    with pytest.raises(Inconclusive, match="of another name"):
        choice(opened, "network")
    # a letter is no answer
    path.write_text(re.sub(r"(?m)^network = .*$", 'network = "b"', path.read_text()))
    path.write_text(path.read_text().replace('student = "yan"', 'student = "zoe"'))
    with pytest.raises(Wrong, match="not one of the numbers"):
        choice(work.read(made), "network")


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
