# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""SECURITY.md says who is believed about what: each claim names tests, and they exist."""

import ast
import re

from tennis.kit.checkout import ROOT

CLAIMS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "SECURITY.md").read_text().splitlines()
    if line.startswith("|")
][2:]


def named_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_each_claim_is_shown_by_tests_that_exist():
    assert len(CLAIMS) >= 15
    for who, _, shown in CLAIMS:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", shown)
        assert named, who
        for path, test in named:
            found = named_in(path)
            assert found, path
            assert not test or test in found, f"{who}: {path}::{test}"


def test_no_claim_is_made_twice():
    whos = [who for who, *_ in CLAIMS]
    assert len(set(whos)) == len(whos)
