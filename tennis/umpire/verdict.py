# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""From what was found to a verdict, its reason and a next step."""

from tennis.rally.folder import CAPTURE
from tennis.rally.manifest import Verdict
from tennis.umpire.fit import Difference
from tennis.umpire.result import MAX_CLOCK_PPM, Check, Kind
from tennis.units import format_count

MIN_BALLS = 100  # for a verdict


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
    if result.disagree or result.off or result.unmatched:
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


def _contradicted(result: Check, glitches: int) -> tuple[Verdict, str]:
    """Judge where the two instruments saw different things."""
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
    reason = "; ".join(reasons)
    if glitches:
        return "inconclusive", (
            f"{reason}; {format_count(glitches, 'edge')} belong to no ball: glitches, "
            "or pings that the analyser missed; check ground and probes, keep the leads short, and "
            "capture again"
        )
    return "fail", (
        f"{reason}: one of both instruments is wrong; run tennis verify, then capture another rally"
    )


def _by_intervals(
    result: Check, results: list[tuple[Kind, Difference]], scope: str
) -> tuple[Verdict, str]:
    tolerance = result.tolerance_ns
    wide = []
    for kind, difference in results:
        low, high = difference.bias_ci_ns
        if low > tolerance or high < -tolerance:
            return "fail", (
                f"the Brickwall's {result.kind_words(kind)} is off by {difference.bias_ns:+.1f} ns "
                f"({low:.1f} to {high:.1f}), more than {tolerance:.0f} ns: run tennis verify, and "
                "look at both wires with short leads"
            )
        if low < -tolerance or high > tolerance:
            wide.append((kind, low, high))
    if result.clock_ci is not None and (
        result.clock_ci[0] > MAX_CLOCK_PPM or result.clock_ci[1] < -MAX_CLOCK_PPM
    ):
        assert result.clock is not None  # noqa: S101
        return "fail", (
            f"the clocks differ by {result.clock.ppm:+.0f} ppm, crystals by no more than "
            f"{MAX_CLOCK_PPM:.0f}: one of both instruments has a wrong clock; try another analyser"
        )
    if wide:
        kind, low, high = wide[0]
        step = "play more balls, or capture at a higher rate"
        if any(result.unevenness.values()):
            step = (
                "the balls are in step with the analyser's samples, which hides what is between "
                "two of them; choose another sample rate, or a closed loop"
            )
        return "inconclusive", (
            f"the bias of the {result.kind_words(kind)} may be {low:.1f} to {high:.1f} ns, the "
            f"tolerance is {tolerance:.0f} ns: {step}"
        )
    if result.by_order and not _own(result):
        return "inconclusive", (
            "the balls came at a fixed rate and their latencies are all alike: nothing shows that "
            "it is a capture of this rally; play with `tennis rally --umpire`, which keeps the "
            "capture with the rally, or play a closed loop"
        )
    worst = max(max(map(abs, difference.bias_ci_ns)) for _, difference in results)
    return "pass", f"{scope}: no bias above {worst:.1f} ns, no contradiction"


def _own(result: Check) -> bool:
    """Say whether the capture was sealed with the rally."""
    own = result.rally.file(CAPTURE)
    return own is not None and result.capture is not None and own.samefile(result.capture.path)
