# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The service: takes commands, answers each, and keeps a rally going between them."""

import gc
import io
import json
import sys
import time

import generator
import lines
import machine
import micropython
import rally
import registers
import wire
import wires
from identity import identity
from panel import Panel
from programs import SYNCHRONISER_TICKS
from sender import Sender
from stampers import Stampers

_HELP = (
    "Tennis' Brickwall. A command is: NUMBER VERB key=value ... #crc32. Verbs: hello clock play "
    "ack resend stop status wires generate quiet panel raise. Ctrl-C alone on a line: MicroPython."
)
_MHZ = 10**6
# the fastest clock at each voltage of the core, in mV; beyond 200 MHz the datasheet is left
_FASTEST_HZ = ((1100, 133 * _MHZ), (1150, 200 * _MHZ), (1250, 250 * _MHZ))
_RP2350_FASTEST_HZ = 150 * _MHZ
# nothing that a turn does takes a tenth of it
_WATCHDOG_MS = 8000
# A pause while there is nothing to do; it gets longer, and what was stamped meanwhile waits in
# the rings: at the highest rate that there is, room for twice as long.
_PAUSE_MAX_MS = 8


class CommandError(Exception):
    """A command that cannot be done: why, and a word for programs."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class _LeaveError(Exception):
    """Somebody wants MicroPython's prompt."""


class Service:
    """The instrument, as the host sees it."""

    def __init__(self):
        with open("wiring.json") as file:
            self._pins = json.load(file)
        # large memory first, and without what compiling the files above left behind
        gc.collect()
        stampers = Stampers()
        self._sender = Sender()
        self._delays = generator.table()
        self._panel = Panel(self._pins)
        self._rally = rally.Rally(self._pins, stampers, self._sender, self._panel)
        self._lines = lines.Lines()
        self._identity = identity()
        self._generator = None
        self._pause_ms = 1
        self._ended = False  # a rally has ended, and the host does not have all of it
        gc.collect()

    def run(self):
        """Serve until somebody wants MicroPython's prompt."""
        micropython.kbd_intr(-1)  # bytes are bytes
        # a Brickwall that hangs boots again, and the host names the restart
        self._alive = machine.WDT(timeout=_WATCHDOG_MS).feed
        try:
            while True:
                try:
                    self._turn()
                except _LeaveError:
                    return
                except Exception as error:  # whatever it is: report it, be ready again
                    self._report(wire.NO_NUMBER, error)
        finally:
            if self._rally.playing:
                self._rally.fail()
            self._quiet()
            registers.end_watchdog()

    @micropython.native
    def _turn(self):
        self._alive()
        try:
            line = self._lines.take()
        except lines.TooLongError:
            line = None
            self._refuse(wire.NO_NUMBER, "a line of more than 500 bytes", "checksum")
        if line is not None:
            self._obey(line)
        more = False
        if self._rally.playing:
            more = self._rally.step()
            self._ended = not self._rally.playing
        else:
            self._panel.tick()
            if self._ended and self._sender.room() == self._sender.window:
                self._ended = False
        more = self._sender.pump() or more
        if not more and not self._lines.more:
            time.sleep_ms(self._pause_ms)
            self._pause_ms = min(self._pause_ms + 1, _PAUSE_MAX_MS)
        else:
            self._pause_ms = 1

    # --- commands ---

    @micropython.native
    def _obey(self, line):
        if line == lines.LEAVE:
            if not self._rally.playing:
                raise _LeaveError
            return
        number = wire.NO_NUMBER
        try:
            number, verb, parameters = wire.parse_command(line)
            do = getattr(self, "_do_" + verb, None)
            if do is None:
                raise CommandError("no such command: %s; try: help" % verb, "unknown")
            result = do(number, parameters)
            if result is not None:
                self._sender.answer(number, {"ok": result})
        except wire.ChecksumError as error:
            self._refuse(number, str(error), "checksum")
        except wire.WireError as error:
            self._refuse(number, str(error), "command")
        except (CommandError, rally.PlayError) as error:
            self._refuse(number, str(error), error.code)
        except Exception as error:  # whatever it is: report it, be ready again
            self._report(number, error)

    def _refuse(self, number, text, code):
        self._sender.answer(number, {"error": text, "code": code})

    def _report(self, number, error):
        """Say what was raised, and where; a rally, if any, is suspect."""
        self._panel.fault()
        trace = io.StringIO()
        sys.print_exception(error, trace)
        text = " ".join(line.strip() for line in trace.getvalue().split("\n")[-3:])
        if self._rally.playing:
            self._rally.fail()
            self._ended = True
        self._refuse(number, text.strip(), "exception")

    def _idle_only(self):
        if self._rally.playing:
            raise CommandError("a rally is being played", "playing")

    def _state(self):
        if self._rally.playing:
            return "playing"
        return "ended" if self._ended else "idle"

    def _hello(self):
        clock_hz = machine.freq()
        settings = self._rally.settings if self._rally.playing or self._ended else None
        hello = dict(self._identity)
        hello["clock_hz"] = hello["tick_hz"] = clock_hz
        hello["state"] = self._state()
        hello["rally"] = settings.parameters["rally"] if settings else None
        hello["next_frame"] = self._sender.next
        hello["oldest_frame"] = self._sender.oldest
        hello["pins"] = self._pins
        return hello

    def _do_help(self, _number, _parameters):
        return {"help": _HELP}

    def _do_hello(self, _number, _parameters):
        return self._hello()

    def _do_clock(self, _number, parameters):
        self._idle_only()
        parameters = dict(parameters)
        parameters.setdefault("core_mv", "1100")
        hz, core_mv = _take(parameters, ("hz", "core_mv"))
        if hz % _MHZ:
            raise CommandError("whole MHz only", "clock")
        _check_clock(hz, core_mv)
        try:
            # the voltage goes up before the clock does, and down after it
            if hz > machine.freq():
                _set_voltage(core_mv)
            if machine.freq() != hz:
                machine.freq(hz)
            _set_voltage(core_mv)
        except (ValueError, OverflowError):
            raise CommandError("no such clock: %d Hz" % hz, "clock") from None
        return {"clock_hz": machine.freq(), "tick_hz": machine.freq(), "core_mv": core_mv}

    def _do_play(self, number, parameters):
        self._idle_only()
        settings = rally.Settings(parameters, machine.freq())
        gc.collect()
        hello = self._hello()
        hello["state"] = "playing"
        self._sender.answer(number, {"ok": settings.parameters})
        driven = self._generator and self._generator.answer_pin == self._pins["reply"]
        self._rally.start(settings, hello, driven)

    @micropython.native
    def _do_ack(self, _number, parameters):
        (before,) = _take(parameters, ("next",))
        self._sender.acknowledge(before)

    def _do_resend(self, _number, parameters):
        (sequence,) = _take(parameters, ("from",))
        self._sender.resend(sequence)

    def _do_stop(self, _number, _parameters):
        if not self._rally.playing:
            raise CommandError("no rally is being played", "idle")
        self._rally.end(rally.REASON_STOPPED)
        self._ended = True
        return {}

    def _do_status(self, _number, _parameters):
        return dict(self._rally.counters(), state=self._state())

    def _do_wires(self, _number, _parameters):
        self._idle_only()
        if self._generator:
            raise CommandError("the generator uses the pins: quiet first", "generator")
        return wires.test(self._pins)

    def _do_generate(self, _number, parameters):
        self._idle_only()
        parameters = dict(parameters)
        source = parameters.pop("source", None)
        if source not in ("jumpers", "external", "internal"):
            raise CommandError("source is jumpers, external or internal", "parameters")
        given = _take(parameters, generator.PARAMETERS)
        try:
            generator.check(*given)
        except ValueError as error:
            raise CommandError(str(error), "parameters") from None
        self._quiet()
        inside = source == "internal"
        listen, answer = ("ping", "reply") if inside else ("listen", "answer")
        self._generator = generator.Generator(
            self._pins[listen], self._pins[answer], self._delays, given, inside
        )
        result = dict(zip(generator.PARAMETERS, given))  # noqa: B905 not in MicroPython
        result["source"] = source
        result["synchroniser_ticks"] = 0 if inside else SYNCHRONISER_TICKS
        return result

    def _do_quiet(self, _number, _parameters):
        self._idle_only()
        self._quiet()
        return {}

    def _quiet(self):
        if self._generator:
            self._generator.stop()
            self._generator = None

    def _do_panel(self, _number, parameters):
        self._idle_only()
        names = ("yellow", "red", "green", "buzzer")
        values = dict(zip(names, _take(parameters, names)))  # noqa: B905 not in MicroPython
        self._panel.buzz(values.pop("buzzer"))
        self._panel.show(**values)
        return {}

    def _do_raise(self, _number, _parameters):
        self._rally.raise_now()


def _check_clock(hz, core_mv):
    """Refuse a clock that the core's voltage does not carry."""
    levels = registers.core_voltages()
    if not levels:
        if hz > _RP2350_FASTEST_HZ:
            raise CommandError("150 MHz at most: no voltage can be set on this chip", "clock")
        return
    if core_mv not in levels:
        raise CommandError("core_mv is one of %s" % levels, "clock")
    fastest = max(limit for needed, limit in _FASTEST_HZ if core_mv >= needed)
    if hz > fastest:
        raise CommandError(
            "%d MHz at most at %d mV: raise core_mv with the clock" % (fastest // _MHZ, core_mv),
            "clock",
        )


def _set_voltage(core_mv):
    if registers.core_voltages() and not registers.set_core_voltage(core_mv):
        raise CommandError("the regulator does not reach %d mV" % core_mv, "clock")


@micropython.native
def _take(parameters, names):
    """Return the numbers of exactly these parameters."""
    if sorted(parameters) != sorted(names):
        raise CommandError("takes exactly: " + " ".join(names), "parameters")
    for name in names:
        if not parameters[name].isdigit():
            raise CommandError("not a number: %s=%s" % (name, parameters[name]), "parameters")
    return [int(parameters[name]) for name in names]
