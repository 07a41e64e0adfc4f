"""SLOTH beneath Linux: what Linux does, or tries, does not change an answer."""

import re
import signal

import pytest

from tennis.bench.kernels.catalogue import find
from tennis.bench.sloth import beneath
from tennis.bench.virtual.bench import Extras
from tennis.kit.checkout import ROOT
from tennis.play import repeat
from tests.support.masked_windows import Monitor
from tests.support.virtual import played, script

pytestmark = pytest.mark.virtual

RISE, WIDTH = 104, 62  # ns, where nothing is in the way
# of masked code, in instructions; entering EL2 takes none in QEMU
WINDOW = 104
OFTEN = 34  # of pipes.c: 30 that came, and those that were left out


def answers(rally):
    rise, fall = repeat.balls_of(rally)[:, 1:].T
    return rise, fall - rise


def figures(console):
    """Return the text of /sys/kernel/debug/sloth."""
    return {name: int(number) for name, number in re.findall(r"figure (\w+) (\d+)", console)}


def after(*lines):
    return {"/tennis/after": script("\n".join(lines))}


TELL = "sed 's/^/figure /' /sys/kernel/debug/sloth > /dev/console"


@pytest.mark.more
def test_linux_panics_and_every_ball_is_answered(tmp_path):
    files = after("(sleep 0.5; echo c > /proc/sysrq-trigger) &")
    # a kernel that panicked waits in a loop
    extras = Extras(files=files, parameters="panic=0")
    rally = played(tmp_path / "r", extras, beneath="sloth", balls=1000, settle_s=0.1)
    rise, width = answers(rally)
    assert (rally.balls, rally.misses) == (1000, 0)
    assert rise.max() <= RISE + 2 * WINDOW
    assert set(width) == {WIDTH}
    assert "guest_panic" in {fault.code for fault in rally.manifest.faults}
    panicked_s = float(re.search(r"\[ *([\d.]+)\] Kernel panic", rally.console())[1])
    assert repeat.balls_of(rally)[-1, 0] > panicked_s * 1e9 + 1e8


def test_root_cannot_reach_the_tasks(tmp_path):
    """Memory, the controls of virtual interrupts, lines and GPIO lines: each tried from Linux."""
    tries = {
        "monitor": "0x40200000",
        "monitor written": "0x40200000 32 0",
        "interface": "0x08030000",
        "interface written": "0x08030100 32 0",
    }
    lines = ["("]
    for name, words in tries.items():
        lines.append(f"/bin/busybox devmem {words} > /dev/null 2>&1")
        lines.append(f'echo "tried {name}: $?" > /dev/console')
    lines += [
        # all lines of the controller off, their priority the lowest, nothing pending; the
        # CPU interface off, which is the virtual one, for a moment
        *(f"/bin/busybox devmem {at:#x} 32 0xffffffff" for at in range(0x08000180, 0x080001A4, 4)),
        *(f"/bin/busybox devmem {at:#x} 32 0xffffffff" for at in range(0x08000280, 0x080002A4, 4)),
        "/bin/busybox devmem 0x08000424 32 0xffffffff",
        "/bin/busybox devmem 0x08000000 32 0",
        # the reply line up, its direction, the ping's interrupt off and cleared
        "/bin/busybox devmem 0x09030008 32 2",
        "/bin/busybox devmem 0x09030400 32 0",
        "/bin/busybox devmem 0x09030410 32 0",
        "/bin/busybox devmem 0x0903041c 32 0xff",
        "echo tried all > /dev/console",
        TELL,
        ") &",
    ]
    rally = played(
        tmp_path / "r",
        Extras(files=after(*lines), parameters="iomem=relaxed"),
        beneath="sloth",
        balls=1500,
    )
    console = rally.console()
    tried = dict(re.findall(r"tried ([\w ]+): (\d+)", console))
    assert tried == dict.fromkeys(tries, str(128 + signal.SIGBUS))
    assert figures(console)["refused"] == len(tries)
    assert (rally.balls, rally.misses) == (1500, 0)
    rise, width = answers(rally)
    assert rise.max() <= RISE + 2 * WINDOW
    assert set(width) == {WIDTH}


PIPES = ("sloth1", "sloth2")


def texts(name):
    """Return the lines of a guest's script that keeps what comes out of a pipe of text."""
    return (
        f"(timeout 1 cat /dev/{name} > /tmp/{name}; sed 's/^/{name}: /' /tmp/{name} > /dev/console)"
    )


@pytest.mark.more
def test_alarms_and_pipes_of_text_beneath_linux(tmp_path):
    """Under stress: alarms keep their phase; locked texts are whole, others are mangled."""
    where = ROOT / "tests" / "target" / "slothful" / "pipes.c"
    # of the writers' texts only those that are not whole, and their numbers
    whole = r"^(high [0-9]+ [A-Z]{26}|low [0-9]+ [a-z]{26})$"
    keep = f"grep -vE '{whole}' /tmp/PIPE | head -n 200 | sed 's/^/PIPE: /' > /dev/console"
    count = (
        "grep -E 'WHO' /tmp/sloth1 | cut -d ' ' -f 2 | awk '$1 == n + 1 {n++} END {print n, NR}'"
    )
    counts = [f"echo WHO: $({count}) > /dev/console".replace("WHO", w) for w in ("low", "high")]
    lines = (
        f"(chrt -f 10 timeout 1 cat /dev/sloth1 > /tmp/sloth1; {keep.replace('PIPE', 'sloth1')}",
        *counts,
        ") &",
        f"(timeout 1 cat /dev/sloth2 > /tmp/sloth2; {keep.replace('PIPE', 'sloth2')}; {TELL}) &",
        "(sleep 0.2; dd if=/dev/zero of=/dev/sloth0 bs=32 count=1) &",
    )
    rally = played(
        tmp_path / "r",
        Extras(files=after(*lines), beneath=where),
        beneath="sloth",
        load="stress",
        balls=2500,
        seed=1,
        settle_s=0.1,
    )
    said = rally.console().replace("\r", "")
    told = figures(said)
    log, other = (re.findall(rf"^{name}: (.*)", said, re.MULTILINE) for name in PIPES)

    came = [line.split()[1:] for line in log if line.startswith("came ")]
    times = {name: [int(us) for n, _, us in came if n == name] for name, *_ in came}
    assert set(times) == {"once", "again", "often"}  # never: it was cancelled
    assert times["once"] == [pytest.approx(5000, abs=60)]
    assert times["again"] == [pytest.approx(3000 + 10_000 * n, abs=60) for n in range(5)]
    # Hold came at 20 ms and kept Tick for 1.05 ms: one alarm late, three left out, the phase kept
    due = [18_000 + 250 * n for n in range(OFTEN)]
    held = [us for us in due if 20_000 <= us < 21_050]
    assert times["often"] == [
        pytest.approx(21_050 if us == held[0] else us, abs=60)
        for us in due
        if us not in held[1:]
    ][: len(times["often"])]  # fmt: skip
    assert len(times["often"]) == 30

    for name in ("low", "high"):
        in_order, lines_there = map(
            int, re.search(rf"^{name}: (\d+) (\d+)", said, re.MULTILINE).groups()
        )
        assert in_order == lines_there > 100
    assert len(log) == len(came) + 2  # all others are whole, and none is lost
    mangled = [line for line in other if re.fullmatch(r"high \d* ?[A-Z]*[a-z]+", line)]
    assert len(mangled) > 10  # nobody locked this one

    assert "a text that is longer than a record has room for, and is" in log
    assert told["cut"] == 1
    assert "s|c|-7|-1099511627776|beef|fedcba9876|%|4000000000" in log
    rise, _ = answers(rally)
    assert rally.misses == 0
    assert rise.max() <= RISE + 2 * 2 * WINDOW


@pytest.mark.more
def test_how_long_masked_code_keeps_a_task_waiting():
    """From the binary: every path, counted; the first of them counted by hand, too."""
    elf = beneath.image(find("mainline")).with_name("monitor.elf")
    windows = Monitor(elf).windows()
    # save: 15; bl; dispatch's own beginning: 6; the question to the controller
    assert windows["vector 0x480"] == windows["vector 0x280"] == 15 + 1 + 6 + 1
    assert max(windows.values()) == WINDOW
    assert len(windows) > 12
