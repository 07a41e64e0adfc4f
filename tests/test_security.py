"""SECURITY.md says who is believed about what: each claim names tests, and they exist."""

import ast
import re
import sys

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


def test_what_was_tried_is_what_the_script_tries():
    """The sentence of SECURITY.md and the page come from one run of make faults."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import faults

    every = [(f"`{fault.command}`", fault.what, fault.when) for fault in faults.faults()]
    assert len(set(every)) == len(every) == 200
    page = (ROOT / "docs/evidence/faults.md").read_text()
    rows = [
        (command, what, f"after {part} of its time" if part else when.partition(" `")[0], lost)
        for what, when, lost in re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \|", page, re.MULTILINE)
        for command, parts in re.findall(r"(`\w+`)((?: \d+%)*)", when)
        for part in parts.split() or [""]
    ]
    assert sorted(row[:3] for row in rows) == sorted({*every} & {row[:3] for row in rows})
    (sentence,) = re.findall(r"^`make faults` tried .*\.$", page, re.MULTILINE)
    assert f"\n{sentence} [The table]" in (ROOT / "SECURITY.md").read_text()
    assert f"tried {len(rows)} " in sentence
    lost = sum(row[3] != "nothing" for row in rows)
    assert sentence.endswith(f"{lost} of them lost something." if lost else ": nothing was lost.")
