"""Compare an analyser's capture with a rally: does the instrument say what happened."""

import itertools
import shlex
from collections.abc import Iterator
from dataclasses import replace

from tennis.kit.units import format_count, format_ns, tick_ns
from tennis.rally import Rally
from tennis.rally.captures.edges import Capture, CaptureError, Edges, MissingError, ProbeFault
from tennis.rally.text import plain
from tennis.report.umpire.agreement import pairing
from tennis.report.umpire.agreement.balls import Balls, Decoder
from tennis.report.umpire.agreement.comparing import Likeness, compare
from tennis.report.umpire.agreement.rally_balls import MOST, balls_of
from tennis.report.umpire.agreement.result import MAX_CLOCK_PPM, NAMED, TICK_NS, WIRES_NS, Check
from tennis.report.umpire.agreement.verdict import judge

TRIAL_EDGES = 1 << 17  # of a capture, when other wirings are tried


def _other_wirings() -> list[ProbeFault]:
    """Return all possible faults of two probes, the most frequent first."""
    every = sorted(itertools.product((False, True), repeat=3), key=sum)
    return [ProbeFault(*wiring) for wiring in every if any(wiring)]


def _begin_of(capture: Capture) -> Capture:
    """Return the first edges of a capture, which are read from its file once."""
    batches: list[Edges] = []
    for batch in capture.edges():
        batches.append(batch)
        if sum(held.ticks.size for held in batches) >= TRIAL_EDGES:
            break
    end_ticks = capture.end_ticks

    def read(outer: Capture) -> Iterator[Edges]:
        outer.end_ticks = end_ticks
        yield from batches

    return replace(capture, read=read)


def _wiring_words(wiring: ProbeFault, capture: Capture) -> str:
    """Describe the fault of the probes, and what to do about it."""
    wires, options = [], []
    ping, reply = shlex.quote(capture.ping), shlex.quote(capture.reply)
    if wiring.swapped:
        wires.append("ping and reply are swapped")
        options.append(f"--ping {reply} --reply {ping}")
    both = wiring.invert_ping and wiring.invert_reply
    for name, inverted in (("ping", wiring.invert_ping), ("reply", wiring.invert_reply)):
        if inverted:
            wires.append(f"{name} is inverted")
            options.append(f"--invert {name}" if not both else "")
    if both:
        options = [option for option in options if option] + ["--invert both"]
    return (
        f"{' and '.join(wires)} in the capture: move the probes, or check it again with "
        f"{' '.join(options)}"
    )


RIGHT = 0.9  # of the balls must pair, if it is this rally on these wires
SPREAD = 3.0  # times what the resolutions explain: then these are not the same balls
RELATED = 5.0  # standard errors of the rank correlation of what both say, or it may be chance
OTHER_RALLY = (
    "it is a capture of another rally, or of other wires; name the capture that was taken with it"
)


def check_capture(rally: Rally, capture: Capture, tolerance_ns: float | None = None) -> Check:
    """Check a rally by a capture of it. The verdict names faults of the capture.

    Raises RallyError if the rally cannot be read, OSError.
    """
    tick = tick_ns(rally.tick_hz)
    condemns_ns = WIRES_NS + tick if tolerance_ns is None else tolerance_ns
    if tolerance_ns is None:
        tolerance_ns = tick if tick > 1 else TICK_NS
    limits = tolerance_ns, condemns_ns
    result = Check("not run", "", rally, capture, *limits, notes=list(capture.notes))
    result.reason = _cannot(rally, capture)
    if result.reason:
        return result
    try:
        # nobody serves a drill: other wires of the capture are ignored
        wrong = _paired(rally, capture.one_wire() if rally.manifest.drill else capture, result)
        if wrong:
            # no count means anything
            reason = _of_the_probes(rally, capture, result) or wrong
            return Check("not run", reason, rally, capture, *limits, notes=capture.notes)
    except CaptureError as error:
        result.verdict = "inconclusive" if isinstance(error, MissingError) else "not run"
        result.reason = str(error)
        return result
    result.verdict, result.reason = judge(result)
    return result


def _cannot(rally: Rally, capture: Capture) -> str:
    """Say why a capture cannot be checked at all; empty: it can."""
    pulse = rally.manifest.protocol.pulse_ns
    if rally.balls == 0:
        return f"it has no {'repetition' if rally.manifest.drill else 'ball'}: play it again"
    if not rally.manifest.drill and capture.resolution_ns > pulse:
        return (
            f"the ping is up for {format_ns(pulse)}, and the analyser looked every "
            f"{format_ns(round(capture.resolution_ns))}: it cannot see each ball; capture at "
            f"{2e3 / pulse:.3g} MHz or more"
        )
    return ""


def _of_the_probes(rally: Rally, capture: Capture, result: Check) -> str:
    """Say which probes are on the wrong wires or inverted; empty: none is known to be."""
    seen = result.decoder
    # a wire on which nothing happens is not mended by another name
    if rally.manifest.drill or not (seen and seen.ping.count and seen.reply.count):
        return ""
    begins = _begin_of(capture)
    for wiring in _other_wirings():
        trial = Check("not run", "", rally, capture, 0, 0)
        if _paired(rally, begins.rewired(wiring), trial) or trial.balls < 3:
            continue
        answered = trial.balls - trial.disagree
        if trial.balls > RIGHT * (trial.balls + trial.unmatched) and answered > RIGHT * trial.balls:
            return _wiring_words(wiring, capture)
    return ""


def _paired(rally: Rally, capture: Capture, result: Check) -> str:
    """Pair everything and compare it; say why that cannot be done, empty if it could."""
    protocol = rally.manifest.protocol
    result.decoder = decoder = _decoder(rally, capture)
    parts, count = [], 0
    for part in decoder.decode(capture):
        if count < MOST:
            parts.append(part)
            count += len(part)
    balls = Balls.joined(parts)
    if not len(balls):
        return _no_ball(capture, decoder)
    end_ns = capture.end_ticks * capture.tick_ns
    scale = _scale(rally, capture)
    theirs = balls_of(rally)
    paired = pairing.pair(theirs, balls, scale, end_ns, protocol.timeout_ns)
    if paired is None:
        return f"the gaps between its balls are not those of this rally: {OTHER_RALLY}"
    result.uncovered = rally.balls - len(theirs) + paired.uncovered
    result.unmatched_brickwall = len(paired.missing)
    result.unmatched_analyser = paired.unmatched_analyser
    result.lost = paired.lost
    for number in paired.missing[:NAMED]:
        result.name(number, "not seen by the analyser")
    likeness = compare(result, capture, paired.pairs, protocol.timeout_ns)
    if paired.lost:
        at = balls.served[paired.used] * capture.tick_ns if paired.used < len(balls) else end_ns
        result.notes.append(
            f"after {format_count(result.balls, 'ball')} and {at / 1e9:.3f} s nothing "
            "matches any more"
        )
    result.by_order = likeness.related < RELATED if scale.even else paired.by_order
    return _doubt(capture, result, paired, likeness) or _wrong_wires(rally, capture, result)


def _decoder(rally: Rally, capture: Capture) -> Decoder:
    protocol = rally.manifest.protocol
    # a little longer: the clocks may disagree about an answer in the last moment
    timeout = protocol.timeout_ns * (1 + MAX_CLOCK_PPM * 1e-6) + 2 * capture.resolution_ns
    pulse_ns = 0 if rally.manifest.drill else protocol.pulse_ns
    return Decoder(timeout / capture.tick_ns, pulse_ns / capture.tick_ns)


def _scale(rally: Rally, capture: Capture) -> pairing.Scale:
    protocol, drill = rally.manifest.protocol, rally.manifest.drill
    if drill:
        gap, even = float(drill.period_ns), True
    elif protocol.loop == "open" and protocol.rate_hz:
        gap, even = 1e9 / protocol.rate_hz, True
    else:
        gap = protocol.gap_min_ns
        even = protocol.gap_max_ns - protocol.gap_min_ns < 10 * capture.resolution_ns
    tick = tick_ns(rally.tick_hz)
    return pairing.Scale(tick, capture.tick_ns, capture.resolution_ns, gap, even)


def _no_ball(capture: Capture, decoder: Decoder) -> str:
    both = ((capture.ping, decoder.ping), (capture.reply, decoder.reply))
    seen = [name for name, pulses in both if pulses.count]
    reason = f"only {plain(seen[0], 20)} ever changes" if len(seen) == 1 else "nothing changes"
    return (
        f"there is no ball in the capture: {reason} there; "
        "check probes, ground and thresholds, and capture again"
    )


def _doubt(capture: Capture, result: Check, paired: pairing.Paired, likeness: Likeness) -> str:
    """Say why the pairs cannot be believed; empty if they can."""
    reason = f"its gaps are like this rally's, but not the same: {OTHER_RALLY}"
    if result.lost and result.balls < 2 * pairing.WINDOW:
        return reason
    if not result.lost and 2 * result.balls < result.balls + result.unmatched:
        return reason
    # gaps that are alike show nothing: which ball is which, the latencies must
    if (paired.by_order or result.by_order) and (
        result.lost or result.uncovered or result.unmatched
    ):
        return (
            "the balls came at a fixed rate and their latencies are all alike, so that nobody "
            "can tell which is which: capture the whole rally, or play a closed loop"
        )
    explained = SPREAD * (capture.resolution_ns + result.tick_ns) + 1.5 * pairing.JITTER_NS
    if paired.spread_ns > explained:
        return reason
    if likeness.spread_ns > explained:
        return f"its latencies have nothing to do with this rally's: {OTHER_RALLY}"
    return ""


def _wrong_wires(rally: Rally, capture: Capture, result: Check) -> str:
    """Say why these cannot be the two wires; empty if they can."""
    decoder = result.decoder
    if rally.manifest.drill or decoder is None:
        return ""
    pulse = rally.manifest.protocol.pulse_ns
    if decoder.ping.median is not None:
        width = decoder.ping.median * capture.tick_ns
        if abs(width - pulse) > 1.5 * capture.resolution_ns + 0.02 * pulse + 20:
            return (
                f"the pulses on {plain(capture.ping, 20)} last {format_ns(round(width))},"
                f" the rally's pings {format_ns(pulse)}: it is not the ping wire, or not this "
                "rally; check the probes, and capture again"
            )
    answered = rally.interrupt.n > (1 - RIGHT) * rally.balls
    if answered and result.disagree > RIGHT * max(result.balls, 1):
        return (
            "the analyser saw no reply to balls that were answered: check the probe on the "
            "reply wire and its threshold, and capture again"
        )
    return ""
