"""The PIO programs, exact to the cycle in an emulator that is not ours."""

import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import pytest
from pioemu import State, emulate
from pioemu.shift_register import ShiftRegister

from tennis.kit.wire import NO_NUMBER as ALL_ONES
from tests.support import pio_programs

programs = pio_programs.load("programs")
generator = pio_programs.load("generator")

SYNCHRONISER = programs.SYNCHRONISER_TICKS
PING, REPLY = 1, 2  # masks: pins 0 and 1


SET_LOW, SET_HIGH = 0xE000, 0xE001  # the opcodes of set(pins, level)
NO_DELAY = 0xE0FF
Inputs = Callable[[int], int]  # cycle -> levels as a program sees them


@dataclass
class Machine:
    """A state machine at work: what it pushed, and from which cycles on its pin was set."""

    program: pio_programs.Assembled
    state: State
    inputs: Inputs = lambda _: 0
    set_base: int = 0
    pushed: list[int] = field(default_factory=list)
    raised: list[int] = field(default_factory=list)
    lowered: list[int] = field(default_factory=list)

    def run(self, cycles: int) -> "Machine":
        opcodes = self.program.opcodes
        for before, after in emulate(
            stop_when=lambda _, state: state.clock >= cycles,
            initial_state=self.state,
            input_source=lambda clock: self.inputs(clock),  # noqa: PLW0108 it wants to know the type
            set_base=self.set_base,
            set_count=1,
            jmp_pin=1,
            **self.program.emulation,
        ):
            while after.receive_fifo:
                self.pushed.append(after.receive_fifo.popleft())
            # an instruction of cycle n changes the pad from n + 1 on, whatever its delay
            opcode = opcodes[before.program_counter] & NO_DELAY
            if opcode == SET_HIGH:
                self.raised.append(before.clock + 1)
            elif opcode == SET_LOW:
                self.lowered.append(before.clock + 1)
        return self


def edges_of(rng: random.Random, count: int, longest: int) -> list[int]:
    edges, at = [], 2
    for _ in range(count):
        at += rng.choice((2, 3, rng.randrange(2, longest)))
        edges.append(at)
    return edges


def stamps(edges: list[int], *, later: bool, count: int, started_high: bool = False) -> list[int]:
    """Return the cycles that a stamper says the edges were at."""

    def levels(clock: int) -> int:
        return REPLY * ((bisect_right(edges, clock) + started_high) & 1)

    machine = Machine(
        programs.stamp,
        State(
            program_counter=programs.STAMP_START_LATER if later else programs.STAMP_START,
            x_register=count,
        ),
        levels,
    ).run(edges[-1] + 6)
    phase = int(later)
    return [2 * (((count - x) & ALL_ONES) + k) + phase for k, x in enumerate(machine.pushed)]


@pytest.mark.parametrize("count", [ALL_ONES, 20, 3, 1, 0])
@pytest.mark.parametrize("seed", range(4))
def test_two_stampers_see_every_edge_exactly(seed, count):
    """Whatever the edges, also while the count wraps: the earlier of both is the truth."""
    edges = edges_of(random.Random(seed), 30, 40)  # noqa: S311
    even = stamps(edges, later=False, count=count)
    odd = stamps(edges, later=True, count=count)
    assert [min(a, b) for a, b in zip(even, odd, strict=True)] == edges
    assert {abs(a - b) for a, b in zip(even, odd, strict=True)} == {1}


def test_a_line_that_is_up_already_is_an_edge_at_the_start():
    edges = [9, 20]
    even = stamps(edges, later=False, count=ALL_ONES, started_high=True)
    odd = stamps(edges, later=True, count=ALL_ONES, started_high=True)
    assert [min(a, b) for a, b in zip(even, odd, strict=True)] == [0, *edges]


def test_a_pulse_of_one_cycle_is_seen_by_one_stamper_only():
    for at in (10, 11):
        edges = [at, at + 1]
        seen = [stamps([*edges, 30], later=later, count=ALL_ONES) for later in (False, True)]
        assert sorted(map(len, seen)) == [1, 3]


class Target:
    """Answers pings with (rise, width, rise, width ...), in cycles at the pads; None: not at all.

    Each rise counts from the fall before it, the first one from the ping.
    """

    def __init__(self, answers):
        self.answers = iter(answers)
        self.edges = []
        self.pings = []
        self.answered = 0

    def levels(self, clock):
        for ping in self.pings[self.answered :]:
            self.answered += 1
            answer = next(self.answers, None)
            if answer:
                self.edges += [ping + at for at in accumulate(answer)]
        return REPLY * (bisect_right(self.edges, clock - SYNCHRONISER) & 1)


def serve_closed(gaps, answers, timeout):
    """Serve balls; return the cycles of the pings and the reply's edges."""
    target = Target(answers)
    words = deque(gap - programs.SERVE_CLOSED_TICKS for gap in gaps)
    machine = Machine(
        programs.serve_closed,
        State(
            pin_directions=PING,
            transmit_fifo=words,
            input_shift_register=ShiftRegister(timeout // programs.TIMEOUT_PASS_TICKS, 0),
            output_shift_register=ShiftRegister(0, 32),  # empty
        ),
        target.levels,
    )
    target.pings = machine.raised
    machine.run(sum(gaps) + len(gaps) * (timeout + 50) + 100)
    return machine.raised, target.edges


@pytest.mark.parametrize("seed", range(3))
def test_a_gap_counts_from_the_fall_to_the_next_ping(seed):
    rng = random.Random(seed)  # noqa: S311
    count = 30
    gaps = [rng.randrange(11, 60) for _ in range(count)]
    answers = [(rng.randrange(2, 40), rng.randrange(3, 40)) for _ in range(count)]
    pings, edges = serve_closed(gaps, answers, timeout=400)
    assert len(pings) == count
    for fall, ping, gap in zip(edges[1::2], pings[1:], gaps[1:], strict=False):
        assert ping - fall in {gap, gap + 1}


@pytest.mark.parametrize("timeout", [20, 100, 402])
@pytest.mark.parametrize("answer", [None, (7, 10_000), (30, 10_000)])
def test_a_ball_without_an_answer_ends_with_the_timeout(timeout, answer):
    """No rise, or no fall: the next ping comes timeout + gap after the last."""
    gaps = [20, 31, 20, 25]
    answers = [answer] + [None] * 3
    pings, _ = serve_closed(gaps, answers, timeout)
    first = pings[1] - pings[0]
    assert first == timeout + gaps[1]
    if answer is None:
        assert [b - a for a, b in pairwise(pings)] == [timeout + gap for gap in gaps[1:]]


def test_a_held_reply_must_fall_and_rise_again():
    """The ball after a late fall is answered by what comes after that fall."""
    timeout = 100
    # the first answer lasts into the second ball, which is answered 60 after its ping
    pings, edges = serve_closed([20, 20, 20], [(10, 130), (60, 15), (20, 20)], timeout)
    assert pings[1] - pings[0] == timeout + 20
    assert edges[1] - pings[1] == 20  # held until then
    assert pings[2] - edges[3] in {20, 21}


@pytest.mark.parametrize("begin", range(11, 19))
def test_a_pulse_of_one_cycle_does_not_end_the_wait(begin):
    """Neither before the rise, nor a dip while the answer is up; whichever cycle looks."""
    answer = (begin, 1, 20, 9, 1, 12)
    pings, edges = serve_closed([20, 30], [answer, (20, 20)], timeout=400)
    assert pings[1] - edges[5] in {30, 31}


@pytest.mark.parametrize("begin", range(11, 15))
def test_three_cycles_are_an_answer(begin):
    pings, edges = serve_closed([20, 30], [(begin, 3), (20, 20)], timeout=400)
    assert pings[1] - edges[1] in {30, 31}


def test_a_word_of_zero_is_no_ball():
    none = programs.SERVE_CLOSED_TICKS
    pings, edges = serve_closed([20, none, none, 30], [(5, 5), (5, 5)], timeout=50)
    assert len(pings) == 2
    assert pings[1] - edges[1] in range(30, 42)


def test_the_open_loop_keeps_its_grid():
    periods = [20, 25, 6, 100, 40]
    machine = Machine(
        programs.serve_open,
        State(
            pin_directions=PING,
            transmit_fifo=deque(period - programs.SERVE_OPEN_TICKS for period in periods),
        ),
    )
    seen = machine.run(300).raised
    assert seen[0] == periods[0]
    assert [b - a for a, b in pairwise(seen)] == periods[1:]


@pytest.mark.parametrize("width", [6, 7, 8, 50])
def test_a_pulse_is_as_long_as_it_shall_be(width):
    pings = [10, 90, 200]
    machine = Machine(
        programs.pulse,
        State(y_register=width - SYNCHRONISER - programs.PULSE_TICKS),
        # what it sees of the ping: up from the ping on until it lowers it
        lambda clock: int(
            any(ping + SYNCHRONISER <= clock < ping + width + SYNCHRONISER for ping in pings)
        ),
        set_base=5,
    )
    assert machine.run(300).lowered == [ping + width for ping in pings]


@pytest.mark.parametrize("seed", range(3))
def test_the_generator_is_exact_from_two_cycles_on(seed):
    rng = random.Random(seed)  # noqa: S311
    pairs = [(2, 3), (3, 2), (4, 2), (2, 7)]
    pairs += [(rng.randrange(2, 50), rng.randrange(3, 50)) for _ in range(20)]
    at, pings = 20, []
    for pair in pairs:
        pings.append(at)
        at += sum(pair) + rng.randrange(20, 30)
    words = deque(word for pair in pairs for word in generator.words(pair))
    machine = Machine(
        generator.answer,
        State(pin_directions=REPLY, transmit_fifo=words),
        # the listening pin's synchroniser is bypassed
        lambda clock: int(any(ping <= clock < ping + 8 for ping in pings)),
        set_base=1,
    )
    machine.run(at)
    rises = [ping + rise for ping, (rise, _) in zip(pings, pairs, strict=True)]
    assert machine.raised == rises
    falls = [rise + width for rise, (_, width) in zip(rises, pairs, strict=True)]
    assert machine.lowered == falls


def test_the_programs_fit_into_a_pio():
    together = (programs.serve_closed, programs.pulse, generator.answer)
    assert sum(len(program.opcodes) for program in together) <= 32
