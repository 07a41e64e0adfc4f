# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Texts that are nearly alike are found, and texts about the same thing are not."""

import random
import time
import tomllib

import pytest

from tennis.checkout import ROOT
from tennis.course.hand_ins.alike import PAIRS_MAX, pairs

OWN = """
The peak of mainline is at 0.7 µs and narrow, that of PREEMPT_RT at 4 µs and three times as
wide. What moved is the tasklet: on mainline it runs at the end of the interrupt, in the same
context, and on PREEMPT_RT the kernel wakes a thread of its own for softirqs, so that the
scheduler has to choose it first. That costs two switches, and each of them takes as long as
there is something else to be put away.
"""
OTHER = """
On the ordinary kernel nearly all answers lie in one column below a microsecond. With PREEMPT_RT
the column is further to the right and there is a second one, because ksoftirqd must be woken
before it can call our function. I see the cost of waking up in racquet_bottom_half, which is
called later, not slower.
"""


def changed(text: str, every: int) -> str:
    words = text.split()
    words[::every] = [f"word{at}" for at in range(len(words[::every]))]
    return " ".join(words)


def turned(text: str) -> str:
    return " ".join(reversed([f"{sentence.strip()}." for sentence in text.split(".")]))


@pytest.mark.parametrize(
    "copy",
    [
        OWN,
        OWN.upper(),
        OWN.replace(" ", "\n"),
        OWN.replace(".", "!").replace(",", ""),
        changed(OWN, 7),
        turned(OWN),
        OWN + OTHER,
        "My words: " + OWN[: len(OWN) // 2],
        OWN.replace("e", "e\u0301"),
    ],
)
def test_what_is_nearly_alike_is_found(copy):
    pair = pairs({"ada": OWN, "bob": copy, "cleo": OTHER})[0]
    assert pair.authors == ("ada", "bob")
    assert pair.percent >= 40
    for author, pieces in zip(pair.authors, pair.pieces, strict=True):
        assert "".join(piece.text for piece in pieces) == {"ada": OWN, "bob": copy}[author]
        assert any(piece.shared for piece in pieces)


def test_what_is_not_shared_is_not_marked():
    (pair,) = pairs({"ada": OWN, "bob": OWN + OTHER})
    pieces = dict(zip(pair.authors, pair.pieces, strict=True))
    assert [piece.shared for piece in pieces["ada"]] == [True]
    assert [piece.shared for piece in pieces["bob"]] == [True, False]
    assert "ksoftirqd" in pieces["bob"][1].text


def test_answers_to_the_same_question_are_not_alike():
    """Rubrics and samples of one question speak of the same things, in words of their own."""
    for path in sorted((ROOT / "labs").glob("*/solution.toml")):
        for name, answer in tomllib.loads(path.read_text()).items():
            texts = {"sample": answer.get("sample", ""), "why": answer.get("why", "")}
            texts |= {"rubric": " ".join(one["text"] for one in answer.get("rubric", []))}
            assert pairs(texts) == [], f"{path.parent.name}: {name}"
    assert pairs({"ada": OWN, "cleo": OTHER}) == []


def test_the_questions_words_are_nobodys():
    question = "Where is the peak of each kernel, how wide is it, and which piece of code moved?"
    texts = {"ada": f"{question} It is at 0.7.", "bob": f"{question} I do not know, sorry."}
    assert pairs(texts, question=question) == []
    assert pairs(texts)


def test_short_and_empty_texts():
    assert pairs({}) == []
    assert pairs({"ada": "", "bob": ""}) == []
    assert pairs({"ada": "a few words only", "bob": "a few words only"}) == []


def test_a_large_class_of_long_texts_takes_seconds():
    """Also where a text is made to be slow, or where everybody hands in the same."""
    draw = random.Random(1)  # noqa: S311 (to be repeated)
    words = [f"w{number}" for number in range(2000)]
    texts = {f"s{n}": " ".join(draw.choices(words, k=300)) for n in range(200)}
    texts |= {"same": "same " * 4000, "again": "same " * 4000, "marks": "a\u0301" * 9000}
    texts |= {f"copy {n}": OWN for n in range(100)}
    begun = time.process_time()
    found = pairs(texts)
    assert time.process_time() - begun < 10
    assert len(found) == PAIRS_MAX
    assert all("copy" in author for pair in found[:150] for author in pair.authors)
