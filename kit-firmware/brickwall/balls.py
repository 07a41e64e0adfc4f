# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""From the stampers' words to balls: the definitions of ball, miss, stray, double.

They are those of the virtual instrument, target/virtual/instrument.c. This is viper code: 32-bit
integers that wrap, no objects, nothing allocated, and no function of more than 2 KiB (a branch
reaches no further). Times are ticks since the stampers began, their low 32 bits where the upper
ones are known.
"""

# viper has no calls, no min() and no `and` worth its code: the functions are as long as they are
# ruff: noqa: F821, PLR0912, PLR0913, PLR0915, PLR0917, PLR1730, SIM102

from micropython import const

# --- one wire: the words of two stampers in, edges out ---
# Edges are held in a ring, rises at even places. The stampers' rings hold RING_WORDS each.
RING_WORDS = const(2048)
EDGES = const(512)
_TAKEN_A = const(0)  # words taken of the machine that looks in even cycles
_TAKEN_B = const(1)  # and in odd ones
OUT = const(2)  # edges written
READ = const(3)  # edges read
UNSURE = const(4)  # what comes next makes sense only if it was a runt
RUNT_AT = const(5)  # when the last dropped pulse began
SURE = const(6)  # edges written before the other wire was looked at
LEFT = const(7)  # 1: there are words that have not become edges yet
WIRE_WORDS = const(8)


# what ``look`` notes: how many words were pushed by both machines of a wire
PUSHED_PING = const(0)
PUSHED_REPLY = const(2)
PUSHED_PING_AGAIN = const(4)
PUSHED_WORDS = const(6)
# what ``look`` returns
FIFO_OVERRUN = const(1)
RING_OVERRUN = const(2)
# so much of a ring may be in use: the rest is for edges that come while it is being read
_RING_USED_MAX = const(RING_WORDS - 256)


@micropython.viper
def look(pushed: ptr32, counts: ptr32, transfers: int, ping: ptr32, reply: ptr32) -> int:
    """Note how much was pushed: ping, reply, ping again. Says which overrun happened, else 0.

    ``counts`` are the addresses of the four DMA channels' counts, which began at ``transfers``, and
    of the register that says which machines had to wait because nobody took what they pushed.
    What the ping wire had first is sure: no earlier reply can still come. What it has later comes
    before any reply that comes later still.
    """
    for n in range(PUSHED_WORDS):
        count = ptr32(counts[n & 3])
        pushed[n] = transfers - count[0]
    for n in range(2):
        if pushed[n + PUSHED_PING_AGAIN] - ping[n] > _RING_USED_MAX:
            return RING_OVERRUN
        if pushed[n + PUSHED_REPLY] - reply[n] > _RING_USED_MAX:
            return RING_OVERRUN
        if pushed[n + PUSHED_PING_AGAIN] == transfers or pushed[n + PUSHED_REPLY] == transfers:
            return RING_OVERRUN
    # last: what was pushed behind a word that found no room is among what was counted above
    count = ptr32(counts[4])
    if count[0] & 0xF:
        return FIFO_OVERRUN
    return 0


# what ``pair_same`` needs: addresses
JOB_WIRE = const(0)
JOB_RING_A = const(1)
JOB_RING_B = const(2)
JOB_EDGES = const(3)
JOB_PUSHED = const(4)  # of the wire's two counts
JOB_WORDS = const(5)


@micropython.asm_thumb
def pair_same(r0):
    """Take the words of edges that both machines saw; say whether there are others.

    r0: a job, see above. This is the first loop of ``pair_edges``, which deals with whatever comes
    next; viper code takes several times as long.
    """
    ldr(r1, [r0, 0])  #      the wire
    ldr(r2, [r1, 0])  #      _TAKEN_A
    ldr(r3, [r1, 4])  #      _TAKEN_B
    ldr(r4, [r1, 8])  #      OUT
    ldr(r5, [r1, 12])  #     READ
    mov(r6, 1)  #           EDGES
    lsl(r6, r6, 9)
    add(r5, r5, r6)
    sub(r5, r5, r4)  #       room
    ldr(r7, [r0, 16])  #     the counts
    ldr(r6, [r7, 0])
    sub(r6, r6, r2)  #       waiting of A
    cmp(r6, r5)
    bge(ENOUGH_A)
    mov(r5, r6)
    label(ENOUGH_A)
    ldr(r6, [r7, 4])
    sub(r6, r6, r3)  #       waiting of B
    cmp(r6, r5)
    bge(ENOUGH_B)
    mov(r5, r6)
    label(ENOUGH_B)
    sub(r3, r3, r2)  #       B is so many words ahead
    cmp(r5, 0)
    ble(DONE)
    label(NEXT)
    lsl(r6, r2, 21)  #       RING_WORDS - 1, times 4
    lsr(r6, r6, 19)
    ldr(r7, [r0, 4])
    add(r7, r7, r6)
    ldr(r7, [r7, 0])  #      A's word
    add(r6, r2, r3)
    lsl(r6, r6, 21)
    lsr(r6, r6, 19)
    ldr(r1, [r0, 8])
    add(r6, r6, r1)
    ldr(r6, [r6, 0])  #      B's word
    add(r1, r3, r7)
    sub(r1, r1, r6)  #       B's time - A's, from 1 and -1 to 0 and -1
    add(r6, r1, 1)
    lsr(r6, r6, 1)
    bne(DONE)
    sub(r6, r2, r7)
    sub(r6, r6, 1)
    lsl(r6, r6, 1)
    add(r6, r6, r1)  #       the edge's time
    lsl(r1, r4, 23)  #       EDGES - 1, times 4
    lsr(r1, r1, 21)
    ldr(r7, [r0, 12])
    add(r7, r7, r1)
    str(r6, [r7, 0])
    add(r4, r4, 1)
    add(r2, r2, 1)
    sub(r5, r5, 1)
    bne(NEXT)
    label(DONE)
    ldr(r1, [r0, 0])
    ldr(r6, [r1, 8])
    cmp(r6, r4)
    beq(NOTHING_TAKEN)
    mov(r6, 0)
    str(r6, [r1, 16])  #     UNSURE
    label(NOTHING_TAKEN)
    str(r2, [r1, 0])
    add(r3, r3, r2)
    str(r3, [r1, 4])
    str(r4, [r1, 8])
    ldr(r7, [r0, 16])
    ldr(r6, [r7, 0])
    sub(r6, r6, r2)
    ldr(r7, [r7, 4])
    sub(r7, r7, r3)
    orr(r6, r7)
    mov(r0, r6)
    cmp(r6, 0)
    bne(MORE)
    str(r6, [r1, 28])  #     LEFT
    label(MORE)


@micropython.viper
def pair_edges(
    wire: ptr32, ring_a: ptr32, ring_b: ptr32, edges: ptr32, pushed: ptr32, which: int
) -> int:
    """Take the words that both machines pushed; say whether a runt was dropped (then call again).

    ``which`` of the counts in ``pushed`` are this wire's.

    An edge is the first cycle of a level that lasts two cycles or more. It is seen by one machine
    at once and by the other one cycle later. A pulse of one cycle is a runt. One machine alone sees
    it come and go, or takes it for the edge, and the other one sees the edge where it is.
    """
    out = wire[OUT]
    taken_a = wire[_TAKEN_A]
    taken_b = wire[_TAKEN_B]
    room = wire[READ] + EDGES - out
    waiting_a = pushed[which] - taken_a
    waiting_b = pushed[which + 1] - taken_b
    runt = 0
    unsure = 0
    while room > 0 and waiting_a > 0 and waiting_b > 0:
        # as long as both saw the same: a loop for speed
        at = taken_b - taken_a
        left = room
        if waiting_a < left:
            left = waiting_a
        if waiting_b < left:
            left = waiting_b
        room -= left
        waiting_a -= left
        waiting_b -= left
        while left > 0:
            x = ring_a[taken_a & (RING_WORDS - 1)]
            # B's time - A's, from 1 and -1 to 0 and -1
            later = at + x - ring_b[(taken_a + at) & (RING_WORDS - 1)]
            if (later + 1) & -2:
                break
            edges[out & (EDGES - 1)] = ((taken_a - x - 1) << 1) + later
            out += 1
            taken_a += 1
            left -= 1
            unsure = -1
        taken_b = taken_a + at
        if unsure:
            wire[UNSURE] = 0
            unsure = 0
        if left == 0:
            break
        room += left
        waiting_a += left
        waiting_b += left

        # the machine that saw it earlier saw a pulse that the other one did not, if its next edge
        # was before the other's first
        a = (taken_a - x - 1) << 1
        b = ((taken_b - ring_b[taken_b & (RING_WORDS - 1)] - 1) << 1) + 1
        if later > 0:
            left = waiting_a
            at = ((taken_a - ring_a[(taken_a + 1) & (RING_WORDS - 1)]) << 1) - b
        else:
            left = waiting_b
            at = ((taken_b - ring_b[(taken_b + 1) & (RING_WORDS - 1)]) << 1) + 1 - a
            a = b
        if left > 1 and at < 0:
            runt = 1
            wire[RUNT_AT] = a
            if later > 0:
                taken_a += 2
            else:
                taken_b += 2
            break
        if left < 2 and wire[UNSURE] == 0:
            unsure = 1
            break
        # single cycles, each seen by the same machine, up to the edge
        runt = 1
        wire[RUNT_AT] = a
        # in the cycle before the other machine saw it
        edges[out & (EDGES - 1)] = a + (later << 1) if later > 0 else a - ((later + 1) << 1)
        out += 1
        taken_a += 1
        taken_b += 1
        break
    if not runt and not unsure and room > 0:
        # two words of one machine and none of the other
        if waiting_a > 1 and waiting_b == 0:
            unsure = 1
            if wire[UNSURE]:
                wire[RUNT_AT] = (taken_a - ring_a[taken_a & (RING_WORDS - 1)] - 1) << 1
                taken_a += 2
                runt = 1
        elif waiting_b > 1 and waiting_a == 0:
            unsure = 1
            if wire[UNSURE]:
                wire[RUNT_AT] = ((taken_b - ring_b[taken_b & (RING_WORDS - 1)] - 1) << 1) + 1
                taken_b += 2
                runt = 1
    wire[UNSURE] = 0 if runt else unsure
    wire[LEFT] = 1 if unsure or runt or room <= 0 else 0
    wire[_TAKEN_A] = taken_a
    wire[_TAKEN_B] = taken_b
    wire[OUT] = out
    return runt


# --- both wires: edges in, balls and events out ---
# what ``decide`` returns
NOTHING_MORE = const(0)
FRAME_FULL = const(1)  # no room for a ball
COMPLETE = const(2)  # all balls are decided
MISSED_AGAIN = const(3)  # GIVE_UP_BALLS misses in a row, or more
EVENT = const(4)  # ``write_events``, then go on
UNDECIDED = const(5)  # closed loop: served again before the ball was decided; a fault

# the state, in words; first what a play is started with
TOTAL = const(0)  # balls to play
TIMEOUT = const(1)  # ticks
BEYOND_WORD = const(2)  # ticks from one serve, or a ball's end, to the next beyond the word
TOLERANCE = const(3)  # ticks; a serve later than that is late
OPEN_LOOP = const(4)  # 1: the gap counts from the last serve
MARGIN = const(5)  # ticks until an edge is surely seen
CLOCK_LOW = const(6)  # the clock when the stampers began
CLOCK_HIGH = const(7)
# then what time it is (see ``pass_time``)
NOW_LOW = const(8)
NOW_HIGH = const(9)
# the counters
BALLS = const(10)
MISSES = const(11)
STRAYS = const(12)
DOUBLES = const(13)
LATE_SERVES = const(14)
# the records and events that are not sent yet
RECORDS = const(15)
RECORDS_MAX = const(16)
EVENTS = const(17)
# the last ball
SERVES = const(18)
LAST_LOW = const(19)  # when it was served
LAST_HIGH = const(20)
ENDED = const(21)  # ticks from then until it was decided
WORD = const(22)  # where the next ball's word is
_PHASE = const(23)
_RISE = const(24)
_LINE_UP = const(25)
_COUNTED_UP = const(26)  # the edge that raised the line was counted as a stray or a double
_HELD = const(27)
_LAST_COMPLETE = const(28)
UNANSWERED = const(29)  # misses in a row
SINCE_LOW = const(30)  # when the first of them was served
SINCE_HIGH = const(31)
# what ``write_events`` is to write
_WHAT = const(32)  # 0: late, or held, or both; else the kind
_WHEN = const(33)
_LATE = const(34)  # the ball was served later than
_DUE = const(35)  # ticks after
_AFTER_LOW = const(36)  # the last one
_AFTER_HIGH = const(37)
UNLISTED = const(38)  # runts that had no room among the events
STATE_WORDS = const(39)

_IDLE = const(0)
_SERVED = const(1)
_RAISED = const(2)

WORDS = const(1024)  # the server's words are a ring of blocks
BLOCK_WORDS = const(128)
# there is memory for twice as many: a fault, and the count of what had no room, always have room
EVENTS_MAX = const(64)
GIVE_UP_BALLS = const(20)
# A serve is no more than so many ticks early: what the loop's start takes less than planned.
_EARLY_MAX = const(64)
# of wire.py
_STRAY = const(2)
_DOUBLE = const(3)
_LATE_SERVE = const(4)
_HELD_EVENT = const(5)
_RUNT_EVENT = const(7)


@micropython.viper
def pass_time(state: ptr32, ticks: int):
    """Add less than 2^31 ticks to the time."""
    before = state[NOW_LOW]
    state[NOW_LOW] = before + ticks
    if uint(before + ticks) < uint(before):
        state[NOW_HIGH] += 1


@micropython.viper
def decide_plain(
    state: ptr32,
    records: ptr32,
    words: ptr32,
    ping: ptr32,
    ping_edges: ptr32,
    reply: ptr32,
    reply_edges: ptr32,
):
    """Write the balls with which all is well: what ``decide`` would do, four times as fast.

    All is well: the line is low, the ping comes when it should, then one reply rises and falls in
    time, and the next ping comes later, or none has come yet. Whatever else there is, the first and
    the last ball are left to ``decide``.
    """
    ping_at = ping[READ]
    reply_at = reply[READ]
    left = state[RECORDS_MAX] - state[RECORDS]
    served = state[TOTAL] - state[BALLS] - 1
    if served < left:
        left = served
    if state[_PHASE] or reply_at & 1 or state[SERVES] == 0 or left <= 0:
        return
    served = state[LAST_LOW]
    ended = 0 if state[OPEN_LOOP] else state[ENDED]
    at = state[RECORDS] << 2
    word = state[WORD]
    high = state[LAST_HIGH]
    balls = 0
    while balls < left:
        # a ping's fall is nobody's business
        rise_at = (ping_at + 1) & -2
        if ping[OUT] - rise_at <= 0 or reply[OUT] - reply_at < 2:
            break
        t = ping_edges[rise_at & (EDGES - 1)]
        rise = reply_edges[reply_at & (EDGES - 1)] - t
        fall = reply_edges[(reply_at + 1) & (EDGES - 1)] - t
        if rise <= 0 or uint(fall) > uint(state[TIMEOUT]):
            break
        if ping[OUT] - rise_at > 2:
            if ping_edges[(rise_at + 2) & (EDGES - 1)] - t <= fall:
                break
        elif ping[LEFT]:
            break
        late = t - served - words[word] - state[BEYOND_WORD] - ended
        if late > state[TOLERANCE] or late < 0 - _EARLY_MAX:
            break

        # the upper half of its time: it is close to now
        high = state[NOW_HIGH]
        if state[NOW_LOW] - t >= 0:
            if uint(t) > uint(state[NOW_LOW]):
                high -= 1
        elif uint(t) < uint(state[NOW_LOW]):
            high += 1
        served = t + state[CLOCK_LOW]
        records[at] = served
        records[at + 1] = high + state[CLOCK_HIGH]
        if uint(served) < uint(t):
            records[at + 1] += 1
        records[at + 2] = rise
        records[at + 3] = fall
        at += 4
        balls += 1
        word = (word + 1) & (WORDS - 1)
        served = t
        if state[OPEN_LOOP] == 0:
            ended = fall
        ping_at = rise_at + 1
        reply_at += 2
    if balls:
        state[BALLS] += balls
        state[RECORDS] += balls
        state[SERVES] += balls
        state[LAST_LOW] = served
        state[LAST_HIGH] = high
        state[ENDED] = reply_edges[(reply_at - 1) & (EDGES - 1)] - served
        state[WORD] = word
        state[_LINE_UP] = 0
        state[_COUNTED_UP] = 0
        state[_HELD] = 0
        state[_LAST_COMPLETE] = 1
        state[UNANSWERED] = 0
        ping[READ] = ping_at
        reply[READ] = reply_at


@micropython.viper
def decide(
    state: ptr32,
    records: ptr32,
    words: ptr32,
    ping: ptr32,
    ping_edges: ptr32,
    reply: ptr32,
    reply_edges: ptr32,
) -> int:
    """Take edges in the order of their times, write balls, say why it went no further.

    A ping counts once it is sure that no reply before it can still come: it was there before the
    reply wire was looked at, or there is a later reply.
    """
    timeout = state[TIMEOUT]
    phase = state[_PHASE]
    served = state[LAST_LOW]
    ping_at = ping[READ]
    ping_out = ping[OUT]
    reply_at = reply[READ]
    reply_out = reply[OUT]
    code = NOTHING_MORE
    while code == NOTHING_MORE:
        # a ping's fall is nobody's business
        ping_at = (ping_at + 1) & -2
        if ping_at - ping_out > 0:
            ping_at = ping_out
        if state[RECORDS] >= state[RECORDS_MAX]:
            code = FRAME_FULL
            break

        # the next edge: t
        t = 0
        is_ping = 0
        if reply_at != reply_out:
            t = reply_edges[reply_at & (EDGES - 1)]
            if ping_at != ping_out:
                is_ping = ping_edges[ping_at & (EDGES - 1)]
                if is_ping - t < 0:
                    t = is_ping
                    is_ping = 1
                else:
                    is_ping = 0
            elif ping[LEFT]:
                break
        elif reply[LEFT]:
            break
        elif ping_at - ping[SURE] < 0:
            t = ping_edges[ping_at & (EDGES - 1)]
            is_ping = 1
        else:
            # none: has the ball's time passed for sure?
            if phase == _IDLE:
                break
            t = state[NOW_HIGH] - state[LAST_HIGH]
            if uint(state[NOW_LOW]) < uint(served):
                t -= 1
            if t < 0:
                break
            if t == 0:
                if uint(state[NOW_LOW] - served) <= uint(timeout + state[MARGIN]):
                    break
            t = served + timeout + 1

        ended = 0
        fall = -1
        if phase == _IDLE:
            if is_ping == 0:
                reply_at += 1
                state[_LINE_UP] = reply_at & 1
                if reply_at & 1:
                    if reply_at == 1:
                        if t == 0:
                            continue  # it was up already when all began
                    code = _STRAY
                    state[_COUNTED_UP] = 1
                    if state[_LAST_COMPLETE]:
                        code = _DOUBLE
                elif state[_COUNTED_UP]:
                    state[_COUNTED_UP] = 0
                    state[_HELD] = 0
                else:
                    code = _STRAY
                    state[_HELD] = 0
        elif uint(t - served) > uint(timeout):
            ended = timeout  # the edge is looked at again, without this ball
        elif is_ping:
            if state[OPEN_LOOP] == 0:
                # whose answer comes next? Nobody can tell
                code = UNDECIDED
                break
            ended = t - served  # the next ball does not wait; and again
        else:
            reply_at += 1
            state[_LINE_UP] = reply_at & 1
            if reply_at & 1:
                state[_RISE] = t - served
                state[_COUNTED_UP] = 0
                phase = _RAISED
                continue
            state[_HELD] = 0
            if phase == _RAISED:
                fall = t - served
                ended = fall
            elif state[_COUNTED_UP]:
                state[_COUNTED_UP] = 0
            else:
                code = _STRAY

        if code:
            state[_WHAT] = code
            state[_WHEN] = t
            code = EVENT
            break
        if ended:
            # the ball is decided
            phase = _IDLE
            state[ENDED] = ended
            at = state[RECORDS]
            state[RECORDS] = at + 1
            at = at << 2
            records[at] = served + state[CLOCK_LOW]
            t = state[LAST_HIGH] + state[CLOCK_HIGH]
            if uint(records[at]) < uint(served):
                t += 1
            records[at + 1] = t
            records[at + 2] = state[_RISE]
            records[at + 3] = fall
            state[BALLS] += 1
            if fall != -1:
                state[_LAST_COMPLETE] = 1
                state[UNANSWERED] = 0
            else:
                state[_LAST_COMPLETE] = 0
                state[MISSES] += 1
                if state[UNANSWERED] == 0:
                    state[SINCE_LOW] = served
                    state[SINCE_HIGH] = state[LAST_HIGH]
                state[UNANSWERED] += 1
                if state[UNANSWERED] >= GIVE_UP_BALLS:
                    code = MISSED_AGAIN
            if state[BALLS] == state[TOTAL]:
                code = COMPLETE
            continue
        if is_ping == 0:
            continue

        # a ball is served; first: how long after the last one should it have been?
        ping_at += 1
        at = state[WORD]
        due = words[at] + state[BEYOND_WORD]
        state[WORD] = (at + 1) & (WORDS - 1)
        if state[OPEN_LOOP] == 0:
            due += state[ENDED]
        if state[SERVES]:
            at = t - served - due
            if at > state[TOLERANCE] or at < 0 - _EARLY_MAX:
                state[_LATE] = 1
                state[_DUE] = due
                state[_AFTER_LOW] = served
                state[_AFTER_HIGH] = state[LAST_HIGH]
                code = EVENT
        state[SERVES] += 1
        if state[_LINE_UP]:
            if state[_HELD] == 0:
                code = EVENT
        if code:
            state[_WHAT] = 0
            state[_WHEN] = t
        served = t
        phase = _SERVED
        state[_RISE] = -1
        # the upper half of its time: it is close to now
        at = state[NOW_HIGH]
        if state[NOW_LOW] - t >= 0:
            if uint(t) > uint(state[NOW_LOW]):
                at -= 1
        elif uint(t) < uint(state[NOW_LOW]):
            at += 1
        state[LAST_HIGH] = at

    state[_PHASE] = phase
    state[LAST_LOW] = served
    ping[READ] = ping_at
    reply[READ] = reply_at
    return code


@micropython.viper
def listen(state: ptr32, records: ptr32, reply: ptr32, reply_edges: ptr32) -> int:
    """Write a ball for each pulse of the reply line: served when it rose, its fall when it ended.

    Nobody serves, and nothing is late. A line that was up when all began has no pulse: nobody knows
    since when it was. Returns NOTHING_MORE, FRAME_FULL or COMPLETE.
    """
    at = reply[READ]
    code = NOTHING_MORE
    while code == NOTHING_MORE:
        if state[RECORDS] >= state[RECORDS_MAX]:
            code = FRAME_FULL
            break
        if reply[OUT] - at < 2:
            break
        t = reply_edges[at & (EDGES - 1)]
        fall = reply_edges[(at + 1) & (EDGES - 1)] - t
        at += 2
        if at == 2:
            if t == 0:
                continue
        # the upper half of its time: it is close to now
        high = state[NOW_HIGH]
        if state[NOW_LOW] - t >= 0:
            if uint(t) > uint(state[NOW_LOW]):
                high -= 1
        elif uint(t) < uint(state[NOW_LOW]):
            high += 1
        if uint(fall) > uint(state[TIMEOUT]):
            fall = -1
            state[MISSES] += 1
        to = state[RECORDS]
        state[RECORDS] = to + 1
        to = to << 2
        low = t + state[CLOCK_LOW]
        records[to] = low
        upper = high + state[CLOCK_HIGH]
        if uint(low) < uint(t):
            upper += 1
        records[to + 1] = upper
        records[to + 2] = 0
        records[to + 3] = fall
        state[BALLS] += 1
        if state[BALLS] == state[TOTAL]:
            code = COMPLETE
    reply[READ] = at
    return code


@micropython.viper
def write_events(state: ptr32, events: ptr32):
    """Count and write what ``decide`` came across: at most two events."""
    t = state[_WHEN]
    high = state[NOW_HIGH]
    if state[NOW_LOW] - t >= 0:
        if uint(t) > uint(state[NOW_LOW]):
            high -= 1
    elif uint(t) < uint(state[NOW_LOW]):
        high += 1
    low = t + state[CLOCK_LOW]
    upper = high + state[CLOCK_HIGH]
    if uint(low) < uint(t):
        upper += 1
    at = state[EVENTS] << 2
    what = state[_WHAT]
    if what:
        if what == _DOUBLE:
            state[DOUBLES] += 1
        else:
            state[STRAYS] += 1
        events[at] = low
        events[at + 1] = upper
        events[at + 2] = what
        events[at + 3] = state[_LINE_UP]
        at += 4
    if state[_LATE]:
        # in 64 bits: a pause may be long
        state[_LATE] = 0
        late = t - state[_AFTER_LOW]
        over = high - state[_AFTER_HIGH]
        if uint(t) < uint(state[_AFTER_LOW]):
            over -= 1
        due = state[_DUE]
        if uint(late) < uint(due):
            over -= 1
        late -= due
        if over > 0:
            late = -1
        if over >= 0:
            state[LATE_SERVES] += 1
            events[at] = low
            events[at + 1] = upper
            events[at + 2] = _LATE_SERVE
            events[at + 3] = late
            at += 4
    if what == 0:
        if state[_LINE_UP]:
            if state[_HELD] == 0:
                state[_HELD] = 1
                events[at] = low
                events[at + 1] = upper
                events[at + 2] = _HELD_EVENT
                events[at + 3] = 0
                at += 4
    state[EVENTS] = at >> 2


@micropython.viper
def write_runt(state: ptr32, wire: ptr32, events: ptr32, number: int):
    """Count a pulse of one cycle that ``pair_edges`` dropped, and write it where there is room."""
    state[STRAYS] += 1
    at = state[EVENTS]
    if at >= EVENTS_MAX:
        state[UNLISTED] += 1
    else:
        t = wire[RUNT_AT]
        high = state[NOW_HIGH]
        if state[NOW_LOW] - t >= 0:
            if uint(t) > uint(state[NOW_LOW]):
                high -= 1
        elif uint(t) < uint(state[NOW_LOW]):
            high += 1
        state[EVENTS] = at + 1
        at = at << 2
        low = t + state[CLOCK_LOW]
        upper = high + state[CLOCK_HIGH]
        if uint(low) < uint(t):
            upper += 1
        events[at] = low
        events[at + 1] = upper
        events[at + 2] = _RUNT_EVENT
        events[at + 3] = number
