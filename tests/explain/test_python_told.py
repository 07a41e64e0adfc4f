"""The functions and lines of a program in Python: read from outside, right or not there."""

import struct
import subprocess

import pytest

from tennis.bench.virtual import elf
from tennis.bench.virtual.profiler import _place
from tennis.explain.segments import Names, Segments
from tennis.rally.phases import EVAL_LOOP, NO_LINE_OF_PYTHON, PROGRAM, USER, Symbol
from tests.support.phases import made_phase


@pytest.mark.parametrize(
    ("cookie", "version", "threaded", "known"),
    [
        (b"xdebugpy", 0x030D05F0, 0, True),
        (b"xdebugpy", 0x030E00F0, 0, False),  # another table
        (b"xdebugpy", 0x030D05F0, 1, False),
        (b"xdebugpX", 0x030D05F0, 0, False),
    ],
)
def test_only_a_table_that_is_known_is_used(tmp_path, cookie, version, threaded, known):
    words = ", ".join(map(str, [*struct.unpack("<3Q", struct.pack("<8s2Q", cookie, version, threaded)), *range(70)]))  # fmt: skip  # noqa: E501
    (tmp_path / "a.c").write_text(
        f"unsigned long _PyRuntime[] = {{ {words} }};\nint main(void) {{ return 0; }}\n"
    )
    line = ["aarch64-linux-gnu-gcc", "-no-pie", "-rdynamic", "a.c", "-o", "x"]
    subprocess.run(line, cwd=tmp_path, check=True)
    content = (tmp_path / "x").read_bytes()
    layout = elf.python_layout({"x": content})
    assert bool(layout) == known
    if known:
        # the list of interpreters, ..., the text behind a text's head (python.h)
        assert struct.unpack("<19Q", layout)[1:] == elf._LAYOUT
    for end in range(0, len(content), 997):  # cut off anywhere, it is no trouble
        elf.python_layout({"x": content[:end]})


def test_a_place_is_the_innermost_line_of_its_own_files():
    lines = [
        Symbol(0x1000, EVAL_LOOP, PROGRAM),
        _place((b"note", b"/program/a.py", 9)),
        _place((b"Handler.acquire", b"/usr/lib/python3.13/logging/__init__.py", 932)),
        _place((b"", b"", 0)),
        Symbol(0x2000, "PyThread_acquire_lock_timed", PROGRAM),
    ]
    nodes = [(-1, 0), (0, USER), (1, 1), (2, 2), (3, 0), (4, 4), (1, 3), (6, 0)]
    phase = made_phase(0, nodes, [(5, 0, 90), (7, 0, 9)], ["python3"], of_program=["python3"])
    part = Segments(phase, Names(lines, of_program=True))
    assert (part.site(0), part.stack(7)[1]) == ("note (a.py:9)", f"{NO_LINE_OF_PYTHON} [Python's library]")  # fmt: skip  # noqa: E501
    assert part.site(1) == NO_LINE_OF_PYTHON
    said = str(part.blame(part.weights))
    assert "Handler.acquire (logging/__init__.py:932) < note (a.py:9) (its own code" in said
    assert EVAL_LOOP not in said
