# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Every instant: what the model of `tennis explain --sections` predicts, against what comes.

Of each kernel and load: a rally, whose balls are predicted one by one; then boots with one ball
each, at the worst instants that were predicted and at instants of all ways to take a ping.

    .venv/bin/python benchmarks/sections.py --balls 2000 --shots 6
    .venv/bin/python benchmarks/sections.py --cost 3 --loads stress
    .venv/bin/python benchmarks/sections.py --draw RALLY docs/images/every-instant.svg

With --cost the processor time of a rally with sections is compared with that of one without, in
pairs: the figures of docs/every-instant.md.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import used_s

from tennis.bench.registry import bench_for
from tennis.explain.sections.storage import Sections, read
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.play.sections import play_at, record
from tennis.plots.picture import Picture, house_style, time_axis
from tennis.rally import Rally, open_rally
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tennis.style import LATENCIES

SHOWN_NS = 2_500_000  # on both sides of the worst instant


def instants(sections: Sections, count: int) -> list[tuple[int, int]]:
    """Return the worst instant, then the latest of each way and place, then others; with theirs."""
    groups = sections.groups.filter(sections.groups.column("sure")).to_pylist()
    groups.sort(key=lambda g: -g["longest_ns"])
    first = {}
    for group in groups:
        first.setdefault((group["way"], group["where"]), group)
    some = np.random.default_rng(1).permutation(len(groups))
    chosen = {groups[0]["first_ns"]: groups[0]["longest_ns"]}
    for group in (*first.values(), *(groups[n] for n in some)):
        if len(chosen) < count:
            chosen[group["first_ns"]] = group["longest_ns"]
    return list(chosen.items())


def both_s() -> np.ndarray:
    """Return the seconds that the processor gave to QEMU, and to QEMU and Python."""
    qemu_s = used_s()
    return np.array([qemu_s, qemu_s + used_s(resource.RUSAGE_SELF)])


def cost(folder: Path, kernel: str, load: str, asked: argparse.Namespace) -> None:
    """Print how much more a rally with sections costs, in pairs of one seed; the first is warm."""
    request = RallyRequest(kernel=kernel, load=load)
    plan = plan_for(request, Serving(balls=asked.balls, seed=asked.seed))
    boots, wholes = [], []
    for number in range(asked.cost + 1):
        began_s = both_s()
        rally = play(bench_for(plan), plan, folder / f"{kernel}-{load}-{number}", Watch())
        played_s = both_s()
        record(rally)
        boot, whole = (both_s() - played_s) / (played_s - began_s)
        if number:  # what the first one built and read is there for the others
            boots.append(boot / 2)
            wholes.append(1 + whole)
    for name, ratios in (("a boot that records", boots), ("a rally with sections", wholes)):
        ends = f"{min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} pairs"
        middle = f"{np.median(ratios):.2f} times"
        print(
            f"{kernel}, {load}, {asked.balls} balls: {name} costs {middle} one without ({ends})",
            flush=True,
        )


def main() -> None:
    """Play, predict, compare; a row of a table for each rally."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--balls", type=int, default=2000)
    parser.add_argument("--shots", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", nargs="+", default=["mainline", "rt"])
    parser.add_argument("--loads", nargs="+", default=["stress", "idle", "network"])
    parser.add_argument("--top-half", default="hard", choices=["hard", "explicit", "forced"])
    parser.add_argument("--cost", type=int, help="so many pairs, and nothing else")
    parser.add_argument("--draw", nargs=2, type=Path, help="a recorded rally, and the picture")
    parser.add_argument("--keep", type=Path, help="a folder in which the rallies are kept")
    asked = parser.parse_args()
    if asked.draw:
        draw(*asked.draw)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        for load in asked.loads:
            for kernel in asked.kernels:
                if asked.cost:
                    cost(folder, kernel, load, asked)
                else:
                    compare(folder / f"{kernel}-{load}-{asked.top_half}", kernel, load, asked)


@house_style
def picture_of(rally: Rally, sections: Sections) -> Picture:
    """Draw the latency of each instant around the worst one: the teeth of the longest sections."""
    rows = sections.longest.to_pylist()
    middle_ns, most_ns = rows[0]["at_ns"], rows[0]["latency_ns"]
    least_ns = min(constant.usual_ns for constant in sections.about.constants)
    words = f"Latency of a ping at every instant around the worst, {most_ns:,} ns"
    picture = Picture(9.6, 3.4, f"Every instant: {rally.label}", words)
    picture.head(f"{rally.manifest.time_note}; the longest {len(rows):,} sections")
    axes = picture.subplots()
    near = sorted(
        (row["at_ns"], row["latency_ns"])
        for row in rows
        if abs(row["at_ns"] - middle_ns) < SHOWN_NS
    )
    x, y = [-SHOWN_NS / 1e6], [least_ns]
    for at_ns, latency_ns in near:
        start_ms = (at_ns - middle_ns) / 1e6
        x += [start_ms, start_ms, start_ms + (latency_ns - least_ns) / 1e6]
        y += [least_ns, latency_ns, least_ns]
    axes.plot([*x, SHOWN_NS / 1e6], [*y, least_ns], color=LATENCIES["interrupt"], lw=1)
    axes.set_xlim(-SHOWN_NS / 1e6, SHOWN_NS / 1e6)
    axes.set_ylim(bottom=0)
    time_axis(axes, "y", log=False)
    axes.set(xlabel="ms from the worst instant", ylabel="a ping then waits")
    return picture


def draw(folder: Path, out: Path) -> None:
    """Draw a recorded rally's instants."""
    rally = open_rally(folder)
    sections = read(rally)
    assert sections is not None, f"{folder}: tennis explain --sections first"
    out.write_bytes(picture_of(rally, sections).render("svg"))


def compare(out: Path, kernel: str, load: str, asked: argparse.Namespace) -> None:
    """Play one rally, predict its balls and instants, and print what came."""
    request = RallyRequest(kernel=kernel, load=load, top_half=asked.top_half)
    plan = plan_for(request, Serving(balls=asked.balls, seed=asked.seed))
    before_s = used_s()
    rally = open_rally(out) if out.exists() else play(bench_for(plan), plan, out, Watch())
    played_s = used_s() - before_s
    began = time.monotonic()
    sections = record(rally)
    recorded_s = used_s() - before_s - played_s
    about = sections.about
    print(
        f"\n## {kernel}, {load}, {asked.top_half}: {about.exact} of {about.predicted} balls exact, "
        f"largest error {about.worst_ns} ns, half within {about.half_within_ns}, 99 % within "
        f"{about.nearly_all_within_ns} (if a thread answers); "
        f"{recorded_s:.1f} s of QEMU for two boots, "
        f"{played_s:.1f} s for the rally, {time.monotonic() - began:.0f} s in all",
        flush=True,
    )
    for constant in sections.about.constants:
        print(f"  {constant}")
    for one in sections.about.balls:
        print(f"  {one}")
    for at_ns, predicted_ns in instants(sections, asked.shots):
        (shot,) = play_at(rally, [(at_ns, predicted_ns)], kernel=None, watch=Watch())
        off = shot.measured_ns - shot.predicted_ns
        print(
            f"  at {shot.at_ns}: predicted {shot.predicted_ns}, measured {shot.measured_ns}, {off}",
            flush=True,
        )


if __name__ == "__main__":
    main()
