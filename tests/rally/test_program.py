"""A program of somebody's own: its hash and name, and one line for a file that is no program."""

import os
import struct

import pytest

from tennis.kit.errors import UsageError
from tennis.rally.disk import open_below
from tennis.rally.program import BYTES_MAX, KITS, known_by, read

ARM64, X86_64 = 183, 62


def elf(machine=ARM64, kind=2, interpreter=False, more=b""):
    """Return an executable with one program header, as elf.h lays it out."""
    head = (
        b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQI", kind, machine, 1, 0, 64, 0, 0)
    )
    head += struct.pack("<HHHHHH", 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<I", 3 if interpreter else 1) + bytes(52) + more


def folder(place, text, **files):
    place.mkdir()
    (place / "program.toml").write_text(text)
    for name, content in files.items():
        (place / name).write_bytes(content)
    return place


def test_it_is_known_by_all_that_was_brought(tmp_path):
    source = tmp_path / "a.c"
    source.write_text('#include "a.h"\nint main(void) { return A; }\n')
    (tmp_path / "a.h").write_text("#define A 0\n")
    first = known_by(str(source))
    assert first.startswith("a.c, SHA-256 ")
    (tmp_path / "a.h").write_text("#define A 1\n")
    assert known_by(str(source)) != first
    assert known_by(None) is None
    assert known_by(str(tmp_path / "b.c")) == "b.c, not there"
    place = folder(tmp_path / "d", 'command = "./x"\nfiles = ["x", "y"]', x=b"1", y=b"")
    first = known_by(str(place))
    (place / "z").write_text("not named by program.toml")
    assert known_by(str(place)) == first
    # the same bytes, in other files
    (place / "x").write_bytes(b"")
    (place / "y").write_bytes(b"1")
    assert known_by(str(place)) not in {first, None}
    # the folder's command is a part of it
    (place / "program.toml").write_text('command = "./y"\nfiles = ["x", "y"]')
    (place / "x").write_bytes(b"1")
    (place / "y").write_bytes(b"")
    assert known_by(str(place)) != first


def test_the_kits_headers_need_no_copy_and_a_copy_is_the_same_program(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.c").write_text('#include "lines.h"\n#include "../lines.h"\n')
    copy = tmp_path / "b/lines.h"
    copy.write_bytes((KITS / "lines.h").read_bytes())
    without, beside = (known_by(str(tmp_path / name / "a.c")) for name in ("a", "b"))
    assert without == beside
    assert set(read(tmp_path / "a/a.c").files) == {"a.c", "lines.h"}
    copy.write_text("another one")
    assert known_by(str(tmp_path / "b/a.c")) != without


def test_an_executable_is_taken_as_it_is(tmp_path):
    path = tmp_path / "answer"
    path.write_bytes(elf())
    brought = read(path)
    assert (brought.kind, brought.about.words) == ("executable", ["./answer"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (elf(X86_64), "is for x86-64, and the target is arm64"),
        (elf(kind=1), "is a part of a program (ELF), and nothing that starts"),
        (elf()[:40], "is cut off"),
        (elf(interpreter=True, more=b"\0libgpiod.so.3\0"), "wants libgpiod.so.3, which is not on"),
        (b"#!/bin/sh\n", "neither C nor C++ (.c, .cc, .cpp, .cxx), nor an executable (ELF)"),
        (b"", "neither C nor C++"),
    ],
)
def test_what_is_no_program_is_refused(tmp_path, content, said):
    path = tmp_path / "answer"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("files = " + "[" * 20_000, "too many brackets"),  # that was a defect of tennis
        ("a" + ".a" * 40_000 + " = 1", "a key of too many parts in line 2"),  # that took hours
        ("priority = " + "1" * 5_000, "a number has too many digits"),
        ("priority = 1\r\npriority = 2", "priority twice, again in line 3"),
    ],
)
def test_a_program_toml_is_refused_in_a_line(tmp_path, more, said):
    with pytest.raises(UsageError, match=said) as error:
        read(folder(tmp_path / "d", f'command = "./x"\n{more}\n'))
    assert "\n" not in str(error.value)
    marked = folder(tmp_path / "marked", '\ufeffcommand = "./x"\r\nfiles = ["x"]\r\n', x=b"")
    assert read(marked).about.words == ["./x"]  # as an editor of Windows saves it


def test_what_is_too_large_or_no_file_is_not_read(tmp_path):
    large = tmp_path / "large.c"
    with large.open("wb") as file:
        file.truncate(500_000_000)
    with pytest.raises(UsageError, match=f"has 500 MB, and .* {BYTES_MAX >> 20} MB at most"):
        read(large)
    os.mkfifo(tmp_path / "pipe.c")
    with pytest.raises(UsageError, match="not a plain file"):
        read(tmp_path / "pipe.c")
    with pytest.raises(UsageError, match="No such file or directory"):
        read(tmp_path / "none.c")


def _a_folder(here):
    (here / "program.toml").write_text('command = "cat data"\nfiles = ["data"]\n')
    (here / "data").symlink_to(here.parent / "private")
    return here


def _a_folder_in_it(here):
    (here / "program.toml").write_text('command = "cat d/private"\nfiles = ["d/private"]\n')
    (here / "d").symlink_to(here.parent)
    return here


def _what_says_it(here):
    (here / "program.toml").symlink_to(here.parent / "private")
    return here


def _a_header(here):
    (here / "a.c").write_text('#include "a.h"\nint main(void) { return 0; }\n')
    (here / "a.h").symlink_to(here.parent / "private")
    return here / "a.c"


@pytest.mark.parametrize("brings", [_a_folder, _a_folder_in_it, _what_says_it, _a_header])
def test_no_link_shows_a_file_of_the_users(tmp_path, brings):
    """The first line of a private file stood in the console, and in the manifest."""
    (tmp_path / "private").write_text("a private key\n")
    here = tmp_path / "brought"
    here.mkdir()
    with pytest.raises(UsageError, match=r"cannot read .*\((not a plain file|Not a directory)\)"):
        read(brings(here))


def test_what_the_user_names_may_be_a_link(tmp_path):
    (tmp_path / "there.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "here.c").symlink_to("there.c")
    assert read(tmp_path / "here.c").name == "here.c"


@pytest.mark.parametrize("place", ["../private", "d/../../private", "/etc/passwd"])
def test_no_place_leads_out_of_a_folder(tmp_path, place):
    (tmp_path / "brought/d").mkdir(parents=True)
    (tmp_path / "private").write_text("a private key\n")
    with pytest.raises(OSError, match="it leads out of its folder"):
        open_below(tmp_path / "brought", place)
