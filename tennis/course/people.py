"""The author of a lab: a student, or a group whose members get the same points."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tennis.kit.errors import UsageError
from tennis.rally.text import plain

STUDENT_MAX = 60  # characters of a name
JOINERS = "\u200c\u200d"  # they join or separate letters of Persian and Indian scripts
MEMBERS_MAX = 4  # of a group
GROUP_MAX = MEMBERS_MAX * (STUDENT_MAX + len(" and "))  # characters of its name
# a student's, as registers give them; letters of any script, in groups
NUMBER = re.compile(r"[^\W_](?:[\w ./:#-]{0,38}\w)?")
# the characters that RFC 5322 allows in front, without those that begin a formula
EMAIL = re.compile(
    r"[\w!#$%&'*/?^{|}~][\w.!#$%&'*+/=?^{|}~-]{0,63}@\w[\w-]{0,62}(?:\.\w[\w-]{0,62}){1,8}"
)


def folded(name: str) -> str:
    """Return a name to be compared: one Unicode form, one width, no case, single spaces."""
    once = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", once).split())


def is_letter(character: str) -> bool:
    """Tell whether a character is a letter or a digit of any script, or a part of one."""
    # a vowel of many scripts is a mark on the letter before it
    return character.isalnum() or unicodedata.category(character).startswith("M")


def why_no_name(student: str, longest: int = STUDENT_MAX) -> str:
    """Say why this is not the name of a student, or of a group; empty if it is one.

    A name is text: it may hold each visible sign, in each place (Kumaran a/l Raju, 't Hart). Code
    that writes it into a file or a page escapes it. It must not deceive: a sign that is not seen,
    moves the cursor or turns the direction is refused.
    """
    if hidden := [c for c in student if not (c.isprintable() or c in JOINERS)]:
        name = unicodedata.name(hidden[0], "a control character")
        return f"it holds a sign that is not seen, U+{ord(hidden[0]):04X} ({name.lower()})"
    if not any(is_letter(c) for c in student):
        return "it holds no letter"
    if unicodedata.category(student[0]).startswith("M"):
        return "it begins with an accent, which would change the sign before it"
    if student != student.strip():
        return "it begins or ends with a space"
    return f"it is longer than {longest} characters" if len(student) > longest else ""


@dataclass(frozen=True)
class Member:
    """One of a group that works together; number and e-mail are empty if unknown."""

    name: str
    number: str = ""
    email: str = ""


def group_name(members: Sequence[Member]) -> str:
    """Return the name of a group: the same for any order of its members."""
    names = [unicodedata.normalize("NFC", one.name) for one in members]
    return " and ".join(sorted(names, key=str.casefold))


def check_person(person: Member) -> None:
    """Raise UsageError if a name, a number or an address is malformed."""
    if why := why_no_name(person.name):
        raise UsageError(
            f"--as {plain(person.name, 60)}: {why}", next_step="write the name as people read it"
        )
    if person.number and not NUMBER.fullmatch(person.number):
        raise UsageError(
            f"--number {plain(person.number, 60)!a} is not a student's number",
            next_step="use letters, digits, spaces and ._/:#-, 40 at most",
        )
    if person.email and not EMAIL.fullmatch(person.email):
        raise UsageError(
            f"--email {plain(person.email, 60)!a} is not an e-mail address",
            next_step="write NAME@DOMAIN",
        )
