# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A rally's capture while it is played: by an analyser, or made from the rally itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tennis.bench.instruments import sigrok
from tennis.errors import UsageError
from tennis.rally.folder import CAPTURE
from tennis.rally.plan import Plan
from tennis.umpire.rally import SIMULATED
from tennis.umpire.simulate import Analyser, Played, simulate

LONGER, MARGIN_S = 1.1, 3.0  # answers take their time, too
# as a crystal's; and no rate of an open loop stays in step with the samples
SIMULATED_PPM = 20.0


def needed_s(plan: Plan) -> float:
    """Return about how long a rally or drill takes, from the first sample to the last answer."""
    length_ns = plan.protocol.length_ns
    if plan.drill:
        length_ns = plan.protocol.balls * plan.drill.period_ns
    return LONGER * length_ns / 1e9 + MARGIN_S


def warnings(plan: Plan) -> list[str]:
    """Say what the analyser that is plugged in cannot do for a plan. Raises BenchError."""
    if not plan.umpire or plan.bench == "virtual":
        return []
    chosen = sigrok.settings(plan.analyser)
    return chosen.warnings(plan.protocol.pulse_ns, needed_s(plan))


@contextmanager
def watching(plan: Plan, part: Path) -> Iterator[list[str]]:
    """Capture while a rally is played on a physical bench; what went wrong comes into the list.

    Raises BenchError where there is no analyser. One that fails later costs no ball.
    """
    trouble: list[str] = []
    if not plan.umpire or plan.bench == "virtual":
        yield trouble
        return
    chosen = sigrok.settings(plan.analyser)
    chosen = replace(chosen, seconds=None if chosen.analyser.continuous else needed_s(plan))
    with sigrok.capturing(chosen, part / CAPTURE) as capture:
        yield trouble
    if capture.trouble:
        trouble.append(capture.trouble)


def simulated(part: Path, played: Played) -> str:
    """Write the capture of a rally on the virtual bench; return what is to be said of it."""
    out = part / CAPTURE
    out.unlink(missing_ok=True)
    try:
        simulate(played, out, Analyser(clock_ppm=SIMULATED_PPM))
    except UsageError as error:
        return f"no capture: {error}"
    return SIMULATED
