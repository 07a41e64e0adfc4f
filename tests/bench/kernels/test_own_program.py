"""A program of one's own: compiled in a box, static, the same everywhere; errors in one line."""

import pytest

from tennis.bench.kernels import own_program
from tennis.kit.checkout import ROOT
from tennis.kit.errors import NotBuiltError
from tennis.rally.program import _check_executable, read

PROGRAMS = sorted((ROOT / "target/programs").glob("*.c"))


def build(folder, text, name="a.c"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return own_program.built(read(folder / name))


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_the_kit_s_programs_are_static_and_need_nothing(source):
    built = own_program.built(read(source))
    assert list(built.files) == [f"/program/{source.stem}"]
    _check_executable(source.stem, built.files[f"/program/{source.stem}"], static=True)


def test_the_same_source_gives_the_same_bytes(tmp_path, monkeypatch):
    """Wherever it lies, and also where the file's name gets into the program."""
    text = "#include <assert.h>\nint main(int argc, char **argv) { assert(argc && argv); }\n"
    found = set()
    for name in ("one", "another"):
        monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / f"cache of {name}"))
        found.add(build(tmp_path / name, text).sha256)
    assert len(found) == 1
    assert build(tmp_path / "other", text.replace("argc &&", "!argc ||")).sha256 not in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int main(void) { return 0 }", "a.c:1: expected ';' before '}' token"),
        ("int b(void); int main(void) { return b(); }", "undefined reference to `b'"),
        ('#include "/etc/passwd"\nint main(void) {}', "a.c:1: /etc/passwd: No such file"),
        ('#include "b.h"\nint main(void) {}', "a.c:1: b.h: No such file"),
        (
            "#include <gpiod.h>\nint main(void) {}",
            "header is in a package: name it in a program.toml",
        ),
        ('asm(".incbin \\"/etc/hostname\\"");\nint main(void) {}', "file not found: /etc/hostname"),
    ],
)
def test_what_cannot_be_compiled_is_said_in_one_line(tmp_path, text, said):
    with pytest.raises(NotBuiltError) as error:
        build(tmp_path / "m", text)
    words = str(error.value).replace("\u2018", "'").replace("\u2019", "'")
    assert "m/a.c is not built: " in words
    assert said in words
    assert "\n" not in words
