# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What is kept under the digest of its sources was made of these."""

import pytest

from tennis.bench import cache
from tennis.errors import TennisError


def test_sources_that_change_while_they_are_built_leave_nothing(tmp_path, monkeypatch):
    """An update of a checkout, under a command: the next one would take it for the old."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "a.c"
    source.write_text("old")

    def build(folder):
        source.write_text("new")
        (folder / "a").write_text(source.read_text())

    with pytest.raises(TennisError, match="files that a is made of changed while it was built"):
        cache.made_of("programs", "a", [source, "gcc 12"], build)
    assert not list((tmp_path / "cache/programs").glob("a-*"))
    made = cache.made_of("programs", "a", [source, "gcc 12"], build)
    assert (made / "a").read_text() == "new"
    assert made.name == f"a-{cache.digest(source, 'gcc 12')}"
