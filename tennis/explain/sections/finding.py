# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""From a run and the constants to what is kept beside the rally."""

from tennis.explain.sections import kept
from tennis.explain.sections.calibration import Calibration
from tennis.explain.sections.figures import Code, grouped, longest, pieces
from tennis.explain.sections.model import Model
from tennis.explain.sections.names import Places
from tennis.explain.sections.run import WHERE, Run


def find(run: Run, calibration: Calibration, places: Places, low: int, high: int) -> kept.Sections:
    """Return what is kept of a run without a ball, in [low, high) ns."""
    model = Model(run, calibration.constants)
    cut, code = pieces(model, low, high), Code(run, places)
    constants = calibration.constants
    named = {WHERE[place]: seen for place, seen in constants.entry.items()}
    about = kept.About(
        low_ns=low,
        high_ns=high,
        instruction_ns=run.instruction_ns,
        constants=[
            kept.SeenSpan(
                name=name,
                usual_ns=seen.usual,
                least_ns=seen.least,
                most_ns=seen.most,
                seen=seen.seen,
            )
            for name, seen in (*named.items(), ("answer", constants.answer))
        ],
        balls=[
            kept.BallsOfAWay(
                way=fit.way,
                where=fit.where,
                balls=fit.balls,
                exact=fit.exact,
                within_10_ns=fit.within_10_ns,
                worst_ns=fit.worst_ns,
            )
            for fit in calibration.fits
        ],
        records=len(run.begin),
    )
    return kept.Sections(about, grouped(run, cut, code), longest(run, cut, code))
