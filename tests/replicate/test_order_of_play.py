"""Cells of a board that were played one after the other: a verdict says so, or does not exist."""

import pytest

from tennis.match.folder import open_match
from tennis.replicate.verdicts import Replication
from tests.support.synthetic_match import MatchMaker, bursts


def replicated(path, drift, step, bench):
    """Return c1 of a board: mainline's cell, then rt's, or in turns with a step of 2."""
    maker = MatchMaker(path)
    for place, (kernel, priorities, worst) in enumerate(
        (("mainline", "default", 5000), ("rt", "chrt", 6000))
    ):
        for number in range(1, 11):
            minute = place + step * number if step > 1 else 10 * place + number
            balls = bursts(worst) + int(drift * minute)
            created = f"2026-01-01T00:{minute:02d}:00+00:00"
            about = {"repetition": number, "bench": bench, "created": created}
            maker.rally(kernel, priorities, "idle", balls, **about)
    maker.sealed()
    record = path / "match.json"
    record.write_text(record.read_text().replace('"replay"', f'"{bench}"'))
    return Replication(open_match(path)).claim("knutsson-2008", "c1").parts[0]


@pytest.mark.parametrize(
    ("drift", "step", "bench", "verdict", "remark"),
    [
        (0, 2, "pi", "confirmed", "if nothing drifted: the sides were not played in turns"),
        (0, 1, "pi", "confirmed", "if nothing drifted: the sides were not played in turns"),
        (40, 1, "pi", "inconclusive", "median drifted: boots that follow each other are alike"),
        # each second one may be warm
        (40, 2, "pi", "inconclusive", "median drifted: boots that follow each other are alike"),
        # of a package's bench a reader does not know whether it drifts
        (40, 1, "wind-tunnel", "inconclusive", "median drifted: boots that follow each other"),
        (40, 1, "virtual", "confirmed", ""),
    ],
)
def test_one_cell_after_the_other(tmp_path, drift, step, bench, verdict, remark):  # noqa: PLR0917
    """A walk of a board ranked two cells of one kernel in 36 of 100."""
    found = replicated(tmp_path / "match", drift, step, bench)
    assert (found.verdict, remark in found.remark) == (verdict, True), found.remark
    assert bool(found.remark) == bool(remark)
