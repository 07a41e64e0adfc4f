# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""From a run and the constants to what is kept beside the rally."""

from collections.abc import Mapping, Sequence

import numpy as np

from tennis.explain.sections import storage
from tennis.explain.sections.calibration import Calibration, Fit
from tennis.explain.sections.figures import Code, Formula, grouped, longest, pieces
from tennis.explain.sections.model import TAKEN, WAYS, Model, Span
from tennis.explain.sections.names import Places
from tennis.explain.sections.run import WHERE, Run
from tennis.explain.sections.thread_calibration import ThreadCalibration
from tennis.explain.sections.thread_model import ThreadModel


def find(
    run: Run, calibration: Calibration, places: Places, low: int, high: int
) -> storage.Sections:
    """Return what is kept of a run without a ball, in [low, high) ns."""
    constants = calibration.constants
    named = {WHERE[place]: seen for place, seen in constants.entry.items()}
    named["answer"] = constants.answer
    about = _about(run, named, calibration.fits, low, high)
    return _sections(Model(run, constants), run, places, about)


def find_of_thread(
    model: ThreadModel, calibration: ThreadCalibration, places: Places, low: int, high: int
) -> storage.Sections:
    """Return the same, if a thread answers; ``model`` is of the run without a ball."""
    constants, run = calibration.constants, model.waits()
    named = {WHERE[place]: seen for place, seen in constants.entries.items()}
    named["interrupt"] = constants.interrupt
    named |= {f"answer from {WHERE[where]}": one for where, one in constants.at_once.items()}
    named |= {f"answer {WAYS[len(TAKEN) + kind]}": one for kind, one in constants.chance.items()}
    half, nearly_all = calibration.within((50, 99))
    about = _about(run, named, calibration.fits, low, high).model_copy(
        update={
            "thread": calibration.thread,
            "half_within_ns": half,
            "nearly_all_within_ns": nearly_all,
        }
    )
    return _sections(model, run, places, about)


def _sections(model: Formula, run: Run, places: Places, about: storage.About) -> storage.Sections:
    cut, code = pieces(model, about.low_ns, about.high_ns), Code(run, places)
    return storage.Sections(about, grouped(run, cut, code), longest(run, cut, code))


def _about(
    run: Run, constants: Mapping[str, Span], fits: Sequence[Fit], low: int, high: int
) -> storage.About:
    return storage.About(
        low_ns=low,
        high_ns=high,
        instruction_ns=run.instruction_ns,
        constants=[
            storage.SeenSpan(
                name=name,
                usual_ns=seen.typical,
                least_ns=seen.least,
                most_ns=seen.most,
                seen=seen.seen,
            )
            for name, seen in constants.items()
        ],
        balls=[
            storage.BallsOfAWay(
                way=fit.way,
                where=fit.where,
                balls=fit.balls,
                exact=fit.exact,
                within_10_ns=fit.within_10_ns,
                worst_ns=fit.worst_ns,
            )
            for fit in fits
        ],
        # QEMU goes on for as long as it takes to stop it: what lies behind is the host's time
        records=int(np.searchsorted(run.begin, high)),
    )
