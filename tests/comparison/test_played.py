# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which recorded rallies are compared: made-up folders of a Raspberry Pi 5."""

from dataclasses import replace

import pytest

from tennis.comparison.played import Cell, matched
from tennis.errors import UsageError
from tennis.rally import Rally
from tests.support.synthetic import make_rally


def of_a_pi_5(rally: Rally, gpio_link: str | None) -> Cell:
    """Return a side of one rally, as if a Pi 5 had played it."""
    target = rally.manifest.target.model_copy(
        update={"board": "Raspberry Pi 5 Model B Rev 1.0", "gpio_link": gpio_link}
    )
    manifest = rally.manifest.model_copy(update={"target": target})
    return Cell("", [replace(rally, manifest=manifest)])


@pytest.mark.parametrize(("before", "after"), [(None, "awake"), ("awake", None), (None, None)])
def test_loads_do_not_compare_where_nobody_knows_if_the_link_slept(tmp_path, before, after):
    """Idle looks worse than loaded there, and nothing in the folder said why."""
    idle = of_a_pi_5(make_rally(tmp_path / "idle", load="idle", balls=50), before)
    loaded = of_a_pi_5(make_rally(tmp_path / "busy", load="stress", balls=50, seed=2), after)
    with pytest.raises(
        UsageError, match=r"PCIe link .* of this Raspberry Pi 5 slept between balls"
    ):
        matched([idle], [loaded])


def test_with_the_link_known_they_compare_and_a_difference_is_told(tmp_path):
    idle = of_a_pi_5(make_rally(tmp_path / "idle", load="idle", balls=50), "may sleep")
    loaded = of_a_pi_5(make_rally(tmp_path / "busy", load="stress", balls=50, seed=2), "awake")
    differences = matched([idle], [loaded]).differences
    assert differences["link to the GPIO"] == ("may sleep", "awake")
    # one load on both sides was in the same state, whatever that was
    again = of_a_pi_5(make_rally(tmp_path / "again", load="idle", balls=50, seed=3), None)
    third = of_a_pi_5(make_rally(tmp_path / "third", load="idle", balls=50, seed=4), None)
    assert "load" not in matched([again], [third]).differences
