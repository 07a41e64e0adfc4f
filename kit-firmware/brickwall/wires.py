# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the wires are connected to: pads driven, pulled and read back."""

import sys
import time

from machine import Pin

_SETTLE_US = 20
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


def _driven(pin):
    levels = {}
    for name, level in (("high", 1), ("low", 0)):
        pin.init(Pin.OUT, value=level)
        time.sleep_us(_SETTLE_US)
        levels[name] = pin.value()
    pin.init(Pin.IN, None)
    return levels


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
        # let go: low where the ping wire ends in an output that is down, as the target's reply
        "ping": dict(_pulled(ping), **_driven(ping)),
        "reply": _pulled(reply),
        "listen": _pulled(listen),
        "ping_to_reply": _follows(reply, ping, _ANSWERED_MS),
        "ping_to_listen": _follows(listen, ping),
        "answer_to_reply": _follows(reply, answer),
        "listen_to_reply": _follows(reply, listen),
    }
    ping.init(Pin.OUT, value=0)
    return found
