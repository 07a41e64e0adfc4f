"""Whatever a rally takes, `tennis explain` plays again as it was, or says before a boot why not.

Nothing boots: the bench is asked for a plan, and what would be played is compared with the rally's.
"""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tennis.bench.kernels import own_module
from tennis.course.lab_files import solved
from tennis.explain import remedy_trial, replayed, without_cost, worst_instant
from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
from tennis.play.planning import plan_for
from tennis.play.rally import Watch
from tennis.rally.manifest import NO_MODULE, OWN
from tennis.rally.plan import Plan
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving
from tests.support.one_setting import ANSWERED
from tests.support.one_setting import PROGRAM as BROUGHT
from tests.support.synthetic import make_rally

KIT = [
    {"top_half": top, "bottom_half": bottom}
    for top, bottom in itertools.product(
        ("hard", "forced", "explicit"), ("tasklet", "thread", "workqueue", "user")
    )
]
KERNELS = ("mainline", "rt", "evl", "sloth")
ANSWERS: list[dict[str, Any]] = [{}, *KIT, {"racquet": "own.c"}, {"program": BROUGHT.path}]
WITNESSES = ("none", "cyclictest", "timerlat", "osnoise")
SERVED: dict[str, dict[str, Any]] = {
    "balls": {},
    "shots": {"shots": 5},
    "open": {"loop": "open", "rate_hz": 1000.0},
}
MACHINES: list[dict[str, Any]] = [
    {},
    {"processors": 2, "interrupt_cpu": 1},
    {"memory": "cortex-a72"},
    {"instrument": "pico"},
]


class Booted(Exception):  # noqa: N818 (it is none)
    """A plan that would be played now."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(str(plan))
        self.plan = plan


def combinations():
    for kernel, answer, witness, served, machine in itertools.product(
        KERNELS, ANSWERS, WITNESSES, SERVED, MACHINES
    ):
        # all that answers with each other thing, one at a time
        odd = [witness != "none", served != "balls", machine != {}]
        if sum(odd) <= 1:
            yield kernel, answer, witness, served, machine


COMMANDS = {
    "balls": lambda rally: replayed.explain(rally, program=program_of(rally)),
    "stages": replayed.record_stages,
    "shots": lambda rally: worst_instant.find_worst(
        rally, 64, until="rise", kernel=None, watch=Watch()
    ),
    "try": lambda rally: remedy_trial.try_setting(
        rally, ["command-line=nohz=off"], over_ns=None, boots=1, watch=Watch()
    ),
    "without": lambda rally: without_cost.without(rally, ["memory"]),
}


def program_of(rally) -> Path | None:
    return BROUGHT.path if rally.manifest.target.program else None


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a rally and a Racquet's file, of which this machine built a module."""
    folder = tmp_path_factory.mktemp("explained")
    source = folder / "own.c"
    source.write_text(solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text()))
    rally = make_rally(folder / "r", balls=20, bench="virtual", kernel="rt", load="idle")
    return rally, source


def as_played(made, plan: Plan):
    """Return the rally as a bench would have recorded that plan."""
    rally, _ = made
    target = rally.manifest.target.model_copy(
        update={
            **plan.of_target(),
            "added": plan.command_line,
            "command_line": "console=ttyAMA0 panic=-1 oops=panic kpti=off",
            "processors": plan.processors if plan.processors > 1 else None,
            "instruction_ns": plan.instruction_ns,
            "module": OWN if plan.racquet else NO_MODULE if plan.program else "racquet",
            "module_sha256": "0" * 64,
            "program": ANSWERED if plan.program else None,
        }
    )
    kind = {"pico": "brickwall"}.get(plan.instrument, plan.instrument)
    instrument = rally.manifest.instrument.model_copy(update={"kind": kind})
    changed = {"target": target, "instrument": instrument, "protocol": plan.protocol}
    return replace(rally, manifest=rally.manifest.model_copy(update=changed))


def planned(one, source) -> Plan | None:
    """Return the plan of a rally; None: `tennis rally` refuses it."""
    kernel, answer, witness, served, machine = one
    own = {"racquet": source} if "racquet" in answer else answer
    asked = {"bench": "virtual", "kernel": kernel, "witness": witness, **own, **machine}
    serving = dict(SERVED[served])
    if shots := serving.pop("shots", None):
        asked["shots"] = shots
    try:
        return plan_for(RallyRequest.of(asked), Serving(balls=20, **serving))
    except UsageError:
        return None


@pytest.mark.parametrize("command", COMMANDS)
def test_whatever_is_played_is_explained_or_refused_with_the_reason(command, made, monkeypatch):
    def boots(*arguments, **_):
        raise Booted(next(one for one in arguments if isinstance(one, Plan)))

    def profiles(rally, plan, *_, **__):
        replayed._refuse_others(rally, plan)  # its first line
        boots(plan)

    monkeypatch.setattr(replayed, "profile_balls", profiles)
    for name in ("shoot", "_played"):
        monkeypatch.setattr(without_cost, name, boots)
    monkeypatch.setattr(worst_instant, "shoot", boots)
    monkeypatch.setattr(worst_instant, "ready_ns", lambda _: 0)
    monkeypatch.setattr(worst_instant, "changes", lambda *_: [])
    monkeypatch.setattr(remedy_trial, "changes", lambda *_: [])
    for bench in (worst_instant.VirtualBench, remedy_trial.VirtualBench):
        monkeypatch.setattr(bench, "versions", lambda *_: {})
    monkeypatch.setattr(remedy_trial, "play", lambda _, plan, *__: boots(plan))
    monkeypatch.setattr(own_module, "source_of", lambda _: made[1])
    played, refused = 0, set()
    for one in combinations():
        plan = planned(one, made[1])
        if plan is None:
            continue
        rally = as_played(made, plan)
        try:
            COMMANDS[command](rally)
        except Booted as booted:
            played += 1
            assert one[0] != "sloth", one
            asked = {"versions": {}}
            if command == "try":
                asked["command_line"] = "nohz=off"
            if command == "shots":
                asked["protocol"] = booted.plan.protocol
            assert booted.plan == plan.model_copy(update=asked), one
        except UsageError as error:
            refused.add(error.message.partition(": ")[2] or error.message)
            assert error.message.count("\n") == 0
            assert len(error.message) > 30, one
        else:
            pytest.fail(f"{command}: {one} was neither played nor refused")
    assert played > (5 if command == "without" else 50), refused
    assert refused
