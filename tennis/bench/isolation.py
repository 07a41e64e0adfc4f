# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Processors that a kernel's command line names: what cannot be is refused before the boot."""

import re

from tennis.kit.errors import UsageError

ISOLATING = ("isolcpus", "nohz_full")
NAMING = (*ISOLATING, "rcu_nocbs", "irqaffinity")
STARTING = ("maxcpus", "nr_cpus")  # how many processors the kernel starts
# flags that isolcpus may have before its list
FLAGS = frozenset({"nohz", "domain", "managed_irq"})
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_PART = re.compile(r"(\d{1,4}|N)(?:-(\d{1,4}|N)(?::(\d{1,4})/(\d{1,4}))?)?")


def check_words(command_line: str, processors: int) -> None:
    """Raise UsageError for the first word that this number of processors cannot follow."""
    for word in _words_of(command_line):
        name, _, value = word.partition("=")
        name = name.replace("-", "_")  # the kernel takes both for the same
        if name == "racquet.interrupt_cpu":
            raise UsageError(
                f"--command-line {word}: tennis loads the Racquet with parameters of its own",
                next_step="use --interrupt-cpu",
            )
        started = _starts(word)
        if started is not None and started < processors:
            raise UsageError(
                f"--command-line {word}: {started} of --processors {processors} would run",
                next_step=f"leave it out, or play with --processors {started}",
            )
        if name not in NAMING:
            continue
        named = cpus_of(value, processors)
        missing = sorted(named - set(range(processors)))
        if missing:
            raise UsageError(
                f"--command-line {word}: the target has no processor {missing[0]}",
                next_step=f"use 0 to {processors - 1}, or more --processors"
                if processors > 1
                else "say --processors 2",
            )
        if name in ISOLATING and 0 in named:
            raise UsageError(
                f"--command-line {word}: the kernel needs processor 0, on which it starts, "
                "and isolates others only",
                next_step="isolate processor 1" if processors > 1 else "say --processors 2",
            )


def _words_of(command_line: str) -> list[str]:
    """Return the kernel's words, as it splits them (lib/cmdline.c): quotes, and the end at --."""
    words = [word.replace('"', "") for word in _WORD.findall(command_line)]
    return words[: words.index("--")] if "--" in words else words


def _starts(word: str) -> int | None:
    """Return how many processors a word lets the kernel start; None: it does not say."""
    name, _, value = word.partition("=")
    if name == "nosmp":
        return 1
    return max(1, int(value)) if name in STARTING and re.fullmatch(r"\d{1,4}", value) else None


def cpus_of(cpus: str, processors: int) -> set[int]:
    """Return the processors that a list names as the kernel reads it: 1, 2-3, 1-N, 0-7:1/2, all.

    A malformed list names none: the kernel itself complains.
    """
    found: set[int] = set()
    last = processors - 1
    for part in cpus.split(","):
        if part == "all":
            found |= set(range(processors))
        match = _PART.fullmatch(part)
        if part in FLAGS or match is None:
            continue
        low, high = (last if end == "N" else int(end) for end in (match[1], match[2] or match[1]))
        used, group = int(match[3] or 1), int(match[4] or 1)
        found |= {cpu for cpu in range(low, high + 1) if (cpu - low) % max(group, 1) < used}
    return found
