"""Checks for what would spoil a rally on a target that is reached over SSH."""

from collections.abc import Iterator

from tennis.bench.findings import Finding
from tennis.bench.fleet import leases, state
from tennis.bench.fleet.inventory import connect
from tennis.bench.kernels import requirements
from tennis.bench.kernels.gpio_lines import check_lines
from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.errors import BenchError, TennisError


def examine_target(name: str) -> Iterator[Finding]:
    """Yield findings about a target: one of the inventory, else as ssh knows it.

    Raises UsageError for an unusable name.
    """
    try:
        with connect(name) as target:
            seen = target.facts()
            yield Finding("good", "target", _who(seen))
            yield from _lease(target)
        yield from examine_facts(seen)
    except TennisError as error:
        if error.exit_code == 2:
            raise
        yield Finding("bad", "target", *error.finding)


def examine_facts(facts: snapshot.Snapshot) -> Iterator[Finding]:
    """Yield findings about a target's snapshot."""
    yield from requirements.check(requirements.requirements(facts.flavour), facts)
    yield requirements.check_module(facts)
    yield check_lines(facts)


def _lease(target: SshTarget) -> Iterator[Finding]:
    """Report its holder, if it has one, and the state of its clock."""
    try:
        status = state.ask_status(target)
    except state.NotProvisionedError:
        return
    except BenchError as error:  # nobody can tell who holds it: a rally would be refused
        yield Finding("bad", "lease", *error.finding)
        return
    problem, _, advice = leases.who_else(target.host, status, leases.holder_of()).rpartition(": ")
    if problem:
        yield Finding("note", "lease", problem, advice)
    if status.plays:
        yield Finding("note", "rally", "one is being played there", "wait until it ends")
    problem, _, advice = state.skew_of(status.now).rpartition(": ")
    if problem:
        yield Finding("note", "clock", problem, advice)


def _who(facts: snapshot.Snapshot) -> str:
    names = (facts.line("model"), facts.line("system"), facts.line("machine"))
    return ", ".join(word for word in names if word)
