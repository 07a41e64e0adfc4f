# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What systems, browsers, editors and learning platforms make of a hand-in."""

# ruff: noqa: RUF001 (these are what word processors write)

import io
import stat
import tarfile
import unicodedata
import zipfile
from types import SimpleNamespace

import pytest

from tennis.course import load_lab, people, work
from tennis.errors import TennisError, UsageError
from tennis.grading import downloads, hand_in
from tennis.grading import judged as grading
from tennis.grading import marks as mark_sheet
from tennis.log import listening
from tennis.match.plan import parse_plan
from tennis.rally.edited import EditedError, text_of, toml_of

LAB = load_lab("01-first-serve")
ANSWERS = b"lab = \"01-first-serve\"\nstudent = \"x\"\nminutes = 1\n[answers]\na = '''\nb\n'''\n"
FILES = {"answers.toml": ANSWERS, "notebook.md": b"# x", "rt-idle/manifest.json": b"{}"}


def packed(files, *, flag: bool = True) -> bytes:
    """Return a zip file; ``flag``: it says that its names are UTF-8."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo("x")
            # of as many bytes, for now
            octets = name.encode()
            info.filename = name if flag else "".join(chr(o) if o < 128 else "q" for o in octets)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    raw = data.getvalue()
    if not flag:  # zipfile flags what is not ASCII
        for name in files:
            octets = name.encode()
            raw = raw.replace(bytes(o if o < 128 else ord("q") for o in octets), octets)
    return raw


def below(folder: str, files=FILES) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def unpacked(tmp_path, files, lab: str = "", **way) -> tuple[dict[str, bytes], list[str]]:
    """Return what is taken of a zip file of these, and what is noted of it."""
    (tmp_path / "x.zip").write_bytes(files if isinstance(files, bytes) else packed(files, **way))
    out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
    notes = hand_in.unpack(tmp_path / "x.zip", out, lab).notes
    there = (path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in there}, notes


MAC = {
    "__MACOSX/._a": b"\0",
    "a/.DS_Store": b"\0",
    "a/._answers.toml": b"\0\5\26\7",
    "a/rt-idle/._x": b"",
}
APART = unicodedata.normalize("NFD", "é")
TAKEN = {
    "plain": FILES,
    "a folder": below("a"),
    "a Mac's folder": below("a") | MAC,
    "two folders": below("a b/Задача"),
    "letters taken apart": below(unicodedata.normalize("NFD", "Übung é")),
    "letters apart and together": below(APART, {"answers.toml": ANSWERS})
    | below("é", {name: FILES[name] for name in list(FILES)[1:]}),
    "backslashes": {f"a\\{name}".replace("/", "\\"): content for name, content in FILES.items()},
    "a dot": below("."),
    "case": {"a/Answers.TOML": ANSWERS, "a/Notebook.md": b"# x", "a/RT-idle/Manifest.JSON": b"{}"},
    "Windows": FILES | {"Thumbs.db": b"", "desktop.ini": b"", "rt-idle/Thumbs.db": b""},
    "a zip file": {"x.zip": packed(below("a"))},
    "a folder with a zip file": {"a/x.zip": packed(FILES), "a/.DS_Store": b""},
    "twice as many": below("a") | {f"a/._{number}": b"" for number in range(500)},
}  # fmt: skip


@pytest.mark.parametrize("form", TAKEN)
def test_what_is_taken(form, tmp_path):
    assert unpacked(tmp_path, TAKEN[form]) == (FILES, [])


def test_names_without_their_flag(tmp_path):
    files = below("Übung") | {"Übung/ö.txt": b""}
    assert unpacked(tmp_path, files, flag=False) == (FILES, ["not taken: Übung/ö.txt"])


REFUSED = {
    "a class": ({"a.zip": packed(FILES), "b.zip": packed(FILES)}, "holds 2 zip files: if it is"),
    "a class of folders": (below("a") | below("b"), "holds 2 hand-ins, in the folders a and b"),
    "zip in zip in zip": ({"x.zip": packed({"y.zip": packed({"z.zip": b""})})}, "in a zip file"),
    "two copies": ({"answers (1).toml": ANSWERS, "answers (2).toml": ANSWERS, "notebook.md": b"x"},
                   r"it holds answers \(1\).toml, answers \(2\).toml"),
    "a notebook": ({"notebook.ipynb": b"x", "a.png": b"y"}, r"it holds notebook.ipynb, a.png"),
    "other files": ({"thesis.pdf": b""}, "in x.zip: it holds thesis.pdf: ask for the file"),
    "out of the folder": (below(".."), "there is no answers.toml"),
    "from the root": (below(""), "there is no answers.toml"),
    "too deep": (below("a/b/c/d/e"), "lies 5 folders deep, 4 at most"),
    "two of a name": (FILES | {"Answers.toml": b""}, "holds answers.toml twice"),
    "no zip in it": ({"x.zip": b"PK no zip"}, "x.zip: x.zip is not a whole zip file"),
}  # fmt: skip


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_refused_with_the_reason(form, tmp_path):
    files, said = REFUSED[form]
    (tmp_path / "x.zip").write_bytes(packed(files))
    with pytest.raises(hand_in.HandInError, match=said):
        hand_in.unpack(tmp_path / "x.zip", tmp_path / "out")
    assert not [path for path in (tmp_path / "out").rglob("*") if ".." in path.parts]
    assert {path.name for path in tmp_path.iterdir()} <= {"x.zip", "out"}


def test_a_link_and_what_is_large_in_a_zip_in_a_zip(tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("answers.toml", b"0" * (65 << 20))
    (tmp_path / "x.zip").write_bytes(packed({"y.zip": data.getvalue()}))
    with pytest.raises(hand_in.HandInError, match="unpacks to more than 64 MB"):
        hand_in.unpack(tmp_path / "x.zip", tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        info = zipfile.ZipInfo("a/answers.toml")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(hand_in.HandInError, match=r"there is no answers\.toml"):
        hand_in.unpack(tmp_path / "y.zip", tmp_path / "out-2")


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_another_archive_is_refused_with_its_name(ending, tmp_path):
    path = tmp_path / f"x.{ending}"
    with tarfile.open(path, f"w:{ending[4:]}") as archive:
        archive.addfile(tarfile.TarInfo("answers.toml"))
    with pytest.raises(
        hand_in.HandInError, match="pack the student's whole folder as zip"
    ) as error:
        hand_in.unpack(path, tmp_path / "out")
    assert " is a" in str(error.value)
    for begin, kind in ((b"7z\xbc\xaf\x27\x1c", "a 7z file"), (b"Rar!\x1a\x07\x01", "a RAR file")):
        (tmp_path / "y.zip").write_bytes(begin + bytes(300))
        with pytest.raises(hand_in.HandInError, match=kind):
            hand_in.unpack(tmp_path / "y.zip", tmp_path / "out")


def test_a_folder_for_each_student_is_looked_into(tmp_path, monkeypatch):
    made = {
        "plain.zip": packed(FILES),
        "Zoë M_1_assignsubmission_file_/x.zip": packed(FILES),
        "Bo_2_assignsubmission_file_/x.ZIP": packed(FILES),
        "Cy_3_assignsubmission_file_/x.rar": b"Rar!\x1a\x07",
        "Di_4_assignsubmission_file_/answers.toml": ANSWERS,
        "Ed_5_assignsubmission_onlinetext_/onlinetext.html": b"",
        "__MACOSX/._x.zip": b"",
        "._plain.zip": b"",
        "thesis.pdf": b"",
    }
    for name, content in made.items():
        (tmp_path / "h" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "h" / name).write_bytes(content)
    (tmp_path / "h/a.zip").symlink_to("/dev/zero")
    said = []
    with listening(said.append):
        found = downloads.files(tmp_path / "h")
    monkeypatch.setattr(grading, "judged", lambda path, **_: grading.Judged(refused=path.name))
    marks, root = tmp_path / "m", tmp_path / "h"
    graded = grading.grade(found, LAB, marks, root=root, replays=False, workers=2)
    assert {one.file for one in graded} == {
        "plain.zip", "Zoë M_1_assignsubmission_file_/x.zip", "Bo_2_assignsubmission_file_/x.ZIP",
        "Cy_3_assignsubmission_file_/x.rar", "Di_4_assignsubmission_file_/answers.toml",
    }  # fmt: skip
    assert said == [
        "left out: a.zip, which is not a plain file",
        "left out: Ed_5_assignsubmission_onlinetext_, a folder without a zip file",
    ]
    with pytest.raises(hand_in.HandInError, match="lies there unpacked: pack"):
        hand_in.unpack(found[2], tmp_path / "out")
    (tmp_path / "none/deep/er").mkdir(parents=True)
    with pytest.raises(UsageError, match="nor do the folders in it: name the folder"):
        downloads.files(tmp_path / "none")


def named(student: str, number: str = "") -> str:
    answers = SimpleNamespace(student=student, number=number)
    return hand_in.file_name(SimpleNamespace(lab=LAB, answers=answers))


def test_two_students_have_two_file_names():
    students = [
        *("李明", "王芳", "محمد علي", "Ольга", "नमिता", "นิดา"),
        *("Zoë Müller", "Zoe Muller", "zoe-muller", "zoe.muller", "zoe  muller"),
        *("O'Brien", "O\u2019Brien", "obrien", "group 3", "group3", "-a", "_"),
        *("あ" * 60, "あ" * 59 + "い", "a" * 59 + "b", "x" * 60, "con", "nul."),
    ]  # fmt: skip
    names = [named(student) for student in students]
    assert len(set(names)) == len(students)
    assert len({unicodedata.normalize("NFKD", name).casefold() for name in names}) == len(students)
    for name in names:
        assert len(name.encode()) <= 180
        assert name.isprintable()
        assert not set(name) & set("<>:\"/\\|?*' ")
        assert name.startswith("01-first-serve-")
    assert named("李明") == "01-first-serve-李明.zip"
    assert named("Zoe Zhang") == "01-first-serve-zoe-zhang.zip"
    assert named("Zoe Zhang", "4711/2") == "01-first-serve-zoe-zhang-4711-2.zip"


def test_a_name_is_the_same_however_it_is_encoded(tmp_path):
    apart = unicodedata.normalize("NFD", "Zoë Müller")
    assert work.seed_of(LAB, apart) == work.seed_of(LAB, "Zoë Müller")
    assert named(apart) == named("zoë müller")
    work.start(LAB, apart, tmp_path / "w")
    path = tmp_path / "w/answers.toml"
    assert "Zoë Müller" in path.read_text()
    path.write_text(unicodedata.normalize("NFD", path.read_text()))
    assert work.read_answers(path).student == "Zoë Müller"
    for student in ("नमिता", "นิดา", "O\u2019Brien"):
        assert not people.why_no_name(student)
    for student in ("", " a", "\u0301a", "a\u202eb", "a\u200bb", "a\nb", "x" * 61):
        assert people.why_no_name(student)


SAVED = {
    "as it was": ANSWERS,
    "with a mark": b"\xef\xbb\xbf" + ANSWERS,
    "Windows": b"\xef\xbb\xbf" + ANSWERS.replace(b"\n", b"\r\n"),
    "an old Mac": ANSWERS.replace(b"\n", b"\r"),
    "tabs": ANSWERS.replace(b" = ", b"\t=\t"),
}


@pytest.mark.parametrize("form", SAVED)
def test_answers_are_read_whatever_saved_them(form, tmp_path):
    (tmp_path / "answers.toml").write_bytes(SAVED[form])
    assert work.read_answers(tmp_path / "answers.toml").by_question == {"a": "b\n"}


UNREAD = {
    "UTF-16": (ANSWERS.decode().encode("utf-16"), "is saved as UTF-16: save it as UTF-8"),
    "UTF-16 without a mark": (ANSWERS.decode().encode("utf-16-le"), "holds zero bytes"),
    "UTF-32": (ANSWERS.decode().encode("utf-32"), "is saved as UTF-32"),
    "Latin-1": (ANSWERS + "b = 'é'".encode("latin-1"), r"is not UTF-8 \(line 8\): save it as"),
    "quotes": (ANSWERS.replace(b'"x"', "“x”".encode()), "has “ in line 2, a quotation mark of a"),
    "the end of a text": (ANSWERS.replace(b"b\n'''", "b\n’’’".encode()) + b"b = '''\nc d\n'''\n",
                          "has ’ in line 7"),
    "a text that ends nowhere": (ANSWERS.replace(b"b\n'''", "b\n’’’".encode()), "has ’ in line 7"),
    "a space": (ANSWERS.replace(b"s = ", "s\u00a0= ".encode()), r"has U\+00A0 in line 3, column 8"),
    "a minus": (ANSWERS + "b = −5\n".encode(), r"has U\+2212 in line 8"),
    "digits": (ANSWERS + b"b = " + b"9" * 5000, "is not TOML: a number has too many digits"),
    "a long key": (ANSWERS + b"'a b'" + b".'a b'" * 40_000, "a key of too many parts in line 8"),
    "depth": (b"a = " + b"[" * 20_000, "cannot be read"),
    "a key twice": (ANSWERS + b"a = 'x'\n", "has a twice, again in line 8: take one of them out"),
    "a text twice": (ANSWERS + b"a = '''\nx\n'''\n", "has a key twice, again in line 10"),
    "a table twice": (ANSWERS + b"[answers]\n", "has answers twice, again in line 8"),
    "no TOML": (b"a = \n", "is not TOML: Invalid value"),
}  # fmt: skip


@pytest.mark.parametrize("form", UNREAD)
def test_what_an_editor_did_is_said_with_its_place(form, tmp_path):
    data, said = UNREAD[form]
    path = tmp_path / "answers.toml"
    path.write_bytes(data)
    with pytest.raises(TennisError, match=said):
        work.read_answers(path)
    with pytest.raises(EditedError, match=said.partition(":")[0]):
        toml_of(data)
    with pytest.raises(UsageError, match=said.partition(":")[0]):
        parse_plan(data, path)
    (tmp_path / "marks.toml").write_bytes(data)
    with pytest.raises(UsageError, match=said.partition(":")[0]):
        mark_sheet.read_sheet(tmp_path, LAB)


def test_quotation_marks_within_a_text_are_its_own():
    text = "a = '''\n“Well”, he said − it’s ‘done’\n'''\n"
    assert toml_of(text.encode())["a"].startswith("“Well”")
    assert text_of(b"\xef\xbb\xbf") == ""


def test_a_mark_sheet_stays_as_its_editor_saved_it(tmp_path):
    before = b'\xef\xbb\xbf["a.zip"]\r\naverage = 2\r\n'
    (tmp_path / "marks.toml").write_bytes(before)
    people = mark_sheet.read_sheet(tmp_path, LAB)
    assert people["a.zip"].points == {"average": 2}
    facts = {"lab": LAB.slug, "student": "b", "minutes": 1, "rallies": {}, "texts": {}, "files": {}}
    report = {"facts": facts | {"answers": {}}, "results": [], "marks": []}
    new = grading.Graded(file="b.zip", sha256="", checks_sha256="", student="b", report=report)
    mark_sheet.write_sheet(tmp_path, LAB, [new], people)
    after = (tmp_path / "marks.toml").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n")
    assert set(mark_sheet.read_sheet(tmp_path, LAB)) == {"a.zip", "b.zip"}


def test_answers_with_another_ending_are_named(tmp_path):
    (tmp_path / "answers.toml.txt").write_bytes(ANSWERS)
    with pytest.raises(TennisError, match=r"rename .*answers\.toml\.txt"):
        work.read_answers(tmp_path / "answers.toml")


@pytest.mark.parametrize(
    ("called", "wanted"),
    [
        ("answers (1).toml", "answers.toml"),
        ("Answers - Copy.toml", "answers.toml"),
        ("answers - Kopie (2).toml", "answers.toml"),
        ("answers 2.toml", "answers.toml"),
        ("rt-idle (1)/manifest.json", "rt-idle/manifest.json"),
        ("rt-idle copy/manifest.json", "rt-idle/manifest.json"),
        ("rt-idle/manifest (3).json", "rt-idle/manifest.json"),
        ("answers.toml.txt", "answers.toml"),
    ],
)
def test_a_name_that_a_system_made_a_copys_is_taken_with_a_note(tmp_path, called, wanted):
    content = {called: ANSWERS} | ({} if wanted == "answers.toml" else {"answers.toml": ANSWERS})
    there, notes = unpacked(tmp_path, below("week 2", content))
    assert there[wanted] == ANSWERS
    assert notes == [f"week 2/{called} was used as {wanted}"]


def test_a_copy_beside_the_file_itself_is_left(tmp_path):
    content = {"answers.toml": ANSWERS, "rt-idle/manifest.json": b"1"}
    more = {
        "answers.toml.txt": b"older",
        "answers (1).toml": b"o",
        "rt-idle (1)/manifest.json": b"",
    }
    there, notes = unpacked(tmp_path, more | content)
    assert there == content
    assert sorted(notes) == sorted(f"not taken: {name}" for name in more)


def test_of_two_labs_the_asked_one_is_taken(tmp_path):
    of = {
        slug: f'lab = "{slug}"\n'.encode() for slug in ("01-first-serve", "02-trust-the-instrument")
    }
    both = {f"labs/{slug[:2]}/answers.toml": text for slug, text in of.items()}
    for lab, text in of.items():
        there, notes = unpacked(tmp_path, both, lab)
        assert there["answers.toml"] == text
        assert len(notes) == 1
    text = of["01-first-serve"]
    twice = {"a/answers.toml": text, "b/answers.toml": text}
    for files, lab in ((both, ""), (both, "03-write-the-racquet"), (twice, "01-first-serve")):
        with pytest.raises(hand_in.HandInError, match="holds 2 hand-ins"):
            unpacked(tmp_path, files, lab)
