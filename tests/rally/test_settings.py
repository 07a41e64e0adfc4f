"""Maps of priorities and words for the command line: kept in one form, or refused in one line."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tennis.bench.flavours import check, priorities_on
from tennis.kit.errors import UsageError
from tennis.match.plan import Name
from tennis.rally import command_line, priorities
from tests.support.plans import plan_of


class Halves(NamedTuple):
    top_half: str
    bottom_half: str
    priorities: str


def plan(**asked):
    return plan_of(bench="pi", port="/dev/null", **asked)


def refused(words, *, bench=plan, **asked):
    """See that one line refuses a setting."""
    with pytest.raises(UsageError, match=words) as error:
        bench(**asked)
    assert str(error.value).isprintable()


def test_a_map_is_kept_in_one_order_and_what_is_none_refused():
    for asked, kept in {
        "default": "default",
        "thesis-2008": "thesis-2008",
        "irq=90": "irq=90",
        "rcuc=1,irq=90": "irq=90,rcuc=1",
        "ksoftirqd=50, irq=99": "irq=99,ksoftirqd=50",
    }.items():
        assert plan(priorities=asked).priorities == kept
    words = "neither one of default, chrt, thesis-2008"
    for asked in ("irq", "irq=0", "irq=100", "irq=90,irq=91", "init=5", "irq=90,", "", "irq=٣"):
        refused(words, priorities=asked)
    refused(words, priorities="chrt,irq=5")


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


def test_words_of_a_command_line():
    for asked, kept in {
        "": "",
        "  threadirqs   rcu_nocbs=0 ": "threadirqs rcu_nocbs=0",
        "isolcpus=managed_irq,2-3 nohz_full=3": "isolcpus=managed_irq,2-3 nohz_full=3",
    }.items():
        assert plan(command_line=asked).command_line == kept
    for asked in (
        *("console=ttyS0", "init=/bin/sh", "tennis.limit_s=1", "a b=c;d", "x=$(reboot)", "x=`id`"),
        *("'quoted'", 'x="y"', "a\nb'c", "word\x1b[2J", "x" * 600),
    ):
        refused("--command-line", command_line=asked)


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
