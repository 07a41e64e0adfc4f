"""What ``verify`` says of wires that take their time, and of two Picos on two crystals.

The real firmware, on emulated Picos whose pads and wires delay edges. ``docs/brickwall.md`` has the
table.
"""

import pytest

from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.serial_link import SerialLink
from tennis.play.commissioning.request import Amount
from tennis.play.verification import Verification
from tennis.play.verify import verify
from tests.support.emulated_pico import JUMPERS, EmulatedPico, edges

pytestmark = pytest.mark.virtual

FEW = Amount(each=1, random=192)
PADS_NS = 3


def verified(*arguments: str, amount: Amount = FEW) -> Verification:
    with EmulatedPico(*arguments) as pico:
        brickwall = Brickwall(SerialLink(pico.url))
        second = Brickwall(SerialLink(pico.second_url)) if pico.second_url else None
        try:
            return verify(brickwall, generator=second, amount=amount)
        finally:
            brickwall.close()
            if second:
                second.close()


@pytest.mark.more
@pytest.mark.parametrize(
    ("wire_ns", "loop_ns", "verdict"),
    [(0, 0, "pass"), (7, 16, "pass"), (14, 32, "pass"), (30, 64, "fail")],
)
def test_jumpers_delay_by_whole_ticks(wire_ns, loop_ns, verdict):
    """One clock: each leg's delay, with its pads, is seen in whole ticks, rounded down."""
    found = verified(*JUMPERS, *edges(wire_ns=wire_ns, pad_ns=PADS_NS))
    assert (found.verdict, found.loop_ns, found.width_ns) == (verdict, loop_ns, 0), found.reason
    assert found.largest_error_ticks == 0
    if verdict == "fail":
        assert "all answers are +64.0 ns off" in found.reason


@pytest.mark.more
@pytest.mark.parametrize("ppm", [100, 50, -50])
@pytest.mark.parametrize("wire_ns", [0, 7, 14, 30])
def test_two_picos_drift_through_every_phase(wire_ns, ppm):
    """The mean over all phases is the delay of wires and pads, to a fraction of a tick."""
    found = verified(f"--second={ppm}", *edges(wire_ns=wire_ns, pad_ns=PADS_NS))
    assert found.apart_ppm == pytest.approx(-ppm, abs=0.5)
    assert found.loop_ns == pytest.approx(2 * (wire_ns + PADS_NS), abs=1.5)
    assert sum(point.wrong for point in found.points) == 0
    good = abs(ppm) <= 60 and wire_ns < 30
    assert found.verdict == ("pass" if good else "fail"), found.reason
    if abs(ppm) > 60:
        assert f"the two clocks are {found.apart_ppm:+.1f} ppm apart" in found.reason
