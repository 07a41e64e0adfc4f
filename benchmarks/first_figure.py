"""How long a newcomer waits: until the first figures of ``tennis demo``, and for a first rally.

The kernels must be there: run ``make demo`` once before. The rally is the README's. Exits with 1 if
the figures take more than a minute, or the rally more than 45 seconds (docs/install.md has such
times), on a machine of two cores with nothing else to do.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

TENNIS = Path(sys.executable).with_name("tennis")
DEMO_S, RALLY_S = 60, 45
RALLY = (
    "rally --kernel rt --load stress --bottom-half thread --balls 3000 --seed 7 --out first",
    "stats first",
    "report first --out first.html",
)


def first_figures_s(folder: Path) -> float:
    """Start the demo; return the seconds until it prints a figure. What it played is dropped."""
    began = time.monotonic()
    words = [TENNIS, "demo", "--out", folder / "demo"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as demo:
        try:
            assert demo.stdout is not None
            next(line for line in demo.stdout if "so far" in line)
            return time.monotonic() - began
        finally:
            demo.terminate()


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="tennis-first-") as scratch:
        demo_s = first_figures_s(Path(scratch))
        print(f"tennis demo: the first figures after {demo_s:.1f} s, target {DEMO_S} s")
        took_s = []
        for words in RALLY:
            began = time.monotonic()
            subprocess.run([TENNIS, *words.split()], cwd=scratch, check=True, capture_output=True)
            took_s.append(time.monotonic() - began)
            print(f"tennis {words}: {took_s[-1]:.1f} s")
    print(f"a first rally: {sum(took_s):.1f} s, target {RALLY_S} s")
    return int(demo_s > DEMO_S or sum(took_s) > RALLY_S)


if __name__ == "__main__":
    sys.exit(main())
