"""Bad input ends in one line and an exit code that says whose mistake it is; nothing is left.

A row is a command and what its line must contain: the option or key to change, or the word to use.
The exit code is 2 if the words were wrong, and 1 if what they name cannot be used.
"""

import shlex

import numpy as np
import pytest

from tennis.cli.removed import REMOVED
from tennis.rally.manifest import Drill
from tests.support.kernel_trees import IMAGE, kernel_tree
from tests.support.synthetic import make_rally
from tests.support.synthetic_drill import make_drill

# `tennis rally --out r` with these words
RALLY = {
    "--balls 0": "balls",
    "--balls 99999999999": "balls",
    "--balls many": "balls",
    "--seed " + "9" * 100_000: "seed",
    "--kernel windows": "no kernel 'windows'",
    "--kernel ''": "kernel",
    "--kernel 'a\x1b[31m\nb'": "kernel",
    "--kernel empty": "not a built arm64 kernel tree: it has no Makefile",
    "--kernel old-tree": "holds Linux 5.4.0: 5.10 or newer is needed",
    "--kernel hollow-tree": "arch/arm64/boot/Image is empty",
    "--load coffee": "no load 'coffee': use contention, hog, ",
    "--load hog --load-option hold_us=--1": "hold_us",
    "--load hog --load-option hold_us=0": "takes 1 to",
    "--load hog --load-option hold_us=5000": "must be less than period_us=3700",
    "--load hog --load-option speed=1": "has no option speed: it has hold_us, period_us",
    "--bottom-half rest": "bottom-half",
    "--timeout-ms 5000": "is at most 4 s",
    "--gap-min-us nan": "gap-min-us",
    "--gap-min-us 2000": "say --gap-max-us, too",
    "--gap-min-us 900 --gap-max-us 200": "--gap-max-us 200 is below --gap-min-us 900",
    "--pulse-us 300": "use --pulse-us 250 or less, or --gap-min-us 600",
    "--rate-hz 100": "--rate-hz needs --loop open",
    "--loop open --rate-hz 0": "rate-hz",
    "--loop open --gap-min-us 100": "need --loop closed",
    "--loop open --rate-hz 100000 --pulse-us 6": "use --pulse-us 5 or less",
    "--bench moon": "moon",
    "--bench replay --from r": "run 'tennis replay DIR --out DIR'",
    "--port /dev/x": "--port needs --bench pi",
    "--target x": "--target needs --bench pi",
    "--bench pi --target ' '": "--target is empty",
    "--bench pi --instrument builtin": "--instrument builtin needs --bench virt",
    "--bench pi --load-option x=1": "--load-option needs",
    "--bench pi --witness cyclictest": "witness",
    "--bench pi --target b --stage in-band": "--stage needs --bench virtual",
    "--bench pi --racquet answer.c": "--racquet needs --bench virtual",
    "--bench pi --processors 2": "--processors needs --bench virtual",
    "--bench pi --memory cortex-a72": "--memory needs",
    "--bench pi --beneath sloth": "--beneath needs Linux",
    # what goes with what on the virtual bench
    "--kernel tree --top-half forced": "use hard or explicit",
    "--kernel tree --priorities native": "use default or chrt",
    "--kernel tree --stage in-band": "has one stage only: leave it out",
    "--kernel tree --witness cyclictest": "without CONFIG_FTRACE: leave it out, or",
    "--kernel traced-tree --witness osnoise": "use --witness cyclictest, or another",
    "--kernel evl-tree --bottom-half workqueue": "use thread",
    "--kernel evl-tree --priorities chrt": "use native",
    "--kernel evl-tree --processors 2": "a kernel of flavour evl plays with one",
    "--instrument pico --stages": "--stages cannot be used with --instrument pico",
    "--beneath sloth --stages": "--stages cannot be used with --beneath sloth",
    "--beneath sloth --instrument pico": "cannot be used with --instrument pico",
    "--kernel tree --beneath sloth --priorities chrt": "use native",
    "--beneath sloth --racquet answer.c": "cannot be used with --racquet",
    "--racquet answer.c --bottom-half thread": "where your own Racquet answers",
    "--kernel tree --racquet answer.c --priorities chrt": "only you know the threads of your own",
    "--program answer.c --racquet answer.c": "program",
    "--program answer.c --top-half hard": "program",
    "--program answer.c --instrument pico": "program",
    "--program gone.c": "gone.c",
    "--program file": "file",
    "--processors 3": "processors",
    "--processors 4 --instruction-ns 2": "use --instruction-ns 4",
    "--processors 2 --interrupt-cpu 2": "the target has no processor 2",
    "--processors 2 --load-cpus 0-3": "the target has no processor 2",
    "--processors 2 --bottom-half user --bottom-half-cpu 2": "has no processor 2",
    "--bottom-half-cpu 0": "only a process is pinned",
    "--load contention": "--load contention needs 2 processors",
    "--processors 2 --witness cyclictest": "cannot be used with --witness",
    "--processors 2 --command-line isolcpus=0": "the kernel needs processor 0",
    "--command-line isolcpus=1": "has no processor 1: say --processors 2",
    "--command-line init=/bin/sh": "is the bench's",
    "--priorities best": "neither one of default",
    "--kernel tree --top-half explicit --bottom-half thread": "takes the interrupt's thread",
    "--memory cortex-a99": "use none or beaglebone or",
    "--memory cortex-a72 --processors 2": "the model has the caches of one",
    "--memory cortex-a72 --instrument pico": "nobody has tried",
    "--shots 0": "shots",
    "--shots 40 --balls 40": "--balls and --shots are two kinds of rally",
    "--shots 40 --loop open": "--shots are no balls of an open loop",
    "--shots 40 --instrument pico": "--shots cannot be used with --instrument",
    "--shots 40 --kernel sloth": "--shots needs Linux on --bench virtual",
    # SLOTH
    "--kernel sloth --load stress": "not for SLOTH: use hog, idle, storm",
    "--kernel sloth --load hog --load-option ceiling=4": "takes 1 to 3",
    "--kernel sloth --bottom-half tasklet": "use task",
    "--kernel sloth --priorities chrt": "use native",
    "--kernel sloth --witness cyclictest": "--witness needs a Linux kernel",
    "--kernel sloth --interrupt-cpu 0": "--interrupt-cpu needs a Linux kernel",
    "--kernel sloth --command-line quiet": "--command-line needs a Linux kernel",
    "--kernel sloth --instrument pico": "sloth-pico",
    "--kernel sloth --racquet answer.c": "answer.h",
    "--kernel sloth-pico --instruction-ns 4": "--instruction-ns is QEMU's",
    "--load storm": "storm is not for Linux",
}
COMMANDS = {
    "report drilled rally --out page.html": "drill",
    "rally": "say where to keep the rally",
    "rally --out ''": "names no folder: say --out NAME",
    "course nonce": "there is no tennis course nonce now: write nonce",
    "course record": "there is no tennis course record now: play what",
    "grade rally --lab 01 --deadline 2026-12-01": "has no --deadline now: your learning platform",
    "rally --out /": "names no folder",
    "serve": "No such command",
    "stats": "--help",
    "stats empty --what": "--help",
    "plot rally --kind pie": "pie",
    "plot rally --format gif": "gif",
    "explain rally --ball 999": "balls",
    "resume ''": "is not a rally",
    "resume nothing": "nothing",
    "resume r --seed 2": "seed",
    "kernels fetch windows": "windows",
    "demo --balls 0": "balls",
    "replay rally --balls 7 --out o": "No such option '--balls'",
    "brickwall verify --port spy:///dev/null?file=spied": "serial device (/dev/ttyACM0) or socket:",
    "drill": "no drill is named: say which: periodic, response",
    "drill periodic": "say where to keep the drill",
    "drill tea --out x": "'tea' is not one of",
    "drill switch --context hrtimer --out x": "use user or user-rt or kernel",
    "drill periodic --period-us 1 --out x": "--period-us",
    "drill periodic --bench pi --out x": "nothing would start the drill",
    "drill response --bench pi --target t --out x": "a wire from the reply line back",
    "drill periodic --program answer.c --context user --out x": "--context user: a program of",
    "drill switch --program answer.c --out x": "code of its own",
    "sweep --from-hz 200000 --to-hz 150000 --out x": "--from-hz 200000 is not below --to-hz",
    "sweep --to-hz 500001 --out x": "--to-hz",
    "sweep --out full": "holds something else than a sweep",
    "match gone.toml": "No such file",
    "match empty": "not a plain file",
    "match good.toml --out full": "holds something else than a match",
    "match good.toml --with windows=x": "the plan has no kernel 'windows'",
    "match good.toml --cluster tcp://127.0.0.1:1": "--cluster needs --store",
    "match good.toml --store x": "--store needs --cluster",
    "match good.toml --cluster tcp://127.0.0.1:1 --store s3://b/c": "no URL: mount",
    "doctor --bench bench-3": "docs/query.md",
    "compare sloth sloth": "both sides are the same",
    "compare rally rally": "are one boot",
    "compare rally nowhere": "names no side",
    "compare rally 'kernel=\"'": "a quotation mark is missing",
    "compare sloth 'kernel=rt kernel=rt'": "a side has one kernel",
    "compare sloth 'sloth load-option=x'": "write load-option=NAME=NUMBER",
    "compare mainline rt --period-us 1000 --balls 5": "--balls: control loops have none",
    "compare mainline rt --repetitions 5": "are of control loops: name their --period-us",
    "compare mainline rt --bench pi": "name it with --target",
    "commission": "say where to keep the record",
    "commission --out x --analyser fx2lafw": "--analyser is for --umpire",
    "commission virtual --share x": "--share measures nothing",
    "commission virtual --out x --generator-port /dev/y": "has one Pico: leave it out",
}
# the words are right: 1
UNUSABLE = {
    "replay nothing --out o": "nothing",
    "rally --out no/such/place": "no/such",
    "rally --out file/r": "file",
    "stats empty": "empty",
    "stats nothing": "nothing",
    "stats match": "is a match: name one of the rallies in it",
    "plot rally --out file/pictures": "cannot write",
    "report empty": "empty",
    "report rally --out none/page.html": "cannot write",
    "export match": "is a match: name one of the rallies in it",
    "replicate drilled": "match",
}
PLANS = {
    "": "kernels is missing: name at least one",
    'kernels = ["sloth"]': "loads is missing",
    'kernels = []\nloads = ["idle"]': "kernels: is empty: name at least one",
    'kernels = ["sloth", "sloth"]\nloads = ["idle"]': "kernels: names sloth twice",
    'kernels = ["../rt"]\nloads = ["idle"]': "is not a name: up to 64 letters",
    "a = " + "[" * 5000: "is not TOML",
    "#" * (1 << 20) + "##": "larger than 1 MiB",
    "PLAN\nseed = 0xfffffffffffffffffff": "holds a number of more than 64 bits",
    "PLAN\nball = 5": "ball is not a key of a plan",
    "PLAN\nballs = 0": "balls: input should be greater than or equal to 1 (it is 0)",
    "PLAN\nsettle_s = nan": "settle_s: input should be a finite number",
    "PLAN\norder = 'random'": "order: input should be 'listed' or 'shuffled'",
    "PLAN\nbench = 'moon'": "bench: 'moon' is not one of 'virtual', 'pi'",
    "PLAN\nport = '/dev/ttyACM0'": 'port: needs bench = "pi"',
    "PLAN\ncommand_lines = ['init=/bin/sh']": "command_lines.0: init=/bin/sh is the bench's",
    "PLAN\n[settings.a]\ninterrupt_cpu = -1": "settings.a.interrupt_cpu: input should be",
    "PLAN\n[settings.a]\n[settings.b]": "they are one boot, not two: leave one out",
    "PLAN\n[[drill]]\nname = '../swim'": "should match pattern",
    "PLAN\n[[drill]]\nname = 'swim'": "no drill 'swim' here: use periodic, response, ",
    "PLAN\n[[skip]]\nkernel = 'xenomai'": "skip.0.kernel: the plan has no kernel",
    "PLAN\n[[skip]]\nwhy = 'no'": "nothing is left to play",
    "PLAN\n[[rally]]\nkernel = 'sloth'\nload = 'idle'": "is in the plan twice",
    "PLAN\ngap_min_us = 90\ngap_max_us = 50": "--gap-max-us 50 is below --gap-min-us 90",
    "PLAN\nrallies = false": "nothing is left",
    'kernels = ["sloth"]\nloads = ["coffee"]': "loads: no load 'coffee': use",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a folder with what the rows name."""
    desk = tmp_path_factory.mktemp("refusals")
    (desk / "file").write_text("no program")
    (desk / "empty").mkdir()
    (desk / "match").mkdir()
    (desk / "match/match.json").write_text("{}")
    (desk / "full").mkdir()
    (desk / "full/thesis.txt").write_text("mine")
    (desk / "answer.c").write_text("int main(void) { return 0; }\n")
    (desk / "good.toml").write_text('kernels = ["sloth"]\nloads = ["idle"]\n')
    kernel_tree(desk / "tree", "CONFIG_SMP")
    kernel_tree(desk / "traced-tree", "CONFIG_SMP", "CONFIG_FTRACE")
    kernel_tree(desk / "evl-tree", "CONFIG_EVL")
    kernel_tree(desk / "old-tree", release="5.4.0")
    (kernel_tree(desk / "hollow-tree") / IMAGE).write_bytes(b"")
    make_rally(desk / "rally", balls=60)
    switch = Drill(name="switch", context="kernel", period_ns=1_000_000)
    make_drill(desk / "drilled", switch, np.full(9, 1_000_000), np.full(10, 900))
    return desk


def content(folder):
    """Return all that is in a folder, without what it says."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def refused(typed, desk, monkeypatch, words, said):
    before = content(desk)
    monkeypatch.chdir(desk)
    code, out, line = typed(*words)
    assert said in line
    assert line.startswith("tennis: ")
    assert (len(line.splitlines()), out) == (1, "")
    assert len(line) < 2100
    assert "\x1b" not in line
    assert content(desk) == before
    return code


ROWS = [
    *((2, f"rally --out r {words}", said) for words, said in RALLY.items()),
    *((2, words, said) for words, said in COMMANDS.items()),
    *((1, words, said) for words, said in UNUSABLE.items()),
    *((2, f"{name} first", said) for name, said in REMOVED.items()),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[1][:70] for row in ROWS])
@pytest.mark.usefixtures("in_time")
def test_a_command(typed, desk, monkeypatch, row):
    exit_code, words, said = row
    assert refused(typed, desk, monkeypatch, shlex.split(words), said) == exit_code


@pytest.mark.parametrize(("text", "said"), PLANS.items(), ids=[text[:60] for text in PLANS])
def test_a_plan(typed, desk, monkeypatch, text, said):
    plan = desk / "plan.toml"
    plan.write_text(text.replace("PLAN", 'kernels = ["sloth"]\nloads = ["idle"]'))
    assert refused(typed, desk, monkeypatch, ["match", "plan.toml", "--list"], said) == 2
