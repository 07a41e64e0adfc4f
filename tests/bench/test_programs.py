# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A program that is missing is named with its package."""

import pytest

from tennis.bench.commands import run
from tennis.kit.errors import BenchError


def test_a_missing_program_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BenchError, match=r"qemu-img is not installed; it is in Debian's package "
                       r"qemu-utils: run scripts/setup.sh --test"):  # fmt: skip
        run(["qemu-img", "--version"], what="making a disk")
