# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Maps of priorities and words for the command line: kept in one form, or refused in one line."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tennis.bench.flavours import check, priorities_on
from tennis.errors import UsageError
from tennis.match.plan import Name
from tennis.rally import command_line, priorities
from tests.support.plans import plan_of


class Halves(NamedTuple):
    top_half: str
    bottom_half: str
    priorities: str


def plan(**asked):
    return plan_of(bench="pi", port="/dev/null", **asked)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("default", "default"),
        ("thesis-2008", "thesis-2008"),
        ("irq=90", "irq=90"),
        ("rcuc=1,irq=90", "irq=90,rcuc=1"),
        ("ksoftirqd=50, irq=99", "irq=99,ksoftirqd=50"),
    ],
)
def test_a_map_is_kept_in_one_order(asked, kept):
    assert plan(priorities=asked).priorities == kept


@pytest.mark.parametrize(
    "asked",
    ["irq", "irq=0", "irq=100", "irq=90,irq=91", "init=5", "irq=90,", "", "chrt,irq=5", "irq=٣"],
)
def test_what_is_no_map_is_refused(asked):
    with pytest.raises(UsageError, match="neither one of default, chrt, thesis-2008") as error:
        plan(priorities=asked)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("flavour", "halves", "asked", "missing"),
    [
        ("mainline", ("hard", "tasklet"), "rcuc=1", "rcuc"),
        ("mainline", ("hard", "tasklet"), "irq=90", "irq"),
        ("rt", ("hard", "tasklet"), "irq=90", "irq"),
        ("rt", ("forced", "tasklet"), "user=90", "user"),
        ("rt", ("forced", "user"), "kworker=90", "kworker"),
    ],
)
def test_threads_that_do_not_exist_are_refused(flavour, halves, asked, missing):
    with pytest.raises(UsageError, match=f"--priorities {missing}=...: there is no such thread"):
        check(flavour, Halves(*halves, asked))


@pytest.mark.parametrize(
    ("flavour", "halves", "asked", "told"),
    [
        ("mainline", ("hard", "tasklet"), "default", ""),
        ("mainline", ("hard", "tasklet"), "chrt", "ksoftirqd=99"),
        ("mainline", ("hard", "workqueue"), "chrt", "ksoftirqd=99,kworker=99?"),
        ("rt", ("forced", "tasklet"), "chrt", "irq=99,ksoftirqd=99"),
        ("rt", ("explicit", "tasklet"), "irq=60", "irq=60"),
        ("mainline", ("explicit", "tasklet"), "chrt", "irq=99,ksoftirqd=99"),
        ("rt", ("hard", "user"), "chrt", "ksoftirqd=99,user=99"),
        ("rt", ("forced", "tasklet"), "thesis-2008", "irq=50,ksoftirqd=50,ktimers=50?,rcuc=50"),
        ("rt", ("forced", "tasklet"), "irq=90,ktimers=2", "irq=90,ktimers=2"),
        ("evl", ("hard", "thread"), "native", ""),
    ],
)
def test_what_the_target_is_told(flavour, halves, asked, told):
    check(flavour, Halves(*halves, asked))
    assert priorities_on(flavour, Halves(*halves, asked)) == told


@pytest.mark.parametrize("flavour", ["mainline", "rt"])
def test_one_thread_is_not_both_halves(flavour):
    with pytest.raises(UsageError, match=r"takes the interrupt's thread.* use --top-half hard, or"):
        check(flavour, Halves("explicit", "thread", "default"))


@pytest.mark.parametrize("asked", ["thesis-2008", "irq=5", "chrt"])
def test_a_xenomai_core_has_its_own_priorities_only(asked):
    with pytest.raises(UsageError, match="use native"):
        check("evl", Halves("hard", "thread", asked))


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("", ""),
        ("  threadirqs   rcu_nocbs=0 ", "threadirqs rcu_nocbs=0"),
        ("isolcpus=managed_irq,2-3 nohz_full=3", "isolcpus=managed_irq,2-3 nohz_full=3"),
    ],
)
def test_words_of_a_command_line(asked, kept):
    assert plan(command_line=asked).command_line == kept


@pytest.mark.parametrize(
    "asked",
    [
        *("console=ttyS0", "init=/bin/sh", "tennis.limit_s=1", "a b=c;d", "x=$(reboot)", "x=`id`"),
        *("'quoted'", 'x="y"', "a\nb'c", "word\x1b[2J", "x" * 600),
    ],
)
def test_words_that_are_refused(asked):
    with pytest.raises(UsageError, match="--command-line") as error:
        plan(command_line=asked)
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize(
    "asked",
    [
        {"interrupt_cpu": 1},
        {"load_cpus": "0"},
        {"bottom_half": "user", "bottom_half_cpu": 0},
    ],
)
def test_cpus_belong_to_who_sets_the_target_up(asked):
    with pytest.raises(UsageError, match="needs --bench virtual or --target"):
        plan_of(bench="pi", **asked)


@pytest.mark.parametrize("bottom_half", [None, "tasklet", "thread", "workqueue"])
def test_only_a_process_is_pinned(bottom_half):
    """A thread or a tasklet follows the ping: pinned in silence, it would answer from there."""
    with pytest.raises(UsageError) as error:
        plan(bottom_half=bottom_half, bottom_half_cpu=0)
    assert str(error.value) == (
        "--bottom-half-cpu 0: only a process is pinned (--bottom-half user, --program); the "
        "others follow the ping"
    )


@pytest.mark.parametrize("asked", ["", "0;reboot", "1-", "a", "0, 1"])
def test_what_is_no_list_of_cpus_is_refused(asked):
    with pytest.raises(UsageError, match="--load-cpus"):
        plan(target="bench", load_cpus=asked)


@given(st.text(alphabet="abc01=._-, :/@+", max_size=60))
def test_names_of_folders_tell_settings_apart(text):
    try:
        kept = command_line.canonical(text)
    except ValueError:
        return
    if kept:
        name = TypeAdapter(Name).validate_python(f"x-{command_line.file_name(kept)}")
        assert "/" not in name


def test_two_command_lines_do_not_share_a_folder():
    lines = [
        "rcu_nocbs=0",
        "rcu_nocbs=0,1",
        "threadirqs",
        "a=1 b=2",
        "x" * 30 + "1",
        "x" * 30 + "2",
    ]
    assert len({command_line.file_name(line) for line in lines}) == len(lines)
    assert priorities.file_name("irq=90,rcuc=1") == "irq90+rcuc1"
