# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Statistics of a ten-million-ball rally against pandas reading the thesis' text form.

Both sides compute the same statistics of the same latencies (it is checked), intervals included,
alternate in fresh processes on the same machine, and start their clock after their imports. Our
side opens the rally with all checks: every hash, every ball. The ratio is of the best times. Exits
with 1 where the target is missed: at least TARGET times faster, within RSS_LIMIT_MB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# every column of every ball is held against the others and the manifest; pandas reads two
TARGET = 5.0
RSS_LIMIT_MB = 500
BALLS = 10_000_000
NAMES = ("q1", "median", "q3", "p99", "p999")
Found = dict[str, dict[str, Any]]


def side_tennis(folder: Path) -> Found:
    """Open (with every check) and summarize a rally."""
    from tennis.rally import open_rally
    from tennis.stats import summarize

    start_clock()
    found = summarize(open_rally(folder)).as_json()
    return {key: found[key] for key in ("interrupt_ns", "scheduling_ns")}


def side_pandas(text: Path) -> Found:
    """Read two tab-separated integers a line (ns) and compute the same statistics."""
    import pandas as pd

    from tennis.stats.intervals import quantile_rank, quantile_ranks
    from tennis.stats.summary import QUANTILES

    start_clock()
    data = pd.read_csv(text, sep="\t", header=None)
    n = len(data)
    # the ranks of the quantiles and of both ends of their intervals, as pandas' fractions
    ranks = [quantile_rank(n, p) for p in QUANTILES.values()]
    ranks += [rank for p in QUANTILES.values() for rank in quantile_ranks(n, p) or (1, 1)]
    fractions = [(rank - 1) / (n - 1) for rank in ranks]
    quantiles = data.quantile(fractions, interpolation="nearest")
    lows, highs, means, sds = data.min(), data.max(), data.mean(), data.std()
    found: Found = {}
    for column, key in ((0, "interrupt_ns"), (1, "scheduling_ns")):
        values = [int(value) for value in quantiles[column]]
        found[key] = {
            **dict(zip(NAMES, values[:5], strict=True)),
            "ci": {name: values[5 + 2 * i : 7 + 2 * i] for i, name in enumerate(NAMES)},
            "min": int(lows[column]),
            "max": int(highs[column]),
            "mean": float(means[column]),
            "sd": float(sds[column]),
            "qd": values[2] - values[0],
            "jitter": int(highs[column] - lows[column]),
        }
    return found


START = 0.0


def start_clock() -> None:
    """Start the clock: imports are done."""
    global START  # noqa: PLW0603
    START = time.perf_counter()


def run_side(side: str, path: Path) -> None:
    """Run one side in this process and print what it took and found."""
    found = side_tennis(path) if side == "tennis" else side_pandas(path)
    took = time.perf_counter() - START
    # not ru_maxrss, which a child inherits from its parent
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"s": took, "rss_mb": peak, "found": found}))


def measure(side: str, path: Path) -> dict[str, Any]:
    """Run one side in a fresh process."""
    command = [sys.executable, __file__, "--side", side, "--path", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def agree(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Say whether both sides found the same: integers exactly, mean and sd to nine digits."""
    close = all(abs(ours[k] - theirs[k]) <= 1e-9 * theirs[k] for k in ("mean", "sd"))
    same = all(ours[k] == theirs[k] for k in (*NAMES, "ci", "min", "max", "qd", "jitter"))
    return close and same


def compare(scratch: Path, tick_hz: int, balls: int, rounds: int) -> tuple[float, float]:
    """Make the rally in both forms, measure both sides in turn; return (ratio, our peak MB)."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    from tests.support.synthetic import latencies, make_rally

    folder, text = scratch / f"rally-{tick_hz}", scratch / f"rally-{tick_hz}.txt"
    # both kernels' mixtures: a narrow body, disturbed balls, a tail up to tens of milliseconds
    rise = np.rint(latencies(balls, 1, "mainline", "stress") * tick_hz / 1e9).astype(np.int64)
    schedule = np.rint(latencies(balls, 2, "mainline", "idle") * tick_hz / 1e9).astype(np.int64)
    rally = make_rally(folder, rise=rise, schedule=schedule, tick_hz=tick_hz)
    ns = 1_000_000_000 // tick_hz
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t")
    lines = pa.table({"irq": rise * ns, "sched": schedule * ns})
    pyarrow.csv.write_csv(lines, text, options)
    del rise, schedule, lines, rally

    best: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for side, path in (("tennis", folder), ("pandas", text)):
            run = measure(side, path)
            if side not in best or run["s"] < best[side]["s"]:
                best[side] = run
    ours, theirs = best["tennis"], best["pandas"]
    for key, values in ours["found"].items():
        assert agree(values, theirs["found"][key]), (key, values, theirs["found"][key])
    ratio = theirs["s"] / ours["s"]
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(
        f"{balls} balls, ticks of {ns} ns, best of {rounds}, {os.cpu_count()} cores: "
        f"tennis {ours['s'] * 1e3:.0f} ms, {ours['rss_mb']:.0f} MB peak, {size:.0f} MB on disk; "
        f"pandas {theirs['s'] * 1e3:.0f} ms, {theirs['rss_mb']:.0f} MB peak, "
        f"{text.stat().st_size / 1e6:.0f} MB on disk; ratio {ratio:.1f}"
    )
    return ratio, ours["rss_mb"]


def main() -> int:
    """Measure at 1 ns (virtual bench) and at 8 ns (Pico) and hold the target against it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--balls", type=int, default=BALLS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", choices=["tennis", "pandas"], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.side:
        run_side(asked.side, asked.path)
        return 0
    missed = False
    with tempfile.TemporaryDirectory(prefix="tennis-bench-") as scratch:
        for tick_hz in (1_000_000_000, 125_000_000):
            ratio, peak = compare(Path(scratch), tick_hz, asked.balls, asked.rounds)
            missed |= ratio < TARGET or peak > RSS_LIMIT_MB
    print(
        f"target: ratio at least {TARGET:g}, peak at most {RSS_LIMIT_MB} MB: "
        + ("MISSED" if missed else "met")
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
