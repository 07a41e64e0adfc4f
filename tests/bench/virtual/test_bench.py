"""Real kernels on the virtual bench: what an instrument and a target must do."""

import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tennis.bench.kernels import catalogue
from tennis.bench.patience import Patience
from tennis.bench.virtual.bench import Extras, VirtualBench
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, UsageError
from tennis.play.rally import Watch, play
from tests.support.plans import plan_of
from tests.support.virtual import guest_module, played, script, table

sys.path.insert(0, str(ROOT / "kit-firmware" / "brickwall"))
from gaps import gap_ns

pytestmark = pytest.mark.virtual


def test_what_is_no_kernel_does_not_wait_for_ever(tmp_path, monkeypatch):
    """Zeros are no instructions: an exception after the other, and virtual time stands still."""
    image = tmp_path / "Image"
    image.write_bytes(bytes(1 << 16))
    kernel = replace(catalogue.find("mainline"), image=image)
    monkeypatch.setattr(catalogue, "find", lambda _: kernel)
    extras = Extras(patience=Patience(first_word_s=1.0))
    with pytest.raises(BenchError, match="the kernel printed nothing within 1 s"):
        played(tmp_path / "r", extras, balls=10)


@pytest.mark.more
@pytest.mark.parametrize(("kernel", "hold_us"), [("mainline", 100), ("rt", 400)])
def test_known_answer(tmp_path, kernel, hold_us):
    options = {"hold_us": hold_us}
    balls = 400_000 // hold_us  # some hundred of them wait
    rally = played(tmp_path / "r", kernel=kernel, load="hog", load_options=options, balls=balls)
    worst_us = rally.interrupt.values[-1] / 1000
    assert hold_us * 0.9 < worst_us < hold_us * 1.1
    # 1 in 37 balls falls into a hold of 100 us; those wait, evenly spread over it
    waited = rally.interrupt.counts[rally.interrupt.values > 10_000].sum() / rally.balls
    assert waited == pytest.approx((hold_us - 10) / 3700, rel=0.3)


@pytest.mark.more
def test_the_top_half_goes_where_preempt_rt_puts_it(tmp_path):
    threads = {"irq/17-racquet": 50, "irq/17-s-racquet": 50}
    rally = played(tmp_path / "r", kernel="rt", top_half="forced", bottom_half="thread", balls=200)
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (200, 0, False)
    target = rally.manifest.target
    assert (target.top_half, target.bottom_half) == ("forced", "thread")
    # without --priorities they are the kernel's own
    assert {t.task: t.priority for t in target.tasks if t.task.startswith("irq/")} == threads
    tasks = {t.task: (t.policy, t.priority) for t in target.tasks}
    assert tasks["ksoftirqd/0"] == ("SCHED_OTHER", 0)
    assert rally.interrupt.at(1) > 4000  # of a hard interrupt nearly all are below: see the next
    assert rally.label.endswith("/ forced")


@pytest.mark.more
@pytest.mark.parametrize(
    ("kernel", "bottom_half"), [("mainline", "tasklet"), ("rt", "workqueue"), ("rt-7", "user")]
)
def test_a_driver_may_ask_for_its_thread(tmp_path, kernel, bottom_half):
    rally = played(
        tmp_path / "r",
        kernel=kernel,
        top_half="explicit",
        bottom_half=bottom_half,
        priorities="irq=60",
        balls=200,
    )
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (200, 0, False)
    target = rally.manifest.target
    assert (target.top_half, target.bottom_half) == ("explicit", bottom_half)
    threads = {t.task: t.priority for t in target.tasks if t.task.startswith("irq/")}
    assert threads == {"irq/17-racquet": 60}
    assert rally.interrupt.at(1) > 4000  # a thread's price, as of a forced one
    assert rally.label.endswith("/ irq=60 / explicit")


RELEASES = {"mainline": "6.12.", "rt": "6.12.", "mainline-6.1": "6.1.", "rt-6.1": "6.1."}
RELEASES |= {"mainline-7": "7.", "rt-7": "7."}


@pytest.mark.more
@pytest.mark.parametrize(
    ("kernel", "bottom_half"),
    [
        ("mainline", "tasklet"),
        ("rt", "user"),
        ("mainline-6.1", "thread"),
        ("rt-6.1", "workqueue"),
        ("mainline-7", "workqueue"),
        ("rt-7", "thread"),
    ],
)
def test_every_kernel_answers(tmp_path, kernel, bottom_half):
    rally = played(
        tmp_path / "r", kernel=kernel, bottom_half=bottom_half, priorities="chrt", balls=200
    )
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (200, 0, False)
    assert rally.manifest.target.release.startswith(RELEASES[kernel])
    tasks = {t.task: (t.policy, t.priority) for t in rally.manifest.target.tasks}
    assert tasks["ksoftirqd/0"] == ("SCHED_FIFO", 99)
    answering = {"thread": "irq/", "user": "racquet-user"}.get(bottom_half)
    if answering:
        assert [p for name, p in tasks.items() if name.startswith(answering)] == [
            ("SCHED_FIFO", 99)
        ]
    # the top half is a hard interrupt on every kernel: below the thread's price of a switch
    assert rally.interrupt.at(100) < 4000


def drawn_gaps(rally, low_us, high_us):
    """Are the gaps those of the generator?"""
    balls = table(rally)
    served, fall = (balls[name].to_numpy() for name in ("served_ns", "fall_ticks"))
    gaps = served[1:] - (served[:-1] + fall[:-1])
    limits = (low_us * 1000, high_us * 1000)
    # a serve comes with the instruction that is due: up to 1 ns later
    for gap, index in zip(gaps.tolist(), range(1, rally.balls), strict=True):
        assert gap - gap_ns(5, index, *limits) in {0, 1}


@pytest.mark.more
def test_open_loop_serves_at_a_fixed_rate(tmp_path):
    hog = {"load": "hog", "load_options": {"hold_us": 400}}
    rally = played(tmp_path / "r", loop="open", rate_hz=10_000, balls=4000, **hog)
    served = table(rally)["served_ns"].to_numpy()
    # on the grid, to the instruction (2 ns)
    assert set(np.unique((served - served[0]) % 100_000)) <= {0, 1, 99_999}
    assert set(np.unique(np.diff(served) // 2)) <= {49_999, 50_000}
    # every 3.7 ms a stall of 400 us costs the balls that fall into it, and perhaps one on either
    # side; a closed loop would not have served them
    assert 2.9 < rally.misses / (4000 / 37) < 5.1
    assert rally.manifest.counts.late_serves == 0


def test_faulty_answers_are_counted_as_what_they_are(tmp_path):
    extras = Extras(files={"/tennis/racquet.ko": guest_module("faulty")})
    rally = played(tmp_path / "r", extras, balls=100, gap_min_us=200_000, gap_max_us=250_000)
    balls = table(rally)
    rises, falls = balls["rise_ticks"].to_pylist(), balls["fall_ticks"].to_pylist()
    for ball, (rise, fall) in enumerate(zip(rises, falls, strict=True)):
        assert (rise is None) == (ball % 10 in {2, 6})
        assert (fall is None) == (ball % 10 in {2, 4, 6})
    counts = rally.manifest.counts
    # 4: the late fall; 6: the late answer, its rise and its fall being one; 8: the second answer
    assert (counts.balls, counts.misses, counts.strays, counts.doubles) == (100, 30, 20, 10)
    assert not rally.manifest.suspect
    named = [event["what"] for event in rally.events if event["what"] in {"stray", "double"}]
    assert (named.count("stray"), named.count("double")) == (20, 10)


@pytest.mark.more
@pytest.mark.cases(release=["thread*"])
@pytest.mark.parametrize(
    ("bottom_half", "kernel"), [("tasklet", "rt"), ("user", "rt"), ("thread", "mainline")]
)
def test_module_reloads_under_fire(tmp_path, kernel, bottom_half):
    """In and out again and again while pings come at 20 kHz; the kernel does not complain."""
    reload = f"""
    for i in $(seq 20); do
      [ {bottom_half} = user ] && {{ kill $(pidof racquet-user); sleep 0.05; }}
      rmmod racquet || exit 1
      insmod /tennis/racquet.ko bottom_half={bottom_half} gpiochip=9030000.pl061 reply_line=1 ||
        exit 1
      [ {bottom_half} = user ] && {{ /tennis/racquet-user & sleep 0.05; }}
      usleep 20000
    done
    cd /sys/devices/platform/racquet
    echo "reloads: $i pings: $(cat pings) replies: $(cat replies) overruns: $(cat overruns)"
    dmesg | grep -v -e 'racquet racquet: interrupt' | tail -n 5
    poweroff -f"""
    extras = Extras(files={"/tennis/after": script(reload)})
    rally = played(
        tmp_path / "r",
        extras,
        kernel=kernel,
        bottom_half=bottom_half,
        loop="open",
        rate_hz=20_000,
        balls=1_000_000,
        settle_s=0,
    )
    console = rally.console()
    assert "reloads: 20 pings: " in console
    counted = console.split("reloads: 20 pings: ")[1].splitlines()[0].split()
    pings, replies = int(counted[0]), int(counted[2])
    assert pings > 100
    assert replies > 100
    assert [f.code for f in rally.manifest.faults] == ["target_ended"]
    assert [e for e in rally.events if e["what"] == "console_warning"] == []
    assert rally.balls - rally.misses > 500


def test_lines_from_a_device_tree_node(tmp_path):
    """The same module finds its lines in a device tree, and no parameter names them."""
    plan = plan_of(balls=100)
    qemu = VirtualBench().parts(plan).qemu
    machine = "virt,gic-version=2,dtb-randomness=off"
    blob, merged = tmp_path / "virt.dtb", tmp_path / "merged.dtb"
    dump = ["-M", f"{machine},dumpdtb={blob}", "-cpu", "cortex-a57", "-m", "1024", "-nodefaults"]
    subprocess.run([qemu.path, *dump, "-display", "none"], check=True)
    own = subprocess.run(
        ["dtc", "-q", "-I", "dtb", "-O", "dts", blob], check=True, capture_output=True
    ).stdout
    node = (ROOT / "target" / "overlays" / "virtual.dtsi").read_bytes()
    to_blob = ["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", merged]
    subprocess.run(to_blob, input=own + node, check=True)
    # lines named twice: refused in one line, and the kernel does not complain
    twice = "insmod /tennis/racquet.ko gpiochip=9030000.pl061 && echo it was loaded; true"
    extras = Extras(device_tree=merged, files={"/tennis/before": script(twice)})
    rally = play(VirtualBench(extras), plan, tmp_path / "r", Watch())
    assert (rally.balls, rally.misses) == (100, 0)
    assert "racquet racquet: interrupt" in rally.console()
    assert "the device tree names the lines already" in rally.console()
    assert "it was loaded" not in rally.console()
    assert [e for e in rally.events if e["what"] == "console_warning"] == []


def test_what_cannot_be_loaded_is_refused_and_gaps_take_more_than_32_bits(tmp_path):
    """Three things in one boot: names of lines, what is refused before a rally, gaps up to 20 s."""
    before = """
    mount -t debugfs none /sys/kernel/debug
    echo named: $(grep -o '(GPIO[0-9]*' /sys/kernel/debug/gpio)
    umount /sys/kernel/debug
    insmod /sleepy.ko
    insmod /tennis/racquet.ko gpiochip=sleepy reply_line=1 && echo it was loaded
    insmod /tennis/racquet.ko gpiochip=nothing && echo it was loaded
    insmod /tennis/racquet.ko bottom_half=rest && echo it was loaded
    insmod /tennis/racquet.ko top_half=soft && echo it was loaded
    insmod /tennis/racquet.ko top_half=threaded gpiochip=9030000.pl061 && echo it was loaded
    insmod /tennis/racquet.ko top_half=explicit bottom_half=thread && echo it was loaded
    true"""
    files = {"/sleepy.ko": guest_module("sleepy"), "/tennis/before": script(before)}
    gaps = {"gap_min_us": 10, "gap_max_us": 20_000_000}
    rally = played(tmp_path / "r", Extras(files=files), balls=20, seed=5, **gaps)
    console = rally.console()
    assert "named: (GPIO17 (GPIO27\r" in console
    assert "a line can sleep" in console
    assert "no GPIO chip is labelled nothing" in console
    assert "bottom_half=rest: use tasklet, thread, workqueue or user" in console
    assert "top_half=soft: use hard, forced or explicit" in console
    assert "top_half=threaded: this kernel puts no handler into a thread by itself" in console
    assert "top_half=explicit: the interrupt's thread is the top half's" in console
    assert "it was loaded" not in console
    assert (rally.balls, rally.misses, rally.manifest.suspect) == (20, 0, False)
    drawn_gaps(rally, 10, 20_000_000)


FAULTS = {
    "guest_panic": ({"/tennis/after": script("sleep 3; echo c > /proc/sysrq-trigger")}, "panic"),
    "module_did_not_load": ({"/tennis/racquet.ko": b"this is no module"}, "racquet.ko"),
    "no_answer": ({"/tennis/after": script("sleep 3; rmmod racquet")}, "stopped answering"),
    "target_ended": ({"/tennis/after": script("sleep 3; poweroff -f")}, "ended before"),
    "load_died": ({"/tennis/load/start": script("exec true")}, "load"),
    "never_ready": ({"/tennis/racquet-ready": script("exec true")}, "ready"),
}


@pytest.mark.cases(more=["[lmnt]*"])
@pytest.mark.parametrize("code", FAULTS)
def test_a_bench_fault_makes_it_suspect_and_keeps_everything(tmp_path, code):
    files, words = FAULTS[code]
    rally = played(tmp_path / "r", Extras(files=files), balls=100_000)
    assert rally.manifest.faults[0].code == code
    assert words in rally.manifest.faults[0].message
    assert (rally.manifest.suspect, rally.manifest.ended) == (True, "fault")
    assert "Run /init as init process" in rally.console()
    if code in {"guest_panic", "no_answer", "target_ended"}:
        assert 0 < rally.balls < 100_000


def test_a_built_kernel_tree_plays(tmp_path, monkeypatch):
    """A folder as `make Image modules` leaves it, here put together from Debian's own build."""
    import gzip

    from tennis.bench.kernels.catalogue import find

    debian = find("mainline")
    tree = tmp_path / "linux"
    tree.mkdir()
    for path in debian.build.iterdir():
        if path.name not in {"arch", "Makefile"}:
            (tree / path.name).symlink_to(path)
    makefile = (debian.build / "Makefile").read_text()
    here = "$(dir $(abspath $(firstword $(MAKEFILE_LIST))))"
    (tree / "Makefile").write_text(makefile.replace(here, f"{debian.build}/"))
    (tree / "arch/arm64/boot").mkdir(parents=True)
    for path in (debian.build / "arch/arm64").iterdir():
        (tree / "arch/arm64" / path.name).symlink_to(path)
    image = debian.image.read_bytes()
    if image[:2] == b"\x1f\x8b":
        image = gzip.decompress(image)
    (tree / "arch/arm64/boot/Image").write_bytes(image)
    monkeypatch.chdir(tmp_path)
    rally = played(tmp_path / "r", kernel="linux", balls=100)
    assert (rally.balls, rally.misses) == (100, 0)
    # what it is, and never where it lay
    assert rally.manifest.target.kernel == f"mainline-{rally.manifest.target.release}"

    include = (tree / "include").resolve()
    (tree / "include").unlink()
    shutil.copytree(include, tree / "include", symlinks=True)
    (tree / "include/config/auto.conf").unlink()
    (tree / "include/config/auto.conf").write_text("CONFIG_ARM64=y\n")
    with pytest.raises(UsageError, match="it was built without CONFIG_MODULES"):
        plan = plan_of(kernel="linux")
        VirtualBench().parts(plan)
