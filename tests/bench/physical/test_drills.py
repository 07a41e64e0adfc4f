# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a drill takes to a board, also that of a package."""

from pathlib import Path

import pytest

from tennis.bench.physical.drills import files_of, versions_of
from tennis.rally.manifest import Drill
from tests.support.packages import with_drill

KIT = {f"drill-source/{name}" for name in ("drill.h", "drill-kernel.h", "drill-user.h", "Kbuild")}


def in_kernel(name: str) -> Drill:
    return Drill(name=name, context="kernel", period_ns=1_000_000)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return the source of a drill of a package that is installed."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))
    with with_drill(tmp_path / "site") as path:
        yield path


def test_a_packages_module_is_built_there_of_its_own_source(source):
    files = files_of(in_kernel("yield"))
    assert set(files) == {*KIT, "drill-source/yield.c"}
    kbuild, sent = (Path(str(files[f"drill-source/{name}"])) for name in ("Kbuild", "yield.c"))
    assert kbuild.read_text() == "obj-m := yield.o\n"
    assert sent.read_text() == source.read_text()
    before = versions_of(in_kernel("yield"))
    source.write_text(source.read_text() + "/* another one */\n")
    after = versions_of(in_kernel("yield"))
    assert after["target_module"] == before["target_module"] == "drill yield"
    assert after["target_module_sha256"] != before["target_module_sha256"]


def test_the_kits_module_is_built_there_of_sources_alone():
    files = files_of(in_kernel("switch"))
    assert {*KIT, "drill-source/switch.c"} <= set(files)
    assert {Path(name).suffix for name in files} == {"", ".c", ".h"}
