"""A witness inside the target: its times, on the instrument's clock, beside the balls."""

import base64
import gzip

import numpy as np
import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.explain.witness import compare
from tennis.kit.errors import RallyError, UsageError
from tennis.rally import open_rally, witness
from tests.support.synthetic import make_rally
from tests.support.virtual import played, table

HOLD_NS = 1_000_000


def late_by_hog(rally):
    """Return when a ball says that hog held interrupts off: from then on, until then; ns."""
    balls = table(rally)
    served, rise = (balls[name].to_numpy() for name in ("served_ns", "rise_ticks"))
    return [(s, s + r) for s, r in zip(served.tolist(), rise.tolist(), strict=True) if r > 50_000]


@pytest.mark.cases(more=["timerlat"])
@pytest.mark.virtual
@pytest.mark.parametrize("name", ["cyclictest", "timerlat"])
def test_a_witness_sees_what_holds_up_everybody(tmp_path, name):
    """A known answer: with interrupts off for a millisecond, outside and inside are late at once.

    Were the clocks a millisecond apart, or samples miscounted, they would not be.
    """
    rally = played(
        tmp_path / "r",
        kernel="rt",
        load="hog",
        load_options={"hold_us": HOLD_NS // 1000},
        witness=name,
        balls=400,
    )
    assert rally.manifest.target.witness == name
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (400, 0, False)
    inside = witness.samples(open_rally(rally.path))[-1]
    assert np.median(np.diff(inside.began)) == pytest.approx(witness.INTERVAL_NS, rel=0.01)
    # a sample of each millisecond from before the first ball to behind the last
    served = table(rally)["served_ns"].to_numpy()
    assert inside.began[0] < served[0] < served[-1] < inside.began[-1] + 5_000_000
    held = late_by_hog(rally)
    assert len(held) >= 5
    both = 0
    for began, ended in held:
        # a thread that was due before the interrupts came back is late until then
        due = (inside.began > began + 5_000) & (inside.began < ended - 40_000)
        for last in inside.ended[due].tolist():
            both += 1
            assert ended - 20_000 < last < ended + 60_000  # the clocks agree within some us
    assert both >= 20
    sight = compare(rally).sights[-1]
    assert sight.late == 4
    assert sight.sampled >= sight.seen


@pytest.mark.virtual
def test_a_kernel_without_the_tracer_is_not_played(tmp_path):
    with pytest.raises(UsageError, match="was built without CONFIG_TIMERLAT_TRACER"):
        played(tmp_path / "r", kernel="mainline", witness="timerlat", balls=10)
    assert not (tmp_path / "r").exists()


def test_nobody_starts_a_witness_where_no_target_is_named(tmp_path):
    words = ["rally", "--bench", "pi", "--witness", "cyclictest", "--out", str(tmp_path / "r")]
    assert "or --target" in str(CliRunner().invoke(cli, words).exception)


FIRST = (
    "cyclictest-9 [000] d..1. 5.1: hrtimer_start: hrtimer=1 function=hrtimer_wakeup "
    "expires=5000000000 softexpires=5000000000 mode=ABS|HARD was_armed=0\n"
)


def console(text, ready="tennis: fact ready_monotonic_ns 1000000000"):
    packed = base64.encodebytes(gzip.compress(text.encode(), mtime=0)).decode()
    return f"{ready}\ntennis: witness begins\n{packed}tennis: witness ends\n"


@pytest.fixture
def told(tmp_path):
    """Make a rally whose witness wrote a text."""
    rise = np.full(200, 1000)

    def make(text, **more):
        return make_rally(
            tmp_path / f"r{len(list(tmp_path.iterdir()))}",
            rise=rise,
            schedule=rise,
            witness="cyclictest",
            console=text,
            events=[{"at_ns": 3_000_000_000, "what": "ready", "value": 0}],
            **more,
        )

    return make


def test_a_late_sample_skips_those_that_are_over(told):
    """As timerthread does: 2.5 ms late means that the next is due 3 ms later."""
    rally = told(console(FIRST + "0: 0: 10\n 0: 1: 2500000\n 0: 2: 20\n 0: 3: 1000000\n0: 4: 5\n"))
    (inside,) = witness.samples(rally)
    due = (inside.began - 7_000_000_000) / 1e6
    assert due.tolist() == [0, 1, 4, 5, 6]
    assert inside.latency.tolist() == [10, 2_500_000, 20, 1_000_000, 5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (console(FIRST + "0: 0: 1\n").partition("\n")[2], "nothing ties the target's clock"),
        ("tennis: fact ready_monotonic_ns 5\n", "does not contain the witness's whole report"),
        (console(FIRST + "0: 0: 1\n").replace("witness ends", "w"), "does not contain the"),
        (console(FIRST), "reported no sample"),
        (console("0: 0: 1\n"), "reported no sample"),
        (console("x").replace("H4", "!!"), "garbled|does not contain"),
    ],
    ids=["no clock", "no testimony", "cut short", "no sample", "no first sample", "garbled"],
)
def test_half_a_testimony_is_none(told, text, words):
    with pytest.raises(RallyError, match=words):
        witness.samples(told(text))


def test_missed_balls_are_the_latest(told):
    """One in ten: the 99 % is among them, and they are the late balls, which were none at all."""
    rally = told(console(FIRST + "0: 0: 10\n0: 1: 20\n"), misses=20, rate_hz=1000.0)
    found = compare(rally)
    rise, width, end, inside = found.distributions
    assert (rise.count, rise.missed, rise.levels) == (200, 20, (1000, np.inf, None))
    assert [one.format_time(one.latest) for one in (rise, width, end)] == [
        "> 1.00 ms",
        "missed",
        "> 1.00 ms",
    ]
    assert (inside.missed, inside.latest) == (0, 20)
    assert found.sights[0].late == 20
    told_first = found.as_json()["distributions"][0]
    assert (told_first["p99_ns"], told_first["latest_ns"]) == (None, None)
    assert (told_first["missed"], told_first["later_than_ns"]) == (20, 999_996)
