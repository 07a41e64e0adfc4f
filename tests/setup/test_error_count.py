# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The lint's count of errors sees every kind of them, not only those of one file."""

import ast
import runpy

import pytest

from tennis.checkout import ROOT

COUNT = runpy.run_path(str(ROOT / "scripts" / "errors.py"))
TREE = ast.parse(
    "class OddError(UsageError): ...\n"
    "class UsageError(errors.TennisError): ...\n"
    "class Other(ValueError): ...\n"
    "raise OddError('no')\n"
    "raise rooms.OddError('no', next_step='say yes')\n"
    "raise Other('no')\n"
)


def test_errors_of_every_class_are_counted():
    names = COUNT["error_names"]([TREE])
    assert names == {"TennisError", "UsageError", "OddError"}
    assert [(line, step) for line, _, step in COUNT["errors"](TREE, names)] == [
        (4, False),
        (5, True),
    ]


@pytest.mark.parametrize("name", ["CaptureError", "LabError", "WorkError", "LinkLostError"])
def test_the_rooms_own_errors_are_among_them(name):
    trees = [ast.parse(path.read_text()) for path in (ROOT / "tennis").rglob("*.py")]
    assert name in COUNT["error_names"](trees)
