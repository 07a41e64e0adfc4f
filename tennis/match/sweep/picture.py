"""The pictures of sweeps, as they are in their folders."""

from collections.abc import Sequence

from tennis.match.sweep.folder import Sweep
from tennis.rally import open_rally
from tennis.report.plots import sweep as plots
from tennis.report.plots.picture import Picture
from tennis.report.plots.sweep import Curve

LOST = 0.5  # a rate at which a smaller share of pings is paired: most is lost


def rates(sweep: Sweep) -> Picture:
    """Draw the share of paired pings at each rate of a sweep."""
    return rates_of_several([sweep])


def rates_of_several(sweeps: Sequence[Sweep]) -> Picture:
    """Draw the share of paired pings at each rate of each sweep, on common axes."""
    return plots.rates([_curve(sweep) for sweep in sweeps])


def screens(sweep: Sweep) -> Picture:
    """Draw the reply line at the lowest rate, where pairing breaks, and where most are lost."""
    places = [sweep.path / sweep.record.at(rate_hz).name for rate_hz in _three(sweep)]
    return plots.screens(_curve(sweep), [open_rally(place) for place in places])


def _curve(sweep: Sweep) -> Curve:
    """Return the curve of a sweep."""
    record, found = sweep.record, sweep.breaking
    note = f"{record.bench} bench: {record.time_note}"
    kernel = record.plan.kernel_name
    return Curve(sweep.label, kernel, note, sweep.rates, found.holds_hz, found.breaks_hz)


def _three(sweep: Sweep) -> list[int]:
    """Return the rates, in Hz, whose screens are shown."""
    lost = [rate for rate, share in sweep.shares.items() if share < LOST]
    some = {min(sweep.rates), sweep.breaking.breaks_hz, min(lost, default=max(sweep.rates))}
    return sorted(rate for rate in some if rate is not None)
