"""QEMU's guest and the Brickwall on an emulated Pico, in one time: target/virtual/link.c."""

import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from tennis.bench.instruments import emulated
from tennis.bench.instruments.linked_session import EMULATOR_LOG, LinkedSession
from tennis.bench.qemu import plugins
from tennis.bench.virtual.machine import Extras, Machine
from tennis.bench.virtual.parts import Parts
from tennis.kit import wire
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError
from tennis.rally.journal import Frame
from tennis.rally.manifest import Instrument

__all__ = ["describe", "plugin", "session", "versions"]  # what an instrument of the bench has

PLUGIN: plugins.Plugin = "link"
COMPLETE = struct.pack("<I", 0)  # as an END begins, of wire.END_REASONS


def plugin(qemu: plugins.Qemu) -> Path:
    """Build QEMU's side of the instrument. Raises BenchError."""
    return plugins.build(qemu, PLUGIN)


def versions() -> dict[str, str]:
    """Return the versions of the instrument on which the bytes of a rally depend."""
    return {**emulated.versions(), "instrument_sha256": sha256_of(*plugins.sources(PLUGIN))}


def describe(recorded: Mapping[str, str]) -> Instrument:
    """Return the instrument's entry in the manifest, from ``versions`` at the beginning."""
    return emulated.describe(recorded["firmware_sha256"])


class _PicoSession(LinkedSession):
    """QEMU and an emulated Pico, each waiting for the other."""

    def __init__(self, parts: Parts, extras: Extras, folder: Path) -> None:
        log = folder / EMULATOR_LOG
        self._places_size = 0  # the Pico sees no processors: the guest's end of the link counts
        if parts.plan.processors > 1:
            self._places_size = struct.calcsize(wire.PLACE) * parts.plan.processors
        pico_reads, qemu_writes = os.pipe()
        qemu_reads, pico_writes = os.pipe()
        self._places = os.memfd_create("places")
        descriptors = {"to_pico": qemu_writes, "from_pico": qemu_reads, "places": self._places}
        settings = {**descriptors, "timeout": parts.plan.protocol.timeout_ns}
        self._machine = Machine(parts, extras, folder, settings, list(descriptors.values()))
        os.close(qemu_writes)
        os.close(qemu_reads)
        try:
            link = emulated.start(linked=(pico_reads, pico_writes), log=log)
        except BaseException:
            self._end_target()
            raise
        finally:
            os.close(pico_reads)
            os.close(pico_writes)
        # neither of the two moves on while the other one does not
        link.waiting = self._machine.refuse_silence
        super().__init__(link, parts.plan, self._machine.console, log)

    def frames(self) -> Iterator[Frame | None]:
        """Yield the Brickwall's frames, and before the END the processors of the answers."""
        for frame in super().frames():
            whole = frame and frame.kind == wire.END and frame.payload.startswith(COMPLETE)
            if frame and whole and self._places_size:
                yield Frame(wire.PLACES, frame.sequence, self._where())
                frame = frame._replace(sequence=frame.sequence + 1)  # noqa: PLW2901
            yield frame

    def _where(self) -> bytes:
        """Return a record of ``wire.PLACE`` for each processor."""
        places = os.pread(self._places, self._places_size, 0)
        if len(places) != self._places_size:
            raise BenchError("nobody counted on which processors the balls were answered")
        return places

    def _end_target(self) -> None:
        self._machine.stop()
        self._machine.close()
        if self._places >= 0:
            os.close(self._places)
            self._places = -1


session = _PicoSession
