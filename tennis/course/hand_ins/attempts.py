# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which hand-ins are one student's, and which of them counts: the last that can be marked.

All are kept, each with its result and page; a student has one row. Who marks may decide otherwise,
with ``it_counts`` in the mark sheet: two people of one name are two rows then.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tennis.course.hand_ins.graded import Graded
from tennis.course.hand_ins.platforms import same_name, senders, sent
from tennis.course.people import folded

NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Attempt:
    """A hand-in that counts, and those that it replaces, the oldest first."""

    counts: Graded
    replaced: Sequence[Graded] = ()


def owner(one: Graded) -> tuple[str, ...]:
    """Return whose a hand-in is: of whom the platform says, else of which name and number.

    Two folders are two people, whatever they are called; one folder may hold a class. A hand-in
    that cannot be read says no name: it is its own.

    A group's hand-in may come from each of its members: it is the group's as long as all of them
    name the same members, and it came from one of these. Anybody else's copy of it is a copy.
    """
    if group := _group(one):
        return group
    platform = sent(one.file)
    if platform and platform.id:
        return platform.platform, platform.id
    if one.report is None:
        return "file", one.file
    folder, _, _ = one.file.rpartition("/")
    return "name", folder, folded(one.student), one.report.facts.number


def unconfirmed(attempt: Attempt) -> list[str]:
    """Return the members of a group from whom no hand-in of it came: they may not know of it."""
    if attempt.counts.report is None:
        return []
    came = [name for one in (attempt.counts, *attempt.replaced) for name in senders(one.file)]
    named = [member.name for member in attempt.counts.report.facts.members]
    return [name for name in named if not any(same_name(name, who) for who in came)]


def _group(one: Graded) -> tuple[str, ...]:
    """Return whose a group's hand-in is; nothing if it is no group's, or came from others."""
    names = [member.name for member in one.report.facts.members] if one.report else []
    if not names:
        return ()
    folder = one.file.rpartition("/")[0]
    platform = sent(one.file)
    is_member = any(same_name(who, name) for who in senders(one.file) for name in names)
    if platform and platform.id and not is_member:
        return ()
    where = "" if is_member else folder
    return "group", where, folded(one.student), *sorted(map(folded, names))


def attempts(graded: Sequence[Graded], chosen: Mapping[str, bool]) -> list[Attempt]:
    """Return who handed in what, in the order of the files; ``chosen``: file -> whether it counts.

    The last by the file's time counts, of equal times the last by name; one that cannot be read
    replaces none that can.
    """
    of_owner: dict[tuple[str, ...], list[Graded]] = defaultdict(list)
    for one in graded:
        of_owner[owner(one)].append(one)
    found: list[Attempt] = []
    for own in of_owner.values():
        ordered = sorted(own, key=_rank)
        told = [one for one in ordered if chosen.get(one.file) is True]
        possible = [one for one in ordered if chosen.get(one.file) is not False]
        counting = told or possible[-1:] or ordered[-1:]
        others = [one for one in ordered if one not in counting]
        found += [Attempt(one) for one in counting[:-1]]
        found.append(Attempt(counting[-1], others))
    return found


def _rank(one: Graded) -> tuple[bool, datetime, str]:
    return one.report is not None or bool(one.later), one.handed_in or NEVER, one.file
