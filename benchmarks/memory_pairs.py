# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Rallies with a memory profile, each played twice with one seed: all bytes must be the same.

    .venv/bin/python benchmarks/memory_pairs.py
    .venv/bin/python benchmarks/memory_pairs.py 1 2 3

All files of both folders are compared; of a manifest all but the time when it was made, and the
seal, which follows from it. Exits with 1 if a pair differs. It plays with the first
qemu-system-aarch64 in PATH, and names its version. To try it under other circumstances, play it
beside other work.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import played, unlike

from tennis.bench.qemu.plugins import find_qemu

# kernel, load, top half, bottom half, priorities, profile
PAIRS = (
    ("rt", "network", "hard", "thread", "chrt", "cortex-a76"),
    ("rt", "stress", "hard", "thread", "chrt", "cortex-a72"),
    ("mainline", "stress", "hard", "tasklet", "default", "cortex-a72"),
    ("mainline", "xload", "hard", "tasklet", "default", "cortex-a72"),
    ("rt-6.1", "stress", "forced", "tasklet", "chrt", "cortex-a53"),
    ("mainline-6.1", "network", "hard", "workqueue", "default", "pxa270"),
    ("rt-7", "stress", "explicit", "tasklet", "chrt", "cortex-a76"),
    ("mainline-7", "idle", "hard", "tasklet", "default", "cortex-a53"),
    ("rt", "idle", "hard", "user", "chrt", "pxa270"),
    ("rt", "ping-flood", "hard", "tasklet", "chrt", "cortex-a72"),
    ("mainline", "hog", "hard", "thread", "default", "cortex-a76"),
    ("rt", "memory", "hard", "thread", "chrt", "cortex-a53"),
    ("rt-7", "network", "forced", "tasklet", "default", "cortex-a72"),
    ("mainline-7", "stress", "hard", "workqueue", "default", "pxa270"),
    ("rt-6.1", "idle", "hard", "user", "chrt", "cortex-a76"),
    ("mainline-6.1", "stress", "explicit", "tasklet", "default", "cortex-a72"),
    ("rt", "xload", "hard", "thread", "chrt", "cortex-a53"),
    ("mainline", "idle", "hard", "user", "default", "cortex-a76"),
    ("rt", "stress", "forced", "workqueue", "default", "pxa270"),
    ("mainline", "ping-flood", "hard", "thread", "chrt", "cortex-a53"),
    ("rt-7", "hog", "hard", "thread", "chrt", "pxa270"),
    ("mainline-7", "network", "hard", "user", "chrt", "cortex-a72"),
)
KEYS = ("kernel", "load", "top_half", "bottom_half", "priorities", "memory")


def main() -> int:
    """Play pairs; say of each whether both are alike."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    every = range(1, len(PAIRS) + 1)
    parser.add_argument("pairs", nargs="*", type=int, metavar="NUMBER")
    parser.add_argument("--balls", type=int, default=160)
    asked = parser.parse_args()
    if not {*asked.pairs} <= {*every}:
        parser.error(f"the pairs are 1 to {len(PAIRS)}")
    print(f"QEMU {find_qemu().version}", flush=True)
    different = 0
    for number in asked.pairs or every:
        settings: dict[str, Any] = dict(zip(KEYS, PAIRS[number - 1], strict=True))
        with tempfile.TemporaryDirectory() as scratch:
            one, other = (
                played(Path(scratch) / name, **settings, balls=asked.balls, seed=number)
                for name in ("once", "again")
            )
            found = unlike(one, other, asked.balls)
        result = f"DIFFERENT: {', '.join(found)}" if found else "alike"
        print(f"pair {number}: {', '.join(settings.values())}: {result}", flush=True)
        different += bool(found)
    count = len(asked.pairs or every)
    print(f"{count - different} of {count} pairs alike ({asked.balls} balls each)")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
