# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Hold an analyser's capture against a rally: does the instrument say what happened."""

from tennis.rally import Rally
from tennis.rally.manifest import Verdict
from tennis.umpire.agreement.probes import other_wiring, wiring_words
from tennis.umpire.agreement.result import TICK_NS, WIRES_NS, Check
from tennis.umpire.agreement.side_by_side import SideBySide
from tennis.umpire.agreement.verdict import judge
from tennis.umpire.captures.edges import Capture, CaptureError, MissingError, one_wire
from tennis.units import format_ns, tick_ns


def check_capture(rally: Rally, capture: Capture, tolerance_ns: float | None = None) -> Check:
    """Check a rally by a capture of it. What is wrong with the capture is in the verdict.

    Raises RallyError where the rally cannot be read, OSError.
    """
    tick = tick_ns(rally.tick_hz)
    condemns_ns = WIRES_NS + tick if tolerance_ns is None else tolerance_ns
    if tolerance_ns is None:
        tolerance_ns = tick if tick > 1 else TICK_NS
    limits = tolerance_ns, condemns_ns
    result = Check("not run", "", rally, capture, *limits, notes=list(capture.notes))
    result.verdict, result.reason = _cannot(rally, capture)
    if result.reason:
        return result
    try:
        # nobody serves a drill: whatever else the capture holds is not looked at
        looked_at = one_wire(capture) if rally.manifest.drill else capture
        run = SideBySide(rally, looked_at, result)
        wrong = run.pair()
        if wrong:
            # a wire on which nothing happens is not mended by another name
            seen = result.decoder
            alive = seen is not None and seen.ping.count > 0 and seen.reply.count > 0
            tried = alive and not rally.manifest.drill
            better = other_wiring(rally, capture) if tried else None
            reason = wiring_words(better, capture) if better is not None else wrong
            # nothing that was counted means anything
            return Check("not run", reason, rally, capture, *limits, notes=capture.notes)
        run.conclude()
    except CaptureError as error:
        result.verdict = "inconclusive" if isinstance(error, MissingError) else "not run"
        result.reason = str(error)
        return result
    result.verdict, result.reason = judge(result)
    return result


def _cannot(rally: Rally, capture: Capture) -> tuple[Verdict, str]:
    """Say why a capture cannot be checked at all; the reason is empty where it can."""
    pulse = rally.manifest.protocol.pulse_ns
    noun = "repetition" if rally.manifest.drill else "ball"
    if rally.balls == 0:
        return "not run", f"it has no {noun}: play it again"
    if not rally.manifest.drill and capture.resolution_ns > pulse:
        return "not run", (
            f"the ping is up for {format_ns(pulse)}, and the analyser looked every "
            f"{format_ns(round(capture.resolution_ns))}: it cannot see each ball; capture at "
            f"{2e3 / pulse:.3g} MHz or more"
        )
    return "not run", ""
