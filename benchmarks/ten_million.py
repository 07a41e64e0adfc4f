"""Ten million balls of one rally: time and memory of what reads them, beside one million.

Nobody played the balls. Each command is a process of its own. Exits with 1 if one takes more memory
than docs/rally-folder.md promises, or if ten times the balls take more than 15 times as long.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TENNIS = Path(sys.executable).with_name("tennis")
# in a process of its own: what starts another one hands its peak of memory on
MAKE = """
import pathlib, sys
from tests.support.synthetic import make_rally
make_rally(pathlib.Path(sys.argv[1]), balls=int(sys.argv[2]))
"""
SIZES = (1_000_000, 10_000_000)
# each writes to another place
COMMANDS = ("stats BALLS", "plot BALLS --out plots-BALLS", "export BALLS --out BALLS.csv")
LIMIT_MB = 1000
GROWS_MAX = 15


def measured(words: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its seconds, and the megabytes that it had at most."""
    began = time.monotonic()
    process = subprocess.Popen([TENNIS, *words], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, words
    return time.monotonic() - began, used.ru_maxrss / 1024


def main() -> int:
    """Make both rallies up, read them, and print."""
    failed = False
    with tempfile.TemporaryDirectory(prefix="tennis-balls-") as scratch:
        for balls in SIZES:
            out = Path(scratch) / str(balls)
            subprocess.run([sys.executable, "-c", MAKE, out, str(balls)], cwd=ROOT, check=True)
        for command in COMMANDS:
            name = command.partition(" ")[0]
            each = (command.replace("BALLS", str(balls)).split() for balls in SIZES)
            found = [measured(words, Path(scratch)) for words in each]
            (small_s, _), (large_s, large_mb) = found
            print(
                f"tennis {name}: {large_s:.1f} s and {large_mb:,.0f} MB for ten million balls, "
                f"{small_s:.1f} s for one million, {large_s / small_s:.1f} times"
            )
            failed |= large_mb > LIMIT_MB or large_s / small_s > GROWS_MAX
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
