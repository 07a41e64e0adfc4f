"""SLOTH in QEMU, on a board with a Cortex-M, played by the virtual bench's built-in instrument."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tennis.bench.qemu import plugins
from tennis.bench.qemu.session import PipedSession
from tennis.bench.sloth.image import Core
from tennis.bench.targets.console import LIMIT_BYTES, Console
from tennis.kit import environment
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import Protocol

MACHINE = "lm3s6965evb"
GPIO = 0x4000_5000  # port B, one of seven PL061
INSTRUCTION_NS = 2
READY_NS = 10_000_000_000  # of virtual time, until the application says that it is ready


class SlothSession(PipedSession):
    """A rally that is being played; the console goes to ``folder``."""

    def __init__(  # noqa: PLR0913 (all that QEMU takes)
        self,
        image: Path,
        core: Core,
        protocol: Protocol,
        folder: Path,
        instruction_ns: int = INSTRUCTION_NS,
        *,
        log_options: Sequence[str] = (),  # what QEMU is to log besides, and where
    ) -> None:
        qemu = plugins.find_qemu()
        super().__init__()
        self._console = Console(folder / CONSOLE)
        self._log = folder / "qemu.log"
        settings = plugins.parameters(protocol, instruction_ns, self.writer)
        settings |= {"gpio": GPIO, "ready_timeout": READY_NS}
        words = [f"{name}={value}" for name, value in settings.items()]
        console = str(folder / CONSOLE).replace(",", ",,")
        command = [
            *(str(qemu.path), "-M", MACHINE, "-cpu", core.qemu, "-seed", str(protocol.seed)),
            *("-icount", f"shift={instruction_ns.bit_length() - 1},sleep=off"),
            *("-nodefaults", "-nic", "none", "-display", "none", "-monitor", "none"),
            *("-no-reboot", "-chardev", f"file,id=console,path={console}"),
            *("-serial", "chardev:console", "-kernel", str(image)),
            *("-plugin", ",".join([str(plugins.build(qemu)).replace(",", ",,"), *words])),
            *log_options,
        ]
        with self._log.open("wb") as log:
            # a session of its own: Ctrl-C is for the host, which then asks QEMU to end
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[self.writer],
                env=environment.for_programs(),
                start_new_session=True,
            )
        self.started()

    def stop(self) -> None:
        """Ask QEMU to end; the instrument sends what it holds."""
        if self._process.poll() is None:
            self._process.terminate()

    def close(self) -> None:
        """End QEMU; keep its messages with the target's console. Safe to call twice."""
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._log.exists():
            with self._log.open(errors="replace") as log:
                self._console.add_emulator_output(log.read(LIMIT_BYTES))
            self._log.unlink()
        super().close()
