# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Thousands of damaged inputs are refused with one line, or read: in little memory and time."""

import ast
import os
import re
import resource
import sys

import pytest

from tennis.checkout import ROOT
from tests.support.fuzz import NOT_DAMAGED, READERS, SLOW, TARGETS
from tests.support.processes import run_to_end

INPUTS = int(os.environ.get("TENNIS_FUZZ_INPUTS", "1000"))
SEED = int(os.environ.get("TENNIS_FUZZ_SEED", "1"))
# Address space, so that a bomb takes the memory of this test only: libraries reserve much more than
# they use, by the number of threads. What is used is measured by tests.support.fuzz itself.
MEMORY = 8 << 30
INPUT_S = 0.5  # on average, on a busy machine; it is a hundredth


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("what", TARGETS)
def test_damaged_inputs(what):
    inputs = INPUTS // SLOW[what]
    done = run_to_end(
        [sys.executable, "-m", "tests.support.fuzz", what, str(inputs), str(SEED)],
        cwd=ROOT,
        preexec_fn=limit,
        timeout=60 + INPUTS * INPUT_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith(f"{what}: {inputs} inputs, ")


# what turns bytes into something: a module that calls one of these reads what may be a stranger's
DECODES = {
    *("json.loads", "from_json", "tomllib.loads", "tomllib.load"),
    *("zipfile.ZipFile", "tar.extractall", "pq.ParquetFile", "pq.read_table"),
    *("np.frombuffer", "np.fromfile", "np.load", "struct.unpack", "struct.unpack_from"),
    *("struct.iter_unpack", "parser.read_string", "csv.reader", "csv.DictReader", "parse_qs"),
    *("RecordFile", "read_table"),  # the kit's own, which read for others
}
METHODS = {"model_validate", "model_validate_json", "unpack", "unpack_from"}  # of any object
# Debian's packages, whose hash is known; our own
NO_READERS = {"suite.unpack", "archive.unpack", "hand_in.unpack"}


def decoders() -> set[str]:
    """Return the modules of tennis/ that decode something."""
    found = set()
    for path in sorted((ROOT / "tennis").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            method = name.rpartition(".")[2] if "." in name else ""
            if name not in NO_READERS and (name in DECODES or method in METHODS):
                found.add(str(path.relative_to(ROOT / "tennis")))
    return found


def test_each_module_that_decodes_something_is_fuzzed_or_says_why_not():
    """A new kind of file cannot be forgotten."""
    left_out = {f"{module}.py" for modules in NOT_DAMAGED.values() for module in modules.split()}
    damaged = set[str]().union(*READERS.values())
    assert damaged.isdisjoint(left_out)
    assert decoders() == damaged | left_out
    for why in NOT_DAMAGED:  # a test that is named exists
        for path in re.findall(r"tests/\S+\.py", why):
            assert (ROOT / path).is_file(), path
