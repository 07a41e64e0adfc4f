# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The plugin that notes when interrupts were masked (target/virtual/sections.c), for one replay."""

import os
import tempfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tennis.bench.qemu import plugins
from tennis.bench.qemu.plugins import QemuPlugin
from tennis.bench.virtual.parts import Parts
from tennis.errors import BenchError
from tennis.explain.phases import Symbol
from tennis.explain.sections.records import RECORD, TIME

GIC_HANDLER = "gic_handle_irq"  # one for GICv2, another for GICv3
# they let another task run, if one waits (kernels that do not preempt themselves)
CHANCES = (
    "__cond_resched",
    "__cond_resched_lock",
    "__cond_resched_rwlock_read",
    "__cond_resched_rwlock_write",
)
# PREEMPT_RT: bottom halves are a lock there, and these take it and give it back
HOLDS_BOTTOM_HALVES, LETS_BOTTOM_HALVES_GO = "__local_bh_disable_ip", "__local_bh_enable"
PREEMPTS = "preempt_schedule"  # a kernel that has it preempts itself
LAST_LOOKED_AT = 1 << 14  # records, in which there is surely a look at the clock
RECORDS_MAX = 100_000_000  # 4 GB on the disk


class Recorder:
    """The plugin for one replay, and what it wrote. A context manager: it holds a file open."""

    def __init__(
        self, parts: Parts, symbols: Sequence[Symbol], from_ns: int, *, threads: bool = False
    ) -> None:
        """Find what this kernel has where, and build the plugin. Raises BenchError if it cannot be.

        ``from_ns``: nothing before is recorded. ``threads``: also what keeps a thread from running.
        """
        plugins.check_exports(parts.qemu, "sections", "recording sections")
        self._plugin = plugins.build(parts.qemu, "sections")
        self._parameters = {"from": from_ns, **_places(parts, symbols)}
        if threads:
            self._parameters |= _for_threads(symbols)
        self._out: BinaryIO = tempfile.TemporaryFile(prefix="tennis-sections-")  # noqa: SIM115

    def __enter__(self) -> "Recorder":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._out.close()

    def plugin(self) -> QemuPlugin:
        """Return the plugin as the machine takes it."""
        out = self._out.fileno()
        return QemuPlugin(self._plugin, {"out": out, **self._parameters}, [out])

    def recorded_until_ns(self) -> int:
        """Return the last time that is recorded; 0: none yet. Raises BenchError for too much."""
        size = os.fstat(self._out.fileno()).st_size // RECORD.itemsize
        if size > RECORDS_MAX:
            raise BenchError(
                f"more than {RECORDS_MAX:,} sections: this rally is too long to be recorded",
                next_step="play one with fewer balls",
            )
        looks = self._read(max(0, size - LAST_LOOKED_AT), size)
        times = looks["value"][looks["kind"] == TIME]
        return int(times[-1]) if len(times) else 0

    def records(self) -> NDArray[Any]:
        """Return all whole records, in their order; of RECORD, shape (records,)."""
        size = os.fstat(self._out.fileno()).st_size // RECORD.itemsize
        return self._read(0, size)

    def _read(self, begin: int, end: int) -> NDArray[Any]:
        return np.fromfile(  # its own position: the plugin writes where the file ends
            f"/proc/self/fd/{self._out.fileno()}",
            RECORD,
            count=end - begin,
            offset=begin * RECORD.itemsize,
        )


def base_of(symbols: Sequence[Symbol]) -> int:
    """Return the address from which places in records are counted."""
    return next(symbol.address for symbol in symbols if symbol.module is None)


def _places(parts: Parts, symbols: Sequence[Symbol]) -> dict[str, int]:
    """Return where in this kernel is what the plugin watches. Raises BenchError."""
    kernel = [symbol for symbol in symbols if symbol.module is None]
    at = {symbol.name: symbol.address for symbol in kernel}
    handlers = [n for n, symbol in enumerate(kernel[:-1]) if symbol.name == GIC_HANDLER]
    missing = {"vectors", "cpu_switch_to"} - at.keys()
    missing |= set() if handlers else {GIC_HANDLER}
    if missing:
        raise BenchError(
            f"Linux {parts.kernel.release} has no function {', '.join(sorted(missing))}: "
            "when its interrupts are masked cannot be recorded",
            next_step="play it on a kernel of `tennis kernels`",
        )
    places = {
        "base": base_of(symbols),
        "vectors": at["vectors"],
        "harden": at.get("__bp_harden_el1_vectors", 0),
        "switch_to": at["cpu_switch_to"],
    }
    for name, handler in zip(("gic", "gic3"), handlers, strict=False):
        places[name], places[f"{name}_end"] = (kernel[handler + n].address for n in (0, 1))
    return {name: _signed(address) for name, address in places.items()} | {
        "preempt": _preempt_offset(parts)
    }


def _for_threads(symbols: Sequence[Symbol]) -> dict[str, int]:
    """Return where in this kernel is what lets a thread run, or keeps it from that."""
    at = {symbol.name: symbol.address for symbol in symbols if symbol.module is None}
    places = {"bottom_held": HOLDS_BOTTOM_HALVES, "bottom_let_go": LETS_BOTTOM_HALVES_GO}
    places |= {f"chance{n}": name for n, name in enumerate(CHANCES)}
    found = {name: _signed(at[function]) for name, function in places.items() if function in at}
    return {"threads": 1, **found}


def _signed(address: int) -> int:
    """Return an address as a signed number of 64 bits, which plugins take."""
    return address - (1 << 64) if address >> 63 else address


def _preempt_offset(parts: Parts) -> int:
    """Return where a task has its preempt_count: behind the flags of arm64's thread_info."""
    return 16 if parts.kernel.options.get("CONFIG_ARM64_SW_TTBR0_PAN") == "y" else 8
