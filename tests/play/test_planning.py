"""Plans: defaults, kernel trees, and what a folder of somebody else may not choose."""

from pathlib import Path

import pytest

from tennis.bench import flavours
from tennis.bench.kernels import catalogue
from tennis.kit.errors import UsageError
from tennis.play.planning import bench_again
from tests.support.kernel_trees import kernel_tree
from tests.support.plans import plan_of


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


def test_what_was_built_counts_and_no_edited_configuration(tmp_path):
    """An EVL tree whose .config somebody edited took the in-band Racquet."""
    tree = kernel_tree(tmp_path, "CONFIG_EVL")
    config = tree / ".config"
    config.write_text(config.read_text().replace("CONFIG_EVL=y", "# CONFIG_EVL is not set"))
    assert catalogue.find(str(tree)).flavour == catalogue.flavour_of(str(tree)) == "evl"


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
    ("option", "name"), [("CONFIG_SMP", "mainline-5.10.1-mine"), ("CONFIG_EVL", "evl-5.10.1-mine")]
)
def test_a_tree_is_called_by_flavour_and_release_and_never_by_its_folder(tmp_path, option, name):
    """`tennis kernels package` ends in /build: every label was "build"; manifests had a path."""
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
