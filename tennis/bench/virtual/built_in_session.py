"""QEMU with the instrument that is a plugin of its own."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tennis.bench.qemu import plugins
from tennis.bench.qemu.session import PipedSession
from tennis.bench.virtual.machine import Extras, Machine
from tennis.bench.virtual.parts import Parts
from tennis.bench.virtual.shots import held_open, parameters
from tennis.kit import wire
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError
from tennis.rally import drills
from tennis.rally.journal import Frame
from tennis.rally.manifest import Instrument
from tennis.rally.memory import NONE
from tennis.rally.program import read as read_program
from tennis.rally.shots import are_shots, instants

__all__ = ["describe", "plugin", "session", "versions"]  # what an instrument of the bench has

PLUGIN: plugins.Plugin = "instrument"
# how long the target may take for the load's health behind the last ball, of virtual time
BOOT_S = 40  # of virtual time, twice what it takes
OVER_NS = 60_000_000_000
DRILL_OVER_NS = 3_600_000_000_000  # of a drill: it tells all of its times


def plugin(qemu: plugins.Qemu) -> Path:
    """Build QEMU's side of the instrument. Raises BenchError."""
    return plugins.build(qemu, PLUGIN)


def versions() -> dict[str, str]:
    """Return the versions of the instrument on which the bytes of a rally depend."""
    return {"instrument_sha256": sha256_of(*plugins.sources(PLUGIN))}


def describe(recorded: Mapping[str, str]) -> Instrument:
    """Return the instrument's entry in the manifest, from ``versions`` at the beginning."""
    return plugins.describe(recorded["instrument_sha256"])


class _BuiltInSession(PipedSession):
    """A rally with the instrument that is a plugin of QEMU's."""

    def __init__(self, parts: Parts, extras: Extras, folder: Path) -> None:
        super().__init__()
        plan = parts.plan
        protocol = extras.protocol or plan.protocol
        settings = plugins.parameters(protocol, plan.instruction_ns, self.writer)
        if parts.load.checked or plan.witness != "none" or plan.program:
            settings["over"] = OVER_NS
        if plan.program and plan.memory in {None, NONE}:  # one that starves the target has an end
            limit_s = BOOT_S + read_program(Path(plan.program)).about.limits.start_s
            settings["ready_timeout"] = limit_s * 10**9 * max(2, plan.instruction_ns) // 2
        if plan.drill and not plan.program:  # it has to tell what it measured
            settings["over"] = DRILL_OVER_NS
            settings["loop_back"] = int(drills.find(plan.drill.name).about.loops_back)
        descriptors = [self.writer]
        at_ns, absolute = extras.instants_ns, extras.instants_ns is not None
        if at_ns is None and are_shots(protocol):
            at_ns = instants(protocol, plan.instruction_ns)
        if at_ns is not None:
            descriptors.append(held_open(at_ns))
            settings |= parameters(descriptors[-1], extras.children, absolute=absolute)
        try:
            self._machine = Machine(parts, extras, folder, settings, descriptors)
        finally:
            for descriptor in descriptors[1:]:
                os.close(descriptor)
        self._shoots = at_ns is not None
        self._waits = bool(plan.program)  # for the first ball of a program
        self.started()

    def frames(self) -> Iterator[Frame | None]:
        """Yield the instrument's frames. Raises BenchError if shots end before their time."""
        for frame in super().frames():
            if frame and frame.kind == wire.BALLS:
                self._waits, self.doing = False, ""
            yield frame
        why = self._machine.gave_up() if self._shoots else ""
        if why:
            raise BenchError(why, next_step="docs/shots.md says what shots need")

    def look_after(self) -> None:
        """Say that a program runs without a ball; raise BenchError if the target says nothing."""
        if self._waits and not self.doing and self._machine.console.has_begun:
            self.doing = "the program runs, and the target is not ready yet"
        self._machine.refuse_silence()

    def stop(self) -> None:
        """Ask QEMU to end; the instrument sends what it holds."""
        self._machine.stop()

    def close(self) -> None:
        """End QEMU."""
        self._machine.close()
        super().close()


session = _BuiltInSession
