"""A Racquet of one's own: built in a box, the same everywhere, and its lines are the right ones."""

import hashlib
import shutil

import pytest

from tennis.bench.commands import run
from tennis.bench.kernels import catalogue, modules, own_module
from tennis.course.lab_files import solved
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, UsageError

pytestmark = pytest.mark.slow

RIGHT = solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text())


@pytest.fixture
def mainline():
    return catalogue.find("mainline")


def build(folder, text, kernel):
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "anything.c"
    source.write_text(text)
    return own_module.build(source, kernel)


def test_the_same_source_gives_the_same_bytes(tmp_path, mainline):
    """Also where a path of the build would get into the module: WARN_ON tells file and line."""
    text = RIGHT.replace("racquet_count_ping(r);", "racquet_count_ping(r);\n\tWARN_ON(!worker);")
    assert text != RIGHT
    found = []
    for name in ("one", "another"):
        own = build(tmp_path / name, text, mainline)
        found.append(hashlib.sha256(own.module.read_bytes()).hexdigest())
        shutil.rmtree(own.module.parent)  # the next one is not the cached one
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "line", ['#include "{path}"', 'asm(".incbin \\"{path}\\"");', 'asm(".include \\"{path}\\"");']
)
def test_no_file_of_this_machine_is_read(tmp_path, mainline, line):
    secret = tmp_path / "secret"
    secret.write_text("the_grader_s_own_words\n")
    secret.chmod(0o644)
    own = build(tmp_path / "m", f"{line.format(path=secret)}\n{RIGHT}", mainline)
    assert own.module is None
    assert own.errors
    assert "the_grader_s_own_words" not in "".join(own.errors)
    solution = ROOT / "labs/03-write-the-racquet/solution.toml"
    own = build(tmp_path / "m", f"{line.format(path=solution)}\n{RIGHT}", mainline)
    assert "No such file" in own.errors[0] or "file not found" in own.errors[0], own.errors


# doubled 60 times over, and memory keeps nothing of it
# the comment makes each turn slow, so that time ends before memory does
ENDLESS = (
    f"/* {'x' * 60_000} */"
    """
#if __INCLUDE_LEVEL__ < 60
#include __FILE__
#include __FILE__
#endif
#if !__INCLUDE_LEVEL__
{}
#endif
"""
)
# each is two of the one before, all in memory
DEEP = "".join(f"#define A{n} A{n - 1} A{n - 1}\n" for n in range(1, 40))
HUGE = f"#define A0 int x;\n{DEEP}A39\n{{}}"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (ENDLESS, "it did not end within 15 s"),
        (HUGE, "the compiler needs more than 3 GB of memory"),
    ],
    ids=["time", "memory"],
)
def test_a_source_that_asks_too_much_is_to_blame(tmp_path, mainline, monkeypatch, source, why):
    """A small module is built right afterwards, so the machine is not to blame."""
    monkeypatch.setattr(own_module, "LIMIT_S", 15.0 if source == ENDLESS else 300.0)
    own = build(tmp_path, f"/* {tmp_path} */\n{source.format(RIGHT)}", mainline)
    assert own.module is None
    assert own.errors == [f"compiling it: {why}; a small module was built right afterwards"]


def line_of(text: str, words: str) -> int:
    """Count by hand; the line of a mere declaration ends in a semicolon."""
    lines = enumerate(text.splitlines(), 1)
    return next(n for n, line in lines if words in line and not line.endswith(";"))


def test_each_function_has_its_own_line(tmp_path, mainline):
    """In a module all sections begin at 0: .exit.text must not be taken for .text, nor a header."""
    own = build(tmp_path, RIGHT, mainline)
    header = (ROOT / "target/racquet/racquet-device.h").read_text()
    own_lines = dict.fromkeys(("top_half", "bottom_half", "stop", "init"), (RIGHT, "racquet.c"))
    places = own_lines | dict.fromkeys(("exit", "probe"), (header, "racquet-device.h"))
    for name, (text, file) in places.items():
        # behind two instructions for tracers, which belong to no line
        told, _, line = own.line_of(f"racquet_{name}", 8).partition(":")
        first = line_of(text, f" racquet_{name}(")
        assert told == file, name
        assert first <= int(line) <= first + 5, (name, line)
    assert own.line_of("racquet_top_half", 1 << 20) == ""
    assert own.line_of("nothing", 0) == ""
    assert own.line_of("$(id)", 0) == ""


def test_a_module_is_of_the_file_that_is_as_it_was(tmp_path, mainline):
    source = tmp_path / "wheel.c"
    source.write_text(RIGHT)
    sha256 = hashlib.sha256(own_module.built(source, mainline).read_bytes()).hexdigest()
    assert own_module.source_of(sha256) == source
    source.write_text(f"{RIGHT}\n")
    assert own_module.source_of(sha256) is None
    source.unlink()
    assert own_module.source_of(sha256) is None
    assert own_module.source_of("../../etc/passwd") is None


def test_what_is_wrong_is_one_line(tmp_path, mainline):
    source = tmp_path / "racquet.c"
    source.write_text(RIGHT.replace("return IRQ_HANDLED;", "return IRQ_HANDLED"))
    with pytest.raises(BenchError, match=r"racquet.c is not built for mainline: racquet\.c:\d+: "):
        own_module.built(source, mainline)
    with pytest.raises(UsageError, match="cannot be read"):
        own_module.built(tmp_path / "none.c", mainline)
    source.write_bytes(b"/" * (own_module.SOURCE_MAX + 1))
    with pytest.raises(UsageError, match="is larger than"):
        own_module.built(source, mainline)


COLD = """
static noinline void cold_{number}(const char *what)
{{
	static int calls[{number} + 1];

	calls[{number}] += {number};
	pr_info("%s {number} %d\\n", what, calls[{number}]);
}}
"""


@pytest.mark.parametrize("kernel", ["mainline", "rt"])
def test_a_function_that_only_init_calls_does_not_kill_the_kernel(tmp_path, kernel):
    """An older gcc does not align it, and the kernel panicked when it prepared the module."""
    functions = "".join(COLD.format(number=number) for number in range(1, 6))
    calls = "".join(f"\n\tcold_{number}(bottom_half);" for number in range(1, 6))
    start = "static int __init racquet_init(void)\n{"
    assert start in RIGHT
    text = RIGHT.replace(
        start, f'{functions}\n{start}\n\tbottom_half = bottom_half ?: "own";{calls}'
    )
    own = build(tmp_path, text, catalogue.find(kernel))
    assert own.module is not None, own.errors
    told = run([f"{modules.PREFIX}objdump", "-h", "-r", own.module], what="reading the module")
    assert not modules._misaligned(told)
    # and the racquet that was aligned keeps what it had
    told = run(
        [f"{modules.PREFIX}objdump", "-r", build(tmp_path, RIGHT, catalogue.find(kernel)).module],
        what="x",
    )
    assert modules.PATCHED in told
    assert not modules._misaligned(told)
