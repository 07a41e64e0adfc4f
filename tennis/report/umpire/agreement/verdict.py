"""Turn findings into a verdict, its reason and a next step."""

from tennis.kit.units import format_count
from tennis.rally.captures.edges import Capture
from tennis.rally.folder import CAPTURE
from tennis.rally.manifest import Verdict
from tennis.report.umpire.agreement.result import MAX_CLOCK_PPM, Check, Difference, Kind

MIN_BALLS = 100  # for a verdict
SHOWN = 3  # balls in a verdict, of those that are named


def judge(result: Check) -> tuple[Verdict, str]:
    """Return the verdict, and why."""
    decoder = result.decoder
    assert decoder is not None  # noqa: S101
    assert result.capture is not None  # noqa: S101
    counts = result.rally.manifest.counts
    extra = decoder.strays.count + decoder.doubles.count - counts.strays - counts.doubles
    glitches = decoder.ping.short + max(extra, 0)
    if result.lost:
        where = result.notes[-1] if result.notes else "the first balls do not fit"
        return "inconclusive", (
            f"{where}: samples were lost there, or a clock jumped; capture again at a lower rate, "
            "with nothing else on the analyser's USB bus"
        )
    scope = format_count(result.balls, result.noun)
    if result.uncovered:
        scope += f" of {result.rally.balls} (the capture does not cover the others)"
    if doubt := _doubt(result):
        return "inconclusive", doubt
    if result.disagree or result.off or result.off_serves or result.unmatched:
        return _contradicted(result, glitches)
    if result.unseen:
        return "inconclusive", (
            f"{result.unseen} replies were shorter than a sample and were not seen: capture at a "
            "higher rate"
        )
    results: list[tuple[Kind, Difference]] = []
    for kind in result.kinds:
        difference = getattr(result, kind)
        if difference is None or difference.balls < MIN_BALLS:
            count = difference.balls if difference else 0
            return "inconclusive", (
                f"too few {result.noun}s ({count} of {MIN_BALLS} with an answer that both saw): "
                "play more of them"
            )
        results.append((kind, difference))
    return _by_intervals(result, results, scope)


def _doubt(result: Check) -> str:
    """Say why the capture shows nothing about the Brickwall; empty if it does."""
    if result.by_order and not _own(result):
        return (
            "the balls came at a fixed rate and their latencies are all alike: nothing shows that "
            "it is a capture of this rally; play with `tennis rally --umpire`, which keeps the "
            "capture with the rally, or play a closed loop"
        )
    if result.jumped:
        return (
            f"{_wrong_balls(result)}, and many more: a clock jumped, or the analyser lost samples; "
            "capture again at a lower rate, with nothing else on the analyser's USB bus"
        )
    return ""


def _contradicted(result: Check, glitches: int) -> tuple[Verdict, str]:
    """Judge a rally of which the instruments saw different things."""
    reasons = []
    if result.unmatched_brickwall:
        reasons.append(
            f"{format_count(result.unmatched_brickwall, result.noun)} of the rally not seen by "
            "the analyser"
        )
    if result.unmatched_analyser:
        reasons.append(
            f"{format_count(result.unmatched_analyser, result.noun)} seen by the analyser "
            "and not in the rally"
        )
    if result.disagree:
        reasons.append(
            f"{format_count(result.disagree, 'ball')} answered by one and missed by other"
        )
    if result.off:
        reasons.append(f"{format_count(result.off, 'latency', 'latencies')} far off the others")
    if result.off_serves:
        count = format_count(result.off_serves, "ball")
        reasons.append(f"{count} served at another moment than the analyser saw")
    reason = "; ".join(reasons)
    if result.odd:
        reason += f" ({_wrong_balls(result)})"
    if glitches:
        return "inconclusive", (
            f"{reason}; {format_count(glitches, 'edge')} match no ball: glitches, "
            "or pings that the analyser missed; check ground and probes, keep the leads short, and "
            "capture again"
        )
    return "fail", (
        f"{reason}: one of both instruments is wrong; run tennis brickwall verify, "
        "then capture another rally"
    )


def _wrong_balls(result: Check) -> str:
    """Name the first balls that are wrong, by their numbers."""
    named = [f"{result.noun} {ball}: {what}" for ball, what in sorted(result.odd.items())]
    more = f"; and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return "; ".join(named[:SHOWN]) + more


def _by_intervals(
    result: Check, results: list[tuple[Kind, Difference]], scope: str
) -> tuple[Verdict, str]:
    """Judge by the positions of the whole intervals."""
    tolerance, condemns = result.tolerance_ns, result.condemns_ns
    capture = result.capture
    assert capture is not None  # noqa: S101
    for kind, difference in results:
        low, high = difference.bias_ci_ns
        if low > condemns or high < -condemns:
            return "fail", (
                f"the Brickwall's {result.kind_words(kind)} is off by {difference.bias_ns:+.1f} ns "
                f"({low:.1f} to {high:.1f}), more than {condemns:.0f} ns: run "
                "tennis brickwall verify, and look at both wires with short leads"
            )
    clocks = _clocks_apart(result, capture)
    if clocks is not None:
        return clocks
    worst, kind, difference = max(
        ((max(map(abs, found.bias_ci_ns)), kind, found) for kind, found in results),
        key=lambda one: one[0],
    )
    if worst >= tolerance:
        low, high = difference.bias_ci_ns
        return "inconclusive", (
            f"it can confirm only {worst:.1f} ns, not {tolerance:g} ns: the bias of the "
            f"{result.kind_words(kind)} is {difference.bias_ns:+.1f} ns ({low:.1f} to {high:.1f}); "
            f"{_next_step(result, sure=low > tolerance or high < -tolerance)}"
        )
    return "pass", f"{scope}: no bias above {worst:.1f} ns, no contradiction"


def _next_step(result: Check, *, sure: bool) -> str:
    """Suggest a measurement that shows more; ``sure``: there is a bias."""
    if any(result.unevenness.values()):
        return (
            "the balls are in step with the analyser's samples, which hides what is between "
            "two of them; choose another sample rate, or a closed loop"
        )
    if sure:
        return (
            "thresholds, leads and skew between two channels do as much: swap the two channels "
            "and capture again; what stays is the Brickwall's"
        )
    return "play more balls, or capture at a higher rate"


def _clocks_apart(result: Check, capture: Capture) -> tuple[Verdict, str] | None:
    """Judge clocks that differ by more than crystals do; None: they do not."""
    if result.clock is None or result.clock_ci is None:
        return None
    low, high = result.clock_ci
    if low <= MAX_CLOCK_PPM and high >= -MAX_CLOCK_PPM:
        return None
    reason = (
        f"the clocks differ by {result.clock.ppm:+.0f} ppm, crystals by no more than "
        f"{MAX_CLOCK_PPM:.0f}: "
    )
    if capture.counted:
        return "inconclusive", (
            f"{reason}it was not sampled at exactly --rate-mhz, or an instrument's clock is wrong"
        )
    return "fail", f"{reason}one of both instruments has a wrong clock; try another analyser"


def _own(result: Check) -> bool:
    """Say whether the capture was sealed with the rally."""
    own = result.rally.file(CAPTURE)
    return own is not None and result.capture is not None and own.samefile(result.capture.path)
