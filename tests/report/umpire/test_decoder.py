"""The protocol decoder in libsigrokdecode itself, on reference captures, clean and faulty."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

from tennis.report.umpire import open_capture
from tennis.report.umpire.agreement.balls import NONE, Balls, Decoder
from tests.support.captures import ball, decoded, told, write

REFERENCE = Path(__file__).parent / "reference"
TIMEOUT_US = 50

# name -> (edges, end, first level, options of the decoder); a sample is 1 us
CAPTURES = {
    "clean": (
        [*ball(100, 4, 9), *ball(300, 3, 30), *ball(500, 7, 12), *ball(700, 4, 9)],
        900,
        0,
        {},
    ),
    "faulty": (
        [
            *[(20, "r+"), (25, "r-")],  # a stray before the first ball
            *ball(100, 4, 9),
            *[(130, "r+"), (133, "r-")],  # a double
            *[(200, "p+"), (201, "p-")],  # a miss
            *[(300, "p+"), (301, "p-"), (304, "r+"), (380, "r-")],  # its end comes too late
            *[(500, "p+"), (501, "p-"), (520, "p+"), (521, "p-"), (525, "r+"), (530, "r-")],
            *[(600, "p+"), (601, "p-"), (650, "r+"), (651, "r-")],  # in the last moment, and after
            *ball(700, 1, 50),  # in time
            *[(800, "p+"), (801, "p-"), (805, "r+")],  # the capture ends
        ],
        820,
        0,
        {"interrupt_limit_us": 5, "scheduling_limit_us": 20},
    ),
    "inverted": (
        [
            *[(100, "p-"), (101, "p+"), (104, "r-"), (109, "r+")],
            *[(300, "p-"), (301, "p+"), (303, "r-"), (330, "r+")],
        ],
        500,
        3,
        {"ping_polarity": "active-low", "reply_polarity": "active-low"},
    ),
}


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("output", ["annotations.txt", "balls.csv", "histogram.csv"])
def test_the_decoder_says_what_is_expected(name, output, tmp_path):
    events, end, start, options = CAPTURES[name]
    path = write(tmp_path / "capture.sr", events, end, start=start)
    asked = {
        "annotations.txt": ("-A", "tennis", "--protocol-decoder-samplenum"),
        "balls.csv": ("-B", "tennis=csv"),
        "histogram.csv": ("-B", "tennis=histogram"),
    }[output]
    found = decoded(path, *asked, timeout_ms=TIMEOUT_US / 1000, **options)
    assert found == (REFERENCE / f"{name}-{output}").read_text()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("timeout_ms", "nan"),
        ("timeout_ms", "inf"),
        ("timeout_ms", "-1"),
        ("timeout_ms", "0"),
        ("timeout_ms", "1e30"),
        ("interrupt_limit_us", "nan"),
        ("scheduling_limit_us", "-1"),
        ("statistics_every", "-1"),
    ],
)
def test_options_that_cannot_be_are_told_in_one_line(option, value, tmp_path):
    """Also if the capture comes in many pieces after that."""
    events = [*ball(100, 4, 9), *ball(20_000_000, 3, 30)]
    path = write(tmp_path / "capture.sr", events, 30_000_000)
    found, said = told(path, f"{option}={value}")
    assert re.fullmatch(rf"tennis: {option}=\S+: use \S+ to \S+\n", said)
    assert found == f"tennis-1: {said.removeprefix('tennis: ')}"  # PulseView has no terminal


def random_edges(seed: int, count: int) -> list[tuple[int, str]]:
    """Return edges of which many make no sense, on wires whose levels alternate."""
    random = np.random.default_rng(seed)
    level = {"p": False, "r": False}
    events, tick = [], 10
    for _ in range(count):
        if random.random() < 0.5:
            whole = ball(tick, *sorted(random.integers(1, 60, 2).tolist()))
            if level == {"p": False, "r": False} and whole[2][0] != whole[3][0]:
                events += whole
                tick = whole[-1][0]
        else:
            wire = "pr"[int(random.integers(2))]
            level[wire] = not level[wire]
            events.append((tick, wire + "-+"[level[wire]]))
        tick += int(random.choice([0, 1, 2, 10, 49, 50, 51, 200]))
    return events


def own(path: Path) -> tuple[Balls, Decoder]:
    capture = open_capture(path)
    decoder = Decoder(TIMEOUT_US)
    return Balls.joined(list(decoder.decode(capture))), decoder


@pytest.mark.parametrize("seed", range(6))
def test_sigrok_and_tennis_find_the_same_balls(seed, tmp_path):
    """Two implementations, written apart: every ball, every stray, every double."""
    events = random_edges(seed, 1500)
    path = write(tmp_path / "capture.sr", events, events[-1][0] + 1000)
    lines = list(csv.DictReader(io.StringIO(decoded(path, "-B", "tennis=csv", timeout_ms=0.05))))
    said = decoded(path, "-A", "tennis=stray:double", timeout_ms=0.05)
    balls, decoder = own(path)
    assert len(lines) == len(balls) > 300
    for line, served, rise, fall in zip(lines, balls.served, balls.rise, balls.fall, strict=True):
        assert float(line["time_s"]) == pytest.approx(served / 1e6, abs=1e-9)
        assert (line["what"] == "miss") == (fall == NONE)
        assert line["interrupt_ns"] == ("" if rise == NONE else f"{rise * 1000:.3f}")
        if fall != NONE:
            assert line["scheduling_ns"] == f"{(fall - rise) * 1000:.3f}"
    assert said.count("stray") == decoder.strays.count > 10
    assert said.count("double") == decoder.doubles.count > 10
