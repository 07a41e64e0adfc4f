"""One digest of all that a repeated rally of the virtual bench must reproduce.

Two rallies of one plan and one edition have one digest if what they took from Debian is the same.
If it is not, their digests do not compare.
"""

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from tennis.kit.wire import NONE_TICKS
from tennis.rally.folder import CONSOLE, Rally

COLUMNS = ("served_ns", "rise_ticks", "fall_ticks")
# the versions that the checkout decides; the other ones are Debian's, or npm's
OURS = frozenset(
    {
        *("tennis", "edition", "bench_sha256", "instrument_sha256", "firmware_sha256"),
        *("kernel_name", "racquet", "racquet_file", "racquet_sha256"),
        *("programs_sha256", "network_sha256"),
        *("load", "load_sha256", "load_tasks", "load_cycle_ns", "beneath_sha256"),
        *("emulator_sha256", "witness_sha256", "memory_sha256"),
        *("program", "program_kind", "program_sha256", "program_built_sha256"),
        *("program_command", "program_priority", "program_start_sha256"),
        *("userland_sha256", "program_packages_sha256"),  # Debian's versions are beside them
        *("cramjam", "pyarrow"),  # the packing of the table, and not its contents
    }
)
# of SLOTH the image is built here: its compiler is among the versions
BUILT = frozenset({"kernel_image_sha256", "kernel_config_sha256"})
EMULATOR = "emulator"  # an event: QEMU's message about the machine that it ran on
EMULATOR_LINE = b"qemu: "


def digest_of(rally: Rally) -> str:
    """Return the SHA-256 of all balls, events and lines of the console, as hexadecimal digits.

    Balls are int64, little-endian: served in ns, rise and fall in ticks, column by column in blocks
    as long as the table; 2**32 - 1: it did not come. QEMU's words about its machine are left out.
    """
    columns: list[list[np.ndarray]] = [[], [], []]
    for batch in rally.batches(list(COLUMNS)):
        for parts, name in zip(columns, COLUMNS, strict=True):
            parts.append(batch[name].filled(NONE_TICKS).astype("<i8"))
    hashed = hashlib.sha256()
    for parts in columns:
        for part in parts:
            hashed.update(part.tobytes())
    for event in rally.each_event():
        if event.get("what") != EMULATOR:
            hashed.update(json.dumps(event, sort_keys=True).encode() + b"\n")
    with (rally.path / CONSOLE).open("rb") as console:
        for line in console:
            if not line.startswith(EMULATOR_LINE):
                hashed.update(line)
    return hashed.hexdigest()


def from_debian(versions: Mapping[str, str]) -> dict[str, str]:
    """Return of a rally's versions what Debian's point releases change: its kernel, QEMU and so on.

    SLOTH's image is no kernel of Debian's, but built here.
    """
    own = OURS | BUILT if versions.get("kernel", "").startswith("SLOTH") else OURS
    return {name: value for name, value in sorted(versions.items()) if name not in own}


def not_comparable(played: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Say which of two rallies' versions from Debian differ; empty: none, they compare."""
    then, here = from_debian(played), from_debian(now)
    differing = [name for name in sorted({*then, *here}) if then.get(name) != here.get(name)]
    # the words before the hashes: "another kernel" says more than its image's SHA-256
    for name in sorted(differing, key=lambda name: name.endswith("sha256")):
        return (
            f"another {name.removesuffix('_sha256').replace('_', ' ')} "
            f"({here.get(name, 'none')[:60]}, not {then.get(name, 'none')[:60]})"
        )
    return ""
