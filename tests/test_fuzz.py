"""Thousands of damaged inputs are refused with one line, or read: in little memory and time."""

import os
import resource
import sys

import pytest

from tennis.kit.checkout import ROOT
from tests.support.fuzz import SLOW, TARGETS
from tests.support.processes import run_to_end

INPUTS = int(os.environ.get("TENNIS_FUZZ_INPUTS", "1000"))
SEED = int(os.environ.get("TENNIS_FUZZ_SEED", "1"))
# Address space, so that a bomb takes the memory of this test only: libraries reserve much more than
# they use, by the number of threads. What is used is measured by tests.support.fuzz itself.
MEMORY = 8 << 30
INPUT_S = 0.5  # on average, on a busy machine; it is a hundredth


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.more
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
