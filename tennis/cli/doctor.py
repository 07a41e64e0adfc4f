"""``tennis doctor``: what works here, what does not, and what to do about it."""

import sys
from collections.abc import Iterator
from dataclasses import asdict

import click

from tennis.bench.findings import Finding
from tennis.cli.options import port_option
from tennis.cli.words import echo, echo_json
from tennis.kit.errors import UsageError


@click.command()
@port_option("Check only the Brickwall on this port, and its wires.")
@click.option(
    "--target",
    metavar="HOST",
    help="Check a target for everything that would spoil a rally. It is one of the inventory, "
    "a host as ssh knows it (NAME or USER@NAME), or `virtual` or `virtual:KERNEL`, which "
    "is booted for it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(port: str | None, target: str | None, as_json: bool) -> None:
    """Check this machine: say what works, what does not, and what to do about it.

    It also checks the Picos that are plugged in: MicroPython, firmware, clock, verification, wires.
    With a loop-back plug in place of the target, it can tell a dead ping wire from a dead reply
    wire. The exit code is 1 if the virtual bench (with `--port`: the board) cannot play a rally.

    With `--target`, it compares the running kernel with the requirements of its flavour in
    `target/kernels`: configuration, command line, governor, idle states, tracers, power and heat.
    BAD means that a rally would be spoiled, and the exit code is 1. A note is worth knowing, for
    example that somebody else holds the bench. The command changes nothing.

    \b
    Examples:
      tennis doctor
      tennis doctor --port /dev/ttyACM0
      tennis doctor --target bench-1
      tennis doctor --target pi@192.0.2.11
      tennis doctor --target virtual:rt --json
    """
    from tennis.cli.findings import show
    from tennis.play.doctor.host import examine

    if port is not None and target is not None:
        raise UsageError("--port looks at a Brickwall, --target at a target: one at a time")
    if target is not None and not target.strip():  # a shell's variable that is not set
        raise UsageError("--target is empty", next_step="name a host as for ssh, or virtual")
    if target:
        findings = _of_target(target)
    elif port:
        from tennis.play.doctor.pico import examine_ports

        findings = examine_ports(port)
    else:
        findings = examine()
    if as_json:
        all_findings = list(findings)
        echo_json([asdict(finding) for finding in all_findings])
        sys.exit(any(finding.verdict == "bad" for finding in all_findings))
    bad = show(findings)
    if bad:
        what = "a sound rally can be played there" if target else "a rally can be played here"
        echo(f"\n{bad} to repair before {what}.")
        sys.exit(1)
    if target:
        kind, _, kernel = target.partition(":")
        virtual = f"--kernel {kernel} " if kernel else ""
        where = virtual if kind == "virtual" else f"--bench pi --target {target} "
    else:
        where = f"--bench pi --port {port} " if port else "--kernel rt --load stress "
    echo(f"\nReady: tennis rally {where}--out first")


def _of_target(name: str) -> Iterator[Finding]:
    from tennis.play.doctor.kernel import VIRTUAL, examine_virtual

    kind, _, kernel = name.partition(":")
    if kind == VIRTUAL:
        return examine_virtual(kernel)
    from tennis.play.doctor.target import examine_target

    return examine_target(name)
