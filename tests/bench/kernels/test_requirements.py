"""What a kernel must be: fragments, check-lists, and real kernels held against them."""

import gzip
import re
import subprocess

import pytest

from tennis.bench.configuration import FLAVOURS, read_config
from tennis.bench.kernels import catalogue, loading
from tennis.bench.kernels.requirements import (
    check,
    check_config,
    check_module,
    check_virtual,
    fragment,
    requirements,
)
from tennis.bench.targets import snapshot
from tennis.kit.errors import TennisError, UsageError
from tennis.play.doctor.kernel import examine_config
from tests.support.quiet_board import seen
from tests.support.small_kernel import SMALL
from tests.support.terminal import tennis


def findings(found: snapshot.Snapshot, flavour: str = "rt") -> list[tuple[str, str, str]]:
    return [(f.verdict, f.what, f.found) for f in check(requirements(flavour), found)]


def test_a_quiet_board_has_nothing_to_mend():
    assert {verdict for verdict, *_ in findings(seen())} == {"good"}
    assert check_module(seen()).verdict == "good"
    # a PC has no device tree, and its kernel is not built for Arm
    assert not [one for one in findings(seen("aarch64", "x86_64")) if one[0] == "bad"]


@pytest.mark.parametrize(
    ("old", "new", "verdict", "what", "words"),
    [
        ("cpu1/cpufreq/scaling_governor performance", "cpu1/x schedu", "bad", "governor", "sched"),
        ("cpu-sleep 400 1", "cpu-sleep 400 0", "bad", "deep idle", "cpu-sleep takes 400 µs"),
        ("rt_runtime_us\n -1", "rt_runtime_us\n 950000", "note", "real-time thr", "950000"),
        ("tracer\n nop", "tracer\n function", "bad", "tracer", "function"),
        ("throttled=0x0", "throttled=0x50005", "bad", "power and heat", "now: under-voltage, thr"),
        ("throttled=0x0", "throttled=0x50000", "note", "power and heat", "since boot: under-volt"),
        ("temp 52100", "temp 81000", "bad", "temperature", "81000"),
        ("tainted\n 12288", "tainted\n 512", "note", "complaints", "a warning"),
        ("madvise", "always", "note", "huge pages", "always"),
        ("machine\n aarch64", "machine\n armv7l", "bad", "architecture", "armv7l"),
        ("realtime\n 1", "realtime\n 0", "bad", "real-time kernel", "0"),
        ("console=tty1", "console=tty1 ftrace=function", "bad", "command line", "ftrace=function"),
        ("console=tty1", "isolcpus=3", "note", "command line", "isolcpus=3"),
        (" CONFIG_PREEMPT_RT=y\n", "", "bad", "CONFIG_PREEMPT_RT", "n;"),
        ("= config\n", "= config\n CONFIG_PROVE_LOCKING=y\n", "bad", "PROVE_LOCKING", "every lock"),
        (" CONFIG_RCU_BOOST=y\n", "", "note", "CONFIG_RCU_BOOST", "n;"),
        ("17 Edge      racquet", "22 Edge      button", "note", "other GPIO", "button (17 times)"),
    ],
)
def test_what_spoils_a_rally_is_named(old, new, verdict, what, words):
    told = [(v, w, f) for v, w, f in findings(seen(old, new)) if v != "good"]
    assert any(v == verdict and what in w and words in f for v, w, f in told), told


LOADING = "= loading\n vermagic 6.12.0-rt SMP preempt_rt mod_unload aarch64\n layout 0x1234\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("= loading\n", "= loading\n sig_enforce Y\n", "sig_enforce is on: the kernel takes"),
        ("= loading\n", "= loading\n lockdown integrity\n", "is locked down (integrity)"),
        ("= loading\n", "= loading\n lockdown confidentiality\n", "locked down (confid"),
        ("= loading\n", "= loading\n modules_disabled 1\n", "kernel.modules_disabled is 1"),
        ("console=tty1", "lockdown=integrity", "lockdown=integrity on the command line"),
        ("console=tty1", "module_blacklist=x,racquet", "word forbids the kernel to load"),
        ("vermagic 6.12.0-rt SMP", "vermagic 6.12.0-rt SMP modversions", "the kernel is 6.12.0-rt"),
        ("racquet.sha256 0123", "racquet.layout 0x1235", "structures lie elsewhere"),
        ("racquet 6.12.0-rt", "racquet 6.6.0", "was built for the kernel 6.6.0, not for 6.12"),
        ("racquet 6.12.0-rt", "another 6.12.0-rt", "there is no racquet for the kernel"),
    ],
)
def test_a_module_that_a_running_kernel_would_not_take(old, new, words):
    """Signatures, lockdown, versions of symbols: modprobe refused it, after all was set up."""
    plain = seen("= governor\n", f"{LOADING}= governor\n")
    assert check_module(plain).verdict == "good"
    assert old in plain.text
    found = check_module(snapshot.read(plain.text.replace(old, new)))
    assert found.verdict == "bad"
    assert words in found.found
    assert found.advice


def test_a_word_that_the_image_does_not_have_is_refused_before_the_boot(tmp_path):
    """Not one that only ends like a longer name, and nothing of an image that is compressed."""
    names = b"\0nr_possible_cpus\0rcu_nocbs\0nohz_full=\0maxcpus\0quiet\0"
    image = tmp_path / "Image"
    image.write_bytes(b"MZ".ljust(56, b"\0") + b"ARM\x64" + names)
    for known in ("", "rcu_nocbs=0 nohz-full=1 quiet", "any.parameter=1", "quiet -- other"):
        loading._check_known(known, "a kernel", image)
    for unknown in ("possible_cpus=1", "nohz=off", "maxcpu=1", "quiet threadirqs"):
        with pytest.raises(UsageError, match="a kernel does not know this word"):
            loading._check_known(unknown, "a kernel", image)
    image.write_bytes(b"MZ".ljust(56, b"\0") + b"zimg" + names)
    loading._check_known("possible_cpus=1", "a kernel", image)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_fragment_satisfies_its_own_check_list(flavour):
    text = fragment(flavour)
    assert all(re.fullmatch(r"(#.*|CONFIG_\w+=\w+|)", line) for line in text.splitlines())
    found = list(check_config(requirements(flavour), read_config(text)))
    assert [f.verdict for f in found] == ["good"], found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mainline", "rt", "mainline-6.1", "rt-6.1"])
def test_debians_kernels_have_what_is_required(name):
    """Their real configurations."""
    text = catalogue.find(name).config.read_text()
    found = list(check_config(requirements(name.split("-")[0]), read_config(text)))
    found += check_virtual(requirements(name.split("-")[0]), read_config(text))
    assert not [f for f in found if f.verdict == "bad"]
    other = {"mainline": "rt", "rt": "mainline"}[name.split("-")[0]]
    wrong = list(check_config(requirements(other), read_config(text)))
    assert "CONFIG_PREEMPT_RT" in {f.what for f in wrong if f.verdict == "bad"}


def test_a_configuration_is_checked(tmp_path):
    (tmp_path / "rt").write_text(f"{SMALL.read_text()}\nCONFIG_NET_NS=y\n{fragment('rt')}")
    done = tennis("kernels", "check", "rt", tmp_path / "rt")
    assert done.returncode == 0, done.stdout
    assert "the virtual bench: all 10 options right" in done.stdout
    done = tennis("kernels", "check", "mainline", tmp_path / "rt")
    assert done.returncode == 1
    assert "CONFIG_PREEMPT_RT: y; it would be the flavour rt" in done.stdout
    assert tennis("kernels", "check", "rt").stdout == fragment("rt")
    for content in (gzip.compress(bytes(1 << 23)), fragment("rt").encode() + b"#" * (1 << 22)):
        (tmp_path / "config.gz").write_bytes(content)
        done = tennis("kernels", "check", "rt", tmp_path / "config.gz", "--bench", "pi")
        assert done.returncode == 1
        assert "is not a kernel's configuration" in done.stderr
    done = tennis("kernels", "check", "rt", tmp_path / "none")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


PACKED = gzip.compress(f"{fragment('rt')}CONFIG_PREEMPT_RT=n\n".encode(), mtime=0)
MORE, NONE = gzip.compress(b"CONFIG_PREEMPT_RT=y\n"), gzip.compress(b"")
HEAD = b"\x1f\x8b\x08%c\0\0\0\0\0\xff"
ODD = {
    "as /proc/config.gz": PACKED,
    "a member follows": PACKED + MORE,
    "members without content": NONE + MORE + NONE + PACKED + NONE,
    "zeros behind": PACKED + bytes(512),
    "garbage behind": PACKED + b"x" * 20,
    "empty": b"",
    "cut": PACKED[:-200],
    "cut in its sum": PACKED[:-5],
    "cut in its head": PACKED[:4],
    "cut in what follows": PACKED + MORE[:-9],
    "another sum": PACKED[:-8] + bytes(4) + PACKED[-4:],
    "another length": PACKED[:-4] + b"\1\0\0\0",
    "another method": b"\x1f\x8b\x07" + PACKED[3:],
    "a name and a comment": HEAD % 0x18 + b"config\0of a board\0" + PACKED[10:],
    "a field": HEAD % 4 + b"\3\0abc" + PACKED[10:],
    "stored": gzip.compress(fragment("rt").encode(), 0),
    "no content": NONE,
}


@pytest.mark.parametrize("kind", ODD)
def test_a_packed_configuration_is_read_as_zcat_reads_it(kind, tmp_path):
    path, unpacked = tmp_path / "config.gz", tmp_path / "config"
    path.write_bytes(ODD[kind])
    zcat = subprocess.run(["zcat", path], capture_output=True, check=False)
    if zcat.returncode or not zcat.stdout:
        with pytest.raises(TennisError, match=r"name (a kernel's|its) \.config"):
            list(examine_config("rt", path, "pi"))
        return
    unpacked.write_bytes(zcat.stdout)
    found = list(examine_config("rt", path, "pi"))
    assert found == list(examine_config("rt", unpacked, "pi"))
    is_rt = not any(one.what == "CONFIG_PREEMPT_RT" and one.verdict == "bad" for one in found)
    assert is_rt == (kind in {"a member follows", "stored"})
