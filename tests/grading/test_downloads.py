"""A class's hand-ins are found as platforms let them be downloaded and systems pack them again."""

import stat
import unicodedata
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from tennis.grading import downloads, hand_in
from tennis.grading.downloads import Sent, same_name, sent
from tennis.kit.errors import UsageError
from tennis.kit.log import listening
from tests.support.made_up_class import hand_in_of, packed, unpacked

ADA, BO = hand_in_of("Ada"), hand_in_of("Bo")
MOODLE = {
    "Ada Lovelace_101_assignsubmission_file_/lab.zip": ADA,
    "Zoë Müller_102_assignsubmission_file/lab.zip": BO,  # as since 4.1
    "Cy_103_assignsubmission_onlinetext_/onlinetext.html": b"<p>no</p>",
}
CANVAS = {
    "lovelaceada_12_345_01-first-serve-ada.zip": ADA,
    "müllerzoë_LATE_13_346_01-first-serve-zoë-1.zip": BO,
}


def below(folder: str, entries) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in entries.items()}


def decomposed(entries) -> dict[str, bytes]:
    return {unicodedata.normalize("NFD", name): content for name, content in entries.items()}


MAC = {
    "__MACOSX/Class/._Ada Lovelace_101_assignsubmission_file_": b"\0",
    "__MACOSX/Class/Ada Lovelace_101_assignsubmission_file_/._lab.zip": b"\0\5\26\7",
    "Class/.DS_Store": b"\0",
    "Class/Ada Lovelace_101_assignsubmission_file_/._lab.zip": b"\0\5\26\7",
}
WINDOWS = {
    "Class\\desktop.ini": b"",
    "Class\\Thumbs.db": b"",
    "Class\\Ada Lovelace_101_assignsubmission_file_\\lab.zip:Zone.Identifier": b"[ZoneTransfer]",
}
FORMS = {
    "Moodle": MOODLE,
    "Moodle, by files": {
        "Ada Lovelace_101_assignsubmission_file_lab.zip": ADA,
        "Zoë Müller_102_assignsubmission_file_lab.zip": BO,
    },
    "Canvas": CANVAS,
    "a Mac": decomposed(below("Class", MOODLE)) | MAC,
    "Windows": {name.replace("/", "\\"): data for name, data in below("Class", MOODLE).items()}
    | WINDOWS,
    "Canvas on a Mac": decomposed(below("submissions", CANVAS)) | {"__MACOSX/._submissions": b""},
    "folders in folders": below("Downloads/Class", MOODLE),
}  # fmt: skip


def plain_names(entries) -> set[str]:
    """Return the hand-ins' names as they should be called."""
    shown = {unicodedata.normalize("NFC", name).replace("\\", "/") for name in entries}
    return {name for name in shown if name.endswith(".zip") and "._" not in name}


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_is_marked_as_it_was_downloaded(form, tmp_path):
    archive = tmp_path / "class.zip"
    archive.write_bytes(packed(FORMS[form]))
    with downloads.opened(archive) as root:
        found = downloads.files(root)
        assert {downloads.label(path, root) for path in found} == plain_names(FORMS[form])
        assert {path.read_bytes() for path in found} == {ADA, BO}
        assert {path.stat().st_mtime for path in found} == {
            datetime(2026, 11, 2, 18, 30).timestamp()
        }
    assert not root.exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_is_marked_as_it_was_unpacked(form, tmp_path):
    names = {name.replace("\\", "/"): content for name, content in FORMS[form].items()}
    root = unpacked(names, tmp_path / "class")
    found = downloads.files(root)
    assert {downloads.label(path, root) for path in found} == plain_names(FORMS[form])


def test_what_is_no_zip_file_is_named_and_what_is_a_hand_in_of_another_kind_is_kept(tmp_path):
    more = {
        "Class/Di_4_assignsubmission_file_/answers.toml": b"",  # refused when it is marked
        "Class/Ed_5_assignsubmission_file_/x.rar": b"Rar!",
        "Class/thesis.pdf": b"",
    }
    entries = below("Class", MOODLE) | more
    (tmp_path / "class.zip").write_bytes(packed(entries))
    root = unpacked(entries, tmp_path / "class")
    (root / "Class/a.zip").symlink_to("/dev/zero")
    for given in (tmp_path / "class.zip", root):
        said: list[str] = []
        with listening(said.append), downloads.opened(given) as opened:
            found = downloads.files(opened)
        named = {path.name for path in found}
        assert (len(found), named) == (4, {"lab.zip", "answers.toml", "x.rar"})
        links = [line for line in said if "which is not a plain file" in line]
        assert len(links) == (given == root)
        left = [line for line in said if line not in links]
        assert left == [
            "left out: Cy_103_assignsubmission_onlinetext_, a folder without a zip file"
        ]


def hostile(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("../out.zip", "/etc/out.zip", "a/../../out.zip", "..\\out.zip", "a//b.zip"):
            info = zipfile.ZipInfo("x")
            info.filename = name
            archive.writestr(info, ADA)
        archive.writestr("/".join("abcdefg") + "/deep.zip", ADA)
        for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR):
            info = zipfile.ZipInfo(f"link-{kind:o}.zip")
            info.external_attr = (kind | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
        archive.writestr("C:/x:y/ada.zip", ADA)
        archive.writestr(f"{'長' * 120}/{'b' * 300}.zip", ADA)
        archive.writestr("a\x1b[2J/b.zip", ADA)
        with archive.open("bomb/x.zip", "w") as bomb:
            for _ in range(129):
                bomb.write(bytes(1 << 20))
        archive.writestr("Ada_1_assignsubmission_file_/lab.zip", ADA)
        info = zipfile.ZipInfo("Ada_1_assignsubmission_file_/LZMA.zip")
        info.compress_type = zipfile.ZIP_LZMA
        archive.writestr(info, ADA)
    return path


def test_a_hostile_archive_hurts_nobody(tmp_path):
    said: list[str] = []
    archive = hostile(tmp_path / "class.zip")
    with listening(said.append), downloads.opened(archive) as root:
        found = downloads.files(root)
        for path in root.rglob("*"):
            assert not path.is_symlink()
            assert path.is_file() or path.is_dir()
            assert path.resolve().is_relative_to(root.resolve())
        labels = {downloads.label(path, root) for path in found}
        assert all(label.isprintable() for label in labels)
        assert {"Ada_1_assignsubmission_file_/lab.zip", "bomb/x.zip"} <= labels
        assert len(labels) == len(found) == 5
        # as in a folder: what is too large is refused by itself, with the reason
        with pytest.raises(hand_in.HandInError, match="is not a file of at most 128 MB"):
            hand_in.unpack(root / "bomb/x.zip", tmp_path / "out")
    assert sum("whose name leads elsewhere" in line for line in said) == 5
    assert sum("which is not a plain file" in line for line in said) == 3
    assert sum("more than 5 folders deep" in line for line in said) == 1
    assert sum("packed in another way" in line for line in said) == 1
    assert not any("\x1b" in line for line in said)
    assert {path.name for path in tmp_path.iterdir()} == {"class.zip"}


def test_an_archive_has_limits(tmp_path, monkeypatch):
    archive = tmp_path / "class.zip"
    archive.write_bytes(packed(MOODLE))
    for limit, value, words in (
        ("ARCHIVE_MAX", 100, "is larger than"),
        ("ENTRIES_MAX", 2, "holds 3 files, 2 at most"),
        ("TOTAL_MAX", len(ADA) + 5, "unpacks to more than"),
        ("HAND_INS_MAX", 1, "holds 2 hand-ins, 1 at most"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(downloads, limit, value)
            with pytest.raises(UsageError, match=words), downloads.opened(archive) as root:
                downloads.files(root)


def test_what_is_no_class(tmp_path):
    (tmp_path / "no.zip").write_bytes(b"PK\3\4 no zip")
    (tmp_path / "one.zip").write_bytes(ADA)
    (tmp_path / "text.zip").write_bytes(packed({"a/b.txt": b""}))
    for name, words in (
        ("no.zip", "not a whole zip file: .*: download it again"),
        ("one.zip", "is one hand-in: put it into a folder"),
        ("text.zip", "holds no zip files"),
        ("none", "is neither a folder nor a file: name"),
    ):
        with pytest.raises(UsageError, match=words), downloads.opened(tmp_path / name) as root:
            downloads.files(root)


NAMES = {
    "Ada L_12_assignsubmission_file_/x.zip": ("moodle", "Ada L", "12", "x.zip"),
    "Class/Ada L_12_assignsubmission_file/a_1_2_x.zip":
        ("moodle", "Ada L", "12", "a_1_2_x.zip"),
    "Ada L_12_assignsubmission_file_x.zip": ("moodle", "Ada L", "12", "x.zip"),
    "李明_7_assignsubmission_file_/x.zip": ("moodle", "李明", "7", "x.zip"),
    # what a student called a folder of his own names nobody
    "Eve_1_assignsubmission_file_/Bo_2_assignsubmission_file_/x.zip":
        ("moodle", "Eve", "1", "x.zip"),
    "lovelaceada_12_34_x.zip": ("canvas", "lovelaceada", "12", "x.zip"),
    "lovelaceada_LATE_12_34_x.zip": ("canvas", "lovelaceada", "12", "x.zip"),
    "lovelaceada_late_12_34_x_5_6.zip": ("canvas", "lovelaceada", "12", "x_5_6.zip"),
    "anon_x7f3q_34_x.zip": ("canvas", "", "", "x.zip"),
    "LATE_anon_x7f3q_34_x.zip": ("canvas", "", "", "x.zip"),
}  # fmt: skip


@pytest.mark.parametrize("label", NAMES)
def test_what_a_platforms_name_says(label):
    found = sent(label)
    assert isinstance(found, Sent)
    assert (found.platform, found.name, found.id, found.file) == NAMES[label]
    for no in ("01-first-serve-ada.zip", "ada/x.zip", "a_12_x.zip", "_12_assign_file_/x.zip"):
        assert sent(no) is None


def test_names_are_the_same_in_other_writings_and_stay_apart():
    assert same_name("lovelaceada", "Lovelace, Ada")
    assert same_name("o brien", "O'Brien")
    assert same_name(unicodedata.normalize("NFD", "Zoë Müller"), "müllerzoë")
    assert not same_name("Müller", "Muller")
    assert not same_name("李明", "李朋")


def test_the_same_name_in_two_forms_is_one(tmp_path):
    """And two files that only differ in that are both marked."""
    once = "Zoë_1_assignsubmission_file_"
    apart = unicodedata.normalize("NFD", once)
    (tmp_path / apart).mkdir()
    assert downloads.label(tmp_path / apart, tmp_path) == once
    (tmp_path / once).mkdir()
    labels = {downloads.label(tmp_path / name, tmp_path) for name in (apart, once)}
    assert len(labels) == 2
    assert once in labels
