"""A match's plan: what it becomes, and how bad ones are refused: one line that names the key."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from tennis.bench.kernels import catalogue
from tennis.bench.kernels.kernel import Kernel
from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
from tennis.match.plan import MatchPlan, OneRally, Skip, read_plan, repeated
from tennis.match.playing import benches_of_match, estimate_s
from tennis.match.schedule import scheduled_rallies, short_of_a_cycle
from tennis.match.settings import OF_A_MATCH
from tennis.play.clock import duration
from tennis.rally import command_line, memory
from tennis.rally.manifest import Drill
from tennis.report.publications.rules import FIGURES

pytestmark = pytest.mark.slow

PLANS = sorted((ROOT / "plans").glob("*.toml"))
SMALL = 'kernels = ["mainline", "rt"]\nloads = ["idle", "stress"]\n'


@pytest.fixture(autouse=True)
def some_kernels(tmp_path, monkeypatch):
    """Kernels without fetching them: a configuration is all that a plan looks at."""
    options = {
        "mainline": "CONFIG_PREEMPT_DYNAMIC=y\n",
        "rt": "CONFIG_PREEMPT_RT=y\n",
        "rt-6.1": "CONFIG_PREEMPT_RT=y\n",
        "rt-7": "CONFIG_PREEMPT_RT=y\n",
        "evl": "CONFIG_EVL=y\n",
        "cobalt": "CONFIG_XENOMAI=y\n",
    }
    known = {}
    for name, text in options.items():
        config = tmp_path / f"config-{name}"
        config.write_text(text)
        known[name] = Kernel(name, "6.12.0", name, config, tmp_path, config)
        known[f"{name}-6.1"] = known[name]

    def find(name: str) -> Kernel:
        place = Path(name).name
        if place not in known:
            raise UsageError(f"no kernel {name!r}: use mainline, rt")
        if place == "evl" and name == "evl":
            raise UsageError("no kernel 'evl': use mainline, rt")
        return known[place]

    monkeypatch.setattr(catalogue, "find", find)


def plan(text: str) -> MatchPlan:
    return MatchPlan.model_validate(tomllib.loads(text))


def names(text: str, **given: str) -> list[str]:
    return [planned.name for planned in scheduled_rallies(plan(text), given, Path())[0]]


def test_all_combinations_in_their_order():
    assert names(SMALL + 'priorities = ["default", "chrt"]') == [
        f"{kernel}-{load}-{priorities}-tasklet"
        for kernel in ("mainline", "rt")
        for load in ("idle", "stress")
        for priorities in ("default", "chrt")
    ]
    assert names(SMALL + "repetitions = 2")[:3] == [
        "mainline-idle-default-tasklet",
        "mainline-idle-default-tasklet-r2",
        "mainline-stress-default-tasklet",
    ]


def test_tables_say_more_than_lists():
    text = """
        balls = 100
        settle_s = 2
        [kernels.mainline]
        loads = ["idle"]
        [kernels.rt]
        priorities = ["chrt"]
        bottom_halves = ["thread", "user"]
        [loads.idle]
        settle_s = 300
        balls = 7
        [loads.hog]
        options = { hold_us = 200 }
        [[skip]]
        load = "idle"
        bottom_half = "user"
        why = "the guest's user space sleeps"
        [[rally]]
        kernel = "mainline"
        load = "stress"
        balls = 9
    """
    scheduled, left = scheduled_rallies(plan(text), {}, Path())
    assert [(one.name, one.plan.protocol.balls) for one in scheduled] == [
        ("mainline-idle-default-tasklet", 7),
        ("rt-idle-chrt-thread", 7),
        ("rt-hog-chrt-thread", 100),
        ("rt-hog-chrt-user", 100),
        ("mainline-stress-default-tasklet", 9),
    ]
    assert scheduled[0].plan.protocol.settle_ns == 300 * 10**9
    assert scheduled[4].plan.protocol.settle_ns == 2 * 10**9
    assert scheduled[2].plan.load_options == {"hold_us": 200}
    assert [(one.name, one.why) for one in left] == [
        ("rt-idle-chrt-user", "the guest's user space sleeps")
    ]


def test_every_rally_has_its_own_seed_and_the_order_is_the_seeds():
    shuffled = SMALL + 'repetitions = 4\norder = "shuffled"\n'
    scheduled, _ = scheduled_rallies(plan(shuffled), {}, Path())
    seeds = {planned.name: planned.plan.protocol.seed for planned in scheduled}
    assert len(set(seeds.values())) == 16
    # the same seed: the same order and the same seeds; they do not depend on the rest of the plan
    assert names(shuffled) == list(seeds)
    assert names(shuffled) != names(SMALL + "repetitions = 4")
    assert sorted(names(shuffled)) == sorted(names(SMALL + "repetitions = 4"))
    assert names(shuffled + "seed = 2") != names(shuffled)
    one, _ = scheduled_rallies(
        plan('kernels = ["rt"]\nloads = ["idle"]\nrepetitions = 4'), {}, Path()
    )
    assert all(seeds[planned.name] == planned.plan.protocol.seed for planned in one)


ISOLATION = """
    kernels = ["mainline"]
    loads = ["stress"]
    repetitions = 2
    processors = 2
    [settings.none]
    [settings.isolated]
    command_line = "isolcpus=1"
    interrupt_cpu = 1
    load_cpus = "0"
    [settings.one]
    processors = 1
    [[skip]]
    setting = "one"
    why = "another time"
"""


def test_settings_are_a_part_of_the_name_and_of_the_plan():
    scheduled, left = scheduled_rallies(plan(ISOLATION), {}, Path())
    assert [one.name for one in scheduled] == [
        "mainline-stress-default-tasklet-none",
        "mainline-stress-default-tasklet-none-r2",
        "mainline-stress-default-tasklet-isolated",
        "mainline-stress-default-tasklet-isolated-r2",
    ]
    none, isolated = scheduled[0].plan, scheduled[2].plan
    assert (none.processors, none.interrupt_cpu, none.load_cpus) == (2, None, None)
    assert (isolated.processors, isolated.interrupt_cpu, isolated.load_cpus) == (2, 1, "0")
    assert (none.command_line, isolated.command_line) == ("", "isolcpus=1")
    assert [(one.name, one.setting) for one in left] == [
        ("mainline-stress-default-tasklet-one", "one")
    ]


PINNED = """
    kernels = ["mainline"]
    loads = ["idle"]
    processors = 2
    bottom_half_cpu = 0
    bottom_halves = ["user"]
    [settings.usual]
    [settings.pinned]
    bottom_half_cpu = 1
"""


def test_a_setting_pins_the_process_that_answers():
    """Boots that differ in nothing else are two: they would be refused as one."""
    scheduled, _ = scheduled_rallies(plan(PINNED), {}, Path())
    assert [one.plan.bottom_half_cpu for one in scheduled] == [0, 1]
    assert repeated(scheduled, "the match") == ""
    with pytest.raises(UsageError, match="--bottom-half-cpu 0: only a process is pinned"):
        scheduled_rallies(plan(PINNED.replace('"user"', '"tasklet"')), {}, Path())


PROGRAMS = """
    kernels = ["mainline"]
    loads = ["idle"]
    bottom_halves = ["tasklet", "workqueue"]
    [settings.racquet]
    [settings.good]
    program = "answer.c"
    [settings.log]
    program = "bad-log.c"
"""


def test_a_program_is_a_setting_and_has_no_halves():
    """Its place is relative to the plan; with two halves of others it is still one combination."""
    beside = ROOT / "target/programs"
    scheduled, _ = scheduled_rallies(plan(PROGRAMS), {}, beside)
    assert [(one.name, one.plan.program, one.plan.top_half) for one in scheduled] == [
        ("mainline-idle-default-tasklet-racquet", None, "hard"),
        ("mainline-idle-default-program-good", str(beside / "answer.c"), "program"),
        ("mainline-idle-default-program-log", str(beside / "bad-log.c"), "program"),
        ("mainline-idle-default-workqueue-racquet", None, "hard"),
    ]
    good, log = (scheduled[number].plan for number in (1, 2))
    assert good.protocol.seed == log.protocol.seed  # boots of two programs are pairs
    assert not any(one.is_one("mainline", "idle", "default", "program") for one in scheduled)
    with pytest.raises(UsageError, match=r"answer\.c .No such file"):
        scheduled_rallies(plan(PROGRAMS), {}, Path("/nowhere"))
    of_all = 'kernels = ["mainline"]\nloads = ["idle"]\nprogram = "answer.c"\n'
    ((one,), _) = scheduled_rallies(plan(of_all), {}, beside)
    assert (one.plan.program, one.plan.bottom_half) == (str(beside / "answer.c"), "program")
    with pytest.raises(UsageError, match="top_halves: a program answers by itself"):
        scheduled_rallies(plan(of_all + 'top_halves = ["hard"]'), {}, beside)


def test_a_rally_and_a_skip_name_any_setting(tmp_path):
    """So that a row of the table reaches them: its name, its value, and which rally it is."""
    assert set(OF_A_MATCH) <= {*OneRally.model_fields} & {*Skip.model_fields}
    one = '[[rally]]\nkernel = "rt"\nload = "idle"\n'
    cold = memory.canonical("cortex-a72")
    said = {"processors": 2, "interrupt_cpu": 0, "memory": cold, "witness": "cyclictest"}
    text = SMALL + "".join(f"{one}{name} = {value!r}\n" for name, value in said.items())
    scheduled, _ = scheduled_rallies(plan(text), {}, tmp_path)
    first = next(entry for entry in scheduled if entry.name == "rt-idle-default-tasklet")
    assert first.is_one("rt", "idle", "default", "tasklet")
    by_name = {entry.name: entry for entry in scheduled[4:]}
    for name, value in said.items():
        entry = by_name[f"{first.name}-{command_line.file_name(f'{name}={value}')}"]
        assert getattr(entry.plan, name) == value
        # it is a pair with the one without, and no boot of that, whatever a verdict takes
        assert entry.plan.protocol.seed == first.plan.protocol.seed
        assert not entry.is_one("rt", "idle", "default", "tasklet")
    # as they are, files keep their bytes: what nobody says is not in them
    kept = plan(text).model_dump(mode="json")["rally"]
    assert [set(one) & set(OF_A_MATCH) for one in kept] == [{name} for name in said]
    assert "own" not in first.model_dump(mode="json")


def test_what_cannot_be_is_left_out_with_its_reason(tmp_path):
    text = """
        loads = ["idle"]
        priorities = ["default", "native"]
        bottom_halves = ["tasklet", "thread"]
        [kernels.rt]
        [kernels.xenomai]
        optional = true
    """
    (tmp_path / "evl").mkdir()
    scheduled, left = scheduled_rallies(plan(text), {"xenomai": str(tmp_path / "evl")}, Path())
    assert [planned.name for planned in scheduled] == [
        "rt-idle-default-tasklet",
        "rt-idle-default-thread",
        "xenomai-idle-native-thread",
    ]
    whys = {one.name: one.why for one in left}
    assert whys["rt-idle-native-tasklet"] == (
        "priorities native are not for rt kernels: default or chrt or thesis-2008 is"
    )
    assert "default are not for evl kernels: native is" in whys["xenomai-idle-default-thread"]
    assert "tasklet is not for evl kernels: thread is" in whys["xenomai-idle-native-tasklet"]


def test_on_a_physical_bench_kernels_are_what_the_target_boots():
    text = SMALL + 'bench = "pi"\n'
    with pytest.raises(UsageError, match="target is missing"):
        scheduled_rallies(plan(text), {}, Path())
    text += 'target = "pi@raspberrypi"\nport = "/dev/ttyACM0"\n'
    scheduled, _ = scheduled_rallies(plan(text), {}, Path())
    made = next(one for one in scheduled if one.name.startswith("rt-stress")).plan
    assert (made.kernel, made.target, made.port) == ("rt", "pi@raspberrypi", "/dev/ttyACM0")
    assert benches_of_match(plan(text), scheduled).prepared
    xenomai = text.replace('"rt"', '"xenomai"')
    with pytest.raises(UsageError, match="a kernel is one of mainline, rt, evl, cobalt"):
        scheduled_rallies(plan(xenomai), {}, Path())
    scheduled, _ = scheduled_rallies(plan(xenomai), {"xenomai": "evl"}, Path())
    (stress,) = [one for one in scheduled if one.name == "xenomai-stress-native-thread"]
    assert stress.plan.kernel == "evl"


def test_a_board_is_shuffled_unless_the_plan_says_no():
    """A board that warms up cell after cell was a difference between cells in 36 of 100."""
    board = SMALL + 'repetitions = 4\nbench = "pi"\ntarget = "board"\n'
    assert names(board) == names(board + 'order = "shuffled"')
    assert names(board) != names(board + 'order = "listed"')
    assert names(board + 'order = "listed"') == names(SMALL + "repetitions = 4")


@pytest.mark.cases(more=["knutsson-10M"], release=["knutsson-10M"])
@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_the_plans_of_the_checkout_are_sound(path, tmp_path):
    asked = read_plan(path)
    (tmp_path / "evl").mkdir()
    given = {"xenomai": str(tmp_path / "evl")} if "xenomai" in asked.kernels else {}
    scheduled, left = scheduled_rallies(asked, given, path.parent)
    assert scheduled
    assert {one.why for one in left} == {skip.why for skip in asked.skip}
    for planned in scheduled:
        if not path.stem.startswith(("layers", "boards")):  # these judge no claim of a publication
            assert planned.plan.protocol.balls >= 2000  # what a verdict needs
    if path.stem == "knutsson":
        made = {(one.kernel, one.plan.priorities, one.plan.load) for one in scheduled}
        assert {figure[1:] for figure in FIGURES} <= made
        assert len(made) == 13
        assert {one.name for one in scheduled_rallies(asked, {}, path.parent)[1]} == {
            f"xenomai-{load}-native-thread" for load in ("idle", "stress", "network", "xload")
        }


def test_boots_that_are_meant_to_decide_see_a_whole_cycle():
    """What is refused says how many balls would do, and these do."""
    few = SMALL + "balls = 3000\nrepetitions = "
    words = (
        "mainline-stress-default-tasklet has 3000 balls, less than a cycle of stress .5 s.: 5,084"
    )
    with pytest.raises(UsageError, match=words) as refused:
        names(few + "10")
    assert "give each 5,084" in refused.value.next_step
    assert len(names(SMALL + "balls = 5084\nrepetitions = 10")) == 40
    with pytest.raises(UsageError, match=r"less than a cycle of stress .10 s.: 10,118"):
        names(SMALL + "balls = 6000\nrepetitions = 10\ninstruction_ns = 4")
    # nobody knows how long an instruction takes on a board, and fewer boots decide nothing
    assert len(names(few + '10\nbench = "pi"\ntarget = "bench-1"')) == 40
    assert len(names(few + "9")) == 36
    short = list(short_of_a_cycle(scheduled_rallies(plan(few + "2"), {}, Path())[0]))
    assert [(name, enough) for name, _, enough in short] == [
        ("mainline-stress-default-tasklet", 5084)
    ]


# boots of 3,000 balls: its page says so
SHORT = {"hardware.toml": ["mainline-stress-default-tasklet-none"]}


def test_plans_of_ours_see_whole_cycles():
    for path in PLANS:
        given = {"xenomai": "trees/evl"}
        ours = read_plan(path).model_copy(update={"repetitions": 1})
        scheduled, _ = scheduled_rallies(
            ours, given if "xenomai" in ours.kernels else {}, path.parent
        )
        short = [name for name, _, _ in short_of_a_cycle(scheduled)]
        assert short == SHORT.get(path.name, []), path


DRILLS = (
    SMALL
    + """rallies = false
[[drill]]
name = "periodic"
contexts = ["user", "kernel"]
periods_us = [1000, 171.3]
kernels = ["rt"]
loads = ["idle"]
repetitions = 77
[[drill]]
name = "response"
"""
)


def test_drills_are_combinations_too():
    scheduled, _ = scheduled_rallies(plan(DRILLS), {}, Path())
    assert [one.name for one in scheduled] == [
        "rt-idle-periodic-user-1000us",
        "rt-idle-periodic-user-171.3us",
        "rt-idle-periodic-kernel-1000us",
        "rt-idle-periodic-kernel-171.3us",
        *(
            f"{k}-{load}-response-kernel-1000us"
            for k in ("mainline", "rt")
            for load in ("idle", "stress")
        ),
    ]
    first = scheduled[0]
    assert (first.plan.protocol.loop, first.plan.protocol.balls) == ("listen", 77)
    assert first.plan.drill == Drill(name="periodic", context="user", period_ns=1_000_000)
    assert not first.is_one("rt", "idle", "default", "unknown")  # it answers nothing
    beside = names(DRILLS.replace("rallies = false", ""))
    assert len(beside) == len(scheduled) + 4
    assert beside[0] == "mainline-idle-default-tasklet"


def test_the_estimate_knows_what_takes_long():
    scheduled, _ = scheduled_rallies(plan(SMALL), {}, Path())
    idle, stress = (estimate_s(planned.plan) for planned in scheduled[:2])
    assert 1 < idle < stress
    two, _ = scheduled_rallies(plan(SMALL + "processors = 2"), {}, Path())
    assert estimate_s(two[1].plan) > 1.3 * stress
    assert [duration(s) for s in (0, 40, 120, 9000)] == ["1 s", "40 s", "2 min", "2.5 h"]


def test_the_estimate_is_what_was_recorded_and_what_the_page_of_durations_says():
    """It guessed five minutes where eight were needed."""

    def minutes(name):
        file = ROOT / "plans" / f"{name}.toml"
        scheduled, _ = scheduled_rallies(plan(file.read_text()), {}, file.parent)
        return sum(estimate_s(planned.plan) for planned in scheduled) / 60

    recorded = json.loads((ROOT / "docs/figures.json").read_text())["plays"]["demo"]["seconds"]
    assert minutes("quick") == pytest.approx(recorded / 60, rel=0.2)
    page = (ROOT / "docs/install.md").read_text()
    for name in ("knutsson", "rtcap", "koeker"):
        assert re.search(rf"plans/{name}.toml.*\| {minutes(name) / 2:.0f} min on two cores", page)
    rounded = f"some {minutes('knutsson') / 20:.0f}0 minutes"
    for other in ("docs/match.md", "docs/tour.md", "docs/replicators.md", "plans/knutsson.toml"):
        assert rounded in (ROOT / other).read_text(), other


def test_a_plan_names_the_stage_that_answers_and_what_is_beneath(tmp_path):
    """For one kernel or for all; halves and priorities are then those of what answers."""
    text = """
    loads = ["idle"]
    witness = "cyclictest"
    [kernels.mainline]
    [kernels.in-band]
    stage = "in-band"
    [kernels.beneath]
    tree = "rt"
    beneath = "sloth"
    """
    (tmp_path / "evl").mkdir()
    scheduled, left = scheduled_rallies(plan(text), {"in-band": str(tmp_path / "evl")}, Path())
    assert left == []
    asked = {
        one.name: (one.plan.stage, one.plan.beneath, one.plan.witness, one.plan.bottom_half)
        for one in scheduled
    }
    assert asked == {
        "mainline-idle-default-tasklet": (None, "none", "cyclictest", "tasklet"),
        "in-band-idle-default-tasklet": ("in-band", "none", "cyclictest", "tasklet"),
        "beneath-idle-native-task": (None, "sloth", "cyclictest", "task"),
    }
    (one,) = scheduled_rallies(
        plan('kernels = ["rt"]\nloads = ["idle"]\nbeneath = "sloth"'), {}, Path()
    )[0]
    assert (one.name, one.plan.beneath) == ("rt-idle-native-task", "sloth")
