"""A rally with the real Brickwall, its firmware on an emulated Pico, and a target in one time.

Every run of a plan gives the same bytes, as with the instrument that is built into QEMU.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Hello, play_of
from tennis.bench.instruments.lockstep import LockstepLink
from tennis.bench.targets.console import Console
from tennis.kit import wire
from tennis.rally.journal import Frame
from tennis.rally.plan import Plan

EMULATOR_LOG = "emulator.log"
# why the guest's end of the link closed, as link.c says it: an END reason of wire.py
ENDINGS = {"target_ended": 2, "never_ready": 3}


class LinkedSession:
    """The Brickwall's firmware on an emulated Pico, and a target that shares its time."""

    doing = ""
    garbage_bytes = 0  # the line's is repaired

    def __init__(self, link: LockstepLink, plan: Plan, console: Console, log: Path) -> None:
        self._link = link
        self._brickwall = Brickwall(link)
        self._protocol = plan.protocol
        self._drills = plan.drill is not None
        self._console = console
        self._log = log  # the emulator's
        self._ending: int | None = None
        self._messages: list[str] = []

    def hello(self) -> Hello:
        """Return the Brickwall's greeting."""
        return self._brickwall.hello()

    def frames(self) -> Iterator[Frame | None]:
        """Yield the Brickwall's frames; None now and then while none comes."""
        play = play_of(self._protocol)
        begun = False
        for frame in self._brickwall.play_when_ready(play, self._link.at_ready):
            self._look_after_the_target()
            if frame is None:
                yield None
                if self._ending is not None and not begun:
                    # the Brickwall got no command to play, so it sends no END
                    yield Frame(wire.END, 0, struct.pack(wire.END_FORMAT, self._ending, *[0] * 6))
                    return
                continue
            begun = True
            if frame.kind == wire.END and self._ending is not None:
                frame = frame._replace(  # noqa: PLW2901
                    payload=struct.pack("<I", self._ending) + frame.payload[4:]
                )
            if frame.kind == wire.END and self._drills:
                yield from self._while_it_tells()
            yield frame

    def _while_it_tells(self) -> Iterator[None]:
        """Let the target tell what it measured: nothing is measured any more, and it powers off."""
        while not ENDINGS.keys() & set(self._link.notes):
            self._link.read(1.0)
            yield None

    def _look_after_the_target(self) -> None:
        """End the play if the guest has ended: the Brickwall still sends what it holds."""
        for note in self._link.notes:
            if note in ENDINGS and self._ending is None:
                self._ending = ENDINGS[note]
                self._brickwall.stop()
            elif note not in ENDINGS:
                self._messages.append(f"emulated Pico: {note}")
        self._link.notes.clear()

    def stop(self) -> None:
        """Ask the Brickwall to end; it still sends its held frames."""
        self._brickwall.stop()

    def close(self) -> None:
        """End both."""
        self._brickwall.close()
        self._end_target()
        if self._log.exists():
            self._messages += self._log.read_text(errors="replace").splitlines()
            self._log.unlink()
        if self._messages:
            self._console.add_emulator_output("\n".join(self._messages) + "\n")
            self._messages.clear()

    def _end_target(self) -> None:
        """End what the Brickwall played against."""
