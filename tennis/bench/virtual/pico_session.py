# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""QEMU's guest and the Brickwall on an emulated Pico, in one time: target/virtual/link.c."""

import os
from pathlib import Path

from tennis.bench.instruments import emulated
from tennis.bench.instruments.linked_session import EMULATOR_LOG, LinkedSession
from tennis.bench.virtual.machine import Extras, Machine, Parts


class PicoSession(LinkedSession):
    """QEMU and an emulated Pico, each waiting for the other."""

    def __init__(self, parts: Parts, extras: Extras, folder: Path) -> None:
        log = folder / EMULATOR_LOG
        pico_reads, qemu_writes = os.pipe()
        qemu_reads, pico_writes = os.pipe()
        settings = {"to_pico": qemu_writes, "from_pico": qemu_reads}
        self._machine = Machine(parts, extras, folder, settings, [qemu_writes, qemu_reads])
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

    def _end_target(self) -> None:
        self._machine.stop()
        self._machine.close()
