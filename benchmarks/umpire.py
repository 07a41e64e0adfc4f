# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""One million balls of a capture: our check and decoder against sigrok's own ``timing`` decoder.

All sides read the same session file, one after the other in each round, each in a fresh process;
the ratios are of the best CPU times, which hardly depend on what else the machine does. ``timing``
looks at one wire and prints the time between its edges; the decoder Tennis looks at both and pairs
them; a check unpacks, decodes, pairs with the rally and fits. What the sides say is compared: as
many balls as were played, the same mean latency, a pass. Exits with 1 where a target is missed: a
check at least TARGET times cheaper than ``timing``, within RSS_LIMIT_MB.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from tennis.checkout import ROOT
from tennis.rally import Rally, part_path, seal
from tennis.rally.balls import schema
from tennis.umpire.analyser import Analyser
from tennis.umpire.simulate import simulate

TARGET = 2.0
RSS_LIMIT_MB = 500
BALLS = 1_000_000
RATE_HZ = 24_000_000
# close together: what is measured is balls, not the samples between them
GAP_NS = (15_000, 30_000)


def make(scratch: Path, balls: int) -> tuple[Rally, Path]:
    """Seal a rally with short gaps, and write what an analyser would have seen of it."""
    sys.path.insert(0, str(ROOT))
    from tests.support.synthetic import latencies, manifest

    random = np.random.default_rng(1)
    rise = np.minimum(latencies(balls, 1), 10_000).astype(np.int64)
    width = np.minimum(latencies(balls, 2) * 1.3, 10_000).astype(np.int64)
    gaps = random.integers(*GAP_NS, balls) + rise + width
    served = np.concatenate([[0], np.cumsum(gaps)[:-1]])
    table = pa.table(
        [
            pa.array(np.arange(balls, dtype=np.uint32)),
            pa.array(served),
            pa.array(rise.astype(np.uint32)),
            pa.array((rise + width).astype(np.uint32)),
        ],
        schema=schema(10**9),
    )
    out = scratch / "rally"
    part_path(out).mkdir()
    about = manifest(balls=balls)
    protocol = about.protocol.model_copy(
        update={"gap_min_ns": GAP_NS[0], "gap_max_ns": GAP_NS[1], "timeout_ns": 1_000_000}
    )
    rally = seal(part_path(out), out, about.model_copy(update={"protocol": protocol}), table, [])
    capture = scratch / "capture.sr"
    simulate(rally, capture, Analyser(rate_hz=RATE_HZ, clock_ppm=30))
    return rally, capture


def run(command: list[str], out: Path) -> tuple[float, float]:
    """Run a side; return its seconds of CPU time (of all its threads) and its peak in MB."""
    environment = os.environ | {"SIGROKDECODE_DIR": str(ROOT / "umpire/decoder")}
    with out.open("wb") as file, subprocess.Popen(command, stdout=file, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    """Measure all sides in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--balls", type=int, default=BALLS)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tennis-bench-") as folder:
        scratch = Path(folder)
        rally, capture = make(scratch, asked.balls)
        read = ["sigrok-cli", "-i", str(capture)]
        tennis = [sys.executable, "-c", "from tennis.cli import main; main()"]
        sides: dict[str, list[str]] = {
            "check": [*tennis, "umpire", "check", str(rally.path), "--capture", str(capture)],
            "decoder": [
                *read,
                *("-P", "tennis:ping=ping:reply=reply:timeout_ms=1.0:statistics_every=0"),
                *("-B", "tennis=csv"),
            ],
            # the reply wire alone: half of what there is to see
            "timing": [
                *read,
                *("-P", "timing:data=reply:avg_period=0"),
                *("-A", "timing=time"),
            ],
        }
        best: dict[str, tuple[float, float]] = {}
        for _ in range(asked.rounds):
            for name, command in sides.items():
                found = run(command, scratch / f"{name}.txt")
                best[name] = min(best.get(name, found), found)
        agree(rally, scratch, asked.balls)
        size = capture.stat().st_size / 1e6
    check, decoder, timing = (best[name] for name in ("check", "decoder", "timing"))
    print(
        f"{asked.balls} balls at {RATE_HZ / 1e6:g} MHz, {size:.0f} MB, best of {asked.rounds}, "
        f"CPU time: tennis umpire check {check[0]:.1f} s, {check[1]:.0f} MB peak; "
        f"sigrok-cli with the decoder Tennis (both wires, one line a ball) {decoder[0]:.1f} s; "
        f"with timing (the reply wire) {timing[0]:.1f} s; ratios timing : check "
        f"{timing[0] / check[0]:.1f}, timing : decoder {timing[0] / decoder[0]:.2f}"
    )
    missed = timing[0] < TARGET * check[0] or check[1] > RSS_LIMIT_MB
    print(
        f"target: check at least {TARGET:g} times as fast as timing, at most {RSS_LIMIT_MB} MB: "
        + ("MISSED" if missed else "met")
    )
    return 1 if missed else 0


def agree(rally: Rally, scratch: Path, balls: int) -> None:
    """Hold what the sides said against each other."""
    said = (scratch / "check.txt").read_text()
    assert f"pass: {balls} balls" in said, said
    lines = np.loadtxt(
        scratch / "decoder.txt", delimiter=",", skiprows=1, usecols=(2, 3), dtype=np.float64
    )
    assert len(lines) == balls
    ours = np.average(rally.scheduling.values, weights=rally.scheduling.counts)
    assert abs(lines[:, 1].mean() - ours) < 1 + 100 / np.sqrt(balls) + 1e-4 * ours


if __name__ == "__main__":
    sys.exit(main())
