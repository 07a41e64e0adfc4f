# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What would spoil a rally on a target: over SSH, or on the virtual bench."""

from collections.abc import Iterator
from pathlib import Path

from tennis.bench import requirements
from tennis.bench.findings import Finding
from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import SshTarget
from tennis.bench.targets.virtual.look import look
from tennis.errors import TennisError
from tennis.rally.disk import open_regular

VIRTUAL = "virtual"


def examine_target(name: str) -> Iterator[Finding]:
    """Yield what there is to say about a target: a host, ``virtual`` or ``virtual:KERNEL``.

    Raises UsageError for a name that cannot be meant.
    """
    kind, _, kernel = name.partition(":")
    try:
        if kind == VIRTUAL:
            yield from _kernel(look(kernel or "mainline"))
            return
        with SshTarget(name) as target:
            seen = target.facts()
        yield Finding("good", "target", _who(seen))
        yield from _kernel(seen)
        yield requirements.check_module(seen)
    except TennisError as error:
        if error.exit_code == 2:
            raise
        found, _, advice = str(error).rpartition(": ")
        yield Finding("bad", "target", found or advice, advice if found else "")


def _kernel(seen: snapshot.Snapshot) -> Iterator[Finding]:
    return requirements.check(requirements.requirements(seen.flavour), seen)


def examine_config(flavour: str, path: Path) -> Iterator[Finding]:
    """Yield what there is to say about a configuration file. Raises TennisError."""
    known = requirements.requirements(flavour)
    try:
        with open_regular(path) as file:
            text = file.read(snapshot.SIZE_MAX).decode(errors="replace")
    except OSError as error:
        raise TennisError(f"{path}: {error.strerror}: name a kernel's .config") from error
    config = snapshot.read_config(text)
    if not config:
        raise TennisError(f"{path} is no kernel's configuration: name its .config")
    yield from requirements.check_config(known, config)


def _who(seen: snapshot.Snapshot) -> str:
    words = (seen.line("model"), seen.line("system"), seen.line("machine"))
    return ", ".join(word for word in words if word)
