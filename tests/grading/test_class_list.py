"""Lists of a class are read as teachers and platforms write them, or refused with the line."""

import unicodedata

import pytest

from tennis.grading import class_list
from tennis.kit.errors import UsageError

OWN = "name,number,e-mail,moodle,canvas,login,section\n"
WORKSHEET = (
    '"Identifier","Full name","ID number","Email address","Status","Grade","Maximum grade",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    '"Participant 101","Zoë Müller","0471","zoe@example.org","Submitted, ""late""",,10.00,'
    '"Monday, 2 November 2026, 6:30 PM","-","<p>a\nb</p>"\n'
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,First serve (77),Final Score\n"
    ",,,,,Manual Posting,\n"
    "    Points Possible,,,,,10,(read only)\n"
    '"Müller, Zoë",12,0471,zmuller,"A and B",,\n'
)
PARTICIPANTS = "First name,Last name,Email address\nZoë,Müller,zoe@example.org\n"


def read(tmp_path, text: str | bytes) -> class_list.ClassList:
    path = tmp_path / "class.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return class_list.read(path)


def test_a_list_of_ones_own(tmp_path):
    listed = read(tmp_path, OWN + "Zoë Müller,0471,zoe@example.org,101,12,zmuller,A\nBo,,,,,,\n")
    zoe, bo = listed.students
    assert (zoe.name, zoe.number, zoe.email) == ("Zoë Müller", "0471", "zoe@example.org")
    assert (zoe.moodle, zoe.canvas, zoe.login, zoe.section) == ("101", "12", "zmuller", "A")
    assert (bo.name, bo.number) == ("Bo", "")


def test_what_platforms_export(tmp_path):
    (zoe,) = read(tmp_path, WORKSHEET).students
    assert (zoe.name, zoe.number, zoe.moodle) == ("Zoë Müller", "0471", "101")
    assert zoe.cells["Identifier"] == "Participant 101"
    assert zoe.cells["Feedback comments"] == "<p>a\nb</p>"
    listed = read(tmp_path, CANVAS)
    (zoe,) = listed.students
    assert (zoe.name, zoe.canvas, zoe.number) == ("Müller, Zoë", "12", "0471")
    assert (zoe.login, zoe.section) == ("zmuller", "A and B")
    assert listed.possible["First serve (77)"] == "10"
    (zoe,) = read(tmp_path, PARTICIPANTS).students
    assert (zoe.name, zoe.email) == ("Zoë Müller", "zoe@example.org")


SAVED = {
    "as it was": (OWN + "Zoë,1,,,,,\n").encode(),
    "with a mark": b"\xef\xbb\xbf" + (OWN + "Zoë,1,,,,,\n").encode(),
    "Excel in German": (OWN + "Zoë,1,,,,,\n").replace(",", ";").replace("\n", "\r\n").encode(),
    "tabs": (OWN + "Zoë,1,,,,,\n").replace(",", "\t").encode(),
    "an old Mac": (OWN + "Zoë,1,,,,,\n").replace("\n", "\r").encode(),
    "letters apart": unicodedata.normalize("NFD", OWN + "Zoë,1,,,,,\n").encode(),
    "empty lines": (OWN + "\n,,,,,,\nZoë,1,,,,,\n\n").encode(),
    "empty lines first, as Moodle takes them": ("\n;;\n" + "name;number;\nZoë;1;\n").encode(),
    "a spreadsheet's columns behind": b"name,number,,,\nZo\xc3\xab,1,,,\n",
    "a column of line numbers": ",name,number\n0,Zoë,1\n".encode(),
    "lines in a heading": 'name,"student\r\nnumber"\r\nZoë,1\r\n'.encode(),
    "a mark and quotation marks": b'\xef\xbb\xbf"Name";"ID number"\r\n"Zo\xc3\xab";"1"\r\n',
    "commas in a name": "name;number;e-mail\nZoë;1;\nMüller, Bo, Jr.;2;\n".encode(),
    "two of one name": "name\tnumber\nZoë\t1\nZoë\t2\n".encode(),
    "spaces that do not break": "name,ID\u00a0number\nZoë,1\n".encode(),
}


@pytest.mark.parametrize("form", SAVED)
def test_a_list_is_read_whatever_saved_it(form, tmp_path):
    zoe, *_ = read(tmp_path, SAVED[form]).students
    assert (unicodedata.normalize("NFC", zoe.name), zoe.number) == ("Zoë", "1")


REFUSED = {
    "Latin-1": ((OWN + "Zoë,,,,,,\n").encode("latin-1"), r"is not UTF-8 \(line 2\): save it as"),
    "UTF-16": ((OWN + "Zoë,,,,,,\n").encode("utf-16"), "is saved as UTF-16"),
    "nothing": (b"", "no column of names: in its first line"),
    "UTF-16, no mark": ((OWN + "Zoe,,,,,,\n").encode("utf-16-le"), "zero bytes, as UTF-16"),
    "another language": ("Vollständiger Name,Grade\nZoë,\n".encode(), "Canvas in English"),
    "a title": (("Class of 2026,,,,,,\n" + OWN).encode(), "in its first line: name, number"),
    "a word for Excel": (b"sep=;\nname;number\nZoe;1\n", "in its first line: name, number"),
    "Moodle in German": ("ID,Vollständiger Name,Bewertung\n7,Zoë,\n".encode(), "ID may be"),
    "cells": ((OWN + "Zoë,1\n").encode(), "line 2: 2 cells, and 7 headings: put a cell"),
    "no name": ((OWN + ",1,,,,,\n").encode(), "line 2: there is no name"),
    "a formula": ((OWN + "Zoë,=1+1,,,,,\n").encode(), "line 2: number '=1.1' cannot be found"),
    "a formula of Moodle's": (WORKSHEET.replace("Participant", "=Participant").encode(), "moodle"),
    "rounded": ((OWN + "Zoë,1.23457E+06,,,,,\n").encode(), "a spreadsheet rounded it: format"),
    "control": ((OWN + "Zoë,1\x1b[2J,,,,,\n").encode(), "number '1 .2J' cannot be found"),
    "a user": ((OWN + "Zoë,,,,x12,,\n").encode(), "'x12' is not a number of a user"),
    "two of one number": ((OWN + "Z,1,,,,,\nB,1,,,,,\n").encode(), "lines 2 and 3 have one number"),
    "two of one e-mail": ((OWN + "Z,,a@b,,,,\nB,,A@b,,,,\n").encode(), "have one email, A@b"),
    "an ID of what": (b"name,ID\nZoe,12\n", "ID may be a register's number, or a user's in Canvas"),
    "two of one kind": (b"name,email,e-mail\nZoe,a,b\n", "email and e-mail are the same"),
    "two of one heading": (b"name,x,x\nZoe,a,b\n", "two columns of one heading"),
    "a quotation mark": ((OWN + '"Zoë"x,,,,,,\n').encode(), "is not a table"),
    "an end": ((OWN + 'Bo,,,,,,\n"Zoë,,,,,,\n\n').encode(), "is not a table from its line 3 on"),
    # the line where it begins, and not the one where its comment ends
    "lines in a cell": ((OWN + ',1,,,,,"a\nb\nc"\n').encode(), "line 2: there is no name"),
    "a long cell": ((OWN + "Zoë," + "1" * 300 + ",,,,,\n").encode(), "cannot be found again"),
    "a huge cell": ((OWN + "x" * 200_000 + ",,,,,,\n").encode(), "is not a table"),
    "many columns": (",".join(f"c{n}" for n in range(2000)).encode(), "more than 1,000"),
    "many students": ((OWN + "Zoë,,,,,,\n" * 5001).encode(), "more than 5,000 students"),
}  # fmt: skip


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_wrong_in_a_list_is_said(form, tmp_path):
    data, words = REFUSED[form]
    with pytest.raises(UsageError, match=words) as caught:
        read(tmp_path, data)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert caught.value.next_step


def test_a_list_that_is_none(tmp_path):
    (tmp_path / "large.csv").write_bytes(b"name\n" + b"x\n" * (5 << 20))
    for path, words in (
        (tmp_path / "none.csv", "cannot be read"),
        (tmp_path, "cannot be read"),
        (tmp_path / "large.csv", "is larger than 8 MB"),
    ):
        with pytest.raises(UsageError, match=words):
            class_list.read(path)
