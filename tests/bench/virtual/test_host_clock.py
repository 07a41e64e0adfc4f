"""The host's time of day does not reach the guest: QEMU's TLBs would follow it."""

import os
import re
import subprocess

import pytest

from tennis.bench.qemu import plugins
from tests.support.virtual import played

# each look is 200 ms later than the one before: for QEMU no TLB is ever used for long
LEAPING = """
#include <sys/time.h>
int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	static long long now_us = 1700000000000000;

	now_us += 200000;
	time->tv_sec = now_us / 1000000;
	time->tv_usec = now_us % 1000000;
	return 0;
}
"""
BOUND = r"binding file \S*qemu-system-aarch64 \[0\] to (\S+) \[0\]: normal symbol `(\w+)'"


@pytest.mark.parametrize("plugin", ["instrument", "link"])
def test_qemu_asks_the_instrument_for_the_time_of_day(plugin, tmp_path, monkeypatch):
    """As the dynamic linker tells it; what a user preloads stays, behind it."""
    monkeypatch.setenv("LD_PRELOAD", "libc.so.6")
    qemu = plugins.find_qemu()
    library = os.open(plugins.build(qemu, plugin), os.O_RDONLY)
    environment = plugins.preloaded(library)
    assert environment["LD_PRELOAD"] == f"/proc/self/fd/{library} libc.so.6"
    environment |= {"LD_DEBUG": "bindings", "LD_BIND_NOW": "1", "LD_DEBUG_OUTPUT": f"{tmp_path}/d"}
    try:
        subprocess.run(
            [qemu.path, "--version"],
            env=environment,
            pass_fds=[library],
            stdout=subprocess.DEVNULL,
            check=True,
        )
    finally:
        os.close(library)
    (told,) = tmp_path.iterdir()
    bound = {symbol: place for place, symbol in re.findall(BOUND, told.read_text())}
    clocks = {"gettimeofday", "g_get_real_time"}
    assert {bound[name] for name in clocks} == {f"/proc/self/fd/{library}"}
    assert bound["clock_gettime"] != bound["gettimeofday"]


@pytest.mark.virtual
def test_an_instrument_that_was_not_preloaded_plays_no_second_processor(tmp_path, monkeypatch):
    """The dynamic linker goes on without what it cannot load, and says so to nobody who looks."""
    monkeypatch.setattr(plugins, "preloaded", lambda _: dict(os.environ))
    rally = played(tmp_path / "r", processors=2, balls=20)
    assert rally.balls == 0
    (fault,) = rally.manifest.faults
    assert "QEMU sees the host's time of day" in fault.message


@pytest.mark.more
@pytest.mark.virtual
def test_a_clock_of_the_host_that_leaps_changes_nothing(tmp_path, monkeypatch):
    """Without the instrument's clock these two differ, from the eighth second on."""
    plan = {"kernel": "mainline-7", "load": "stress", "processors": 4, "balls": 20}
    plan |= {"seed": 11, "settle_s": 0.1, "instruction_ns": 4}
    one = played(tmp_path / "one", **plan)
    source, library = tmp_path / "leaping.c", tmp_path / "leaping.so"
    source.write_text(LEAPING)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    other = played(tmp_path / "other", **plan)
    assert not one.manifest.suspect
    assert one.manifest.files == other.manifest.files
