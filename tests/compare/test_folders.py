"""Which recorded rallies are compared: made-up folders of a Raspberry Pi 5."""

import pytest

from tennis.compare.folders import Cell, _unlike, matched
from tennis.kit.errors import RallyError, UsageError
from tennis.rally import Rally
from tests.support.synthetic import make_rally, saying


def of_a_pi_5(rally: Rally, gpio_link: str | None) -> Cell:
    """Return a side of one rally, as if a Pi 5 had played it."""
    board = {"board": "Raspberry Pi 5 Model B Rev 1.0", "gpio_link": gpio_link}
    return Cell("", [saying(rally, target=board)])


@pytest.mark.parametrize(("before", "after"), [(None, "awake"), ("awake", None), (None, None)])
def test_loads_do_not_compare_where_nobody_knows_if_the_link_slept(tmp_path, before, after):
    """Idle looks worse than loaded there, and nothing in the folder explained it."""
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


def test_a_setting_of_the_running_kernel_that_differs_is_named(tmp_path):
    full, lazy, old = (
        saying(
            make_rally(tmp_path / name, load="idle", balls=50, seed=seed),
            target={"kernel_settings": settings},
        )
        for seed, (name, settings) in enumerate(
            {
                "full": {"preempt": "full", "ksm": "0"},
                "lazy": {"preempt": "lazy", "runs/irqbalance": "yes", "ksm": "0"},
                "old": None,
            }.items()
        )
    )
    told = matched([Cell("", [full])], [Cell("", [lazy])]).differences
    assert told["setting preempt"] == ("full", "lazy")
    assert told["setting runs/irqbalance"] == ("", "yes")
    assert "setting ksm" not in told
    # of one that nobody looked at, nothing is known
    told = matched([Cell("", [full])], [Cell("", [old])]).differences
    assert not [what for what in told if what.startswith("setting")]
    # boots of one side
    with pytest.raises(RallyError, match=r"differ in setting preempt \(full, lazy\)"):
        Cell("", [full, lazy]).check_boots(tmp_path)
    assert _unlike(full, saying(full, target={"governor": "ondemand"})) == {
        "governor": ("", "ondemand")
    }


def test_shots_of_one_seed_say_until_when_an_instant_is_the_same(tmp_path):
    """And balls do not: each follows the one before."""

    def side(name: str, loop: str, rise: list[int]) -> Cell:
        rally = make_rally(tmp_path / name, rise=rise, schedule=[9] * 3, seed=5)
        return Cell("", [saying(rally, protocol={"loop": loop})])

    before, after = side("b", "shots", [5, 6, 7]), side("a", "shots", [5, 6, 8])
    (said,) = [one for one in matched([before], [after]).remarks if "differ" in one]
    assert said.startswith("seed 5: By a shot the runs differ from")
    assert said.endswith("2 of 3 shots met the same in both.")
    before, after = side("c", "closed", [5, 6, 7]), side("d", "closed", [5, 6, 8])
    assert not [one for one in matched([before], [after]).remarks if "differ" in one]
