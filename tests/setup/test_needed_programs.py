# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Setup installs every program that is started: held against apt, on a system with nothing on it.

A machine on which somebody once installed something shows no missing package. So apt resolves what
a stage installs against an empty system, without recommended packages, as setup does.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tennis.bench import programs
from tennis.bench.commands import run
from tennis.checkout import ROOT
from tennis.errors import BenchError
from tests.conftest import MACHINE
from tests.support.processes import run_to_end

STAGES = {stage: ["base", stage] for stage in ("lab", "pico", "provision")}
STAGES["base"] = ["base"]
STAGES["unit"] = ["base", "lab", "unit"]
STAGES["test"] = ["base", "lab", "pico", "provision", "unit", "test"]
STARTERS = {"run", "Popen", "check_output", "check_call", "call", "which", "find"}
WORD = re.compile(r"[a-z][a-z0-9+._-]*")


def rows(stage):
    here = {"always", "absent", MACHINE}
    return [row for row in programs.programs() if row.stage == stage and row.when in here]


@pytest.fixture(scope="module")
def apt(tmp_path_factory):
    """Return a function that runs apt for a system on which nothing is installed."""
    folder = tmp_path_factory.mktemp("apt")
    (folder / "status").touch()
    (folder / "lists/partial").mkdir(parents=True)
    options = ["-o", f"Dir::State::status={folder}/status", "-o", "Debug::NoLocking=1"]

    def ask(program, *words):
        done = run_to_end([program, *options, *words], check=True)
        return done.stdout

    if "Candidate: (none)" in (found := ask("apt-cache", "policy", "dpkg")) or not found:
        options += ["-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}"]
        ask("apt-get", "-qq", "update")
    return ask


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_installs_what_its_programs_need(stage, apt):
    asked = sorted({row.package for part in STAGES[stage] for row in rows(part)})
    said = apt("apt-get", "install", "--simulate", "--no-install-recommends", *asked)
    installed = set(re.findall(r"^Inst ([^ ]+)", said, re.MULTILINE))
    assert set(asked) <= installed
    # what mmdebstrap asks for and only recommends
    assert ("arch-test" in installed) == (stage == "test")


def test_what_every_system_has_is_on_every_system(apt):
    packages = {row.package for row in rows("system")} - {"apt"}
    said = apt("apt-cache", "show", "--no-all-versions", *sorted(packages))
    found = {text.partition("\n")[0].removeprefix("Package: "): text for text in said.split("\n\n")}
    for package in packages:
        assert re.search(r"^(Essential: yes|Priority: required)$", found[package], re.MULTILINE)


PROGRAMS = [
    r for r in programs.programs() if r.name != "-" and r.when in {"always", "absent", MACHINE}
]


def places(row):
    """Return where dpkg may know a program; empty: it is missing."""
    found = programs.find(row.name)
    return {found, str(Path(found).resolve()), found.removeprefix("/usr")} if found else set()


@pytest.fixture(scope="module")
def packages():
    """Return which installed packages hold a place; dpkg reads all their lists, so it does once."""
    asked = sorted(set().union(*map(places, PROGRAMS)))
    done = subprocess.run(["dpkg", "-S", *asked], capture_output=True, text=True, check=False)
    holding = {}
    for line in done.stdout.splitlines():  # "gcc-12, cpp:amd64: /usr/bin/..."
        names, _, place = line.rpartition(": ")
        holding[place] = {name.partition(":")[0] for name in names.split(", ")}
    assert len(holding) > len(PROGRAMS) / 2, done
    return holding


@pytest.mark.parametrize("row", PROGRAMS, ids=lambda row: row.name)
def test_a_program_is_in_its_package(row, packages):
    """dpkg says which installed package holds a program; one from elsewhere is not asked about."""
    real = places(row)
    if not real:
        assert row.when == "absent", f"{row.name} is missing"
        return
    owners = set().union(*(packages.get(place, set()) for place in real))
    if not owners or row.package in owners:
        return
    # a package that only depends on the one that holds it
    depends = run_to_end(
        ["apt-cache", "depends", "--recurse", "--important", row.package]

    ).stdout.split()  # fmt: skip
    assert owners & set(depends), (owners, row)


def test_every_program_that_a_source_names_is_listed():
    """Constant names in calls; what is started by a computed name is seen when it is started."""
    listed = {row.name for row in programs.programs()}
    unlisted = set()
    for path in [*(ROOT / "tennis").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if getattr(node.func, "attr", getattr(node.func, "id", "")) not in STARTERS:
                continue
            first = node.args[0]
            if isinstance(first, ast.List | ast.Tuple) and first.elts:
                first = first.elts[0]
                if isinstance(first, ast.Constant) and WORD.fullmatch(str(first.value)):
                    unlisted |= {first.value} - listed
    assert unlisted == set()


def test_a_missing_program_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BenchError, match=r"qemu-img is not installed; it is in Debian's package "
                       r"qemu-utils: run scripts/setup.sh --test"):  # fmt: skip
        run(["qemu-img", "--version"], what="making a disk")


def test_a_program_that_nobody_listed_is_not_started():
    with pytest.raises(AssertionError, match="perl is started, and scripts/programs"):
        subprocess.run(["perl", "-v"], check=False)
