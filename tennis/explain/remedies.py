"""Known remedies for late balls: each is an experiment, not a promise."""

import re
from dataclasses import dataclass, replace

from tennis.rally.manifest import PROGRAM

BOOTS = 5  # of each side: fewer hardly decide
BOOTS_MAX = 40


@dataclass(frozen=True)
class _Remedy:
    """A setting that may help if a sentence about a late ball matches ``says``."""

    says: re.Pattern[str]
    # NAME=VALUE, as `tennis explain try` takes it, with groups of ``says`` at {}; empty: a change
    # of the program
    setting: str
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

# of a program that answers alone; its line's thread is SCHED_FIFO 50
PROGRAMS = (
    _Remedy(
        re.compile(r"higher priority than its line's thread|the line's thread .* did not run"),
        "priorities=irq=90",
        "the line's thread is then above the program, and gives its lock back before that runs",
    ),
    _Remedy(
        re.compile(r"^[^:]*: \S+ \(no real-time priority\)"),
        "priorities=program=40",
        "it then runs before all ordinary processes, and below its line's thread",
    ),
    _Remedy(
        re.compile(r"timer slack of"),
        "",
        "prctl(PR_SET_TIMERSLACK, 1), or a real-time priority, which has no timer slack",
    ),
    _Remedy(
        re.compile(r"for a page of its memory|page fault of"),
        "source=mlockall",
        "mlockall(MCL_CURRENT | MCL_FUTURE) before the first ping, and no new memory behind it",
    ),
    _Remedy(
        re.compile(r"lock of its own without priority inheritance \(futex ([A-Za-z_]\w*)\)"),
        "source=inherit={}",
        "pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) for that mutex",
    ),
    _Remedy(
        re.compile(r"lock of its own without priority inheritance(?! \(futex [A-Za-z_]\w*\))"),
        "",
        "pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) for that mutex",
    ),
    _Remedy(
        re.compile(r"it is bound to processor"),
        "",
        "sched_setaffinity to the processor that was free",
    ),
    _Remedy(
        re.compile(r" \(processor (\d+) was free"),
        "bottom-half-cpu={}",
        "the program is then pinned to the processor that was free",
    ),
    next(one for one in REMEDIES if one.setting == "kernel=rt"),
)


def _of_a_program(sentence: str, settings: dict[str, str]) -> list[_Remedy]:
    """Return what may help a program against a late ball; not what the rally had already."""
    found = [(one, match) for one in PROGRAMS if (match := one.says.search(sentence))]
    had = settings.get("priorities", "default")
    chosen = []
    for one, match in found:
        setting = one.setting.format(*match.groups())
        if setting.startswith("priorities=") and had != "default":
            name, _, _ = setting.removeprefix("priorities=").partition("=")
            kept = [word for word in had.split(",") if not word.startswith(f"{name}=")]
            setting = ",".join([setting, *kept])
        if setting == "kernel=rt" and settings.get("kernel", "").startswith("rt"):
            continue
        if setting != f"priorities={had}":
            chosen.append(replace(one, setting=setting))
    return chosen


def remedies(sentence: str, settings: dict[str, str]) -> list[_Remedy]:
    """Return what may help against a late ball; not what the rally had already."""
    if settings.get("bottom-half") == PROGRAM:
        return _of_a_program(sentence, settings)
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
