"""Run by MicroPython: feeds what stampers would push to the firmware, prints what it decides.

``SCENARIO`` is set before: (settings, words, looks). A look is (now, ping A, ping B, reply A, reply
B): the time, and how many words each ring has by then, besides the words themselves.
"""

import gc
import struct

import balls
from memory import zeros
from stampers import Wire

# MicroPython has this name
SCENARIO = globals()["SCENARIO"]


def unpack(memory, count):
    """Return the records in memory."""
    return [struct.unpack_from("<QII", memory, 16 * n) for n in range(count)]


def pair(wire, pushed, which):
    """Make edges of what was pushed, as the play loop does; return how many runts there were."""
    if not balls.pair_same(wire.job(pushed, which)):
        return 0
    return balls.pair_edges(wire.state, *wire.rings, wire.edges, pushed, which)


def play(settings, words, streams, looks, plain=True):
    """Return balls, events and counters as they would be sent, and how it ended.

    Last how many balls ``decide_plain`` decided; without ``plain`` it is not called.
    """
    gc.collect()
    state = zeros(balls.STATE_WORDS)
    for index, value in settings.items():
        state[index] = value
    state[balls.RECORDS_MAX] = balls.BLOCK_WORDS
    served = zeros(balls.WORDS)
    for n, word in enumerate(words):
        served[n] = word
    rings = [zeros(balls.RING_WORDS) for _ in range(4)]
    for ring, stream in zip(rings, streams):  # noqa: B905 not in MicroPython
        for n, word in enumerate(stream):
            ring[n] = word
    ping, reply = Wire(rings[0], rings[1]), Wire(rings[2], rings[3])
    records, events = bytearray(16 * balls.BLOCK_WORDS), bytearray(1024)
    found, happened, plainly = [], [], 0
    pushed = zeros(balls.PUSHED_WORDS)
    code = 0
    for now, *counts in looks:
        passed = now - (state[balls.NOW_HIGH] << 32) - state[balls.NOW_LOW]
        while passed > 0:
            balls.pass_time(state, min(passed, 1 << 29))
            passed -= 1 << 29
        for n, count in enumerate(counts):
            pushed[n] = count
        runts = pair(ping, pushed, balls.PUSHED_PING)
        ping.state[balls.SURE] = ping.state[balls.OUT]
        runts += pair(reply, pushed, balls.PUSHED_REPLY)
        runts += pair(ping, pushed, balls.PUSHED_PING_AGAIN)
        state[balls.STRAYS] += runts
        while True:
            if plain:
                before = state[balls.BALLS]
                balls.decide_plain(
                    state, records, served, ping.state, ping.edges, reply.state, reply.edges
                )
                plainly += state[balls.BALLS] - before
            code = balls.decide(
                state, records, served, ping.state, ping.edges, reply.state, reply.edges
            )
            if code == balls.EVENT:
                balls.write_events(state, events)
            found += unpack(records, state[balls.RECORDS])
            happened += unpack(events, state[balls.EVENTS])
            state[balls.RECORDS] = state[balls.EVENTS] = 0
            if code in (balls.NOTHING_MORE, balls.COMPLETE, balls.UNDECIDED):
                break
        if code != balls.NOTHING_MORE:
            break
    counted = [state[n] for n in range(balls.BALLS, balls.LATE_SERVES + 1)]
    return found, happened, counted, code, plainly


print(play(*SCENARIO))
