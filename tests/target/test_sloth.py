"""SLOTH on QEMU's Cortex-M and an emulated Pico: orders, what is refused, what cannot be built."""

import contextlib
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tennis.bench.sloth.image import CORES, RP2040, SLOTH, Core, image
from tennis.bench.sloth.session import SlothSession
from tennis.kit import wire
from tennis.rally.balls import records
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import Protocol
from tests.support import sloth_on_pico
from tests.support.processes import run_to_end

pytestmark = pytest.mark.virtual

HERE = Path(__file__).parent / "sloth"
# pings so close together that they meet each instruction of the services
STORM = {
    "settle_ns": 1_000_000,
    "gap_min_ns": 1000,
    "gap_max_ns": 5000,
    "pulse_ns": 500,
    "timeout_ns": 1_000_000,
}


def said(core: Core, elf: Path) -> list[str]:
    """Run an image until it ends itself; return the lines of its console."""
    done = run_to_end(
        [
            *("qemu-system-aarch64", "-M", "lm3s6965evb", "-cpu", core.qemu, "-nodefaults"),
            *("-nic", "none", "-display", "none", "-monitor", "none", "-no-reboot"),
            *("-icount", "shift=1,sleep=off", "-semihosting", "-serial", "stdio"),
            *("-kernel", str(elf)),
        ],
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


PICO = "pico"  # another interrupt controller, written by others
PLACES = [*CORES, PICO]


def told(place: str, application: Path, *, checked: bool = False) -> list[str]:
    """Run an application on one of QEMU's processors, or on a Pico; return its console."""
    if place == PICO:
        elf = image(application, CORES["m0"], RP2040, checked=checked)
        return sloth_on_pico.play(elf, 20_000_000).console.splitlines()
    return said(CORES[place], image(application, CORES[place], checked=checked))


@pytest.mark.cases(more=["m*"])
@pytest.mark.parametrize("place", PLACES)
def test_the_order_of_tasks(place):
    """Figure 1.3 of the thesis, and what priorities and ceilings say of the others."""
    assert told(place, HERE / "orders.c") == [
        "nested: 13321",
        "ceiling: 1g1312r1",
        "ceilings: 1g3h2r",
        "chain up: 12c3",
        "chain down: 13c2.1.",
        "chain for ever: ",
        "stack: bounded",
        "end below: 121",
        "equal: 11s",
        "inside: 1gh2r",
        "return: 1",
        "alarm: 222223",
        "r7: kept",
    ]


@pytest.mark.cases(more=["m0", "m33"])
@pytest.mark.parametrize("place", PLACES)
def test_each_misuse_is_refused_with_its_own_error(place):
    """OSEK OS 2.2.3, extended status: what the service returns, what the hook gets, how often."""
    found = dict(line.split(": ") for line in told(place, HERE / "misuse.c", checked=True))
    assert found == {
        "no such task": "3 3 1",
        "a line without a task": "3 3 1",
        "terminate outside of tasks": "2 2 1",
        "chain outside of tasks": "2 2 1",
        "right": "0 0 0",
        "taken twice": "1 1 1",
        "right inside": "0 0 0",
        "wrong nesting": "5 5 1",
        "terminate with a resource": "6 6 1",
        "chain with a resource": "6 6 1",
        "release inside": "0 0 0",
        "not taken": "5 5 1",
        "activate": "0 0 0",
        "pending already": "4 4 1",
        "release": "0 0 0",
        "chain to nobody": "3 3 1",
        "chain to what is pending": "4 4 1",
        "returned with resources": "0 6 2",
        "and another one runs": "0 0 0",
        "ceiling below the caller": "1 1 1",
        "another task's": "5 5 1",
        "no such alarm": "3 3 1",
        "in no ticks": "8 8 1",
        "off already": "5 5 1",
        "alarm": "0 0 0",
        "on already": "7 7 1",
        "cancel": "0 0 0",
    }


def played(folder, application, core="m3", *, defines=None, **more):
    """Return the balls, and all that the instrument sent."""
    protocol = Protocol(
        **{
            "loop": "closed",
            "balls": 1000,
            "seed": 1,
            "gap_min_ns": 500_000,
            "gap_max_ns": 1_500_000,
            "pulse_ns": 1000,
            "timeout_ns": 200_000_000,
            "settle_ns": 1_000_000_000,
            **more,
        }
    )
    elf = image(SLOTH / f"{application}.c", CORES[core], defines=defines)
    with contextlib.closing(SlothSession(elf, CORES[core], protocol, folder)) as session:
        frames = [frame for frame in session.frames() if frame is not None]
    assert f"tennis: fact sloth {application}" in (folder / CONSOLE).read_text()
    return np.concatenate([records(f.payload) for f in frames if f.kind == wire.BALLS]), frames


@pytest.mark.cases(more=["m0*", "m33*"])
@pytest.mark.parametrize(
    ("core", "rise", "fall"), [("m0", 32, 106), ("m3", 26, 68), ("m33", 26, 68)]
)
def test_every_ball_is_answered_alike(tmp_path, core, rise, fall):
    """2 ns an instruction; entering an exception takes none here, and 12 to 16 cycles on a chip."""
    balls, _ = played(tmp_path, "racquet", core)
    assert balls.size == 1000
    assert set(balls["rise"]) == {rise}
    assert set(balls["fall"]) == {fall}


@pytest.mark.cases(more=["[12]"])
@pytest.mark.parametrize("ceiling", [3, 2, 1])
def test_who_waits_for_a_held_resource_the_ceiling_decides(tmp_path, ceiling):
    """The known answer: it is held for 100 us, and nobody waits longer."""
    defines = {"HOLD_US": 100, "PERIOD_US": 1000, "CEILING": ceiling}
    balls, _ = played(tmp_path, "racquet", defines=defines)
    rise, width = balls["rise"], balls["fall"] - balls["rise"]
    for waits, spans, usual in ((ceiling == 3, rise, 26), (ceiling == 2, width, 42)):
        if waits:
            assert 90_000 < spans.max() < 100_000 + 2 * usual
            # one in ten pings comes while it is held
            assert np.mean(spans > usual + 20) == pytest.approx(0.1, abs=0.03)
        else:
            assert spans.max() < usual + 100


@pytest.mark.cases(more=["m0*"])
@pytest.mark.parametrize(("core", "count"), [("m3", 30_000), ("m0", 10_000)])
def test_a_ping_at_any_instruction_of_the_services(tmp_path, core, count):
    balls, _ = played(tmp_path, "storm", core, balls=count, **STORM)
    assert balls.size == count
    assert not np.any(balls["fall"] == wire.NONE_TICKS)


@pytest.mark.cases(more=["m0"])
@pytest.mark.parametrize("core", ["m3", "m0"])
def test_a_ceiling_that_is_too_low_is_found_by_the_storm(tmp_path, core):
    balls, _ = played(tmp_path, "storm", core, balls=50, defines={"SHARED": 1}, **STORM)
    assert np.mean(balls["fall"] == wire.NONE_TICKS) > 0.5


@pytest.mark.more
def test_a_ball_on_an_emulated_pico_takes_as_long_as_counted():
    """Whatever the ping's moment; the bottom half follows without the stack between."""
    rng = np.random.default_rng(1)
    elf = image(SLOTH / "racquet.c", CORES["m0"], RP2040)
    found = sloth_on_pico.play(elf, 5_000_000, rng.integers(1000, 9000, 500))
    assert found.rises.size == 500
    assert set(found.rises - found.pings) == {47}
    assert set(found.falls - found.pings) == {135}


def test_the_readmes_application_runs_elsewhere(tmp_path):
    """Block by block, as target/sloth/README.md has it."""
    page = (SLOTH / "README.md").read_text()
    header, source, commands = re.findall(r"```(?:c|sh)\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "hello.h").write_text(header)
    (tmp_path / "hello.c").write_text(source)
    done = run_to_end(
        ["sh", "-ec", commands],
        cwd=tmp_path,
        env={**os.environ, "SLOTH": str(SLOTH)},
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = re.search(r"prints `(.*?)`", page)
    assert said
    assert done.stdout.strip() == said[1]
