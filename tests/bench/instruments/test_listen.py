# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Listening to the reply wire: real firmware on an emulated Pico, pulses that are known."""

import json

import numpy as np
import pytest

from tests.support.emulated_pico import EmulatedPico, respond
from tests.support.terminal import run

pytestmark = pytest.mark.virtual

MHZ_125 = 125_000_000


def test_what_comes_is_told_to_the_tick(tmp_path):
    log = tmp_path / "truth"
    pulses = {"period": MHZ_125 // 1000, "width": [3, 2000], "from": 6 * MHZ_125, "count": 700}
    with EmulatedPico(*respond("pulses", seed=5, log=str(log), **pulses)) as pico:
        words = ("--port", pico.url, "--seconds", "600", "--pulses", "700", "--json")
        done = run("brickwall", "listen", *words)
    assert done.exit_code == 0, done.output
    said = json.loads(done.output.splitlines()[-1])
    rises, widths = np.loadtxt(log, dtype=np.int64).T * 8
    assert (said["pulses"], said["runts"], said["tick_hz"]) == (700, 0, MHZ_125)
    assert said["width_ns"]["min"] == widths.min()
    assert said["width_ns"]["max"] == widths.max()
    assert said["width_ns"]["median"] == np.sort(widths)[349]
    periods = np.sort(np.diff(rises))
    least, median, most = (int(periods[at]) for at in (0, 349, 698))
    assert said["period_ns"] == {"min": least, "median": median, "max": most}


def test_nothing_comes():
    with EmulatedPico() as pico:
        done = run("brickwall", "listen", "--port", pico.url, "--seconds", "0.2")
    assert done.exit_code == 1
    assert "0 pulses on the reply wire" in done.output
    assert "no pulse came within 0.2 s: `tennis doctor` looks at the wires" in done.output


def test_nobody_is_there():
    done = run("brickwall", "listen", "--port", "socket://127.0.0.1:1")
    assert done.exit_code == 1
    assert "nothing listens there" in done.output
