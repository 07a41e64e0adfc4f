# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Reference rallies of the labs, with the course's own seed: for lost sessions and readers."""

from collections.abc import Callable
from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.course.checking import sweep_work
from tennis.course.checking.plays import plan_of_rally
from tennis.course.labs import Lab
from tennis.errors import UsageError
from tennis.play.rally import Watch, play
from tennis.rally import open_folder, part_path
from tennis.rally.disk import writing


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
        count = min(balls or asked.balls, asked.balls)
        plan = plan_of_rally(asked, lab.handout_seed, balls=count)
        rally = play(bench_for(plan), plan, path, watch or Watch())
        played += 1
        if rally.manifest.ended == "interrupted":
            raise KeyboardInterrupt
    if lab.sweep is not None:
        tell(f"{lab.slug}/{lab.sweep.name}")
        played += sweep_work.play(lab, lab.handout_seed, folder / lab.sweep.name, balls)
    return played
