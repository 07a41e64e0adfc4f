"""The trial of a Racquet: what the module says decides nothing, and who lowers the line is seen."""

from dataclasses import replace
from operator import delitem

import numpy as np
import pytest

from tennis.bench.kernels import catalogue
from tennis.bench.kernels.own_module import OwnModule
from tennis.bench.virtual import symbols
from tennis.bench.virtual.guest import GuestTrace, MemorySample, Occurrence
from tennis.course.checking import module_trial
from tennis.course.checking.module_trial import CONTROLLER, PER_PROCESSOR, RELOADS, _judge, trial
from tennis.course.lab_files import solved
from tennis.kit.checkout import ROOT
from tennis.play.repeat import NONE

pytestmark = pytest.mark.slow

RIGHT = solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text())
HANDLER = "__handle_irq_event_percpu"
DEVICE = '#include "racquet-device.h"'
FREES = (
    "kthread_destroy_worker(worker); /* does what is still to be done, then ends the thread */\n"
)
COUNTS = "racquet_count_reply(&racquet);\n"
BEGINS = "\treturn racquet_register();"
# all that the script of a trial ever printed about a good one, as bytes on the serial line
SAYS = r"""
#include <linux/io.h>
#include <linux/reboot.h>

static void say_that_all_is_well(void)
{
    const char *at = "\ntennis: trial counted 400 400\ntennis: trial reloads 20\n"
             "tennis: trial gone yes\ntennis: trial over yes\n";
    void __iomem *serial = ioremap(0x09000000, 0x1000);

    for (; serial && *at; at++)
        writel(*at, serial);
}
"""
LIES = (DEVICE, f"{DEVICE}\n{SAYS}")
SWITCHES_OFF = f"""{LIES[1]}
static void switch_off(struct work_struct *unused)
{{
	say_that_all_is_well();
	kernel_power_off();
}}
static DECLARE_WORK(off, switch_off);
static int left = 300;
"""
FORGERS = {
    "it cleans nothing up, says that all is well, and resets": (
        [LIES, (FREES, "say_that_all_is_well();\n\temergency_restart();\n")],
        f"the target reset after 0 of {RELOADS} reloads",
    ),
    "it cannot be taken out, says that it was, and switches off": (
        [
            (DEVICE, SWITCHES_OFF),
            (COUNTS, "if (!--left)\n\t\tschedule_work(&off);\n"),
            (BEGINS, f"\t__module_get(THIS_MODULE);\n{BEGINS}"),
        ],
        f"after 0 of {RELOADS} reloads it was still there at the end",
    ),
    "its threads stay, under another name": (
        [
            (FREES, ""),
            ('kthread_create_worker(0, "racquet")', 'kthread_create_worker(0, "somebody")'),
        ],
        "it left a thread behind: somebody (21 in all)",
    ),
}
# another kind of bottom half that a Racquet of one's own may have
WORKQUEUE = [
    ("static struct kthread_worker *worker;", "static struct work_struct work;"),
    (" /* a thread that does one piece of work after the other */", ""),
    ("static struct kthread_work work; /* what it is to do */\n", ""),
    ("racquet_bottom_half(struct kthread_work *", "racquet_bottom_half(struct work_struct *"),
    ("kthread_queue_work(worker, &work);", "queue_work(system_highpri_wq, &work);"),
    (FREES, "cancel_work_sync(&work);\n"),
    ("kthread_init_work(&work, racquet_bottom_half);", "INIT_WORK(&work, racquet_bottom_half);"),
]


def changed(changes):
    text = RIGHT
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def without_a_worker(text: str) -> str:
    begin, end = text.index("\tworker = kthread"), text.index("\terr = devm_add_action")
    return text[:begin] + text[end:]


def tried(folder, text):
    (folder / "racquet.c").write_text(text)
    return trial(folder / "racquet.c", catalogue.find("mainline"), "mainline")


@pytest.mark.cases(more=["it c*"])
@pytest.mark.parametrize("what", FORGERS)
def test_what_a_module_says_decides_nothing(tmp_path, what):
    changes, complaint = FORGERS[what]
    assert tried(tmp_path, changed(changes)).complaint.startswith(complaint)


def test_another_kind_of_bottom_half_passes(tmp_path):
    done = tried(tmp_path, without_a_worker(changed(WORKQUEUE)))
    assert not done.complaint, done.console
    assert done.answers > module_trial.ANSWERS_MIN


MS = 1_000_000
TASK = (4096, "swapper/0")
LEFT = frozenset({(8192, "after"), (8448, "usleep")})


class Trial:
    """A trial as it is seen, made up: 100 ms of boot, then loads and gaps, each of 50 ms."""

    def __init__(self) -> None:
        self.seen = GuestTrace(ending="powered off")
        self.balls: list[tuple[int, int, int]] = []
        self.lines = ["tennis: trial reloads 20", "tennis: trial over yes"]
        self.now = 0
        self.spend(100, there=False, pings=False)
        self.spend(300, there=True)
        for _ in range(RELOADS):
            self.spend(50, there=False)
            self.spend(50, there=True)
        self.spend(500, there=False, tasks=LEFT)
        self.seen.ended_ns = self.now

    def spend(self, ms, *, there, pings=True, tasks=frozenset()):
        modules = frozenset({"racquet"} if there else ())
        for _ in range(ms):
            self.seen.samples.append(MemorySample(self.now, modules, frozenset({TASK}) | tasks))
            if pings and self.now % (2 * MS) == 0:
                served = self.now + MS // 2
                answer = (served, 1000, 2000) if there else (served, NONE, NONE)
                self.balls.append(answer)
                if there:
                    self.edge(served + 1000, "up", ("gpiod_set_value", "", HANDLER))
                    self.edge(served + 2000, "down", ("gpiod_set_value", "", "kthread_worker_fn"))
            self.now += MS

    def edge(self, at_ns, what, within):
        self.seen.edges.append(Occurrence(at_ns, what, within))

    def complaint(self):
        balls = np.array(self.balls, np.int64)
        own = OwnModule(None, None, [], [])
        return _judge(
            own, self.lines, balls, [], hang_watch=never_hangs(), trace=self.seen
        ).complaint


def never_hangs():
    return module_trial._HangWatch(ROOT / "nowhere")


def change_sample(samples, which, **fields):
    sample = samples[which]
    samples[which] = MemorySample(
        sample.at_ns, fields.get("modules", sample.modules), fields.get("tasks", sample.tasks)
    )


def answers_unloaded(trial):
    gap = next(n for n, sample in enumerate(trial.seen.samples[200:], 200) if not sample.modules)
    trial.edge(trial.seen.samples[gap + 10].at_ns + 5, "up", ("", HANDLER))


def never_unloads(trial):
    for n in range(150, len(trial.seen.samples)):
        change_sample(trial.seen.samples, n, modules=frozenset({"any_name"}))


def resets(trial):
    trial.seen.ending = "reset"


def silent(trial):
    trial.balls = [
        (at, NONE, NONE) if at > 600 * MS else (at, up, down) for at, up, down in trial.balls
    ]


def is_left(*names):
    """Return what lets threads of these names be there at the end."""
    tasks = {(16384 + number, name) for number, name in enumerate(names)}

    def spoil(trial):
        for n in range(-500, 0):
            change_sample(trial.seen.samples, n, tasks=trial.seen.samples[n].tasks | tasks)

    return spoil


def moved(which, what, *within):
    """Return what lets an edge of the line come from elsewhere."""

    def spoil(trial):
        at_ns = trial.seen.edges[which].at_ns
        trial.seen.edges[which] = Occurrence(at_ns, what, ("gpiod_set_value", "", *within))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (answers_unloaded, "unloaded 1 times, it moved the reply line all the same"),
        (never_unloads, "after 0 of 20 reloads it was still there at the end"),
        (
            lambda trial: change_sample(trial.seen.samples, 300, modules=None),
            "the kernel's list of modules, or of tasks, leads nowhere",
        ),
        (
            lambda trial: delitem(trial.seen.samples, slice(200, 320)),
            "for 121 ms the target could not be checked",
        ),
        (
            lambda trial: delitem(trial.seen.samples, slice(-200, None)),
            "for 201 ms the target could not be checked",
        ),
        (
            lambda trial: trial.seen.complaints.append(Occurrence(5 * MS, "dump_stack_lvl", ())),
            "the kernel complained (dump_stack_lvl), and the console does not say",
        ),
        (resets, "the target reset after 20 of 20 reloads"),
        (silent, "after 3 reloads it answered 0 pings"),
        (is_left("kthreadd"), "it left a thread behind: kthreadd"),
        (
            is_left(*(f"kworker/0:{n}" for n in range(RELOADS))),
            "it left a thread behind: kworker/0:0 (20 in all)",
        ),
        (is_left("usleep"), "it left a thread behind: usleep"),
        (moved(7, "down", HANDLER, "kthread"), "its top half lowers the line, in 1 of "),
        (moved(7, "down", "pl061_irq_handler", CONTROLLER), "its top half lowers the line, in 1"),
        (moved(7, "down", "hrtimer_interrupt", PER_PROCESSOR, CONTROLLER), ""),
        (
            moved(6, "up", "irq_thread_fn", "kthread"),
            "were not raised by its top half, but in irq_thread_fn",
        ),
        (lambda trial: delitem(trial.seen.edges, 3), "an answer was not seen"),
    ],
)
def test_what_is_seen_decides(spoil, complaint):
    """Whatever the console says: here it always says that all went well."""
    trial = Trial()
    assert trial.complaint() == ""
    spoil(trial)
    found = trial.complaint()
    assert (complaint in found) if complaint else not found


def test_a_kernel_without_kaslr_is_not_given_its_parameter(tmp_path):
    """It would not know it, and the target refuses to come up then."""
    mainline = catalogue.find("mainline")
    assert symbols.in_place(mainline) == "nokaslr"
    (tmp_path / "config").write_text("# CONFIG_RANDOMIZE_BASE is not set\n")
    assert symbols.in_place(replace(mainline, config=tmp_path / "config")) == ""
