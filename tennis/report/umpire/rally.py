"""A rally compared with its capture: the check, and its result in words."""

from pathlib import Path
from typing import Any

from tennis.kit.errors import RallyError
from tennis.kit.units import format_count
from tennis.rally import Rally
from tennis.rally.captures.channels import USUAL
from tennis.rally.captures.edges import MissingError
from tennis.rally.folder import CAPTURE
from tennis.rally.manifest import Verdict
from tennis.report.umpire import Check, Wires, open_capture
from tennis.report.umpire.agreement.check import check_capture

# the limit of a check within a report: a minute and a half at 24 MHz
QUICK_SAMPLES = 1 << 31
SIMULATED = (
    "the capture was made from the rally itself, with a clock 20 ppm fast: it shows how a check "
    "works, not that the instrument is right"
)


def umpire(
    rally: Rally,
    capture_path: Path | None = None,
    wires: Wires = USUAL,
    tolerance_ns: float | None = None,
) -> Check:
    """Check a rally by a capture, or by its own; the verdict names faults of the capture."""
    place = capture_path or rally.file(CAPTURE)
    try:
        capture = open_capture(place, wires) if place else None
    except RallyError as error:
        verdict: Verdict = "inconclusive" if isinstance(error, MissingError) else "not run"
        asked_ns = tolerance_ns or 0.0
        return Check(verdict, str(error), rally, None, asked_ns, asked_ns)
    if capture is None:
        reason = (
            f"{rally.path} has no {CAPTURE}: name one with --capture, or play with "
            f"`tennis {'drill' if rally.manifest.drill else 'rally'} --umpire`"
        )
        return Check("not run", reason, rally, None, tolerance_ns or 0.0, tolerance_ns or 0.0)
    result = check_capture(rally, capture, tolerance_ns)
    if not capture_path and rally.manifest.bench == "virtual":
        result.notes.append(SIMULATED)
    return result


def in_a_line(rally: Rally) -> str:
    """Return an umpire's verdict on a rally, for a report; empty without an umpire."""
    own = rally.file(CAPTURE)
    if own is None:
        return ""
    try:
        samples = open_capture(own).samples or 0
    except RallyError as error:
        return f"not run: {error}"
    if samples > QUICK_SAMPLES:
        return "there is a long capture: `tennis umpire check` says what it shows"
    result = umpire(rally)
    line = f"{result.verdict}: {result.reason}"
    return f"{line} ({'; '.join(result.notes)})" if result.notes else line


def facts(result: Check) -> dict[str, str]:
    """Return the results of a check, in words, for a terminal or a page."""
    noun = result.noun
    what = "Drill" if result.rally.manifest.drill else "Rally"
    rows = {what: f"{result.rally.label}: {format_count(result.rally.balls, noun)}"}
    capture = result.capture
    if capture is None:
        return rows
    seconds = float(capture.end_ticks / capture.tick_hz)
    wires = f"ping {capture.ping}, reply {capture.reply}"
    if result.rally.manifest.drill:
        wires = f"reply {capture.reply}"
    asked = " (--rate-mhz)" if capture.rate_asked else ""
    rows["Capture"] = f"{seconds:.3f} s, {wires}"
    rows["Resolution"] = (
        f"Brickwall {result.tick_ns:g} ns, analyser {capture.resolution_ns:.4g} ns{asked}; "
        f"two edges of the analyser: {capture.resolution_ns / 6**0.5:.3g} ns (sd)"
    )
    rows[f"{noun.capitalize()}s"] = (
        f"{result.balls} paired, {result.unmatched_brickwall} only in the rally, "
        f"{result.unmatched_analyser} only in the capture, {result.uncovered} not covered"
    )
    rows["Contradictions"] = (
        f"{result.disagree} answered by one and missed by the other, {result.off} latencies and "
        f"{result.off_serves} serves far off, {result.unseen} too short to be seen"
    )
    for ball, what in sorted(result.odd.items()):
        rows[f"{noun.capitalize()} {ball}"] = what
    for kind in result.kinds:
        difference = getattr(result, kind)
        if difference is not None:
            low, high = difference.bias_ci_ns
            name = result.kind_words(kind).removesuffix(" latency")
            rows[f"{name.capitalize()} bias"] = (
                f"{difference.bias_ns:+.2f} ns (95 %: {low:.2f} to {high:.2f} ns), residual sd "
                f"{difference.sd_ns:.2f} ns"
            )
    if result.clock is not None and result.clock_ci is not None:
        low, high = result.clock_ci
        rows["Clock"] = (
            f"the analyser's is {result.clock.ppm:+.4f} ppm faster "
            f"(95 %: {low:.4f} to {high:.4f}); serves are within "
            f"{result.clock.sd_ns:.3g} ns (sd) of the line"
        )
    uneven = [name for name, value in result.unevenness.items() if value]
    if uneven:
        rows["In step"] = (
            f"{', '.join(uneven)} in step with the samples: the intervals are wider for it"
        )
    if result.decoder is not None:
        counts = result.rally.manifest.counts
        rows["Strays, doubles"] = (
            f"Brickwall {counts.strays}, {counts.doubles}; analyser "
            f"{result.decoder.strays.count}, {result.decoder.doubles.count}"
        )
    return rows


def table(result: Check) -> list[dict[str, Any]]:
    """Return rows in the form of table 6.1: analyser, Brickwall, error; in microseconds."""
    return [
        {
            "kind": result.kind_words(kind).removesuffix(" latency"),
            "balls": balls,
            "analyser_us": analyser / 1000,
            "brickwall_us": brickwall / 1000,
            "error_ns": brickwall - analyser,
        }
        for kind in result.kinds
        if kind in result.classes
        for balls, analyser, brickwall in result.classes[kind]
    ]
