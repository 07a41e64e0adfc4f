"""From a rally to a boot of a comparison, and what rallies must share to be compared."""

from typing import Literal

from tennis.compare.boots import Boot
from tennis.compare.loops import jitter_of
from tennis.rally import Rally
from tennis.rally.cycles import balls_in_whole_cycles
from tennis.rally.statistics.balls import latencies_ns

# balls have the first two; a control loop has the distance of each rise from a period's end, and
# overruns
Measured = Literal["interrupt", "scheduling", "jitter"]

# what must be the same in all rallies of a comparison, and in all of one kernel
BENCH_PARTS = {
    "qemu": "QEMU",
    "bench_sha256": "the virtual bench",
    "instrument_sha256": "the instrument",
    "firmware_sha256": "the Brickwall's firmware",
    "micropython": "MicroPython",
    "tick_hz": "the Brickwall's clock",
}
KERNEL_PARTS = {
    "kernel_image_sha256": "the kernel",
    "kernel_config_sha256": "the kernel",
    "racquet_sha256": "the Racquet",
    "target_release": "the kernel",
    "target_config_sha256": "the kernel",
    "target_module_sha256": "the Racquet",
}


def boot_of(rally: Rally, latency: Measured, at_most: int | None = None) -> Boot:
    """Return a rally's latencies in ns; a ball without such an edge is lost.

    Balls after the last whole cycle of the load are left out. ``at_most``: use only that many balls
    from the beginning.
    """
    if latency == "jitter":
        return jitter_of(rally, at_most)
    whole = balls_in_whole_cycles(rally, at_most)
    every = latencies_ns(rally, "interrupt" if latency == "interrupt" else "scheduling")
    return Boot.of(every[:whole])
