"""A match takes no foreign rally: each setting that a plan has is compared with the rally's."""

import pytest

from tennis.match.folder import another
from tennis.match.plan import ScheduledRally
from tennis.rally.settings import not_as_published
from tests.support.plans import plan_of
from tests.support.synthetic import make_rally, saying


@pytest.mark.parametrize(
    ("bench", "difference"), [("pi", ""), ("wind-tunnel", ""), ("virtual", "interrupt's CPU 1")]
)
def test_where_nobody_asked_only_the_virtual_bench_puts_the_interrupt_nowhere(
    tmp_path, bench, difference
):
    made = make_rally(tmp_path / "r", kernel="mainline", bottom_half="tasklet", bench=bench)
    rally = saying(made, target={"interrupt_cpu": 1})
    manifest = rally.manifest
    update = {"protocol": manifest.protocol, "priorities": manifest.target.priorities}
    plan = plan_of(load=manifest.load.name).model_copy(update=update)
    planned = ScheduledRally(name="r", kernel="mainline", repetition=1, plan=plan)
    assert another(rally, planned) == difference
    # nor is it another rally than what was published
    said = not_as_published(manifest, {"kernel", "load", "priorities", "bottom_half"})
    assert ("interrupt's CPU 1" in said) == bool(difference)
