"""The wire format: what is sent arrives, and garbage costs no more than what it hit."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tennis.kit import gaps, wire

PAYLOADS = st.lists(st.binary(max_size=200), min_size=1, max_size=8)


def encoded(payloads: list[bytes]) -> list[bytes]:
    return [wire.encode(wire.BALLS, number, data) for number, data in enumerate(payloads)]


@given(payloads=PAYLOADS, cuts=st.lists(st.integers(1, 50)))
def test_frames_arrive_however_they_are_cut(payloads, cuts):
    data = b"".join(encoded(payloads))
    decoder, found = wire.Decoder(), []
    for cut in cuts:
        found += decoder.feed(data[:cut])
        data = data[cut:]
    found += decoder.feed(data) + decoder.finish()
    assert found == [(wire.BALLS, n, p) for n, p in enumerate(payloads)]
    assert decoder.garbage_bytes == 0


@given(payloads=PAYLOADS, data=st.data())
def test_a_broken_byte_costs_one_frame(payloads, data):
    frames = encoded(payloads)
    victim = data.draw(st.integers(0, len(frames) - 1))
    at = data.draw(st.integers(0, len(frames[victim]) - 1))
    broken = bytearray(frames[victim])
    broken[at] ^= data.draw(st.integers(1, 255))
    frames[victim] = bytes(broken)
    decoder = wire.Decoder()
    found = decoder.feed(b"".join(frames)) + decoder.finish()
    expected = [(wire.BALLS, n, p) for n, p in enumerate(payloads) if n != victim]
    assert [frame for frame in found if frame in expected] == expected
    assert decoder.garbage_bytes > 0


@given(noise=st.binary(max_size=500))
def test_noise_between_frames(noise):
    one, two = encoded([b"first", b"second"])
    decoder = wire.Decoder()
    found = decoder.feed(noise + one + noise + two) + decoder.finish()
    assert (wire.BALLS, 0, b"first") in found
    assert (wire.BALLS, 1, b"second") in found


def test_a_payload_has_a_limit():
    with pytest.raises(wire.WireError, match="4097 bytes"):
        wire.encode(wire.BALLS, 0, bytes(4097))


PRINTABLE = st.characters(codec="ascii", exclude_characters="#=", min_codepoint=33)
WORDS = st.text(PRINTABLE, min_size=1)


@given(
    number=st.integers(0, wire.NO_NUMBER - 1),
    verb=WORDS,
    parameters=st.dictionaries(WORDS, WORDS, max_size=4),
    data=st.data(),
)
def test_commands_arrive_and_broken_ones_do_not(number, verb, parameters, data):
    line = wire.encode_command(number, verb, parameters)
    assert wire.parse_command(line) == (number, verb, parameters)
    at = data.draw(st.integers(0, len(line) - 2))
    broken = bytearray(line)
    broken[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(wire.WireError):
        wire.parse_command(broken)


def test_people_may_say_hello_without_a_checksum():
    assert wire.parse_command(b"hello\r\n") == (wire.NO_NUMBER, "hello", {})
    for line in (b"", b"stop", b"1 stop", b"1 stop #00000000", b"\xff hello", b"hello #" * 100):
        with pytest.raises(wire.ChecksumError):
            wire.parse_command(line)


def test_a_command_has_limits():
    with pytest.raises(wire.WireError, match="at most"):
        wire.encode_command(1, "play", {"x": "y" * wire.LINE_MAX})
    with pytest.raises(wire.WireError, match="no spaces"):
        wire.encode_command(1, "play", {"x": "a b"})
    for body in (b"play", b"x play", b"1 play a", b"1 play a=", b"1 play =b", b"1 play a=b a=b"):
        line = body + b" #%08x" % zlib.crc32(body)
        with pytest.raises(wire.WireError):
            wire.parse_command(line)


def test_the_gaps_of_a_seed_are_those_of_every_version():
    drawn = [gaps.gap_ns(4_000_000_000, ball, 500_000, 1_500_000) for ball in (0, 1, 70_000)]
    assert drawn == [684_300, 1_294_358, 1_034_804]
