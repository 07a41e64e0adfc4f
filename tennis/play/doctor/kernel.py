"""Checks for what would spoil a rally on a kernel: one of the virtual bench, or a configuration."""

import gzip
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from tennis.bench.configuration import read_config
from tennis.bench.findings import Finding
from tennis.bench.kernels import requirements
from tennis.bench.targets import snapshot
from tennis.bench.virtual.kernel_facts import facts_of
from tennis.kit.errors import TennisError
from tennis.rally.disk import open_regular
from tennis.rally.manifest import BenchKind

VIRTUAL = "virtual"


def examine_virtual(kernel: str) -> Iterator[Finding]:
    """Yield findings about a kernel that the virtual bench boots.

    Raises UsageError for an unknown name.
    """
    try:
        facts = facts_of(kernel or "mainline")
        yield from requirements.check(requirements.requirements(facts.flavour), facts)
    except TennisError as error:
        if error.exit_code == 2:
            raise
        yield Finding("bad", "target", *error.finding)


def examine_config(flavour: str, path: Path, bench: BenchKind) -> Iterator[Finding]:
    """Yield what there is to say about a configuration file, for a bench. Raises TennisError."""
    known, most = requirements.requirements(flavour), snapshot.SIZE_MAX
    try:
        with open_regular(path) as file:
            if (data := file.read(most + 1)).startswith(b"\x1f\x8b"):  # as /proc/config.gz
                data = gzip.GzipFile(fileobj=BytesIO(data)).read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise TennisError(f"{path}: {why}", next_step="name a kernel's .config") from error
    config = read_config(data.decode(errors="replace"))
    if not config or len(data) > most:
        raise TennisError(f"{path} is not a kernel's configuration", next_step="name its .config")
    yield from requirements.check_config(known, config)
    if bench == "virtual":
        yield from requirements.check_virtual(known, config)
