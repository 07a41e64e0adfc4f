"""Lab 2: what was planted for this student."""

from tennis.course.checks import check, expect, number
from tennis.course.planting import planted
from tennis.course.work import Work

NEAR_NS = 5.0  # 5,000 balls at 24 MHz show it to a nanosecond
NEAR_PPM = 1.0


@check(question="bias")
def check_bias(work: Work) -> None:
    """The bias is the planted one, within 5 ns and with its sign.

    Hint: use the line "Interrupt bias" of `tennis umpire check watched --capture planted.sr`.
    """
    value = number(work, "bias")
    right = planted(work.seed).interrupt_bias_ns
    expect(
        abs(value + right) > NEAR_NS or abs(value - right) <= NEAR_NS,
        f"{value:g} ns: look at its sign",
    )
    expect(abs(value - right) <= NEAR_NS, f"{value:g} ns is not what was planted")


@check(question="clock")
def check_clock(work: Work) -> None:
    """The clock's error is the planted one, within 1 part in a million.

    Hint: use the line "Clock" of the same output.
    """
    value = number(work, "clock")
    expect(
        abs(value - planted(work.seed).clock_ppm) <= NEAR_PPM,
        f"{value:g} ppm is not what was planted",
    )
