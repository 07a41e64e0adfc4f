# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Captures of all forms give the same edges; what is damaged or hostile is told, and bounded."""

import itertools
import os
import re
import resource
import struct
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tennis.errors import TennisError
from tennis.umpire import CaptureError, Wires, open_capture
from tennis.umpire.captures.channels import Threshold
from tennis.umpire.captures.srzip import CHUNK_SAMPLES, Changes
from tennis.umpire.captures.two_tables import open_pair
from tests.support.captures import MHZ, ball, sigrok, write

EVENTS = [*ball(100, 4, 9), *ball(300, 3, 30, pulse=2), *ball(700, 1, 2)]
END = 1000


def all_edges(capture) -> list[tuple[int, int]]:
    parts = list(capture.edges())
    return [
        (int(tick), int(code))
        for part in parts
        for tick, code in zip(part.ticks, part.codes, strict=True)
    ]


EXPECTED = sorted((tick, ("p-", "r-", "p+", "r+").index(what)) for tick, what in EVENTS)


@pytest.fixture
def session(tmp_path):
    return write(tmp_path / "capture.sr", EVENTS, END)


def test_a_session_is_read_as_it_was_written(session, tmp_path):
    assert write(tmp_path / "again.sr", EVENTS, END).read_bytes() == session.read_bytes()
    capture = open_capture(session)
    assert all_edges(capture) == EXPECTED
    assert (capture.end_ticks, capture.tick_hz, capture.high_at_start) == (
        END,
        MHZ,
        (False, False),
    )


@pytest.mark.parametrize("form", ["vcd", "csv", "csv:time=true", "srzip"])
def test_what_sigrok_exports_gives_the_same_edges(session, tmp_path, form):
    """sigrok reads our session, writes its own forms, and these are read."""
    path = tmp_path / f"exported.{form.partition(':')[0]}"
    sigrok("-i", session, "-O", form, "-o", path)
    capture = open_capture(path)
    assert all_edges(capture) == EXPECTED
    assert capture.resolution_ns == 1000


@pytest.mark.parametrize("unit", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_edges_are_found_in_any_samples(unit, seed):
    """Against looking at each sample; other channels make noise."""
    random = np.random.default_rng(seed)
    bits = tuple(random.choice(8 * unit, 2, replace=False).tolist())
    lengths = random.choice([1, 2, 7, 8, 9, 100, 5000], 300)
    values = np.repeat(random.integers(0, 256, (300, unit), np.uint8), lengths, axis=0)
    changes = Changes(unit, bits)
    cuts = [0, 5, 6, 1000, len(values)]
    found = [changes.take(values[a:b].tobytes()) for a, b in itertools.pairwise(cuts)]
    expected = []
    for wire, bit in enumerate(bits):
        level = (values[:, bit // 8] >> (bit % 8)) & 1
        where = np.flatnonzero(np.diff(level.astype(int))) + 1
        expected += [(int(tick), 2 * int(level[tick]) + wire) for tick in where]
    got = [
        pair
        for part in found
        for pair in zip(part.ticks.tolist(), part.codes.tolist(), strict=True)
    ]
    assert got == sorted(expected)


def test_idle_wires_cost_next_to_nothing(tmp_path):
    """A second of nothing at 24 MHz."""
    events = [*ball(1000, 40, 90), *ball(23_000_000, 40, 90)]
    path = write(tmp_path / "idle.sr", events, 24_000_000, rate=24 * MHZ)
    assert path.stat().st_size < 150_000
    assert len(all_edges(open_capture(path))) == 8
    assert CHUNK_SAMPLES < 24_000_000


# --- oscilloscopes ---
def volts(step_ns=100, count=400):
    """Return times (s), ping and reply (V): a slow edge, ringing, noise."""
    random = np.random.default_rng(1)
    index = np.arange(count)
    ping = np.where((index >= 100) & (index < 110), 3.3, 0.0)
    reply = np.where((index >= 140) & (index < 190), 3.3, 0.0)
    ping[110] = 1.7  # on its way down: between the thresholds
    reply[141] = 1.6  # rings after it rose
    noise = random.normal(0, 0.03, (2, count))
    return index * step_ns * 1e-9 - 1e-5, ping + noise[0], reply + noise[1]


SCOPE = [(100, 2), (111, 0), (140, 3), (190, 1)]


def rows(*columns, text="%.6g", delimiter=","):
    table = zip(*columns, strict=True)
    return "\n".join(delimiter.join(text % value for value in row) for row in table)


def scope_file(maker):
    t, p, r = volts()
    sequence = np.arange(t.size)
    return {
        "rigol": "X,CH1,CH2,Start,Increment,\nSequence,Volt,Volt,-1.000000e-05,1.000000e-07\n"
        + "\n".join(f"{i},{a:.2e},{b:.2e},,," for i, a, b in zip(sequence, p, r, strict=True)),
        "rigol-times": "Time(s),CH1V,CH2V\n" + rows(t, p, r),
        "siglent": "Record Length,Analog:400\nSample Interval,Analog:1.00E-07\n"
        "Vertical Units,CH1:V,CH2:V\nSource,CH1,CH2\nSecond,Volt,Volt\n" + rows(t, p, r),
        "tektronix": "Model,MSO24\nFirmware Version,1.2\n\nSample Interval,1e-07\n"
        "Record Length,400\nHorizontal Units,s\n\nTIME,CH1,CH2\n" + rows(t, p, r),
        "lecroy": "LECROYHDO4024,12345,Waveform\nSegments,1,SegmentSize,400\n"
        "Segment,TrigTime,TimeSinceSegment1\n#1,01-Jan-2026 10:00:00,0\nTime,Ampl,Ampl\n"
        + rows(t, p, r),
        "decimal commas": "Time;CH1;CH2\n" + rows(t, p, r, delimiter=";").replace(".", ","),
        "tabs": "t\tA\tB\n" + rows(t, p, r, delimiter="\t"),
    }[maker] + "\n"


MAKERS = ["rigol", "rigol-times", "siglent", "tektronix", "lecroy", "decimal commas", "tabs"]


@pytest.mark.parametrize("maker", MAKERS)
def test_tables_of_oscilloscopes(maker, tmp_path):
    path = tmp_path / "scope.csv"
    path.write_text(scope_file(maker))
    capture = open_capture(path)
    assert all_edges(capture) == SCOPE
    assert capture.resolution_ns == pytest.approx(100, rel=1e-3)


def test_an_oscilloscope_that_keeps_a_file_a_channel(tmp_path):
    t, p, r = volts()
    head = "LECROYWS424,1,Waveform\nSegments,1,SegmentSize,400\nTime,Ampl\n"
    paths = [tmp_path / "C1.csv", tmp_path / "C2.csv"]
    for path, values in zip(paths, (p, r), strict=True):
        path.write_text(head + rows(t, values) + "\n")
    capture = open_pair(*paths, (None, None), Threshold())
    assert all_edges(capture) == SCOPE
    with pytest.raises(CaptureError, match="holds one channel: name the file of ping"):
        open_capture(paths[0])


def test_a_table_of_changes_has_the_times_of_its_rows(tmp_path):
    path = tmp_path / "saleae.csv"
    path.write_text(
        "Time [s],Channel 0,Channel 1\n0,0,0\n0.0001,1,0\n0.000101,0,0\n0.00010425,0,1\n"
        "0.00011,0,0\n0.5,0,0\n"
    )
    capture = open_capture(path)
    assert [(tick / 1e12, code) for tick, code in all_edges(capture)] == [
        (1e-4, 2),
        (1.01e-4, 0),
        (1.0425e-4, 3),
        (1.1e-4, 1),
    ]


# --- channels ---
def test_channels_are_chosen_by_name_or_place(tmp_path):
    path = tmp_path / "x.vcd"
    header = "$timescale 1 us $end $var wire 1 a {0} $end $var wire 1 b {1} $end "
    body = "$enddefinitions $end #0 0a 0b #5 1a #6 1b #9\n"
    for names, wires, first in (
        (("D0", "D1"), Wires(), "D0"),
        (("reply", "ping"), Wires(), "ping"),
        (("D0", "D1"), Wires(ping="d1"), "D1"),
        (("D0", "D1"), Wires(reply="D0"), "D1"),
    ):
        path.write_text(header.format(*names) + body)
        capture = open_capture(path, wires)
        assert capture.ping == first
        assert capture.reply != first
    with pytest.raises(CaptureError, match="no channel 'D7': it has D0, D1"):
        open_capture(path, Wires(ping="D7"))
    with pytest.raises(CaptureError, match="cannot be both"):
        open_capture(path, Wires(ping="D0", reply="D0"))


def test_inverted_wires_are_turned_round(session):
    capture = open_capture(session, Wires(invert_ping=True))
    found = all_edges(capture)
    assert found == sorted((t, c ^ 2 if c in {0, 2} else c) for t, c in EXPECTED)
    assert capture.high_at_start == (True, False)


# --- damaged, hostile ---
def test_a_truncated_session_is_told_wherever_it_was_cut(session):
    whole = session.read_bytes()
    for cut in range(0, len(whole) - 1, 7):
        session.write_bytes(whole[:cut])
        with pytest.raises(CaptureError, match=r"truncated|empty|export|capture"):
            all_edges(open_capture(session))


def test_a_session_with_flipped_bytes_is_told_or_the_same(session):
    whole = session.read_bytes()
    for at in range(0, len(whole), 5):
        session.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            found = all_edges(open_capture(session))
        except CaptureError:
            continue
        assert found == EXPECTED, f"byte {at}"


def rezip(path, **members):
    with zipfile.ZipFile(path) as old:
        kept = {name: old.read(name) for name in old.namelist()}
    kept |= members
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in kept.items():
            if data is not None:
                new.writestr(name, data)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"version": None}, "not one of sigrok's"),
        ({"version": b"9"}, "version"),
        ({"metadata": b"["}, "cannot be read"),
        ({"metadata": b"[device 1]\nprobe1=a\nprobe2=b\nunitsize=1\n"}, "how fast"),
        ({"metadata": b"[device 1]\nprobe1=a\nsamplerate=1 MHz\nunitsize=1\n"}, "1 of the two"),
        (
            {"metadata": b"[device 1]\nprobe1=a\nprobe2=b\nsamplerate=1 MHz\nunitsize=99999\n"},
            "unitsize",
        ),
        (
            {"metadata": b"[device 1]\nprobe1=a\nprobe40=b\nsamplerate=1 MHz\nunitsize=1\n"},
            "more channels",
        ),
        ({"metadata": b"[device 1]\nanalog1=CH1\nsamplerate=1 MHz\nunitsize=1\n"}, "analog"),
        ({"metadata": b"x" * (1 << 20)}, "too large"),
        ({"logic-1-1": None}, "no samples"),
        ({"logic-1-3": b"\0"}, "lacks logic-1-2"),
    ],
)
def test_sessions_that_are_none(session, members, words):
    rezip(session, **members)
    with pytest.raises(CaptureError, match=words):
        all_edges(open_capture(session))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(session):
    """Its directory says that each of its members has 4 GB."""
    rezip(session, **{f"logic-1-{number}": b"\0" for number in range(1, 66)})
    data = bytearray(session.read_bytes())
    for entry in re.finditer(rb"PK\x01\x02(?s:.{42})logic-1-", bytes(data)):
        data[entry.start() + 24 : entry.start() + 28] = (0xFFFFFFF0).to_bytes(4, "little")
    session.write_bytes(data)
    with pytest.raises(CaptureError, match="more than 274877906944 samples"):
        open_capture(session)


def test_a_directory_that_lies_about_sizes_unpacks_no_more_than_it_says(session):
    rezip(session, **{"logic-1-1": bytes(1 << 22)})
    data = bytearray(session.read_bytes())
    # the directory says 1000 bytes
    at = data.rfind(b"logic-1-1") - 46
    data[at + 24 : at + 28] = (1000).to_bytes(4, "little")
    session.write_bytes(data)
    with pytest.raises(CaptureError, match="truncated or damaged"):
        all_edges(open_capture(session))


def test_a_zip_of_a_million_members_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr("tennis.umpire.captures.srzip.MAX_MEMBERS", 100)
    path = tmp_path / "many.sr"
    with zipfile.ZipFile(path, "w") as archive:
        for n in range(101):
            archive.writestr(f"logic-1-{n}", b"")
    with pytest.raises(CaptureError, match="101 members"):
        open_capture(path)


def test_samples_are_streamed(session):
    """256 million samples in a few megabytes."""
    rezip(session, **{"logic-1-1": bytes(1 << 28)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    capture = open_capture(session)
    assert all_edges(capture) == []
    assert capture.end_ticks == 1 << 28
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


VCD = '$timescale 1 ns $end $var wire 1 ! D0 $end $var wire 1 " D1 $end $enddefinitions $end\n'


def test_gaps_of_gigasamples_cost_nothing_in_a_vcd(tmp_path):
    path = tmp_path / "gaps.vcd"
    path.write_text(VCD + '#0 0! 0"\n#9000000000000 1!\n#9000000001000 0!\n#99000000000000 1"\n')
    begin = time.perf_counter()
    assert all_edges(open_capture(path)) == [
        (9_000_000_000_000, 2),
        (9_000_000_001_000, 0),
        (99_000_000_000_000, 3),
    ]
    assert time.perf_counter() - begin < 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (VCD.replace("$timescale 1 ns", "$x"), "no timescale"),
        (VCD.replace("$enddefinitions", "$x"), "no end of its definitions"),
        (VCD + '#0 0! 0"\n#100 1!\n#50 0!\n', "goes back"),
        (VCD + '#0 0! 0"\n#9999999999999999999 1!\n', "time"),
        (VCD + '#0 0! 0"\n#12x 1!\n', "time"),
        (VCD + '#0 0! 0"\n#99999999999999999 1!\n', "longer than any rally"),
        (VCD + "#0 0!\n#5 1!\n", "says nothing of the channel D1"),
        (VCD + "#0 0! \n ?ello\n", "holds"),
        (VCD + "x" * (1 << 21), "a word of more"),
        ("", "is empty"),
        ("hello\nworld\n", "nor a table"),
        ("\x00\x01\x02", "neither"),
        (
            "CH1,CH2\n0,1\n1,0\n",
            "does not say how fast it was sampled: name the rate with --rate-mhz",
        ),
        ("Time,A,B\n0,0,0\n1e-6,x,0\n2e-6,1,0\n", r"no data of A from row 2 \(0.000001 s\)"),
        ("Time,A,B\n0,0,0\n1e-6,hello,0\n2e-6,1,0\n", "Row #2"),
        ("Time,A,B\nnan,0,0\n1e-6,1,0\n2e-6,1,0\n", r"line 2 \(nan,0,0\) is not a row"),
        ("Time,A,B\ninf,0,0\n1e-6,1,0\n2e-6,1,0\n", "line 2"),
        ("Time,A,B\n0,0,-Infinity\n1e-6,1,0\n2e-6,1,0\n", "line 2"),
        ("Time,A,B\n,0,\n1e-6,1,0\n2e-6,1,0\n", "line 2"),
        ("Time,A,B\n0,,0\n1e-6,,0\n2e-6,,0\n", "holds 1 of the two channels"),
        ("Time,A,B\n0,0,0\n1e-6,nan,0\n2e-6,1,0\n3e-6,1,0\n", "no data of A from row 2"),
        ("Time,A,B\n0,0,0\n1e-6,1,0\n2e-6,1,0\n3e-6,inf,0\n", "row 4 of its samples lacks"),
        ("Time,A,B\n0,0,0\n1e-6,1,0\n2e-6,1,0\n,1,0\n", "row 4 of its samples lacks a time"),
        ("Time,A,B\n0,0,0\n1e-6,1,0\n2e-6,1,0\n3e-6,1\n", "cannot be read"),
        ("Time,A,B\n3,0,0\n3,1,0\n3,1,0\n", "does not go on"),
        ("Time,A,B\n0,0,0\n1,1,0\n5,1,0\n7,1,0\n", "in which unit its times are"),
        ("Time,A,B\n0,0,0\n.1,1,0\n.5,1,0\n.2,1,0\n", "goes back"),
        ("Time,A,B\n0,0,0\n1e300,1,0\n1e305,1,1\n", "longer than any rally"),
    ],
)
def test_dumps_and_tables_that_are_none(text, words, tmp_path):
    path = tmp_path / "bad"
    path.write_text(text)
    with pytest.raises(CaptureError, match=words):
        all_edges(open_capture(path))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    data=st.binary(max_size=400),
    head=st.sampled_from([b"", b"PK\x03\x04", VCD.encode(), b"Time,A,B\n0,0,1\n1,1,0\n"]),
)
def test_garbage_is_told_in_one_line(data, head, tmp_path_factory):
    path = tmp_path_factory.mktemp("garbage") / "x"
    path.write_bytes(head + data)
    try:
        all_edges(open_capture(path))
    except TennisError as error:
        assert "\n" not in str(error)


@pytest.mark.usefixtures("in_time")
def test_what_is_no_file_is_told(tmp_path):
    """A FIFO would be waited for, and /dev/zero has no end."""
    os.mkfifo(tmp_path / "fifo")
    good = tmp_path / "good.csv"
    good.write_text("Time,A\n0,0\n1e-6,1\n2e-6,1\n")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(CaptureError, match="cannot read"):
            open_capture(path)
        for pair in ((path, good), (good, path)):
            with pytest.raises(CaptureError, match="cannot read"):
                open_pair(*pair, (None, None), Threshold())


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("Time,A\n0,0\n1e-6,1\n2e-6,1\n", "B", "has A: name the one that is meant"),
        ("Time,A,B\n0,0,0\n1e-6,1,0\n2e-6,1,0\n", None, "has A, B: name"),
        ("Time,Start\n0,0\n1e-6,1\n2e-6,1\n", "A", "has no channel: name"),
    ],
)
def test_a_channel_that_is_not_in_the_file_of_a_wire(text, name, words, tmp_path):
    path = tmp_path / "C1.csv"
    path.write_text(text)
    with pytest.raises(CaptureError, match=words):
        open_pair(path, path, (name, name), Threshold())


def zipped(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


METADATA = (
    b"[device 1]\ncapturefile=logic-1\nsamplerate=1 MHz\nunitsize=1\nprobe1=ping\nprobe2=reply\n"
)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_method_whose_size_python_does_not_bound(method, tmp_path):
    members = {"version": b"2", "metadata": METADATA, "logic-1-1": bytes(1000)}
    path = zipped(tmp_path / "c.sr", members, method)
    with pytest.raises(CaptureError, match="packed in a way that sigrok does not use"):
        open_capture(path)


def test_a_version_that_is_larger_than_it_says(tmp_path):
    """Its declared size is 1; 300 MB come out of it where nothing bounds them."""
    path = zipped(tmp_path / "c.sr", {"version": b"2" * (300 << 20), "metadata": METADATA})
    data = path.read_bytes().replace(struct.pack("<I", 300 << 20), struct.pack("<I", 1))
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(CaptureError):
        open_capture(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20


def test_a_directory_hidden_behind_a_small_one(tmp_path):
    """The larger form of a zip's ending counts wherever it is, for zipfile and so for us."""
    path = zipped(tmp_path / "c.sr", {"version": b"2", "metadata": METADATA, "logic-1": b"x"})
    data = path.read_bytes()
    ending = data[-22:]
    big = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 3, 3, 1 << 40, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(data) - 22, 1)
    path.write_bytes(data[:-22] + big + locator + ending)
    with pytest.raises(CaptureError, match="members, at most"):
        open_capture(path)
