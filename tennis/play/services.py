# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What SLOTH's services cost beneath Linux: a rally in which each ball is one service."""

from pathlib import Path

import numpy as np

from tennis.bench.sloth.services import REPETITIONS, SERVICES
from tennis.bench.virtual.bench import VirtualBench
from tennis.bench.virtual.machine import Extras
from tennis.errors import BenchError
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.play.repeat import balls_of
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving


def count_beneath(
    kernel: str, out: Path, load: str = "idle", repetitions: int = REPETITIONS
) -> dict[str, int]:
    """Return the instructions of each service at EL2, beneath a kernel of Debian's.

    The rally is played into the folder ``out``. An interrupt of Linux' that comes into a service is
    taken and forwarded meanwhile: the least of all repetitions is the service's own. Raises
    BenchError where the target does not play.
    """
    each = 1 + len(SERVICES)
    request = RallyRequest(kernel=kernel, load=load, beneath="sloth")
    plan = plan_for(request, Serving(balls=each * repetitions))
    rally = play(VirtualBench(Extras(beneath="services")), plan, out, Watch())
    if rally.misses or rally.balls != each * repetitions:
        raise BenchError(f"{out}: {rally.misses} of {rally.balls} pulses did not come")
    _, rise, fall = balls_of(rally).T
    least = np.min((fall - rise).reshape(repetitions, each), axis=0) // plan.instruction_ns
    return {name: int(count - least[0]) for name, count in zip(SERVICES, least[1:], strict=True)}
