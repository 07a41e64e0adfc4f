# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a managed board cannot play, said before anything is played."""

from tennis.bench import flavours, isolation, witnesses
from tennis.bench import loads as load_folder
from tennis.bench.configuration import Flavour
from tennis.bench.kernels import boards, requirements
from tennis.bench.targets import snapshot
from tennis.bench.targets.console import LIMIT_BYTES
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.units import NS_PER_S
from tennis.rally.manifest import PROGRAM, Protocol
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.settings import option_of
from tennis.rally.text import plain

# what a witness tells, packed and in base64: a sample of each millisecond, a stamp of each ball
SAMPLE_BYTES, STAMP_BYTES = 6, 8
TRACERS = (
    "mount -t tracefs tracing /sys/kernel/tracing 2> /dev/null; "
    "cat /sys/kernel/tracing/available_tracers"
)


def refuse_target(plan: Plan, facts: snapshot.Snapshot, host: str) -> Flavour:
    """Return the flavour that runs; raise UsageError or BenchError for what it cannot play."""
    for option in ("interrupt_cpu", "bottom_half_cpu"):
        if plan.program and getattr(plan, option) is not None:
            raise UsageError(
                f"{option_of(option)} with --program needs --bench virtual: on a board, nothing "
                "moves a program and its line",
                next_step="leave it out; the program may pin itself",
            )
    flavour = facts.flavour
    if plan.kernel not in {UNKNOWN, *flavours.RACQUETS}:
        raise UsageError(
            f"--kernel {plan.kernel} with --target",
            next_step=f"use {', '.join(flavours.RACQUETS)}, the flavour that runs there",
        )
    if plan.kernel not in {UNKNOWN, flavour}:
        raise BenchError(
            f"{host} runs {flavour} ({facts.line('release')}), not {plan.kernel}",
            next_step=f"boot it with `tennis benches boot {host} {plan.kernel}`",
        )
    if plan.drill is None:
        flavours.check(flavour, plan)
    elif flavour not in {"mainline", "rt"}:
        raise UsageError(f"drills are for Linux so far: {host} runs {flavour}")
    running = facts.line("command_line") or ""
    missing = [word for word in plan.kernel_words.split() if word not in running.split()]
    if missing:
        raise BenchError(
            f"{host} was booted without {' '.join(missing)}: it has {plain(running)}",
            next_step="put it into the target's cmdline.txt, and reboot",
        )
    machine = facts.line("machine")
    if plan.program and machine not in {None, "aarch64"}:
        raise BenchError(
            f"{host} is {machine}, and programs are built for arm64",
            next_step="use a 64-bit system there",
        )
    alone = plan.bottom_half == PROGRAM
    needed = None if alone else requirements.check_module(facts)
    for found in (boards.gpio_lock(facts), needed):
        if found and found.verdict == "bad":
            raise BenchError(f"{host}: {found.found}", next_step=found.advice)
    _check_place(plan, facts, host)
    _check_witness_place(plan, facts)
    return flavour


def refuse_packages(plan: Plan, load: load_folder.Load, target: SshTarget) -> None:
    """Raise BenchError if the target lacks packages of a load or a witness."""
    needed = [*load.packages, *witnesses.packages(plan.witness)]
    if not needed:
        return
    names = " ".join(needed)
    done = target.attempt(f"dpkg-query -W -f '${{db:Status-Status}} ${{Package}}\\n' {names}")
    here = {line.split()[1] for line in done.output.splitlines() if line.startswith("inst")}
    missing = [name for name in needed if name not in here]
    if missing:
        whom = f"the load {load.name}" if missing[0] in load.packages else "--witness"
        raise BenchError(
            f"{target.host} lacks what {whom} needs",
            next_step=f"there, as root, run `apt-get install {' '.join(missing)}`",
        )


def refuse_witness(plan: Plan, flavour: str, target: SshTarget) -> None:
    """Refuse a witness that cannot look on, or that would tell more than is kept."""
    if plan.witness == "none":
        return
    if flavour not in {"mainline", "rt"}:
        raise UsageError(
            f"--witness {plan.witness} with {flavour}: Linux does not see that core's pings, "
            "and nothing else ties the target's clock to the instrument's",
            next_step="start the core's own latency test there yourself",
        )
    protocol = plan.protocol
    told = SAMPLE_BYTES * 1000 * seconds_of(protocol) + STAMP_BYTES * protocol.balls
    if told > LIMIT_BYTES // 2:
        balls = int(protocol.balls * (LIMIT_BYTES // 2) / told)
        raise UsageError(
            f"--balls {protocol.balls} with --witness: it would see more than is kept",
            next_step=f"use --balls {balls} or fewer",
        )
    if plan.witness != "cyclictest":
        tracers = target.attempt(TRACERS, root=True).output.split()
        if plan.witness not in tracers:
            raise BenchError(
                f"--witness {plan.witness}: the kernel of {target.host} lacks that tracer",
                next_step="use --witness cyclictest, or a kernel with "
                f"{witnesses.OPTIONS[plan.witness]}",
            )


def seconds_of(protocol: Protocol) -> float:
    """Return how long a rally takes at least."""
    between_ns = (protocol.gap_min_ns + protocol.gap_max_ns) / 2
    if protocol.rate_hz:
        between_ns = NS_PER_S / protocol.rate_hz
    return (protocol.settle_ns + protocol.balls * between_ns) / NS_PER_S


def _check_place(plan: Plan, facts: snapshot.Snapshot, host: str) -> None:
    """Refuse a processor for the ping that cannot be. Raises UsageError, BenchError."""
    if plan.interrupt_cpu is None:
        return
    if plan.drill is not None:
        raise UsageError(
            "--interrupt-cpu moves the ping, and a drill gets none", next_step="leave it out"
        )
    if model := boards.fixed_interrupts(facts):
        raise BenchError(
            f"{host} is a {model}: all of its pings come to processor 0",
            next_step="leave --interrupt-cpu out, or use a Pi 4 or 5",
        )


def _check_witness_place(plan: Plan, facts: snapshot.Snapshot) -> None:
    """Refuse a witness on the isolated processor of the ping: it would be what runs there."""
    isolated = isolation.cpus_of(facts.line("isolated") or "", 0)
    if plan.witness == "none" or not isolated:
        return
    if plan.interrupt_cpu is None or plan.interrupt_cpu in isolated:
        raise UsageError(
            f"--witness {plan.witness}: it runs on the ping's processor, which is isolated there "
            f"({facts.line('isolated')}), and would be its only load",
            next_step="leave it out, or say --interrupt-cpu with another processor",
        )
