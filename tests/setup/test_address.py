# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Where people get Tennis is said in one place, and all that say it take it from there."""

import importlib.util

import pytest

from tennis import checkout
from tennis.checkout import ROOT, source_address
from tennis.pages.mail import COLUMNS, ball_text
from tests.explain.test_packing import explained

ADDRESS = "https://forge.invalid/a-real-time-group/tennis.git"
EMPTY = '[project.urls]\n# Source = "https://..."\n'
PAGES = {"README.md", "docs/install.md", "CONTRIBUTING.md", "SUPPORT.md", "CITATION.cff"}

spec = importlib.util.spec_from_file_location("address", ROOT / "scripts/address.py")
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Copy what says the address, and the place to fill, and take that for the checkout."""
    for name in (*PAGES, "codemeta.json", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(checkout, "PROJECT", tmp_path / "pyproject.toml")
    checkout.project.cache_clear()
    yield tmp_path
    checkout.project.cache_clear()


def fill(tree, address):
    """Fill the one place, as before a command begins."""
    file = tree / "pyproject.toml"
    assert EMPTY in file.read_text()
    file.write_text(file.read_text().replace(EMPTY, f'[project.urls]\nSource = "{address}"\n'))
    checkout.project.cache_clear()


def mail(folder):
    explanation, ball = explained(folder)
    return ball_text(explanation, ball, tree=False)


def test_all_places_say_what_pyproject_says(capsys):
    assert script.main(["--check"]) == 0, capsys.readouterr().out


def test_filled_once_it_is_everywhere(tree, capsys):
    before = {name: (tree / name).read_text() for name in PAGES}
    assert all("the folder that you have" in text for text in before.values())
    assert "the folder that you have" in mail(tree / "before")
    fill(tree, ADDRESS)
    assert script.main(["--check"]) == 1
    said = capsys.readouterr().out
    assert all(name in said for name in PAGES)
    assert script.main([]) == 0
    assert script.main(["--check"]) == 0
    for name in PAGES:
        text = (tree / name).read_text()
        assert text.count(ADDRESS) == 1, name
        assert "the folder that you have" not in text, name
        assert len(text.splitlines()) == len(before[name].splitlines()), name
    written = mail(tree / "after")
    assert f"    git clone {ADDRESS} TENNIS\n" in written
    assert "the folder that you have" not in written
    assert max(map(len, written.splitlines())) <= COLUMNS


@pytest.mark.parametrize(
    "address",
    ["git@forge.invalid:tennis.git", "https://x.invalid/$(reboot)", "https://" + "x" * 44],
)
def test_what_a_shell_or_a_mail_cannot_hold_is_refused(tree, address):
    fill(tree, address)
    with pytest.raises(ValueError, match=r"pyproject.toml: the address"):
        source_address()


def test_a_page_without_its_place_is_an_error(tree):
    (tree / "README.md").write_text("# Tennis\n")
    with pytest.raises(ValueError, match=r"README.md has 0 places"):
        script.main([])
