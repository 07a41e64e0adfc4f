# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Known remedies for late balls: each is an experiment, not a promise."""

import re
from dataclasses import dataclass

BOOTS = 5  # of each side: fewer hardly decide
BOOTS_MAX = 40


@dataclass(frozen=True)
class _Remedy:
    """A setting that may help if a sentence about a late ball matches ``says``."""

    says: re.Pattern[str]
    setting: str  # NAME=VALUE, as `tennis explain try` takes it
    why: str


REMEDIES = (
    _Remedy(
        re.compile(r"softirq lock"),
        "top-half=explicit",
        "a driver that asks for its thread itself does not take that lock",
    ),
    _Remedy(
        re.compile(r"softirq lock that rcuc/"),
        "command-line=rcu_nocbs=0",
        "RCU's callbacks then run in a thread of their own, outside of softirqs",
    ),
    _Remedy(
        re.compile(r"softirq lock"),
        "kernel=rt-7",
        "Linux 7 has no lock around all softirqs of a CPU (PREEMPT_RT_NEEDS_BH_LOCK is unset)",
    ),
    _Remedy(
        re.compile(r"did not get the processor .*process "),
        "priorities=chrt",
        "the answering threads then come before all ordinary processes",
    ),
    _Remedy(
        re.compile(r"interrupts were off(?!.* that processor)"),
        "kernel=rt",
        "PREEMPT_RT leaves interrupts on where mainline turns them off",
    ),
)


def remedies(sentence: str, settings: dict[str, str]) -> list[_Remedy]:
    """Return what may help against a late ball; not what the rally had already."""
    had = {f"{key}={value}" for key, value in settings.items()}
    return [
        remedy
        for remedy in REMEDIES
        if remedy.says.search(sentence)
        and remedy.setting not in had
        and not (remedy.setting == "kernel=rt" and settings.get("kernel", "").startswith("rt"))
        and not (remedy.setting == "priorities=chrt" and settings.get("priorities") != "default")
        and not (
            # there the thread is the bottom half's
            remedy.setting == "top-half=explicit" and settings.get("bottom-half") == "thread"
        )
        and not (
            remedy.setting == "kernel=rt-7" and not settings.get("kernel", "").startswith("rt")
        )
    ]
