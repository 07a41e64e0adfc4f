"""Sessions of sigrok are read to the edge, other files are converted, damaged ones refused."""

import itertools
import os
import re
import resource
import struct
import subprocess
import tracemalloc
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tennis.rally.captures.srzip import Writer, _Changes
from tennis.report.umpire import CaptureError, Wires, open_capture
from tennis.report.umpire.agreement.check import check_capture
from tennis.report.umpire.analyser import Analyser
from tennis.report.umpire.rally import umpire
from tennis.report.umpire.simulate import simulate
from tests.support.captures import MHZ, ball, sigrok, write
from tests.support.synthetic import make_rally

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
    assert (capture.end_ticks, capture.tick_hz) == (END, MHZ)


def test_what_sigrok_writes_gives_the_same_edges(session, tmp_path):
    path = tmp_path / "again.sr"
    sigrok("-i", session, "-O", "srzip", "-o", path)
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
    changes = _Changes(unit, bits)
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


RATE_HZ = 24 * MHZ


@pytest.fixture(scope="module")
def rally(tmp_path_factory):
    return make_rally(tmp_path_factory.mktemp("captures") / "r", balls=150)


@pytest.fixture(scope="module")
def wires(rally, tmp_path_factory):
    """Return a session of the rally at 24 MHz, and sigrok's own VCD of it."""
    folder = tmp_path_factory.mktemp("captures")
    simulate(rally, folder / "wires.sr", Analyser(clock_ppm=20, lead_ms=1))
    sigrok("-i", folder / "wires.sr", "-O", "vcd", "-o", folder / "wires.vcd")
    return folder / "wires.sr", (folder / "wires.vcd").read_text()


def changes(vcd):
    """Return (100 ps, ping, reply) of each change in sigrok's VCD."""
    state = {"!": "0", '"': "0"}
    rows = []
    for line in vcd.partition("$enddefinitions $end\n")[2].splitlines():
        at, *values = line.split()
        state |= {value[1:]: value[0] for value in values}
        rows.append((int(at[1:]), state["!"], state['"']))
    return rows


def plain_vcd(vcd, names=("ping", "reply"), more="", first="", levels="01"):
    """Return the wires as others write them: whole nanoseconds, no word on the rate."""
    head = "$timescale 1 ns $end $scope module logic $end\n"
    for key, name in zip('!"', names, strict=True):
        head += f"$var wire 1 {key} {name} $end\n"
    return f"{head}{more}$upscope $end\n$enddefinitions $end\n{first}" + "".join(
        f'#{round(at / 10)}\n{levels[int(ping)]}!\n{levels[int(reply)]}"\n'
        for at, ping, reply in changes(vcd)
    )


OTHERS = {
    "sigrok's own VCD, 100 ps": lambda vcd: vcd,
    "VCD, no rate": plain_vcd,
    "VCD, names with spaces": lambda vcd: plain_vcd(vcd, ("ping wire", "reply wire")),
    "VCD, uninitialised": lambda vcd: plain_vcd(vcd, first='#0\nU!\nU"\n'),
    "VCD, another wire without a level": lambda vcd: plain_vcd(
        vcd, more="$var wire 1 # bus $end\n", first="#0\n-#\nW#\n"
    ),
    "VCD, weak levels": lambda vcd: plain_vcd(vcd, levels="LH"),
    "CSV, changes, a channel disabled": lambda vcd: (
        "Time [s],Channel 0,Channel 1,Channel 2\n"
        + "".join(f"{at / 1e10 - 0.1:.9f},{ping},{reply},X\n" for at, ping, reply in changes(vcd))
    ),
    "CSV, tabs": lambda vcd: (
        "Time (s)\tA\tB\n"
        + "".join(f"{at / 1e10:.9f}\t{ping}\t{reply}\n" for at, ping, reply in changes(vcd))
    ),
}


@pytest.mark.cases(more=["VCD, no*", "VCD, names*", "VCD, weak*", "CSV, tabs"])
@pytest.mark.parametrize("kind", OTHERS)
def test_the_command_that_is_named_makes_a_session_that_is_read_rightly(
    rally, wires, kind, tmp_path
):
    path = tmp_path / "the wires.txt"
    path.write_text(OTHERS[kind](wires[1]))
    found = umpire(rally, path)
    assert found.verdict == "not run"
    assert "\n" not in found.reason
    command = re.search(r"make one with `(.*)`, or save it in PulseView", found.reason)[1]
    # what it leaves out, sigrok-cli says in lines of its own
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, capture_output=True)  # noqa: S602
    made = tmp_path / "the wires.txt.sr"
    unsaid = umpire(rally, made)
    assert (unsaid.verdict, "--rate-mhz" in unsaid.reason) == ("inconclusive", True), unsaid.reason
    found = umpire(rally, made, Wires(rate_hz=Fraction(RATE_HZ)))
    assert found.verdict == "pass", found.reason
    assert found.capture.resolution_ns == pytest.approx(1e9 / RATE_HZ)
    assert found.balls >= 149
    assert found.clock.ppm == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize("rate_mhz", [25, 24.1])
def test_a_rate_that_the_session_contradicts_is_refused(rally, wires, rate_mhz):
    found = umpire(rally, wires[0], Wires(rate_hz=Fraction(rate_mhz) * MHZ))
    assert found.verdict == "not run"
    assert f"not at {rate_mhz} MHz" in found.reason
    assert "leave out --rate-mhz" in found.reason


@pytest.mark.parametrize(
    ("names", "wires", "words"),
    [
        (("ping", "reply"), Wires(), "ping ping, reply reply"),
        (("reply", "ping"), Wires(), "ping ping, reply reply"),
        (("D0", "D1"), Wires(), "took D0 for it"),
        (("D0", "D1"), Wires(ping="d1"), "ping D1, reply D0"),
        (("D0", "D1"), Wires(reply="D0"), "ping D1, reply D0"),
        (("D0", "ping"), Wires(), "ping ping, reply D0"),
        (("Reply 2", "x"), Wires(), "ping x, reply Reply 2"),
        (("D0", "D1", "D2"), Wires(), "no channel is named ping: took D0"),
        (("D0", "ping", "D2"), Wires(), "no channel reply: it has D0, ping, D2"),
        (("ping", "ping", "reply"), Wires(), "2 channels that may be ping"),
        (("ping 1", "ping 2", "reply"), Wires(), "2 channels that may be ping"),
        (("a", "a", "reply"), Wires(ping="a"), "2 channels named 'a'"),
        (("n" * 60, "reply"), Wires(ping="n" * 60), "reply reply"),
        (("D0", "D1"), Wires(ping="D7"), "no channel 'D7': it has D0, D1"),
        (("D0", "D1"), Wires(ping="D0", reply="D0"), "cannot be both"),
    ],
)
def test_channels_are_never_taken_in_silence(names, wires, words, tmp_path):
    path = tmp_path / "x.sr"
    writer = Writer(path, MHZ, names)
    writer.write(bytes([0, 1, 0, 2, 0]))
    writer.close()
    try:
        capture = open_capture(path, wires)
    except CaptureError as error:
        said = str(error)
    else:
        said = f"{'; '.join(capture.notes)}; ping {capture.ping}, reply {capture.reply}"
        taken = (capture.ping.lower(), capture.reply.lower())
        assert capture.notes or taken == ("ping", "reply") or wires.ping
    assert words in said


def test_inverted_wires_are_turned_round(session):
    capture = open_capture(session, Wires(invert_ping=True))
    found = all_edges(capture)
    assert found == sorted((t, c ^ 2 if c in {0, 2} else c) for t, c in EXPECTED)


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


def test_samples_are_streamed(session):
    """256 million samples in a few megabytes."""
    rezip(session, **{"logic-1-1": bytes(1 << 28)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    capture = open_capture(session)
    assert all_edges(capture) == []
    assert capture.end_ticks == 1 << 28
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@pytest.mark.usefixtures("in_time")
def test_what_is_no_file_is_told(tmp_path):
    """A FIFO would be waited for, and /dev/zero has no end."""
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(CaptureError, match="cannot read"):
            open_capture(path)


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
    """Its declared size is 1; 300 MB come out of it if nothing bounds them."""
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


def test_a_session_without_a_rate_is_asked_for_it(rally, wires, tmp_path):
    with zipfile.ZipFile(wires[0]) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = members["metadata"].replace(b"samplerate=24 MHz\n", b"")
    path = zipped(tmp_path / "wires.sr", {**members, "metadata": metadata})
    found = umpire(rally, path)
    assert (found.verdict, "--rate-mhz" in found.reason) == ("inconclusive", True), found.reason
    assert umpire(rally, path, Wires(rate_hz=Fraction(RATE_HZ))).verdict == "pass"


OLD = {
    "0.2, a trigger": "[global]\nsigrok version = 0.2.0\n[device 1]\ndriver = fx2lafw\n"
    "capturefile = logic-1\nunitsize = 1\ntotal probes = 2\nsamplerate = 24 MHz\nprobe1 = ping\n"
    " trigger1 = 0\nprobe2 = reply\n trigger2 = 1\n",
    "0.1, plain hertz": "[global]\nsigrok version = 0.1.0\n[device 1]\ncapturefile = logic-1\n"
    "unitsize=1\nsamplerate=24000000\ntotal probes = 8\nprobe1 = ping\nprobe2 = reply\n",
    "CRLF, indented": "[global]\r\n[device 1]\r\n  capturefile = logic-1\r\n    unitsize = 1\r\n"
    "  samplerate = 24MHz\r\n\tprobe1 = ping\r\n  probe2 = reply\r\n  trigger\r\n",
    "0.5, analog beside": "[device 1]\ncapturefile=logic-1\nunitsize=1\nsamplerate=24.0 mhz\n"
    "total probes=2\ntotal analog=1\nprobe1=ping\nprobe2=reply\nanalog3=A0\n",
}


@pytest.mark.parametrize("version", OLD)
@pytest.mark.parametrize("numbered", [True, False])
def test_sessions_of_old_versions(rally, wires, version, numbered, tmp_path):
    with zipfile.ZipFile(wires[0]) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    held = {**members, "metadata": OLD[version].encode()}
    if not numbered:
        parts = [held.pop(f"logic-1-{n}") for n in range(1, len(held) - 1)]
        held |= {"version": b"1", "logic-1": b"".join(parts)}
    capture = open_capture(zipped(tmp_path / "wires.sr", held))
    assert (capture.ping, capture.reply, capture.notes) == ("ping", "reply", [])
    assert check_capture(rally, capture).verdict == "pass"


def test_channels_that_were_disabled_leave_gaps_in_the_numbers(tmp_path):
    samples = np.zeros((100, 2), np.uint8)
    samples[10:20, 0] = 1 << 3
    samples[15:30, 1] = 1 << 4
    metadata = b"[device 1]\ncapturefile=logic-1\nunitsize=2\nsamplerate=1 MHz\ntotal probes=16\n"
    names = b"probe4=ping\nprobe13=reply\nprobe2=D1\n"
    held = {"version": b"2", "metadata": metadata + names, "logic-1-1": samples.tobytes()}
    path = zipped(tmp_path / "gaps.sr", held)
    assert all_edges(open_capture(path)) == [(10, 2), (15, 3), (20, 0), (30, 1)]
