"""QEMU with a target inside, for one rally.

``-icount shift=1,sleep=off`` makes one instruction 2 ns (or 1, or 4) and idle time free. The
instrument's plugin moves the clock of a guest that sleeps, so that a run does not depend on the
host's scheduler (docs/decisions/0017).
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tennis.bench import witnesses
from tennis.bench.loads import Load
from tennis.bench.patience import USUAL, Patience
from tennis.bench.qemu import device_tree, plugins
from tennis.bench.qemu.plugins import QemuPlugin
from tennis.bench.sloth import beneath
from tennis.bench.targets.console import LIMIT_BYTES, Console
from tennis.bench.virtual import initramfs, sysctl
from tennis.bench.virtual.answering import MEMORY_MB, TARGET
from tennis.bench.virtual.parts import PEER_TARGET, Parts, packages_of
from tennis.bench.virtual.shots import Children
from tennis.kit.errors import BenchError
from tennis.kit.wiring import wiring
from tennis.rally.cycles import balls_for
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import THREADED, Protocol
from tennis.rally.plan import Plan
from tennis.rally.text import plain

# KASLR, which differs from boot to boot, would also turn on kernel page-table isolation, as it does
# on a board whose firmware gives a seed: QEMU takes three times as long with it
COMMAND_LINE = "console=ttyAMA0 panic=-1 oops=panic kpti=off"
SECOND_US = 1_000_000
LISTENS_US = 200_000  # until a Brickwall surely listens
MACHINE = "virt,gic-version=2,dtb-randomness=on"
GAVE_UP = 3  # QEMU's exit code if the instrument cannot go on

# Two network cards of the guest on one hub: the network leads nowhere else, and so it repeats.
# ioeventfd=off and tx=timer keep QEMU's other threads out of it: with the defaults no ball of a
# rally was the same again. A packet leaves the card 10 us (x-txtimer, in ns) after the guest sent
# it: about what 1500 bytes take on a wire of 1 Gbit/s. romfile= leaves out its boot ROM.
_CARD = "virtio-net-pci,romfile=,ioeventfd=off,tx=timer,x-txtimer=10000"
_NETWORK = (
    *("-netdev", "hubport,id=target,hubid=0", "-netdev", "hubport,id=peer,hubid=0"),
    *("-device", f"{_CARD},netdev=target,mac=52:54:00:00:00:01"),
    *("-device", f"{_CARD},netdev=peer,mac=52:54:00:00:00:02"),
)


@dataclass(frozen=True)
class Extras:
    """Additions of tests, benchmarks and explanations to a target.

    ``files``: path in the target -> content; ``/tennis/before`` and ``/tennis/after`` are run
    before the load and after the ready line. ``device_tree``: a blob in place of QEMU's own.
    """

    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    parameters: str = ""  # more kernel parameters
    device_tree: Path | None = None
    instrument: bool = True
    plugin: QemuPlugin | None = None
    # what the instrument serves in place of the plan's balls; the target is booted as the plan says
    protocol: Protocol | None = None
    memory: Mapping[str, int] = field(default_factory=dict)  # more parameters of memory.c
    # known answers in the target's place, see machine.c: answer_seed, answer_min, answer_max (ns)
    answers: Mapping[str, int] = field(default_factory=dict)
    # instants in the place of balls, ns of the clock that begins with the machine; rising
    instants_ns: Sequence[int] | None = None
    children: Children = field(default_factory=Children)  # of shots
    monitor: Path | None = None  # the socket at which QEMU tells where the processor is
    patience: Patience = USUAL
    beneath: Path | None = None  # another application of SLOTH's than the Racquet's, beneath Linux


class Machine:
    """QEMU, started with a plugin as its instrument; ``descriptors`` are the plugin's."""

    def __init__(
        self,
        parts: Parts,
        extras: Extras,
        folder: Path,
        plugin: Mapping[str, int],
        descriptors: Sequence[int] = (),
    ) -> None:
        self.console = Console(folder / CONSOLE)
        self._stderr = folder / "qemu.log"
        self._console_file = folder / CONSOLE
        # a continued rally prints all of it again, and QEMU may not have begun to
        self._console_file.unlink(missing_ok=True)
        self._patience = extras.patience
        self._spoke = False
        packages = packages_of(parts.load, parts.plan.witness)
        every: dict[str, bytes | Path | initramfs.Link] = {
            **_target_files(parts),
            **parts.answerer.files,
            **extras.files,
        }
        every["/init"] = sysctl.init(every["/init"], parts.plan.kernel_words)
        image = initramfs.pack(every, packages)
        command = _qemu_command(parts, Path(f"/proc/self/fd/{image}"), folder / CONSOLE, extras)
        files = [image, os.open(parts.plugin, os.O_RDONLY)]
        environment = plugins.preloaded(files[-1])
        if not extras.device_tree:
            files.append(_device_tree(parts, command))
            command += ["-dtb", f"/proc/self/fd/{files[-1]}"]
        if extras.instrument:
            command += _plugin(parts.plugin, {**plugin, **extras.answers})
            if parts.memory:
                command += _plugin(
                    parts.memory.plugin, {**parts.memory.parameters, **extras.memory}
                )
        if extras.plugin:
            command += _plugin(extras.plugin.plugin, extras.plugin.parameters)
            descriptors = [*descriptors, *extras.plugin.descriptors]
        with self._stderr.open("wb") as errors:
            # a session of its own: Ctrl-C is for the host, which then asks QEMU to end
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=[*descriptors, *files],
                start_new_session=True,
                env=environment,
            )
        for file in files:
            os.close(file)

    @property
    def running(self) -> bool:
        """Tell whether QEMU has not ended."""
        return self._process.poll() is None

    def refuse_silence(self) -> None:
        """Raise BenchError if the kernel printed nothing in time; call it often."""
        if self._spoke or self._worked_s() < self._patience.first_word_s:
            return
        self._spoke = self._console_file.exists() and self._console_file.stat().st_size > 0
        if not self._spoke:
            raise BenchError(
                f"the kernel printed nothing within {self._patience.first_word_s:g} s of work: "
                "it is no kernel for arm64, or it has no console (tennis kernels check DIR)"
            )

    def _worked_s(self) -> float:
        """Return how much time the processor gave to QEMU; on a busy machine that is little."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
            user, system = stat.rpartition(")")[2].split()[11:13]
        except (OSError, ValueError):
            return 0.0  # it has ended, and its frames with it
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def wait(self, limit_s: float) -> None:
        """Wait until the target switches itself off. Raises BenchError after ``limit_s``."""
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"the target did not end within {limit_s:g} s") from error

    def gave_up(self) -> str:
        """Return why the instrument ended QEMU. "": it did not, or QEMU has not ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=self._patience.first_word_s)
        if self._process.poll() != GAVE_UP:
            return ""
        said = self._stderr.read_text(errors="replace")[-LIMIT_BYTES:].strip().splitlines()
        return plain(said[-1].removeprefix("instrument: "), 200) if said else "the instrument ended"

    def stop(self) -> None:
        """Ask QEMU to end; the instrument sends what it holds."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End QEMU; keep its messages with the target's console. Safe to call twice."""
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._stderr.exists():
            with self._stderr.open(errors="replace") as errors:
                self.console.add_emulator_output(errors.read(LIMIT_BYTES))
            self._stderr.unlink()


def _plugin(path: Path, parameters: Mapping[str, int]) -> list[str]:
    arguments = [f"{name}={value}" for name, value in parameters.items()]
    return ["-plugin", ",".join([_escape(path), *arguments])]


def _command_line(parts: Parts, extras: Extras) -> str:
    """Return the kernel's command line."""
    plan = parts.plan
    own = f"tennis.bottom_half={parts.answerer.bottom_half}"
    own += f" tennis.phase_us={_phase_us(plan, parts.load)}{parts.answerer.parameters}"
    if plan.witness != "none":
        own += f" tennis.witness={plan.witness}"
    if plan.top_half in THREADED:
        own += f" tennis.top_half={plan.top_half}"
    if plan.interrupt_cpu is not None:
        own += f" tennis.interrupt_cpu={plan.interrupt_cpu}"
    if plan.bottom_half_cpu is not None:
        own += f" tennis.bottom_half_cpu={plan.bottom_half_cpu}"
    if plan.load_cpus:
        own += f" tennis.load_cpus={plan.load_cpus}"
    if plan.drill and parts.answerer.program:
        own += " tennis.program_loop=yes"  # it does it by itself
    elif plan.drill:
        own += f" tennis.drill={plan.drill.name} tennis.context={plan.drill.context}"
        own += f" tennis.period_ns={plan.drill.period_ns}"
        own += f" tennis.repetitions={plan.protocol.balls}"
    return " ".join(filter(None, (COMMAND_LINE, own, plan.kernel_words, extras.parameters)))


def _phase_us(plan: Plan, load: Load) -> int:
    """Return how long after the load's start the Racquet is loaded, beyond a second.

    Each seed draws another time from the load's whole cycle, so that no two boots meet their load
    in the same state. It is drawn from one second if that is longer, or if the rally is shorter
    than a cycle: such a rally decides nothing, and would only take longer.
    """
    within_us = SECOND_US
    cycle_ns = load.cycle_ns(plan.instruction_ns, plan.memory) or 0
    enough = plan.protocol.balls >= balls_for(cycle_ns, plan.protocol, plan.drill)
    if enough and not plan.phase_of_a_second:
        within_us = max(within_us, cycle_ns // 1000)
    return drawn_us(plan.protocol.seed, within_us)


def drawn_us(seed: int, within_us: int) -> int:
    """Return a time below ``within_us`` that depends on the seed only."""
    return seed * 2654435761 % 2**32 * within_us >> 32  # Knuth's multiplicative hash


def _target_files(parts: Parts) -> dict[str, bytes | Path]:
    load = parts.load
    files: dict[str, bytes | Path] = {
        "/init": TARGET / "virtual" / "init",
        "/tennis/racquet-user": parts.racquet_user,
        "/tennis/racquet-ready": parts.racquet_ready,
    }
    if parts.plan.drill and parts.plan.instrument == "pico":
        # the Brickwall begins to listen when the target is ready, and that takes it a while
        files["/tennis/after"] = f"#!/bin/sh\nusleep {LISTENS_US}\n".encode()
    for name, content in load.files(parts.load_programs).items():
        files[f"/tennis/load/{name}"] = content
    host = load.host_command(PEER_TARGET)
    if host:
        files["/tennis/network"] = TARGET / "virtual" / "network"
        # the peer represents another computer, which the target's load would not slow down
        files["/tennis/peer"] = f"#!/bin/sh\nrenice -n -20 -p $$ > /dev/null\n{host}\n".encode()
        for number, (name, module) in enumerate(parts.drivers.items()):
            files[f"/tennis/drivers/{number:02}-{name}.ko"] = module
    if parts.plan.witness != "none":
        files["/tennis/witness"] = witnesses.SCRIPT
    if parts.load_module:
        files["/tennis/load.ko"] = parts.load_module
        files["/tennis/load.parameters"] = f"{load.module_parameters}\n".encode()
    return files


def line_names() -> list[str]:
    """Return the names of the ping line and the reply line: as on a Raspberry Pi."""
    return [f"GPIO{wiring().wire(name).target_bcm}" for name in ("ping", "reply")]


def _device_tree(parts: Parts, command: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="tennis-tree-") as scratch:
        blob = Path(scratch) / "virt.dtb"
        device_tree.dump(command, blob)
        if parts.answerer.beneath:
            beneath.add_to_device_tree(blob)
        device_tree.name_lines(blob, line_names())
        return device_tree.held_open(blob)


def _qemu_command(parts: Parts, image: Path, console: Path, extras: Extras) -> list[str]:
    """Return QEMU's command line, without the instrument."""
    shift = parts.plan.instruction_ns.bit_length() - 1
    # the guest's random numbers (addresses, hashes, its generator's seed) come from the rally's
    # seed, through the device tree
    seed = parts.plan.protocol.seed
    return [
        str(parts.qemu.path),
        *("-M", beneath.MACHINE if parts.answerer.beneath else MACHINE, "-cpu", "cortex-a57"),
        *("-smp", str(parts.plan.processors)),
        *("-m", str(MEMORY_MB), "-seed", str(seed), "-rtc", "base=2026-01-01,clock=vm"),
        *("-icount", f"shift={shift},sleep=off"),
        *("-nodefaults", "-display", "none", "-monitor", _monitor(extras), "-no-reboot"),
        *("-chardev", f"file,id=console,path={_escape(console)}", "-serial", "chardev:console"),
        *(
            "-kernel",
            str(parts.answerer.beneath or parts.kernel.image),
            "-initrd",
            str(image),
            "-append",
            _command_line(parts, extras),
        ),
        *(("-dtb", str(extras.device_tree)) if extras.device_tree else ()),
        *(_NETWORK if parts.load.host_command(PEER_TARGET) else ()),
    ]


def _monitor(extras: Extras) -> str:
    return f"unix:{_escape(extras.monitor)},server=on,wait=off" if extras.monitor else "none"


def _escape(path: Path) -> str:
    """Return a path as QEMU's comma-separated options take it."""
    return str(path).replace(",", ",,")
