# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""SLOTH on a second emulated Pico, played by the Brickwall on the first, in one exact time."""

from pathlib import Path

from tennis.bench.instruments import emulated
from tennis.bench.instruments.linked_session import EMULATOR_LOG, LinkedSession
from tennis.bench.targets.console import Console
from tennis.rally.folder import CONSOLE
from tennis.rally.plan import Plan


class PicoTargetSession(LinkedSession):
    """Two emulated Picos in one program; the target's console goes to ``folder``."""

    def __init__(self, image: Path, plan: Plan, folder: Path) -> None:
        log, console = folder / EMULATOR_LOG, folder / CONSOLE
        words = ["--target", str(image), "--console", str(console)]
        link = emulated.start(words, log=log)
        super().__init__(link, plan, Console(console), log)
