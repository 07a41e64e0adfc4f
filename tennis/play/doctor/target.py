# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What would spoil a rally on a target: over SSH, or on the virtual bench."""

from collections.abc import Iterator
from pathlib import Path

from tennis.bench.configuration import read_config
from tennis.bench.findings import Finding
from tennis.bench.fleet import leases, state
from tennis.bench.fleet.inventory import connect
from tennis.bench.kernels import requirements
from tennis.bench.kernels.gpio_lines import check_lines
from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import SshTarget
from tennis.bench.virtual.kernel_facts import facts_of
from tennis.errors import BenchError, TennisError
from tennis.rally.disk import open_regular
from tennis.rally.manifest import BenchKind

VIRTUAL = "virtual"


def examine_target(name: str, inventory: Path | None = None) -> Iterator[Finding]:
    """Yield what there is to say about a target: a host, ``virtual`` or ``virtual:KERNEL``.

    A host is one of the inventory, else as ssh knows it.

    Raises UsageError for a name that cannot be meant.
    """
    kind, _, kernel = name.partition(":")
    try:
        if kind == VIRTUAL:
            yield from _kernel(facts_of(kernel or "mainline"))
            return
        with connect(name, inventory) as target:
            seen = target.facts()
            yield Finding("good", "target", _who(seen))
            yield from _lease(target)
        yield from examine_facts(seen)
    except TennisError as error:
        if error.exit_code == 2:
            raise
        yield Finding("bad", "target", *_split(error))


def examine_facts(seen: snapshot.Snapshot) -> Iterator[Finding]:
    """Yield what there is to say about what a target told of itself."""
    yield from _kernel(seen)
    yield requirements.check_module(seen)
    yield check_lines(seen)


def _split(error: TennisError) -> tuple[str, str]:
    """Return what is wrong, and what to do about it."""
    problem, _, advice = str(error).rpartition(": ")
    return (problem, advice) if problem else (advice, "")


def _lease(target: SshTarget) -> Iterator[Finding]:
    """Say who holds it, where anybody does, and how its clock is."""
    try:
        status = state.ask_status(target)
    except state.NotProvisionedError:
        return
    except BenchError as error:  # nobody can tell who holds it: a rally would be refused
        yield Finding("bad", "lease", *_split(error))
        return
    problem, _, advice = leases.who_else(target.host, status, leases.holder_of()).rpartition(": ")
    if problem:
        yield Finding("note", "lease", problem, advice)
    if status.plays:
        yield Finding("note", "rally", "one is being played there", "wait until it ends")
    problem, _, advice = state.skew_of(status.now).rpartition(": ")
    if problem:
        yield Finding("note", "clock", problem, advice)


def _kernel(seen: snapshot.Snapshot) -> Iterator[Finding]:
    return requirements.check(requirements.requirements(seen.flavour), seen)


def examine_config(flavour: str, path: Path, bench: BenchKind) -> Iterator[Finding]:
    """Yield what there is to say about a configuration file, for a bench. Raises TennisError."""
    known = requirements.requirements(flavour)
    try:
        with open_regular(path) as file:
            text = file.read(snapshot.SIZE_MAX).decode(errors="replace")
    except OSError as error:
        raise TennisError(
            f"{path}: {error.strerror}", next_step="name a kernel's .config"
        ) from error
    config = read_config(text)
    if not config:
        raise TennisError(f"{path} is not a kernel's configuration", next_step="name its .config")
    yield from requirements.check_config(known, config)
    if bench == "virtual":
        yield from requirements.check_virtual(known, config)


def _who(seen: snapshot.Snapshot) -> str:
    names = (seen.line("model"), seen.line("system"), seen.line("machine"))
    return ", ".join(word for word in names if word)
