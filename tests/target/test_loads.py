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
from tennis.bench.kernels.modules import PREFIX
from tennis.bench.virtual import initramfs
from tennis.kit.checkout import ROOT
from tennis.kit.errors import UsageError
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
    # idle, and a load that is one module, have nothing to start or to check
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
        tmp_path, careless=f"sleep {marker} & sleep {marker} & wait", single=f"exec sleep {marker}"
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


@pytest.mark.more
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
