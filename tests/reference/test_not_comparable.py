# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What had nothing to compare with is said at the end of a run, also by several workers."""

import sys

import pytest

from tennis.checkout import ROOT
from tests.support.processes import run_to_end

SUITE = """
import pytest
from tests.support.not_comparable import skip

@pytest.mark.parametrize("name", "abc")
def test_moved(name):
    skip("a play: not comparable: another kernel")

def test_other():
    skip("another QEMU")

def test_nothing_to_do_with_it():
    pytest.skip("needs root")
"""
CONFTEST = """
from tests.support.not_comparable import NotComparable

def pytest_configure(config):
    config.pluginmanager.register(NotComparable())
"""


@pytest.mark.parametrize("workers", [[], ["--numprocesses", "2"]])
def test_the_last_lines_count_them(tmp_path, workers):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "-c", "/dev/null"]
    done = run_to_end([*command, str(tmp_path), *workers], cwd=ROOT)
    assert "5 skipped" in done.stdout, done.stdout + done.stderr
    _, found, rest = done.stdout.partition("not comparable: 4; a moved byte is not seen")
    assert found
    assert [line.strip() for line in rest.splitlines()[1:3]] == [
        "3  another kernel",
        "1  another QEMU",
    ]
