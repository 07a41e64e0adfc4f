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
    for command, one in found.items():
        others = {file for other in found.values() if other is not one for file in other.own}
        for file in others.intersection(one.own):
            assert where.is_called(file.removesuffix(".py").replace("/", "."), command)


def test_a_file_called_like_a_command_is_the_commands():
    found = where.features()
    assert {"tennis/plots/drill.py", "tennis/pages/drill.py"} <= set(found["drill"].own)
    assert "tennis/comparison/ratios.py" in found["compare"].own
    assert "tennis/bench/kernels/packages.py" not in found["pack"].own


def test_what_no_command_needs_is_known():
    """A new file that nothing leads to is either forgotten, or has its reason here."""
    elsewhere = {
        "tennis/api.py",  # for notebooks
        "tennis/bench/calculated.py",  # for benches that packages bring
        "tennis/start.py",  # what `tennis` itself is
        "tennis/pages/explore.py",  # scripts/make_site.py
        "tennis/bench/sloth/emulated.py",  # what the next two time
        "tennis/bench/sloth/services.py",  # lab 10's tests
        "tennis/play/services.py",  # the same beneath Linux
    }
    found = where.features().values()
    led_to = {file for one in found for file in (*one.own, *one.shared, *one.ground)}
    every = {where.name_of(path) for path in where.modules_of_the_kit().values()}
    left = {file for file in every - led_to if not file.endswith("__init__.py")}
    assert left == elsewhere


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
