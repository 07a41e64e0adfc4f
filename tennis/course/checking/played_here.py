# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A student's rallies as checks read them where a lab is marked: those that the marker played."""

from collections.abc import Iterator, Mapping

from tennis.course.checking.evidence import plan_here
from tennis.course.checking.plays import Plays
from tennis.course.work import Work
from tennis.rally import Rally


class PlayedHere(Mapping[str, Rally]):
    """The rallies of a student's folder, by name; each is played when a check first reads it.

    Recorded ones are the lab's own. One of a board is the folder's: nobody can play it again.
    """

    def __init__(self, work: Work, plays: Plays) -> None:
        self._work, self._plays = work, plays
        self._known: dict[str, Rally] = {}
        self._asked = {one.name: one for one in work.lab.rallies}

    def __getitem__(self, name: str) -> Rally:
        """Return a rally. Raises KeyError where the folder has none of this name, TennisError."""
        handed_in = self._work.handed_in[name]
        if self._asked[name].recorded or handed_in.manifest.bench not in {"virtual", "replay"}:
            return handed_in
        if name not in self._known:
            plan = plan_here(self._work, self._asked[name])
            self._known[name] = self._plays.rally(plan)
        return self._known[name]

    def misplayed(self, name: str) -> str:
        """Say what is wrong with how a student's Racquet answered in its rally; empty: nothing.

        Raises TennisError.
        """
        return self._plays.misplayed(plan_here(self._work, self._asked[name]))

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the rallies that the folder has."""
        return iter(self._work.handed_in)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._work.handed_in)
