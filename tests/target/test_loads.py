# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The loads' folders, and the scripts that run them on any target."""

import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from tennis.bench import loads
from tennis.bench.kernels.catalogue import Kernel
from tennis.bench.kernels.modules import PREFIX
from tennis.bench.virtual import initramfs
from tennis.bench.virtual.drivers import network
from tennis.checkout import ROOT
from tennis.errors import TennisError, UsageError
from tennis.rally import memory
from tests.support.processes import run_to_end, stand_in
from tests.support.virtual import played

NAMES = ("contention", "hog", "idle", "memory", "network", "ping-flood", "stress", "xload")
DECLARATIONS = ROOT / "tests" / "target" / "xenomai" / "user"


def test_there_is_every_load():
    assert tuple(loads.names()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_load_is_complete(name):
    load = loads.find(name)
    programs = {source.stem: source for part in load.parts for source in part.sources}
    assert all(path.is_file() for path in programs.values())
    files = load.files(programs)
    assert {"start", "parts", "parameters"} <= set(files)
    # a load that is none, and one that a single module is, have nothing to start or to check
    assert load.checked == ("health" in files) == (name != "idle")
    for part in load.parts:
        if part.health:
            assert b"tennis: health" in part.health
            assert os.access(part.folder / "health", os.X_OK)
    parameters = [p for part in load.parts for p in part.file.parameters]
    assert len(parameters) == len(set(parameters)), "two parts have a parameter of one name"
    # every parameter is used, and nothing else is
    text = " ".join([*(part.file.command + part.file.host for part in load.parts)])
    if not load.file.module:
        used = {found.lower() for found in re.findall(r"\$\{?([A-Z_]+)", text)}
        assert used == set(parameters)
    table = tomllib.loads(initramfs.PROGRAMS.read_text())
    for package in [*load.packages, *load.host_packages]:
        assert package in {*table["base"], *table["load"]}


def test_parts_and_parameters():
    xload = loads.find("xload", {"tasks": 8, "size_mb": 1})
    assert [part.name for part in xload.parts] == ["stress", "network", "xload"]
    assert xload.environment["TASKS"] == "8"
    assert xload.command == (
        "stress --cpu 4 --io 4 --vm 4 --vm-bytes 16M --hdd 4 --hdd-bytes 64M; "
        "xload -n 8 -p 98 -t 5000 -r /tmp/tennis-xload; from the network: "
        "truncate -s 1M zeroes.bin && while scp -q zeroes.bin root@target:.; do :; done"
    )
    assert "root@192.0.2.7:." in xload.host_command("192.0.2.7")
    assert loads.find("idle").host_command("192.0.2.7") == ""
    assert xload.packages == ["openssh-server", "stress"]
    with pytest.raises(UsageError, match="no option size: it has size_mb, tasks"):
        loads.find("xload", {"size": 1})


def test_a_program_that_was_built_for_a_flavour(tmp_path, monkeypatch):
    monkeypatch.setattr(loads, "FOLDER", tmp_path)
    (tmp_path / "xload").mkdir()
    text = 'title = "X"\nabout = "x"\nsource = "x"\nprograms = ["xload"]\ncommand = "xload"\n'
    text += "cycle_us = 0\n"
    (tmp_path / "xload" / "load.toml").write_text(text)
    built = tmp_path / "xload" / "xload.evl"
    built.write_bytes(b"built")
    (part,) = loads.find("xload").parts
    assert part.prebuilt("xload", "evl") == built
    assert part.prebuilt("xload", "cobalt") is None


BROKEN = {
    "a part of itself": {"a": 'also = ["b"]', "b": 'also = ["a"]'},
    "there is a script start": {"a": 'command = "true"'},
    "is not right": {"a": "sauce = 1"},
    "does not say its cycle": {"a": ""},
    "says its cycle twice": {"a": "cycle_us = 3\ncycle_instructions = 7"},
    "it has no parameter period_us in microseconds": {"a": 'cycle_us = "period_us"'},
}


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_load_says_so(tmp_path, monkeypatch, words):
    monkeypatch.setattr(loads, "FOLDER", tmp_path)
    for name, text in BROKEN[words].items():
        (tmp_path / name).mkdir()
        lines = f'title = "A"\nabout = "a"\nsource = "a"\n{text}\n'
        (tmp_path / name / "load.toml").write_text(lines)
        (tmp_path / name / "start").write_text("#!/bin/sh\n")
    with pytest.raises(TennisError, match=words):
        loads.find("a")


def test_a_load_says_its_cycle():
    """By a clock, by a parameter, by the work that it is; where nobody knows, it is not guessed."""
    assert {name: loads.find(name).cycle_ns(2) for name in NAMES} == {
        "contention": 3_700_000,
        "hog": 3_700_000,
        "idle": 0,
        "memory": 10_000_000,
        "network": 6_000_000_000,
        "ping-flood": 0,
        "stress": 5_000_000_000,
        "xload": 8_500_000_000,
    }
    assert loads.find("hog", {"period_us": 20_000}).cycle_ns(None) == 20_000_000
    assert loads.find("stress").cycle_ns(4) == 10_000_000_000
    assert loads.find("stress").cycle_ns(None) is None
    assert loads.cycle_of(loads.cycle_version(loads.find("stress"), None)) is None
    kept = {name: memory.canonical(name) for name in memory.names()}
    assert {name: loads.find("stress").cycle_ns(2, profile) for name, profile in kept.items()} == {
        **dict.fromkeys(kept),  # as long as nobody measured it
        "cortex-a72": 7_400_000_000,
    }
    for name in NAMES:
        # a profile's name that is written wrong is that of no profile
        assert {*loads.find(name).file.cycle_stalls_ms} <= {*kept}
    assert loads.cycle_of(loads.cycle_version(loads.find("idle"), None)) == 0


def folder(tmp_path: Path, **parts: str) -> Path:
    """Return a load as it is on a target, with these scripts as its parts' start."""
    place = tmp_path / "load"
    place.mkdir()
    for name in ("start", "health"):
        (place / name).write_bytes((loads.FOLDER / name).read_bytes())
    (place / "parts").write_text(" ".join(parts))
    (place / "checked").write_text(" ".join(parts))
    (place / "parameters").write_text("export PIECES=3\n")
    for name, text in parts.items():
        for kind in ("start", "health"):
            stand_in(place / name / kind, text)
    return place


def alive(marker: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(path.parent.name)
    return found


@pytest.fixture(params=["dash", "bash"])
def shell(request):
    return request.param


def until(condition, *, limit_s=30):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_everything_ends_with_the_load(tmp_path, shell):
    """Also what a part leaves behind in the background, as stress does."""
    marker = f"1000{os.getpid()}"
    place = folder(
        tmp_path,
        careless=f"sleep {marker} & sleep {marker} & wait",
        single=f"exec sleep {marker}",
    )
    process = subprocess.Popen([shell, place / "start"])
    until(lambda: len(alive(marker)) == 3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    until(lambda: not alive(marker))


def test_the_load_ends_with_a_part(tmp_path, shell):
    marker = f"2000{os.getpid()}"
    place = folder(
        tmp_path,
        weak=f"sleep {marker} & sleep 0.$PIECES; kill -9 $$",
        strong=f"exec sleep {marker}",
    )
    done = run_to_end([shell, place / "start"], timeout=30)
    assert done.returncode == 1
    assert "the load's part weak ended" in done.stderr
    until(lambda: not alive(marker))


def test_health_of_all_parts(tmp_path, shell):
    place = folder(
        tmp_path,
        good="echo tennis: health pieces $PIECES pieces",
        bad="echo tennis: health worth 0 points; echo it is worth nothing >&2; exit 1",
        other="echo never said",
    )
    done = run_to_end([shell, place / "health"], timeout=30)
    assert done.stdout == "tennis: health pieces 3 pieces\ntennis: health worth 0 points\n"
    assert (done.returncode, done.stderr) == (1, "it is worth nothing\n")


@pytest.mark.parametrize("name", ["stress", "xload", "memory"])
def test_health_fails_where_nothing_runs(name, shell):
    """Without the load; what comes from the network is not for this machine to promise."""
    environment = {**os.environ, **loads.find(name).environment}
    done = run_to_end([shell, loads.FOLDER / name / "health"], env=environment, timeout=60)
    assert done.returncode == 1
    assert re.search(r"does not run|it has 0", done.stderr)


@pytest.mark.parametrize(
    ("period_us", "every_s", "healthy"),
    [
        (100_000, 0.1, True),
        (100_000, 0.2, False),
        (1_000_000, 1, True),  # the longest period that it takes
        (1_000_000, None, False),
    ],
)
def test_health_of_hog_at_long_periods(period_us, every_s, healthy, shell, tmp_path):
    """A counter in the module's place; the script is the load's own but for the counter's path."""
    counter = tmp_path / "holds"
    counter.write_text("0\n")
    text = (loads.FOLDER / "hog" / "health").read_text()
    assert "counter=/sys/module/hog/parameters/holds\n" in text
    text = text.replace("/sys/module/hog/parameters/holds", str(counter))
    environment = {**os.environ, **loads.find("hog", {"period_us": period_us}).environment}
    process = subprocess.Popen(
        [shell, "-c", text], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    began = time.monotonic()
    while process.poll() is None:
        assert time.monotonic() - began < 60
        if every_s is not None:
            held = int((time.monotonic() - began) / every_s)
            (tmp_path / "next").write_text(f"{held}\n")
            (tmp_path / "next").replace(counter)  # never seen half written
        time.sleep(0.01)
    said, errors = (part.decode() for part in process.communicate())
    assert (process.returncode == 0) == healthy, errors
    assert re.fullmatch(r"tennis: health holds \d+\.\d\d 1/s\n", said)
    assert healthy or "hog held the CPU" in errors


@pytest.mark.parametrize("count", [0, 1, 1000])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("xload", {"tasks": 1, "task_period_us": 1_000_000}),
        ("memory", {"period_us": 10_000, "size_kb": 1}),
    ],
)
def test_health_at_the_longest_periods(name, options, count, shell, tmp_path):
    """Nothing done is never enough; a report stands for the program."""
    path = tmp_path / "report"
    text = (loads.FOLDER / name / "health").read_text()
    text, places = re.subn(r"^report=.*$", f"report={path}", text, flags=re.MULTILINE)
    assert places == 1
    # both counters grow by so much within four seconds
    path.write_text(f"{10**9:020} {0:020} {0:020}\n")
    (tmp_path / "later").write_text(f"{5 * 10**9:020} {count:020} {count * 1000:020}\n")
    environment = {**os.environ, **loads.find(name, options).environment}
    later = f"sleep() {{ command mv {tmp_path / 'later'} {path}; }}\n"
    done = run_to_end([shell, "-c", later + text], env=environment)
    assert (done.returncode == 0) == (count == 1000), done.stderr
    assert "tennis: health activations" in done.stdout


@pytest.mark.parametrize(
    ("flags", "symbols"),
    [
        (["-DXLOAD_EVL"], {"evl_attach_thread", "evl_sleep_until", "pthread_create"}),
        (["-DXLOAD_ALCHEMY"], {"rt_task_create", "rt_task_wait_period", "rt_task_join"}),
        ([], {"clock_nanosleep", "pthread_create"}),
    ],
)
def test_compile_check_of_xload(tmp_path, flags, symbols):
    """A compile check against declarations of our own: no package has libevl or Alchemy."""
    warnings = ["-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    source = loads.FOLDER / "xload" / "xload.c"
    made = tmp_path / "xload.o"
    command = [f"{PREFIX}gcc", *warnings, *flags, f"-I{DECLARATIONS}", "-c", source, "-o", made]
    subprocess.run(command, check=True)
    listing = run_to_end([f"{PREFIX}nm", "-u", made], check=True)
    used = set(re.findall(r"U (\w+)", listing.stdout))
    assert symbols <= used
    kind = flags[0].removeprefix("-DXLOAD_").lower() if flags else "posix"
    assert loads.tasks_of(made.read_bytes()) == kind
    if flags:
        assert "clock_nanosleep" not in used  # would leave the real-time core


@pytest.mark.parametrize(("flavour", "kind"), [("evl", "evl"), ("cobalt", "alchemy")])
def test_a_build_with_other_tasks_is_refused(flavour, kind, tmp_path):
    part = loads.find("xload", {}).parts[-1]
    part = loads.LoadPart(part.name, tmp_path, part.file)
    assert part.prebuilt("xload", flavour) is None
    built = tmp_path / f"xload.{flavour}"
    for said in (kind, None):  # one that says nothing may be an older one
        built.write_bytes(b"\x7fELF tennis-tasks=" + (said or "").encode() + b"\0")
        assert part.prebuilt("xload", flavour) == built
    built.write_bytes(b"\x7fELF tennis-tasks=posix\0")
    with pytest.raises(UsageError, match=f"not {kind}: build it with -DXLOAD_{kind.upper()}"):
        part.prebuilt("xload", flavour)


CONFIG = """CONFIG_PCI_HOST_GENERIC=y
CONFIG_INET=y
CONFIG_UNIX=y
CONFIG_NET_NS=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_NET={net}
"""


def tree(tmp_path: Path, config: str) -> Kernel:
    (tmp_path / "config").write_text(config)
    image = tmp_path / "arch/arm64/boot/Image"
    image.parent.mkdir(parents=True)
    return Kernel("linux", "6.12.0", "here", image, tmp_path, tmp_path / "config")


def test_drivers_of_a_kernel_tree(tmp_path):
    kernel = tree(tmp_path, CONFIG.format(net="m"))
    with pytest.raises(UsageError, match="not built"):
        network(kernel)
    order = [
        ("net/core/failover", ""),
        ("drivers/net/net_failover", "failover"),
        ("drivers/net/virtio_net", "net_failover,failover"),
    ]
    for path, depends in order:
        file = tmp_path / f"{path}.ko"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=x\0")
    lines = "".join(f"{path}.o\n" for path, _ in reversed(order))
    (tmp_path / "modules.order").write_text("net/core/failover.o\n")
    with pytest.raises(UsageError, match="not built"):
        network(kernel)
    (tmp_path / "modules.order").write_text(lines)
    assert list(network(kernel)) == ["failover", "net_failover", "virtio_net"]


def test_a_kernel_without_network_cards_is_refused(tmp_path):
    kernel = tree(tmp_path, "")
    with pytest.raises(UsageError, match=r"lacks CONFIG_PCI_HOST_GENERIC.*CONFIG_VIRTIO_NET"):
        network(kernel)
    kernel.config.write_text(CONFIG.format(net="y"))
    assert network(kernel) == {}


@pytest.mark.virtual
def test_the_example_of_a_new_load_plays(tmp_path, monkeypatch):
    """As docs/how-it-is-built.md has it, block by block."""
    page = (ROOT / "docs" / "how-it-is-built.md").read_text()
    section = page.partition("\n## A new load\n")[2].partition("\n## ")[0]
    blocks = dict(re.findall(r"^```(toml|sh)\n(.*?)^```", section, re.MULTILINE | re.DOTALL))
    own = tmp_path / "loads"
    shutil.copytree(loads.FOLDER, own)
    (own / "forks").mkdir()
    (own / "forks" / "load.toml").write_text(blocks["toml"])
    (own / "forks" / "health").write_text(blocks["sh"])
    (own / "forks" / "health").chmod(0o755)
    monkeypatch.setattr(loads, "FOLDER", own)
    rally = played(tmp_path / "r", load="forks", balls=100, settle_s=0.1)
    assert (rally.balls, rally.misses, rally.manifest.faults) == (100, 0, [])
    (figure,) = rally.manifest.load.health
    assert (figure.name, figure.unit) == ("started", "programs/s")
    assert min(figure.start, figure.end) >= 50
