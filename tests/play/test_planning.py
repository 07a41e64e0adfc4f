# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Plans: what does not go together is said in one line, before anything is played."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tennis.bench import flavours, loads
from tennis.bench.kernels import catalogue
from tennis.bench.kernels.requirements import virtual_needs
from tennis.bench.qemu import plugins as instrument
from tennis.bench.virtual.bench import VirtualBench
from tennis.checkout import ROOT
from tennis.errors import BenchError, UsageError
from tennis.play.planning import bench_again
from tennis.rally.in_play import part_path
from tennis.rally.manifest import Drill
from tests.support.plans import drill_plan, plan_of

BAD = [
    ({"gap_min_us": 900, "gap_max_us": 200}, "--gap-max-us 200 is below --gap-min-us 900"),
    ({"gap_min_us": float("nan")}, "--gap-min-us nan: use a number"),
    ({"loop": "open", "rate_hz": float("inf")}, "--rate-hz inf: use a number"),
    ({"rate_hz": 100}, "--rate-hz needs --loop open"),
    ({"loop": "open", "gap_min_us": 100}, "need --loop closed"),
    ({"pulse_us": 300}, "use --pulse-us 250 or less, or --gap-min-us 600"),
    ({"loop": "open", "rate_hz": 100_000, "pulse_us": 6}, "use --pulse-us 5 or less$"),
    ({"operator": "x" * 5000}, "operator"),
    ({"balls": 0}, "balls"),
    ({"bench": "virtual", "port": "/dev/x"}, "--port needs --bench pi"),
    ({"bench": "virtual", "target": "x"}, "--target needs --bench pi"),
    ({"bench": "pi", "target": " "}, "--target is empty"),
    ({"bench": "pi", "instrument": "builtin"}, "--instrument builtin needs --bench virt"),
    ({"bench": "pi", "load_options": {"x": 1}}, "--load-option needs .*or --target"),
]


@pytest.mark.parametrize(("asked", "words"), BAD)
def test_options_that_do_not_go_together(asked, words):
    with pytest.raises(UsageError, match=words) as error:
        plan_of(**asked)
    assert "\n" not in str(error.value)


def test_an_option_that_is_none_is_refused():
    """It would be left out in silence: a drill takes none of the balls' options."""
    drill = Drill(name="switch", context="kernel", period_ns=1_000_000)
    for plan in (plan_of, partial(drill_plan, drill, 10, 1)):
        with pytest.raises(UsageError, match="--lod stress"):
            plan(lod="stress")


def test_a_kernels_configuration_is_read_only_where_it_decides(monkeypatch):
    """It is long, and a match may have thousands of rallies."""
    asked = []
    monkeypatch.setattr(catalogue, "flavour_of", lambda name: asked.append(name) or "mainline")
    plan_of(kernel="rt", bottom_half="thread", priorities="chrt")
    assert asked == []
    plan_of(kernel="rt", bottom_half="thread")
    assert asked == ["rt"]


def test_defaults():
    protocol = plan_of().protocol
    assert (protocol.gap_min_ns, protocol.gap_max_ns) == (500_000, 1_500_000)
    with pytest.raises(UsageError, match="say --gap-max-us, too"):  # not a constant gap unasked
        plan_of(gap_min_us=5000)
    # in an open loop an answer has until the next ball
    opened = plan_of(loop="open", rate_hz=10_000).protocol
    assert (opened.timeout_ns, opened.gap_min_ns, opened.rate_hz) == (100_000, 0, 10_000)


@pytest.mark.parametrize(
    ("asked", "usual"),
    [
        ({}, ("mainline", "idle", "tasklet", "default", "builtin")),
        ({"instrument": "pico"}, ("mainline", "idle", "tasklet", "default", "pico")),
        ({"bench": "pi"}, (*["unknown"] * 4, "pico")),
        ({"bench": "pi", "target": "x"}, ("unknown", "idle", "tasklet", "default", "pico")),
        (
            {"bench": "pi", "target": "x", "kernel": "evl"},
            ("evl", "idle", "thread", "native", "pico"),
        ),
    ],
)
def test_what_nobody_said(asked, usual):
    plan = plan_of(**asked)
    said = (plan.kernel, plan.load, plan.bottom_half, plan.priorities, plan.instrument)
    assert said == usual


@pytest.mark.parametrize("name", ["nothing", "", "x" * 300, "/", "a\0b"])
def test_no_such_kernel(name):
    with pytest.raises(UsageError):
        catalogue.find(name)


def test_a_folder_that_is_no_kernel_tree(tmp_path):
    with pytest.raises(UsageError, match="not a built arm64 kernel tree: it has no Makefile"):
        catalogue.find(str(tmp_path))


def test_loads():
    assert loads.find("stress").command == (
        "stress --cpu 4 --io 4 --vm 4 --vm-bytes 16M --hdd 4 --hdd-bytes 64M"
    )
    assert loads.find("idle").command == ""
    hog = loads.find("hog", {"hold_us": 250})
    assert hog.command == "insmod hog.ko hold_us=250 period_us=3700 softirqs=0"
    for options, words in (
        ({"hold_us": 0}, "takes 1 to"),
        ({"hold_us": 4000}, "hold_us=4000 must be less than period_us=3700"),
        ({"speed": 1}, "has no option speed: it has hold_us, period_us"),
    ):
        with pytest.raises(UsageError, match=words):
            loads.find("hog", options)
    with pytest.raises(UsageError, match="no load 'coffee': use contention, hog, "):
        loads.find("coffee")


@pytest.mark.parametrize("name", [".", "/", ".."])
def test_a_rally_has_a_name(name, tmp_path):
    with pytest.raises(UsageError, match="not a rally"):
        part_path(tmp_path / ".." if name == ".." else type(tmp_path)(name))


def kernel_tree(folder, *options, release="5.10.1-mine"):
    """Write what a built kernel tree has, as far as tennis looks at it before it builds there."""
    for name in ("Makefile", "include/config/auto.conf", "Module.symvers", "arch/arm64/boot/Image"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "arch/arm64/boot/Image").write_bytes(b"MZ")
    lines = [
        *(f"{option}=y" for option in (*virtual_needs().required, *options)),
        "# CONFIG_X is not set",
    ]
    for name in (".config", "include/config/auto.conf"):
        (folder / name).write_text("\n".join(lines) + "\n")
    header = folder / "include/generated/utsrelease.h"
    header.parent.mkdir(exist_ok=True)
    header.write_text(f'#define UTS_RELEASE "{release}"\n')
    return folder


def test_a_tree_that_is_too_old(tmp_path):
    with pytest.raises(UsageError, match=r"holds Linux 5\.4\.0: 5\.10 or newer is needed"):
        catalogue.find(str(kernel_tree(tmp_path, release="5.4.0")))
    assert catalogue.find(str(kernel_tree(tmp_path))).release == "5.10.1-mine"


@pytest.mark.parametrize(
    ("option", "flavour", "module", "answer"),
    [
        ("CONFIG_SMP", "mainline", "racquet", ("tasklet", "default")),
        ("CONFIG_PREEMPT_RT", "rt", "racquet", ("tasklet", "default")),
        ("CONFIG_EVL", "evl", "racquet_evl", ("thread", "native")),
        ("CONFIG_XENOMAI", "cobalt", "racquet_cobalt", ("thread", "native")),
    ],
)
def test_the_flavour_of_a_tree(tmp_path, option, flavour, module, answer):
    """The configuration says which Racquet plays, and from where it answers if nobody asked."""
    tree = str(kernel_tree(tmp_path, option))
    assert catalogue.find(tree).flavour == catalogue.flavour_of(tree) == flavour
    assert flavours.RACQUETS[flavour].module == module
    plan = plan_of(kernel=tree)
    assert (plan.bottom_half, plan.priorities) == answer
    flavours.check(flavour, plan)


def test_a_top_half_that_the_kernel_lacks():
    plan = plan_of(kernel="mainline", top_half="forced")
    with pytest.raises(
        UsageError, match=r"--top-half forced is not for .* mainline.* use hard or explicit$"
    ):
        VirtualBench().versions(plan)
    assert plan_of(kernel="rt").top_half == "hard"
    assert plan_of(bench="pi", target="board").top_half == "hard"
    assert plan_of(bench="pi").top_half == "unknown"


def test_what_was_built_counts_and_no_edited_configuration(tmp_path):
    """An EVL tree whose .config somebody edited took the in-band Racquet."""
    tree = kernel_tree(tmp_path, "CONFIG_EVL")
    config = tree / ".config"
    config.write_text(config.read_text().replace("CONFIG_EVL=y", "# CONFIG_EVL is not set"))
    assert catalogue.find(str(tree)).flavour == catalogue.flavour_of(str(tree)) == "evl"


def test_an_empty_image_is_not_booted(tmp_path):
    """It would never say that it is ready."""
    tree = kernel_tree(tmp_path)
    (tree / "arch/arm64/boot/Image").write_bytes(b"")
    with pytest.raises(UsageError, match="arch/arm64/boot/Image is empty"):
        catalogue.find(str(tree))


def test_a_header_that_changed_builds_the_module_anew(tmp_path):
    tree = kernel_tree(tmp_path)
    header = tree / "include/linux/gpio.h"
    header.parent.mkdir()
    header.write_text("#define A 1\n")
    before = catalogue.find(str(tree)).fingerprint
    assert catalogue.find(str(tree)).fingerprint == before
    header.write_text("#define A 2\n")
    assert catalogue.find(str(tree)).fingerprint != before


@pytest.mark.parametrize(
    ("option", "name"),
    [("CONFIG_SMP", "mainline-5.10.1-mine"), ("CONFIG_EVL", "evl-5.10.1-mine")],
)
def test_a_tree_is_called_by_flavour_and_release_and_never_by_its_folder(tmp_path, option, name):
    """`tennis kernels package` ends in /build: every label said "build", and manifests a path."""
    found = catalogue.find(str(kernel_tree(tmp_path / "build", option)))
    assert found.name == name
    assert found.is_tree
    assert str(tmp_path) not in found.origin and "build," not in found.origin
    one, other = (kernel_tree(tmp_path / where / "linux", option) for where in "ab")
    marks = {catalogue.find(str(tree)).fingerprint for tree in (one, other)}
    assert len(marks) == 2  # a module is built where the tree is


@pytest.mark.parametrize(
    ("option", "module"), [("CONFIG_EVL", "racquet_evl"), ("CONFIG_XENOMAI", "racquet_cobalt")]
)
def test_the_ordinary_racquet_answers_in_band(tmp_path, option, module):
    """As docs/evidence/evl.md says it was played; no such kernel is here to play it again."""
    tree = str(kernel_tree(tmp_path, option))
    flavour = catalogue.flavour_of(tree)
    plan = plan_of(kernel=tree, stage="in-band", bottom_half="thread", priorities="chrt")
    player = flavours.player_on(flavour, plan.stage)
    flavours.check(player, plan)
    assert flavours.racquet_of(player).module == "racquet"
    told = flavours.priorities_on(player, plan)
    assert told == "irq=99,ksoftirqd=99"  # the recorded kernels' command line has it
    usual = plan_of(kernel=tree, stage="in-band")
    assert (usual.bottom_half, usual.priorities) == ("tasklet", "default")
    core = flavours.player_on(flavour, plan_of(kernel=tree, stage="out-of-band").stage)
    assert flavours.racquet_of(core).module == module


@pytest.mark.parametrize("stage", ["in-band", "out-of-band"])
@pytest.mark.parametrize("option", ["CONFIG_SMP", "CONFIG_PREEMPT_RT"])
def test_a_kernel_with_one_stage_has_no_other(tmp_path, option, stage):
    tree = str(kernel_tree(tmp_path, option))
    with pytest.raises(UsageError, match=f"--stage {stage}: .*has one stage only: leave it out"):
        plan_of(kernel=tree, stage=stage)
    halves = {"bottom_half": "thread", "priorities": "chrt"}  # nobody reads a configuration yet
    with pytest.raises(UsageError, match="has one stage only"):
        VirtualBench().versions(plan_of(kernel=tree, stage=stage, **halves))
    with pytest.raises(UsageError, match="--stage needs --bench virtual"):
        plan_of(bench="pi", target="bench1", stage=stage)


@pytest.mark.parametrize(
    ("options", "witness", "words"),
    [
        (
            ["CONFIG_EVL"],
            "cyclictest",
            "without CONFIG_FTRACE, as flavour evl must be .*: leave it",
        ),
        (["CONFIG_EVL"], "timerlat", "without CONFIG_TIMERLAT_TRACER: leave it out, or another"),
        (["CONFIG_SMP"], "cyclictest", "without CONFIG_FTRACE: leave it out, or another kernel"),
        (["CONFIG_SMP", "CONFIG_FTRACE"], "osnoise", "use --witness cyclictest, or another kernel"),
    ],
)
def test_a_witness_that_cannot_look_on(tmp_path, options, witness, words):
    """It advised cyclictest where cyclictest was refused."""
    plan = plan_of(kernel=str(kernel_tree(tmp_path, *options)), witness=witness)
    with pytest.raises(UsageError, match=words):
        VirtualBench().versions(plan)


@pytest.mark.parametrize(
    ("option", "asked", "words"),
    [
        ("CONFIG_EVL", {"bottom_half": "workqueue"}, "--bottom-half workqueue .*evl.*use thread"),
        (
            "CONFIG_EVL",
            {"priorities": "chrt"},
            "--priorities chrt .*racquet_evl answers there: use nat",
        ),
        ("CONFIG_XENOMAI", {"bottom_half": "tasklet"}, "--bottom-half tasklet .*cobalt.*use thre"),
        ("CONFIG_XENOMAI", {"priorities": "default"}, "--priorities default .*use native"),
        ("CONFIG_EVL", {"processors": 2}, "--processors 2: a kernel of flavour evl plays with one"),
        ("CONFIG_SMP", {"priorities": "native"}, "--priorities native .*use default or chrt"),
    ],
)
def test_an_answer_that_a_kernel_cannot_give(tmp_path, option, asked, words):
    """Refused before anything is built or played."""
    plan = plan_of(kernel=str(kernel_tree(tmp_path / "tree", option)), **asked)
    with pytest.raises(UsageError, match=words) as error:
        VirtualBench().versions(plan)
    assert "\n" not in str(error.value)


QEMU = r"""
#include <stdio.h>
int main(void) { puts("QEMU emulator version %s"); return 0; }
"""


@pytest.mark.parametrize(
    ("version", "words"),
    [("9.0.0 (somebody's own build)", "does not export"), ("6.2.0", "7.2 or newer is needed")],
)
def test_a_qemu_that_cannot_carry_the_instrument(tmp_path, monkeypatch, version, words):
    source = tmp_path / "qemu.c"
    source.write_text(QEMU % version)
    subprocess.run(["gcc", "-o", tmp_path / instrument.QEMU, source], check=True)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(BenchError, match=words):
        instrument.find_qemu()


TREE = "/home/student/linux"


@pytest.mark.parametrize(
    ("begun", "named", "words"),
    [
        ({"kernel": TREE}, {}, f"begun with --kernel {TREE}, .*tennis resume r --kernel {TREE}`"),
        ({"kernel": TREE}, {"kernel": "/another"}, f"begun with --kernel {TREE}"),
        ({"kernel": TREE}, {"kernel": "rt"}, f"begun with --kernel {TREE}"),
        ({}, {"kernel": TREE}, "begun with --kernel mainline"),
        ({}, {"target": "bench1"}, "begun without --target"),
        ({"bench": "pi", "target": "bench1"}, {}, "begun with --target bench1"),
        ({"bench": "pi", "target": "bench1"}, {"target": "bench2"}, "begun with --target bench1"),
        ({"bench": "pi", "port": "spy://x"}, {}, "begun with --port spy://x"),
        ({"kernel": "a b; c"}, {}, "--kernel 'a b; c'"),
    ],
)
def test_what_a_folder_says_is_never_built_written_to_or_logged_in_to(begun, named, words):
    plan = plan_of().model_copy(update=begun)
    with pytest.raises(UsageError, match=words):
        bench_again(Path("r"), plan, **named)


def test_what_a_user_names_goes_on(tmp_path):
    tree = tmp_path / "linux"
    tree.mkdir()
    plan = plan_of().model_copy(update={"kernel": str(tree)})
    assert bench_again(Path("r"), plan, kernel=str(tree / "..") + "/linux").kind == "virtual"
    assert bench_again(Path("r"), plan_of()).kind == "virtual"
    assert bench_again(Path("r"), plan_of(), kernel="mainline").kind == "virtual"
    wired = plan_of(bench="pi", port="/dev/ttyACM0")
    assert bench_again(Path("r"), wired, port="/dev/ttyACM1").kind == "pi"  # plugged in elsewhere


@pytest.mark.parametrize("rate_hz", [0, -1.0, 0.0])
def test_an_open_loop_without_a_rate_is_refused(rate_hz):
    with pytest.raises(UsageError, match=r"--rate-hz .* serves more than 0 balls a second"):
        plan_of(loop="open", rate_hz=rate_hz)
    assert plan_of(loop="open").protocol.rate_hz == 1000


def test_a_program_is_named_again_and_refused_with_what_it_does_not_go_with():
    """A folder that may come from somebody else never says what is started."""
    programs = ROOT / "target/programs"
    plan = plan_of(program=programs / "answer.c")
    assert (plan.top_half, plan.bottom_half, plan.priorities) == ("program", "program", "default")
    for named in ({}, {"program": programs / "bad-log.c"}):
        with pytest.raises(UsageError, match="was begun with --program "):
            bench_again(Path("r"), plan, **named)
    assert bench_again(Path("r"), plan, program=programs / "answer.c").kind == "virtual"
    with pytest.raises(UsageError, match="was begun without --program"):
        bench_again(Path("r"), plan_of(), program=programs / "answer.c")
    for other in (
        *({"racquet": Path("a.c")}, {"top_half": "hard"}, {"bottom_half": "user"}),
        *({"kernel": "sloth"}, {"bench": "pi"}, {"stages": True}),
        *({"sections": True}, {"instrument": "pico"}, {"beneath": "sloth"}),
    ):
        with pytest.raises(UsageError) as error:
            plan_of(program=programs / "answer.c", **other)
        assert "program" in str(error.value)
        assert "\n" not in str(error.value)
