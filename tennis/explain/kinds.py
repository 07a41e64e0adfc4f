"""Kinds of the processor's work: each stack is attributed to its innermost layer.

An interrupt, a softirq, the scheduler, user space, or the kernel for a task. The rules look at
function names that have been the same in Linux 5.10 to 6.16 on arm64.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "masked",
    "irq",
    "path",
    "softirq",
    "scheduler",
    "kernel",
    "user",
    "racquet",
    "program",
    "idle",
    "lost",
    "stall",
]
ANSWERS: frozenset[Kind] = frozenset({"racquet", "program"})  # what the reply comes from
KINDS: dict[Kind, str] = {
    "masked": "kernel, interrupts off",
    "irq": "another interrupt",
    "path": "interrupt entry and exit",
    "softirq": "another softirq",
    "scheduler": "scheduler",
    "kernel": "kernel, interrupts on",
    "user": "user space",
    "racquet": "the Racquet",
    "program": "the program",
    "idle": "idle",
    "lost": "not recorded in order",
    "stall": "waits for memory",  # a part of the time of the others
}
IN_USER_SPACE = "user space"
IRQ_ENTRY = re.compile(r"el[01][ht]?_(?:64_|32_)?(?:irq|fiq)(?:_handler)?(?:_naked)?|vectors")
IRQ_CALLERS = {
    "__handle_irq_event_percpu",
    "handle_percpu_devid_irq",
    "handle_percpu_irq",
    "handle_oob_irq",
    "do_oob_irq",
    "xnintr_irq_handler",
}
# what these callers also call, besides a handler
HELPERS = re.compile(
    r"(_raw_|__?remove_|enqueue_|timerqueue_|hrtimer_|__hrtimer_|ktime_|gic_|rcu_|note_|tick_irq"
    r"|add_interrupt_randomness|wakeup_|ct_|lockdep_|__local_bh|__rcu|unmask_|mask_|irq_)"
)
QUIET = re.compile(r"_raw_|__local_bh|__rcu|wakeup_|rcu_(?!core)|ct_|lockdep_")
TIMER_CALLERS = {"__hrtimer_run_queues", "call_timer_fn", "expire_timers"}
SOFTIRQ = {"handle_softirqs", "__do_softirq"}
SCHEDULER = {"__schedule", "__evl_schedule", "___xnsched_run"}
IDLE = {"cpu_do_idle", "arch_cpu_idle", "default_idle_call", "cpu_idle_poll"}
ERRANDS = {
    "do_mem_abort": "page fault",
    "do_page_fault": "page fault",
    "do_translation_fault": "page fault",
    "invoke_syscall": "system call entry",
    "do_idle": "idle loop",
}
LOOPS = re.compile(r"schedule|kthread_|__kthread|\w+_should_run|_raw_|preempt_")
THREADS = (
    ("work", {"process_one_work"}),
    ("thread function", {"smpboot_thread_fn"}),
    ("thread function", {"kthread"}),
)
SYSTEM_CALL = re.compile(r"__arm64_(?:compat_)?sys_(\w+)")


@dataclass(frozen=True)
class What:
    """The processor's work: its kind, its place, and its task."""

    kind: Kind
    label: str
    task: str

    def __str__(self) -> str:
        """Say it in words."""
        names: dict[Kind, str] = {
            "masked": f"{self.label} of {self.task}, interrupts off",
            "kernel": f"{self.label} of {self.task}",
            "irq": f"interrupt: {self.label}",
            "softirq": f"softirq: {self.label} (in {self.task})",
            "user": f"user space of {self.task}",
            "racquet": f"the Racquet: {self.label}",
            "program": f"the program's own code in {self.task}: {self.label}",
        }
        return names.get(self.kind, KINDS[self.kind])


def base(name: str) -> str:
    """Return a function's name without what the compiler adds to a variant of it."""
    return name.partition(".")[0]


def innermost(layer: str, stack: Sequence[str], *, masked: bool) -> tuple[Kind, str]:
    """Return the kind and the label of a stack from its innermost layer on."""
    if layer == "irq":
        handler = _after(stack, TIMER_CALLERS, HELPERS) or _after(stack, IRQ_CALLERS, HELPERS)
        return ("irq", handler) if handler else ("path", "")
    if layer == "softirq":
        return "softirq", _after(stack, SOFTIRQ, QUIET) or "dispatch"
    if layer == "scheduler":
        return "scheduler", ""
    leaf = stack[-1] if stack else ""
    if leaf in IDLE or leaf == IN_USER_SPACE:
        return ("idle" if leaf in IDLE else "user"), ""
    return ("masked" if masked else "kernel"), errand(stack)


def _after(stack: Sequence[str], callers: set[str], helpers: re.Pattern[str] | None = None) -> str:
    """Return the function that the innermost of ``callers`` called, or an empty text."""
    for index in range(len(stack) - 2, -1, -1):
        if base(stack[index]) in callers:
            called = stack[index + 1]
            return "" if helpers and helpers.match(called) else called
    return ""


def errand(stack: Sequence[str]) -> str:
    """Return in a few words on what errand the kernel was."""
    for name in reversed(stack):
        if call := SYSTEM_CALL.fullmatch(name):
            return f"system call {call[1]}"
        if name in ERRANDS:
            return ERRANDS[name]
    for work, callers in THREADS:
        if thread := _after(stack, callers, LOOPS):
            return f"{work} {thread}"
    return "kernel code"
