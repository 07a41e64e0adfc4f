"""Two clocks that saw the same pings: made-up crystals with a known truth."""

import numpy as np
import pytest

from tennis.rally.witness import _tie

QUICKEST_NS = 900  # from a ping to the end of its handler, at least


def pings(count=3_000, *, gap_ns=(500_000, 2_000_000), seed=1):
    """Return when pings were served; ns of the instrument's clock."""
    gaps = np.random.default_rng(seed).integers(*gap_ns, count, endpoint=True)
    return 7_000_000_000 + np.cumsum(gaps)


def stamped(served, *, apart=30e-6, wander=2e-6, late_one_in=20, seed=2):
    """Return a target's stamps, in whole µs, and what its clock says at a time of the instrument's.

    ``apart``: of the crystals; ``wander``: how much that changes through the rally, with warmth.
    """
    random = np.random.default_rng(seed)
    length = served[-1] - served[0]

    def target(times):
        share = (times - served[0]) / length
        return times - 5_123_456_789 + ((apart + wander * share) * (times - served[0]))

    took = QUICKEST_NS + random.exponential(800, served.size)
    late = random.random(served.size) < 1 / late_one_in
    took[late] += random.exponential(60_000, late.sum())
    stamps = (target(served) + took).astype(np.int64)
    return (np.maximum.accumulate(stamps) + 500) // 1000 * 1000, target


def error_ns(clock, target, served):
    """Return how wrong a clock is at all times of a rally: the least and the most; ns."""
    times = np.linspace(served[0], served[-1], 5_000).astype(np.int64)
    wrong = clock(target(times).astype(np.int64)) - times
    return int(wrong.min()), int(wrong.max())


@pytest.mark.parametrize("apart", [-100e-6, 0.0, 100e-6])
@pytest.mark.parametrize("gap_ns", [(500_000, 2_000_000), (20_000_000, 300_000_000)])
def test_crystals_that_part_are_followed(apart, gap_ns):
    served = pings(2_000, gap_ns=gap_ns)
    stamps, target = stamped(served, apart=apart)
    least, most = error_ns(_tie(stamps, served), target, served)
    # too early by what the quickest handlers took; a stamp is a whole µs, and a rate is not exact
    assert -QUICKEST_NS - 2_000 < least <= most < 2_000


@pytest.mark.parametrize("first", [-3, 0, 5])
def test_stamps_and_pings_that_lack_each_other(first):
    """Pings that came before the rally, pings without a stamp, stamps without a ping."""
    served = pings()
    stamps, target = stamped(served)
    strange = stamps[5:8] + 250_000
    seen = np.delete(stamps, [40, 41, 700, 1500])
    seen = np.sort(np.concatenate([seen, strange]))
    if first >= 0:
        seen = seen[first:]
    else:
        seen = np.concatenate([seen[0] - 1_300_000 * np.arange(3, 0, -1), seen])
    least, most = error_ns(_tie(seen, served), target, served[10:])
    assert -QUICKEST_NS - 3_000 < least <= most < 3_000


def test_an_even_beat_needs_every_stamp():
    """Shifted by one ping, an even beat looks the same: it would be wrong by a whole period."""
    served = 7_000_000_000 + 1_000_000 * np.arange(1_000)
    stamps, target = stamped(served)
    least, most = error_ns(_tie(stamps, served), target, served)
    assert -QUICKEST_NS - 1_500 < least <= most < 500
    with pytest.raises(ValueError, match="too even"):
        _tie(stamps[1:], served)
