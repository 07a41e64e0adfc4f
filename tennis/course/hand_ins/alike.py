# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Texts of two students that are nearly alike, for a person to look at side by side.

Two texts are compared by the runs of three words that they share: whoever changes a word in seven
still shares more than half of them, and whoever moves sentences about shares nearly all. Words of
the question itself count for nobody. A number says where to look, and not who wrote first.
"""

import re
import unicodedata
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

RUN = 3  # words
RUNS_MIN = 8  # shared runs: shorter texts may well be alike
ALIKE_PERCENT = 40  # of the runs of the shorter text; independent answers share a few percent
WORDS_MAX = 4000  # of a text
PAIRS_MAX = 200

Author = TypeVar("Author", bound=Hashable)
_Run = tuple[str, ...]


@dataclass(frozen=True)
class Piece:
    """A part of a text, and whether the other text has it, too."""

    text: str
    shared: bool


@dataclass(frozen=True)
class Pair(Generic[Author]):
    """Two texts that are nearly alike; ``percent`` of the shorter one's runs are shared."""

    authors: tuple[Author, Author]
    percent: int
    pieces: tuple[list[Piece], list[Piece]]


def pairs(texts: Mapping[Author, str], *, question: str = "") -> list[Pair[Author]]:
    """Return the pairs of texts that are nearly alike, the most alike first, PAIRS_MAX at most.

    ``question``: the question's own words, which everybody may repeat.
    """
    known = set(_runs(_words(question)))
    runs = {author: set(_runs(_words(text))) - known for author, text in texts.items()}
    # small numbers are compared many times as fast as words
    numbers = {run: number for number, run in enumerate(set().union(*runs.values()))}
    numbered = {author: {numbers[run] for run in own} for author, own in runs.items()}
    found = []
    for one, other in combinations(numbered, 2):
        count = len(numbered[one] & numbered[other])
        if count >= RUNS_MIN:
            percent = 100 * count // min(len(numbered[one]), len(numbered[other]))
            found += [(percent, one, other)] if percent >= ALIKE_PERCENT else []
    found.sort(key=lambda pair: -pair[0])
    return [
        Pair(
            (one, other),
            percent,
            (_pieces(texts[one], runs[other]), _pieces(texts[other], runs[one])),
        )
        for percent, one, other in found[:PAIRS_MAX]
    ]


def _words(text: str) -> list[tuple[str, int, int]]:
    """Return words without case and accents, each with its place in the text."""
    return [
        (_bare(match[0]), match.start(), match.end())
        for _, match in zip(range(WORDS_MAX), re.finditer(r"\w+", text), strict=False)
    ]


def _bare(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in letters if not unicodedata.category(c).startswith("M")) or word


def _runs(words: list[tuple[str, int, int]]) -> list[_Run]:
    bare = [word for word, _, _ in words]
    return [tuple(bare[at : at + RUN]) for at in range(len(bare) - RUN + 1)]


def _pieces(text: str, others: Collection[_Run]) -> list[Piece]:
    """Cut a text where it begins, or ceases, to be in the other one."""
    words = _words(text)
    shared = [False] * len(words)
    for at, run in enumerate(_runs(words)):
        if run in others:
            shared[at : at + RUN] = [True] * RUN
    pieces: list[Piece] = []
    begin = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or shared[at] != shared[at - 1]:
            end = words[at][1] if at < len(words) else len(text)
            pieces.append(Piece(text[begin:end], shared[at - 1]))
            begin = end
    return pieces or [Piece(text, False)]
