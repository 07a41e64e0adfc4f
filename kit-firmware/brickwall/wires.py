# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the wires are connected to: pads driven, pulled and read back."""

import sys
import time

import micropython
import registers
from machine import Pin, disable_irq, enable_irq
from micropython import const

_SETTLE_US = 20
# Rounds of the loop in ``_after_release``, some 0.3 us. A pad that is let go of is empty by then
# through 330 Ohm, or the 4.7 kOhm of erratum E9. Through a pull of 50 kOhm it takes 1 us or more.
_AT_ONCE = const(6)
# A target that sees the ping answers it, and is done by now; what is joined stays up.
_ANSWERED_MS = 5
# An open wire shall be silent. RP2350's erratum E9 holds a pulled-down input at half its supply.
_PULL = None if "RP2350" in sys.implementation._machine else Pin.PULL_DOWN


def make_input(number):
    """Let a pad listen to what a wire brings."""
    Pin(number).init(Pin.IN, _PULL)


def _read(pin, pull):
    pin.init(Pin.IN, pull)
    time.sleep_us(_SETTLE_US)
    return pin.value()


@micropython.viper
def _after_release(let_go: ptr32, levels: ptr32, mask: int) -> int:  # noqa: F821 viper's
    let_go[0] = mask
    n = int(_AT_ONCE)
    while n:
        n -= 1
    return levels[0] & mask


def _driven(number, name, level):
    """Drive a pad, then let go of it: its levels driven, and at once and some time after that."""
    pin = Pin(number)
    pin.init(Pin.OUT, value=level)
    time.sleep_us(_SETTLE_US)
    driven = pin.value()
    state = disable_irq()
    at_once = _after_release(registers.let_go(), registers.pad_levels(), 1 << number)
    enable_irq(state)
    time.sleep_us(_SETTLE_US)
    later = pin.value()
    pin.init(Pin.IN, None)
    return {name: driven, "from_" + name: [int(at_once != 0), later]}


def _pulled(pin):
    return {"pulled_up": _read(pin, Pin.PULL_UP), "pulled_down": _read(pin, Pin.PULL_DOWN)}


def _follows(reader, driver, wait_ms=0):
    """Say whether a pad follows another one, against its own pull."""
    follows = True
    for level, pull in ((0, Pin.PULL_UP), (1, Pin.PULL_DOWN), (0, Pin.PULL_UP)):
        driver.init(Pin.OUT, value=level)
        time.sleep_ms(wait_ms)
        follows = follows and _read(reader, pull) == level
    driver.init(Pin.IN, None)
    reader.init(Pin.IN, None)
    return follows


def test(pins):
    """Return what the pads say. Nothing else may use them now."""
    ping, reply, listen, answer = (Pin(pins[n]) for n in ("ping", "reply", "listen", "answer"))
    for pin in (ping, reply, listen, answer):
        pin.init(Pin.IN, None)
    found = {
        "ping": dict(
            _pulled(ping), **_driven(pins["ping"], "high", 1), **_driven(pins["ping"], "low", 0)
        ),
        # never driven low: 5 V may be there
        "reply": dict(_pulled(reply), **_driven(pins["reply"], "high", 1)),
        "listen": _pulled(listen),
        "ping_to_reply": _follows(reply, ping, _ANSWERED_MS),
        "ping_to_listen": _follows(listen, ping),
        "ping_to_answer": _follows(answer, ping),
        "answer_to_reply": _follows(reply, answer),
        "listen_to_reply": _follows(reply, listen),
    }
    ping.init(Pin.OUT, value=0)
    return found
