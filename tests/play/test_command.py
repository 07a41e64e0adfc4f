"""The command on a rally's page plays that rally: it is parsed as a shell would, and planned."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tennis.bench.virtual.machine import COMMAND_LINE
from tennis.play.repeat import plan_again
from tennis.rally.command import command_of
from tennis.rally.manifest import Drill, LoadRecord, Manifest, Protocol
from tennis.rally.memory import canonical
from tennis.rally.plan import Plan
from tests.support.commands import planned
from tests.support.plans import plan_of
from tests.support.synthetic import manifest

# what changes no ball, or that nobody may ask for
NOT_OF_THE_BALLS = {"versions", "operator", "umpire", "analyser", "phase_of_a_second"}


def virtual(*, load: dict[str, Any] | None = None, **facts: Any) -> Manifest:
    """Return the manifest of a virtual rally with the built-in instrument."""
    facts = {"kernel": "mainline", "bottom_half": "tasklet", "load": "idle"} | facts
    instrument = facts.pop("instrument", "virtual")
    of_target = {"instruction_ns": facts.pop("instruction_ns", 2)}
    of_target |= {"memory": canonical(facts.pop("memory"))} if "memory" in facts else {}
    made = manifest(
        balls=40, bench="virtual", instrument=instrument, command_line=COMMAND_LINE, **facts
    )
    record = LoadRecord.model_validate({"name": facts["load"], "command": "", **(load or {})})
    target = made.target.model_copy(update=of_target)
    return made.model_copy(update={"load": record, "target": target})


def protocol(**changed: Any) -> Protocol:
    usual = {"loop": "closed", "balls": 5000, "seed": 1, "gap_min_ns": 500_000}
    usual |= {"gap_max_ns": 1_500_000, "pulse_ns": 1000, "timeout_ns": 200_000_000}
    return Protocol.model_validate({**usual, "settle_ns": 1_000_000_000, **changed})


# each thing that can be asked for of a virtual rally, alone
ALONE: dict[str, Manifest] = {
    "usual": virtual(protocol=protocol()),
    "kernel": virtual(kernel="rt", protocol=protocol()),
    "load": virtual(load={"name": "stress"}, protocol=protocol()),
    "load options": virtual(
        load={"name": "hog", "options": {"hold_us": 200, "every_us": 5000}}, protocol=protocol()
    ),
    "bottom half": virtual(bottom_half="workqueue", protocol=protocol()),
    "top half": virtual(kernel="rt", top_half="forced", protocol=protocol()),
    "priorities": virtual(kernel="rt", priorities="irq=90,ksoftirqd=50", protocol=protocol()),
    "command line": virtual(added="rcu_nocbs=0 threadirqs", protocol=protocol()),
    "instruction": virtual(instruction_ns=4, protocol=protocol()),
    "memory": virtual(memory="cortex-a72", protocol=protocol()),
    "processors": virtual(processors=2, interrupt_cpu=0, protocol=protocol()),
    "load's processors": virtual(processors=2, load={"cpus": "0-1"}, protocol=protocol()),
    "process": virtual(processors=2, bottom_half="user", bottom_half_cpu=1, protocol=protocol()),
    "witness": virtual(witness="cyclictest", protocol=protocol()),
    "beneath": virtual(
        beneath="sloth", bottom_half="task", priorities="native", module="x", protocol=protocol()
    ),
    "sloth": virtual(kernel="sloth", bottom_half="task", priorities="native", protocol=protocol()),
    "pico": virtual(instrument="brickwall", protocol=protocol()),
    "sloth on a pico": virtual(
        kernel="sloth-pico",
        bottom_half="task",
        priorities="native",
        instrument="brickwall",
        protocol=protocol(),
    ),
    "balls and seed": virtual(protocol=protocol(balls=123, seed=4_000_000_000)),
    "gaps": virtual(protocol=protocol(gap_min_ns=10_001, gap_max_ns=1_234_567)),
    "times": virtual(protocol=protocol(pulse_ns=1537, timeout_ns=1_234_567, settle_ns=123_456_789)),
    "open": virtual(
        protocol=protocol(
            loop="open", rate_hz=2345.5, gap_min_ns=0, gap_max_ns=0, timeout_ns=round(1e9 / 2345.5)
        )
    ),
    "open, slow": virtual(protocol=protocol(loop="open", rate_hz=2.5, gap_min_ns=0, gap_max_ns=0)),
    "open, its own timeout": virtual(
        protocol=protocol(
            loop="open", rate_hz=1000.0, gap_min_ns=0, gap_max_ns=0, timeout_ns=500_000
        )
    ),
}


def played_again(made: Manifest) -> Plan:
    """Return the plan of a rally of which only the manifest is there."""
    rally: Any = SimpleNamespace(manifest=made, path=Path("a"))
    return plan_again(rally, any_instrument=True)


@pytest.mark.parametrize("name", ALONE)
def test_the_command_is_planned_as_the_rally_is_played_again(name):
    again, plan = played_again(ALONE[name]), planned(command_of(ALONE[name]))
    for field in Plan.model_fields:
        if field not in NOT_OF_THE_BALLS:
            assert getattr(plan, field) == getattr(again, field), field
    options = [word for word in command_of(ALONE[name]).split() if word.startswith("--")]
    assert len({*options}) + max(0, options.count("--load-option") - 1) == len(options)


def test_each_setting_of_a_plan_is_among_the_cases():
    """A new setting that the command forgot would be silent: so each field differs somewhere."""
    usual = plan_of()
    differ = {
        field
        for made in ALONE.values()
        for field in Plan.model_fields
        if getattr(played_again(made), field) != getattr(usual, field)
    }
    elsewhere = {"bench", "port", "target", "racquet", "program", "stage", "drill"}
    elsewhere |= {"recording", "speed"}
    assert differ | elsewhere | NOT_OF_THE_BALLS | {"schema_version"} == set(Plan.model_fields)


def test_what_a_manifest_does_not_tell_is_a_word_in_capitals():
    tree = virtual(kernel="evl-6.12.0-synthetic", module="racquet", bottom_half="thread")
    assert command_of(tree).startswith("tennis rally --kernel DIR --load idle")
    assert "--stage in-band" in command_of(tree)
    core = virtual(kernel="evl-6.12.0-synthetic", module="racquet_evl", priorities="native")
    assert "--priorities" not in command_of(core)
    assert "--stage" not in command_of(core)
    own = command_of(virtual(module="racquet, one's own", bottom_half="unknown"))
    assert "--racquet FILE.c" in own
    assert "--bottom-half" not in own
    assert "--top-half" not in own
    board = manifest(balls=5, bench="pi", kernel="rt")
    assert "--bench pi --target HOST --kernel rt" in command_of(board)
    wired = board.target.model_copy(update={"managed": "no"})
    assert "--target" not in command_of(board.model_copy(update={"target": wired}))
    assert command_of(manifest(balls=5, bench="replay")) == ""


def test_a_drill_has_its_command():
    drill = Drill(name="switch", context="user-rt", period_ns=171_300)
    made = virtual(
        kernel="rt",
        drill=drill,
        protocol=protocol(loop="listen", gap_min_ns=0, gap_max_ns=0, balls=200, seed=7),
    )
    assert command_of(made) == (
        "tennis drill switch --context user-rt --period-us 171.3 --kernel rt --load idle "
        "--repetitions 200 --seed 7"
    )
    assert planned(command_of(made)).drill == drill
    cold = virtual(memory="cortex-a72", drill=drill, protocol=made.protocol)
    assert f" --memory {cold.target.memory} " in command_of(cold)
    assert planned(command_of(cold)).memory == cold.target.memory
