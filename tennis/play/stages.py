# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Record what happened to every ball: the whole rally is played again, with the profiler.

The replay must be the rally, tick for tick: that is the proof that looking on cost no virtual time.
"""

from functools import partial

from tennis.errors import UsageError
from tennis.explain import stages
from tennis.play.explain import profile_balls, refuse_shots
from tennis.play.rally import Watch
from tennis.play.repeat import balls_of, plan_again
from tennis.rally import Rally
from tennis.rally.plan import Plan

BALLS_MAX = 100_000  # some kB of profile a ball lie on the disk meanwhile


def check_plan(plan: Plan) -> None:
    """Raise UsageError, before anything is booted, for more balls than stages are recorded of."""
    if plan.protocol.balls > BALLS_MAX:
        raise UsageError(
            f"--stages records 1 to {BALLS_MAX:,} balls, not {plan.protocol.balls:,}",
            next_step="play fewer, or leave it out",
        )


def record_stages(rally: Rally, *, kernel: str | None = None, watch: Watch | None = None) -> None:
    """Write ``stages.parquet`` into the folder of a rally of the virtual bench.

    Raises UsageError, RallyError and BenchError as ``tennis.play.explain.explain``.
    """
    refuse_shots(rally, "--stages")
    plan = plan_again(rally, kernel)
    if not 0 < rally.balls <= BALLS_MAX:
        raise UsageError(
            f"{rally.path} has {rally.balls:,} balls: stages are recorded of 1 to {BALLS_MAX:,}"
        )
    each = partial(stages.row, with_memory=stages.has_memory(rally))
    profiled = profile_balls(rally, plan, balls_of(rally), range(rally.balls), each, watch=watch)
    stages.write(rally, profiled.found)
