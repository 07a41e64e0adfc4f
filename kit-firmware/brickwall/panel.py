# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Three lights and a buzzer.

Yellow: playing. Red: something was wrong with the rally (a miss, a stray, a double, an overrun, an
exception), until the next one. Green, and a short tone: it has ended.
"""

import time

from machine import PWM, Pin

_TONE_HZ = 2000
_TONE_MS = 200
_HALF = 32768


class Panel:
    """The panel; ``tick`` it now and then."""

    def __init__(self, pins):
        self._lights = {n: Pin(pins[n], Pin.OUT, value=0) for n in ("yellow", "red", "green")}
        self._buzzer_pin = pins["buzzer"]
        self._buzzer = None
        self._silent_at = 0
        self.buzz(False)

    def show(self, **lights):
        """Switch lights: yellow, red, green."""
        for name, value in lights.items():
            self._lights[name].value(value)

    def playing(self):
        """Show that a rally has begun."""
        self.show(yellow=1, red=0, green=0)
        self.buzz(False)  # nobody ticks while a rally is played

    def fault(self):
        """Show that something was wrong with it."""
        self._lights["red"].value(1)

    def ended(self):
        """Show that it is over."""
        self.show(yellow=0, green=1)
        self.buzz(True)
        self._silent_at = time.ticks_add(time.ticks_ms(), _TONE_MS)

    def buzz(self, on):
        """Begin or end a tone."""
        if self._buzzer:
            self._buzzer.deinit()
            self._buzzer = None
        pin = Pin(self._buzzer_pin, Pin.OUT, value=0)
        if on:
            self._buzzer = PWM(pin, freq=_TONE_HZ, duty_u16=_HALF)
        self._silent_at = None

    def tick(self):
        """End the tone when it is time."""
        if self._silent_at is not None and time.ticks_diff(self._silent_at, time.ticks_ms()) <= 0:
            self.buzz(False)
