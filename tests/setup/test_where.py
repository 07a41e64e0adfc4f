# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""scripts/where.py says where a feature is."""

import importlib.util

import pytest

from tennis.checkout import ROOT
from tennis.cli import names

spec = importlib.util.spec_from_file_location("where", ROOT / "scripts/where.py")
assert spec
assert spec.loader
where = importlib.util.module_from_spec(spec)
spec.loader.exec_module(where)


def test_where_compare_is():
    found = where.features()["compare"]
    assert {
        "tennis/cli/compare.py",
        "tennis/play/comparing.py",
        "tennis/comparison/words.py",
        "tennis/pages/compare.py",
    } <= {*found.own, *found.shared}
    assert "tests/play/test_comparing.py" in found.tests
    assert found.pages == ("docs/commands/compare.md", "docs/compare.md")
    assert "tennis/store/store.py" not in {*found.own, *found.shared}


def test_what_a_room_adds_is_found_through_its_entry_point():
    found = where.features()
    assert "tennis/play/cluster/client.py" in found["match"].shared
    assert "tennis/umpire/simulate.py" not in found["stats"].own
    assert set(found) == set(names())
    # a file is at one place: what two have is shared, unless it is called like one of them
    called = {f"{name}.py" for name in found}
    owners = [file for one in found.values() for file in one.own]
    twice = {file for file in owners if owners.count(file) > 1}
    assert {file.rpartition("/")[2] for file in twice} <= called


def test_the_program(capsys):
    assert where.main(["card"]) == 0
    assert "own    tennis/bench/fleet/card.py\n" in capsys.readouterr().out
    assert where.main([]) == 0
    assert "compare " in capsys.readouterr().out
    assert where.main(["nothing"]) == 2
    assert capsys.readouterr().err.startswith("where: no command nothing: use rally, ")


@pytest.mark.parametrize("name", ["tests", "pages"])
def test_every_file_exists(name):
    for one in where.features().values():
        assert all((ROOT / file).is_file() for file in getattr(one, name))
