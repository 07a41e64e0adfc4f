# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A new command is a file, as docs/how-it-is-built.md has it."""

import re
from types import ModuleType

import numpy as np
from click.testing import CliRunner

from tennis.checkout import ROOT
from tests.support.synthetic import make_rally


def test_the_pages_command_says_the_latest_ball(tmp_path):
    page = (ROOT / "docs" / "how-it-is-built.md").read_text().split("## A new command")[1]
    source = re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert source
    module = ModuleType("latest")
    exec(compile(source[1], "latest.py", "exec"), module.__dict__)  # noqa: S102 (our own page)
    rally = make_rally(tmp_path / "r", rise=np.array([1000, 4130, 2000]))
    done = CliRunner().invoke(module.__dict__["latest"], [str(rally.path)])
    assert (done.exit_code, done.output) == (0, "4.13 µs\n")
    assert "Examples:\n" in CliRunner().invoke(module.__dict__["latest"], ["--help"]).output
