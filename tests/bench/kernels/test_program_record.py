"""What a console says of a program that left its target no memory, no room or no time."""

import struct

import pytest

from tennis.bench.kernels import program_record
from tennis.bench.kernels.own_program import memory_of
from tennis.bench.targets.console import Console
from tennis.rally.manifest import Fault

BEGAN = "tennis: fact program_began_s 9.90\n"
TASKS = "tennis: task irq/18-answer SCHED_FIFO 50\ntennis: task answer SCHED_FIFO {}\n"
WAITS = "tennis: fact program_waiting waits for GPIO17, answers on GPIO27\n"
OTHERS = "tennis: task irq/17-racquet-ready over SCHED_FIFO 50\ntennis: task rcuc/0 SCHED_FIFO 1\n"
# as Linux 6.12 and busybox wrote them, of programs that forked eaters and that printed 1 GB
KILLED = (
    "[   25.514589] Out of memory: Killed process 237 (eaters) total-vm:127944kB, "
    "anon-rss:123264kB, file-rss:0kB, shmem-rss:264kB, UID:1000 pgtables:284kB oom_score_adj:1000\n"
)
FULL = "sh: write error: No space left on device\n"


def read(tmp_path, text):
    (tmp_path / "console.log").write_text(text)
    return Console(tmp_path / "console.log").report()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (KILLED * 3, "out_of_memory", "no memory left, and its kernel ended processes: eaters"),
        (FULL, "program_output", "what the program wrote fills the target's /run"),
        ("sh: something else\n", "", ""),
    ],
)
def test_what_was_used_up_is_named(tmp_path, text, code, words):
    report = read(tmp_path, BEGAN + text)
    found = program_record.faults(report.faults, report.events)
    assert [fault.code for fault in found] == [code] * bool(code)
    assert all(words in fault.message for fault in found)
    cause = Fault(code="program_ended", message="the kernel: it took all memory")
    assert program_record.faults([cause], report.events) == [cause]


@pytest.mark.parametrize(("priority", "named"), [(90, True), (50, False), (40, False)])
def test_a_program_before_its_lines_thread_is_named_if_no_ball_comes(tmp_path, priority, named):
    """One of FIFO 90 polled, and its line's thread never ran."""
    report = read(tmp_path, BEGAN + TASKS.format(priority) + WAITS + OTHERS)
    said = program_record.advice(report.facts, report.tasks)["no_answer"]
    assert "printed before the first ball: waits for GPIO17" in said
    words = "answer has priority 90, its line's thread irq/18-answer 50: `tennis explain` tells"
    assert (words in said) == named
    nobody = [task for task in report.tasks if not task[0].startswith("irq/18")]
    assert "polls" not in program_record.advice(report.facts, nobody)["no_answer"]


def test_the_memory_of_an_executable_is_that_of_its_segments():
    head = struct.pack("<16s16xQ14xHH6x", b"\x7fELF\x02\x01", 64, 56, 2)
    loaded = struct.pack("<I36xQ8x", 1, 1 << 30)
    assert memory_of(head + loaded + struct.pack("<I36xQ8x", 4, 1 << 20)) == 1 << 30
    assert memory_of(head + loaded[:20]) == 0  # damaged
    assert memory_of(b"#!/bin/sh\n") == 0


def test_a_program_that_went_into_the_background_hears_that_it_must_not():
    """Its parent ended without an error: no other exit code looks so."""
    said = "the program ended before the first ball with exit code {}; it said last: nothing"
    ends = [Fault(code="program_ended", message=said.format(code)) for code in (0, 3)]
    told = [one.message for one in program_record.faults(ends)]
    assert "with exit code 0 (it has to stay in the foreground); it said" in told[0]
    assert told[1] == said.format(3)
