# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Packages of other people's, made of the blocks of docs/how-it-is-built.md."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tennis import entries
from tennis.checkout import ROOT

PAGE = (ROOT / "docs" / "how-it-is-built.md").read_text()


def block(heading: str, language: str) -> str:
    """Return the first block of a language behind a heading of the page."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    assert found
    return found[1]


def install(site: Path, name: str, points: dict[str, dict[str, str]], **files: str) -> None:
    """Put a package where pip would: its modules, and its entry points."""
    package = site / name.replace("-", "_")
    package.mkdir(parents=True)
    for file, text in {"__init__": "", **files}.items():
        (package / f"{file}.py").write_text(text)
    about = site / f"{package.name}-1.dist-info"
    about.mkdir()
    lines = [
        line
        for group, entries_of in points.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries_of.items()), "")
    ]
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (about / "entry_points.txt").write_text("\n".join(lines))


def install_drill(site: Path) -> Path:
    """Put a package with the page's drill there; return the drill's source."""
    install(site, "tennis-yield", {"tennis.drills": {"yield": "tennis_yield"}})
    for name, language in (("drills.toml", "toml"), ("yield.c", "c")):
        (site / "tennis_yield" / name).write_text(block("A new drill", language))
    return site / "tennis_yield" / "yield.c"


@contextmanager
def with_drill(site: Path) -> Iterator[Path]:
    """Have a package with the page's drill in this process; yield the drill's source."""
    source = install_drill(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        entries.forget()
        yield source
    entries.forget()
    sys.modules.pop("tennis_yield", None)
