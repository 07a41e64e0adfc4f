# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Reference rallies of the labs, with the course's own seed: for lost sessions and readers."""

from collections.abc import Callable
from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.course.checking import sweep_work
from tennis.course.labs import Lab, LabRally
from tennis.errors import UsageError
from tennis.play.planning import drill_plan, plan_of
from tennis.play.rally import Watch, play
from tennis.rally import open_folder, part_path
from tennis.rally.disk import writing
from tennis.rally.plan import Plan


def record(
    lab: Lab,
    out: Path,
    *,
    balls: int | None = None,
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> int:
    """Play a lab's rallies into ``out``/SLUG; return how many were played now.

    Those that are there stay, so that what was interrupted can be gone on with. ``balls``: fewer
    than the lab asks for. Raises TennisError.
    """
    folder = out / lab.slug
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    played = 0
    for asked in lab.to_play:
        path = folder / asked.name
        if path.exists():
            open_folder(path)
            continue
        if part_path(path).exists():
            raise UsageError(
                f"{path} is unfinished",
                next_step=f"continue with `tennis resume {path}`, or remove {part_path(path)}",
            )
        tell(f"{lab.slug}/{asked.name}")
        plan = _plan(lab, asked, balls)
        rally = play(bench_for(plan), plan, path, watch or Watch())
        played += 1
        if rally.manifest.ended == "interrupted":
            raise KeyboardInterrupt
    if lab.sweep is not None:
        tell(f"{lab.slug}/{lab.sweep.name}")
        played += sweep_work.play(lab, lab.handout_seed, folder / lab.sweep.name, balls)
    return played


def _plan(lab: Lab, asked: LabRally, balls: int | None) -> Plan:
    if asked.drill is not None:
        return drill_plan(
            asked.drill.to_do,
            min(balls or asked.balls, asked.balls),
            lab.handout_seed + asked.boot,
            kernel=asked.kernel,
            load=asked.load,
            load_options=asked.load_options,
        )
    return plan_of(
        kernel=asked.kernel,
        load=asked.load,
        load_options=asked.load_options,
        top_half=asked.top_half,
        bottom_half=asked.bottom_half,
        beneath=asked.beneath,
        priorities=asked.priorities,
        balls=min(balls or asked.balls, asked.balls),
        seed=lab.handout_seed + asked.boot,
        **asked.serving,
        **asked.placing,
    )
