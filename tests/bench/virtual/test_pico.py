"""The real Brickwall on an emulated Pico plays against real kernels, in one common time."""

import numpy as np
import pytest

from tennis.bench.virtual.bench import Extras
from tennis.kit.gaps import gap_ns
from tennis.rally import open_rally
from tests.support.shared import made_once
from tests.support.virtual import played, table

pytestmark = pytest.mark.virtual

PICO_TICK_NS = 8
# an instruction: a deadline that falls into one is met after it
INSTRUCTION_NS = 2
# an emulated Pico takes its time over a rest, however idle its target is
QUICK = {"settle_s": 0.01, "gap_min_us": 100, "gap_max_us": 200}


def times_ns(rally):
    """Return when replies rose and fell after their pings, in ns: two arrays."""
    balls, tick_ns = table(rally), 1e9 / rally.manifest.instrument.tick_hz
    return tuple(np.array(balls[name]) * tick_ns for name in ("rise_ticks", "fall_ticks"))


@pytest.mark.more
@pytest.mark.parametrize(
    ("instrument", "resolution_ns"), [("builtin", INSTRUCTION_NS), ("pico", PICO_TICK_NS)]
)
def test_known_answers_are_measured_within_a_tick(tmp_path, instrument, resolution_ns):
    """Answers that QEMU gives in the target's place: every ball, both edges, from 100 ns on."""
    answers = {"answer_seed": 7, "answer_min": 100, "answer_max": 200_000}
    plan = {"balls": 1000, "instrument": instrument, **QUICK}
    rally = played(tmp_path / "r", Extras(answers=answers), **plan)
    assert (rally.balls, rally.misses) == (1000, 0)
    drawn = np.array([gap_ns(7, n, 100, 200_000) for n in range(2000)])
    rise, width = drawn[::2], drawn[1::2]
    measured_rise, measured_fall = times_ns(rally)
    for error in (measured_rise - rise, measured_fall - rise - width):
        assert error.min() >= 0
        assert error.max() < resolution_ns


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """Return a plan, and what each instrument saw of it."""
    plan = {"kernel": "mainline", "load": "idle", "bottom_half": "thread", "seed": 7}
    plan |= {"balls": 1500, **QUICK}

    def make(folder):
        for name in ("builtin", "pico"):
            played(folder / name, instrument=name, **plan)

    made = made_once(tmp_path_factory, "twice", make)
    return plan, {name: open_rally(made / name) for name in ("builtin", "pico")}


def test_both_instruments_agree_about_a_kernel(twice):
    """The gaps differ by the Pico's few cycles, so single balls do; their distribution does not."""
    _, rallies = twice
    for which in (0, 1):
        builtin, pico = (times_ns(rally)[which] for rally in rallies.values())
        for quantile in (0.1, 0.25, 0.5, 0.75, 0.9):
            low, high = np.quantile(builtin, [quantile - 0.04, quantile + 0.04])
            assert low - PICO_TICK_NS <= np.quantile(pico, quantile) <= high + PICO_TICK_NS
