"""Loads on the virtual bench: that they load, that they say so, and that rallies repeat."""

import re

import pytest

from tennis.bench.kernels.catalogue import find
from tennis.bench.kernels.modules import PREFIX
from tennis.bench.virtual import initramfs
from tennis.bench.virtual.bench import Extras
from tennis.bench.virtual.drivers import network
from tennis.rally import open_rally
from tests.support.processes import run_to_end
from tests.support.shared import made_once
from tests.support.virtual import played, script

pytestmark = pytest.mark.virtual

# what each says of itself, and the least that it must reach on this bench
FIGURES = {
    "hog": {"holds": ("1/s", 243)},
    "memory": {"activations": ("1/s", 1000), "copied": ("MB/s", 100)},
    "ping-flood": {"answered-pings": ("pings/s", 2000)},
    "stress": {"tasks": ("tasks", 17), "cpu": ("%", 20)},
    "xload": {
        "tasks": ("tasks", 17),
        "cpu": ("%", 10),
        "received": ("bytes/s", 100_000),
        "received-packets": ("packets/s", 60),
        "activations": ("1/s", 11_520),
        "overruns": ("1/s", 0),
    },
}


@pytest.fixture
def under(tmp_path_factory):
    """Return a function that plays a rally under a load: once, for tests that only read it."""

    def rally(load):
        def make(folder):
            played(folder / "r", load=load, balls=200, settle_s=0.1)

        return open_rally(made_once(tmp_path_factory, f"under-{load}", make) / "r")

    return rally


@pytest.mark.cases(more=["ping-flood", "hog", "stress"], release=["memory", "xload"])
@pytest.mark.parametrize("load", FIGURES)
def test_a_load_says_what_it_does(under, load):
    rally = under(load)
    assert not rally.manifest.suspect, rally.manifest.faults
    found = {figure.name: figure for figure in rally.manifest.load.health}
    assert set(found) == set(FIGURES[load])
    for name, (unit, least) in FIGURES[load].items():
        assert found[name].unit == unit
        assert found[name].start >= least
        assert found[name].end >= least
    events = [event for event in rally.events if event["what"] == "load_health"]
    assert len(events) == 2 * len(found)


# the load's own parts, so that only the broken one is looked at; sleeping costs no time here
ALONE = {"/tennis/load/parts": b"dead", "/tennis/load/dead/start": script("exec sleep 1000")}
NOT_LOADING = {
    "stress": ({"/tennis/load/stress/start": script("exec stress --cpu 4")}, "17 tasks, it has 5"),
    "network": (
        {**ALONE, "/tennis/load/checked": b"network", "/tennis/peer": script("sleep 1000")},
        "nobody sends",
    ),
    "ping-flood": ({"/tennis/peer": script("sleep 1000")}, "answered 0 pings"),
    "memory": (ALONE, "does not run"),
    "xload": (
        {
            **ALONE,
            "/tennis/load/checked": b"xload",
            "/tennis/peer": script("sleep 1000"),
            "/tennis/load/dead/start": script(
                "exec /tennis/load/xload/xload -n 32 -p 98 -t 5000 -r /tmp/tennis-xload"
            ),
        },
        "within 1 s, not 128",
    ),
}


@pytest.mark.cases(more=["network", "xload"], release=["memory", "ping-flood"])
@pytest.mark.parametrize("load", NOT_LOADING)
def test_a_load_that_does_not_load_is_no_rally(tmp_path, load):
    files, words = NOT_LOADING[load]
    rally = played(tmp_path / "r", Extras(files=files), load=load, balls=200)
    fault = rally.manifest.faults[0]
    assert fault.code == "load_died"
    assert "before the first ball" in fault.message
    assert words in fault.message
    assert (rally.balls, rally.manifest.ended) == (0, "fault")


DYING = {
    "stress": ("kill -9 $(pidof stress | cut -d ' ' -f 3)", "ended before the rally"),
    "memory": ("kill -9 $(pidof memory)", "ended before the rally"),
    "network": ("kill -9 $(pidof scp)", "other end of the network ended"),
}


@pytest.mark.more
@pytest.mark.parametrize("load", DYING)
def test_a_load_that_dies_in_mid_rally(tmp_path, load):
    kill, words = DYING[load]
    extras = Extras(files={"/tennis/after": script(f"sleep 0.3; {kill}; true")})
    rally = played(tmp_path / "r", extras, load=load, balls=100_000, settle_s=0.1)
    assert rally.manifest.faults[0].code == "load_died"
    assert words in rally.manifest.faults[0].message
    assert (rally.manifest.suspect, rally.manifest.ended) == (True, "fault")
    assert 0 < rally.balls < 100_000


@pytest.mark.cases(more=["*6.1", "mainline"])
@pytest.mark.parametrize("kernel", ["mainline", "rt", "mainline-6.1", "rt-6.1"])
def test_the_drivers_of_debians_kernels(kernel):
    found = list(network(find(kernel)))
    assert found[-3:] == ["failover", "net_failover", "virtio_net"]


@pytest.mark.parametrize("packages", [(), ("openssh-server", "openssh-client"), ("iputils-ping",)])
def test_every_program_has_its_libraries(packages):
    needed, there = set(), set()
    for file in initramfs.programs(packages).values():
        there.add(file.name)
        listing = run_to_end([f"{PREFIX}readelf", "-d", file], check=True)
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", listing.stdout))
    assert needed
    assert needed <= there
