"""A rally's capture while it is played: by an analyser, or made from the rally itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tennis.bench.instruments import sigrok
from tennis.bench.instruments.acquisition import capturing
from tennis.kit.errors import UsageError
from tennis.kit.log import log
from tennis.rally.folder import CAPTURE
from tennis.rally.plan import Plan
from tennis.rally.text import plain
from tennis.report.umpire.analyser import Analyser
from tennis.report.umpire.rally import SIMULATED
from tennis.report.umpire.simulate import SimulatedRally, simulate

LONGER, MARGIN_S = 1.1, 5.0  # answers take their time, too, and so does the analyser's start
# as a crystal's; and no rate of an open loop stays in step with the samples
SIMULATED_PPM = 20.0


def _needed_s(plan: Plan) -> float:
    """Return about how long a rally or drill takes, from the first sample to the last answer."""
    length_ns = plan.protocol.length_ns
    if plan.drill:
        length_ns = plan.protocol.balls * plan.drill.period_ns
    return LONGER * length_ns / 1e9 + MARGIN_S


def _chosen(plan: Plan, seconds: float) -> sigrok.Settings:
    chosen = sigrok.Settings.covering(plan.analyser, plan.protocol.pulse_ns, seconds)
    if plan.target is not None and chosen.seconds is not None:
        raise UsageError(
            f"{plain(chosen.analyser.name, 40)} cannot stream: its memory would be full before "
            f"{plain(plan.target, 80)} is ready to play",
            next_step="use an analyser that streams (fx2lafw), or leave --umpire out",
        )
    return chosen


@contextmanager
def watching(plan: Plan, part: Path) -> Iterator[list[str]]:
    """Capture while a rally is played on a physical bench; errors go into the list.

    The log warns of limits of the analyser. Raises BenchError, UsageError if there is no analyser,
    or if it cannot cover the rally. One that fails later costs no ball.
    """
    trouble: list[str] = []
    if not plan.umpire or plan.bench == "virtual":
        yield trouble
        return
    seconds = _needed_s(plan)
    chosen = _chosen(plan, seconds)
    for warning in chosen.warnings(plan.protocol.pulse_ns, seconds):
        log.warning(warning)
    with capturing(chosen, part / CAPTURE) as capture:
        yield trouble
        if not chosen.analyser.continuous and capture.running:
            log.info("waiting for what the analyser holds in its memory")
    if capture.trouble:
        trouble.append(capture.trouble)


def simulated(folder: Path, played: SimulatedRally) -> str:
    """Write the capture of a rally of the virtual bench into a folder; return a note about it."""
    out = folder / CAPTURE
    out.unlink(missing_ok=True)
    try:
        simulate(played, out, Analyser(clock_ppm=SIMULATED_PPM))
    except UsageError as error:
        return f"no capture: {error}"
    return SIMULATED
