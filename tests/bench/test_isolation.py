"""Processors that a command line names, and those that it cannot have."""

import pytest

from tennis.bench import isolation
from tennis.bench.virtual.refusals import _check_words, _words_of
from tennis.kit.errors import UsageError


@pytest.mark.parametrize(
    ("words", "processors", "said"),
    [
        ("isolcpus=0", 2, "isolcpus=0: the kernel needs processor 0"),
        ("quiet nohz_full=0-1", 2, "nohz_full=0-1: the kernel needs processor 0"),
        ("isolcpus=managed_irq,domain,0,1", 2, "needs processor 0"),
        ("isolcpus=all", 4, "needs processor 0"),
        ("isolcpus=0", 1, "say --processors 2"),
        ("isolcpus=1", 1, "isolcpus=1: the target has no processor 1: say --processors 2$"),
        ("isolcpus=2", 2, "the target has no processor 2: use 0 to 1, or say --processors 4"),
        ("isolcpus=5", 2, "the target has no processor 5: use 0 to 1$"),
        ("isolcpus=5", 1, "the target has no processor 5: a target has 4 at most"),
        ("nohz_full=1-3", 2, "nohz_full=1-3: the target has no processor 2"),
        ("rcu_nocbs=4", 4, "no processor 4"),
        ("irqaffinity=9", 2, "no processor 9"),
        ("maxcpus=1", 2, "maxcpus=1: 1 of --processors 2 would run"),
        ("nr_cpus=2", 4, "nr_cpus=2: 2 of --processors 4 would run"),
        ("nosmp", 2, "1 of --processors 2 would run"),
        ("racquet.interrupt_cpu=0", 2, "use --interrupt-cpu"),
    ],
)
def test_what_a_target_cannot_follow_is_one_line(words, processors, said):
    with pytest.raises(UsageError, match=said) as error:
        _check_words(words, processors)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "processors"),
    [
        ("isolcpus=1 nohz_full=1 rcu_nocbs=1 irqaffinity=0", 2),
        ("isolcpus=nohz,domain,managed_irq,1-N", 4),
        ("rcu_nocbs=0 skew_tick=1 maxcpus=2", 1),
        ("rcu_nocbs=all irqaffinity=1", 2),
        ("rcu_nocbs", 2),  # since Linux 5.19 without a list
        ("isolcpus=2-3:1/2 nr_cpus=4", 4),
    ],
)
def test_what_a_target_can_follow(words, processors):
    _check_words(words, processors)


@pytest.mark.parametrize(
    ("cpus", "found"),
    [
        ("1", {1}),
        ("0,2-3", {0, 2, 3}),
        ("1-N", {1, 2, 3}),
        ("N", {3}),
        ("0-3:1/2", {0, 2}),
        ("all", {0, 1, 2, 3}),
        ("managed_irq", set()),
        ("nonsense", set()),
        ("", set()),
    ],
)
def test_lists_are_read_as_the_kernel_reads_them(cpus, found):
    assert isolation.cpus_of(cpus, 4) == found


def test_words_are_split_and_named_as_the_kernel_does():
    """lib/cmdline.c: quotes hold a space, and what is behind -- is for init."""
    assert _words_of('a="b c" d  isolcpus="1,2" -- maxcpus=1') == ["a=b c", "d", "isolcpus=1,2"]
    for words in ("racquet.interrupt-cpu=1", "nohz-full=9", 'isolcpus="0,1"'):
        with pytest.raises(UsageError):
            _check_words(words, 2)
    _check_words("quiet -- isolcpus=0", 2)
