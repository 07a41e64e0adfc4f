# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The steps of a commissioning: what to plug, what is measured, what a failure means.

Terminal, record, check-list and the table of symptoms for the room take their words from here, and
the pins from ``kit-firmware/wiring.toml``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tennis.wiring import TARGET_5V_PINS, Wire, wiring

UF2 = (
    "hold BOOTSEL while you plug it in, and copy MicroPython's UF2 file for your board (RPI_PICO, "
    "RPI_PICO2, from micropython.org/download) onto the drive that appears"
)


@dataclass(frozen=True)
class Failure:
    """What may go wrong in a step."""

    name: str
    symptom: str
    means: str
    mend: str
    in_lesson: bool = False  # happens to a bench that played before


@dataclass(frozen=True)
class Step:
    """One step; ``after``: steps that must have passed."""

    name: str
    title: str
    plug: tuple[str, ...]
    measures: str
    passes: str
    failures: tuple[Failure, ...] = ()
    after: tuple[str, ...] = ()
    wires: tuple[str, ...] = ()  # which its picture shows, besides ground
    jumpers: bool = False  # its picture shows them
    warning: str = ""
    target: bool = False  # there is nothing to do without a target that is reached over SSH
    second_pico: bool = False  # there is nothing to do without one
    optional: bool = False

    def failure(self, name: str) -> Failure:
        """Return one of its failures."""
        return next(failure for failure in self.failures if failure.name == name)


def wire_line(name: str) -> str:
    """Say where a wire goes, as a line of a terminal's picture."""
    wire = wiring().wire(name)
    middle = f"[{wire.resistor_ohm} Ω]" if wire.resistor_ohm else "───────"
    ends = f"Pico pin {wire.pico_pin} (GP{wire.pico_gpio})"
    return f"{ends} ──{middle}── pin {wire.target_pin} (BCM{wire.target_bcm}) of the target"


def ground_line() -> str:
    """Say where ground goes."""
    ground = wiring().ground
    return f"Pico pin {ground.pico_pin} (GND) ───────── pin {ground.target_pin} of the target"


def _far_ends() -> Iterator[tuple[str, Wire]]:
    """Yield each of the Pico's wires up to its far end, and the wire that answers there."""
    known = wiring()
    for jumper in known.jumpers:
        ends = known.wire(jumper.origin), known.wire(jumper.to)
        here, there = ends if ends[0].target_pin else ends[::-1]
        begins = f"Pico pin {here.pico_pin} (GP{here.pico_gpio}, {here.name})"
        yield f"{begins} ──[{here.resistor_ohm} Ω]── pin {there.pico_pin}", there


def jumper_lines() -> tuple[str, ...]:
    """Say where the far ends of the wires go for the self-test."""
    return tuple(f"{line} (GP{there.pico_gpio}) of the same Pico" for line, there in _far_ends())


def second_pico_lines() -> tuple[str, ...]:
    """Say where ground and the far ends of the wires go on a second Pico."""
    pin = wiring().ground.pico_pin
    ends = (
        f"{line} (GP{there.pico_gpio}, {there.name}) of the second" for line, there in _far_ends()
    )
    return (f"Pico pin {pin} (GND) ── pin {pin} of the second", *ends)


def five_volts() -> str:
    """Say what 5 V on a signal would destroy."""
    pins = " and ".join(map(str, TARGET_5V_PINS))
    ping, reply = wiring().wire("ping"), wiring().wire("reply")
    return (
        f"Pins {pins} of the target are 5 V. On the reply wire, 5 V destroy GP{reply.pico_gpio} "
        f"of the Pico, and perhaps all of it; on the ping wire, GP{ping.pico_gpio}. Between a 5 V "
        "pin and a signal pin they destroy the target. Do not count on the resistor. Plug with the "
        "target switched off, and count the pins first."
    )


@cache
def steps() -> tuple[Step, ...]:
    """Return all steps in their order."""
    known = wiring()
    ping, reply = known.wire("ping"), known.wire("reply")
    joined = (
        "the two wires touch each other, and the Brickwall would time its own ping; or ground is "
        "missing, and one wire is the other one's way back"
    )
    loose = (
        "a plug is loose, or a resistor is another one than 330 Ω",
        "push in both wires at both ends, look at the resistors' rings, then exchange the wires",
    )
    edges = (
        "an edge is slow or bounces: a loose plug, a resistor other than 330 Ω, or a long wire",
        "push in both wires, look at the resistors' rings (330 Ω), use short wires",
    )
    part = "push in ground; look at both ends for two plugs in one row, or bare ends that touch"
    return (
        Step(
            name="pico",
            title="The Pico is found",
            plug=("Plug the Pico into this machine, with a USB cable that carries data.",),
            measures="its port, its board, its MicroPython",
            passes="one Pico answers, with MicroPython 1.25 or newer",
            failures=(
                Failure(
                    "none",
                    "no Pico is found",
                    "the cable only charges, the socket has no power, or the Pico has no program",
                    "use another cable and another socket, then another Pico; a new one has no "
                    "MicroPython: hold BOOTSEL while you plug it in, and do the step again",
                    in_lesson=True,
                ),
                Failure("bootsel", "a Pico waits in BOOTSEL mode", "it has no MicroPython", UF2),
                Failure(
                    "circuitpython",
                    "a Pico with CircuitPython",
                    "the Brickwall is a program for MicroPython, which CircuitPython cannot run",
                    UF2,
                ),
                Failure(
                    "several",
                    "several Picos",
                    "nobody knows which one is wired",
                    "unplug the others, or name the Brickwall with --port; a second Pico is for "
                    "--generator-port, and a third one is for nothing",
                ),
            ),
        ),
        Step(
            name="firmware",
            title="The firmware is on it",
            plug=("Nothing changes.",),
            measures="version and hash of the firmware, the clock, the erratum's resistor",
            passes="the Pico runs this checkout's firmware",
            after=("pico",),
        ),
        Step(
            name="jumpers",
            title="The Pico measures right",
            plug=(
                "Pull the far ends of the ping and the reply wire out of the target.",
                "They are the jumpers of the self-test:",
                *jumper_lines(),
            ),
            measures=(
                "known delays, ball by ball: the largest error, the delay of the loop; and how "
                "many balls a second the Pico serves and keeps"
            ),
            passes="every ball is right to the tick, in a loop that such wires can have",
            after=("firmware",),
            wires=("ping", "reply"),
            jumpers=True,
            failures=(
                Failure(
                    "held",
                    "something holds a jumper's wire",
                    "its far end is in ground, 3.3 V, 5 V or still in the target, or a bare end "
                    "touches one of them; or the reply wire is broken, and the resistor of an "
                    "RP2350 holds it",
                    "pull the far ends out at once, and look for bare ends that touch. Then plug "
                    f"in {known.jumper_words()}; if it is still held, exchange the wires",
                ),
                Failure(
                    "no jumper",
                    "a jumper is missing",
                    "a far end is in a pin beside, or a wire is broken",
                    f"count the pins again: {known.jumper_words()}; then exchange the wire",
                ),
                Failure(
                    "swapped",
                    "the two far ends are swapped",
                    "the ping wire is in the answer's pin, the reply wire in the listening one",
                    f"exchange them: {known.jumper_words()}",
                ),
                Failure("joined", "ping and reply are joined", "the two wires touch", part),
                Failure(
                    "short",
                    "a wire touches ground or 3.3 V at the Pico",
                    "a bare end, or a plug in two rows",
                    f"pull both off GP{ping.pico_gpio} and GP{reply.pico_gpio} at once, and look "
                    "for the short",
                ),
                Failure("loose", "some known answers are missed", *loose),
                Failure("edges", "edges are seen more than once", *edges),
                Failure(
                    "wrong delays",
                    "known delays are measured wrong",
                    "the wires are long, a resistor is another one, or the Pico is broken",
                    "use short wires with 330 Ω, then another Pico",
                ),
            ),
        ),
        Step(
            name="pair",
            title="A second Pico agrees",
            plug=(
                "With --generator-port only: plug the second Pico in, with this firmware on it",
                "(tennis brickwall flash --port PORT). The far ends of the wires go there:",
                *second_pico_lines(),
            ),
            measures=(
                "known delays of another crystal, in any phase: the largest error, the delay of "
                "the loop, how far the two clocks are apart"
            ),
            passes="no ball is further off than the two clocks' ticks allow",
            after=("jumpers",),
            second_pico=True,
            failures=(
                Failure(
                    "not ready",
                    "the second Pico does not answer as a Brickwall",
                    "it has no firmware, or another one, or --generator-port names another port",
                    "tennis brickwall flash --port PORT, with the second Pico's port",
                ),
                Failure(
                    "no answers",
                    "the second Pico answers no ping",
                    "a wire between the two ends elsewhere, or ground is missing",
                    "count the pins of both again, plug in ground, then exchange the wires",
                ),
                Failure("loose", "some answers of the second Pico are missed", *loose),
                Failure("edges", "edges are seen more than once", *edges),
                Failure(
                    "clocks",
                    "the two clocks are further apart than two crystals",
                    "the crystal of one of the two Picos is off; wires do not do that",
                    "use another second Pico; if the clocks are apart again, another first one",
                ),
                Failure(
                    "wrong delays",
                    "the second Pico's delays are measured wrong",
                    "the wires are long, or a resistor is another one",
                    "use short wires with 330 Ω, then another second Pico",
                ),
            ),
        ),
        Step(
            name="target",
            title="The target is reached",
            plug=("Switch the target on, in this network. No wire leads to it yet.",),
            measures="the login over SSH, and root's rights there",
            passes="a command runs there as root, and nobody else holds it",
            target=True,
            failures=(
                Failure(
                    "unreachable",
                    "the target is not reached",
                    "it is off, in another network, or does not know your key",
                    "wait a minute after power-on, look at its lights, then `ssh` it by hand",
                    in_lesson=True,
                ),
                Failure(
                    "rights",
                    "no rights there",
                    "sudo asks for a password, or there is none",
                    "allow sudo without a password (`ansible/` does), or log in as root",
                ),
            ),
        ),
        Step(
            name="kernel",
            title="The target's kernel is sound",
            plug=("Nothing changes.",),
            measures="kernel, governor, idle states, GPIO chip, power and heat; the Racquet",
            passes="nothing would spoil a rally, and the Racquet is built for this kernel",
            after=("target",),
            target=True,
            failures=(
                Failure(
                    "unsound",
                    "something on the target would spoil a rally",
                    "each line says what: mostly the governor, or a Racquet for another kernel",
                    "do what the line says, or `tennis benches restore NAME`",
                    in_lesson=True,
                ),
            ),
        ),
        Step(
            name="ping",
            title="The ping wire",
            plug=(
                "Switch the target off. Plug ground and the ping wire, and not yet the reply wire:",
                ground_line(),
                wire_line("ping"),
                "Switch it on again.",
            ),
            measures="what the Pico's pins say, and how many of 20 pings the target counts",
            passes="the target counts each ping once",
            after=("jumpers", "kernel"),
            wires=("ping",),
            warning=five_volts(),
            failures=(
                Failure(
                    "jumpers",
                    "the wires are still the jumpers",
                    f"their far ends are in GP{known.wire('listen').pico_gpio} and "
                    f"GP{known.wire('answer').pico_gpio}",
                    "plug them into the target",
                ),
                Failure(
                    "short",
                    "the ping wire is shorted",
                    "it touches ground or 3.3 V",
                    f"pull it off GP{ping.pico_gpio} (pin {ping.pico_pin}) at once, and look for "
                    "the short",
                    in_lesson=True,
                ),
                Failure(
                    "joined",
                    "ping and reply are joined",
                    joined,
                    part,
                    in_lesson=True,
                ),
                Failure(
                    "held high",
                    "something holds the ping wire high",
                    f"its far end is in a pin of 3.3 V or 5 V, or in an output that is up; pin "
                    f"{ping.target_pin} is an input",
                    f"pull it out at once, then count to pin {ping.target_pin}",
                    in_lesson=True,
                ),
                Failure(
                    "held low",
                    "no ping is counted, and something holds the ping wire low",
                    f"its far end is in a ground pin or in an output, such as the reply's pin "
                    f"{reply.target_pin}; or the wire touches ground, or the other one",
                    "pull the far end out and do the step again. If nothing holds it then, count "
                    f"to pin {ping.target_pin}; else exchange the wire",
                    in_lesson=True,
                ),
                Failure(
                    "wrong pin",
                    "no ping is counted, and the ping wire ends in an input",
                    "it is another pin, or the Racquet looks at another line",
                    f"count to pin {ping.target_pin}; then `tennis doctor --target` names the "
                    "Racquet's lines",
                    in_lesson=True,
                ),
                Failure(
                    "missing",
                    "no ping is counted, and the ping wire ends nowhere",
                    "it is in no pin, or broken, or ground is missing; an RP2350 cannot tell that "
                    "from a wrong pin",
                    f"look at ground, at pin {ping.pico_pin} of the Pico and pin "
                    f"{ping.target_pin} of the target, then exchange the wire",
                    in_lesson=True,
                ),
                Failure(
                    "wrong count",
                    "the target counts fewer or more pings than came",
                    "ground or the ping wire is loose, or another resistor is in it than 330 Ω",
                    "push in ground and the ping wire, side by side and as short; look at the "
                    "resistor's rings",
                    in_lesson=True,
                ),
            ),
        ),
        Step(
            name="reply",
            title="The reply wire",
            plug=(
                "Plug the reply wire, too:",
                wire_line("reply"),
            ),
            measures="what the Pico's pins say, and how many of 20 pings are answered",
            passes="the line rests low, and each ping is answered",
            after=("ping",),
            wires=("ping", "reply"),
            warning=five_volts(),
            failures=(
                Failure("joined", "ping and reply are joined", joined, part),
                Failure(
                    "short",
                    "the reply wire is shorted to ground at the Pico",
                    f"GP{reply.pico_gpio} touches ground, before the resistor",
                    f"pull it off GP{reply.pico_gpio} (pin {reply.pico_pin}) at once, and look for "
                    "the short",
                    in_lesson=True,
                ),
                Failure(
                    "held high",
                    "the reply wire is held high",
                    f"it is in a pin of 3.3 V or 5 V, the line of pin {reply.target_pin} is up, or "
                    "ground is missing",
                    "pull it out at once, then count the pins",
                    in_lesson=True,
                ),
                Failure(
                    "swapped",
                    "no ping is counted; something holds the ping wire low, nothing the reply wire",
                    "ping and reply are swapped at the target; or the ping wire touches ground",
                    f"ping goes to pin {ping.target_pin}, reply to pin {reply.target_pin}; if they "
                    "are there, pull the reply wire out and do the step `ping` again",
                    in_lesson=True,
                ),
                Failure(
                    "missing",
                    "the pings arrive, and the reply wire ends nowhere",
                    "it is in no pin, or broken, or ground is missing; an RP2350 cannot tell that "
                    "from a wrong pin",
                    f"look at pin {reply.pico_pin} of the Pico and pin {reply.target_pin} of the "
                    "target, then exchange the wire",
                    in_lesson=True,
                ),
                Failure(
                    "wrong pin",
                    "the pings arrive, and the reply wire ends in an input",
                    "it is another pin, the Racquet has another line, or it is not loaded",
                    f"count to pin {reply.target_pin}; then `tennis doctor --target` names the "
                    "Racquet's lines",
                    in_lesson=True,
                ),
                Failure(
                    "held low",
                    "the pings arrive, and something holds the reply wire low",
                    "it is in a ground pin or shorted; or it ends nowhere, and the resistor of an "
                    "RP2350 holds it",
                    f"count again: pin {reply.target_pin} of the target. Then pull the far end out "
                    "and do the step again: if it is still held low, exchange the wire",
                    in_lesson=True,
                ),
                Failure(
                    "loose",
                    "all pings arrive, and not all answers come back",
                    "the reply wire is loose, or another resistor is in it than 330 Ω",
                    "push in the reply wire at both ends; look at the resistor's rings",
                    in_lesson=True,
                ),
                Failure(
                    "some",
                    "some pings are answered, and nobody counts them",
                    "ground, the ping or the reply wire is loose, or another resistor is in one of "
                    "them than 330 Ω",
                    "push in ground and both wires at both ends; look at the resistors' rings",
                    in_lesson=True,
                ),
                Failure(
                    "no answers",
                    "the reply wire is low, pings are not answered, and nobody counts them",
                    "a wire is in a pin beside, or the Racquet is not loaded",
                    "load the Racquet and look whether it counts (docs/racquet.md); then count "
                    f"the pins: {ping.target_pin} and {reply.target_pin} of the target",
                    in_lesson=True,
                ),
            ),
        ),
        Step(
            name="idle",
            title="A short rally, idle",
            plug=("Nothing changes.",),
            measures="the medians of both latencies, beside those of the virtual bench",
            passes="every ball is answered, no fault, no median that only a short could have",
            after=("reply",),
            failures=(
                Failure(
                    "own ping",
                    "answers come before any handler could have run",
                    "the Brickwall hears its own ping: the wires run side by side, or touch",
                    "pull them apart, put the ground wire between them",
                ),
                Failure(
                    "faults",
                    "the rally has a fault, or misses",
                    "a wire is loose, or the target was disturbed",
                    "push in the wires, do the step again",
                    in_lesson=True,
                ),
            ),
        ),
        Step(
            name="load",
            title="A short rally under load",
            plug=("Nothing changes.",),
            measures="the same under `stress`",
            passes="every ball is answered, no fault, and the load passes its own check",
            after=("idle",),
        ),
        Step(
            name="umpire",
            title="A logic analyser records, too",
            plug=(
                "With --umpire only: the analyser's D0 on the ping, D1 on the reply, its ground",
                "on ground, all at the Pico's ends.",
            ),
            measures="the Brickwall's bias against the analyser",
            passes="the verdict of `tennis umpire check` is pass",
            after=("reply",),
            optional=True,
        ),
    )


def step(name: str) -> Step:
    """Return a step by its name."""
    return next(one for one in steps() if one.name == name)


def names() -> tuple[str, ...]:
    """Return the names of all steps in their order."""
    return tuple(one.name for one in steps())


def dependents(name: str) -> set[str]:
    """Return the steps that stand on one, directly or not."""
    found: set[str] = set()
    for one in steps():
        if name in one.after or found & set(one.after):
            found.add(one.name)
    return found
