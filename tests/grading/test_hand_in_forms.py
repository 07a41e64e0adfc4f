"""What systems, browsers, editors and learning platforms make of a hand-in."""

# ruff: noqa: RUF001 (these are what word processors write)

import io
import tarfile
import unicodedata
import zipfile
import zlib
from types import SimpleNamespace

import pytest
import tomlkit

from tennis.course import load_lab, people, work
from tennis.grading import hand_in
from tennis.grading import marks as mark_sheet
from tennis.kit.errors import TennisError, UsageError
from tennis.match.plan import parse_plan
from tennis.rally.edited import EditedError, text_of, toml_of
from tests.support.made_up_class import packed

LAB = load_lab("01-first-serve")
ANSWERS = b"""lab = "01-first-serve"
student = "x"
minutes = 1
seed = 1
[answers]
a = '''
b
'''
"""
FILES = {"answers.toml": ANSWERS, "notebook.md": b"# x", "rt-idle/manifest.json": b"{}"}


def below(folder: str, files=FILES) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def unpacked(tmp_path, files) -> tuple[dict[str, bytes], list[str]]:
    """Return what is taken of a zip file of these, and what is noted of it."""
    (tmp_path / "x.zip").write_bytes(files if isinstance(files, bytes) else packed(files))
    out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
    notes = hand_in.unpack(tmp_path / "x.zip", out).notes
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


@pytest.mark.parametrize(
    ("octets", "field", "name"),
    [  # as Explorer and old programs pack, and WinZip: its field counts if it is of this name
        ("Übung/ö.txt".encode(), b"", "Übung/ö.txt"),
        ("Søren João".encode("cp850"), b"", "Søren João"),
        (b"?? a", "李明".encode(), "李明"),
        (b"S?ren", b"\xff\xfe", "S?ren"),
    ],
)
def test_names_without_their_flag(octets, field, name):
    info, data = zipfile.ZipInfo("~" * len(octets)), io.BytesIO()
    for of in (octets, b"another"):
        more = b"\1" + zlib.crc32(of).to_bytes(4, "little") + field
        info.extra = b"\x75\x70" + len(more).to_bytes(2, "little") + more if field else b""
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr(info, b"")
        raw = io.BytesIO(data.getvalue().replace(b"~" * len(octets), octets))
        (entry,) = zipfile.ZipFile(raw).infolist()
        own = name if of == octets or not field else octets.decode()
        assert hand_in.decoded_name(entry) == own


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


def test_what_is_large_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    """One file, in a zip file in a zip file, too; and all together."""
    bomb = packed({"answers.toml": b"0" * (65 << 20)})
    three = {f"rt-{number}/balls.parquet": bytes(1 << 20) for number in range(3)}
    for content, said in (
        ({"y.zip": bomb}, "answers.toml unpacks to more than 64 MB"),
        (FILES | three, r"x\.zip unpacks to more than 2 MB"),
    ):
        monkeypatch.setattr(hand_in, "TOTAL_MAX", 2 << 20 if "y.zip" not in content else 1 << 28)
        (tmp_path / "x.zip").write_bytes(packed(content))
        with pytest.raises(hand_in.HandInError, match=said):
            hand_in.unpack(tmp_path / "x.zip", tmp_path / f"out-{len(content)}")


OTHER = {"x.zip": b"7z\xbc\xaf\x27\x1c", "y.zip": b"Rar!\x1a\x07\x01"}


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.tar.bz2", "x.tar.xz", *OTHER])
def test_another_archive_is_refused_with_its_name(name, tmp_path):
    path = tmp_path / name
    if name in OTHER:
        path.write_bytes(OTHER[name] + bytes(300))
    else:
        with tarfile.open(path, f"w:{name[6:]}") as archive:
            archive.addfile(tarfile.TarInfo("answers.toml"))
    with pytest.raises(hand_in.HandInError, match=r"is an? .*: pack the student's whole folder as"):
        hand_in.unpack(path, tmp_path / "out")


def named(student: str, number: str = "") -> str:
    answers = SimpleNamespace(student=student, number=number)
    return hand_in.file_name(SimpleNamespace(lab=LAB, answers=answers))


def test_two_students_have_two_file_names():
    students = [
        *("李明", "王芳", "محمد علي", "Ольга", "नमिता", "นิดา"),
        *("Zoë Müller", "Zoe Muller", "zoe-muller", "zoe.muller", "zoe  muller"),
        *("Raju a/l Kumaran", "Raju a.l Kumaran", "Raju a l Kumaran", "Raju al Kumaran"),
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
    "Latin-1": (ANSWERS + "b = 'é'".encode("latin-1"), r"is not UTF-8 \(line 9\): save it as"),
    "quotes": (ANSWERS.replace(b'"x"', "“x”".encode()), "has “ in line 2, a quotation mark of a"),
    "the end of a text": (ANSWERS.replace(b"b\n'''", "b\n’’’".encode()) + b"b = '''\nc d\n'''\n",
                          "has ’ in line 8"),
    "a text that ends nowhere": (ANSWERS.replace(b"b\n'''", "b\n’’’".encode()), "has ’ in line 8"),
    "a space": (ANSWERS.replace(b"s = ", "s\u00a0= ".encode()), r"has U\+00A0 in line 3, column 8"),
    "a minus": (ANSWERS + "b = −5\n".encode(), r"has U\+2212 in line 9"),
    "digits": (ANSWERS + b"b = " + b"9" * 5000, "is not TOML: a number has too many digits"),
    "a long key": (ANSWERS + b"'a b'" + b".'a b'" * 40_000, "a key of too many parts in line 9"),
    "depth": (b"a = " + b"[" * 20_000, "cannot be read"),
    "a key twice": (ANSWERS + b"a = 'x'\n", "has a twice, again in line 9: take one of them out"),
    "a text twice": (ANSWERS + b"a = '''\nx\n'''\n", "has a key twice, again in line 11"),
    "a table twice": (ANSWERS + b"[answers]\n", "has answers twice, again in line 9"),
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


ODD = [
    "a = 1\na = 2", "[a]\n[a]", "[a]\nb.c = 1\n[a.b]\nd = 1", "a.b = 1\n[a]\nc = 1", "a = +1", "a",
    "a = {b = 1}\na.c = 2", "a = []\n[[a]]\nb = 1", "'' = 1", "1.2 = 3", "a = inf\nb = -1e5", "= 1",
    "a = 007", "a = 1_000", "a = 0x_1", "a = True", "a = 1 # \x07", "a = '\x00'", 'a = "\\ud800"',
    'a = """\\\n  x"""', 'a = """"x""""', "a = 1 # x\x85b = 2", "a = 'x\u2028y'", "a = 1.", "",
]  # fmt: skip


def test_odd_toml_is_what_another_reader_takes_it_for():
    """TOML 1.0. They differ where this one is kinder to editors, and tomlkit knows TOML 1.1."""
    for text in ODD:
        found = []
        for read in (lambda it: toml_of(it.encode()), lambda it: tomlkit.loads(it).unwrap()):
            try:
                found.append(read(text))
            except (EditedError, tomlkit.exceptions.TOMLKitError):
                found.append("refused")
        assert found[0] == found[1], text


def test_quotation_marks_within_a_text_are_its_own():
    text = "a = '''\n“Well”, he said − it’s ‘done’\n'''\n"
    assert toml_of(text.encode())["a"].startswith("“Well”")
    assert text_of(b"\xef\xbb\xbf") == ""


def test_answers_with_another_ending_are_named(tmp_path):
    (tmp_path / "answers.toml.txt").write_bytes(ANSWERS)
    with pytest.raises(TennisError, match=r"rename .*answers\.toml\.txt"):
        work.read_answers(tmp_path / "answers.toml")
