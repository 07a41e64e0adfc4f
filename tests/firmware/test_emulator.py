"""The emulated Pico: its own tests. Each rally of test_rallies.py has real MicroPython on it."""

import pytest

from tennis.bench.instruments import emulated
from tests.support.processes import run_to_end


@pytest.mark.slow
def test_its_own_tests_pass():
    emulated.check()
    result = run_to_end(["node", "--test"], cwd=emulated.FOLDER)
    assert result.returncode == 0, result.stdout + result.stderr
