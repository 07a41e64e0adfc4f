"""Frames in their order, each once, and none that was not sent, whatever the line does."""

import itertools
import json
import struct
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from tennis.bench.instruments.arq import ACK_EVERY, Receiver
from tennis.kit import wire
from tennis.rally.journal import Frame

RALLY = "0badcafe"


def hello(sequence: int = 0, rally: str = RALLY) -> bytes:
    return wire.encode(wire.HELLO, sequence, json.dumps({"rally": rally}).encode())


def balls(sequence: int, count: int = 3) -> bytes:
    first = sequence * 100
    payload = b"".join(struct.pack(wire.BALL, first + i, i, i + 1) for i in range(count))
    return wire.encode(wire.BALLS, sequence, payload)


def begun(sequence: int = 0) -> Receiver:
    receiver = Receiver()
    receiver.begin(RALLY, sequence, 1)
    receiver.feed(hello(sequence))
    return receiver


def numbers(frames: Iterable[Frame]) -> list[int]:
    return [sequence for _, sequence, _ in frames]


def test_frames_come_in_order_and_once():
    receiver = begun()
    assert numbers(receiver.feed(balls(1) + balls(2))) == [1, 2]
    assert numbers(receiver.feed(balls(1) + balls(2) + balls(3))) == [3]
    assert receiver.counts.duplicates == 2
    assert not receiver.resend_due()


def test_a_gap_is_asked_for_once_and_again_if_that_was_lost():
    receiver = begun()
    assert receiver.feed(balls(2)) == []
    assert receiver.resend_due()
    assert receiver.feed(balls(3) + balls(4)) == []
    assert not receiver.resend_due()
    for sequence in range(5, 40):
        receiver.feed(balls(sequence))
    assert receiver.resend_due()
    assert numbers(receiver.feed(b"".join(map(balls, range(1, 40))))) == list(range(1, 40))
    assert (receiver.counts.gaps, receiver.counts.resends) == (1, 2)


def test_acknowledgements_come_every_eight_frames():
    receiver = begun()
    for sequence in range(1, ACK_EVERY - 1):
        receiver.feed(balls(sequence))
        assert not receiver.ack_due()
    receiver.feed(balls(ACK_EVERY - 1))
    assert receiver.ack_due()
    assert not receiver.ack_due()
    receiver.feed(balls(ACK_EVERY))
    assert receiver.ack_due(at_once=True)


def test_frames_of_another_rally_are_not_taken():
    receiver = Receiver()
    receiver.begin(RALLY, 0, 7)
    assert receiver.feed(hello(0, "an older one") + balls(1) + balls(5)) == []
    assert not receiver.resend_due()
    assert receiver.counts.gaps == receiver.counts.duplicates == 0
    answer = wire.encode(wire.ANSWER, 7, b'{"ok": {}}')
    assert numbers(receiver.feed(answer + hello() + balls(1))) == [0, 1]
    assert list(receiver.answers) == [(7, {"ok": {}})]


def test_a_lost_hello_is_asked_for():
    receiver = Receiver()
    receiver.begin(RALLY, 0, 7)
    receiver.feed(wire.encode(wire.ANSWER, 7, b'{"ok": {}}') + balls(1))
    assert receiver.resend_due()


def test_what_cannot_be_a_hello_begins_nothing():
    receiver = Receiver()
    receiver.begin(RALLY, 0, 7)
    for payload in (b"", b"{", b"[]", b"7", b"\xff\xfe", b"[" * 4000, b'{"rally": 7}'):
        assert receiver.feed(wire.encode(wire.HELLO, 0, payload)) == []
        receiver.feed(wire.encode(wire.ANSWER, 3, payload))
    assert [content for _, content in receiver.answers] == [{"rally": 7}]


def test_half_a_frame_does_not_hold_back_the_next_ones():
    """A broken length: what follows would be waited for."""
    receiver = begun()
    broken = bytearray(balls(1))
    broken[8:10] = struct.pack("<H", wire.PAYLOAD_MAX)
    assert receiver.feed(bytes(broken) + balls(2)) == []
    receiver.quiet()
    assert receiver.resend_due()
    assert receiver.counts.broken == 1
    assert numbers(receiver.feed(balls(1) + balls(2))) == [1, 2]


def test_sequence_numbers_wrap():
    receiver = begun(0xFFFFFFFE)
    assert numbers(receiver.feed(balls(0xFFFFFFFF) + balls(0) + balls(1))) == [0xFFFFFFFF, 0, 1]
    assert receiver.counts.gaps == receiver.counts.duplicates == 0


@st.composite
def damage(draw, length: int):
    """Damage to a stream: (what, where, with what)."""
    where = st.integers(0, max(length - 1, 0))
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(["flip", "drop", "repeat", "insert"]), where, st.binary(max_size=9)
            ),
            max_size=12,
        )
    )


def damaged(stream: bytes, hurts: list[tuple[str, int, bytes]]) -> bytes:
    data = bytearray(stream)
    for what, where, more in hurts:
        at = where % max(len(data), 1)
        if what == "flip" and data:
            data[at] ^= more[0] or 1 if more else 1
        elif what == "drop":
            del data[at : at + 1 + len(more)]
        elif what == "repeat":
            data[at:at] = data[at : at + 40]
        else:
            data[at:at] = more
    return bytes(data)


@settings(max_examples=300)
@given(st.data())
def test_only_what_was_sent_is_taken_and_in_order(data):
    sent = [hello(), *map(balls, range(1, 20))]
    stream = b"".join(sent)
    receiver = Receiver()
    receiver.begin(RALLY, 0, 1)
    got: list[Frame] = []
    # three times, as the instrument sends again what is asked for
    for _ in range(3):
        hurt = damaged(stream, data.draw(damage(len(stream))))
        cuts = data.draw(st.lists(st.integers(0, len(hurt)), max_size=6))
        edges = [0, *sorted(cuts), len(hurt)]
        for start, end in itertools.pairwise(edges):
            got += receiver.feed(hurt[start:end])
        got += receiver.quiet()
    got += receiver.feed(stream)
    assert [wire.encode(*frame) for frame in got] == sent


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=200), max_size=20))
def test_garbage_never_hurts(pieces):
    receiver = begun()
    for piece in pieces:
        receiver.feed(piece)
    receiver.quiet()
    assert numbers(receiver.feed(balls(1))) == [1]
