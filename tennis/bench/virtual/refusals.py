"""Refuses what the virtual bench cannot play, before anything is built or booted."""

import re

from tennis.bench import flavours, isolation, witnesses
from tennis.bench import loads as load_folder
from tennis.bench.kernels import catalogue, loading
from tennis.bench.kernels.kernel import Kernel
from tennis.bench.kernels.requirements import requirements
from tennis.bench.qemu import plugins
from tennis.bench.virtual import initramfs, memory
from tennis.bench.virtual.answering import LINUX
from tennis.bench.virtual.parts import packages_of
from tennis.kit.errors import UsageError
from tennis.kit.log import log
from tennis.kit.units import format_ns
from tennis.rally.manifest import CORES, PROGRAM, Witness
from tennis.rally.plan import Plan

ISOLATING = ("isolcpus", "nohz_full")
NAMING = (*ISOLATING, "rcu_nocbs", "irqaffinity")
COUNTS = (1, 2, 4)  # of processors that a target may have
STARTING = ("maxcpus", "nr_cpus")  # how many processors the kernel starts
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')


def refuse(plan: Plan) -> None:
    """Raise UsageError for contradictory settings; BenchError for parts that are not here yet."""
    _check_processors(plan)
    if plan.instrument != "pico" and plan.protocol.timeout_ns > plugins.TIMEOUT_MAX_NS:
        raise UsageError("a timeout of the built-in instrument is at most 4 s (4000 ms)")
    memory.find(plan.memory)
    load = load_folder.find(plan.load, plan.load_options)
    load.check_processors(plan.processors)
    kernel = catalogue.find(plan.kernel)
    _check_witness(plan.witness, kernel)
    loading.check_command_line(plan.kernel_words, kernel.name, kernel.image)
    if "nohlt" in _words_of(plan.kernel_words):
        # a bench that skips idle time executes it then
        lasts_ns = plan.protocol.length_ns
        log.info(
            f"--command-line nohlt: the target never sleeps, so this rally's {format_ns(lasts_ns)} "
            f"are {round(lasts_ns / plan.instruction_ns):,} instructions; asleep they cost nothing"
        )
    _check_answer(plan, kernel)
    initramfs.package_versions(packages_of(load, plan.witness))  # they are here


def _check_processors(plan: Plan) -> None:
    if plan.processors > plan.instruction_ns:
        raise UsageError(
            f"--processors {plan.processors}: while all of them run, an instruction takes an equal "
            f"part of {plan.instruction_ns} ns, which must be a whole nanosecond",
            next_step=f"use --instruction-ns {plan.processors}",
        )
    for option, asked in (
        ("--interrupt-cpu", plan.interrupt_cpu),
        ("--bottom-half-cpu", plan.bottom_half_cpu),
        ("--load-cpus", plan.load_cpus),
    ):
        cpus = isolation.cpus_of("" if asked is None else str(asked), plan.processors)
        if missing := sorted(cpus - set(range(plan.processors))):
            raise UsageError(
                f"{option}: the target has no processor {missing[0]}",
                next_step=_enough(plan.processors, missing[-1]),
            )
    _check_words(plan.kernel_words, plan.processors)


def _check_words(command_line: str, processors: int) -> None:
    """Raise UsageError for the first word that this number of processors cannot follow."""
    for word in _words_of(command_line):
        name, _, value = word.partition("=")
        name = name.replace("-", "_")  # the kernel takes both for the same
        if name == "racquet.interrupt_cpu":
            raise UsageError(
                f"--command-line {word}: tennis loads the Racquet with parameters of its own",
                next_step="use --interrupt-cpu",
            )
        started = _starts(word)
        if started is not None and started < processors:
            raise UsageError(
                f"--command-line {word}: {started} of --processors {processors} would run",
                next_step=f"leave it out, or play with --processors {started}",
            )
        if name not in NAMING:
            continue
        named = isolation.cpus_of(value, processors)
        missing = sorted(named - set(range(processors)))
        if missing:
            raise UsageError(
                f"--command-line {word}: the target has no processor {missing[0]}",
                next_step=_enough(processors, max(named)),
            )
        if name in ISOLATING and 0 in named:
            raise UsageError(
                f"--command-line {word}: the kernel needs processor 0, on which it starts, "
                "and isolates others only",
                next_step="isolate processor 1" if processors > 1 else "say --processors 2",
            )


def _enough(processors: int, highest: int) -> str:
    """Return what to do if a target lacks the ``highest`` processor that is named."""
    fewer = f"use 0 to {processors - 1}" if processors > 1 else ""
    more = next((f"say --processors {count}" for count in COUNTS if count > highest), "")
    return ", or ".join(filter(None, (fewer, more))) or f"a target has {COUNTS[-1]} at most"


def _words_of(command_line: str) -> list[str]:
    """Return the kernel's words, as it splits them (lib/cmdline.c): quotes, and the end at --."""
    words = [word.replace('"', "") for word in _WORD.findall(command_line)]
    return words[: words.index("--")] if "--" in words else words


def _starts(word: str) -> int | None:
    """Return how many processors a word lets the kernel start; None: it does not say."""
    name, _, value = word.partition("=")
    if name == "nosmp":
        return 1
    return max(1, int(value)) if name in STARTING and re.fullmatch(r"\d{1,4}", value) else None


def _check_witness(witness: Witness, kernel: Kernel) -> None:
    """Raise UsageError if this kernel was built without what the witness needs."""
    option = witnesses.OPTIONS.get(witness)
    options = kernel.options
    if not option or options.get(option) == "y":
        return
    forbidden = requirements(kernel.flavour).forbidden.get(option)
    why = f", as flavour {kernel.flavour} must be ({forbidden.reason})" if forbidden else ""
    others = [name for name, needed in witnesses.OPTIONS.items() if options.get(needed) == "y"]
    use = f"use --witness {' or '.join(others)}" if others else "leave it out"
    raise UsageError(
        f"--witness {witness}: {kernel.name} was built without {option}{why}",
        next_step=f"{use}, or another kernel (of Debian's, those with RT have all witnesses)",
    )


def _check_answer(plan: Plan, kernel: Kernel) -> None:
    """Raise UsageError for what cannot answer on this kernel."""
    flavour = kernel.flavour
    if plan.processors > 1 and flavour in CORES:
        raise UsageError(
            f"--processors {plan.processors}: a kernel of flavour {flavour} plays with one "
            "processor: nobody tried its second core (EVL, Cobalt) on several",
            next_step="leave it out",
        )
    if plan.beneath != "none":
        if flavour not in LINUX:
            raise UsageError(
                f"--beneath sloth: a kernel of flavour {flavour} cannot be used with it"
            )
        flavours.check("sloth", plan)
    elif plan.program:
        flavours.racquet_of(flavour, PROGRAM)  # a program is for Linux alone
        flavours.check(flavour, plan)
    elif plan.racquet:
        if flavour not in LINUX:
            raise UsageError(f"--racquet is for Linux: on {flavour} its core's own API answers")
        if plan.priorities != "default":
            raise UsageError(
                f"--priorities {plan.priorities}: only you know the threads of your own Racquet",
                next_step="leave it out, and let the Racquet set them",
            )
    elif plan.drill is None:
        player = flavours.player_on(flavour, plan.stage)
        flavours.check(player, plan)
    if plan.drill and flavour not in LINUX:
        raise UsageError(
            f"drills are for Linux so far: {kernel.name} is {flavour}",
            next_step="use a kernel of Debian's (tennis kernels)",
        )
